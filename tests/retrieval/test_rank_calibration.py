"""The scale of cosines and the curve of scores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recollect.providers.embedders import open_embedder
from recollect.retrieval.rank import PROBES, calibration_for, inverse_frequency, measured
from recollect.retrieval.rank.calibration import ARCTIC, MINILM, RELEVANT, UNKNOWN, WORDLLAMA, scores


def test_the_default_threshold_is_where_relevance_begins() -> None:
    below, at, above = scores(np.array([RELEVANT - 0.01, RELEVANT, RELEVANT + 0.01]))
    assert below < 0.7 < above
    assert at == pytest.approx(0.7)


def test_variants_of_an_embedder_share_its_constants_and_strangers_are_unknown() -> None:
    assert calibration_for("minilm") == calibration_for("minilm:fp32") == MINILM
    assert calibration_for("wordllama") == WORDLLAMA
    assert calibration_for("openai:text-embedding-3-small") == UNKNOWN


def test_a_cosine_below_the_floor_or_unknown_lifts_nothing() -> None:
    assert MINILM.lift(np.array([-1.0, 0.2, np.nan, 0.45])).tolist() == pytest.approx([0, 0, 0, 0.2])
    assert UNKNOWN.lift(np.array([np.nan])).tolist() == [0]


@pytest.mark.parametrize(
    ("query", "is_foreign"),
    [
        ("where is the key?", False),
        ("où est la clé?", False),
        ("密钥在哪里", True),
        ("где ключ", True),
        ("API 密钥在哪里", True),
        ("42?", False),
    ],
)
def test_embedders_that_know_one_script_are_hardly_trusted_in_others(query: str, is_foreign: bool) -> None:
    for known in (ARCTIC, MINILM, WORDLLAMA):
        assert (known.for_query(query).floor == known.foreign_floor) == is_foreign
    assert UNKNOWN.for_query(query) is UNKNOWN


@pytest.mark.system
def test_measuring_minilm_finds_nearly_its_own_constants(tmp_path_factory: pytest.TempPathFactory) -> None:
    embedder = open_embedder("minilm", cache_dir=tmp_path_factory.mktemp("embedders"))
    questions, notes = zip(*PROBES, strict=True)
    found = measured(embedder.embed(questions), embedder.embed(notes))
    assert found.floor == pytest.approx(MINILM.floor, abs=0.03)
    assert found.gain == pytest.approx(MINILM.gain, abs=0.1)


def test_an_embedder_for_which_everything_is_alike_stays_unknown() -> None:
    alike = np.tile([1.0, 0.0], (len(PROBES), 1))
    assert measured(alike, alike) is UNKNOWN


def test_a_rare_term_weighs_more_but_not_much_more_in_a_tiny_store() -> None:
    assert inverse_frequency(1, 1) > 0.8 * inverse_frequency(0, 1)
    assert inverse_frequency(1, 100_000) > 3 * inverse_frequency(20_000, 100_000)


def test_in_a_large_store_a_terms_weight_is_lucenes() -> None:
    assert inverse_frequency(50, 100_000) == pytest.approx(
        math.log(1 + (100_000 - 50 + 0.5) / 50.5), rel=0.01
    )
