"""The tools over documents, on plain values: what they give, what they cite, and how they refuse."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
from tests.oracle.small_library import BREAD, SHOP

from recollect.domain.findings import CitationStatus
from recollect.domain.trajectory import Trajectory
from recollect.errors import DepthLimitError
from recollect.library.environment import LibraryEnvironment
from recollect.library.extract import summary_lines
from recollect.library.leads import Leads, names_of, parts_of
from recollect.library.material import Volume
from recollect.library.passages import chunks_by_size
from recollect.library.reading import read_document
from recollect.providers.tokens import count_tokens
from recollect.runs.budget import Budget, Limits
from recollect.runs.cache import Cache
from recollect.runs.calls import LiveCalls
from recollect.runs.citations import verify_findings
from recollect.runs.engine import run
from recollect.runs.environment import CallContext, Observation
from recollect.runs.planners.contract import Call, CallAnswer, Plan, Situation
from recollect.runs.quotes import locate
from recollect.runs.times import Times
from recollect_bench.plain_material import PlainMaterial

TOOLS = [
    "list_documents",
    "read_document",
    "search_pattern",
    "get_section",
    "chunk_by_size",
    "chunk_by_structure",
    "query_subset",
    "summarize",
    "map_sections",
    "query_rows",
    "request_capability",
]


def volume(name: str, text: str) -> Volume:
    read = read_document(text.encode(), name=name)
    return Volume(
        doc_id=name,
        kind="document",
        title=read.title,
        digest=hashlib.sha256(text.encode()).hexdigest(),
        tokens=count_tokens(text),
        lines=read.lines,
        sections=read.sections,
    )


@pytest.fixture
def material() -> PlainMaterial:
    return PlainMaterial({one.doc_id: one for one in (volume("shop.md", SHOP), volume("bread.md", BREAD))})


def use(material: PlainMaterial, tool: str, **parameters: Any) -> Observation:
    """One call, outside a run."""
    wanted: list[tuple[str, Any]] = []
    known = tuple(asyncio.run(material.look(parameters.get("question", "token"))))  # type: ignore[arg-type]
    environment = LibraryEnvironment(
        material, leads=Leads(known=known), on_capability=lambda what, about: wanted.append((what, about))
    )

    async def recurse(query: str) -> Trajectory:
        raise DepthLimitError("not here")

    one = environment.tools[tool]
    call = CallContext(query=parameters.get("question", "token"), depth=0, recurse=recurse)
    observation = asyncio.run(one.run(one.parameters(**parameters), call))
    texts = {name: "\n".join(each.lines) for name, each in material.volumes.items()}
    checked = verify_findings(observation.findings, lambda kind, path: texts.get(path))
    assert len(checked) == len(observation.findings)
    assert all(c.status is CitationStatus.QUOTED for f in checked for c in f.citations)
    if tool == "request_capability":
        assert len(wanted) == 1
    return observation


def fail(material: PlainMaterial, tool: str, **parameters: Any) -> CallAnswer:
    """One call of a run that can't be done: its record says why, and so does what a planner reads."""

    async def no_run(query: str, keep: Any) -> Trajectory:
        raise DepthLimitError("not here")

    calls = LiveCalls(
        query="?",
        environment=LibraryEnvironment(material),
        budget=Budget(),
        cache=Cache(),
        start_run=no_run,
    )
    answer = asyncio.run(calls.answer(Call(tool=tool, parameters=parameters), span=Times().begin()))
    assert answer.record.result is None
    assert answer.text == f"error: {answer.record.error}"
    return answer


def test_the_tools_are_these_eleven(material: PlainMaterial) -> None:
    assert list(LibraryEnvironment(material).tools) == TOOLS


def test_a_pattern_finds_lines_with_their_sections(material: PlainMaterial) -> None:
    found = use(material, "search_pattern", doc_id="shop.md", regex=r"(?i)\btokens?\b")
    assert [row["line"] for row in found.value["matches"]] == [9, 13]
    assert found.value["matches"][0]["section"] == "Shop API > Security > OAuth2"


@pytest.mark.parametrize("regex", ["(", "(?=x)", r"(\w)\1", "a{1000}{1000}"])
def test_a_pattern_that_cannot_be_used_is_an_error_with_the_reason(
    material: PlainMaterial, regex: str
) -> None:
    failed = fail(material, "search_pattern", doc_id="shop.md", regex=regex)
    assert failed.text.startswith("error: the regex")
    assert failed.findings == ()


def test_a_pattern_that_would_backtrack_for_ever_elsewhere_ends(material: PlainMaterial) -> None:
    long = PlainMaterial({"a.txt": volume("a.txt", "a" * 50_000 + "!")})
    assert use(long, "search_pattern", doc_id="a.txt", regex="^(a+)+$").value["total"] == 0


