"""The candidates of one question, as columns.

The store fills a `Pool`, and fills it further when hits lead on; every column has one entry per candidate. What
is not known is nan (cosine), 0 (bm25, matched) or None (conversation, speaker): a missing signal adds nothing, it never
takes away. Columns that are None as a whole mean a signal that nobody measured. Which candidates get in is
decided in `generate`.

BM25 is summed in SQL over the postings; its constants and the weight of a term, on which the store and the ranking must
agree, are defined here.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from datetime import datetime


#: BM25's usual saturation and length normalisation.
K1 = 1.2
B = 0.75
#: Which terms a memory matched travels as the bits of a bigint, and the sign bit is not ours.
MAX_QUERY_TERMS = 62

#: Every store is taken as a part of a larger one: a hundred more memories, one of which has the term.
#: Without it a store of three notes gives a word it has an idf of 0.5 and one it lacks 2.1, and a question
#: with a single word of its own is never covered. From a few hundred memories on it changes nothing
#: (LoCoMo recall@10 0.798 with and 0.800 without).
PRIOR_MEMORIES = 100
PRIOR_MATCHES = 1


def inverse_frequency(document_frequency: int, memories: int) -> float:
    """Lucene's idf with the prior above. In SQL: `ln(1 + (n + 99.5 - df) / (df + 1.5))`."""
    df = document_frequency + PRIOR_MATCHES
    return math.log(1.0 + (memories + PRIOR_MEMORIES - df + 0.5) / (df + 0.5))


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_REQUIRED = ("cosine", "bm25", "matched", "conversation", "position", "speaker", "layer")
_OPTIONAL = (
    "importance",
    "created_at",
    "digest",
    "about",
    "event_at",
    "type",
    "use_count",
    "utility",
    "scope",
    "author",
    "replacing",
)
# Positions are below this, so (conversation, position) packs into one integer.
_STRIDE = np.int64(1) << np.int64(40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Which candidates other candidates lead to, by an entity that both name: an edge per entry.

    `hit` and `target` are rows of the pool. `share` is 1 when the target is the only memory about the entity, and
    less the more there are: what everybody names leads nowhere.
    """

    hit: Integers
    target: Integers
    share: Floats


@dataclass(frozen=True, kw_only=True)
class Pool:
    """What the store knows of each candidate with regard to the question.

    `matched` has bit i set when the memory has the i-th query term, whose idf is `idf[i]`: with it the
    terms that a few neighbouring turns have *together* can be counted. `layer` is the precedence, 1 to 7;
    `digest` is the identity of the text; `sources` says who found the candidate.

    `about` is 1 for a memory about an entity that the question names, less for one that only mentions it.
    `event_at` is when what it says happened. `use_count` and `utility` (-1 to 1, 0 is unknown) are what use and
    feedback taught. `author` is the member who told it to a shared scope; None where a lead did, or where it is
    somebody's own. `replacing` is how like a candidate is to one of the best that was said before it, which it may
    replace; nan for all that are not.
    """

    ids: Sequence[UUID]
    cosine: Floats
    bm25: Floats
    matched: Integers
    idf: Floats
    conversation: Sequence[Hashable | None]
    position: Integers
    speaker: Sequence[str | None]
    layer: Integers
    importance: Floats | None = None
    created_at: Sequence[datetime] | None = None
    digest: Sequence[bytes] | None = None
    about: Floats | None = None
    event_at: Sequence[datetime] | None = None
    type: Sequence[str] | None = None
    use_count: Integers | None = None
    utility: Floats | None = None
    scope: Sequence[UUID] | None = None
    author: Sequence[str | None] | None = None
    links: Links | None = None
    replacing: Floats | None = None
    sources: Sequence[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        """Refuse columns of unequal length: a shifted column would rank in silence."""
        size = len(self.ids)
        there = [*_REQUIRED, *(name for name in _OPTIONAL if getattr(self, name) is not None)]
        for name in there:
            if len(getattr(self, name)) != size:
                raise ValueError(
                    f"pool column {name!r} has {len(getattr(self, name))} entries for {size} ids"
                )
        if len(self.idf) > MAX_QUERY_TERMS:
            raise ValueError(f"{len(self.idf)} query terms, the limit is {MAX_QUERY_TERMS}; keep the rarest")

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def conversation_codes(self) -> Integers:
        """Conversations as 0, 1, 2, ...; -1 for a memory outside any."""
        codes: dict[Hashable, int] = {}
        return np.array(
            [-1 if key is None else codes.setdefault(key, len(codes)) for key in self.conversation],
            dtype=np.int64,
        )

    @cached_property
    def is_turn(self) -> NDArray[np.bool_]:
        """Whether a candidate is a turn of a conversation."""
        return self.conversation_codes >= 0

    @cached_property
    def matches(self) -> Floats:
        """`matched` as a matrix of zeros and ones, candidates by query terms."""
        bits = np.arange(len(self.idf), dtype=np.int64)
        return ((self.matched[:, None] >> bits) & 1).astype(np.float64)

    def neighbour(self, offset: int) -> Integers:
        """For each candidate the row of the turn `offset` places later in its conversation, or -1."""
        keys, rows = self._turn_keys
        wanted = self.conversation_codes * _STRIDE + self.position + offset
        found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        if not len(keys):
            return np.full(len(self), -1, dtype=np.int64)
        return np.where(self.is_turn & (keys[found] == wanted), rows[found], -1)

    @cached_property
    def _turn_keys(self) -> tuple[Integers, Integers]:
        rows = np.flatnonzero(self.is_turn)
        keys = self.conversation_codes[rows] * _STRIDE + self.position[rows]
        order = np.argsort(keys, kind="stable")
        return keys[order], rows[order]
