"""Times in texts: phrases people use, as ranges, and the calendar under them.

`read_times` (with its two short forms) reads a text and knows nothing but the given moment and zone. Used by
`understand` for questions and at intake for memories; `retrieval/anchors.py` asks the store when "the launch" was.
"""

from recollect.text.times.reader import TimeReading, extract_temporal_scope, find_times, read_times

__all__ = ["TimeReading", "extract_temporal_scope", "find_times", "read_times"]
