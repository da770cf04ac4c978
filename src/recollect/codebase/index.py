"""What a tree defines and uses, kept from one run to the next by content hash.

`CodeIndex.open` looks at the tree, parses what it has not seen (in processes of their own when that is much), and
answers from memory-mapped arrays and a SQLite file below the Recollect home; the tree itself is never written to. How
files are ranked is `ranking.py`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.codebase.symbols.values import FileSymbols, Reference, SymbolInfo
from recollect.codebase.tree import Skipped, SourceFile, SourceTree

if TYPE_CHECKING:
    import numpy as np

    IntArray = np.ndarray[Any, np.dtype[np.int32]]
    FloatArray = np.ndarray[Any, np.dtype[np.float32]]

#: `progress(done, total)` counts files.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition and where it stands. `file` is the number of its file in `CodeIndex.files`, `id` its own number."""

    id: int
    file: int
    path: str
    symbol: SymbolInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundReference:
    """A use of a name in a file."""

    file: int
    path: str
    reference: Reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Where a term stands: numbers of files (or definitions), ascending, and how often in each."""

    ids: IntArray
    counts: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceGraph:
    """File `sources[i]` uses what `targets[i]` defines, `weights[i]` strong; numbers of files, no file to itself.

    A name used n times and defined in k files adds sqrt(n) / k to each of the k edges.
    """

    sources: IntArray
    targets: IntArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """What opening the index cost: files of the tree, and how many of them had to be parsed now."""

    files: int
    parsed: int
    unchanged: int
    seconds: float


class CodeIndex:
    """Symbols and words of one tree. Numbers of files and definitions hold for this object only."""

    files: Sequence[SourceFile]
    skipped: Sequence[Skipped]
    refreshed: Refreshed

    @classmethod
    def open(
        cls,
        tree: SourceTree,
        store_dir: Path,
        *,
        progress: Progress | None = None,
        workers: int | None = None,
        deadline_s: float | None = None,
    ) -> CodeIndex:
        """Bring the index in `store_dir` (`<home>/cache/codebase`, shared by all trees) up to date, and open it."""
        raise NotImplementedError

    # ------------------------------------------------------------ names

    def definitions(self, name: str, *, limit: int = 200) -> list[Definition]:
        """Definitions of a name, or of a dotted name's end (`Class.method`), exactly as written."""
        raise NotImplementedError

    def definition(self, id: int) -> Definition:
        """One definition by its number."""
        raise NotImplementedError

    def references(self, name: str, *, limit: int = 1_000) -> list[FoundReference]:
        """Uses of a name, by path and line."""
        raise NotImplementedError

    def symbols(self, path: str) -> FileSymbols | None:
        """What a file defines and uses; None for a file without a grammar, or one that is not in the index."""
        raise NotImplementedError

    def names_containing(self, text: str, *, limit: int = 200) -> list[str]:
        """Defined names that contain this text, whatever the case, shortest first."""
        raise NotImplementedError

    def file_number(self, path: str) -> int | None:
        """The number of a file, or None."""
        raise NotImplementedError

    # ------------------------------------------------------------ statistics, as arrays

    def file_postings(self, term: str) -> Postings:
        """Files with a term (`terms.py`: lower case parts of identifiers, and whole identifiers) anywhere in them."""
        raise NotImplementedError

    def definition_postings(self, term: str) -> Postings:
        """Definitions with a term in their own lines (those of definitions inside them count for those only)."""
        raise NotImplementedError

    @property
    def file_lengths(self) -> IntArray:
        """Terms of each file, by number."""
        raise NotImplementedError

    @property
    def definition_lengths(self) -> IntArray:
        """Terms of each definition's own lines, by number."""
        raise NotImplementedError

    @property
    def definition_files(self) -> IntArray:
        """The file of each definition, by number: ascending."""
        raise NotImplementedError

    def defining_files(self, name: str) -> IntArray:
        """Numbers of the files that define a name: cheaper than `definitions`."""
        raise NotImplementedError

    def referencing_files(self, name: str) -> Postings:
        """Numbers of the files that use a name, and how often."""
        raise NotImplementedError

    @property
    def graph(self) -> ReferenceGraph:
        """The file-level reference graph."""
        raise NotImplementedError

    # ------------------------------------------------------------ the map

    def outline(
        self,
        *,
        folder: str = "",
        max_files: int = 100,
        max_tokens: int = 4_000,
        weights: FloatArray | None = None,
    ) -> str:
        """The map: files with their most used definitions, best first by `weights` (default: by use), in order."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the files. Closing twice is fine."""
        raise NotImplementedError
