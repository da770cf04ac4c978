"""Definitions, references and imports of a source file, by tree-sitter; twelve languages.

    parse(text, language)      -> FileSymbols
    parse_ast(text, language)  -> ParsedFile: the syntax tree itself

A language without a grammar is a `GrammarMissingError`: the caller asks for the capability and goes on with grep.
"""

from __future__ import annotations

from recollect.codebase.symbols.values import (
    AstNode,
    FileSymbols,
    Import,
    ParsedFile,
    Reference,
    SymbolInfo,
)

__all__ = ["AstNode", "FileSymbols", "Import", "ParsedFile", "Reference", "SymbolInfo", "parse", "parse_ast"]


def parse(text: str | bytes, language: str) -> FileSymbols:
    """Read one file. Text with faults is read as far as it goes; it never raises for what stands in the file."""
    raise NotImplementedError


def parse_ast(
    text: str | bytes, language: str, *, path: str = "", max_nodes: int = 500, max_depth: int = 6
) -> ParsedFile:
    """The syntax tree of one file from the top, breadth before depth, in the order of the text."""
    raise NotImplementedError
