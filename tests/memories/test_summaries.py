"""Summaries: what they say, where from, when they are made again, and that nothing erased or private is in them."""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from recollect import Memory, Recollect, Settings, TenantContext
from recollect.errors import ForbiddenError, InvalidInputError, MemoryNotFoundError, ScopeNotFoundError

TALK = [
    ("Ana", "Hey Bob! Good to see you! How have you been?"),
    ("Bob", "Hi Ana! Great, thanks! What's new with you?"),
    ("Ana", "I moved from Lisbon to Porto last Saturday, into a flat near the river."),
    ("Bob", "Wow, that's so great! I'm really happy for you!"),
    ("Ana", "Thanks, Bob! My new desk at Initech is on the fourth floor, beside the archive."),
    ("Bob", "I adopted a greyhound called Pixel from the shelter in Braga two weeks ago."),
    ("Ana", "That's awesome! You're the best!"),
    ("Bob", "Pixel has to see the vet on 14 March because of an injured paw."),
]


def say(
    client: Recollect, conversation: str = "c1", talk: list[tuple[str, str]] = TALK, **more: Any
) -> list[Memory]:
    messages = [{"speaker": speaker, "content": text} for speaker, text in talk]
    added = client.add(messages, conversation=conversation, created_at="2026-03-02T10:00:00Z", **more)
    assert isinstance(added, list)
    return added


def add(client: Recollect, text: str, **more: Any) -> Memory:
    memory = client.add(text, **more)
    assert isinstance(memory, Memory)
    return memory


def summaries(client: Recollect, kind: str | None = None) -> list[Memory]:
    found = client.list(types=["summary"], limit=200)
    return [m for m in found if kind is None or m.metadata["summary"]["kind"] == kind]


def only(client: Recollect, kind: str = "session") -> Memory:
    [found] = summaries(client, kind)
    return found


def test_a_conversation_is_summed_up_in_its_own_words_without_the_small_talk(client: Recollect) -> None:
    turns = say(client)
    report = client.consolidate(kinds=["session"])
    assert (report.made, report.refreshed, report.unchanged, report.removed, report.skipped) == (
        1,
        0,
        0,
        0,
        0,
    )
    summary = only(client)
    assert summary.text.splitlines() == [
        "Conversation c1 of Ana and Bob, 2 March 2026:",
        "- Ana: I moved from Lisbon to Porto last Saturday, into a flat near the river.",
        "- Ana: My new desk at Initech is on the fourth floor, beside the archive.",
        "- Bob: I adopted a greyhound called Pixel from the shelter in Braga two weeks ago.",
        "- Bob: Pixel has to see the vet on 14 March because of an injured paw.",
    ]
    assert (summary.type, summary.importance, summary.scope) == ("summary", 0.9, turns[0].scope)
    assert summary.valid_from == turns[0].created_at


def test_every_sentence_cites_the_memory_it_came_from(client: Recollect) -> None:
    say(client)
    client.consolidate(kinds=["session"])
    summary = client.get(only(client).id)
    lines = summary.text.splitlines()[1:]
    assert len(summary.metadata["citations"]) == len(lines)
    for line, numbers in zip(lines, summary.metadata["citations"], strict=True):
        [source] = [client.get(summary.metadata["sources"][number - 1]) for number in numbers]
        assert line.removeprefix(f"- {source.speaker}: ") in source.text


def test_what_is_up_to_date_is_left_alone_and_a_new_turn_is_noticed(client: Recollect) -> None:
    say(client)
    client.consolidate(kinds=["session"])
    before = only(client)
    assert client.consolidate(kinds=["session"]).unchanged == 1
    assert only(client) == before
    say(client, talk=[("Bob", "I sold my blue Volvo to Carla on Tuesday for 4200 euros.")])
    assert client.consolidate(kinds=["session"]).refreshed == 1
    after = only(client)
    assert after.id == before.id
    assert "Volvo" in after.text
    assert [entry.event for entry in client.history(after.id)] == ["added", "updated"]


def test_force_makes_again_what_is_up_to_date(client: Recollect) -> None:
    say(client)
    client.consolidate(kinds=["session"])
    assert client.consolidate(kinds=["session"], force=True).refreshed == 1
    assert client.consolidate(kinds=["session"]).unchanged == 1


