"""A tree and its index as the tools see them, a stamp that says whether either has changed, and what is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from recollect.codebase.languages import language_of
from recollect.codebase.symbols.values import FileSymbols, SymbolInfo, innermost
from recollect.codebase.tree import SourceFile, SourceTree
from recollect.errors import GrammarMissingError, RecollectError

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex
    from recollect.providers.embedders import Embedder

#: Definitions that say what a place is; a variable does not.
_SCOPES = frozenset("module namespace class interface struct enum trait type function method macro".split())
#: Endings of texts and data: nobody misses their syntax.
_NO_CODE = frozenset(
    """
    md rst txt adoc json jsonl json5 yaml yml toml ini cfg conf env lock csv tsv xml html htm css scss less svg po pot
    in out log map tex bib ipynb gitignore gitattributes editorconfig dockerignore properties pem crt diff patch
    """.split()
)


#: What a call gives back to whoever has no model, or a small model.
ROOM_CHARS = 24_000


class View:
    """What tools read from, and how much a call may give back. Without an index symbols are parsed when needed."""

    def __init__(
        self,
        tree: SourceTree,
        index: CodeIndex | None,
        *,
        seconds_left: Callable[[], float | None] = lambda: None,
        embedder: Embedder | None = None,
        room_chars: int = ROOM_CHARS,
    ) -> None:
        self.tree = tree
        self.room_chars = room_chars
        self.index = index
        self.seconds_left = seconds_left
        self.embedder = embedder
        #: Files of languages that have no grammar, among those that were looked at.
        self.unread: dict[str, str] = {}
        self._symbols: dict[tuple[str, str], FileSymbols] = {}

    def most(self, usual: int, *, chars_each: int) -> int:
        """How many things of so many characters a call lists: more than usual where there is more room than usual."""
        return max(usual, self.room_chars // chars_each) if self.room_chars > ROOM_CHARS else usual

    @cached_property
    def stamp(self) -> str:
        """Of the whole tree, as its files were when they were listed."""
        digest = hashlib.sha256()
        for file in self.tree.files():
            digest.update(f"{_stamp(file)}\n".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def stamp_of(self, path: str) -> str:
        """Of a file as it is now; of a file that can't be reached, its name."""
        try:
            status = (self.tree.root / self.tree.resolve(path)).stat()
        except (RecollectError, OSError, ValueError):
            return f"{path}\0?"
        return f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}"

    def symbols(self, path: str) -> FileSymbols:
        """What a file defines and uses, as it is now. `GrammarMissingError` for a language that is not known."""
        from recollect.codebase.symbols import parse

        resolved = self.tree.resolve(path)
        key = (resolved, self.stamp_of(resolved))
        symbols = self._symbols.get(key)
        if symbols is None:
            symbols = self._indexed(resolved, key[1])
            if symbols is None:
                symbols = parse(self.tree.read_bytes(resolved), self.language(resolved))
            if len(self._symbols) >= 256:
                self._symbols.clear()
            self._symbols[key] = symbols
        return symbols

    def language(self, path: str) -> str:
        """The language of a file. One without a grammar is remembered; texts and data are no languages."""
        language = language_of(path)
        if language is None:
            _, dot, suffix = path.rsplit("/", 1)[-1].lower().rpartition(".")
            if dot and suffix not in _NO_CODE:
                self.unread.setdefault(suffix, path)
            raise GrammarMissingError(f"{path!r} is in no language there is a grammar for")
        return language

    def _indexed(self, path: str, stamp: str) -> FileSymbols | None:
        """What the index has of a file that is as it was when the tree was listed."""
        file = self.tree.find(path) if self.index is not None else None
        if file is None or self.index is None:
            return None
        return self.index.symbols(path) if _stamp(file) == stamp else None

    def definitions(self, path: str) -> tuple[SymbolInfo, ...]:
        """What a file defines; nothing where it can't be read, or has no grammar."""
        try:
            return self.symbols(path).definitions
        except (RecollectError, OSError):
            return ()

    def enclosing(self, path: str, line: int) -> SymbolInfo | None:
        """The innermost definition around a line; None outside of all, or without a grammar."""
        scopes = (definition for definition in self.definitions(path) if definition.kind in _SCOPES)
        return innermost(scopes, line)


def _stamp(file: SourceFile) -> str:
    return f"{file.path}\0{file.size}\0{file.mtime_ns}\0{file.inode}"
