"""Fit the last step of the judge: probabilities from all the evidence that `collect.py` kept.

    python training/calibrate.py FIT.json [TEST.json...] [--write]

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
from recollect.retrieval.judge.currency import (
    SIGNS,
    Moments,
    Pair,
    may_have_changed,
    measure_signs,
    newest_first,
    pairs_to_compare,
)
from recollect.retrieval.judge.evidence import FEATURES, Candidate
from recollect.retrieval.judge.probability import sigmoid
from recollect.retrieval.judge.verdict import (
    CLEAR,
    FIRST,
    LATER,
    NARROW,
    NEARNESS,
    WIDE,
    too_far_behind,
)
from recollect.retrieval.pipeline import REPLACEABLE
from recollect.retrieval.rank.calibration import ARCTIC
from recollect.retrieval.understand.aim import read_aim

ALL = frozenset({"list", "count", "compare"})
THRESHOLD, LIMIT = 0.7, 10
#: The share of questions without an answer that must find nothing, on worlds harder than most.
SILENT = 0.61
#: What a wrong hit in a list costs, where a whole list is worth 1.
JUNK = 0.03
TARGET = Path(__file__).parent.parent / "src/recollect/retrieval/judge/probability.json"

Model = tuple[np.ndarray, float]
Question = dict[str, Any]


def aim_of(question: Question) -> Aim:
    """What the product reads from a question's form."""
    return read_aim(question["question"])


def judged_hits(question: Question) -> list[dict[str, Any]]:
    """The hits that the judge would read (`rows_to_read`), of all that were read when they were collected."""
    order = sorted(
        (hit for hit in question["hits"] if hit["evidence"]), key=lambda hit: -hit["evidence"]["relevance"]
    )
    aim = aim_of(question)
    if aim.want.several:
        return order[:WIDE]
    hits, rest = order[:FIRST], order[FIRST:]
    if may_have_changed(question["question"], aim):
        chances = [(_replacing(hit, order[:REPLACEABLE], question["vectors"]), hit) for hit in rest]
        likely = sorted((one for one in chances if one[0] > 0.0), key=lambda one: -one[0])
        hits = hits + [hit for _, hit in likely[:LATER]]
    if max((hit["evidence"]["verdict"] for hit in hits), default=0.0) < CLEAR:
        hits = hits + [hit for hit in order[FIRST:NARROW] if hit not in hits]
    return hits


def _replacing(hit: dict[str, Any], best: list[dict[str, Any]], vectors: dict[str, np.ndarray]) -> float:
    """How likely a hit is to replace one of the best, for being read; 0 when it was said before all of them."""
    alike = [float(vectors[hit["key"]] @ vectors[one["key"]]) for one in best if hit["at"] > one["at"]]
    nearness = hit["evidence"]["likeness"] / ARCTIC.gain + (ARCTIC.floor or 0.0)
    return max(alike) + NEARNESS * nearness if alike else 0.0


def evidence_of(hits: list[dict[str, Any]]) -> np.ndarray:
    """A row of evidence for each hit, beside those that are read with it."""
    evidence = np.array([[hit["evidence"][name] for name in FEATURES] for hit in hits])
    verdicts = evidence[:, FEATURES.index("verdict")]
    evidence[:, FEATURES.index("behind")] = verdicts - verdicts.max()
    return evidence