def test_a_changed_source_is_quoted_as_it_is_now_and_search_finds_the_newest_summary_only(
    client: Recollect,
) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    client.update(
        turns[2].id, text="I moved from Lisbon to Coimbra last Saturday, into a flat near the river."
    )
    assert client.consolidate(kinds=["session"]).refreshed == 1
    assert "Coimbra" in only(client).text
    assert "Porto" not in only(client).text
    hits = client.search("Where did Ana move?", types=["summary"], threshold=0.0)
    assert [hit.id for hit in hits] == [only(client).id]


def test_a_superseded_source_is_not_quoted_any_more(client: Recollect) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    client.supersede(turns[5].id, by=turns[7].id)
    assert client.consolidate(kinds=["session"]).refreshed == 1
    assert "greyhound" not in only(client).text


def words_in_tables(owner: str, word: str) -> list[str]:
    found = []
    with psycopg.connect(owner) as connection:
        tables = connection.execute(
            "select c.oid::regclass::text from pg_class c where c.relkind = 'r'"
            " and c.relnamespace = 'recollect'::regnamespace"
        ).fetchall()
        for (table,) in tables:
            row = connection.execute(
                f"select count(*) from {table} t where t::text ilike %s".encode(), [f"%{word}%"]
            ).fetchone()
            if row and row[0]:
                found.append(table)
    return found


def test_deleting_a_source_takes_its_words_out_of_the_summary_at_once(
    client: Recollect, owner_conninfo: str
) -> None:
    word = f"zorblax{uuid4().hex[:6]}"
    say(client, talk=[*TALK, ("Bob", f"The password of the {word} printer in Braga is 4711.")])
    turns = client.list(conversation="c1")
    client.consolidate(kinds=["session"])
    summary = only(client)
    assert word in summary.text
    secret = next(turn for turn in turns if word in turn.text)
    receipt = client.delete(secret.id, vacuum=False)
    assert receipt.rows["summary"] == 1
    assert receipt.rows["memory"] == receipt.memories == 2
    assert receipt.rebuilt == 1
    assert words_in_tables(owner_conninfo, word) == []
    assert words_in_tables(owner_conninfo, str(secret.id)) == []
    made_again = only(client)
    assert "Pixel" in made_again.text
    with pytest.raises(MemoryNotFoundError):
        client.get(summary.id)
    assert client.consolidate(kinds=["session"]).unchanged == 1


def test_deleting_what_a_source_said_before_takes_it_out_of_the_summary_too(client: Recollect) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    client.update(turns[2].id, text="I moved to Coimbra last Saturday, into a flat near the bridge.")
    [former] = [
        m
        for m in client.list(include_superseded=True, limit=100)
        if "Lisbon" in m.text and m.type != "summary"
    ]
    client.delete(former.id, vacuum=False)
    assert "Lisbon" not in only(client).text


def test_a_summary_goes_when_too_little_is_left(client: Recollect) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    receipt = client.delete(filters={"id": {"$in": [str(turn.id) for turn in turns[:4]]}}, vacuum=False)
    assert (receipt.rows["summary"], receipt.rebuilt) == (1, 0)
    assert summaries(client) == []
    assert client.consolidate(kinds=["session"]).made == 0


def test_a_summary_of_turns_that_were_all_superseded_is_removed(client: Recollect) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    for turn in turns[1:]:
        client.supersede(turn.id, by=turns[0].id)
    report = client.consolidate(kinds=["session"])
    assert (report.removed, report.skipped) == (1, 0)
    assert summaries(client) == []


def test_small_talk_alone_gives_no_summary_and_a_note_says_so(client: Recollect) -> None:
    say(client, "hello", [("Ana", "Hey!"), ("Bob", "Hi Ana, how are you?")] * 4)
    report = client.consolidate(kinds=["session"])
    assert (report.made, report.skipped) == (0, 1)
    assert report.notes == (
        "nothing worth quoting, only small talk or questions: conversation 'hello' of user/root",
    )


def test_too_short_a_conversation_is_left_alone(client: Recollect) -> None:
    say(client, talk=TALK[:5])
    assert client.consolidate() == client.consolidate()
    assert summaries(client) == []


