"""Explorations without a model, from the question to the checked answer, its record, and taking it up again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.codebase.shop import FILES, TRACE, lay_out

from recollect import Recollect, RLMOrchestrator, RLMResult, Settings, TenantContext
from recollect.codebase.audit import audit_path, file_name, read_audit, replay_result, result_of
from recollect.codebase.surface import REPLToolSurface
from recollect.domain.findings import CitationStatus
from recollect.domain.oracle import Verification
from recollect.errors import ForbiddenError, InvalidInputError, InvalidTextError, NotFoundError, RunError
from recollect.oracle.verify import verify_result
from recollect.runs.events import Event
from recollect.runs.trajectory import to_json
from recollect.workspace import Workspace

QUESTION = "How is the discount of the season taken off a price?"

Explore = Callable[..., RLMResult]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The repository."""
    return lay_out(tmp_path / "shop")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a home that nothing else uses."""
    return Settings(home=tmp_path / "home")


@pytest.fixture
def explore(shop: Path, settings: Settings) -> Explore:
    """Explores the shop without a model; every call is a session of its own."""

    def go(query: str = QUESTION, hints: Any = (), task_id: str | None = "task", **more: Any) -> RLMResult:
        orchestrator = RLMOrchestrator(shop, settings=settings)
        return asyncio.run(orchestrator.explore(task_id, query, list(hints), **more))

    return go


def verify_exploration(document: object, working_dir: Path | None = None) -> Verification:
    """What reading the citations again shows; files alone need no store."""

    async def no_store() -> Workspace:
        raise AssertionError("a store was opened")

    folder = None if working_dir is None else str(working_dir)
    return asyncio.run(
        verify_result(no_store, TenantContext(tenant_id="t", user_id="u"), document, working_dir=folder)
    )


def held(result: RLMResult) -> dict[CitationStatus, list[str]]:
    """The cited files by what reading them again shows."""
    found: dict[CitationStatus, list[str]] = {}
    for one in verify_exploration(result.document()).citations:
        found.setdefault(one.status, []).append(one.file_path)
    return found


# ---------------------------------------------------------------- what it answers


def test_a_question_is_answered_from_the_code_with_lines_that_say_so(explore: Explore, shop: Path) -> None:
    result = explore()
    assert result.success
    assert result.error is None
    assert result.files[0] == "shop/prices.py"
    assert "`apply_discount`" in result.synthesis
    best = next(one for one in result.findings if "`apply_discount`" in one.description)
    lines = (shop / best.source_file).read_text().split("\n")
    first, last = best.line_range or (0, 0)
    assert best.evidence == "\n".join(lines[first - 1 : last])
    assert "SEASON_DISCOUNT_PERCENT" in best.evidence
    assert all(0 < one.confidence <= 1 for one in result.findings)
    assert all(one.status is CitationStatus.QUOTED for one in result.citations)


def test_every_mark_of_the_answer_stands_for_its_citation(explore: Explore) -> None:
    result = explore()
    for line in result.synthesis.splitlines():
        if line.startswith("- ") and "`apply_discount` (" in line:
            number = int(line.rsplit("[", 1)[1].rstrip("]"))
            assert result.citations[number - 1].file_path == "shop/prices.py"
            break
    else:
        pytest.fail(f"no line names apply_discount: {result.synthesis}")


def test_the_uses_of_what_was_found_are_named(explore: Explore) -> None:
    result = explore("Who calls price_of?")
    assert {"shop/cart.py", "shop/receipts.py"} <= set(result.files)
    assert any("calls `price_of`" in one.description for one in result.findings)


@pytest.mark.parametrize(
    ("hint", "file"),
    [
        ("shop/checkout.py", "shop/checkout.py"),
        ("checkout.py:9", "shop/checkout.py"),
        ("renderBasket", "web/basket.js"),
        ("web/*.js", "web/basket.js"),
        (TRACE, "shop/prices.py"),
    ],
)
def test_hints_are_paths_lines_symbols_globs_and_traces(explore: Explore, hint: str, file: str) -> None:
    result = explore("What happens here?", [hint])
    assert file in result.files[:2]


def test_a_question_that_nothing_speaks_about_is_not_answered(explore: Explore) -> None:
    result = explore("zygomorphic quaternion lattices")
    assert not result.success
    assert result.error == "nothing was found"
    assert result.citations == ()
    assert result.synthesis == "Nothing in this tree speaks about it."


def test_the_tree_is_not_written_to(explore: Explore, shop: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in shop.rglob("*")}
    explore()
    assert {path: path.stat().st_mtime_ns for path in shop.rglob("*")} == before


def test_everything_that_happens_is_told(explore: Explore) -> None:
    heard: list[Event] = []
    explore(on_event=heard.append)
    kinds = [one.type for one in heard]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_ended"
    assert {"step_planned", "call_started", "call_ended", "finding_added", "budget_updated"} <= set(kinds)


def test_a_language_without_a_grammar_is_missed_and_still_searched(explore: Explore, shop: Path) -> None:
    (shop / "tax.cob").write_text("DISPLAY VAT-RATE.\nCOMPUTE VAT-RATE = 19.\n")
    result = explore("Where is the VAT-RATE computed?")
    assert "tax.cob" in result.files
    [request] = result.capability_requests
    assert ".cob" in request["description"]
    assert request["context"]["path"] == "tax.cob"


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(("most", "stopped_by"), [(0, "subcalls"), (1, "subcalls"), (4, "subcalls")])
def test_a_small_budget_ends_it_with_what_it_has(explore: Explore, most: int, stopped_by: str) -> None:
    result = explore(max_subcalls=most)
    assert result.usage.subcall_count == most
    assert result.stopped_by == stopped_by
    assert result.success is (most > 0)
    assert most == 0 or result.files[0] == "shop/prices.py"


def test_a_step_keeps_to_its_own_limit(explore: Explore) -> None:
    result = explore(max_subcalls_per_iteration=2)
    assert result.success
    assert all(len(one.tool_calls) <= 2 for one in result.trajectory.steps)


def test_no_time_is_an_answer_too(explore: Explore) -> None:
    result = explore(timeout_seconds=0)
    assert (result.stopped_by, result.success) == ("timeout", False)


def test_settings_are_the_limits_when_none_are_given(shop: Path, tmp_path: Path) -> None:
    environ = {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RLM_MAX_SUBCALLS": "3",
        "RLM_MAX_PER_ITERATION": "2",
        "RLM_TIMEOUT": "60",
        "RLM_CACHE_ENABLED": "false",
        "RLM_AUDIT_DIR": str(tmp_path / "records"),
    }
    settings = Settings.load(environ=environ, cwd=tmp_path)
    orchestrator = RLMOrchestrator(shop, settings=settings)

    async def twice() -> tuple[RLMResult, RLMResult]:
        return await orchestrator.explore("a", QUESTION), await orchestrator.explore("b", QUESTION)

    first, second = asyncio.run(twice())
    assert first.usage.subcall_count == second.usage.subcall_count == 3
    assert second.usage.cached_subcalls == 0
    assert {one.name for one in (tmp_path / "records").iterdir()} == {"a.json", "b.json"}


def test_a_session_answers_equal_calls_once(shop: Path, settings: Settings) -> None:
    orchestrator = RLMOrchestrator(shop, settings=settings)

    async def thrice() -> list[RLMResult]:
        first = await orchestrator.explore("a", QUESTION)
        second = await orchestrator.explore("b", QUESTION)
        (shop / "shop/prices.py").write_text("# nothing left\n" + FILES["shop/prices.py"])
        return [first, second, await orchestrator.explore("c", QUESTION)]

    first, second, third = asyncio.run(thrice())
    assert (first.usage.cached_subcalls, second.usage.subcall_count) == (0, 0)
    assert second.usage.cache_hit_rate == 1.0
    assert second.findings == first.findings
    assert third.usage.subcall_count > 0
    assert all(one.status is CitationStatus.QUOTED for one in third.citations)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"query": "  "}, InvalidTextError, "empty"),
        ({"query": "x" * 20_001}, InvalidTextError, "20,000"),
        ({"hints": [3]}, InvalidInputError, "not a string"),
        ({"hints": ["x"] * 101}, InvalidInputError, "the limit is 100"),
        ({"max_subcalls": -1}, InvalidInputError, "max_subcalls"),
        ({"timeout_seconds": float("nan")}, InvalidInputError, "timeout_seconds"),
        ({"task_id": ""}, InvalidInputError, "task_id"),
        ({"preset": "plumber"}, InvalidInputError, "repo mapper, architecture surveyor"),
    ],
)
def test_what_makes_no_sense_is_refused(
    explore: Explore, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        explore(**arguments)


def test_a_folder_that_is_not_there_or_not_allowed_is_refused(tmp_path: Path, shop: Path) -> None:
    settings = Settings(home=tmp_path / "home", roots=(tmp_path / "other",))
    with pytest.raises(ForbiddenError):
        asyncio.run(RLMOrchestrator(shop, settings=settings).explore("t", QUESTION))
    with pytest.raises(NotFoundError):
        asyncio.run(
            RLMOrchestrator(tmp_path / "none", settings=Settings(home=tmp_path)).explore("t", QUESTION)
        )


def test_a_nasty_tree_is_explored_and_nothing_leads_out_of_it(
    explore: Explore, shop: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.py").write_text("def season_discount_outside(): ...\n")
    (shop / "out.py").symlink_to(tmp_path / "outside.py")
    (shop / "round").symlink_to(shop)
    os.mkfifo(shop / "pipe.py")
    (shop / "nul.py").write_bytes(b"season_discount = 1\0\n")
    (shop / "latin.py").write_bytes(
        "# Rabatt für die Saison: discount of the season\nx = 1\n".encode("latin-1")
    )
    (shop / "line.js").write_text("var season_discount=[" + "1," * 400_000 + "];")
    (shop / os.fsdecode(b"bad-\xff.py")).write_text("def discount_of_the_season():\n    return 1\n")
    (shop / "locked.py").write_text("discount = 1\n")
    (shop / "locked.py").chmod(0)
    result = explore(
        QUESTION + " season_discount discount_of_the_season", ["/etc/passwd", "../outside.py", "a[b", "x" * 9]
    )
    assert result.success
    assert "shop/prices.py" in result.files
    assert not {"out.py", "pipe.py", "nul.py"} & set(result.files)
    assert all("outside" not in one.evidence for one in result.findings)
    assert verify_exploration(json.loads(json.dumps(result.document()))).holds
    assert result.audit_file is not None
    assert verify_exploration(read_audit(result.audit_file)).holds
    assert any("left out" in note for note in result.notes)


@pytest.mark.parametrize("pattern", ["(", "a" * 1_001, "(?P<x>a)(?P=x)"])
def test_a_pattern_that_can_not_be_used_is_an_error_of_that_call(shop: Path, pattern: str) -> None:
    tools = REPLToolSurface(shop)
    with pytest.raises(RunError):
        asyncio.run(tools.grep(pattern))
    assert tools.budget.subcall_count == 1


def test_a_file_that_changes_while_it_is_explored_is_not_cited_as_it_was(
    explore: Explore, shop: Path
) -> None:
    def change(event: Event) -> None:
        if event.type == "call_ended":
            (shop / "shop/prices.py").write_text("# all gone\n")

    result = explore(on_event=change)
    assert "shop/prices.py" not in result.files
    assert all(one.status is CitationStatus.QUOTED for one in result.citations)


# ---------------------------------------------------------------- citations


def test_all_citations_hold_while_nothing_changes(explore: Explore) -> None:
    result = explore()
    again = verify_exploration(json.loads(json.dumps(result.document())))
    assert again.holds
    assert again.quoted == len(result.citations) > 3


def test_broken_citations_are_all_reported_and_no_others(explore: Explore, shop: Path) -> None:
    """Lines are shuffled in one file, moved in another, one is deleted and one is edited outside of what is cited."""
    result = explore("How do cart, prices, checkout and receipts fit together?")
    assert {"shop/cart.py", "shop/prices.py", "shop/checkout.py", "shop/receipts.py"} <= set(result.files)
    lines = FILES["shop/prices.py"].split("\n")
    random.Random(7).shuffle(lines)
    (shop / "shop/prices.py").write_text("\n".join(lines))
    (shop / "shop/cart.py").write_text("# new\n# lines\n" + FILES["shop/cart.py"])
    (shop / "shop/checkout.py").unlink()
    now = {path: (shop / path).read_text().split("\n") for path in FILES if (shop / path).exists()}
    checked = verify_exploration(result.document())
    for before, after in zip(result.citations, checked.citations, strict=True):
        text = "\n".join(FILES[before.file_path].split("\n")[before.line_start - 1 : before.line_end])
        there = now.get(before.file_path)
        if there is None:
            assert after.status is CitationStatus.UNSUPPORTED
        elif "\n".join(there[before.line_start - 1 : before.line_end]) == text:
            assert after.status is CitationStatus.QUOTED
        elif text in "\n".join(there):
            assert after.status is CitationStatus.MOVED
            found = there[after.line_start - 1 : after.line_end]
            assert "\n".join(found) == text
        else:
            assert after.status is CitationStatus.STALE
    assert {CitationStatus.MOVED, CitationStatus.UNSUPPORTED} <= {one.status for one in checked.citations}


def test_a_tree_elsewhere_is_verified_there(explore: Explore, tmp_path: Path) -> None:
    result = explore()
    moved = lay_out(tmp_path / "clone")
    document = {**result.document(), "root": str(tmp_path / "gone")}
    assert not verify_exploration(document).holds
    assert verify_exploration(document, working_dir=moved).holds


def test_a_citation_that_leads_out_of_the_tree_is_unsupported(explore: Explore, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hidden")
    document = explore().document()
    for path in ("../secret.txt", str(tmp_path / "secret.txt")):
        cited = {
            **document["citations"][0],
            "file_path": path,
            "line_start": 1,
            "line_end": 1,
            "quote": "hidden",
        }
        checked = verify_exploration({**document, "citations": [{**cited, "content_hash": ""}]})
        assert checked.unsupported == 1


# ---------------------------------------------------------------- the record


def test_the_record_has_the_shape_that_was_promised(explore: Explore, settings: Settings) -> None:
    result = explore(task_id="task-123")
    file = settings.home / "telemetry" / "rlm" / "task-123.json"
    assert result.audit_file == str(file)
    document = json.loads(file.read_text())
    assert (document["task_id"], document["query"]) == ("task-123", QUESTION)
    assert document["start_time"].endswith("Z")
    assert document["end_time"] >= document["start_time"]
    assert set(document["trajectory"]) == {"steps", "total_subcalls", "cached_hits"}
    assert document["trajectory"]["total_subcalls"] == result.usage.subcall_count
    assert {"subcall_count", "total_tokens", "wall_time_seconds"} <= set(document["usage"])
    assert [one["description"] for one in document["findings"]] == [
        one.description for one in result.findings
    ]
    assert len(document["citations"]) == len(result.citations)
    assert file.stat().st_mode & 0o077 == 0
    assert verify_exploration(document).holds
    assert [one.name for one in file.parent.iterdir()] == ["task-123.json"], "the journal is gone"


@pytest.mark.parametrize(
    "task_id", ["../../evil", "/etc/passwd", "a/b", "..", "con", "ä ö", "C:\\x", ".hidden", "x" * 200]
)
def test_no_task_leads_out_of_the_folder_of_records(task_id: str, tmp_path: Path) -> None:
    place = audit_path(tmp_path, task_id)
    assert place.parent == tmp_path
    assert place.name == f"{file_name(task_id)}.json"
    assert not place.name.startswith(".")
    assert place.name.isascii()
    assert len(place.name) <= 120
    assert file_name(task_id) != file_name(task_id.replace("/", "_") + " ")


def test_a_record_is_played_again_without_the_tree(explore: Explore, shop: Path) -> None:
    result = explore()
    assert result.audit_file is not None
    document = read_audit(result.audit_file)
    for path in FILES:
        (shop / path).unlink()
    again = asyncio.run(replay_result(result_of(document)))
    assert again.record is not None
    assert to_json(again.record) == json.dumps(document["record"], separators=(",", ":"))
    assert again.synthesis == result.synthesis
    assert again.trajectory.total_subcalls == result.trajectory.total_subcalls


def test_a_secret_in_the_code_is_not_in_the_record_and_its_citation_still_verifies(
    explore: Explore, shop: Path
) -> None:
    secret = "sk-abcdefghijklmnop1234567890"
    (shop / "shop/keys.py").write_text(f'def warehouse_robot_key() -> str:\n    return "{secret}"\n')
    result = explore("warehouse_robot_key")
    assert any(secret in one.evidence for one in result.findings)
    assert result.audit_file is not None
    text = Path(result.audit_file).read_text()
    assert secret not in text
    checked = verify_exploration(json.loads(text))
    assert checked.holds
    assert "shop/keys.py" in {one.file_path for one in checked.citations}


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"kind": "consultation"}', '{"kind": "exploration", "record": 3}']
)
def test_a_damaged_record_is_refused_with_a_reason(damage: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(damage)
    with pytest.raises(InvalidInputError, match="record"):
        read_audit(tmp_path / "r.json")


def test_a_record_that_can_not_be_written_costs_nobody_the_answer(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    orchestrator = RLMOrchestrator(
        shop, settings=Settings(home=tmp_path / "home"), audit_dir=tmp_path / "file" / "records"
    )
    result = asyncio.run(orchestrator.explore("task", QUESTION))
    assert result.success
    assert result.audit_file is None
    assert any("could not be written" in note for note in result.notes)


# ---------------------------------------------------------------- taking it up again


CRASHING = """
import asyncio, os, sys
from recollect import RLMOrchestrator, Settings

