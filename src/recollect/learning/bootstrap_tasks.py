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


#: scopes: an entity across the scopes of a layer. pair: two entities. pair_scopes: both, across scopes. periods: an
#: entity by quarter. entity: everything about one. bridge: what is only named together with what is asked about.
KINDS = ("scopes", "pair", "pair_scopes", "periods", "entity", "bridge")

TEMPLATES = (
    BootstrapTaskTemplate(name="compare_scopes", kind="scopes", text="compare {topic} across all {layers}"),
    BootstrapTaskTemplate(
        name="each_scope", kind="scopes", text="what does each of the {layers} say about {topic}"
    ),
    BootstrapTaskTemplate(name="difference", kind="pair", text="difference between {one} and {other}"),
    BootstrapTaskTemplate(
        name="history", kind="periods", text="trace the history of {entity} since {period}"
    ),
    BootstrapTaskTemplate(
        name="pair_in_scopes", kind="pair_scopes", text="how do the {layers} differ on {one} and on {other}"
    ),
    BootstrapTaskTemplate(name="summary", kind="entity", text="summarize everything about {entity}"),
    BootstrapTaskTemplate(
        name="linked", kind="bridge", text="what happened to the {thing} whose work led to {entity}"
    ),
    BootstrapTaskTemplate(
        name="overview_scopes",
        kind="scopes",
        text="give an overview of how all our {layers} deal with {topic}",
        held_out=True,
    ),
    BootstrapTaskTemplate(
        name="versus", kind="pair", text="{one} versus {other}: what is known of both", held_out=True
    ),
    BootstrapTaskTemplate(
        name="pair_across",
        kind="pair_scopes",
        text="compare what the {layers} say about {one} and about {other}",
        held_out=True,
    ),
    BootstrapTaskTemplate(
        name="timeline",
        kind="periods",
        text="how has {entity} evolved, the whole timeline from {period} until now",
        held_out=True,
    ),
    BootstrapTaskTemplate(
        name="affected",
        kind="bridge",
        text="which {thing} was affected after {entity}, and what became of it",
        held_out=True,
    ),
    BootstrapTaskTemplate(name="recap", kind="entity", text="recap all there is on {entity}", held_out=True),
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
        scopes = [
            _spoken(list(rows), "label", Layer.from_precedence(layer))
            for (_, layer), rows in groupby(
                await tx.fetch("bootstrap_scopes", now=now, limit=_SAMPLE),
                key=lambda row: (row["entity"], row["layer"]),
            )
        ]
        entities = [
            _spoken([row], "entity") for row in await tx.fetch("bootstrap_entities", now=now, limit=_SAMPLE)
        ]
        periods = [
            _spoken(list(rows), "quarter")
            for _, rows in groupby(
                await tx.fetch("bootstrap_periods", now=now, limit=_SAMPLE), key=lambda row: row["entity"]
            )
        ]
        hops = [
            (
                row["name"] or row["entity"],
                _thing(row["kind"]),
                frozenset(row["first"]),
                frozenset(row["second"]),
            )
            for row in await tx.fetch("bootstrap_bridges", now=now, limit=_SAMPLE)
        ]
        return cls(
            scopes=tuple(scopes), entities=tuple(entities), periods=tuple(periods), bridges=tuple(hops)
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
            task = _FILL[template.kind](template, material, rng)
            if task is not None:
                made.setdefault(task.query, task)
            if task is None or len(made) >= multiplier:
                break
        tasks.extend(made.values())
    return tasks


def _filled(template: BootstrapTaskTemplate, expected: Sequence[Expected], **slots: str) -> BootstrapTask:
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


def _some(ids: Group, most: int) -> Expected:
    return Expected(ids=ids, wanted=min(len(ids), most))


def _by_scope(
    template: BootstrapTaskTemplate, material: Material, rng: random.Random
) -> BootstrapTask | None:
    if not material.scopes:
        return None
    topic = rng.choice(material.scopes)
    assert topic.layer is not None
    return _filled(template, _one_each(topic.groups.values()), topic=topic.name, layers=_PLURALS[topic.layer])


def _pair(template: BootstrapTaskTemplate, material: Material, rng: random.Random) -> BootstrapTask | None:
    if len(material.entities) < 2:
        return None
    sides = rng.sample(material.entities, 2)
    # Half of the list for each side.
    expected = [_some(next(iter(side.groups.values())), LIMIT // 2) for side in sides]
    return _filled(template, expected, one=sides[0].name, other=sides[1].name)


def _pair_by_scope(
    template: BootstrapTaskTemplate, material: Material, rng: random.Random
) -> BootstrapTask | None:
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
    plural = _PLURALS[first.layer]
    return _filled(template, _one_each(groups), one=first.name, other=second.name, layers=plural)


def _by_period(
    template: BootstrapTaskTemplate, material: Material, rng: random.Random
) -> BootstrapTask | None:
    if not material.periods:
        return None
    spoken = rng.choice(material.periods)
    first = min(quarter for quarter in spoken.groups if isinstance(quarter, datetime))
    return _filled(template, _one_each(spoken.groups.values()), entity=spoken.name, period=f"{first:%B %Y}")


def _entity(template: BootstrapTaskTemplate, material: Material, rng: random.Random) -> BootstrapTask | None:
    if not material.entities:
        return None
    spoken = rng.choice(material.entities)
    return _filled(template, [_some(next(iter(spoken.groups.values())), LIMIT)], entity=spoken.name)


def _bridge(template: BootstrapTaskTemplate, material: Material, rng: random.Random) -> BootstrapTask | None:
    if not material.bridges:
        return None
    name, thing, first, second = rng.choice(material.bridges)
    return _filled(template, _one_each([first, second]), entity=name, thing=thing)


_FILL = {
    "scopes": _by_scope,
    "pair": _pair,
    "pair_scopes": _pair_by_scope,
    "periods": _by_period,
    "entity": _entity,
    "bridge": _bridge,
}
