"""Lines that are cited, read again where they stand: in a document, or in the tree that was explored.

What is shown as cited is what was cited: a span that moved is shown where it is now, one that changed as it was quoted.
A tree is read only where the server's operator opened it, through the jail that explorations read through, and secrets
in it are masked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.client.verbs import BY_NAME
from recollect.domain.findings import CitationStatus
from recollect.errors import RecollectError
from recollect.surfaces.roots import check_roots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.config import Settings
    from recollect.domain.findings import Citation

_AROUND = 5
#: What a page shows of a cited span.
_MOST_LINES = 400
_STANDS = frozenset({CitationStatus.QUOTED, CitationStatus.MOVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Lines of a source, the first of which has the number `first`; `cited` are the first and last cited one."""

    text: str
    first: int
    cited: tuple[int, int]
    note: str = ""


def served_roots(settings: Settings) -> list[Path]:
    """The folders below which visitors may name paths."""
    return [Path(root).resolve() for root in settings.roots or ()]


async def passage(settings: Settings, root: str, cited: Citation) -> Passage:
    """The cited lines with some around them as they are now, or as they were quoted where they can't be read again."""
    try:
        check_roots(BY_NAME["explore"], {"path": root}, served_roots(settings))
        lines = await asyncio.to_thread(_read, root, cited, settings.roots)
    except (RecollectError, OSError):
        return quoted(cited, "")
    return lines or quoted(cited, "The file changed since; this is what was quoted.")


def in_document(text: str, cited: Citation) -> Passage:
    """The cited lines of a document with some around them, or as they were quoted where they are not there any more."""
    from recollect.runs.citations import lines_of, verify

    now = verify(cited, lambda kind, path: text)
    if now.status not in _STANDS:
        return quoted(cited, "The document changed since; this is what was quoted.")
    return _around(lines_of(text), now, cited)


def _read(root: str, cited: Citation, allowed_roots: Sequence[Path] | None) -> Passage | None:
    """From the tree; None when the lines are not there any more."""
    from recollect.codebase.evidence import FILE, Pages
    from recollect.codebase.secrets import mask
    from recollect.codebase.tree import open_tree
    from recollect.runs.citations import lines_of, verify

    pages = Pages(open_tree(root, allowed_roots=allowed_roots))
    now = verify(cited, lambda kind, path: pages.text(path) if kind == FILE else None)
    lines = pages.lines(cited.file_path)
    if now.status not in _STANDS or not lines:
        return None
    # Of the whole file: a secret may begin long before the lines that are shown.
    masked = lines_of(mask("\n".join(lines)))
    if len(masked) != len(lines):
        return quoted(cited, "")
    return _around(masked, now, cited)


def _around(lines: Sequence[str], now: Citation, cited: Citation) -> Passage:
    """A span that was found again, with some lines around it."""
    first, last = max(1, now.line_start - _AROUND), min(len(lines), now.line_end + _AROUND)
    last = min(last, first + _MOST_LINES - 1)
    moved = now.status is CitationStatus.MOVED
    return Passage(
        text="\n".join(lines[first - 1 : last]),
        first=first,
        cited=(now.line_start, now.line_end),
        note=f"It has moved: it was at line {cited.line_start}." if moved else "",
    )


def quoted(cited: Citation, note: str = "") -> Passage:
    """A span as it was quoted."""
    if not cited.quote:
        note = "These lines hold what looks like a secret, so they were not kept."
    return Passage(
        text=cited.quote, first=cited.line_start, cited=(cited.line_start, cited.line_end), note=note
    )
