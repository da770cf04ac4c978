"""One probability from all the evidence: how likely a memory answers the question.

A logistic regression, fitted by `training/calibrate.py` on worlds that the encoder was not trained on, through the
public search. Its numbers are in `probability.json` beside this file.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from recollect.retrieval.judge.evidence import FEATURES, Floats


@cache
def _model() -> tuple[Floats, float]:
    stored = json.loads((Path(__file__).parent / "probability.json").read_text(encoding="utf-8"))
    return np.array([stored["weights"][name] for name in FEATURES]), float(stored["bias"])


def probability(evidence: Floats) -> Floats:
    """How likely each candidate answers, from its row of evidence."""
    weights, bias = _model()
    return sigmoid(evidence @ weights + bias)


def sigmoid(logits: Floats) -> Floats:
    """Logits as probabilities."""
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def logit(probabilities: Floats) -> Floats:
    """Probabilities as logits, within bounds."""
    bounded = np.clip(probabilities, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(bounded / (1.0 - bounded)))