def test_many_matches_are_counted_and_the_first_are_shown() -> None:
    many = PlainMaterial({"a.txt": volume("a.txt", "\n".join(["word"] * 500))})
    found = use(many, "search_pattern", doc_id="a.txt", regex="word")
    assert found.value["total"] == 500
    assert len(found.value["matches"]) < 100
    assert "narrow the regex" in found.text


@pytest.mark.parametrize("path", ["Shop API > Security > OAuth2", "OAuth2", "security > oauth2"])
def test_a_section_is_found_by_its_path_or_the_end_of_it(material: PlainMaterial, path: str) -> None:
    found = use(material, "get_section", doc_id="shop.md", section_path=path)
    assert "Tokens expire" in found.text
    assert "Rate limits" not in found.text


def test_a_section_comes_with_those_below_it(material: PlainMaterial) -> None:
    found = use(material, "get_section", doc_id="shop.md", section_path="Security")
    assert "Tokens expire" in found.text
    assert "read and write" in found.text
    assert "100 requests" not in found.text


def test_a_section_that_is_not_there_brings_the_nearest(material: PlainMaterial) -> None:
    nearest = "has no section 'Security > OAuth'; the nearest are: Shop API > Security > OAuth2; "
    asked = {"question": "how long?", "content": "shop.md#Security > OAuth"}
    for tool, parameters in (
        ("get_section", {"doc_id": "shop.md", "section_path": "Security > OAuth"}),
        ("query_subset", asked),
        ("summarize", {"content": asked["content"]}),
        ("map_sections", {"question": asked["question"], "source": asked["content"]}),
    ):
        assert nearest in fail(material, tool, **parameters).text
    assert fail(material, "get_section", doc_id="shpo.md", section_path="x").text.endswith("'shop.md'?")


def test_a_section_too_long_for_one_observation_says_where_it_goes_on() -> None:
    long = PlainMaterial({"a.md": volume("a.md", "# A\n\n" + "\n".join(f"line {n}" for n in range(20_000)))})
    found = use(long, "get_section", doc_id="a.md", section_path="A")
    assert len(found.text) < 30_000
    assert "read the rest as 'a.md:" in found.text


def test_pieces_by_size_are_the_whole_document_and_fit(material: PlainMaterial) -> None:
    whole = material.volumes["shop.md"]
    chunks = chunks_by_size(whole, max_tokens=30)
    assert [line for first, last, _ in chunks for line in range(first, last + 1)] == list(
        range(1, len(whole.lines) + 1)
    )
    assert all(count_tokens(whole.text_of(first, last)) <= 30 for first, last, _ in chunks)
    listed = use(material, "chunk_by_size", doc_id="shop.md", max_tokens=30).value["chunks"]
    assert [row["content"] for row in listed] == [f"shop.md:{first}-{last}" for first, last, _ in chunks]


def test_the_structure_lists_every_section(material: PlainMaterial) -> None:
    found = use(material, "chunk_by_structure", doc_id="shop.md")
    assert [row["path"] for row in found.value["sections"]][-1] == "Shop API > Rate limits"


@pytest.mark.parametrize("content", ["*", "shop.md", "shop.md#Rate limits", "shop.md:15-17", SHOP])
def test_a_part_is_asked_by_name_or_by_its_text(material: PlainMaterial, content: str) -> None:
    found = use(material, "query_subset", content=content, question="how many requests per minute?")
    assert 17 in [one.citations[0].line_start for one in found.findings]
    assert "100 requests per minute" in found.text


def test_lines_that_are_not_there_are_refused(material: PlainMaterial) -> None:
    failed = fail(material, "query_subset", content="shop.md:90-95", question="x")
    assert "has the lines 1 to" in failed.text


def test_a_summary_says_what_the_text_speaks_about_and_cites_it(material: PlainMaterial) -> None:
    found = use(material, "summarize", content="shop.md")
    assert any("100 requests" in line for line in found.value["summary"])
    assert found.findings
    assert summary_lines("") == []


def test_what_is_missing_is_logged(material: PlainMaterial) -> None:
    assert use(material, "request_capability", description="read tables").text == "logged"


def test_a_quote_is_found_whatever_its_blanks() -> None:
    lines = ["one two", "", "  three   four", "five"]
    assert locate("two three", lines) == (1, 3)
    assert locate("FOUR five", lines) == (3, 4)
    assert locate("six", lines) is None
    assert locate("  ", lines) is None


def test_a_quote_that_copies_what_a_tool_puts_before_lines_is_placed() -> None:
    lines = ["When a limit is met the answer is what was", "found by then, and `stopped_by` names the limit."]
    assert locate("When a limit is met the answer is what was\n186- found by then", lines, first=185) == (
        185,
        186,
    )
    assert locate("codebase.md:186- found by then, and `stopped_by`", lines, first=185) == (186, 186)
    assert locate("2 | found by then", lines) == (2, 2)


