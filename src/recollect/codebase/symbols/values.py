"""What is read from a source file: its definitions, references and imports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: module, namespace, class, interface, struct, enum, trait, type, function, method, variable, constant, field, macro
SymbolKind = str
ReferenceKind = Literal["call", "import", "inherit", "use"]


@dataclass(frozen=True, slots=True)
class SymbolInfo:
    """A definition. Lines are counted from 1, both ends belong to it; `qualified_name` is dotted (`Class.method`)."""

    name: str
    qualified_name: str
    kind: SymbolKind
    start_line: int
    end_line: int
    signature: str
    doc: str = ""

    def is_called(self, name: str) -> bool:
        """Whether a name, dotted or not, is the end of its own."""
        return f".{self.qualified_name}".endswith(f".{name}")


def innermost(symbols: Iterable[SymbolInfo], line: int) -> SymbolInfo | None:
    """The smallest definition around a line; None outside of all."""
    around = [symbol for symbol in symbols if symbol.start_line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A place where a name is used that may be defined elsewhere."""

    name: str
    line: int
    kind: ReferenceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """`module` as the source writes it (`a.b`, `./x`, `<stdio.h>`), and the names taken from it, if they are named."""

    module: str
    names: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSymbols:
    """Everything read from a file. `errors` counts the places the grammar could not read."""

    language: str
    lines: int
    definitions: tuple[SymbolInfo, ...]
    references: tuple[Reference, ...]
    imports: tuple[Import, ...]
    errors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AstNode:
    """A named node of the syntax tree: its kind, the role it has in its parent, its lines, and its first words."""

    kind: str
    field: str | None
    start_line: int
    end_line: int
    depth: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    """The syntax tree of a file, from the top, cut where a limit is reached (`truncated`)."""

    path: str
    language: str
    lines: int
    nodes: tuple[AstNode, ...]
    errors: int
    truncated: bool
