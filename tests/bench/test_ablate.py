"""`bench ablate`: what is found without one signal, through the real search."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from recollect.errors import InvalidInputError
from recollect.retrieval.rank import SIGNALS
from recollect_bench.ablate import EVERYTHING, run_ablate
from recollect_bench.crafted import crafted_corpus
from recollect_bench.questions import KEY
from recollect_bench.show import Show

QUIET = Show(quiet=True)


def test_every_crafted_question_has_its_answers_in_the_corpus_and_no_text_is_there_twice() -> None:
    corpus = crafted_corpus()
    things = {item["metadata"][KEY] for item in corpus.items}
    assert len(things) == len({item["text"] for item in corpus.items}) == len(corpus.items)
    assert all(question.gold <= things for question in corpus.questions)
    assert min(Counter(question.group for question in corpus.questions).values()) == 8


def test_without_a_signal_the_crafted_questions_for_it_get_worse(bench_home: Path) -> None:
    # Two questions of each kind.
    result = run_ablate(None, embedder="minilm", limit_questions=14, home=bench_home, show=QUIET)
    crafted = result.measures["sets"]["crafted"]
    assert list(crafted["recall"]) == [EVERYTHING, *SIGNALS]
    groups = crafted["groups"]
    # Not temporal: the judge reads when a thing was said, and puts the newest answer first without that signal.
    for signal in ("importance", "reinforcement", "summary", "linked"):
        assert groups[signal][signal] < groups[EVERYTHING][signal], signal
    assert set(result.measures["signals_that_show"]) >= {
        "importance",
        "reinforcement",
        "summary",
        "linked",
    }
    assert result.bars == []


def test_a_folder_without_any_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="none of the folders locomo, longmemeval, multihop"):
        run_ablate(tmp_path, embedder="wordllama", limit_questions=None, home=None, show=QUIET)
