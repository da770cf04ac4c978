"""Fit the last step of the judge: one probability from all the evidence that `collect.py` kept.

    python training/calibrate.py FIT.json [TEST.json] [--write]

A logistic regression over questions whose worlds the encoder was not trained on. The bias is then moved so that at the
default threshold of 0.7 enough of the questions that nothing answers find nothing. `--write` replaces probability.json.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from recollect.domain.query import Aim
from recollect.retrieval.judge.currency import newest_first
from recollect.retrieval.judge.evidence import FEATURES
from recollect.retrieval.judge.probability import sigmoid
from recollect.retrieval.judge.verdict import NARROW, WIDE, too_far_behind
from recollect.retrieval.understand.aim import read_aim

ALL = frozenset({"list", "count", "compare"})
THRESHOLD, LIMIT = 0.7, 10
#: The share of questions without an answer that must find nothing, on worlds harder than most.
SILENT = 0.55
#: Added where several memories are owed: one that is missing costs the asker more than one too many.
MORE_FOR_SEVERAL = 1.0
TARGET = Path(__file__).parent.parent / "src/recollect/retrieval/judge/probability.json"


def rows_of(questions: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evidence, labels and weights of every candidate of every question."""
    evidence, labels, weights = [], [], []
    for question in questions:
        answers, stale = set(question["answers"]), set(question.get("stale", []))
        related = set(question.get("related", []))
        for hit in question["hits"]:
            if not hit["evidence"]:
                continue
            evidence.append([hit["evidence"][name] for name in FEATURES])
            key = hit["key"]
            labels.append(float(key in answers or key in stale))
            weights.append(0.3 if key in related and key not in stale else 0.7 if key in stale else 1.0)
    return np.array(evidence), np.array(labels), np.array(weights)


def shown(question: dict[str, Any], weights: np.ndarray, bias: float) -> list[str]:
    """The keys that a search would return, in order."""
    aim: Aim = read_aim(question["question"])
    hits = [hit for hit in question["hits"] if hit["evidence"]][: WIDE if aim.want.several else NARROW]
    if not hits:
        return []
    evidence = np.array([[hit["evidence"][name] for name in FEATURES] for hit in hits])
    scores = sigmoid(evidence @ weights + bias)
    moments = [datetime.fromisoformat(hit["at"]) for hit in hits]
    replaces = np.array([hit["evidence"]["replaces"] for hit in hits])
    scores = newest_first(scores, moments, aim, replaces=replaces).scores
    least = max(THRESHOLD, too_far_behind(scores, THRESHOLD, several=aim.want.several))
    order = [place for place in np.argsort(-scores, kind="stable") if scores[place] >= least][:LIMIT]
    order.sort(key=lambda place: (hits[place]["layer"], -scores[place]))
    return [hits[place]["key"] for place in order]


def figures(questions: list[dict[str, Any]], weights: np.ndarray, bias: float) -> dict[str, float]:
    """What `bench everyday` would say."""
    found: dict[str, list[float]] = {name: [] for name in ("first", "complete", "silent", "fresh", "junk")}
    for question in questions:
        keys = shown(question, weights, bias)
        answers, stale = set(question["answers"]), set(question.get("stale", []))
        fair = answers | stale | set(question.get("related", []))
        found["junk"].append(sum(key not in fair for key in keys))
        if question["kind"] in ALL:
            found["complete"].append(answers <= set(keys))
        elif question["kind"] == "absent":
            found["silent"].append(not keys)
        else:
            found["first"].append(bool(keys) and keys[0] in answers)
        if stale:
            place = next((i for i, key in enumerate(keys) if key in answers), None)
            old = next((i for i, key in enumerate(keys) if key in stale), None)
            found["fresh"].append(place is not None and (old is None or place < old))
    means = {name: float(np.mean(values)) for name, values in found.items() if values}
    means["everyday"] = float(np.mean([value for name, value in means.items() if name != "junk"]))
    return means


def fit(questions: list[dict[str, Any]]) -> tuple[np.ndarray, float]:
    """Weights and bias."""
    evidence, labels, weights = rows_of(questions)
    scale = evidence.std(axis=0) + 1e-6
    columns = np.hstack([evidence / scale, np.ones((len(evidence), 1))])
    ridge = np.diag([1.0] * evidence.shape[1] + [0.0])
    found = np.zeros(columns.shape[1])
    for _ in range(30):  # Newton's method
        expected = sigmoid(columns @ found)
        slope = columns.T @ (weights * (labels - expected)) - ridge @ found
        curve = (columns * (weights * expected * (1.0 - expected))[:, None]).T @ columns + ridge
        found = found + np.linalg.solve(curve + 1e-9 * np.eye(len(curve)), slope)
    fitted = found[:-1] / scale
    fitted[FEATURES.index("several")] += MORE_FOR_SEVERAL
    return fitted, float(found[-1])


def best_bias(questions: list[dict[str, Any]], weights: np.ndarray, bias: float) -> float:
    """The highest bias at which enough of the questions that nothing answers still find nothing."""
    shifts = np.arange(3.0, -2.01, -0.25)
    silent = (shift for shift in shifts if figures(questions, weights, bias + shift)["silent"] >= SILENT)
    return bias + next(silent, shifts[-1])


def main() -> None:
    """Fit, report, and write if asked."""
    paths = [Path(name) for name in sys.argv[1:] if not name.startswith("--")]
    questions = json.loads(paths[0].read_text())
    worlds = sorted({question["world"] for question in questions})
    for held in worlds:
        rest = [question for question in questions if question["world"] != held]
        weights, bias = fit(rest)
        bias = best_bias(rest, weights, bias)
        own = figures([question for question in questions if question["world"] == held], weights, bias)
        print(f"{held:14}", " ".join(f"{name} {value:.3f}" for name, value in own.items()))
    weights, bias = fit(questions)
    print(f"fitted bias {bias:.2f}")
    bias = best_bias(questions, weights, bias)
    print(
        "weights",
        {name: round(float(value), 3) for name, value in zip(FEATURES, weights, strict=True)},
        round(bias, 2),
    )
    for path in paths:
        means = figures(json.loads(path.read_text()), weights, bias)
        print(f"{path.stem:14}", " ".join(f"{name} {value:.3f}" for name, value in means.items()))
    if "--write" in sys.argv:
        stored = {
            "weights": {name: round(float(value), 4) for name, value in zip(FEATURES, weights, strict=True)}
        }
        TARGET.write_text(
            json.dumps({**stored, "bias": round(float(bias), 4)}, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
