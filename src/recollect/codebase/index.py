"""What a tree defines and uses, kept from run to run by content hash.

`CodeIndex.open` looks at the tree, parses what it has not seen (in processes of their own when that is much), and
answers from memory-mapped arrays and a SQLite file below the Recollect home; the tree itself is never written to. How
files are ranked is `ranking.py`'s business.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from recollect.codebase.arrays import Arrays, build_arrays, open_arrays
from recollect.codebase.records import references_to, unpack_definitions, unpack_symbols
from recollect.codebase.store import KnownFile, Progress, Refreshed, Store, fingerprint, refresh
from recollect.codebase.symbols.values import FileSymbols, Reference, SymbolInfo
from recollect.codebase.tree import Skipped, SourceFile, SourceTree
from recollect.text.terms import term_key

if TYPE_CHECKING:
    from recollect.providers.embedders import Embedder

IntArray = NDArray[np.int32]
FloatArray = NDArray[np.float32]

#: Files whose definitions stay unpacked.
_UNPACKED = 512
#: Texts between two looks at the clock.
_EMBEDDED_AT_ONCE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition and where it stands. `file` is the number of its file in `CodeIndex.files`, `id` its own number."""

    id: int
    file: int
    path: str
    symbol: SymbolInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
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

    A name that is called n times and defined in k files adds sqrt(n) / k to each of the k edges; where an import says
    which file is meant, that gets all. Each import adds 1. A name the file defines itself adds nothing.
    """

    sources: IntArray
    targets: IntArray
    weights: FloatArray


class CodeIndex:
    """Symbols and words of a tree. Numbers of files and definitions hold for this object only.

    `files` are those with a record; `skipped` are those without, and why. May be used from several threads.
    """

    def __init__(
        self,
        store: Store,
        arrays: Arrays,
        files: Sequence[SourceFile],
        *,
        hashes: Sequence[str],
        lines: int,
        skipped: Sequence[Skipped],
        refreshed: Refreshed,
    ) -> None:
        self.files = files
        self.lines = lines
        self.skipped = skipped
        self.refreshed = refreshed
        self._store = store
        self._arrays = arrays
        self._hashes = hashes
        self._numbers = {file.path: number for number, file in enumerate(files)}
        self._unpacked: OrderedDict[int, tuple[SymbolInfo, ...]] = OrderedDict()
        self._lock = RLock()

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
        """Bring the index in `store_dir` (`<home>/cache/codebase`, shared by all trees) up to date, and open it.

        When `deadline_s` seconds are over, what was not parsed by then is left out with a note; the next run goes on.
        """
        store = Store(store_dir)
        try:
            number = store.open_tree(str(tree.root))
            listed = tree.files()
            known, cost, notes = refresh(
                store, number, tree.root, listed, progress=progress, workers=workers, deadline_s=deadline_s
            )
            arrays = _arrays(store, number, tree.root, known)
            rows = store.languages(number)
        except BaseException:
            store.close()
            raise
        by_path = {file.path: file for file in listed}
        files = [
            replace(by_path[path], language=language) for path, language, _, _ in rows if path in by_path
        ]
        notes += [Skipped(path=path, why=note) for path, _, _, note in rows if note]
        if store.note:
            notes.append(Skipped(path=".", why=store.note))
        return cls(
            store,
            arrays,
            files,
            hashes=[str(known[file.path].sha256) for file in files],
            lines=sum(row[2] for row in rows),
            skipped=[*tree.skipped, *notes],
            refreshed=cost,
        )

    # ------------------------------------------------------------ names

    def definitions(self, name: str, *, limit: int = 200) -> list[Definition]:
        """Definitions of a name, or of a dotted name's end (`Class.method`), exactly as written, by file."""
        name = name.replace("::", ".")
        last = name.rpartition(".")[2]
        matching = []
        for definition in map(self.definition, self._definition_ids(last).tolist()):
            if definition.symbol.name == last and definition.symbol.is_called(name):
                matching.append(definition)
                if len(matching) >= limit:
                    break
        return matching

    def definition(self, id: int) -> Definition:
        """One definition by its number."""
        file = int(self._arrays["definition_files"][id])
        first = int(self._arrays["definition_first"][file])
        return Definition(
            id=id, file=file, path=self.files[file].path, symbol=self.definitions_in(file)[id - first]
        )

    def references(self, name: str, *, limit: int = 1_000) -> list[Use]:
        """Uses of a name (of a dotted name its last part), by path and line."""
        last = name.replace("::", ".").rpartition(".")[2]
        uses: list[Use] = []
        for number in self.referencing_files(last).ids.tolist():
            row = self._store.symbols(self._hashes[number])
            for reference in references_to(row[3], last) if row is not None else ():
                uses.append(Use(file=number, path=self.files[number].path, reference=reference))
            if len(uses) >= limit:
                return uses[:limit]
        return uses

    def symbols(self, path: str) -> FileSymbols | None:
        """What a file defines and uses; None for a file without a grammar, or not in the index."""
        number = self._numbers.get(path)
        row = None if number is None else self._store.symbols(self._hashes[number])
        if row is None or row[0] is None:
            return None
        return unpack_symbols(row[2], row[3], language=row[0], lines=row[1])

    # ------------------------------------------------------------ statistics, as arrays

    def file_postings(self, term: str) -> Postings:
        """Files with a term (`terms.py`: lower case parts of identifiers, and whole identifiers) anywhere in them."""
        return self._postings("term", term)

    def definition_postings(self, term: str) -> Postings:
        """Definitions with a term in their own lines (those of definitions inside them count for those only).

        Functions, classes and their like have lines of their own, and everything else of three lines or more.
        """
        return self._postings("unit", term)

    @property
    def file_lengths(self) -> IntArray:
        """Terms of each file, by number."""
        return self._arrays["file_lengths"]

    @property
    def file_lines(self) -> IntArray:
        """Lines of each file, by number."""
        return self._arrays["file_lines"]

    @property
    def definition_lengths(self) -> IntArray:
        """Terms of each definition's own lines, by number."""
        return self._arrays["definition_lengths"]

    @property
    def definition_files(self) -> IntArray:
        """The file of each definition, by number: ascending."""
        return self._arrays["definition_files"]

    def defining_files(self, name: str) -> IntArray:
        """Numbers of the files that define a name: cheaper than `definitions`."""
        return np.unique(self._arrays["definition_files"][self._definition_ids(name)])

    def referencing_files(self, name: str) -> Postings:
        """Numbers of the files that use a name, and how often."""
        return self._postings("use", name)

    @property
    def graph(self) -> ReferenceGraph:
        """The file-level reference graph."""
        return ReferenceGraph(
            sources=self._arrays["graph_sources"],
            targets=self._arrays["graph_targets"],
            weights=self._arrays["graph_weights"],
        )

    # ------------------------------------------------------------ texts

    def vectors(
        self, embedder: Embedder, texts: Sequence[str], *, seconds: float | None = None
    ) -> dict[int, FloatArray]:
        """Unit vectors by the place of their text; those of texts that were embedded before come from the index.

        The first texts are embedded first; those there is no time for are left out, and the next run goes on with them.
        """
        space = embedder.space
        until = None if seconds is None else time.monotonic() + seconds
        hashes = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
        kept = self._store.vectors(space.fingerprint, hashes)
        fresh = {hash_: text for hash_, text in zip(hashes, texts, strict=True) if hash_ not in kept}
        while fresh and (until is None or time.monotonic() < until):
            some = [(hash_, fresh.pop(hash_)) for hash_ in list(fresh)[:_EMBEDDED_AT_ONCE]]
            rows = embedder.embed([text for _, text in some]).astype(np.float16)
            made = {hash_: row.tobytes() for (hash_, _), row in zip(some, rows, strict=True)}
            self._store.add_vectors(space.fingerprint, made)
            kept |= made
        return {
            place: np.frombuffer(kept[hash_], np.float16).astype(np.float32)
            for place, hash_ in enumerate(hashes)
            if hash_ in kept
        }

    def close(self) -> None:
        """Let go of the files. Closing twice is fine."""
        self._store.close()
        self._arrays.close()

    def __enter__(self) -> CodeIndex:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def _postings(self, table: str, term: str) -> Postings:
        rows = self._arrays.rows(table, term_key(term))
        return Postings(ids=self._arrays[f"{table}_ids"][rows], counts=self._arrays[f"{table}_counts"][rows])

    def _definition_ids(self, name: str) -> IntArray:
        ids: IntArray = self._arrays["name_ids"][self._arrays.rows("name", term_key(name))]
        return ids

    def definitions_in(self, file: int) -> tuple[SymbolInfo, ...]:
        """The definitions of a file by its number, in the order of its text."""
        with self._lock:
            symbols = self._unpacked.get(file)
            if symbols is None:
                row = self._store.symbols(self._hashes[file])
                symbols = self._unpacked[file] = unpack_definitions(row[2]) if row is not None else ()
                if len(self._unpacked) > _UNPACKED:
                    self._unpacked.popitem(last=False)
            else:
                self._unpacked.move_to_end(file)
            return symbols


def _arrays(store: Store, tree: int, root: Path, known: dict[str, KnownFile]) -> Arrays:
    """The arrays of this state of the tree: those of the last run when it is the same."""
    state = hashlib.sha256(fingerprint().encode())
    for path, file in sorted(known.items()):
        if file.sha256 is not None:
            state.update(f"{path}\0{file.sha256}\n".encode())
    place = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = store.folder / "trees" / place / state.hexdigest()[:16]
    return open_arrays(folder) or build_arrays(folder, store.contents(tree))
