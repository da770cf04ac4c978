"""The judge at work: the best candidates of a search, read and scored.

`rows_to_read` says what it reads, `judge_rows` reads and scores, `too_far_behind` draws the line under the answers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.domain.memory import MemoryType
from recollect.domain.query import Aim, Understanding, Want
from recollect.domain.tenancy import TenantContext
from recollect.retrieval.judge.currency import (
    SIGNS,
    Currency,
    Moments,
    adds,
    as_stated,
    may_be_news,
    may_have_changed,
    measure_signs,
    most_recent_first,
    newest_first,
    pairs_to_compare,
)
from recollect.retrieval.judge.evidence import FEATURES, Candidate, Floats, is_other_number, measure_evidence
from recollect.retrieval.judge.neighbours import is_next_door
from recollect.retrieval.judge.probability import logit, probability, replacing, sigmoid
from recollect.retrieval.judge.statements import (
    is_asker,
    is_own,
    is_private_to_another,
    relation_of,
    statement_of,
)
from recollect.retrieval.rank import Calibration, Judged, Pool, Ranking
from recollect.retrieval.rank.scoring import proven
from recollect.retrieval.rank.signals import temporal_relevance
from recollect.retrieval.understand import STRATEGY_WEIGHTS, select_strategy

if TYPE_CHECKING:
    from recollect.providers.judge.model import Judge

#: How many candidates are read where all of a kind are surely wanted; `recollect bench answers` says what a dozen take.
WIDE = 36
#: Where one thing is wanted, the best are read, and what is likeliest to replace one of them; only when none of these
#: clearly answers, by the encoder's verdict, are more read.
FIRST, NARROW, LATER = 4, 10, 4
CLEAR = 1.5
#: Of a question that is put to every team, the best of each is read, of so many teams.
_GROUPS = 48
#: What nearness to the question counts beside likeness to the answer that may be replaced.
NEARNESS = 0.5
#: How far behind the best answer, in logits, a further one may be: where one thing is wanted, and where all of a kind
#: are. More keeps a few more of LoCoMo's second pieces of evidence and whole lists, and brings more wrong hits in all
#: worlds; less loses lists in those kept back. What is outdated stands 0.5 behind and comes along.
BEHIND, BEHIND_IN_LISTS = 0.6, 4.0
#: What importance and proven use count beside the judge: they order what answers, and little more.
_PROVEN = 4.0
#: What is gained where an answer is taken for granted, as in a question put to every team, by what bears on it at all.
_PRESUPPOSED = 1.0
#: What relevance counts beside the judge, in logits for each unit that a memory is behind the most relevant; and where
#: memories lead to one another, by a little to a lot of what they inherit. Such a question needs several of them, and
#: none answers it alone.
TRAILING, _TRAILING_BRIDGED = 0.25, 2.0
_BRIDGE = 0.04, 0.10
#: What a second hop gains by the relevance that it inherits.
_LED = 10.0
#: What the user's own database adds, in logits: to a memory of a thing that it relates to the question, and to one that
#: names neither such a thing nor what the question names.
_RELATED, _UNRELATED = 1.0, -3.0
#: What counts against a memory about the neighbour of what is asked. Of the first dozen candidates on the worlds kept
#: back 245 are told to be that; two of them are fair to show, none answers.
_NEXT_DOOR = -4.0
_DEFAULT_THRESHOLD = 0.7


@dataclass(frozen=True, slots=True)
class Reading:
    """The rows that are read at once, and those that are read as well when none of the first clearly answers."""

    rows: list[int]
    further: list[int]


def wide(aim: Aim) -> int:
    """How many are read for what may be a list: the surer it is one, the more."""
    return round(NARROW + (WIDE - NARROW) * aim.several)


def rows_to_read(aim: Aim, pool: Pool, order: Sequence[int], *, limit: int, threshold: float) -> Reading:
    """What the judge reads: the best, and what is likeliest to replace one of them.

    A caller who lowers the threshold wants more than the answer, and has more read.
    """
    if aim.want.several:
        return Reading(list(order[: wide(aim)]), [])
    if aim.about_one:
        return Reading(list(order[:NARROW]), [])
    first = FIRST if threshold >= _DEFAULT_THRESHOLD else max(NARROW, min(limit + limit // 4, WIDE))
    rows = list(order[:first])
    if pool.replacing is not None:
        nearness = pool.replacing + NEARNESS * pool.cosine
        likely = [row for row in np.argsort(-nearness).tolist() if np.isfinite(nearness[row])]
        rows += [row for row in likely if row not in order[:first]][:LATER]
    return Reading(rows, [row for row in order[first:NARROW] if row not in rows])


def rows_of_groups(order: Sequence[int], groups: int, *, limit: int) -> Reading:
    """What the judge reads where each group owes an answer: the best of each in turn, and as many as are returned."""
    return Reading(list(order[: min(max(groups, limit + limit // 4), _GROUPS)]), [])


def judge_rows(
    judge: Judge,
    asked: Understanding,
    pool: Pool,
    ranking: Ranking,
    reading: Reading,
    shown: Mapping[int, Any],
    *,
    context: TenantContext,
    calibration: Calibration,
    relations: Mapping[str, str],
    group_of: Sequence[str] | None,
    off: Collection[str] = (),
) -> Ranking:
    """The ranking with the judge's scores for the rows it read; all others stay behind those. Blocking.

    `group_of`: the group of each row of the pool, where every group owes an answer.
    """
    presupposed = group_of is not None
    rows = [row for row in reading.rows if row in shown]
    statements = [statement_of(asked.query, shown[row], context, relations) for row in rows]
    verdicts = judge.read(asked.query, statements)
    further = [row for row in reading.further if row in shown]
    if further and verdicts.max(initial=-np.inf) < CLEAR:
        more = [statement_of(asked.query, shown[row], context, relations) for row in further]
        verdicts = np.concatenate([verdicts, judge.read(asked.query, more)])
        rows, statements = rows + further, statements + more
    calibration = calibration.for_query(asked.query)
    lifts = calibration.lift(pool.cosine)
    inside = None
    if asked.time_range is not None and asked.aim.want is not Want.TASK and "temporal" not in off:
        inside = temporal_relevance(pool, asked.time_range, now=asked.now)
    candidates = [
        Candidate(
            text=shown[row]["text"],
            statement=statement,
            speaker=shown[row]["speaker"],
            own=_is_own(shown[row], context),
            at=shown[row]["event_at"],
            summary=shown[row]["type"] == MemoryType.SUMMARY,
            verdict=float(verdict),
            relevance=float(ranking.relevance[row]),
            likeness=float(lifts[row]),
            inside=None if inside is None else float(inside[row]),
            conversation=shown[row]["conversation"],
            rule=shown[row]["type"] == MemoryType.PROCEDURAL,
        )
        for row, statement, verdict in zip(rows, statements, verdicts, strict=True)
    ]
    evidence = measure_evidence(asked, candidates)
    table = STRATEGY_WEIGHTS[select_strategy(asked.type).name]
    scores = probability(evidence, several=asked.aim.several, presupposed=presupposed)
    scores = sigmoid(logit(scores) + _PROVEN * proven(ranking, asked, table)[rows])
    if relations:
        related = np.array([relation_of(shown[row], relations) is not None for row in rows])
        unnamed = evidence[:, FEATURES.index("unnamed")] > 0.0
        scores = sigmoid(logit(scores) + np.where(related, _RELATED, np.where(unnamed, _UNRELATED, 0.0)))
    near = np.array([is_next_door(asked.query, asked.aim, candidate) for candidate in candidates], dtype=bool)
    scores = sigmoid(logit(scores) + np.where(near, _NEXT_DOOR, 0.0))
    trailing = 0.0 if presupposed or asked.aim.about_one else (1.0 - asked.aim.several) * TRAILING
    bridged = _bridged(ranking, rows)
    scores = sigmoid(logit(scores) + _standing(ranking, rows, trailing=trailing, bridged=bridged))
    if presupposed:
        bears_on_it = np.array([one.relevance > 0 or one.likeness > 0 for one in candidates])
        scores = sigmoid(logit(scores) + _PRESUPPOSED * bears_on_it)
    if asked.aim.first_person:
        private = np.array([is_private_to_another(shown[row], context) for row in rows])
        scores = np.where(private, -1.0, scores)
    vectors = [_vector(shown[row]) for row in rows]
    groups = None if group_of is None else [group_of[row] for row in rows]
    current, compared = _compare(asked, candidates, evidence, scores, vectors, calibration, groups)
    score, order = _placed(ranking, rows, current.scores)
    return replace(
        ranking,
        score=score,
        relevance=order,
        judged=Judged(
            evidence={
                row: _named(FEATURES, values) | compared.get(place, {})
                for place, (row, values) in enumerate(zip(rows, evidence, strict=True))
            },
            outdated_by={rows[old]: rows[new] for old, new in current.outdated_by.items()},
            relevance=ranking.relevance,
            bridged=bridged > 0.0,
        ),
    )


def _bridged(ranking: Ranking, rows: list[int]) -> float:
    """How much memories lead to one another, from 0 to 1."""
    least, most = _BRIDGE
    return float(np.clip((_led(ranking, rows).max(initial=0.0) - least) / (most - least), 0.0, 1.0))


def _led(ranking: Ranking, rows: list[int]) -> Floats:
    return ranking.signals["linked"][rows] if "linked" in ranking.signals else np.zeros(len(rows))


def _standing(ranking: Ranking, rows: list[int], *, trailing: float, bridged: float) -> Floats:
    """What a memory's place in the ranking counts, in logits: how far it trails, and what leads to it."""
    relevance, led = ranking.relevance[rows], _led(ranking, rows)
    weight = (1.0 - bridged) * trailing + bridged * _TRAILING_BRIDGED
    return np.asarray(weight * (relevance - relevance.max(initial=-np.inf)) + _LED * led)