def test_a_scope_and_its_entities_are_summarised_with_days(client: Recollect) -> None:
    for day in range(1, 25):
        add(
            client,
            f"Acme ordered {day * 10} crates of model K{day} from the plant in Gera.",
            entities=["Acme"],
            created_at=f"2026-03-{day:02}",
        )
    assert client.consolidate(kinds=["scope"]).made == 1
    scope = only(client, "scope")
    assert scope.text.startswith("Summary of user/root, 1 March 2026 to 24 March 2026:\n- (")
    assert client.consolidate(entity="ACME").made == 1
    entity = only(client, "entity")
    assert entity.text.startswith("About Acme, ")
    assert entity.entities == ("Acme",)
    assert len(entity.text.splitlines()) == 6
    assert client.consolidate(kinds=["scope"]).unchanged == 1


def test_summaries_are_no_sources_of_summaries(client: Recollect) -> None:
    for number in range(5):
        say(client, f"c{number}", [(speaker, f"{text} Number {number}.") for speaker, text in TALK])
    client.consolidate()
    first = {m.id for m in summaries(client)}
    add(client, "The annual report of the bakery in Faro came on 3 May.")
    client.consolidate()
    quoted = {UUID(id) for m in summaries(client) for id in m.metadata["sources"]}
    assert quoted
    assert not quoted & first
    assert client.consolidate().unchanged == len(summaries(client))


def test_a_private_memory_is_in_no_summary_that_others_read(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    client.scopes.create("team/api")
    for user in ("ana", "bob"):
        client.members.add(user, "team/api")
    ana, bob = as_user("ana"), as_user("bob")
    say(ana, talk=[*TALK, ("Ana", "My salary at Initech is 81234 euros since January.")])
    say(ana, scope="team/api")
    for number in range(20):
        add(ana, f"The team keeps certificate number {number} in the vault of Porto.", scope="team/api")
    # The administrator summarises everything, each scope from its own memories.
    client.consolidate()
    shown = bob.list(types=["summary"], limit=200)
    assert {memory.scope for memory in shown} == {"team/api"}
    assert "81234" not in "".join(memory.text for memory in shown)
    theirs = [m for m in ana.list(types=["summary"], limit=200) if m.scope == "user/ana"]
    assert any("81234" in memory.text for memory in theirs)
    for memory in (*shown, *theirs):
        assert {ana.get(id).scope for id in memory.metadata["sources"]} == {memory.scope}


def test_members_summarise_their_scope_and_readers_may_not(
    client: Recollect, as_user: Callable[..., Recollect], tenant_id: str
) -> None:
    client.scopes.create("team/api")
    client.members.add("ana", "team/api")
    company = f"company/{tenant_id}"
    say(client, scope="team/api")
    say(client, scope=company)
    ana = as_user("ana")
    assert ana.consolidate(kinds=["session"]).made == 1
    with pytest.raises(ForbiddenError, match="become a member"):
        ana.consolidate(scope=company)
    with pytest.raises(ScopeNotFoundError):
        as_user("bob").consolidate(scope="team/api")
    assert as_user("bob").consolidate().made == 0


def test_one_conversation_can_be_asked_for(client: Recollect) -> None:
    say(client, "c1")
    say(client, "c2")
    assert client.consolidate(conversation="c2").made == 1
    assert only(client).metadata["summary"] == {"kind": "session", "about": "c2"}
    assert client.consolidate(conversation="nobody ever had this one").made == 0
    assert client.consolidate(kinds=["session"]).made == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"kinds": ["weekly"]}, "unknown kind 'weekly'; kinds are session, scope, entity"),
        ({"kinds": "session"}, "kinds must be a list"),
        ({"kinds": []}, "kinds must be a list"),
        ({"entity": " "}, "entity is empty"),
        ({"conversation": 3}, "conversation must be a string"),
        ({"scope": "galaxy/x"}, "galaxy"),
    ],
)
def test_bad_arguments_get_a_sentence(client: Recollect, arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInputError, match=complaint):
        client.consolidate(**arguments)


def test_two_consolidations_at_once_make_one_summary_of_each_thing(
    client: Recollect, settings: Settings, tenant_id: str
) -> None:
    for number in range(6):
        say(client, f"c{number}")
    context = TenantContext(tenant_id=tenant_id, user_id="root", roles=("admin",))
    with Recollect(settings=settings, context=context) as other, ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(c.consolidate, kinds=["session"]) for c in (client, other, client, other)]
        reports = [run.result() for run in runs]
    assert sum(report.made for report in reports) == 6
    assert len(summaries(client)) == 6
    assert client.consolidate(kinds=["session"]).unchanged == 6


