"""Citations read again: quoted, moved, stale, unsupported."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.domain.findings import Citation, CitationStatus, Finding, span_hash
from recollect.errors import InvalidInputError
from recollect.runs.citations import Read, lines_of, read_citations, span_of, verify, verify_findings

TEXT = """\
import os

def login(user):
    check(user)
    return token(user)

def logout(user):
    forget(user)
"""


def cite(text: str, start: int, end: int, quote: str | None = None) -> Citation:
    span = span_of(text, start, end)
    assert span is not None
    return Citation(
        kind="file",
        file_path="auth.py",
        line_start=start,
        line_end=end,
        content_hash=span_hash(span),
        quote=span if quote is None else quote,
    )


def reading(text: str | None) -> Read:
    return lambda kind, path: text if (kind, path) == ("file", "auth.py") else None


def status(citation: Citation, text: str | None) -> CitationStatus:
    return verify(citation, reading(text)).status


@pytest.mark.parametrize("quote", [None, "check(user)", "check(user)   return\ttoken(user)", ""])
def test_a_span_that_stands_where_it_stood_is_verified(quote: str | None) -> None:
    assert status(cite(TEXT, 3, 5, quote), TEXT) == "quoted"


@pytest.mark.parametrize("quote", [None, "check(user)", ""])
def test_a_span_that_stands_elsewhere_is_moved_and_anchored_there(quote: str | None) -> None:
    checked = verify(cite(TEXT, 3, 5, quote), reading("# a comment\n\n" + TEXT))
    assert (checked.status, checked.line_start, checked.line_end) == ("moved", 5, 7)
    assert verify(checked, reading("# a comment\n\n" + TEXT)).status == "quoted"


def test_the_nearest_of_several_places_is_taken() -> None:
    text = "x\n" * 10 + "here\n" + "y\n" * 30 + "here\n"
    checked = verify(cite("a\n" * 36 + "here\n", 37, 37), reading(text))
    assert (checked.status, checked.line_start) == ("moved", 42)


@pytest.mark.parametrize("quote", [None, "check(user)"])
def test_a_changed_span_is_stale(quote: str | None) -> None:
    assert status(cite(TEXT, 3, 5, quote), TEXT.replace("token(user)", "token(user, 60)")) == "stale"


def test_a_span_beyond_the_end_is_stale() -> None:
    assert status(cite(TEXT, 7, 8), "import os\n") == "stale"


def test_without_its_source_a_citation_is_unsupported() -> None:
    assert status(cite(TEXT, 3, 5), None) == "unsupported"


def test_a_quote_that_was_never_in_the_span_is_unsupported_wherever_the_span_is() -> None:
    for quote in ("never logs out", "import os"):
        made_up = cite(TEXT, 3, 5, quote)
        assert status(made_up, TEXT) == "unsupported"
        assert status(made_up, f"# moved\n{TEXT}") == "unsupported"


def test_line_ends_of_another_system_change_nothing() -> None:
    assert status(cite(TEXT, 3, 5), TEXT.replace("\n", "\r\n")) == "quoted"


def test_a_source_without_lines_is_cited_whole() -> None:
    memory = "Ana moved to Lisbon.\nShe likes it."
    citation = cite(memory, 0, 0, "moved to Lisbon")
    assert status(citation, memory) == "quoted"
    assert status(citation, "Ana moved to Porto.") == "stale"
    assert status(cite(memory, 0, 0, "moved to Rome"), memory) == "unsupported"
    assert status(citation, None) == "unsupported"


def test_without_a_hash_the_quote_decides() -> None:
    quoted = Citation(
        kind="file", file_path="auth.py", line_start=3, line_end=5, content_hash="", quote="check(user)"
    )
    checked = verify(quoted, reading(TEXT))
    assert (checked.status, checked.content_hash) == ("quoted", span_hash(str(span_of(TEXT, 3, 5))))
    moved = verify(quoted, reading("\n" * 9 + TEXT))
    assert (moved.status, moved.line_start, moved.line_end) == ("moved", 13, 13)
    assert status(quoted, "nothing of the kind") == "unsupported"
    empty = Citation(kind="file", file_path="auth.py", line_start=3, line_end=5, content_hash="", quote="")
    assert status(empty, TEXT) == "unsupported"


@pytest.mark.parametrize(("start", "end"), [(5, 3), (-1, 2), (0, 3), (99, 100)])
def test_lines_that_can_t_be_are_no_error(start: int, end: int) -> None:
    odd = Citation(
        kind="file", file_path="auth.py", line_start=start, line_end=end, content_hash="x", quote="os"
    )
    assert status(odd, TEXT) == "stale"


# ------------------------------------------------------------ whatever the text

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\n\r\u0001"), max_size=6),
    min_size=1,
    max_size=12,
)


@st.composite
def cited(draw: st.DrawFn) -> tuple[list[str], Citation]:
    lines = draw(LINES)
    start = draw(st.integers(1, len(lines)))
    end = draw(st.integers(start, len(lines)))
    span = "\n".join(lines[start - 1 : end])
    low = draw(st.integers(0, len(span)))
    high = draw(st.integers(low, len(span)))
    return lines, cite("\n".join(lines), start, end, draw(st.sampled_from([span, span[low:high]])))


@settings(
    max_examples=examples(200), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(cited(), LINES, LINES)
def test_a_span_is_followed_when_lines_come_before_and_after(
    given_: tuple[list[str], Citation], before: list[str], after: list[str]
) -> None:
    lines, citation = given_
    assert status(citation, "\n".join(lines)) == "quoted"
    text = "\n".join([*before, *lines, *after])
    checked = verify(citation, reading(text))
    assert checked.status in {"quoted", "moved"}
    span = span_of(text, checked.line_start, checked.line_end)
    assert span is not None
    assert span_hash(span) == citation.content_hash
    moved_by = abs(checked.line_start - citation.line_start)
    assert moved_by <= len(before), "the nearest place is taken"


@settings(
    max_examples=examples(200), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(cited(), st.data())
def test_a_span_in_which_one_character_changed_is_never_called_the_same(
    given_: tuple[list[str], Citation], data: st.DataObject
) -> None:
    lines, citation = given_
    number = data.draw(st.integers(citation.line_start, citation.line_end))
    at = data.draw(st.integers(0, len(lines[number - 1])))
    changed = list(lines)
    changed[number - 1] = f"{lines[number - 1][:at]}\u0001{lines[number - 1][at:]}"
    checked = verify(citation, reading("\n".join(changed)))
    assert checked.status in {"stale", "moved"}
    if checked.status == "moved":
        span = span_of("\n".join(changed), checked.line_start, checked.line_end)
        assert span_hash(str(span)) == citation.content_hash


@settings(
    max_examples=examples(100), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
@given(cited(), st.text(min_size=1, max_size=8))
def test_a_quote_from_nowhere_is_never_supported(given_: tuple[list[str], Citation], quote: str) -> None:
    lines, citation = given_
    assume(" ".join(quote.split()) not in " ".join("\n".join(lines).split()))
    assert status(replace(citation, quote=quote), "\n".join(lines)) == "unsupported"


def test_a_source_of_many_lines_is_no_trouble() -> None:
    """Linear: nothing here hashes every window of a long source."""
    lines = [f"line {number % 1_000}" for number in range(200_000)]
    text = "\n".join(lines)
    gone = Citation(
        kind="file",
        file_path="auth.py",
        line_start=100_000,
        line_end=100_900,
        content_hash="x" * 64,
        quote="line 7",
    )
    assert status(gone, text) == "stale"
    assert len(lines_of(text)) == 200_000


# ------------------------------------------------------------ findings


def claim(citation: Citation | None) -> Finding:
    return Finding(
        description="login checks the user",
        evidence="check(user)",
        source_file="auth.py",
        line_range=(3, 5),
        confidence=0.9,
        citations=(citation,) if citation else (),
    )


def test_findings_are_re_anchored_and_unsupported_claims_dropped() -> None:
    good, made_up, uncited = claim(cite(TEXT, 3, 5)), claim(cite(TEXT, 3, 5, "never")), claim(None)
    [kept] = verify_findings([good, made_up, uncited], reading("\n" + TEXT))
    assert kept.line_range == (4, 6)
    assert kept.citations[0].status == "moved"
    assert kept.confidence == 0.9


def test_unsupported_claims_can_be_kept_with_a_flag_instead() -> None:
    good, bad = verify_findings(
        [claim(cite(TEXT, 3, 5)), claim(cite(TEXT, 3, 5, "never"))], reading(TEXT), drop_unsupported=False
    )
    assert (good.confidence, bad.confidence) == (0.9, 0.0)
    assert bad.citations[0].status == "unsupported"


def test_each_source_is_read_once() -> None:
    reads: list[str] = []

    def read(kind: str, path: str) -> str | None:
        reads.append(path)
        return TEXT

    verify_findings([claim(cite(TEXT, 3, 5))] * 5, read)
    assert reads == ["auth.py"]


def test_what_the_judge_accepted_stays_accepted_while_the_cited_words_stay() -> None:
    """`supports` is said of the words that were read: it goes with them to another line, and no further."""
    accepted = replace(cite(TEXT, 3, 5), supports=True)
    there = verify(accepted, reading(TEXT))
    assert (there.status, there.standing) == ("quoted", "supports")
    moved = verify(accepted, reading(f"# a comment\n{TEXT}"))
    assert (moved.standing, moved.supports) == ("moved", True)
    changed = verify(accepted, reading(TEXT.replace("token(user)", "token(user, 60)")))
    assert (changed.standing, changed.supports) == ("stale", False)
    gone = verify(accepted, reading(None))
    assert (gone.standing, gone.supports) == ("unsupported", False)
    assert not verify(replace(accepted, content_hash=""), reading(TEXT)).supports
    assert verify(cite(TEXT, 3, 5), reading(TEXT)).standing == "quoted"


def test_a_saved_citation_keeps_whether_it_supports_and_an_old_one_does_not_claim_it() -> None:
    """Results that were saved before the judge read documents say nothing about it."""
    accepted = replace(cite(TEXT, 3, 5), supports=True)
    assert Citation.read(accepted.document()) == accepted
    old = accepted.document()
    del old["supports"]
    assert not Citation.read(old).supports
    with pytest.raises(InvalidInputError, match="supports must be true or false"):
        read_citations({"citations": [{**old, "supports": "yes"}]})