root, home, question, most = sys.argv[1:]
left = [4]

def hear(event):
    left[0] -= event.type == "call_ended"
    if not left[0]:
        os._exit(9)

orchestrator = RLMOrchestrator(root, settings=Settings(home=home))
asyncio.run(orchestrator.explore("task", question, [], int(most), on_event=hear))
"""


@pytest.fixture
def crash(shop: Path, settings: Settings) -> Callable[[int], int]:
    """An exploration whose process dies when its fourth call has ended; how many calls it had begun."""

    def go(most: int) -> int:
        command = [sys.executable, "-c", CRASHING, str(shop), str(settings.home), QUESTION, str(most)]
        assert subprocess.run(command, check=False).returncode == 9
        journal = settings.home / "telemetry" / "rlm" / "task.journal"
        assert journal.stat().st_mode & 0o077 == 0
        begun = sum('"begun"' in line for line in journal.read_text().splitlines())
        # Half a line is what a crash often leaves.
        journal.write_text(journal.read_text() + '{"call": {"tool": "gre')
        return begun

    return go


def test_a_run_that_broke_off_is_taken_up_where_it_was(
    explore: Explore, crash: Callable[[int], int], settings: Settings
) -> None:
    whole = explore(task_id="whole")
    begun = crash(50)
    assert begun >= 4
    resumed = explore(resume=True)
    assert f"resumed; {begun} sub-calls were made before" in resumed.notes
    assert resumed.synthesis == whole.synthesis
    assert resumed.usage.subcall_count <= whole.usage.subcall_count + begun - resumed.usage.cached_subcalls
    assert resumed.usage.cached_subcalls >= 4
    assert not (settings.home / "telemetry" / "rlm" / "task.journal").exists()


def test_what_was_used_before_a_crash_counts_after_it(explore: Explore, crash: Callable[[int], int]) -> None:
    begun = crash(5)
    resumed = explore(resume=True, max_subcalls=begun)
    assert resumed.usage.subcall_count == begun
    assert resumed.files[0] == "shop/prices.py"


def test_without_a_run_to_take_up_it_begins_anew(explore: Explore) -> None:
    result = explore(resume=True)
    assert result.success
    assert "there was nothing to resume; the exploration began anew" in result.notes


# ---------------------------------------------------------------- presets and doors


@pytest.mark.parametrize("name", ["repo mapper", "architecture surveyor", "debugger", "validation"])
def test_a_preset_has_a_question_of_its_own(explore: Explore, name: str) -> None:
    result = explore("", [TRACE] if name == "debugger" else (), preset=name)
    assert result.success
    assert result.query.endswith("?")
    assert "shop/prices.py" in result.files


def test_validation_names_the_tests_of_what_it_finds(explore: Explore) -> None:
    result = explore("Which tests cover apply_discount?", preset="validation")
    assert "tests/test_prices.py" in result.files


def test_the_client_explores_and_verifies_without_a_database(shop: Path, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", database_url="postgresql://nobody@127.0.0.1:1/none")
    client = Recollect(settings=settings)
    try:
        plan = client.explore_dry_run(shop, QUESTION)
        assert plan.likely_files[0] == "shop/prices.py"
        assert (plan.max_subcalls, plan.max_model_calls, plan.max_usd) == (50, 0, 0.0)
        result = client.explore(shop, QUESTION, ["shop/cart.py"], task_id="mine")
        assert client.verify(result).holds
        assert [one.task_id for one in client.explorations.list()] == ["mine"]
        assert client.explorations.get("mine").synthesis == result.synthesis
        assert client.explorations.replay("mine").trajectory.total_subcalls == result.usage.subcall_count
        with pytest.raises(NotFoundError):
            client.explorations.get("other")
        again = client.explore(shop, QUESTION, ["shop/cart.py"])
        assert again.usage.cache_hit_rate == 1.0
    finally:
        client.close()
