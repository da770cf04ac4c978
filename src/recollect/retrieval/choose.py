"""After ranking: what the judge says of the best candidates, and which of them are returned.

`judged` loads what the best show and has them read; `chosen` takes those that answer, drops repeats and orders the
rest as people read them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from uuid import UUID

from recollect.domain.layers import Layer
from recollect.domain.query import Understanding
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.asking import Asking
from recollect.retrieval.hits import Meanings
from recollect.retrieval.judge import (
    judge_rows,
    rows_of_groups,
    rows_to_read,
    too_far_behind,
    with_what_is_about_it,
)
from recollect.retrieval.rank import (
    Pool,
    Ranking,
    Selection,
    best_first,
    diverse_first,
    in_shares,
    in_turn,
    presupposing,
    select,
)
from recollect.retrieval.rank.signals import asks_only_when
from recollect.retrieval.request import SearchRequest
from recollect.storage import search as storage
from recollect.storage.store import Row


async def judged(
    asking: Asking,
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
            presupposed=groups is not None,
            off=request.without,
        )
        found = await asyncio.get_running_loop().run_in_executor(None, copy_context().run, look)
        return with_what_is_about_it(ranking, found) if asked.aim.about_one else found, shown


def _on_behalf(context: TenantContext, request: SearchRequest) -> TenantContext:
    """Who "I" is: whoever asks, or the user whose scope alone is asked."""
    if request.scope is not None and request.scope.layer is Layer.USER:
        return replace(context, user_id=request.scope.name)
    return context


async def chosen(
    asking: Asking,
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
        if ranking.judged is not None and groups is not None:
            order = _answers_of_groups(order, groups.of(pool), ranking, request.threshold)
        if asked.aim.want.several and groups is None and request.threshold > 0 and len(order) > request.limit:
            notes.append(f"{len(order) - request.limit} more memories answer; ask with a larger limit")
        # Three times as many as asked for: among them repeats are dropped.
        first = (_fair(pool, order) if groups is None else in_turn(order, groups.of(pool)))[
            : 3 * request.limit
        ]
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
    rows = [row for row in rows if pool.ids[row] in shown]
    if repeats := sum(folded[row] for row in rows if row in folded):
        notes.append(f"{repeats} more say the same as these and are not shown")
    return Selection(rows, folded), shown


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
    asking: Asking, pool: Pool, order: Sequence[int], limit: int, known: dict[UUID, Row]
) -> tuple[dict[UUID, Row], Meanings, Selection]:
    """What some rows show, what they mean, and which of them to return."""
    with asking.watch.stage("show"):
        shown = await _show(asking, pool, order, known)
    with asking.watch.stage("rank"):
        meanings = Meanings(shown)
        groups = asking.part.groups
        apart = None if groups is None else groups.of(pool)
        return shown, meanings, select(pool, order, limit=limit, meanings=meanings, apart=apart)


async def _show(asking: Asking, pool: Pool, order: Sequence[int], known: dict[UUID, Row]) -> dict[UUID, Row]:
    """What some rows show; only what is not `known` is fetched."""
    missing = [pool.ids[row] for row in order if pool.ids[row] not in known]
    if not missing:
        return known
    return known | await storage.fetch_hits(asking.tx, missing, asking.opened.space.id)
