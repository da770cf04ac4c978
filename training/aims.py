"""Fit the models that read what a question is after, from the kinds of the questions in the training worlds.

    python training/aims.py [--write]

Worlds kept back for calibration stay out. Prints what each model tells on worlds it was not fitted to (a fifth at a
time); `--write` replaces aim.json.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from worlds import FOLDER, HELD_BACK, read_world

from recollect.retrieval.understand.aim import _TOKEN, form_of

TARGET = Path(__file__).parent.parent / "src/recollect/retrieval/understand/aim.json"
#: A word is common, and a run of words counts, when it stands in so many worlds.
COMMON_WORLDS, RUN_WORLDS = 8, 6
#: What a model says, of which kinds, and where its line is drawn: reading a list as one thing loses more than the
#: other way round.
KINDS = {
    "several": ({"list", "count", "compare"}, -1.0),
    "all": ({"list"}, 0.0),
    "number": ({"count"}, 0.0),
    "comparison": ({"compare"}, 0.0),
    "task": ({"task"}, -1.0),
    "past": ({"past"}, -0.75),
}
LASSO, RIDGE, STEPS, RATE = 2e-4, 1e-4, 250, 0.03
LEAST_WEIGHT = 0.02
FOLDS = 5


def main() -> None:
    """Fit, report, and write if asked."""
    rows = [
        (path.stem, question["question"], question["kind"])
        for path in sorted(FOLDER.glob("*.world"))
        if path.stem not in HELD_BACK
        for question in read_world(path)["questions"]
        if question["kind"] != "absent"  # asks for anything
    ]
    worlds_of: dict[str, set[str]] = defaultdict(set)
    for world, question, _ in rows:
        for token in _TOKEN.findall(question):
            worlds_of[token.casefold()].add(world)
    common = frozenset(word for word, worlds in worlds_of.items() if len(worlds) >= COMMON_WORLDS)
    forms = [set(form_of(question, common)) for _, question, _ in rows]
    runs: dict[str, set[str]] = defaultdict(set)
    for (world, _, _), form in zip(rows, forms, strict=True):
        for run in form:
            runs[run].add(world)
    names = sorted(run for run, worlds in runs.items() if len(worlds) >= RUN_WORLDS)
    place_of = {name: place for place, name in enumerate(names)}
    columns = np.zeros((len(rows), len(names)), dtype=np.float32)
    for number, form in enumerate(forms):
        columns[number, [place_of[run] for run in form if run in place_of]] = 1.0
    order = {world: number % FOLDS for number, world in enumerate(sorted({row[0] for row in rows}))}
    fold = np.array([order[world] for world, _, _ in rows])
    models = {}
    for name, (kinds, line) in KINDS.items():
        labels = np.array([kind in kinds for _, _, kind in rows])
        told = np.zeros(len(rows), dtype=bool)
        for held in range(FOLDS):
            weights, bias = fit(columns[fold != held], labels[fold != held])
            told[fold == held] = columns[fold == held] @ weights + bias > line
        print(f"{name:10} found {told[labels].mean():.3f} wrongly {told[~labels].mean():.3f}", flush=True)
        weights, bias = fit(columns, labels)
        kept = {
            run: round(float(weight), 2)
            for run, weight in zip(names, weights, strict=True)
            if abs(weight) >= LEAST_WEIGHT
        }
        models[name] = {"bias": round(float(bias) - line, 3), "weights": kept}
    if "--write" in sys.argv:
        TARGET.write_text(
            json.dumps({"words": sorted(common), "models": models}, ensure_ascii=False, indent=0) + "\n",
            encoding="utf-8",
        )


def fit(columns: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression with few weights, by Adam."""
    count = columns.shape[1]
    state = np.zeros(count + 1, dtype=np.float32)
    mean, spread = np.zeros_like(state), np.zeros_like(state)
    for step in range(1, STEPS + 1):
        weights = state[:count]
        rest = (1.0 / (1.0 + np.exp(-(columns @ weights + state[count]))) - labels) / len(labels)
        slope = np.append(columns.T @ rest + LASSO * np.sign(weights) + 2 * RIDGE * weights, rest.sum())
        mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope**2
        state -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return state[:count], float(state[count])


if __name__ == "__main__":
    main()
