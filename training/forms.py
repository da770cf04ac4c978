"""Fit linear models over the forms of texts (`recollect.text.aim`), and write them where they are asked."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from recollect.text.aim import TOKEN, form_of

#: A word is common, and a run of words counts, when it stands in so many worlds.
COMMON_WORLDS, RUN_WORLDS = 8, 6
LASSO, RIDGE, STEPS, RATE = 2e-4, 1e-4, 250, 0.03
LEAST_WEIGHT = 0.02


class Forms:
    """The forms of some texts, each of a world, as columns of zeros and ones."""

    def __init__(self, texts: Sequence[tuple[str, str]]) -> None:
        worlds_of: dict[str, set[str]] = defaultdict(set)
        for world, text in texts:
            for token in TOKEN.findall(text):
                worlds_of[token.casefold()].add(world)
        self.common = frozenset(
            word
            for word, worlds in worlds_of.items()
            # A year or an hour is one of a world's own facts, in however many worlds it stands.
            if len(worlds) >= COMMON_WORLDS and not word[0].isdigit()
        )
        forms = [set(form_of(text, self.common)) for _, text in texts]
        runs: dict[str, set[str]] = defaultdict(set)
        for (world, _), form in zip(texts, forms, strict=True):
            for run in form:
                runs[run].add(world)
        self.names = sorted(run for run, worlds in runs.items() if len(worlds) >= RUN_WORLDS)
        self._place = {name: place for place, name in enumerate(self.names)}
        self.columns = self.columns_of([text for _, text in texts])

    def columns_of(self, texts: Sequence[str]) -> np.ndarray:
        """The columns of other texts, as far as their forms are known."""
        columns = np.zeros((len(texts), len(self.names)), dtype=np.float32)
        for number, text in enumerate(texts):
            known = [self._place[run] for run in form_of(text, self.common) if run in self._place]
            columns[number, known] = 1.0
        return columns

    def model(self, weights: np.ndarray, bias: float, *, line: float = 0.0) -> dict[str, Any]:
        """A model as it is stored; `line` is where it draws its line."""
        kept = {
            run: round(float(weight), 2)
            for run, weight in zip(self.names, weights, strict=True)
            if abs(weight) >= LEAST_WEIGHT
        }
        return {"bias": round(bias - line, 3), "weights": kept}

    def write(self, path: Path, models: Mapping[str, Any]) -> None:
        """Store models."""
        stored = {"words": sorted(self.common), "models": models}
        path.write_text(json.dumps(stored, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def fit(columns: np.ndarray, labels: np.ndarray, *, lasso: float = LASSO) -> tuple[np.ndarray, float]:
    """Weights and bias of a logistic regression with few weights, by Adam."""
    count = columns.shape[1]
    state = np.zeros(count + 1, dtype=np.float32)
    mean, spread = np.zeros_like(state), np.zeros_like(state)
    for step in range(1, STEPS + 1):
        weights = state[:count]
        rest = (1.0 / (1.0 + np.exp(-(columns @ weights + state[count]))) - labels) / len(labels)
        slope = np.append(columns.T @ rest + lasso * np.sign(weights) + 2 * RIDGE * weights, rest.sum())
        mean, spread = 0.9 * mean + 0.1 * slope, 0.999 * spread + 0.001 * slope**2
        state -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return state[:count], float(state[count])
