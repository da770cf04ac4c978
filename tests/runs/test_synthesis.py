"""Answers from findings, without a model."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rooms import finding
from tests.profiles import examples

from recollect.domain.findings import CitationStatus, Finding
from recollect.runs.synthesis import compare, groups, synthesise


def said(text: str, group: str | None = None, confidence: float = 0.5) -> Finding:
    return Finding(description=text, evidence=text, source_file="f", confidence=confidence, group=group)


def test_the_surest_findings_come_first_under_their_group_with_their_marks() -> None:
    found = [
        replace(finding(3), group="east", confidence=0.2),
        replace(finding(1), group="west", confidence=0.9),
        replace(finding(2), group="east", confidence=0.5),
    ]
    made = synthesise(found)
    assert made.text == "west:\n- room 1 [1]\neast:\n- room 2 [2]\n- room 3 [3]"
    assert [one.file_path for one in made.citations] == ["room/1", "room/2", "room/3"]


def test_without_groups_there_are_no_headings() -> None:
    assert synthesise([finding(1)]).text == "- room 1 [1]"


def test_the_same_words_are_said_once_in_a_group() -> None:
    found = [said("Rain.", confidence=0.3), said("  rain. ", confidence=0.8), said("Rain.", "north")]
    assert {group: len(members) for group, members in groups(found).items()} == {None: 1, "north": 1}


def test_a_citation_that_does_not_hold_says_so() -> None:
    [citation] = finding(1).citations
    stale = replace(finding(1), citations=(replace(citation, status=CitationStatus.STALE),))
    assert synthesise([stale]).text == "- room 1 [1, stale]"


def test_groups_are_laid_side_by_side() -> None:
    found = [
        replace(finding(1), group="a|b", description="one | two\nlines"),
        *[replace(finding(room), group="c") for room in range(2, 8)],
    ]
    made = compare(found)
    assert made.text.splitlines() == [
        "| group | found |",
        "|---|---|",
        "| a\\|b | one \\| two lines [1] |",
        "| c | room 2 [2]<br>room 3 [3]<br>room 4 [4] |",
    ]
    assert made.left_out == 3


def test_nothing_found_is_an_empty_answer() -> None:
    assert synthesise([]).text == compare([]).text == ""


SAID = st.builds(said, st.text(max_size=30), st.none() | st.sampled_from(["a", "b", "c|d"]), st.floats(0, 1))


@settings(
    max_examples=examples(60), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.lists(SAID, max_size=12), st.integers(0, 300))
def test_an_answer_is_never_longer_than_it_may_be_and_nothing_is_lost_unsaid(
    found: list[Finding], max_chars: int
) -> None:
    different = sum(len(members) for members in groups(found).values())
    for made in (synthesise(found, max_chars=max_chars), compare(found, max_chars=max_chars)):
        assert len(made.text) <= max_chars
        assert made.left_out <= different
    lines = [line for line in synthesise(found, max_chars=10**6).text.splitlines() if line.startswith("- ")]
    assert len(lines) == different
