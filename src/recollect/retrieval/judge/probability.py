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


def probability(evidence: Floats, *, several: bool) -> Floats:
    """How likely each candidate answers, from its row of evidence."""
    weights, bias = _model("several" if several else "one")
    return sigmoid(evidence @ weights + bias)


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