def answers_of(questions: list[Question]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evidence, labels and weights of every candidate of every question."""
    evidence, labels, weights = [], [], []
    for question in questions:
        answers, stale = set(question["answers"]), set(question.get("stale", []))
        related = set(question.get("related", []))
        hits = judged_hits(question)
        if hits:
            evidence.append(evidence_of(hits))
        for key in (hit["key"] for hit in hits):
            labels.append(float(key in answers or key in stale))
            weights.append(0.3 if key in related and key not in stale else 0.7 if key in stale else 1.0)
    return np.vstack(evidence), np.array(labels), np.array(weights)


def pairs_of(questions: list[Question], one: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Signs, labels and weights of every pair that the product compares."""
    signs, labels = [], []
    for question in questions:
        hits = judged_hits(question)
        if not hits or not question["answers"]:
            continue
        answers, stale = set(question["answers"]), set(question.get("stale", []))
        fair = set(question.get("related", []))
        _, pairs, measured = compared(question, hits, one)
        for pair, values in zip(pairs, measured, strict=True):
            old, new = hits[pair.earlier]["key"], hits[pair.later]["key"]
            if new not in fair and not (old in stale and new in stale):
                signs.append(values)
                labels.append(float(old in stale and new in answers))
    return np.array(signs).reshape(-1, len(SIGNS)), np.array(labels), np.ones(len(labels))


def _moments(hits: list[dict[str, Any]]) -> Moments:
    """When the hits were said; a recording from before conversations were kept has none."""
    return Moments(
        [datetime.fromisoformat(hit["at"]) for hit in hits], [hit.get("conversation") for hit in hits]
    )


def compared(
    question: Question, hits: list[dict[str, Any]], one: Model
) -> tuple[np.ndarray, list[Pair], np.ndarray]:
    """The scores of some hits, the pairs among them that are compared, and the signs of those."""
    evidence = evidence_of(hits)
    scores = sigmoid(evidence @ one[0] + one[1])
    candidates = [_candidate(hit) for hit in hits]
    pairs = pairs_to_compare(scores, _moments(hits))
    if not may_have_changed(question["question"], aim_of(question)):
        pairs = []
    vectors = [question["vectors"][hit["key"]] for hit in hits]
    return scores, pairs, measure_signs(pairs, candidates, evidence, vectors)


def _candidate(hit: dict[str, Any]) -> Candidate:
    return Candidate(
        text=hit["text"],
        statement="",
        speaker=hit["speaker"],
        own=hit["own"],
        at=datetime.fromisoformat(hit["at"]),
        summary=False,
        verdict=hit["evidence"]["verdict"],
        relevance=0.0,
        likeness=0.0,
        inside=None,
    )


def read_questions(path: Path) -> list[Question]:
    """What `collect.py` wrote, with the vectors."""
    questions = json.loads(path.read_text())
    with np.load(path.with_suffix(".npz")) as file:
        vectors: dict[str, dict[str, np.ndarray]] = {}
        for name in file.files:
            world, _, key = name.partition("/")
            vector = file[name].astype(np.float64)
            vectors.setdefault(world, {})[key] = vector / np.linalg.norm(vector)
    return [question | {"vectors": vectors[question["world"]]} for question in questions]


def shown(question: Question, models: dict[str, Model]) -> list[str]:
    """The keys that a search would return, in order."""
    several = aim_of(question).want.several
    hits = judged_hits(question)
    if not hits:
        return []
    scores, pairs, signs = compared(question, hits, models["several" if several else "one"])
    if pairs and "replaces" in models:
        weights, bias = models["replaces"]
        scores = newest_first(scores, _moments(hits), pairs, sigmoid(signs @ weights + bias)).scores
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
    for step in (0.25, 0.0625):
        weights, bias = models["one"]
        moved = [models | {"one": (weights, bias + shift)} for shift in np.arange(20.0, -8.1, -1.0) * step]
        models = next((one for one in moved if figures(rest, one)["silent"] >= SILENT), moved[-1])
    shifts = np.arange(5.0, -2.01, -0.25)
    moved = [models | {"several": (models["several"][0], models["several"][1] + shift)} for shift in shifts]
    return max(moved, key=lambda choice: worth_of_lists(figures(several, choice)))


def worth_of_lists(means: dict[str, float]) -> float:
    """Whole lists, less what is wrong in them."""
    return means["complete"] - JUNK * means["junk"]


def main() -> None:
    """Fit, report, and write if asked."""
    paths = [Path(name) for name in sys.argv[1:] if not name.startswith("--")]
    questions = read_questions(paths[0])
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
        report(path.stem, read_questions(path), models)
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
