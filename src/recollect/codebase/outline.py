"""The map of a tree: its files with their most used definitions, in as many tokens as there is room for.

Files come by how much the others use them; they are shown in the order of their paths, so that a reader sees the shape
of the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.codebase.symbols.values import SymbolInfo

if TYPE_CHECKING:
    from recollect.codebase.index import CodeIndex

#: Files of one map, and definitions of one file.
_FILES, _PER_FILE = 100, 12
#: A token of code is about so many characters.
_TOKEN_CHARS = 3.5
_SHOWN = frozenset("function method class interface struct enum trait type macro module namespace".split())
_SIGNATURE_CHARS = 110


def outline(index: CodeIndex, *, folder: str = "", max_tokens: int = 4_000) -> str:
    """The map of a folder, or of the whole tree."""
    prefix = "" if folder in {"", "."} else folder.strip("/") + "/"
    inside = [number for number, file in enumerate(index.files) if file.path.startswith(prefix)]
    worth = use_of_files(index)
    best = sorted(inside, key=lambda number: (-float(worth[number]), index.files[number].path))
    room = int(max_tokens * _TOKEN_CHARS)
    shown: dict[int, str] = {}
    for number in best[:_FILES]:
        block = _block(index, number)
        if len(block) > room:
            break
        room -= len(block) + 1
        shown[number] = block
    left = len(inside) - len(shown)
    lines = [shown[number] for number in sorted(shown, key=lambda one: index.files[one].path)]
    if left:
        lines.append(f"({left:,} more files)")
    return "\n".join(lines)


def use_of_files(index: CodeIndex) -> np.ndarray[Any, np.dtype[Any]]:
    """How much the other files use each."""
    graph = index.graph
    return np.bincount(graph.targets, weights=graph.weights, minlength=len(index.files))


def _block(index: CodeIndex, number: int) -> str:
    definitions = [one for one in index.definitions_in(number) if one.kind in _SHOWN]
    lines = [f"{index.files[number].path} ({int(index.file_lines[number]):,} lines)"]
    best = sorted(definitions, key=lambda one: -_worth(index, one))[:_PER_FILE]
    for one in sorted(best, key=lambda one: (one.start_line, -one.end_line)):
        indent = "  " * min(4, 1 + one.qualified_name.count("."))
        lines.append(f"{indent}{one.signature[:_SIGNATURE_CHARS]} :{one.start_line}-{one.end_line}")
    if len(definitions) > len(best):
        lines.append(f"  ({len(definitions) - len(best)} more)")
    return "\n".join(lines)


def _worth(index: CodeIndex, one: SymbolInfo) -> float:
    """How many files use the name; private names, and those inside functions, less."""
    used = float(len(index.referencing_files(one.name).ids))
    outer = one.kind in {"class", "interface", "struct", "trait", "enum"} or "." not in one.qualified_name
    return (used + (2.0 if outer else 0.0)) * (0.3 if one.name.startswith("_") else 1.0)
