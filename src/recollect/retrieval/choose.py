"""After ranking: what the judge says of the best candidates, which of them are returned, and what is left behind.

`judged` loads what the best show and has them read; `chosen` takes those that answer, drops repeats and orders the
rest as people read them. Hits have their reasons, and learning gets a note.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

import numpy as np

from recollect.domain.layers import Layer
from recollect.domain.learning import Choice, Guess, RetrievalEvent, ShownHit
from recollect.domain.memory import MemoryType
from recollect.domain.names import entity_key
from recollect.domain.query import SIGNALS, Resolution, Understanding, Want
from recollect.domain.results import Explanation, Hit
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.judge import (
    CLEAR,
    judge_rows,
    rows_of_groups,
    rows_to_read,
    too_far_behind,
    with_silent_groups,
    with_what_is_about_it,
)
from recollect.retrieval.look import Look
from recollect.retrieval.rank import (
    Meaning,
    Pool,
    Ranking,
    Selection,
    best_first,
    complementing,
    diverse_first,
    explain,
    in_shares,
    in_turn,
    presupposing,
    select,
)
from recollect.retrieval.rank.signals import asks_only_when
from recollect.retrieval.request import SearchRequest
from recollect.storage import search as storage
from recollect.storage.store import Row

_WORD = re.compile(r"\w+")
_POSSESSIVE = re.compile(r"['’]s\b")


class Meanings(Mapping[UUID, Meaning]):
    """What hits mean, made out when it is asked: long texts take a while, and mostly nobody asks."""

    def __init__(self, shown: Mapping[UUID, Row]) -> None:
        self._shown = {id: row for id, row in shown.items() if row["embedding"] is not None}
        self._known: dict[UUID, Meaning] = {}

    def __getitem__(self, id: UUID) -> Meaning:
        if id not in self._known:
            row = self._shown[id]
            self._known[id] = Meaning.of(
                row["text"], row["embedding"].to_numpy().astype(np.float32), row["mentions"]
            )
        return self._known[id]

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._shown)

    def __len__(self) -> int:
        return len(self._shown)


def to_hit(
    pool: Pool,
    ranking: Ranking,
    row: int,
    shown: Row,
    asked: Understanding,
    *,
    explained: bool,
    folded: int = 0,
) -> Hit:
    """One candidate as callers see it. `folded`: how many others say the same and are not shown."""
    layer = Layer.from_precedence(shown["layer"])
    scope = f"{layer.value}/{shown['scope_name']}"
    return Hit(
        id=pool.ids[row],
        text=shown["text"],
        score=round(float(ranking.score[row]), 4),
        layer=layer,
        scope=scope,
        type=MemoryType(shown["type"]),
        group=_group(asked, shown) or scope,
        created_at=shown["created_at"],
        metadata=shown["metadata"],
        conversation=shown["conversation"],
        speaker=shown["speaker"],
        position=shown["position"],
        outdated=shown["superseded_at"] is not None or _outdated_by(pool, ranking, row) is not None,
        explanation=_explanation(pool, ranking, row, asked, folded) if explained else None,
    )


def _group(asked: Understanding, shown: Row) -> str | None:
    """What a hit speaks for, where a question sets several things side by side: the one of them that it names."""
    if len(asked.entities) < 2:
        return None
    names = [*shown["entities"], *shown["mentions"], shown["subject"] or "", shown["speaker"] or ""]
    named = {entity_key(name) for name in names if name}
    spoken = [entity.name for entity in asked.entities if named.intersection(entity.keys)]
    return spoken[0] if len(spoken) == 1 else None


def missing_sides(asked: Understanding, hits: Sequence[Hit]) -> list[str]:
    """What to say of the sides of a comparison that no hit speaks of."""
    texts = " ".join(f"{hit.text} {hit.speaker or ''} {hit.group} {hit.scope}" for hit in hits).casefold()
    return [
        f"nothing that answers was found about {side}"
        for side in _sides(asked)
        if side.casefold() not in texts
    ]


def _sides(asked: Understanding) -> Sequence[str]:
    """The names of what a question sets side by side."""
    sides = asked.aim.sides
    return sides if asked.aim.want is Want.COMPARISON and len(sides) > 1 else ()


def _of_sides(
    asked: Understanding, rows: list[int], pool: Pool, shown: Mapping[UUID, Row], threshold: float
) -> list[int]:
    """Where hits name every side of a comparison, those of them that name one.

    A side that is the asker or a month goes unnamed in what is said of it.
    """
    sides = [_words(side) for side in _sides(asked)]
    if not sides or asked.aim.first_person or asked.time_range is not None or threshold <= 0:
        return rows
    texts = {row: _spoken(shown[pool.ids[row]]) for row in rows}
    if not all(any(side in text for text in texts.values()) for side in sides):
        return rows
    return [row for row in rows if any(side in texts[row] for side in sides)]


def _spoken(shown: Row) -> str:
    """What a hit says, who says it, and where."""
    names = (shown["speaker"], shown["subject"], shown["scope_name"], *shown["entities"], *shown["mentions"])
    return _words(" ".join((shown["text"], *(name for name in names if name))))


def _words(text: str) -> str:
    """The words of a text, each between spaces, so that "Ann" is not found in "planned" and "Ann's" is Ann."""
    return f" {' '.join(_WORD.findall(_POSSESSIVE.sub('', text.casefold())))} "


def _explanation(pool: Pool, ranking: Ranking, row: int, asked: Understanding, folded: int) -> Explanation:
    signals = {
        name: round(float(values[row]), 4) for name, values in ranking.signals.items() if values[row] > 0
    }
    newer = _outdated_by(pool, ranking, row)
    sentence = explain(signals, asked)
    if newer is not None:
        sentence += f"; outdated by {newer}"
    if folded:
        sentence += f"; {folded} more say the same"
    return Explanation(
        signals=signals,
        sources=pool.sources[row],
        sentence=sentence,
        evidence=ranking.judged.evidence.get(row, {}) if ranking.judged is not None else {},
        outdated_by=newer,
    )


def _outdated_by(pool: Pool, ranking: Ranking, row: int) -> UUID | None:
    """The hit that says anew what this row said."""
    newer = ranking.judged.outdated_by.get(row) if ranking.judged is not None else None
    return None if newer is None else pool.ids[newer]


def to_shown(pool: Pool, ranking: Ranking, rows: Sequence[int]) -> tuple[ShownHit, ...]:
    """What learning hears of each hit: its place, its score, and what the weights multiply."""
    raw = {name: ranking.raw[name] for name in SIGNALS}
    return tuple(
        ShownHit(
            id=pool.ids[row],
            place=place,
            score=float(ranking.score[row]),
            signals={name: float(values[row]) for name, values in raw.items()},
        )
        for place, row in enumerate(rows, 1)
    )


def to_event(
    query_id: UUID,
    asked: Understanding,
    choice: Choice,
    shown: tuple[ShownHit, ...],
    *,
    at: datetime,
    stages: Mapping[str, float],
) -> RetrievalEvent:
    """What learning hears of a search: its kind, what it was ranked by, what was shown and for which signals."""
    return RetrievalEvent(
        query_id=query_id,
        at=at,
        latency_ms=stages["total"],
        stages=stages,
        question=asked.query,
        query_type=asked.type,
        strategy=choice.strategy,
        arm=choice.arm,
        propensity=choice.propensity,
        terms=asked.terms,
        entities=asked.entity_keys,
        guesses=tuple(
            Guess(alias=entity.mention_text, entity=entity.canonical_id, confidence=entity.confidence)
            for entity in asked.entities
            if entity.method is Resolution.FUZZY and not entity.rivals
        ),
        hits=shown,
    )


async def judged(
    asking: Look,
    asked: Understanding,
    pool: Pool,
    ranking: Ranking,
    notes: list[str],
    *,
    relations: Mapping[str, str],
) -> tuple[Ranking, dict[UUID, Row]]:
    """The ranking by how likely each of the best answers, and what those show.

    `relations`: what the ontology says of the entities it led to, by their keys.
    """
    request, groups = asking.request, asking.part.groups
    # What happened in a period answers a question for that period alone: nothing is left to judge.
    unjudged = "judge" in request.without or asks_only_when(asked)
    judge = None if unjudged else await asking.workspace.judge()
    if judge is None or not len(pool):
        if asking.workspace.judge_fault is not None:
            notes.append(
                f"scores say how near a memory is, not whether it answers: {asking.workspace.judge_fault}"
            )
        return ranking if groups is None else presupposing(ranking), {}
    with asking.watch.stage("judge"):
        order = _fair(pool, best_first(pool, ranking), ranking)
        if groups is not None:
            order = in_turn(order, groups.of(pool))
            reading = rows_of_groups(order, len(set(groups.of(pool))), limit=request.limit)
        else:
            reading = rows_to_read(asked.aim, pool, order, limit=request.limit, threshold=request.threshold)
        rows = [*reading.rows, *reading.further]
        shown = await _show(asking, pool, rows, {})
        look = partial(
            judge_rows,
            judge,
            asked,
            pool,
            ranking,
            reading,
            {row: shown[pool.ids[row]] for row in rows if pool.ids[row] in shown},
            context=_on_behalf(asking.tx.context, request),
            calibration=asking.calibration,
            relations=relations,
            group_of=None if groups is None else groups.of(pool),
            off=request.without,
        )
        found = await asyncio.get_running_loop().run_in_executor(None, copy_context().run, look)
        if groups is not None:
            return with_silent_groups(presupposing(ranking), found, groups.of(pool), request.threshold), shown
        return with_what_is_about_it(ranking, found) if asked.aim.about_one else found, shown


def _on_behalf(context: TenantContext, request: SearchRequest) -> TenantContext:
    """Who "I" is: whoever asks, or the user whose scope alone is asked."""
    if request.scope is not None and request.scope.layer is Layer.USER:
        return replace(context, user_id=request.scope.name)
    return context


async def chosen(
    asking: Look,
    asked: Understanding,
    pool: Pool,
    ranking: Ranking,
    known: dict[UUID, Row],
    notes: list[str],
) -> tuple[Selection, dict[UUID, Row]]:
    """The rows to return, and what they show. `known` is what was loaded already."""
    request, groups = asking.request, asking.part.groups
    with asking.watch.stage("rank"):
        least = request.threshold
        if ranking.judged is not None and groups is None and not asked.aim.about_one:
            least = max(least, too_far_behind(ranking.score, request.threshold, several=asked.aim.several))
        order = best_first(pool, ranking, threshold=least)
        if least > request.threshold and len(asked.aim.sides) > 1:
            order = _with_owed(
                asked, order, best_first(pool, ranking, threshold=request.threshold), pool, known
            )
        if ranking.judged is not None and groups is not None:
            order = _answers_of_groups(order, groups.of(pool), ranking, request.threshold)
        if asked.aim.want.several and groups is None and request.threshold > 0 and len(order) > request.limit:
            notes.append(f"{len(order) - request.limit} more memories answer; ask with a larger limit")
        # Three times as many as asked for: among them repeats are dropped.
        first = _fair(pool, order) if groups is None else in_turn(order, groups.of(pool))
        if groups is None and len(first) > request.limit > 1:
            first = _together(asked, pool, ranking, first)
        first = first[: 3 * request.limit]
    wanted = len(first) if request.diverse else request.limit
    # Seldom does a third of the best repeat others: the rest is looked at only then.
    looked_at = first[: wanted + wanted // 2]
    shown, meanings, (rows, folded) = await _selected(asking, pool, looked_at, wanted, known)
    if len(rows) < wanted and len(looked_at) < len(first):
        shown, meanings, (rows, folded) = await _selected(asking, pool, first, wanted, shown)
    if groups is None and pool.author is not None:
        place = {row: place for place, row in enumerate(order)}
        rows = sorted(rows, key=lambda row: (int(pool.layer[row]), place[row]))
    if request.diverse:
        with asking.watch.stage("rank"):
            rows = diverse_first(pool, ranking, rows, limit=request.limit, meanings=meanings)
    if ranking.judged is not None:
        rows = _outdated_after(rows, ranking.judged.outdated_by)
    rows = _of_sides(asked, [row for row in rows if pool.ids[row] in shown], pool, shown, request.threshold)
    if repeats := sum(folded[row] for row in rows if row in folded):
        notes.append(f"{repeats} more say the same as these and are not shown")
    return Selection(rows, folded), shown


def _with_owed(
    asked: Understanding, order: list[int], answers: Sequence[int], pool: Pool, shown: Mapping[UUID, Row]
) -> list[int]:
    """With the best answer about each name that the question joins to another, however far behind that one's it is."""
    texts = {row: _spoken(shown[pool.ids[row]]) for row in answers if pool.ids[row] in shown}
    names = [_words(name) for name in asked.aim.sides]
    unnamed = [name for name in names if not any(name in texts.get(row, "") for row in order)]
    if len(unnamed) == len(names):
        return order
    owed = {next((row for row, text in texts.items() if name in text), None): None for name in unnamed}
    return order + [row for row in owed if row is not None]


