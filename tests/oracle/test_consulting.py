"""A consultation without a model, through the public door: answers, citations, coverage, sessions, records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.oracle.small_library import SHOP, put_document

from recollect import EventType, OracleConsultation, OracleConsultResult, Recollect
from recollect.domain.findings import CitationStatus
from recollect.domain.oracle import NOT_IN_DOCUMENTS, OracleEvent
from recollect.errors import ForbiddenError, InvalidInputError, NotFoundError


def cited(result: OracleConsultResult) -> list[tuple[str, int]]:
    return [(one.file_path, one.line_start) for one in result.citations]


@pytest.mark.parametrize(("depth", "mode"), [("quick", "direct"), ("thorough", "rlm"), ("auto", "direct")])
def test_an_answer_quotes_the_lines_that_answer_and_every_citation_verifies(
    library: Recollect, depth: str, mode: str
) -> None:
    result = library.oracle_consult("How long until a token expires?", depth)
    assert cited(result)[0] == ("shop.md", 9)
    assert "Tokens expire after 15 minutes" in result.answer.splitlines()[0]
    assert result.answer.splitlines()[0].endswith("[1]")
    assert {one.status for one in result.citations} == {CitationStatus.QUOTED}
    assert result.consultation.processing_mode == mode
    assert result.stopped_by == "done"
    assert library.verify(result).holds


def test_documents_that_are_named_are_the_only_ones_that_are_read(library: Recollect) -> None:
    result = library.oracle_consult("How long until a token expires?", "thorough", doc_ids=["bread.md"])
    assert {path for path, _ in cited(result)} <= {"bread.md"}
    assert result.consultation.docs_consulted in ((), ("bread.md",))


def test_each_part_of_a_question_finds_its_own_place(library: Recollect) -> None:
    problem = "How long until a token expires, and how long does rye bread rest?"
    result = library.oracle_consult(problem, "thorough")
    assert {("shop.md", 9), ("bread.md", 5)} <= set(cited(result)[:3])
    assert "query_subset" in result.consultation.tools_used
    assert result.consultation.recursive_calls >= 3


def test_what_no_document_says_is_answered_so(library: Recollect) -> None:
    for depth in ("quick", "thorough"):
        result = library.oracle_consult("zebra migration xylophone quarterly", depth)
        assert result.answer == NOT_IN_DOCUMENTS
        assert not result.found
        assert result.citations == ()


def test_an_empty_library_says_so_instead_of_failing(client: Recollect) -> None:
    result = client.oracle_consult("How long until a token expires?")
    assert result.answer == NOT_IN_DOCUMENTS
    assert result.coverage.material_tokens == 0


def test_unknown_documents_are_named_with_what_was_meant(library: Recollect) -> None:
    with pytest.raises(NotFoundError, match=r"shpo\.md.*shop\.md"):
        library.oracle_consult("anything", doc_ids=["shpo.md"])
    failed = library.consultations.list()[0]
    assert failed.outcome == "error"
    assert "shpo.md" in str(failed.error_message)
    with pytest.raises(NotFoundError, match="failed and has no answer"):
        library.consultations.get(failed.id)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"depth_hint": "deep"}, "quick, thorough, auto"),
        ({"files": ["*.py"]}, "working_dir"),
        ({"doc_ids": "shop.md"}, "must be a list"),
        ({"max_input_tokens": 0}, "from 1 on"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(
    client: Recollect, wrong: dict[str, object], why: str
) -> None:
    with pytest.raises(InvalidInputError, match=why):
        client.oracle_consult("anything", **wrong)  # type: ignore[arg-type]


def test_a_working_folder_that_is_not_there_is_not_found(client: Recollect) -> None:
    with pytest.raises(NotFoundError, match="not a folder"):
        client.oracle_consult("anything", working_dir="/no/such/folder")


# Files ----------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "tokens.py").write_text(
        '"""Tokens of the shop."""\n\n\ndef renew_token(token: str) -> str:\n    return token + "new"\n'
    )
    (folder / "notes.md").write_text("# Notes\n\nThe cashier prints receipts on thermal paper.\n")
    (folder / ".gitignore").write_text("build/\n")
    (folder / "build").mkdir()
    (folder / "build" / "made.py").write_text("thermal = 'paper'\n")
    return folder


def test_files_of_a_folder_are_cited_by_their_lines(client: Recollect, project: Path) -> None:
    result = client.oracle_consult(
        "What are receipts printed on?", "thorough", working_dir=project, files=["**"]
    )
    assert cited(result)[0] == ("notes.md", 3)
    assert result.citations[0].kind == "file"
    assert result.consultation.files_consulted[0] == "notes.md"
    assert client.verify(result).holds
    (project / "notes.md").write_text("# Notes\n\nThe cashier prints receipts on linen.\n")
    assert client.verify(result).stale == sum(one.file_path == "notes.md" for one in result.citations)


def test_files_that_the_time_does_not_last_for_are_left_out_and_that_is_said(
    default_store: Recollect, tmp_path: Path
) -> None:
    line = "The cashier prints receipts on thermal paper, and keeps a copy of each.\n"
    for number in range(60):
        (tmp_path / f"{number:02}.md").write_text(f"# Page {number}\n\n{line * 500}")
    hurried = default_store.settings.replace(budget={"timeout_seconds": 0.05})
    with Recollect(settings=hurried, context=default_store.tenant_context) as client:
        result = client.oracle_consult("What are receipts printed on?", working_dir=tmp_path, doc_ids=[])
    assert result.stopped_by == "timeout"
    assert any("before all files were read" in note for note in result.notes)
    assert any("time was over" in skipped.reason for skipped in result.coverage.skipped)
    assert result.coverage.files < 60


def test_coverage_says_what_was_left_out_and_why(client: Recollect, project: Path) -> None:
    (project / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    result = client.oracle_consult("What are receipts printed on?", working_dir=project, files=["**"])
    reasons = {one.what: one.reason for one in result.coverage.skipped}
    assert "binary" in reasons["logo.png"]
    assert "build/made.py" not in result.consultation.files_consulted
    assert 0 < result.coverage.share <= 1


def test_coverage_counts_the_library_that_was_searched(library: Recollect) -> None:
    for number in range(12):
        put_document(
            library, f"ship{number}.md", f"# Ship {number}\n\nShip {number} carries coal to port {number}.\n"
        )
    result = library.oracle_consult("How long until a token expires?")
    coverage = result.coverage
    assert coverage.searched_tokens == sum(one.tokens for one in library.library.list())
    assert 0 < coverage.read_tokens <= coverage.material_tokens < coverage.searched_tokens
    assert coverage.skipped[-1].what == f"{14 - coverage.documents} other documents of the library"
    named = library.oracle_consult("How long until a token expires?", doc_ids=["shop.md"]).coverage
    assert (named.documents, named.searched_tokens) == (1, named.material_tokens)


def test_a_long_paragraph_is_shown_by_the_sentences_that_answer_and_cited_whole(client: Recollect) -> None:
    filler = " ".join(f"Ship {number} carries coal along the coast all summer." for number in range(60))
    for name in "abcdefgh":
        text = (
            f"# Harbour {name}\n\n{filler} The lighthouse keeper of {name} paints windows green. {filler}\n"
        )
        put_document(client, f"{name}.md", text)
    result = client.oracle_consult("What does the lighthouse keeper paint green?", "quick")
    assert result.found
    assert len(result.citations) == 5
    lines = [line for line in result.answer.splitlines() if line not in ("", "See also:")]
    assert len(lines) == len(result.citations)
    assert all("paints windows green" in line and len(line) < 900 for line in lines)
    assert all(one.line_start == one.line_end == 3 for one in result.citations)


def test_a_part_that_fits_anything_does_not_answer_for_the_rest(library: Recollect) -> None:
    problem = "Which Quorvex setting sizes the Xylonite pool in Zanthor, and how long until a token expires?"
    assert not library.oracle_consult(problem, "thorough").found


def test_a_folder_outside_the_allowed_roots_is_refused(
    settings: object, tenant_id: str, client: Recollect, project: Path, tmp_path: Path
) -> None:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    inside = client.settings.replace(roots=(allowed,))
    with Recollect(settings=inside, context=client.tenant_context) as guarded:
        with pytest.raises(ForbiddenError, match="outside the allowed roots"):
            guarded.oracle_consult("anything", working_dir=project)
        (allowed / "link").symlink_to(project)
        with pytest.raises(ForbiddenError, match="outside the allowed roots"):
            guarded.oracle_consult("anything", working_dir=allowed / "link")
        (allowed / "notes.md").symlink_to(project / "notes.md")
        result = guarded.oracle_consult("What are receipts printed on?", working_dir=allowed, files=["**"])
        assert result.citations == ()


# Records --------------------------------------------------------------------------------------------


def test_a_consultation_is_kept_with_all_its_fields_and_can_be_asked_again(library: Recollect) -> None:
    result = library.oracle_consult(
        "How long until a token expires?", "thorough", session="s1", workflow="PROJ-456", agent="reviewer"
    )
    [kept] = library.consultations.list(session="s1")
    assert isinstance(kept, OracleConsultation)
    assert kept == result.consultation
    assert (kept.workflow, kept.agent, kept.session_id) == ("PROJ-456", "reviewer", "s1")
    assert (kept.outcome, kept.model, kept.cost_usd, kept.tokens) == ("success", "", 0.0, {"total": 0})
    assert kept.advice == result.answer
    assert kept.docs_consulted[0] == "shop.md"
    assert library.consultations.get(kept.id).document() == result.document()
    again = library.consultations.repeat(kept.id)
    assert (again.answer, again.citations) == (result.answer, result.citations)
    assert again.consultation.id != kept.id
    assert again.consultation.settings == kept.settings


def test_the_steps_of_a_consultation_are_among_the_runs_without_their_words(library: Recollect) -> None:
    library.oracle_consult("How long until a token expires?", "quick")
    assert not library.learning.runs(), "one look has no steps"
    asked = library.oracle_consult("How long until a token expires?", "thorough").consultation
    [run] = library.learning.runs()
    assert (run.environment, run.query_id, run.stopped_by) == ("library", asked.id, "done")
    kept = library.learning.run(run.id).trajectory
    called = [call["tool"] for step in kept["steps"] for call in step["tool_calls"]]
    assert tuple(dict.fromkeys(called)) == asked.tools_used
    assert "expire" not in str(kept)
    assert library.overview().decomposed == 0


def test_what_somebody_asked_is_seen_by_them_and_the_admin(
    library: Recollect, as_user: Callable[..., Recollect]
) -> None:
    ana, bob = as_user("ana"), as_user("bob")
    ana.oracle_consult("anything at all")
    assert len(ana.consultations.list()) == 1
    assert bob.consultations.list() == []
    assert len(library.consultations.list()) == 1
    with pytest.raises(NotFoundError):
        bob.consultations.get(ana.consultations.list()[0].id)


def test_a_user_who_is_forgotten_leaves_no_consultation(
    library: Recollect, as_user: Callable[..., Recollect]
) -> None:
    as_user("ana").oracle_consult("anything at all")
    receipt = library.forget_user("ana")
    assert receipt.rows["consultation"] == 1
    assert library.consultations.list() == []


def test_events_tell_what_happens_in_order_and_are_kept(library: Recollect) -> None:
    heard: list[OracleEvent] = []
    result = library.oracle_consult("How long until a token expires?", "thorough", on_event=heard.append)
    types = [one.type for one in heard]
    assert types[0] is EventType.ORACLE_CONSULTATION_STARTED
    assert types[-1] is EventType.ORACLE_CONSULTATION_COMPLETED
    assert EventType.ORACLE_RLM_TOOL_CALL in types
    assert EventType.ORACLE_CONSULTATION_THINKING in types
    assert [one.number for one in heard] == list(range(1, len(heard) + 1))
    assert library.consultations.events(result.consultation.id) == heard


def test_a_subscriber_that_fails_costs_nobody_the_answer(library: Recollect) -> None:
    def broken(event: OracleEvent) -> None:
        raise RuntimeError("no")

    assert library.oracle_consult("How long until a token expires?", on_event=broken).found


def test_a_follow_up_in_a_session_is_answered_from_what_was_read(library: Recollect) -> None:
    first = library.oracle_consult("How long until a token expires?", "thorough", session="s2")
    heard: list[OracleEvent] = []
    second = library.oracle_consult(
        "How long until a token expires?", "thorough", session="s2", on_event=heard.append
    )
    calls = [one.detail for one in heard if one.type is EventType.ORACLE_RLM_TOOL_CALL]
    assert calls
    assert all(one["cached"] for one in calls)
    assert second.answer == first.answer
    assert second.coverage == first.coverage
    put_document(library, "shop.md", SHOP.replace("15 minutes", "an hour"))
    third = library.oracle_consult("How long until a token expires?", "thorough", session="s2")
    assert "an hour" in third.answer


# Verifying ------------------------------------------------------------------------------------------


def test_a_changed_document_makes_its_citations_stale_and_a_longer_one_moved(library: Recollect) -> None:
    result = library.oracle_consult("How long until a token expires?", "quick", doc_ids=["shop.md"])
    put_document(library, "shop.md", SHOP.replace("# Shop API\n", "# Shop API\n\nNew in this year.\n"))
    moved = library.verify(result)
    assert moved.holds
    assert moved.moved == len(result.citations)
    assert moved.citations[0].line_start == result.citations[0].line_start + 2
    put_document(library, "shop.md", SHOP.replace("15 minutes", "16 minutes"))
    stale = library.verify(result.document())
    assert not stale.holds
    assert stale.citations[0].status is CitationStatus.STALE


def test_verify_refuses_what_is_no_result(client: Recollect) -> None:
    for wrong in ({}, {"citations": [{}]}, {"citations": [{"kind": 1}]}, {"citations": 3}):
        with pytest.raises(InvalidInputError):
            client.verify(wrong)


def test_a_dry_run_needs_no_key_and_keeps_nothing(library: Recollect) -> None:
    plan = library.oracle_dry_run("How long until a token expires?", "thorough", model="openai:gpt-5-mini")
    assert {one["doc_id"] for one in plan.documents} == {"shop.md", "bread.md"}
    assert plan.processing_mode == "rlm"
    assert plan.max_model_calls > 1
    assert plan.max_usd is not None
    assert plan.max_usd > 0
    free = library.oracle_dry_run("How long until a token expires?", "quick")
    assert (free.max_model_calls, free.max_usd, free.model) == (0, 0.0, "")
    assert library.oracle_dry_run("x y z", model="openai:unheard-of").max_usd is None
    assert library.consultations.list() == []


def test_a_removed_document_takes_along_what_quoted_it_whoever_asked(
    library: Recollect, as_user: Callable[..., Recollect]
) -> None:
    library.oracle_consult("How long until a token expires?", doc_ids=["shop.md"])
    library.oracle_consult("How long does rye bread rest?", doc_ids=["bread.md"])
    receipt = library.library.remove("shop.md")
    assert receipt.rows["consultation"] == 1
    assert [one.settings["doc_ids"] for one in library.consultations.list()] == [["bread.md"]]
