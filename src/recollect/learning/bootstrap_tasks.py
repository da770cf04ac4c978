"""Synthetic tasks: questions from templates over a tenant's own scopes and entities, each with what should be found.

The expected memories come from the entities known when memories were written, by SQL, never from a search. A task is
done as far as its groups are covered: one memory of each scope, entity, period or hop that a question asks for.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.errors import InvalidInputError

if TYPE_CHECKING:
    from recollect.storage.store import Row, Transaction

#: How many results a task may use.
LIMIT = 10
#: Entities of each kind that tasks are made about; a sample by name, the same every time.
_SAMPLE = 300
_PLURALS = {Layer.PROJECT: "projects", Layer.TEAM: "teams", Layer.ORG: "organizations"}

Group = frozenset[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Memories of which some should be found: one for a scope, several for an entity."""

    ids: Group
    wanted: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapTaskTemplate:
    """A question with slots. `kind` says what fills them and what is expected: see `KINDS`.

    `held_out` templates never train; they show whether what was learned carries over.
    """

    name: str
    text: str
    kind: str
    held_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapTask:
    """A question, and what should be found of each scope, entity, period or hop that it asks for."""

    template: str
    query: str
    expected: tuple[Expected, ...]

    def quality(self, hit_ids: Sequence[UUID]) -> float:
        """The share of what is expected that the first results hold, of what so many results could."""
        hits = set(hit_ids[:LIMIT])
        covered = sum(min(len(hits & group.ids), group.wanted) for group in self.expected)
        return min(covered / min(sum(group.wanted for group in self.expected), LIMIT), 1.0)


