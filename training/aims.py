"""Fit the models that read what a question is after, from the kinds of the questions in the training worlds.

    python training/aims.py [--write]

Worlds kept back for calibration stay out. Prints what each model tells on worlds it was not fitted to (a fifth at a
time); `--write` replaces aim.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from forms import Forms, fit
from worlds import FOLDER, HELD_BACK, read_world

TARGET = Path(__file__).parent.parent / "src/recollect/text/aim.json"
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
    forms = Forms([(world, question) for world, question, _ in rows])
    order = {world: number % FOLDS for number, world in enumerate(sorted({row[0] for row in rows}))}
    fold = np.array([order[world] for world, _, _ in rows])
    models = {}
    for name, (kinds, line) in KINDS.items():
        labels = np.array([kind in kinds for _, _, kind in rows])
        told = np.zeros(len(rows), dtype=bool)
        for held in range(FOLDS):
            weights, bias = fit(forms.columns[fold != held], labels[fold != held])
            told[fold == held] = forms.columns[fold == held] @ weights + bias > line
        print(f"{name:10} found {told[labels].mean():.3f} wrongly {told[~labels].mean():.3f}", flush=True)
        models[name] = forms.model(*fit(forms.columns, labels), line=line)
    if "--write" in sys.argv:
        forms.write(TARGET, models)


if __name__ == "__main__":
    main()