def _together(asked: Understanding, pool: Pool, ranking: Ranking, order: list[int]) -> list[int]:
    """Of more than are wanted, first those that answer together.

    The likeliest answer stays, unless memories lead to one another and it does not clearly answer alone. Of a list,
    every one answers by itself. A turn speaks through its surroundings: its own words don't say what it leaves open.
    """
    judged = ranking.judged
    if judged is None or asked.aim.about_one or pool.is_turn[order].any():
        return order
    if asked.aim.want.several and not judged.bridged:
        return order
    verdict = judged.evidence.get(order[0], {}).get("verdict", -np.inf)
    first = [] if judged.bridged and verdict < CLEAR else order[:1]
    return complementing(pool, order, relevance=judged.relevance, first=first)


def _fair(pool: Pool, order: Sequence[int], ranking: Ranking | None = None) -> list[int]:
    """The order in which no member of a shared scope crowds the others out, however much that one told it."""
    worth = None if ranking is None else ranking.relevance
    return list(order) if pool.author is None else in_shares(order, pool.author, worth=worth)


def _outdated_after(rows: Sequence[int], outdated_by: Mapping[int, int]) -> list[int]:
    """The same order, but whatever its layer, what is outdated does not stand before what outdates it."""
    ordered: list[int] = []
    waiting: dict[int, list[int]] = {}
    for row in rows:
        newer = outdated_by.get(row)
        if newer is not None and newer in rows and newer not in ordered:
            waiting.setdefault(newer, []).append(row)
        else:
            ordered += [row, *waiting.pop(row, ())]
    return ordered


