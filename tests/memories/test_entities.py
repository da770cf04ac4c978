"""Entities: linked when memories are stored, resolved when questions name them, gone with the last mention."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from recollect import Memory, Recollect, Settings, TenantContext
from recollect.domain.query import Resolution, ResolvedEntity
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError
from recollect.retrieval.understand import understand
from recollect.storage import entities
from recollect.workspace import Workspace

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)


def one(memory: Memory | list[Memory]) -> Memory:
    assert isinstance(memory, Memory)
    return memory


def rows(owner: str, statement: str, *values: Any) -> list[Any]:
    with psycopg.connect(owner) as connection:
        return connection.execute(statement, values).fetchall()  # type: ignore[arg-type]


def known(owner: str, tenant: str) -> set[str]:
    found = rows(owner, "select entity from recollect.entity where tenant_id = %s", tenant)
    return {row[0] for row in found}


def resolved(client: Recollect, query: str) -> dict[str, ResolvedEntity]:
    return {entity.mention_text: entity for entity in client.explain(query).entities}


# Linking ------------------------------------------------------------------------------------------


def test_names_in_a_text_are_mentions_and_those_given_stay_apart(
    client: Recollect, owner_conninfo: str
) -> None:
    memory = one(client.add("Sarah Chen called about INV-1041.", entities=["Acme Corporation"]))
    assert memory.entities == ("Acme Corporation",)
    assert memory.mentions == ("Sarah Chen", "INV-1041")
    tenant = client.tenant_context.tenant_id
    linked = rows(owner_conninfo, "select entity, given from recollect.mention where tenant_id = %s", tenant)
    assert set(linked) == {
        ("sarah chen", False),
        ("inv 1041", False),
        ("acme corporation", True),
        ("acme", True),
    }


def test_a_fact_is_about_its_subject(client: Recollect, owner_conninfo: str) -> None:
    client.add(None, type="semantic", subject="globex", predicate="prefers", object="NET30")
    tenant = client.tenant_context.tenant_id
    assert ("globex", True) in rows(
        owner_conninfo, "select entity, given from recollect.mention where tenant_id = %s", tenant
    )


def test_filters_find_what_a_text_names(client: Recollect) -> None:
    client.add("Sarah Chen called.")
    client.add("Nobody called.")
    assert [memory.text for memory in client.list(filters={"entity": "sarah chen"})] == ["Sarah Chen called."]


def test_speakers_are_entities_but_not_what_their_turns_are_about(
    client: Recollect, owner_conninfo: str
) -> None:
    turns = [{"speaker": "Caroline", "content": "hello there"}, {"role": "user", "content": "hello"}]
    client.add(turns, conversation="c1")
    tenant = client.tenant_context.tenant_id
    assert known(owner_conninfo, tenant) == {"caroline"}
    assert rows(owner_conninfo, "select 1 from recollect.mention where tenant_id = %s", tenant) == []
    assert resolved(client, "What did Carolinne say?")["Carolinne"].canonical_id == "caroline"


def test_a_new_text_names_new_things(client: Recollect, owner_conninfo: str) -> None:
    memory = one(client.add("We hired Sarah Chen."))
    changed = client.update(memory.id, text="We hired Omar Haddad.")
    assert changed.mentions == ("Omar Haddad",)
    assert list(client.list(filters={"entity": "Omar Haddad"})) == [changed]
    # What it said before is still there, as a version of it, and goes with it.
    assert known(owner_conninfo, client.tenant_context.tenant_id) == {"omar haddad", "sarah chen"}
    client.delete(memory.id, vacuum=False)
    assert known(owner_conninfo, client.tenant_context.tenant_id) == set()


def test_changed_entities_leave_what_the_text_names(client: Recollect) -> None:
    memory = one(client.add("We hired Sarah Chen.", entities=["Acme"]))
    client.update(memory.id, entities=["Globex"])
    assert [m.id for m in client.list(filters={"entity": "Sarah Chen"})] == [memory.id]
    assert [m.id for m in client.list(filters={"entity": "Globex"})] == [memory.id]
    assert list(client.list(filters={"entity": "Acme"})) == []


def test_a_name_goes_with_the_last_memory_that_spoke_of_it(client: Recollect, owner_conninfo: str) -> None:
    tenant = client.tenant_context.tenant_id
    first = one(client.add("Sarah Chen lives in Lisbon."))
    second = one(client.add("Sarah Chen called."))
    client.delete(first.id, vacuum=False)
    assert known(owner_conninfo, tenant) == {"sarah chen"}
    client.delete(second.id, vacuum=False)
    assert known(owner_conninfo, tenant) == set()
    keys = rows(owner_conninfo, "select key from recollect.entity_key where tenant_id = %s", tenant)
    assert keys == []


def test_a_speaker_goes_with_the_last_turn(client: Recollect, owner_conninfo: str) -> None:
    tenant = client.tenant_context.tenant_id
    turns = client.add([{"speaker": "Mel", "content": "one"}, {"speaker": "Mel", "content": "two"}])
    assert isinstance(turns, list)
    client.delete(turns[0].id, vacuum=False)
    assert known(owner_conninfo, tenant) == {"mel"}
    client.delete(turns[1].id, vacuum=False)
    assert known(owner_conninfo, tenant) == set()


def test_a_repeat_can_say_what_the_memory_is_about(client: Recollect, owner_conninfo: str) -> None:
    client.add("Sarah Chen called.")
    client.add("Sarah Chen called.", entities=["Sarah Chen"])
    tenant = client.tenant_context.tenant_id
    assert rows(
        owner_conninfo, "select entity, given from recollect.mention where tenant_id = %s", tenant
    ) == [("sarah chen", True)]


def test_many_writers_of_the_same_names_do_not_block_each_other(store: Recollect, tenant_id: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    people = [
        f"{first} {last}" for first in ("Ana", "Ben", "Carla", "Deniz") for last in ("Okoro", "Lindqvist")
    ]
    context = TenantContext(tenant_id=tenant_id, user_id="ana", roles=("admin",))

    def write(number: int) -> int:
        ordered = people if number % 2 else people[::-1]
        items = [{"text": f"note {number}: we met {name}"} for name in ordered]
        return store.for_context(context).add_many(items).added

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(16))) == 16 * len(people)


def test_exports_leave_out_what_is_found_again(client: Recollect, tmp_path: Any) -> None:
    client.add("Sarah Chen called.")
    file = tmp_path / "out.jsonl"
    client.export_jsonl(file)
    assert "mentions" not in file.read_text(encoding="utf-8")


# Resolution ---------------------------------------------------------------------------------------


def test_names_are_resolved_exactly_by_alias_and_loosely(client: Recollect) -> None:
    client.add("Acme Corporation ordered pumps from Sarah Chen.")
    exact = resolved(client, "What did Acme Corporation order?")["Acme Corporation"]
    assert (exact.canonical_id, exact.method, exact.confidence) == ("acme corporation", Resolution.EXACT, 1.0)
    short = resolved(client, "What did Acme order?")["Acme"]
    assert "acme corporation" in short.keys
    slip = resolved(client, "Where is Sara Chen?")["Sara Chen"]
    assert (slip.canonical_id, slip.method) == ("sarah chen", Resolution.FUZZY)
    part = resolved(client, "Where is Chen?")["Chen"]
    assert (part.canonical_id, part.method) == ("sarah chen", Resolution.FUZZY)
    initial = resolved(client, "Where is S. Chen?")["S. Chen"]
    assert initial.canonical_id == "sarah chen"


def test_names_typed_in_lower_case_are_known(client: Recollect) -> None:
    client.add("Acme Foods ordered pumps. We like Lindqvist.")
    found = resolved(client, "what did acme foods want from lindqvist")
    assert found["acme foods"].canonical_id == "acme foods"
    assert found["lindqvist"].canonical_id == "lindqvist"


def test_an_everyday_word_in_lower_case_is_no_name(client: Recollect) -> None:
    client.add("We met Will at the Order of Malta. The Summer Palace was closed.")
    assert client.explain("will the order come in summer").entities == ()


def test_an_unknown_name_is_a_new_mention(client: Recollect) -> None:
    found = resolved(client, "Who is Zaphod Beeblebrox?")["Zaphod Beeblebrox"]
    assert (found.canonical_id, found.method) == ("zaphod beeblebrox", Resolution.NEW)


def test_another_number_is_another_thing(client: Recollect) -> None:
    client.add("INV-1041 was paid.")
    assert resolved(client, "Was INV-1042 paid?")["INV-1042"].method is Resolution.NEW
    assert resolved(client, "Was inv-1041 paid?")["inv-1041"].canonical_id == "inv 1041"


def test_who_asks_is_meant_by_i(as_user: Callable[..., Recollect]) -> None:
    found = resolved(as_user("Ana"), "What do I like?")["I"]
    assert (found.canonical_id, found.name, found.method) == ("ana", "Ana", Resolution.FIRST_PERSON)


def test_two_that_are_equally_likely_both_count_and_are_named(client: Recollect) -> None:
    client.add("Acme Corp ordered pumps.")
    client.add("Acme Foods ordered ovens.")
    asked = client.explain("What did Acme order?")
    [found] = [entity for entity in asked.entities if entity.mention_text == "Acme"]
    assert set(found.keys) >= {"acme corp", "acme foods"}
    assert found.rivals
    assert any(note.startswith("ambiguous: 'Acme' may be Acme Corp or Acme Foods") for note in asked.notes)
    assert found.confidence < 0.86


def test_two_rows_of_the_same_name_are_both_meant(client: Recollect) -> None:
    client.entities.declare("Acme", kind="customer", canonical="customer:1")
    client.entities.declare("Acme", kind="customer", canonical="customer:2")
    client.add("Acme ordered pumps.")
    asked = client.explain("What did Acme order?")
    [found] = asked.entities
    assert {found.canonical_id, *found.rivals} == {"customer:1", "customer:2"}
    assert "acme" in found.keys
    assert any("customer:1" in note and "customer:2" in note for note in asked.notes)


def test_declared_entities_have_aliases_and_count_in_lower_case(
    client: Recollect, as_user: Callable[..., Recollect]
) -> None:
    declared = client.entities.declare("Hyperion", kind="project", aliases=["the big one", "HYP"])
    assert (declared.kind, declared.source, declared.aliases) == ("project", "declared", ("big one", "hyp"))
    ana = as_user("ana")
    assert resolved(ana, "what is the status of hyp")["hyp"].canonical_id == "hyperion"
    assert one(ana.add("we moved the hyperion milestone")).mentions == ("hyperion",)


def test_an_alias_of_ones_own_is_nobody_elses(as_user: Callable[..., Recollect], client: Recollect) -> None:
    client.scopes.create("team/api")
    for user in ("ana", "ben"):
        client.members.add(user, "team/api")
    ana, ben = as_user("ana"), as_user("ben")
    ana.add("Initech GmbH is slow.", scope="team/api")
    ana.entities.alias("the printers", "Initech GmbH")
    assert resolved(ana, "what do the printers want")["printers"].canonical_id == "initech gmbh"
    assert ben.explain("what do the printers want").entities == ()


def test_entities_are_listed_and_forgotten(client: Recollect) -> None:
    client.entities.declare("Hyperion", kind="project", aliases=["hyp"])
    client.add("Sarah Chen and Sarah Lopez met.")
    assert [entity.name for entity in client.entities.list(prefix="Sar")] == ["Sarah Chen", "Sarah Lopez"]
    assert [entity.memories for entity in client.entities.list(prefix="Sar")] == [1, 1]
    assert len(client.entities.list(limit=2)) == 2
    client.entities.forget("hyp")
    assert client.entities.list(prefix="hyp") == []
    with pytest.raises(NotFoundError):
        client.entities.forget("hyp")
    with pytest.raises(ForbiddenError, match="memories name it"):
        client.entities.forget("Sarah Chen")


def test_only_an_admin_declares_for_everybody(as_user: Callable[..., Recollect]) -> None:
    with pytest.raises(ForbiddenError):
        as_user("ana").entities.declare("Hyperion", kind="project")


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "x" * 300, 7])
def test_a_name_that_is_none_is_refused(client: Recollect, name: Any) -> None:
    with pytest.raises(InvalidInputError):
        client.entities.declare(name, kind="project")


def test_an_alias_of_nothing_is_an_error(client: Recollect) -> None:
    with pytest.raises(NotFoundError, match="recollect entities list"):
        client.entities.alias("hyp", "Hyperion")


# What is not one's own ----------------------------------------------------------------------------


def test_an_entity_of_a_foreign_scope_is_never_resolved_suggested_or_listed(
    as_user: Callable[..., Recollect], client: Recollect
) -> None:
    ana, ben = as_user("ana"), as_user("ben")
    ana.add("Project Nightingale is secret. Acme Weapons pays Sarah Chen.")
    ben.add("Acme Foods ordered ovens.")
    for query in (
        "What is Project Nightingale?",
        "what about nightingale",
        "Who is Sara Chen?",
        "What did Acme order?",
    ):
        asked = ben.explain(query)
        spoken = repr(asked.entities) + repr(asked.notes)
        assert "acme weapons" not in spoken
        assert "Weapons" not in spoken
        for entity in asked.entities:
            assert (
                entity.method in {Resolution.NEW, Resolution.FIRST_PERSON}
                or entity.canonical_id == "acme foods"
            )
    assert [entity.key for entity in ben.entities.list()] == ["acme foods"]
    with pytest.raises(NotFoundError):
        ben.entities.alias("bird", "Project Nightingale")


# With a store of its own, where the session's searches are written by hand ------------------------


def in_store(settings: Settings, context: TenantContext, work: Callable[[Any], Any]) -> Any:
    async def run() -> Any:
        workspace = await Workspace.open(settings)
        try:
            async with workspace.store.transaction(context) as tx:
                return await work(tx)
        finally:
            await workspace.close()

    return asyncio.run(run())


def remember_search(owner: str, context: TenantContext, keys: list[str], *, at: datetime) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "insert into recollect.retrieval_event (tenant_id, query_id, user_id, session, at, category, strategy,"
            " weights, entities, hits, latency_ms)"
            " values (%s, gen_random_uuid(), %s, %s, %s, 'factual', 'factual', '{}', %s, 0, 0)",
            (context.tenant_id, context.user_id, context.session_id or "", at, keys),
        )


def test_a_pronoun_means_what_the_session_was_about_last(
    store: Recollect, settings: Settings, tenant_id: str, owner_conninfo: str
) -> None:
    context = TenantContext(tenant_id=tenant_id, user_id="ana", session_id="s1")
    client = store.for_context(context)
    client.add("Acme Corporation ordered pumps. Sarah Chen signed.")
    remember_search(owner_conninfo, context, ["sarah chen"], at=NOW - timedelta(minutes=2))
    remember_search(owner_conninfo, context, ["acme corporation"], at=NOW - timedelta(minutes=1))

    def ask(query: str, who: TenantContext = context) -> dict[str, ResolvedEntity]:
        asked = in_store(settings, who, lambda tx: understand(tx, query, now=NOW))
        return {entity.mention_text: entity for entity in asked.entities}

    they = ask("What did they order?")["they"]
    assert (they.canonical_id, they.method) == ("acme corporation", Resolution.PRONOUN)
    assert ask("What did she sign?")["she"].canonical_id == "sarah chen"
    assert ask("Is that customer happy?")["that customer"].canonical_id == "acme corporation"
    assert "their" not in ask("Did Globex pay their invoice?")
    assert ask("What did they order?", context.replace(session_id="s2")) == {}
    assert ask("What did they order?", context.replace(user_id="ben")) == {}


def test_the_domain_database_is_asked_last_and_what_it_says_is_kept(
    store: Recollect, settings: Settings, tenant_id: str
) -> None:
    context = TenantContext(tenant_id=tenant_id, user_id="ana")
    asked_for: list[str] = []

    async def find(mention: str) -> ResolvedEntity | None:
        asked_for.append(mention)
        if mention != "Globex":
            return None
        return ResolvedEntity(
            mention_text=mention,
            canonical_id="customer:a1b2",
            name="Globex Corporation",
            kind="customer",
            confidence=0.95,
            method=Resolution.DOMAIN,
        )

    def ask(query: str) -> ResolvedEntity:
        asked = in_store(settings, context, lambda tx: understand(tx, query, now=NOW, find_in_domain=find))
        [entity] = asked.entities
        return entity

    found = ask("What did Globex order?")
    assert (found.canonical_id, found.method) == ("customer:a1b2", Resolution.DOMAIN)
    assert {"globex", "globex corporation"} <= set(found.keys)
    again = ask("What did Globex order?")
    assert (again.canonical_id, again.method) == ("customer:a1b2", Resolution.ALIAS)
    assert asked_for == ["Globex"]
    assert ask("Who is Zaphod?").method is Resolution.NEW


def test_a_learned_alias_is_sure_to_a_degree_and_goes_with_the_user(
    store: Recollect, settings: Settings, tenant_id: str, owner_conninfo: str
) -> None:
    context = TenantContext(tenant_id=tenant_id, user_id="ana")
    client = store.for_context(context)
    client.add("Sarah Chen called.")
    in_store(settings, context, lambda tx: entities.learn_alias(tx, "Chenny", "sarah chen", confidence=0.9))
    found = resolved(client, "Where is Chenny?")["Chenny"]
    assert (found.canonical_id, found.method, found.confidence) == ("sarah chen", Resolution.ALIAS, 0.9)
    client.forget_user("ana")
    assert rows(owner_conninfo, "select 1 from recollect.entity_key where tenant_id = %s", tenant_id) == []


# Any input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "'; drop table recollect.entity; --",
        "%(tenant)s %s",
        "[a-z]+(",
        "\\",
        "客户最近买了什么？",
        "ما هو رصيد العميل؟",
        "🎉 🎉",
        "Acme " * 9_000,
        "a" * 50_000,
        "I it they he she",
        ":::",
        "customer:a1b2",
    ],
)
def test_every_question_is_understood_somehow(client: Recollect, query: str) -> None:
    asked = client.explain(query)
    assert asked.query == query
    assert asked.strategy.weights


def test_an_event_that_a_memory_dates_limits_the_time(client: Recollect) -> None:
    client.add("The launch of Hyperion went well.", valid_from="2024-03-10T00:00:00Z")
    asked = client.explain("What did we decide before the launch of Hyperion?", now="2024-05-15T12:00:00Z")
    assert asked.time_range is not None
    assert asked.time_range.end == datetime(2024, 3, 10, tzinfo=UTC)
    assert asked.type.time_focused


def test_contradictory_times_are_a_note_and_no_limit(client: Recollect) -> None:
    asked = client.explain("What happened since June 2024 and before May 2024?", now="2024-07-15T12:00:00Z")
    assert asked.notes


def test_a_second_question_of_a_session_refers_to_the_first(store: Recollect, tenant_id: str) -> None:
    client = store.for_context(TenantContext(tenant_id=tenant_id, user_id="ana", session_id="s1"))
    client.add("Acme Corporation ordered two pumps.")
    client.search("What did I say about Acme Corporation?", threshold=0.0)
    deadline = datetime.now(UTC) + timedelta(seconds=60)
    while not (found := resolved(client, "What did they order?")) and datetime.now(UTC) < deadline:
        pass  # searches are written down in the background
    assert found["they"].canonical_id == "acme corporation"


def test_a_misspelt_name_becomes_an_alias_once_what_it_led_to_has_served(client: Recollect) -> None:
    memory = client.add(
        "Nordwind Logistics wants its pallets wrapped twice.", entities=["Nordwind Logistics"]
    )
    assert isinstance(memory, Memory)
    question = "What does Nordwnid Logistics want?"
    before = client.search(question, threshold=0)
    assert [entity.method for entity in client.explain(question).entities] == [Resolution.FUZZY]
    client.feedback(memory.id, "helpful", query_id=before.query_id)
    [known] = client.explain(question).entities
    assert (known.method, known.name) == (Resolution.ALIAS, "Nordwind Logistics")
