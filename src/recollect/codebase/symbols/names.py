"""What a definition is called, and what a file imports: where each grammar puts the names.

Most have a field `name`; the C family hides it in declarators, and some languages bind several names at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

#: Fields that hold what is being defined, in the order of trust.
_FIELDS = ("name", "left", "key", "declarator", "property", "field")
_PLAIN = frozenset(
    """
    identifier type_identifier field_identifier property_identifier private_property_identifier constant
    variable_name name word namespace_identifier setter operator metavariable string_fragment
    """.split()
)
_WITH_SCOPE = frozenset(
    """
    qualified_identifier scope_resolution scoped_identifier nested_identifier namespace_name qualified_name
    nested_namespace_specifier scoped_type_identifier
    """.split()
)
_WHOLE = frozenset("destructor_name operator_name string computed_property_name operator_cast".split())
_SEPARATORS = re.compile(r"::|\\|\.")
_NAME = re.compile(r"[^\W\d][\w$?!=]*|~\w+|operator\W+.*", re.DOTALL)
_MAX_CHARS = 200
_MAX_DESCENT = 12


def names_of(node: Node) -> Iterator[tuple[str, str, Node]]:
    """(scope written with the name, name, node of the name); several where a definition binds several."""
    fields = ("declarator",) if node.type in {"type_definition", "field_declaration"} else ()
    for field in (*fields, *_FIELDS):
        children = node.children_by_field_name(field)
        if children:
            for child in children:
                yield from _named(child)
            return
    if node.type in {"const_element", "enum_case", "property_element"}:
        first = first_child(node)
        if first is not None:
            yield from _named(first)


def first_child(node: Node | None) -> Node | None:
    """The first part of a node that is more than a sign; a body that is still to be written has none."""
    return node.named_child(0) if node is not None and node.named_child_count else None


def scope_name(node: Node) -> str:
    """The type that a Rust `impl` block is about."""
    kind = node.child_by_field_name("type")
    text = _text(kind) if kind is not None else ""
    return re.split(r"[<\s]", text, maxsplit=1)[0].rpartition("::")[2].lstrip("&")


def receiver_name(node: Node) -> str:
    """The type of a Go method's receiver."""
    receiver = node.child_by_field_name("receiver")
    words = re.findall(r"[^\W\d]\w*", _text(receiver).split("[")[0]) if receiver is not None else []
    return words[-1] if words else ""


def _named(node: Node) -> Iterator[tuple[str, str, Node]]:
    for _ in range(_MAX_DESCENT):
        if node.type in _PLAIN:
            yield from _checked("", _text(node), node)
            return
        if node.type in _WITH_SCOPE:
            parts = [part for part in _SEPARATORS.split(_text(node)) if part]
            if parts:
                # `Box<T>::open` is defined in `Box`.
                scope = ".".join(part.partition("<")[0].strip() for part in parts[:-1])
                yield from _checked(scope, parts[-1].strip(), node)
            return
        if node.type in _WHOLE:
            yield from _checked("", _text(node).strip("\"'`[]"), node)
            return
        deeper = None
        for field in ("declarator", "property", "name", "field"):
            deeper = node.child_by_field_name(field)
            if deeper is not None:
                break
        if deeper is None and node.type in {
            "parenthesized_declarator",
            "reference_declarator",
            "attributed_declarator",
        }:
            deeper = first_child(node)
        if deeper is None:
            return
        node = deeper


def _checked(scope: str, name: str, node: Node) -> Iterator[tuple[str, str, Node]]:
    name = name.lstrip("$@").removeprefix("#")
    if name and len(name) <= _MAX_CHARS and _NAME.fullmatch(name):
        yield scope, name, node


def _text(node: Node) -> str:
    return (node.text or b"")[: 4 * _MAX_CHARS].decode("utf-8", "replace")


Found = tuple[str, tuple[str, ...]]

_STRING = re.compile(r"""["'`]([^"'`\n]{1,300})["'`]""")
_WORD = re.compile(r"[^\W\d][\w$]*")
_MAX_NAMES = 200


def imports_of(statement: str, language: str) -> list[Found]:
    """(module, names) of an import statement."""
    reader = _READERS.get(language)
    return list(reader(statement)) if reader is not None else []


