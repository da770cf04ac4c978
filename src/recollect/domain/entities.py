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


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Two entities, by their keys, that `memories` memories name together."""

    source: str
    target: str
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityGraph:
    """Entities that the caller sees and how they hang together, those that most memories name first.

    `centre` is the key of the one whose surroundings were asked for.
    """

    entities: tuple[Entity, ...]
    links: tuple[Link, ...]
    centre: str | None = None