def _compare(
    asked: Understanding,
    candidates: Sequence[Candidate],
    evidence: Floats,
    scores: Floats,
    vectors: Sequence[Floats | None],
    calibration: Calibration,
    groups: Sequence[str] | None,
) -> tuple[Currency, dict[int, dict[str, float]]]:
    """Which answer holds now; and what was measured of each candidate that the best was compared with.

    What one group says does not outdate what another one does.
    """
    moments = Moments(
        [candidate.at for candidate in candidates], [candidate.conversation for candidate in candidates]
    )
    scores = most_recent_first(asked.query, scores, moments)
    pairs = [
        pair
        for pair in pairs_to_compare(scores, moments)
        if _may_replace(asked.query, candidates[pair.later])
        and (groups is None or groups[pair.earlier] == groups[pair.later])
    ]
    if not pairs or not may_have_changed(asked.query, asked.aim):
        return Currency(scores, {}), {}
    signs = measure_signs(pairs, candidates, evidence, vectors, floor=calibration.floor)
    stated = [as_stated(asked.query, candidates[pair.earlier], candidates[pair.later]) for pair in pairs]
    likely = np.where(may_be_news(signs), replacing(signs), 0.0)
    chances = np.array(
        [chance if said is None else said for said, chance in zip(stated, likely, strict=True)]
    )
    best = int(np.argmax(scores))
    names = [f"{name} best" for name in SIGNS]
    compared = {
        pair.earlier if pair.later == best else pair.later: _named(names, values)
        for pair, values in zip(pairs, signs, strict=True)
    }
    return newest_first(scores, moments, pairs, chances), compared


