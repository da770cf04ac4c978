"""One look at the store: who asks what, on which ground, at everything or at groups of it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from recollect.retrieval.rank import Calibration, Pool
from recollect.retrieval.request import SearchRequest
from recollect.retrieval.stopwatch import Stopwatch
from recollect.storage.grouped import ByScope, Grouping
from recollect.storage.scopes import Caller
from recollect.storage.store import Transaction
from recollect.workspace import OpenSpace, Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups of scopes, or periods, that a question is asked of one by one; `names` says what each stands for."""

    names: tuple[str, ...]
    grouping: Grouping

    def of(self, pool: Pool) -> list[str]:
        """The group of each candidate."""
        if isinstance(self.grouping, ByScope):
            places = dict(zip(self.grouping.scope_ids, self.grouping.places, strict=True))
            return [self.names[places[scope]] for scope in pool.scope or ()]
        starts = self.grouping.starts
        return [self.names[max(bisect_right(starts, moment) - 1, 0)] for moment in pool.event_at or ()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one look is at: everything, or some groups of it, each by itself."""

    groups: Groups | None = None


EVERYTHING = Part()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A search under way: who asks what, on which ground."""

    workspace: Workspace
    tx: Transaction
    caller: Caller
    opened: OpenSpace
    calibration: Calibration
    request: SearchRequest
    part: Part
    watch: Stopwatch
