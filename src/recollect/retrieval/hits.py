"""What a search gives back and leaves behind: hits with their reasons, and a note for learning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from uuid import UUID

import numpy as np

from recollect.domain.layers import Layer
from recollect.domain.learning import Choice, Guess, RetrievalEvent, ShownHit
from recollect.domain.memory import MemoryType
from recollect.domain.names import entity_key
from recollect.domain.query import SIGNALS, Resolution, Understanding, Want
from recollect.domain.results import Explanation, Hit
from recollect.retrieval.rank import Meaning, Pool, Ranking, explain
from recollect.storage.store import Row


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
    sides = asked.aim.sides
    if asked.aim.want is not Want.COMPARISON or len(sides) < 2:
        return []
    told = " ".join(f"{hit.text} {hit.speaker or ''} {hit.group} {hit.scope}" for hit in hits).casefold()
    return [f"nothing that answers was found about {side}" for side in sides if side.casefold() not in told]


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
