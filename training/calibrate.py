"""Fit the last step of the judge: probabilities from all the evidence that `collect.py` kept.

    python training/calibrate.py WORLDS.json CONVERSATIONS.json STRANGERS.json [TEST.json...] [--write]

Four logistic regressions over questions whose worlds the encoder was not trained on: how likely a memory answers a
question that wants one thing (`one`) or all of a kind (`several`), how likely there is anything of that kind (`any`),
and how likely a later memory replaces an earlier one (`replaces`). Conversations (LoCoMo) count less than worlds, and
show what a question about a stranger looks like; strangers are questions for lists, asked of another world.
The bias of the first is then moved so that at the default threshold of 0.7 enough of the worlds' questions that nothing
answers find nothing, that of the second so that lists are whole at a fair price in wrong hits. `--write` replaces
probability.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from recollect.domain.query import Aim
from recollect.retrieval.judge.currency import (
    SIGNS,
    Moments,
    Pair,
    may_be_news,
    may_have_changed,
    measure_signs,
    newest_first,
    pairs_to_compare,
)
from recollect.retrieval.judge.evidence import FEATURES, Candidate, share_of_strangers, words_of
from recollect.retrieval.judge.probability import TELLING, doubt, sigmoid
from recollect.retrieval.judge.verdict import (
    CLEAR,
    FIRST,
    LATER,
    NARROW,
    NEARNESS,
    TRAILING,
    too_far_behind,
    wide,
)
from recollect.retrieval.pipeline import REPLACEABLE
from recollect.retrieval.rank.calibration import ARCTIC
from recollect.text.aim import read_aim
from recollect.text.names import find_names

ALL = frozenset({"list", "count", "compare"})
THRESHOLD, LIMIT = 0.7, 10
#: The share of questions without an answer that must find nothing, on worlds harder than most.
SILENT = 0.61
#: What a wrong hit in a list costs, where a whole list is worth 1.
JUNK = 0.03
#: What a question to a conversation counts beside one to a world.
CONVERSATION = 0.05
TARGET = Path(__file__).parent.parent / "src/recollect/retrieval/judge/probability.json"

Model = tuple[np.ndarray, float]
Hit = dict[str, Any]


@dataclass
class Case:
    """A question with what the judge would read for it, of all that was read when it was collected."""

    question: str
    kind: str
    aim: Aim
    answers: set[str]
    stale: set[str]
    related: set[str]
    #: The first that were found without a threshold.
    free: list[str]
    hits: list[Hit]
    vectors: list[np.ndarray]
    evidence: np.ndarray
    weight: float
    signs: dict[Pair, np.ndarray] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """What was read."""
        return [hit["key"] for hit in self.hits]


def read_cases(path: Path) -> list[Case]:
    """What `collect.py` wrote, as the product would see it."""
    with np.load(path.with_suffix(".npz")) as file:
        vectors = {name: file[name].astype(np.float64) for name in file.files}
    vectors = {name: vector / np.linalg.norm(vector) for name, vector in vectors.items()}
    return [_case(row, vectors) for row in json.loads(path.read_text())]


def _case(row: dict[str, Any], vectors: dict[str, np.ndarray]) -> Case:
    known = {hit["key"]: vectors[f"{row['world']}/{hit['key']}"] for hit in row["hits"]}
    aim = read_aim(row["question"])
    hits = _read(row, aim, known)
    return Case(
        question=row["question"],
        kind=row["kind"],
        aim=aim,
        answers=set(row["answers"]),
        stale=set(row.get("stale", [])),
        related=set(row.get("related", [])),
        free=[hit["key"] for hit in row["hits"][:LIMIT]],
        hits=hits,
        vectors=[known[hit["key"]] for hit in hits],
        evidence=_evidence(row["question"], hits),
        weight=CONVERSATION if "scope" in row else 1.0,
    )


def _read(row: dict[str, Any], aim: Aim, vectors: dict[str, np.ndarray]) -> list[Hit]:
    """The hits that the judge would read (`rows_to_read`)."""
    judged = (hit for hit in row["hits"] if hit["evidence"])
    order = sorted(judged, key=lambda hit: -hit["evidence"]["relevance"])
    if aim.want.several:
        return order[: wide(aim)]
    hits, rest = order[:FIRST], order[FIRST:]
    if may_have_changed(row["question"], aim):
        chances = [(_replacing(hit, order[:REPLACEABLE], vectors), hit) for hit in rest]
        likely = sorted((one for one in chances if one[0] > 0.0), key=lambda one: -one[0])
        hits = hits + [hit for _, hit in likely[:LATER]]
    if max((hit["evidence"]["verdict"] for hit in hits), default=0.0) < CLEAR:
        hits = hits + [hit for hit in order[FIRST:NARROW] if hit not in hits]
    return hits


def _replacing(hit: Hit, best: list[Hit], vectors: dict[str, np.ndarray]) -> float:
    """How likely a hit is to replace one of the best, for being read; 0 when it was said before all of them."""
    alike = [float(vectors[hit["key"]] @ vectors[one["key"]]) for one in best if hit["at"] > one["at"]]
    nearness = hit["evidence"]["likeness"] / ARCTIC.gain + (ARCTIC.floor or 0.0)
    return max(alike) + NEARNESS * nearness if alike else 0.0


def _evidence(question: str, hits: list[Hit]) -> np.ndarray:
    """A row of evidence for each hit; two columns depend on what is read with it."""
    evidence = np.array([[hit["evidence"].get(name, 0.0) for name in FEATURES] for hit in hits])
    if hits:
        verdicts = evidence[:, FEATURES.index("verdict")]
        evidence[:, FEATURES.index("behind")] = verdicts - verdicts.max()
        names = {name.text: words_of(name.text) for name in find_names(question)}
        strangers = share_of_strangers(question, names, [_candidate(hit) for hit in hits])
        evidence[:, FEATURES.index("stranger")] = strangers
    return evidence.reshape(len(hits), len(FEATURES))


def _candidate(hit: Hit) -> Candidate:
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


def scores_of(case: Case, models: dict[str, Model]) -> np.ndarray:
    """How likely each hit answers (`probability`), and how far it trails the most relevant (`judge_rows`)."""
    one, several = (case.evidence @ weights + bias for weights, bias in (models["one"], models["several"]))
    relevance = case.evidence[:, FEATURES.index("relevance")]
    trailing = TRAILING * (relevance - relevance.max(initial=-np.inf))
    several = several - doubt(case.evidence, models["any"])
    return sigmoid((1.0 - case.aim.several) * (one + trailing) + case.aim.several * several)


def pairs_of(case: Case, scores: np.ndarray) -> tuple[list[Pair], np.ndarray]:
    """The pairs that are compared, and their signs."""
    if not may_have_changed(case.question, case.aim):
        return [], np.zeros((0, len(SIGNS)))
    candidates = [_candidate(hit) for hit in case.hits]
    pairs = pairs_to_compare(scores, _moments(case))
    for pair in pairs:
        if pair not in case.signs:
            (signs,) = measure_signs([pair], candidates, case.evidence, case.vectors)
            case.signs[pair] = signs
    return pairs, np.array([case.signs[pair] for pair in pairs]).reshape(-1, len(SIGNS))


def _moments(case: Case) -> Moments:
    """When the hits were said; what was collected without conversations stands alone."""
    return Moments(
        [datetime.fromisoformat(hit["at"]) for hit in case.hits],
        [hit.get("conversation") for hit in case.hits],
    )


def shown(case: Case, models: dict[str, Model]) -> list[str]:
    """The keys that a search would return, in order."""
    if not case.hits:
        return []
    scores = scores_of(case, models)
    pairs, signs = pairs_of(case, scores)
    if pairs and "replaces" in models:
        weights, bias = models["replaces"]
        chances = np.where(may_be_news(signs), sigmoid(signs @ weights + bias), 0.0)
        scores = newest_first(scores, _moments(case), pairs, chances).scores
    least = max(THRESHOLD, too_far_behind(scores, THRESHOLD, several=case.aim.several))
    order = [place for place in np.argsort(-scores, kind="stable") if scores[place] >= least][:LIMIT]
    order.sort(key=lambda place: (case.hits[place]["layer"], -scores[place]))
    return [case.hits[place]["key"] for place in order]


def figures(cases: Iterable[Case], models: dict[str, Model]) -> dict[str, float]:
    """What `bench everyday` would say."""
    found: dict[str, list[float]] = {name: [] for name in ("first", "complete", "silent", "fresh", "junk")}
    for case in cases:
        keys = shown(case, models)
        found["junk"].append(len(set(keys) - case.answers - case.stale - case.related))
        if case.kind in ALL:
            found["complete"].append(case.answers <= set(keys))
        elif case.kind == "absent":
            found["silent"].append(not keys)
        else:
            found["first"].append(bool(keys) and keys[0] in case.answers)
        if case.stale:
            place = next((i for i, key in enumerate(keys) if key in case.answers), None)
            old = next((i for i, key in enumerate(keys) if key in case.stale), None)
            found["fresh"].append(place is not None and (old is None or place < old))
    means = {name: float(np.mean(values)) for name, values in found.items() if values}
    means["everyday"] = float(np.mean([value for name, value in means.items() if name != "junk"]))
    return means


def conversation_figures(cases: Iterable[Case], models: dict[str, Model]) -> dict[str, float]:
    """What `bench locomo` would say of the default threshold."""
    found = kept = 0
    silent = []
    for case in cases:
        keys = set(shown(case, models))
        gold = case.answers.intersection(case.free)
        found, kept = found + len(gold), kept + len(gold & keys)
        if case.kind == "absent":
            silent.append(not keys)
    return {"kept": kept / max(found, 1), "silent": float(np.mean(silent))}


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


def fit_answers(cases: Sequence[Case]) -> Model:
    """How likely a candidate answers. What is outdated answers too; what only belongs to it says little."""
    cases = [case for case in cases if case.hits]
    labels = [float(key in case.answers | case.stale) for case in cases for key in case.keys]
    weights = [
        case.weight * (0.7 if key in case.stale else 0.3 if key in case.related else 1.0)
        for case in cases
        for key in case.keys
    ]
    return fit(np.vstack([case.evidence for case in cases]), np.array(labels), np.array(weights))


def fit_replaces(cases: Sequence[Case], models: dict[str, Model]) -> Model:
    """How likely the later of two that are compared replaces the earlier."""
    signs, labels = [], []
    for case in cases:
        if not case.hits or not case.answers:
            continue
        for pair, values in zip(*pairs_of(case, scores_of(case, models)), strict=True):
            old, new = case.keys[pair.earlier], case.keys[pair.later]
            if new not in case.related and not (old in case.stale and new in case.stale):
                signs.append(values)
                labels.append(float(old in case.stale and new in case.answers))
    return fit(np.array(signs), np.array(labels), np.ones(len(labels)))


def fit_any(worlds: Sequence[Case], strangers: Sequence[Case]) -> Model:
    """How likely a world has anything of the kind that a list is asked of, by the best of what was read."""
    there = [case for case in worlds if case.kind in ALL]
    asked = [case for case in (*there, *strangers) if case.hits and case.aim.want.several]
    best = np.array([case.evidence[:, TELLING].max(axis=0) for case in asked])
    return fit(best, np.array([float(case.kind in ALL) for case in asked]), np.ones(len(asked)))


def fit_all(worlds: list[Case], conversations: list[Case], strangers: list[Case]) -> dict[str, Model]:
    """The four models, those of the answers moved to where they serve best."""
    everything = worlds + conversations
    models = {
        "any": fit_any(worlds, strangers),
        "one": fit_answers([case for case in everything if not case.aim.want.several]),
        "several": fit_answers([case for case in everything if case.aim.want.several]),
    }
    rest = [case for case in worlds if not case.aim.want.several]
    several = [case for case in worlds if case.aim.want.several]
    models["replaces"] = fit_replaces(rest, models)
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


def _columns(name: str) -> Sequence[str]:
    """What the weights of a model belong to."""
    return {"replaces": SIGNS, "any": [FEATURES[place] for place in TELLING]}.get(name, FEATURES)


def main() -> None:
    """Fit, report, and write if asked."""
    paths = [Path(name) for name in sys.argv[1:] if not name.startswith("--")]
    cases = {path: read_cases(path) for path in paths}
    models = fit_all(*(cases[path] for path in paths[:3]))
    stored = {
        name: {
            "weights": dict(zip(_columns(name), np.round(weights, 4).tolist(), strict=True)),
            "bias": round(bias, 4),
        }
        for name, (weights, bias) in models.items()
    }
    print(json.dumps(stored, indent=1))
    for number, path in enumerate(paths):
        means = (conversation_figures if number == 1 else figures)(cases[path], models)
        print(f"{path.stem:14}", " ".join(f"{name} {value:.3f}" for name, value in means.items()))
    if "--write" in sys.argv:
        TARGET.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
