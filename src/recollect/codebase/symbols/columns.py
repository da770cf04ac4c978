"""From a syntax tree to definitions, references and imports, as columns: the index keeps them so.

The query of a language captures nodes; here they get their names, the dotted names of what they lie in, their
signature and the first line of what is written about them. `parse` in `__init__.py` makes objects of the columns.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.codebase.symbols.grammars import get_grammar
from recollect.codebase.symbols.names import (
    IMPORTING_CALLS,
    first_child,
    imports_of,
    names_of,
    receiver_name,
    scope_name,
)
from recollect.codebase.symbols.values import FileSymbols, Import, Reference, ReferenceKind, SymbolInfo

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from recollect.codebase.symbols.grammars import Grammar

#: How references are numbered in columns; the order is how much each says.
REFERENCE_KINDS: tuple[ReferenceKind, ...] = ("use", "call", "import", "inherit")
USE, CALL, IMPORT, INHERIT = range(4)
#: A grammar that needs longer for a file of this size limit is stuck in it.
PARSE_TIMEOUT_S = 10.0
MAX_DEFINITIONS = 20_000
_CHUNK_BYTES = 65_536
_SIGNATURE_CHARS = 200
_DOC_CHARS = 160
_CLASSES = frozenset({"class", "interface", "struct", "enum", "trait"})
_SCOPES = _CLASSES | {"function", "method", "module", "namespace"}
#: Bodies by which a signature ends.
_BODIES = ("body", "value", "right", "consequence")
#: Names in every file that say nothing about what it uses.
_EMPTY_NAMES = frozenset(
    b"self cls this super None True False null undefined true false nil _ __ $this".split()
)
_COMMENT = re.compile(r"^\s*(?:///?!?|/\*+!?|\*+/?)\s?(.*?)(?:\*/)?\s*$")
_HASH_COMMENT = re.compile(r"^\s*#+\s?(.*?)\s*$")
_HASH_LANGUAGES = frozenset({"ruby", "bash"})
_ANNOTATION = re.compile(r"^\s*(?:@|#\[|\[|template\b)")
_QUOTES = re.compile(r"""^[rRbBuUfF]{0,2}(?:\"\"\"|'''|"|')""")


@dataclass(frozen=True, slots=True)
class Columns:
    """What was read. A reference is a number of `names`, a line, and a number of `REFERENCE_KINDS`, in text order."""

    definitions: Sequence[SymbolInfo]
    names: list[str]
    reference_names: list[int]
    reference_lines: list[int]
    reference_kinds: list[int]
    imports: list[tuple[str, tuple[str, ...], int]]
    errors: int
    gave_up: bool = False

    def symbols(self, language: str, *, lines: int) -> FileSymbols:
        """The same as objects."""
        references = zip(self.reference_names, self.reference_lines, self.reference_kinds, strict=True)
        return FileSymbols(
            language=language,
            lines=lines,
            definitions=tuple(self.definitions),
            references=tuple(
                Reference(name=self.names[name], line=line, kind=REFERENCE_KINDS[kind])
                for name, line, kind in references
            ),
            imports=tuple(
                Import(module=module, names=tuple(names), line=line) for module, names, line in self.imports
            ),
            errors=self.errors,
        )


@dataclass(frozen=True, slots=True)
class _Named:
    """A definition whose dotted name is not known yet."""

    start: int
    end: int
    kind: str
    scope: str
    name: str
    node: Node


def read_columns(data: bytes, language: str) -> Columns:
    """Read UTF-8 text with line feeds."""
    grammar = get_grammar(language)
    tree = parse_tree(grammar, data)
    if tree is None:
        return Columns([], [], [], [], [], [], errors=1, gave_up=True)
    from tree_sitter import QueryCursor

    captured = QueryCursor(grammar.query).captures(tree.root_node)
    lines = _LineStarts(data)
    named, taken = _definitions(captured)
    imports, strong = _imports(captured, language, data, lines)
    definitions = _finished(named, captured.get("scope", []), data, lines, language)
    names, columns = _references(captured, taken, strong, data, lines)
    return Columns(definitions, names, *columns, imports, errors=1 if tree.root_node.has_error else 0)


def parse_tree(grammar: Grammar, data: bytes) -> Tree | None:
    """The syntax tree; None when the grammar does not come to an end in time."""
    if len(data) < _CHUNK_BYTES:
        return grammar.parser().parse(data)
    # The binding's own progress callback ends the process (tree-sitter 0.26.0), so the text ends early instead.
    stop_at = time.monotonic() + PARSE_TIMEOUT_S
    late = False

    def chunk(offset: int, _point: object) -> bytes:
        nonlocal late
        late = late or time.monotonic() > stop_at
        return b"" if late else data[offset : offset + _CHUNK_BYTES]

    tree: Tree | None = grammar.parser().parse(chunk)
    return None if late else tree


class _LineStarts:
    """Turns offsets into lines, counted from 1."""

    def __init__(self, data: bytes) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(rb"\n", data))]
        self._data = data

    def line(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def text(self, line: int) -> str:
        """A line's text, as long as a comment's line may be."""
        start = self._starts[line - 1]
        end = self._starts[line] - 1 if line < len(self._starts) else len(self._data)
        return self._data[start : min(end, start + 1_000)].decode("utf-8", "replace")


# ---------------------------------------------------------------- definitions


def _definitions(captured: dict[str, list[Node]]) -> tuple[list[_Named], set[int]]:
    """Definitions by where they begin, the outer before the inner; and where their names stand."""
    definitions: dict[tuple[int, str], _Named] = {}
    taken: set[int] = set()
    for capture, nodes in captured.items():
        if not capture.startswith("def."):
            continue
        for node in nodes[:MAX_DEFINITIONS]:
            kind = _kind(capture[4:], node)
            for scope, name, where in names_of(node):
                taken.add(where.start_byte)
                if (
                    where.type.startswith(("qualified", "scope"))
                    and where.end_byte - len(name) > where.start_byte
                ):
                    taken.add(where.end_byte - len(name.encode()))
                key = (where.start_byte, name)
                # The same node may be caught as a variable and as the function it holds: the function says more.
                if key not in definitions or definitions[key].kind in {"variable", "field"}:
                    outer = _outer(node)
                    definitions[key] = _Named(outer.start_byte, node.end_byte, kind, scope, name, node)
    return sorted(definitions.values(), key=lambda definition: (definition.start, -definition.end)), taken


def _kind(kind: str, node: Node) -> str:
    if node.type == "type_spec":
        of = node.child_by_field_name("type")
        return {"struct_type": "struct", "interface_type": "interface"}.get(of.type if of else "", "type")
    if node.type == "field_declaration" and _is_function(node.child_by_field_name("declarator")):
        return "prototype"
    return kind


def _is_function(node: Node | None) -> bool:
    while node is not None:
        if node.type == "function_declarator":
            return True
        node = node.child_by_field_name("declarator")
    return False


def _outer(node: Node) -> Node:
    """The node with what belongs before it: decorators, `export`, `template`."""
    parent = node.parent
    if parent is not None and parent.type in {
        "decorated_definition",
        "export_statement",
        "template_declaration",
    }:
        return parent
    return node


def _finished(
    named: list[_Named], scopes: list[Node], data: bytes, lines: _LineStarts, language: str
) -> list[SymbolInfo]:
    """Definitions with their dotted names: the names of what they lie in, from outside."""
    around = sorted(
        [(scope.start, scope.end, ".".join(filter(None, (scope.scope, scope.name))), scope.kind, scope)
         for scope in named if scope.kind in _SCOPES]
        + [(node.start_byte, node.end_byte, scope_name(node), "class", None) for node in scopes],
        key=lambda row: (row[0], -row[1]),
    )  # fmt: skip
    finished: list[SymbolInfo] = []
    stack: list[tuple[int, str, str, _Named | None]] = []
    following = 0
    for definition in named[:MAX_DEFINITIONS]:
        while following < len(around) and around[following][0] <= definition.start:
            start, end, name, kind, owner = around[following]
            while stack and stack[-1][0] <= start:
                stack.pop()
            stack.append((end, name, kind, owner))
            following += 1
        while stack and stack[-1][0] <= definition.start:
            stack.pop()
        inside = [row for row in stack if row[3] is not definition and row[0] >= definition.end]
        if definition.kind in {"variable", "field", "constant"} and any(
            row[2] in {"function", "method"} for row in inside
        ):
            continue
        finished.append(_symbol(definition, inside, data, lines, language))
    return finished


def _symbol(
    definition: _Named,
    inside: list[tuple[int, str, str, _Named | None]],
    data: bytes,
    lines: _LineStarts,
    language: str,
) -> SymbolInfo:
    scope = definition.scope or (
        receiver_name(definition.node)
        if definition.node.type == "method_declaration" and language == "go"
        else ""
    )
    parts = [row[1] for row in inside if row[1]] + ([scope] if scope else []) + [definition.name]
    kind = definition.kind
    if kind == "function" and ((inside and inside[-1][2] in _CLASSES) or (scope and language == "cpp")):
        kind = "method"
    start, end = lines.line(definition.start), lines.line(max(definition.start, definition.end - 1))
    return SymbolInfo(
        name=definition.name,
        qualified_name=".".join(parts),
        kind=kind,
        start_line=start,
        end_line=end,
        signature=_signature(definition.node, data, language),
        doc=_doc(definition, start, lines, language),
    )


def _signature(node: Node, data: bytes, language: str) -> str:
    end = node.end_byte
    for field in _BODIES:
        body = node.child_by_field_name(field)
        if body is not None and body.start_byte > node.start_byte:
            function = (
                body.child_by_field_name("body")
                if body.type.endswith("function") or "function" in body.type
                else None
            )
            end = (function or body).start_byte
            break
    text = data[node.start_byte : min(end, node.start_byte + 4 * _SIGNATURE_CHARS)].decode("utf-8", "replace")
    if end == node.end_byte or language in _HASH_LANGUAGES:
        text = text.split("\n", 1)[0]
    return " ".join(text.split()).rstrip(" :{=")[:_SIGNATURE_CHARS]


def _doc(definition: _Named, start_line: int, lines: _LineStarts, language: str) -> str:
    """The first line of what is written about a definition: its docstring, or the comment above it."""
    if language == "python":
        return _docstring(definition.node)
    comment = _HASH_COMMENT if language in _HASH_LANGUAGES else _COMMENT
    above: list[str] = []
    line = start_line - 1
    while line >= 1 and len(above) < 40:
        text = lines.text(line)
        match = None if _ANNOTATION.match(text) else comment.match(text)
        if match is not None:
            above.append(match[1].strip())
        elif not _ANNOTATION.match(text):
            break
        line -= 1
    texts = (text for text in reversed(above) if any(letter.isalpha() for letter in text))
    return next((re.sub(r"</?\w+>", "", text) for text in texts), "")[:_DOC_CHARS]


def _docstring(node: Node) -> str:
    first = first_child(node.child_by_field_name("body"))
    string = first_child(first) if first is not None and first.type == "expression_statement" else None
    if string is None or string.type != "string":
        return ""
    text = (string.text or b"")[:2_000].decode("utf-8", "replace")
    text = _QUOTES.sub("", text).rstrip("\"'").strip()
    return " ".join(text.split("\n", 1)[0].split())[:_DOC_CHARS]


# ---------------------------------------------------------------- imports and references


def _imports(
    captured: dict[str, list[Node]], language: str, data: bytes, lines: _LineStarts
) -> tuple[list[tuple[str, tuple[str, ...], int]], list[tuple[int, int]]]:
    """Imports, and where their statements begin and end: names in there are imported, not merely used."""
    nodes = list(captured.get("import", ()))
    importing = IMPORTING_CALLS.get(language, frozenset())
    if importing:
        for node in captured.get("call", ()):
            if (node.text or b"").decode("utf-8", "replace") in importing:
                whole = node.parent
                while whole is not None and whole.type not in {"call", "call_expression", "command"}:
                    whole = whole.parent
                if whole is not None:
                    nodes.append(whole)
    imports: list[tuple[str, tuple[str, ...], int]] = []
    spans: list[tuple[int, int]] = []
    for node in sorted(nodes, key=lambda node: node.start_byte):
        text = data[node.start_byte : min(node.end_byte, node.start_byte + 20_000)].decode("utf-8", "replace")
        line = lines.line(node.start_byte)
        imports.extend((module, names, line) for module, names in imports_of(text, language))
        spans.append((node.start_byte, node.end_byte))
    return imports, spans


def _references(
    captured: dict[str, list[Node]],
    taken: set[int],
    import_spans: list[tuple[int, int]],
    data: bytes,
    lines: _LineStarts,
) -> tuple[list[str], tuple[list[int], list[int], list[int]]]:
    """Every name that is used, once for each line, as the strongest of the ways it is used there."""
    calls, inherits = captured.get("call", []), captured.get("inherit", [])
    strong = {node.start_byte: CALL for node in calls}
    strong.update((node.start_byte, INHERIT) for node in inherits)
    positions = {node.start_byte: node.end_byte for node in (*captured.get("use", ()), *calls, *inherits)}
    numbers: dict[bytes, int] = {}
    seen: dict[tuple[int, int], int] = {}
    spans = iter(import_spans)
    span = next(spans, None)
    line, line_end, line_starts = 0, 0, lines._starts
    for start in sorted(positions):
        if start in taken:
            continue
        name = data[start : positions[start]]
        if len(name) < 2 or name in _EMPTY_NAMES or len(name) > 200:
            continue
        while span is not None and span[1] <= start:
            span = next(spans, None)
        kind = IMPORT if span is not None and span[0] <= start else strong.get(start, USE)
        if start >= line_end:
            line = bisect_right(line_starts, start)
            line_end = line_starts[line] if line < len(line_starts) else len(data) + 1
        key = (numbers.setdefault(name, len(numbers)), line)
        if seen.get(key, -1) < kind:
            seen[key] = kind
    return (
        [name.decode("utf-8", "replace").lstrip("$@") for name in numbers],
        ([number for number, _ in seen], [line for _, line in seen], list(seen.values())),
    )
