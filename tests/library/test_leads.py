"""Where a question leads and where its parts lead, in one ranking."""

from __future__ import annotations

from recollect.library.leads import merge_looks, parts_of
from recollect.library.material import Lead

BAR = 0.5


def look(*places: tuple[str, float]) -> list[Lead]:
    return [Lead(doc_id=name, line_start=5, line_end=6, score=score) for name, score in places]


def names(leads: list[Lead]) -> list[str]:
    return [lead.doc_id for lead in leads]


def test_a_question_of_one_part_keeps_its_ranking_and_its_scores() -> None:
    whole = look(("a", 0.9), ("b", 0.7))
    assert merge_looks(whole, [], threshold=BAR, limit=10) == whole


def test_the_best_place_of_every_part_follows_the_first_five_of_the_whole() -> None:
    whole = look(*((f"w{place}", 0.9 - place / 100) for place in range(8)))
    merged = merge_looks(whole, [look(("p", 0.6)), look(("q", 0.8))], threshold=BAR, limit=10)
    assert names(merged)[:8] == ["w0", "w1", "w2", "w3", "w4", "p", "q", "w5"]
    assert len(merged) == 10
    scores = [lead.score for lead in merged]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) >= BAR


def test_parts_that_are_all_answered_answer_the_whole() -> None:
    merged = merge_looks(look(("w", 0.4)), [look(("p", 0.9)), look(("q", 0.6))], threshold=BAR, limit=10)
    assert names(merged) == ["p", "q", "w"]
    assert [lead.score >= BAR for lead in merged] == [True, True, False]


def test_a_part_that_fits_anything_answers_nothing() -> None:
    whole = look(("w", 0.4))
    assert merge_looks(whole, [look(("w", 0.3)), look(("any", 0.9))], threshold=BAR, limit=10) == whole
    assert merge_looks(whole, [[], look(("any", 0.9))], threshold=BAR, limit=10) == whole
    assert merge_looks([], [[], []], threshold=BAR, limit=10) == []


def test_a_place_is_named_once() -> None:
    merged = merge_looks(look(("w", 0.9)), [look(("w", 0.8)), look(("w", 0.7))], threshold=BAR, limit=10)
    assert names(merged) == ["w"]


def test_questions_are_taken_apart_where_one_ends_and_another_begins() -> None:
    assert parts_of("How long does a token live, and how often may a client ask?") == [
        "How long does a token live",
        "how often may a client ask",
    ]
    assert parts_of("How long does a token live?") == []
