"""The form of a text: its common words as they stand, all others as shapes ("xs" a plural, "Xx" a name).

Short runs of these are weighed by small linear models, which `training/` fits and which lie as JSON beside whoever
asks them: what a question is after (`understand/aim.py`), whether a memory tells of a change (`judge/currency.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

#: The form of a text shows in its beginning.
_READ_TOKENS = 40
TOKEN = re.compile(r"\w+(?:['’]\w+)?|[?!,:.;]")
#: Runs of so many words are looked up, and at the beginning longer ones.
_RUN, _FIRST_RUN = 3, 4
#: Endings that say what a word is, when it is none of the common ones.
_ENDINGS = (("s", 3), ("ed", 4), ("ing", 5))


class FormModels:
    """Linear models over forms that share their common words."""

    def __init__(self, path: Path) -> None:
        stored = json.loads(path.read_text(encoding="utf-8"))
        self._words = frozenset(stored["words"])
        self._models: dict[str, dict[str, float]] = {
            name: model["weights"] for name, model in stored["models"].items()
        }
        self._bias: dict[str, float] = {name: model["bias"] for name, model in stored["models"].items()}

    def form(self, text: str) -> frozenset[str]:
        """The form of a text, for `weigh`."""
        return frozenset(form_of(text, self._words))

    def weigh(self, name: str, form: frozenset[str]) -> float:
        """How much a form speaks for something, beyond 0 where it does."""
        weights = self._models[name]
        return self._bias[name] + sum(weights[part] for part in form if part in weights)


def form_of(text: str, common: frozenset[str]) -> Iterator[str]:
    """The runs of words and shapes in a text, and how it begins."""
    tokens = TOKEN.findall(text)[:_READ_TOKENS]
    shapes = ["^", *(_shape(token, common, first=not place) for place, token in enumerate(tokens)), "$"]
    for length in range(1, _RUN + 1):
        for start in range(len(shapes) - length + 1):
            yield " ".join(shapes[start : start + length])
    for length in range(1, _FIRST_RUN + 1):
        yield "^^ " + " ".join(shapes[1 : 1 + length])
    yield f"#{min(len(tokens) // 3, 6)}"


def _shape(token: str, common: frozenset[str], *, first: bool) -> str:
    word = token.casefold()
    if word in common:
        return word
    if token[0].isdigit():
        return "0"
    if token[0].isupper() and not first:
        return "Xx"
    endings = (f"x{end}" for end, least in _ENDINGS if word.endswith(end) and len(word) > least)
    return next(endings, "x")
