"""Presets for agents: when to ask, and what. `RECIPES` are for consultations, `PRESETS` for explorations.

    client.oracle_consult(**get_role("architect").ask("How do we sign users in?", doc_ids=["fastapi-docs"]))
    client.explore("src", "why does saving fail?", context_hints=[trace], preset="debugger")

A role is no agent, and each is one Markdown file here. It fills in arguments; its prompt is told to a model, where one
is asked. Without a model a recipe changes nothing, and the course of a preset says where to look.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from recollect.domain.oracle import DEPTH_HINTS, DepthHint
from recollect.errors import InvalidInputError

__all__ = ["PRESETS", "RECIPES", "ROLES", "Role", "find_role", "get_role"]

#: The files have underscores for blanks.
RECIPES = ("architect", "reviewer", "spec builder")
PRESETS = ("repo mapper", "architecture surveyor", "debugger", "validation")
ROLES = RECIPES + PRESETS
_PART = re.compile(r"^## (\w+)\n\n(.*?)(?=\n## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """`triggers` say when such an agent should ask; `prompt` is what a model is told beside the rules.

    Of a preset, `question` is what it asks when nobody says more, `reads` and `uses` are how many places to read and
    names to look up; `tests`: uses in tests belong to the answer.
    """

    name: str
    triggers: tuple[str, ...]
    prompt: str
    depth_hint: DepthHint = "auto"
    question: str = ""
    reads: int = 0
    uses: int = 0
    tests: bool = False

    def ask(self, problem: str, **more: Any) -> dict[str, Any]:
        """The arguments of `oracle_consult` for a problem; what is given in `more` wins."""
        return {"problem": problem, "depth_hint": self.depth_hint, "agent": self.name, **more}


def get_role(name: str, among: Collection[str] = ROLES) -> Role:
    """A role by its name."""
    role = find_role(name)
    if role is None or role.name not in among:
        raise InvalidInputError(f"there is no preset {name!r}; there are {', '.join(among)}")
    return role


@cache
def find_role(name: str | None) -> Role | None:
    """A role by its name; None for an agent that has none."""
    plain = (name or "").strip().lower().replace("_", " ").replace("-", " ")
    if plain not in ROLES:
        return None
    file = resources.files(__package__).joinpath(f"{plain.replace(' ', '_')}.md")
    parts = dict(_PART.findall(file.read_text(encoding="utf-8")))
    hint = parts.get("depth", "auto").strip()
    assert hint in DEPTH_HINTS, f"{plain}.md has the depth {hint!r}"
    course = dict(line.split(": ", 1) for line in _listed(parts.get("course", "")))
    return Role(
        name=plain,
        triggers=_listed(parts["triggers"]),
        prompt=" ".join(parts["prompt"].split()),
        depth_hint=cast(DepthHint, hint),
        question=" ".join(parts.get("question", "").split()),
        reads=int(course.get("places to read", 0)),
        uses=int(course.get("names to look up", 0)),
        tests=course.get("tests") == "yes",
    )


def _listed(part: str) -> tuple[str, ...]:
    return tuple(line.removeprefix("- ") for line in part.strip().splitlines())
