"""Presets for agents that consult: when to ask, how deep, and what to tell a model. Each is one Markdown file here.

    client.oracle_consult(**ARCHITECT.ask("How do we sign users in?", doc_ids=["fastapi-docs"]))

A recipe is no agent: it only fills in arguments. Its prompt reaches a model when the consultation names the recipe as
its agent; without a model it changes nothing, since the question alone is looked up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, cast

from recollect.domain.oracle import DEPTH_HINTS, DepthHint
from recollect.errors import InvalidInputError

__all__ = ["RECIPES", "Recipe", "find_recipe", "get_recipe"]

#: The names of the recipes; the files have underscores for blanks.
RECIPES = ("architect", "reviewer", "spec builder")
_PART = re.compile(r"^## (\w+)\n\n(.*?)(?=\n## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A preset. `triggers` say when such an agent should consult; `prompt` is what a model is told beside the rules."""

    name: str
    depth_hint: DepthHint
    triggers: tuple[str, ...]
    prompt: str

    def ask(self, problem: str, **more: Any) -> dict[str, Any]:
        """The arguments of `oracle_consult` for a problem; what is given in `more` wins."""
        return {"problem": problem, "depth_hint": self.depth_hint, "agent": self.name, **more}


def get_recipe(name: str) -> Recipe:
    """A recipe by its name."""
    recipe = find_recipe(name)
    if recipe is None:
        raise InvalidInputError(f"there is no recipe {name!r}; there are {', '.join(RECIPES)}")
    return recipe


@cache
def find_recipe(name: str | None) -> Recipe | None:
    """A recipe by its name; None for an agent that has none."""
    plain = (name or "").strip().lower().replace("_", " ")
    if plain not in RECIPES:
        return None
    file = resources.files(__package__).joinpath(f"{plain.replace(' ', '_')}.md")
    parts = dict(_PART.findall(file.read_text(encoding="utf-8")))
    hint = parts["depth"].strip()
    assert hint in DEPTH_HINTS, f"{plain}.md has the depth {hint!r}"
    return Recipe(
        name=plain,
        depth_hint=cast(DepthHint, hint),
        triggers=tuple(line.removeprefix("- ") for line in parts["triggers"].strip().splitlines()),
        prompt=" ".join(parts["prompt"].split()),
    )