@pytest.mark.one_machine
def test_a_turn_added_while_it_is_summarised_makes_it_stale_again(
    client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    turns = say(client)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(owner_conninfo) as holding:
        run = hold_and_consolidate(client, pool, holding, tenant_id, turns[2].id)
        say(client, talk=[("Bob", "I sold my blue Volvo to Carla on Tuesday for 4200 euros.")])
        holding.rollback()
        assert run.result().made == 1
    assert "Volvo" not in only(client).text
    assert client.consolidate(kinds=["session"]).refreshed == 1
    assert "Volvo" in only(client).text


@pytest.mark.one_machine
def test_a_turn_erased_while_it_is_summarised_is_not_quoted(
    client: Recollect, owner_conninfo: str, tenant_id: str
) -> None:
    turns = say(client)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(owner_conninfo) as holding:
        run = hold_and_consolidate(client, pool, holding, tenant_id, turns[2].id)
        holding.execute(
            "delete from recollect.memory where tenant_id = %s and memory_id = %s", [tenant_id, turns[2].id]
        )
        holding.commit()
        assert run.result().made == 1
    assert "Porto" not in only(client).text


def hold_and_consolidate(
    client: Recollect,
    pool: ThreadPoolExecutor,
    holding: psycopg.Connection[Any],
    tenant_id: str,
    memory: UUID,
) -> Any:
    """Start a consolidation that has read everything and waits for a source that somebody holds."""
    holding.execute(
        "select from recollect.memory where tenant_id = %s and memory_id = %s for update", [tenant_id, memory]
    )
    run = pool.submit(client.consolidate, kinds=["session"])
    with psycopg.connect(holding.info.dsn, password=holding.info.password, autocommit=True) as watching:
        while not run.done():
            waiting = watching.execute(
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ilike %s",
                ["%for share%"],
            ).fetchone()
            if waiting and waiting[0]:
                break
    return run


def test_a_summary_ends_with_the_first_source_that_expires(timed: Recollect, clock: Any) -> None:
    say(timed)
    say(timed, talk=[("Bob", "The parking ticket of Pixel's trailer is valid for 12 euros in Braga.")],
        expires_at="2026-03-09T00:00:00Z")  # fmt: skip
    timed.consolidate(kinds=["session"])
    assert "parking ticket" in only(timed).text
    clock.forward(days=10)
    assert summaries(timed) == []
    assert timed.consolidate(kinds=["session"]).refreshed == 1
    assert "parking ticket" not in only(timed).text
    assert timed.sweep().memories == 1
    assert "greyhound" in only(timed).text


def test_an_imported_summary_still_goes_with_its_sources(
    client: Recollect, store: Recollect, settings: Settings
) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    exported = io.StringIO()
    client.export_jsonl(exported)
    tenant = f"t-{uuid4().hex[:12]}"
    store.tenants.create(tenant)
    other = store.for_context(TenantContext(tenant_id=tenant, user_id="root", roles=("admin",)))
    report = other.import_jsonl(exported.getvalue().splitlines())
    assert (report.added, report.errors) == (9, ())
    assert "Porto" in only(other).text
    receipt = other.delete(turns[2].id, vacuum=False)
    assert receipt.rows["summary"] == 1
    assert "Porto" not in only(other).text
    assert other.consolidate(kinds=["session"]).made == 0


def test_a_summary_changed_by_hand_is_replaced_when_its_sources_change(client: Recollect) -> None:
    turns = say(client)
    client.consolidate(kinds=["session"])
    client.update(only(client).id, text="Ana and Bob talked about Porto and a greyhound.")
    assert client.consolidate(kinds=["session"]).unchanged == 1
    client.delete(turns[2].id, vacuum=False)
    everything = client.list(include_superseded=True, limit=100)
    assert not [m.text for m in everything if "Porto" in m.text]


def test_a_deleted_summary_is_made_again_next_time(client: Recollect) -> None:
    say(client)
    client.consolidate(kinds=["session"])
    client.delete(only(client).id, vacuum=False)
    assert client.consolidate(kinds=["session"]).made == 1


def test_progress_counts_what_is_made(client: Recollect) -> None:
    say(client, "c1")
    say(client, "c2")
    seen: list[tuple[int, int | None]] = []
    client.consolidate(kinds=["session"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