TEMPLATES = tuple(
    BootstrapTaskTemplate(name=name, kind=kind, text=text, held_out=held_out)
    for held_out, name, kind, text in (
        (False, "compare_scopes", "scopes", "compare {topic} across all {layers}"),
        (False, "each_scope", "scopes", "what does each of the {layers} say about {topic}"),
        (False, "difference", "pair", "difference between {one} and {other}"),
        (False, "history", "periods", "trace the history of {entity} since {period}"),
        (False, "pair_in_scopes", "pair_scopes", "how do the {layers} differ on {one} and on {other}"),
        (False, "summary", "entity", "summarize everything about {entity}"),
        (False, "linked", "bridge", "what happened to the {thing} whose work led to {entity}"),
        (True, "overview_scopes", "scopes", "give an overview of how all our {layers} deal with {topic}"),
        (True, "versus", "pair", "{one} versus {other}: what is known of both"),
        (True, "pair_across", "pair_scopes", "compare what the {layers} say about {one} and about {other}"),
        (True, "timeline", "periods", "how has {entity} evolved, the whole timeline from {period} until now"),
        (True, "affected", "bridge", "which {thing} was affected after {entity}, and what became of it"),
        (True, "recap", "entity", "recap all there is on {entity}"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spoken:
    """An entity and the memories that speak of it, by scope, quarter, or not at all."""

    name: str
    groups: Mapping[object, Group]
    layer: Layer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What a tenant's memories can be asked about."""

    scopes: tuple[_Spoken, ...]
    entities: tuple[_Spoken, ...]
    periods: tuple[_Spoken, ...]
    bridges: tuple[tuple[str, str, Group, Group], ...]

    @classmethod
    async def read(cls, tx: Transaction, now: datetime) -> Material:
        """All of a tenant, as its admin."""
        scopes, entities, periods, bridges = [
            await tx.fetch(f"bootstrap_{name}", now=now, limit=_SAMPLE)
            for name in ("scopes", "entities", "periods", "bridges")
        ]
        by_layer = groupby(scopes, key=lambda row: (row["entity"], row["layer"]))
        by_entity = groupby(periods, key=itemgetter("entity"))
        return cls(
            scopes=tuple(
                _spoken(list(rows), "label", Layer.from_precedence(layer)) for (_, layer), rows in by_layer
            ),
            entities=tuple(_spoken([row], "entity") for row in entities),
            periods=tuple(_spoken(list(rows), "quarter") for _, rows in by_entity),
            bridges=tuple(
                (
                    row["name"] or row["entity"],
                    _thing(row["kind"]),
                    frozenset(row["first"]),
                    frozenset(row["second"]),
                )
                for row in bridges
            ),
        )


def _spoken(rows: Sequence[Row], label: str, layer: Layer | None = None) -> _Spoken:
    first = rows[0]
    groups = {row[label]: frozenset(row["ids"]) for row in rows}
    return _Spoken(name=first["name"] or first["entity"], groups=groups, layer=layer)


def _thing(kind: str | None) -> str:
    return kind if kind and kind != "name" else "one"


def make_tasks(
    templates: Sequence[BootstrapTaskTemplate], material: Material, multiplier: int, rng: random.Random
) -> list[BootstrapTask]:
    """Up to `multiplier` tasks of each template, as far as the tenant has something to ask about."""
    tasks: list[BootstrapTask] = []
    for template in templates:
        if template.kind not in KINDS:
            raise InvalidInputError(
                f"template {template.name!r} is of the unknown kind {template.kind!r}; kinds are {', '.join(KINDS)}"
            )
        made: dict[str, BootstrapTask] = {}
        # A draw may repeat a question; a few more than wanted are enough, or there are no more.
        for _ in range(4 * multiplier):
            filling = KINDS[template.kind](material, rng)
            if filling is not None:
                task = _filled(template, *filling)
                made.setdefault(task.query, task)
            if filling is None or len(made) >= multiplier:
                break
        tasks.extend(made.values())
    return tasks


#: What is expected, and what the slots of a question are filled with.
Filling = tuple[list[Expected], dict[str, str]]


def _filled(
    template: BootstrapTaskTemplate, expected: Sequence[Expected], slots: Mapping[str, str]
) -> BootstrapTask:
    try:
        query = template.text.format(**slots)
    except (KeyError, IndexError, ValueError) as error:
        raise InvalidInputError(
            f"template {template.name!r} has a slot that {template.kind!r} does not fill: {error}; "
            f"it fills {', '.join(slots)}"
        ) from error
    return BootstrapTask(template=template.name, query=query, expected=tuple(expected))


def _one_each(groups: Iterable[Group]) -> list[Expected]:
    return [Expected(ids=group) for group in groups]


def _some(entity: _Spoken, most: int) -> Expected:
    ids = next(iter(entity.groups.values()))
    return Expected(ids=ids, wanted=min(len(ids), most))


def _by_scope(material: Material, rng: random.Random) -> Filling | None:
    if not material.scopes:
        return None
    topic = rng.choice(material.scopes)
    assert topic.layer is not None
    return _one_each(topic.groups.values()), {"topic": topic.name, "layers": _PLURALS[topic.layer]}


def _pair(material: Material, rng: random.Random) -> Filling | None:
    if len(material.entities) < 2:
        return None
    first, second = rng.sample(material.entities, 2)
    # Half of the list for each side.
    expected = [_some(first, LIMIT // 2), _some(second, LIMIT // 2)]
    return expected, {"one": first.name, "other": second.name}


def _pair_by_scope(material: Material, rng: random.Random) -> Filling | None:
    layers = sorted({spoken.layer for spoken in material.scopes if spoken.layer is not None})
    choices = [[s for s in material.scopes if s.layer is layer] for layer in layers]
    choices = [some for some in choices if len(some) > 1]
    if not choices:
        return None
    first, second = rng.sample(rng.choice(choices), 2)
    assert first.layer is not None
    labels = sorted({*first.groups, *second.groups}, key=str)
    none: Group = frozenset()
    groups = [first.groups.get(label, none) | second.groups.get(label, none) for label in labels]
    return _one_each(groups), {"one": first.name, "other": second.name, "layers": _PLURALS[first.layer]}


def _by_period(material: Material, rng: random.Random) -> Filling | None:
    if not material.periods:
        return None
    spoken = rng.choice(material.periods)
    first = min(quarter for quarter in spoken.groups if isinstance(quarter, datetime))
    return _one_each(spoken.groups.values()), {"entity": spoken.name, "period": f"{first:%B %Y}"}


def _entity(material: Material, rng: random.Random) -> Filling | None:
    if not material.entities:
        return None
    spoken = rng.choice(material.entities)
    return [_some(spoken, LIMIT)], {"entity": spoken.name}


def _bridge(material: Material, rng: random.Random) -> Filling | None:
    if not material.bridges:
        return None
    name, thing, first, second = rng.choice(material.bridges)
    return _one_each([first, second]), {"entity": name, "thing": thing}


#: scopes: an entity across the scopes of a layer. pair: two entities. pair_scopes: both, across scopes. periods: an
#: entity by quarter. entity: everything about one. bridge: what is only named together with what is asked about.
KINDS = {
    "scopes": _by_scope,
    "pair": _pair,
    "pair_scopes": _pair_by_scope,
    "periods": _by_period,
    "entity": _entity,
    "bridge": _bridge,
}