def _python(text: str) -> Iterator[Found]:
    text = re.sub(r"#[^\n]*", "", text).replace("\\\n", " ")
    if text.startswith("from"):
        match = re.match(r"from\s*([.\w]+)\s*import\b(.*)", text, re.DOTALL)
        if match:
            names = [part.split()[0] for part in match[2].strip(" ()\n\t").split(",") if part.split()]
            yield match[1], tuple(name for name in names if _WORD.fullmatch(name))[:_MAX_NAMES]
        return
    for part in text.removeprefix("import").split(","):
        if words := part.split():
            yield words[0], ()


def _script(text: str) -> Iterator[Found]:
    module = _STRING.findall(text)
    if not module:
        return
    clause = text.rpartition("from")[0] or ""
    named = re.search(r"\{(.*?)\}", clause, re.DOTALL)
    names = [part.split()[0] for part in named[1].split(",") if part.split()] if named else []
    # `import type X` and `import X` bind the module's default under a name of the file's own.
    default = re.match(r"import\s+(?:type\s+)?([^\W\d][\w$]*)\s*(?:,|\s*$)", clause)
    if default:
        names.append(default[1])
    yield module[-1], tuple(name for name in names if _WORD.fullmatch(name))[:_MAX_NAMES]


def _go(text: str) -> Iterator[Found]:
    for module in _STRING.findall(text):
        yield module, ()


def _rust(text: str) -> Iterator[Found]:
    body = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:use|extern\s+crate)\s+|;\s*$|\s+", " ", text).strip()
    body = re.sub(r"\s+as\s+\w+", "", body)
    head, brace, rest = body.partition("{")
    prefix = head.strip().removesuffix("::").replace(" ", "")
    if not brace:
        module, _, name = prefix.rpartition("::")
        yield (module or name), ((name,) if module and name != "*" else ())
        return
    names = tuple(dict.fromkeys(_WORD.findall(rest)))[:_MAX_NAMES]
    yield prefix, names


def _dotted(text: str) -> Iterator[Found]:
    body = re.sub(r"^\s*(?:global\s+)?(?:import|using)\s+|\bstatic\s+|;\s*$", "", text).strip()
    body = body.rpartition("=")[2].strip()
    if not body:
        return
    module, _, name = body.rpartition(".")
    yield body.removesuffix(".*"), ((name,) if name and name != "*" and module else ())


def _include(text: str) -> Iterator[Found]:
    match = re.search(r"""[<"]([^>"\n]{1,300})[>"]""", text)
    if match:
        yield match[1], ()
        return
    using = re.match(r"using\s+(?:namespace\s+)?([\w:]+)", text)
    if using:
        module, _, name = using[1].rpartition("::")
        yield (module or name), ((name,) if module else ())


def _php(text: str) -> Iterator[Found]:
    if not text.startswith("use"):
        for module in _STRING.findall(text):
            yield module.lstrip("/"), ()
        return
    body = re.sub(r"^use\s+(?:function\s+|const\s+)?|;\s*$", "", text)
    head, brace, rest = body.partition("{")
    if brace:
        names = tuple(part.split()[0] for part in rest.strip(" }").split(",") if part.split())
        yield head.strip().rstrip("\\"), names[:_MAX_NAMES]
        return
    for part in body.split(","):
        if words := part.split():
            yield words[0].lstrip("\\"), (words[0].rpartition("\\")[2],)


def _required(text: str) -> Iterator[Found]:
    for module in _STRING.findall(text)[:1]:
        yield module, ()


def _sourced(text: str) -> Iterator[Found]:
    words = text.split()
    if len(words) > 1:
        yield words[1].strip("\"'"), ()


_READERS: dict[str, Callable[[str], Iterator[Found]]] = {
    "python": _python,
    "javascript": _script,
    "typescript": _script,
    "tsx": _script,
    "go": _go,
    "rust": _rust,
    "java": _dotted,
    "csharp": _dotted,
    "c": _include,
    "cpp": _include,
    "php": _php,
    "ruby": _required,
    "bash": _sourced,
}

#: Calls that import, in languages that have no statement for it: name called -> the language.
IMPORTING_CALLS = {
    "javascript": frozenset({"require"}),
    "typescript": frozenset({"require"}),
    "tsx": frozenset({"require"}),
    "ruby": frozenset({"require", "require_relative", "load", "autoload"}),
    "bash": frozenset({"source", "."}),
}
