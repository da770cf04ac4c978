"""PDF and Office files, read in a process of their own."""

from __future__ import annotations

from recollect.domain.documents import ReadDocument
from recollect.errors import DocumentUnsupportedError
from recollect.library.reading.limits import ReadingLimits


def read_isolated(data: bytes, *, kind: str, name: str, title: str, limits: ReadingLimits) -> ReadDocument:
    """Read a file of this kind within the limits."""
    raise DocumentUnsupportedError(f"{name!r} is {kind.upper()}, which is not read yet")