def _may_replace(question: str, later: Candidate) -> bool:
    """A summary tells again what was said; another number, and what comes on top, change nothing either."""
    return not later.summary and not adds(later.text) and not is_other_number(question, later.text)


def too_far_behind(scores: Floats, threshold: float, *, several: float) -> float:
    """The score below which a hit does not come along, because the best is so much better.

    A caller who lowers the threshold wants more, and gets all of it.
    """
    if not len(scores) or threshold < _DEFAULT_THRESHOLD:
        return 0.0
    behind = (1.0 - several) * BEHIND + several * BEHIND_IN_LISTS
    return float(sigmoid(logit(scores.max()) - behind))


def with_what_is_about_it(ranking: Ranking, judged: Ranking) -> Ranking:
    """For a topic: what is about it, as it was ranked, and what else answers."""
    score = np.maximum(ranking.score, judged.score)
    return replace(judged, score=score, relevance=logit(score))


def with_silent_groups(
    ranking: Ranking, judged: Ranking, group_of: Sequence[str], threshold: float
) -> Ranking:
    """Where each group owes an answer: what answers, and behind it, of a group without, what is about it as ranked."""
    accepted = judged.score >= threshold
    heard = {group for group, answers in zip(group_of, accepted, strict=True) if answers}
    silent = np.array([group not in heard for group in group_of], dtype=bool)
    least = judged.score[accepted].min(initial=1.0)
    score = np.where(silent, np.minimum(np.maximum(ranking.score, judged.score), least), judged.score)
    # Among themselves as they were ranked, which the common limit would hide.
    behind = logit(score) - 1.0 + np.tanh(ranking.relevance)
    return replace(judged, score=score, relevance=np.where(silent, behind, judged.relevance))


def _placed(ranking: Ranking, rows: list[int], scores: Floats) -> tuple[Floats, Floats]:
    """Scores and order for the whole pool: what was not read stands behind what was, in its old order."""
    lowest = float(scores[scores >= 0.0].min()) if (scores >= 0.0).any() else 0.0
    score = np.minimum(ranking.score, lowest) * 0.5
    order = logit(np.array(lowest)) - 10.0 + np.tanh(ranking.relevance)
    score[rows], order[rows] = scores, np.where(scores < 0.0, -1e3, logit(np.maximum(scores, 0.0)))
    return score, order


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in zip(names, values, strict=True)}


def _is_own(shown: Any, context: TenantContext) -> bool:
    """Whether the asker says it: in a conversation by name, elsewhere in a scope of their own."""
    if shown["speaker"]:
        return is_asker(shown["speaker"], context.user_id) or (
            is_own(shown, context) and shown["speaker"].casefold() in {"user", "human", "me"}
        )
    return is_own(shown, context)


def _vector(shown: Any) -> Floats | None:
    if shown["embedding"] is None:
        return None
    vector: Floats = shown["embedding"].to_numpy().astype(np.float64)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)
