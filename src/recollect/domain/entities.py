"""An entity as callers see it: something that memories and questions name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Something named.

    `key` identifies it: its folded name, or a row of the domain database such as "customer:a1b2" (then `canonical`
    says so, too). `source`: found in a text, given by a caller, declared, or from the domain database. `memories`
    counts the visible ones that name it.
    """

    key: str
    name: str
    kind: str
    source: str
    canonical: str | None = None
    aliases: tuple[str, ...] = ()
    memories: int = 0