def test_matches_that_stand_together_are_shown_once_with_what_is_around_them() -> None:
    text = "# Limits\n\nfirst limit\nbetween\nsecond limit\nafter\n\nfar\naway\nthird limit\n"
    found = use(
        PlainMaterial({"a.md": volume("a.md", text)}),
        "search_pattern",
        doc_id="a.md",
        regex="limit",
        context_lines=1,
    )
    lines = found.text.splitlines()[1:]
    assert lines == [
        "[Limits]",
        "2- ",
        "3: first limit",
        "4- between",
        "5: second limit",
        "6- after",
        "--",
        "[Limits]",
        "9- away",
        "10: third limit",
        "--",
    ]


def test_questions_fall_into_parts_and_names() -> None:
    assert parts_of("What is a token?") == []
    assert parts_of("How long does a token live, and how many requests may I send?") == [
        "How long does a token live",
        "how many requests may I send",
    ]
    assert names_of("Where is `refresh_token` used by RateLimiter with --dry-run?") == [
        "refresh_token",
        "RateLimiter",
    ]


def test_an_equal_call_is_answered_from_the_cache_until_the_document_changes(material: PlainMaterial) -> None:
    class Twice:
        name = "twice"

        async def plan(self, situation: Situation) -> Plan:
            call = Call(tool="get_section", parameters={"doc_id": "shop.md", "section_path": "OAuth2"})
            return Plan(calls=(call,), done=len(situation.steps) == 1)

    environment = LibraryEnvironment(material)
    ended = asyncio.run(run("x", environment=environment, planner=Twice(), limits=Limits(max_steps=3)))
    assert ended.usage.subcalls == 1
    assert ended.usage.cached_subcalls == 1
    parameters = {"doc_id": "shop.md", "section_path": "OAuth2"}
    before = environment.content_hash("get_section", parameters)
    changed = PlainMaterial({"shop.md": volume("shop.md", SHOP + "\nmore\n")})
    assert LibraryEnvironment(changed).content_hash("get_section", parameters) != before


def test_documents_are_listed_by_words_of_their_ids_and_titles(material: PlainMaterial) -> None:
    assert [one["doc_id"] for one in use(material, "list_documents").value["documents"]] == [
        "shop.md",
        "bread.md",
    ]
    assert use(material, "list_documents", filter="bre*").value["total"] == 1
    assert "0 documents" in use(material, "list_documents", filter="nothing like it").text


def test_a_document_is_read_whole_or_by_lines_with_their_numbers(material: PlainMaterial) -> None:
    whole = use(material, "read_document", doc_id="bread.md")
    assert whole.value["spans"] == [["bread.md", 1, len(material.volumes["bread.md"].lines)]]
    part = use(material, "read_document", doc_id="bread.md", first_line=5, last_line=5)
    assert part.value["spans"] == [["bread.md", 5, 5]]
    assert f"5: {material.volumes['bread.md'].lines[4]}" in part.text


def test_a_pattern_is_searched_through_all_documents_with_lines_around_it(material: PlainMaterial) -> None:
    found = use(material, "search_pattern", doc_id="*", regex="(?i)rests|expire", context_lines=1)
    assert {row["doc_id"] for row in found.value["matches"]} == {"shop.md", "bread.md"}
    assert "of 2 documents match" in found.text
    failed = fail(material, "search_pattern", doc_id="no*", regex="x")
    assert str(failed.record.error).startswith("no document")


def test_a_long_line_is_shown_around_its_match() -> None:
    text = "# Long\n\n" + "x" * 2_000 + " needle " + "y" * 2_000 + "\n"
    found = use(
        PlainMaterial({"long.md": volume("long.md", text)}),
        "search_pattern",
        doc_id="long.md",
        regex="needle",
    )
    [row] = found.value["matches"]
    assert " needle " in row["text"]
    assert len(row["text"]) < 400


def test_a_section_is_found_without_the_number_before_its_heading() -> None:
    text = "# Manual\n\n## 4.2 Limits\n\nTen.\n\n## 4.3 Names\n\nMany.\n"
    material = PlainMaterial({"m.md": volume("m.md", text)})
    assert "Ten." in use(material, "get_section", doc_id="m.md", section_path="Limits").text
    assert "Many." in use(material, "get_section", doc_id="m.md", section_path="Manual > Names").text


@pytest.mark.parametrize(
    ("quote", "lines"),
    [
        ("a.md:3: | cell | other |", (3, 3)),
        ("3: | cell | other |", (3, 3)),
        ("cell", (3, 3)),
        ("bold words here", (4, 4)),
        ("a.md:5: twice", (5, 5)),
        ("a.md:6: twice", (6, 6)),
        ("| cell | other |\nsome **bold** words", (3, 4)),
        ("nowhere", None),
    ],
)
def test_quotes_are_placed_as_models_copy_them(quote: str, lines: tuple[int, int] | None) -> None:
    text = ["# Head", "", "| cell | other |", "some **bold** words here", "twice", "twice"]
    assert locate(quote, text) == lines
