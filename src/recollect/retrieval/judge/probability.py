"""One probability from all the evidence: how likely a memory answers, and how likely one replaces another.

Logistic regressions, fitted by `training/calibrate.py` on worlds that the encoder was not trained on, through the
public search. Their numbers are in `probability.json` beside this file: `one` for questions that want one thing,
`several` for those that want all of a kind, `replaces` for what was said later about the best answer.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from recollect.retrieval.judge.evidence import Floats


@cache
def _model(name: str) -> tuple[Floats, float]:
    stored = json.loads((Path(__file__).parent / "probability.json").read_text(encoding="utf-8"))[name]
    return np.array(list(stored["weights"].values())), float(stored["bias"])


def probability(evidence: Floats, *, several: float) -> Floats:
    """How likely each candidate answers, from its row of evidence. `several`: how sure it is that all are wanted."""
    one, all_of_a_kind = (evidence @ weights + bias for weights, bias in (_model("one"), _model("several")))
    return sigmoid((1.0 - several) * one + several * all_of_a_kind)


def replacing(signs: Floats) -> Floats:
    """How likely each later memory replaces the best answer, from its row of signs."""
    weights, bias = _model("replaces")
    return sigmoid(signs @ weights + bias)


def sigmoid(logits: Floats) -> Floats:
    """Logits as probabilities."""
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def logit(probabilities: Floats) -> Floats:
    """Probabilities as logits, within bounds."""
    bounded = np.clip(probabilities, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(bounded / (1.0 - bounded)))
