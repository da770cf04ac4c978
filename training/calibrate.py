"""Fit the last step of the judge: probabilities from all the evidence that `collect.py` kept.

    python training/calibrate.py FIT.json [TEST.json] [--write]

Three logistic regressions over questions whose worlds the encoder was not trained on: how likely a memory answers a
question that wants one thing (`one`) or all of a kind (`several`), and how likely a later memory replaces an earlier
one (`replaces`). The bias of the first is then moved so that at the default threshold of 0.7 enough of the questions
that nothing answers find nothing, that of the second so that lists are whole at a fair price in wrong hits. `--write`
replaces probability.json.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from recollect.domain.query import Aim
from recollect.retrieval.judge.currency import SIGNS, Pair, newest_first, pairs_to_compare
from recollect.retrieval.judge.evidence import FEATURES
from recollect.retrieval.judge.probability import logit, sigmoid
from recollect.retrieval.judge.verdict import NARROW, WIDE, too_far_behind
from recollect.retrieval.understand.aim import read_aim

ALL = frozenset({"list", "count", "compare"})
THRESHOLD, LIMIT = 0.7, 10
#: The share of questions without an answer that must find nothing, on worlds harder than most.
SILENT = 0.55
#: What a wrong hit in a list costs, where a whole list is worth 1.
JUNK = 0.03
TARGET = Path(__file__).parent.parent / "src/recollect/retrieval/judge/probability.json"

Model = tuple[np.ndarray, float]
Question = dict[str, Any]


def aim_of(question: Question) -> Aim:
    """What the product reads from a question's form."""
    return read_aim(question["question"])


def judged_hits(question: Question) -> list[dict[str, Any]]:
    """The hits that the judge would read."""
    most = WIDE if aim_of(question).want.several else NARROW
    return [hit for hit in question["hits"] if hit["evidence"]][:most]


def evidence_of(hits: list[dict[str, Any]]) -> np.ndarray:
    """A row of evidence for each hit."""
    return np.array([[hit["evidence"][name] for name in FEATURES] for hit in hits])


