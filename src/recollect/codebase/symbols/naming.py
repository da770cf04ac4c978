"""What a definition is called: where a grammar puts the name, for every kind of node the queries capture.

Most have a field `name`; the C family hides it in declarators, and some languages bind several names at once.
"""

from __future__ import annotations

import re
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
    """(scope written with the name, name, node of the name); several where one definition binds several."""
    fields = ("declarator",) if node.type in {"type_definition", "field_declaration"} else ()
    for field in (*fields, *_FIELDS):
        found = node.children_by_field_name(field)
        if found:
            for one in found:
                yield from _named(one)
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