def _answers_of_groups(
    order: Sequence[int], group_of: Sequence[str], ranking: Ranking, threshold: float
) -> list[int]:
    """Of each group what is not too far behind the best that the group has to say."""
    rows_of: dict[str, list[int]] = {}
    for row in order:
        rows_of.setdefault(group_of[row], []).append(row)
    least = {
        group: too_far_behind(ranking.score[rows], threshold, several=0.0) for group, rows in rows_of.items()
    }
    return [row for row in order if ranking.score[row] >= least[group_of[row]]]


async def _selected(
    asking: Look, pool: Pool, order: Sequence[int], limit: int, known: dict[UUID, Row]
) -> tuple[dict[UUID, Row], Meanings, Selection]:
    """What some rows show, what they mean, and which of them to return."""
    with asking.watch.stage("show"):
        shown = await _show(asking, pool, order, known)
    with asking.watch.stage("rank"):
        meanings = Meanings(shown)
        groups = asking.part.groups
        apart = None if groups is None else groups.of(pool)
        return shown, meanings, select(pool, order, limit=limit, meanings=meanings, apart=apart)


async def _show(asking: Look, pool: Pool, order: Sequence[int], known: dict[UUID, Row]) -> dict[UUID, Row]:
    """What some rows show; only what is not `known` is fetched."""
    missing = [pool.ids[row] for row in order if pool.ids[row] not in known]
    if not missing:
        return known
    return known | await storage.fetch_hits(asking.tx, missing, asking.opened.space.id)
