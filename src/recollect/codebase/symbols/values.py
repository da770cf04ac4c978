"""What is read from a source file: its definitions, references and imports."""

from __future__ import annotations

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
