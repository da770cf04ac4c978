"""Times in texts: phrases people use, as ranges; events that stand for a date; and the calendar under both.

`read_times` (with its two short forms) reads a text and knows nothing but the given moment and zone. `anchors` finds
"before the launch" and asks the store when that was. Used by `understand` for questions and at intake for memories.
"""

from recollect.retrieval.times.anchors import (
    Anchor,
    AnchorReading,
    anchored_scope,
    find_anchors,
    resolve_anchor,
)
from recollect.retrieval.times.reading import TimeReading, extract_temporal_scope, find_times, read_times

__all__ = [
    "Anchor",
    "AnchorReading",
    "TimeReading",
    "anchored_scope",
    "extract_temporal_scope",
    "find_anchors",
    "find_times",
    "read_times",
    "resolve_anchor",
]
