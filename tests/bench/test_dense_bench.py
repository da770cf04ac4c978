"""The benchmark of dense questions in small: a real server, a real store, few lines."""

from __future__ import annotations

from recollect_bench.dense import run_dense
from recollect_bench.show import Show
from recollect_bench.tables import tables_of
from recollect_bench.tickets import TASKS, make_tickets, read_ticket


def test_answers_are_exact_by_the_rows_whatever_share_of_lines_is_misread() -> None:
    result = run_dense(show=Show(quiet=True), sizes=(60,), error_rates=(0.0, 0.2))

    right, wrong = result.measures.values()
    assert [bar.reached for bar in result.bars] == [True, True, True]
    assert (right["exact by rows"], right["exact"], right["coverage"]) == (1.0, 1.0, 1.0)
    assert wrong["exact by rows"] == 1.0
    assert wrong["exact"] < 1.0
    # What one question read, the next ones of the session need not ask for again.
    assert right["requests"][0] > right["requests"][1]
    [table] = tables_of(result)
    assert len(table.rows) == 2


def test_every_line_says_its_kind_in_other_words_and_is_misread_the_same_way_again() -> None:
    tickets = make_tickets(200, seed=3)
    assert not any(one.label in one.line for one in tickets)
    assert [read_ticket(one.line, error_rate=0.0, seed=3) for one in tickets] == tickets
    once = [read_ticket(one.line, error_rate=0.3, seed=3) for one in tickets]
    assert once == [read_ticket(one.line, error_rate=0.3, seed=3) for one in tickets]
    assert 30 < sum(one != ticket for one, ticket in zip(once, tickets, strict=True)) < 90
    assert all(task.answer(make_tickets(1_000, seed=3)) for task in TASKS)
