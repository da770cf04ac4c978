"""How a section's lines become passages."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.library.passages import (
    MAX_CONTEXT_CHARS,
    MAX_PASSAGE_CHARS,
    Passage,
    context_of,
    plain_heading,
    search_text,
    split_passages,
)

LONG = "This sentence is long enough to fill a part of a passage and says nothing else at all. "


def test_short_lines_share_a_passage_that_names_their_lines() -> None:
    (passage,) = split_passages(["First line.", "", "Second line."], line_start=41)
    assert passage == Passage(line_start=41, line_end=43, text="First line.\nSecond line.")


def test_an_entry_of_a_list_begins_a_passage_and_takes_its_name_along() -> None:
    lines = ["alpha (integer)", "", "  " + LONG * 3, "", "beta (integer)", "", "  " + LONG * 3]
    first, second = split_passages(lines)
    assert (first.line_start, first.line_end) == (1, 3)
    assert (second.line_start, second.line_end) == (5, 7)
    assert second.text.startswith("beta (integer)\nThis sentence")
    assert second.entries == ()


def test_an_entry_that_goes_on_in_the_next_passage_is_named_there() -> None:
    lines = ["gamma (string)", "  " + LONG * 5, "  " + LONG * 5, "delta (string)", "  " + LONG]
    passages = split_passages(lines)
    within = [passage for passage in passages if passage.line_start in (2, 3)]
    assert within
    assert all(passage.entries == ("gamma (string)",) for passage in within)
    assert passages[-1].entries == ()
    assert passages[-1].text.startswith("delta")


def test_small_entries_are_kept_together() -> None:
    lines = [line for name in "abcd" for line in (f"{name}()", f"  Returns {name}.")]
    assert len(split_passages(lines)) == 1


def test_the_depth_of_code_makes_no_entries() -> None:
    lines = ["```", "def run():", "    return 1", "```", "After the code."]
    (passage,) = split_passages(lines)
    assert passage.text == "def run():\nreturn 1\nAfter the code."
    assert (passage.line_start, passage.line_end) == (2, 5)


def test_a_long_line_is_cut_at_sentences_and_its_pieces_share_its_number() -> None:
    passages = split_passages([LONG * 20], line_start=9)
    assert len(passages) > 1
    assert {(passage.line_start, passage.line_end) for passage in passages} == {(9, 9)}
    assert all(passage.text.endswith(".") for passage in passages)


def test_blank_lines_fences_and_table_rules_make_no_passage() -> None:
    assert split_passages(["", "   ", "| --- | :-: |", "```", "```"]) == []


SUBJECT = (
    "The planner estimates the cost of every plan. A plan reads rows from a table or an index. The cost of reading "
    "rows from an index depends on the number of rows. The planner reads the statistics of a table and estimates "
    "the number of rows that a plan reads. The cheapest plan by estimated cost is chosen by the planner. A join of "
    "two tables reads the rows of both tables; a nested loop reads the second table for every row of the first, "
    "while a hash join reads both once. Every nested loop has a cost, every hash join has a cost, and the planner "
    "compares both: the first loop, the second loop, the hash, once and twice. While it compares, it reads once."
)


def test_a_sentence_about_something_else_is_a_passage_of_its_own_and_found_without_its_section() -> None:
    fact = "Marisol Quintero keeps her violin in a blue tin under the stairs."
    *_, ordinary, strange = split_passages([SUBJECT, fact], line_start=5)
    assert fact in ordinary.text
    assert not ordinary.strange
    assert strange == Passage(line_start=6, line_end=6, text=fact, strange=True)
    assert search_text(strange, title="Planner", path="Planner > Cost") == fact


def test_a_strange_sentence_inside_a_line_is_found_too() -> None:
    fact = "Marisol Quintero keeps her violin in a blue tin under the stairs."
    assert [
        passage.text for passage in split_passages([f"{SUBJECT} {fact} {SUBJECT}"]) if passage.strange
    ] == [fact]


def test_in_a_short_section_nothing_is_strange() -> None:
    assert not any(
        passage.strange for passage in split_passages(["One two three four five six seven eight."])
    )
    assert not any(passage.strange for passage in split_passages([SUBJECT]))


def test_title_path_and_entries_stand_before_the_text_each_once_and_without_numbers() -> None:
    passage = Passage(
        line_start=1, line_end=1, text="The default is one minute.", entries=("timeout (integer)",)
    )
    text = search_text(passage, title="20.3. Connections", path="20.3. Connections > 20.3.2. Authentication")
    assert text == "Connections > Authentication > timeout (integer)\nThe default is one minute."


def test_a_deep_path_loses_its_middle_first() -> None:
    path = " > ".join(f"{number}. " + "heading " * 9 for number in range(1, 9))
    context = context_of(title="The title", path=path, entries=["entry"])
    assert len(context) <= MAX_CONTEXT_CHARS
    assert context.startswith("The title > ")
    assert context.endswith(" > entry")


def test_a_heading_that_is_only_a_number_stays() -> None:
    assert plain_heading("F.17.2. Levenshtein") == "Levenshtein"
    assert plain_heading("Appendix K. PostgreSQL Limits") == "PostgreSQL Limits"
    assert plain_heading("3. ") == "3."
    assert plain_heading("A note") == "A note"


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.text(alphabet="ab .:`-|\t", max_size=1200), max_size=12))
def test_every_word_outside_fences_is_in_some_passage_and_no_passage_is_too_long(lines: list[str]) -> None:
    passages = split_passages(lines)
    assert all(0 < len(passage.text) <= MAX_PASSAGE_CHARS + 1 for passage in passages)
    assert [passage.line_start for passage in passages] == sorted(p.line_start for p in passages)
    found = "".join("".join(passage.text.split()) for passage in passages)
    for line in lines:
        if "```" not in line and line.strip(" \t|:-"):
            assert "".join(line.split())[:20] in found
