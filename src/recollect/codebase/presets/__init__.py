"""Presets for agents that explore code: when to explore, what to ask, what to look at. Each is one Markdown file here.

    r.explore("src", preset="repo mapper")
    r.explore("src", "why does saving fail?", context_hints=[trace], preset="debugger")

A preset is no agent. Without a model its course says where to look; with one, its prompt is told to it as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from recollect.errors import InvalidInputError

__all__ = ["PRESETS", "Preset", "find_preset", "get_preset"]

#: The names of the presets; the files have underscores for blanks.
PRESETS = ("repo mapper", "architecture surveyor", "debugger", "validation")
_PART = re.compile(r"^## (\w+)\n\n(.*?)(?=\n## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A preset. `triggers` say when such an agent should explore, `question` is what it asks when nobody says more.

    `reads` and `uses` are how many places to read and names to look up. `tests`: uses in tests belong to the answer.
    """

    name: str
    question: str
    triggers: tuple[str, ...]
    prompt: str
    reads: int
    uses: int
    tests: bool = False


def get_preset(name: str) -> Preset:
    """A preset by its name."""
    preset = find_preset(name)
    if preset is None:
        raise InvalidInputError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return preset


@cache
def find_preset(name: str | None) -> Preset | None:
    """A preset by its name; None when there is none."""
    plain = (name or "").strip().lower().replace("_", " ").replace("-", " ")
    if plain not in PRESETS:
        return None
    file = resources.files(__package__).joinpath(f"{plain.replace(' ', '_')}.md")
    parts = dict(_PART.findall(file.read_text(encoding="utf-8")))
    course = dict(line.removeprefix("- ").split(": ", 1) for line in parts["course"].strip().splitlines())
    return Preset(
        name=plain,
        question=" ".join(parts["question"].split()),
        triggers=tuple(line.removeprefix("- ") for line in parts["triggers"].strip().splitlines()),
        prompt=" ".join(parts["prompt"].split()),
        reads=int(course["places to read"]),
        uses=int(course["names to look up"]),
        tests=course.get("tests") == "yes",
    )