def answers_of(questions: list[Question]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evidence, labels and weights of every candidate of every question."""
    evidence, labels, weights = [], [], []
    for question in questions:
        answers, stale = set(question["answers"]), set(question.get("stale", []))
        related = set(question.get("related", []))
        for hit in question["hits"]:
            if hit["evidence"]:
                key = hit["key"]
                evidence.append([hit["evidence"][name] for name in FEATURES])
                labels.append(float(key in answers or key in stale))
                weights.append(0.3 if key in related and key not in stale else 0.7 if key in stale else 1.0)
    return np.array(evidence), np.array(labels), np.array(weights)


def pairs_of(questions: list[Question], one: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signs, labels and weights of every pair that the product compares."""
    signs, labels = [], []
    for question in questions:
        hits = judged_hits(question)
        if not hits or not question["answers"]:
            continue
        answers, stale = set(question["answers"]), set(question.get("stale", []))
        fair = set(question.get("related", []))
        for earlier, later, values in compared(question, hits, one)[1]:
            old, new = hits[earlier]["key"], hits[later]["key"]
            if new not in fair:
                signs.append(values)
                labels.append(float(old in stale and new in answers))
    return np.array(signs).reshape(-1, len(SIGNS)), np.array(labels), np.ones(len(labels))


def compared(
    question: Question, hits: list[dict[str, Any]], one: Model
) -> tuple[np.ndarray, list[tuple[int, int, list[float]]]]:
    """The scores of some hits, and the pairs among them that were compared when they were collected."""
    scores = sigmoid(evidence_of(hits) @ one[0] + one[1])
    moments = [datetime.fromisoformat(hit["at"]) for hit in hits]
    found = []
    for pair in pairs_to_compare(scores, moments, aim_of(question)):
        other = pair.later if pair.earlier == int(np.argmax(scores)) else pair.earlier
        kept = hits[other]["evidence"]
        if "again best" in kept:
            behind = float(logit(scores[pair.later]) - logit(scores[pair.earlier]))
            values = [kept[f"{name} best"] if name != "behind" else behind for name in SIGNS]
            found.append((pair.earlier, pair.later, values))
    return scores, found


def shown(question: Question, models: dict[str, Model]) -> list[str]:
    """The keys that a search would return, in order."""
    several = aim_of(question).want.several
    hits = judged_hits(question)
    if not hits:
        return []
    scores, found = compared(question, hits, models["several" if several else "one"])
    if found and "replaces" in models:
        weights, bias = models["replaces"]
        moments = [datetime.fromisoformat(hit["at"]) for hit in hits]
        pairs = [Pair(earlier, later) for earlier, later, _ in found]
        replaces = sigmoid(np.array([values for _, _, values in found]) @ weights + bias)
        scores = newest_first(scores, moments, pairs, replaces).scores
    least = max(THRESHOLD, too_far_behind(scores, THRESHOLD, several=several))
    order = [place for place in np.argsort(-scores, kind="stable") if scores[place] >= least][:LIMIT]
    order.sort(key=lambda place: (hits[place]["layer"], -scores[place]))
    return [hits[place]["key"] for place in order]


def figures(questions: list[Question], models: dict[str, Model]) -> dict[str, float]:
    """What `bench everyday` would say."""
    found: dict[str, list[float]] = {name: [] for name in ("first", "complete", "silent", "fresh", "junk")}
    for question in questions:
        keys = shown(question, models)
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


def fit(evidence: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Model:
    """Weights and bias of a logistic regression."""
    scale = evidence.std(axis=0) + 1e-6
    columns = np.hstack([evidence / scale, np.ones((len(evidence), 1))])
    ridge = np.diag([1.0] * evidence.shape[1] + [0.0])
    found = np.zeros(columns.shape[1])
    for _ in range(30):  # Newton's method
        expected = sigmoid(columns @ found)
        slope = columns.T @ (weights * (labels - expected)) - ridge @ found
        curve = (columns * (weights * expected * (1.0 - expected))[:, None]).T @ columns + ridge
        found = found + np.linalg.solve(curve + 1e-9 * np.eye(len(curve)), slope)
    return found[:-1] / scale, float(found[-1])


def fit_all(questions: list[Question]) -> dict[str, Model]:
    """The three models, those of the answers moved to where they serve best."""
    several = [question for question in questions if aim_of(question).want.several]
    rest = [question for question in questions if not aim_of(question).want.several]
    models = {"one": fit(*answers_of(rest)), "several": fit(*answers_of(several))}
    models["replaces"] = fit(*pairs_of(rest, models["one"]))
    shifts = np.arange(5.0, -2.01, -0.25)
    moved = [models | {"one": (models["one"][0], models["one"][1] + shift)} for shift in shifts]
    models = next((one for one in moved if figures(rest, one)["silent"] >= SILENT), moved[-1])
    moved = [models | {"several": (models["several"][0], models["several"][1] + shift)} for shift in shifts]
    return max(moved, key=lambda choice: worth_of_lists(figures(several, choice)))


def worth_of_lists(means: dict[str, float]) -> float:
    """Whole lists, less what is wrong in them."""
    return means["complete"] - JUNK * means["junk"]


def main() -> None:
    """Fit, report, and write if asked."""
    paths = [Path(name) for name in sys.argv[1:] if not name.startswith("--")]
    questions = json.loads(paths[0].read_text())
    for held in sorted({question["world"] for question in questions}):
        models = fit_all([question for question in questions if question["world"] != held])
        report(held, [question for question in questions if question["world"] == held], models)
    models = fit_all(questions)
    stored = {
        name: {
            "weights": dict(
                zip(SIGNS if name == "replaces" else FEATURES, np.round(weights, 4).tolist(), strict=True)
            ),
            "bias": round(bias, 4),
        }
        for name, (weights, bias) in models.items()
    }
    print(json.dumps(stored, indent=1))
    for path in paths:
        report(path.stem, json.loads(path.read_text()), models)
    if "--write" in sys.argv:
        TARGET.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def report(name: str, questions: list[Question], models: dict[str, Model]) -> None:
    """Print the figures of some questions."""
    print(
        f"{name:14}",
        " ".join(f"{figure} {value:.3f}" for figure, value in figures(questions, models).items()),
    )


if __name__ == "__main__":
    main()
