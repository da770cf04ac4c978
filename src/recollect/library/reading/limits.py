"""How much reading one file may cost. The callers' settings fill these in; the numbers here are the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Beyond one of them a file is refused whole, with an error that names the limit: half a text would mislead.

    Time and memory bound the child process in which PDF and Office files are read; the other readers take time in
    proportion to the file.
    """

    #: A thousand pages of scanned paper.
    max_file_bytes: int = 100_000_000
    #: About five million tokens; the longest technical manuals have a tenth of it.
    max_text_chars: int = 20_000_000
    #: What an Office file unpacks to; XML is ten to twenty times its packed size.
    max_unpacked_bytes: int = 500_000_000
    #: A thousand pages with a ruled table on every third take about a minute on a slow core.
    timeout_s: float = 180.0
    #: Address space, not resident memory: the libraries alone reserve half a gigabyte.
    memory_bytes: int = 2_000_000_000


DEFAULT_LIMITS = ReadingLimits()
