"""Reading the citations of a saved exploration again, months later if need be. Needs the tree and no database.

The tree is read through the same jail as it was explored through. Nothing is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache

from recollect.codebase.evidence import FILE, Pages
from recollect.codebase.tree import open_tree
from recollect.domain.codebase import KIND
from recollect.domain.findings import Citation
from recollect.domain.oracle import Verification
from recollect.errors import NotFoundError
from recollect.runs.citations import read_citations, verify


def is_exploration(document: object) -> bool:
    """Whether a document is a result or a record of an exploration."""
    return isinstance(document, Mapping) and document.get("kind") == KIND


def verify_exploration(
    document: object,
    *,
    working_dir: str | os.PathLike[str] | None = None,
    allowed_roots: Iterable[str | os.PathLike[str]] | None = None,
) -> Verification:
    """What reading every citation again shows. `working_dir` is where the tree is now, if not where it was. Blocks."""
    citations = read_citations(document)
    recorded = document.get("root") if isinstance(document, Mapping) else None
    folder = working_dir if working_dir is not None else recorded
    checked = _checked(citations, folder, allowed_roots)
    return Verification.of(checked)


def _checked(
    citations: tuple[Citation, ...],
    folder: object,
    allowed_roots: Iterable[str | os.PathLike[str]] | None,
) -> tuple[Citation, ...]:
    pages: Pages | None = None
    if isinstance(folder, str | os.PathLike) and folder:
        try:
            pages = Pages(open_tree(folder, allowed_roots=allowed_roots))
        except NotFoundError:
            # The folder is gone: what it held can't be confirmed, which is what `unsupported` says.
            pages = None

    @cache
    def read(kind: str, path: str) -> str | None:
        return pages.text(path) if pages is not None and kind == FILE else None

    return tuple(verify(citation, read) for citation in citations)
