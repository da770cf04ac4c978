"""Definitions, references and imports of a source file, by tree-sitter; twelve languages.

    parse(text, language)      -> FileSymbols
    parse_ast(text, language)  -> ParsedFile: the syntax tree itself

A language without a grammar is a `GrammarMissingError`: the caller asks for the capability and goes on with grep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.codebase.symbols.values import (
    AstNode,
    FileSymbols,
    Import,
    ParsedFile,
    Reference,
    SymbolInfo,
)

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["AstNode", "FileSymbols", "Import", "ParsedFile", "Reference", "SymbolInfo", "parse", "parse_ast"]

_NODE_CHARS = 80


def parse(text: str | bytes, language: str) -> FileSymbols:
    """Read a file. Text with faults is read as far as it goes; it never raises for what stands in the file."""
    from recollect.codebase.symbols.columns import read_columns

    data = _bytes(text)
    return read_columns(data, language).symbols(language, lines=data.count(b"\n") + 1)


def parse_ast(
    text: str | bytes, language: str, *, path: str = "", max_nodes: int = 500, max_depth: int = 6
) -> ParsedFile:
    """The syntax tree of a file in the order of the text; the deepest levels go first when there is too much."""
    from recollect.codebase.symbols.columns import parse_tree
    from recollect.codebase.symbols.grammars import get_grammar

    data = _bytes(text)
    tree = parse_tree(get_grammar(language), data)
    lines = data.count(b"\n") + 1
    if tree is None:
        return ParsedFile(path=path, language=language, lines=lines, nodes=(), errors=1, truncated=True)
    level: list[tuple[Node, str | None, int]] = [(tree.root_node, None, 0)]
    kept: list[tuple[int, int, AstNode]] = []
    truncated = False
    while level:
        if len(kept) + len(level) > max_nodes and kept:
            truncated = True
            break
        below: list[tuple[Node, str | None, int]] = []
        for node, field, depth in level:
            first_line = (node.text or b"")[: 4 * _NODE_CHARS].decode("utf-8", "replace").split("\n", 1)[0]
            entry = AstNode(
                kind=node.type,
                field=field,
                start_line=node.start_point[0] + 1,
                end_line=node.end_point[0] + 1,
                depth=depth,
                text=first_line[:_NODE_CHARS],
            )
            kept.append((node.start_byte, depth, entry))
            if depth < max_depth and len(below) <= max_nodes:
                below += [
                    (child, node.field_name_for_child(number), depth + 1)
                    for number, child in enumerate(node.children)
                    if child.is_named
                ]
            elif node.named_child_count:
                truncated = True
        level = below
    kept.sort(key=lambda row: row[:2])
    return ParsedFile(
        path=path,
        language=language,
        lines=lines,
        nodes=tuple(node for _, _, node in kept),
        errors=1 if tree.root_node.has_error else 0,
        truncated=truncated,
    )


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")
