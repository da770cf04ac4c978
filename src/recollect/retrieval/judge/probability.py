"""One probability from all the evidence: how likely a memory answers, and how likely one replaces another.

Logistic regressions, fitted by `training/calibrate.py` on worlds that the encoder was not trained on, through the
public search. Their numbers are in `probability.json` beside this file: `one` for questions that want one thing,
`several` for those that want all of a kind, `any` for whether there is anything of that kind, `replaces` for what was
said later about the best answer.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from recollect.retrieval.judge.evidence import FEATURES, Floats

Model = tuple[Floats, float]

#: What tells whether a store has anything of the kind that is asked for: the best that any candidate has of these.
TELLING = tuple(FEATURES.index(name) for name in ("verdict", "relevance", "likeness"))
#: From which logit on there is taken to be something, and what each logit below counts against every candidate. On the
#: worlds kept back this loses one list of 189, and silences six in ten questions for lists that were put to another
#: world (a quarter before).
_ENOUGH, _MISSING = -0.6, 4.0


@cache
def _model(name: str) -> Model:
    stored = json.loads((Path(__file__).parent / "probability.json").read_text(encoding="utf-8"))[name]
    return np.array(list(stored["weights"].values())), float(stored["bias"])


def probability(evidence: Floats, *, several: float, presupposed: bool = False) -> Floats:
    """How likely each candidate answers, from its row of evidence. `several`: how sure it is that all are wanted.

    `presupposed`: the question takes for granted that there is something.
    """
    one, all_of_a_kind = (evidence @ weights + bias for weights, bias in (_model("one"), _model("several")))
    if not presupposed:
        all_of_a_kind = all_of_a_kind - doubt(evidence, _model("any"))
    return sigmoid((1.0 - several) * one + several * all_of_a_kind)


def doubt(evidence: Floats, there: Model) -> float:
    """What speaks against every candidate, in logits, where nothing seems to be of the kind that is asked for.

    The candidates of a list are held against each other, so the best of a store without an answer would look like one.
    """
    weights, bias = there
    if not len(evidence):
        return 0.0
    return _MISSING * max(0.0, _ENOUGH - float(evidence[:, TELLING].max(axis=0) @ weights + bias))


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
