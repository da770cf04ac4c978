"""What the benchmark of profiles measures: requests as they would be sent, without asking anybody."""

from __future__ import annotations

from recollect_bench.models import PROFILES, read_questions, run_models
from recollect_bench.show import Show
from recollect_bench.tables import tables_of


def test_a_large_window_is_shown_everything_and_a_small_one_says_what_it_withholds() -> None:
    result = run_models(show=Show(quiet=True))

    assert len(read_questions()) == 10
    assert [bar.reached for bar in result.bars] == [True]
    measures = result.measures
    assert list(measures) == list(PROFILES)
    for one in measures.values():
        assert one["largest request"] + one["answer tokens"] <= one["window"]
        if one["shape"] == "large":
            assert (one["shown"], one["withheld tokens"]) == (1.0, 0)
    small, middle = measures["ollama:llama3.2"], measures["openai:unknown"]
    assert 0.2 < small["shown"] < middle["shown"]
    assert small["withheld results"] > 0
    [table] = tables_of(result)
    assert len(table.rows) == len(PROFILES)
