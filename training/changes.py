"""Fit what tells of a change, from the memories of the training worlds that say something anew.

    python training/changes.py [--write]

Prints how well they are told from others (the area under the curve) on the worlds kept back; `--write` replaces
change.json.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from forms import Forms, fit
from worlds import FOLDER, HELD_BACK, read_world

TARGET = Path(__file__).parent.parent / "src/recollect/retrieval/judge/change.json"
LASSO = 4e-4

Row = tuple[str, str, bool]


def main() -> None:
    """Fit, report, and write if asked."""
    paths = sorted(FOLDER.glob("*.world"))
    rows = [row for path in paths if path.stem not in HELD_BACK for row in _said(path)]
    held = [row for path in paths if path.stem in HELD_BACK for row in _said(path)]
    forms = Forms([(world, text) for world, text, _ in rows])
    weights, bias = fit(forms.columns, np.array([label for *_, label in rows]), lasso=LASSO)
    told = forms.columns_of([text for _, text, _ in held]) @ weights
    print(f"changes told from others {area(told, np.array([label for *_, label in held])):.3f}")
    if "--write" in sys.argv:
        forms.write(TARGET, {"change": forms.model(weights, bias)})


def _said(path: Path) -> Iterable[Row]:
    """Everything that people said in a world, and whether it is the newer of two answers to a question."""
    world = read_world(path)
    newer = {key for question in world["questions"] if question.get("stale") for key in question["answers"]}
    for item in world["items"]:
        if item.get("speaker") != "Assistant":
            yield world["name"], item["text"], item["key"] in newer


def area(values: np.ndarray, labels: np.ndarray) -> float:
    """How often one of the wanted has a higher value than one of the others."""
    places = np.argsort(np.argsort(values)) + 1
    wanted = int(labels.sum())
    below = places[labels].sum() - wanted * (wanted + 1) / 2
    return float(below / (wanted * (len(labels) - wanted)))


if __name__ == "__main__":
    main()
