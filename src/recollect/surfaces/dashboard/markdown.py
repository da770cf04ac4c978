"""Answers in Markdown, made of page elements: a table is a table, and no stored text becomes markup of its own.

The text is read by markdown-it with HTML turned off, and every word of it is set as text. Links and pictures lead to
other places, so of them the words are shown and nothing is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from nicegui import ui

from recollect.surfaces.counts import many
from recollect.surfaces.dashboard.widgets import quiet

_MARK = re.compile(r"(\[\d{1,3}\])")
#: A line right above a list names it, also where no blank line parts it from the list before.
_NAMES_A_LIST = re.compile(r"(?<=[^\n])\n(?=[^\s\-*|>#][^\n]*:\n[-*] )")
_NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")
_BLOCKS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "strong": "strong",
    "em": "em",
    "s": "s",
    "hr": "hr",
    "hardbreak": "br",
}

Show = Callable[[int], Any]


def markdown(text: str, *, sources: int = 0, show: Show | None = None) -> None:
    """A text in Markdown; each of its marks, from [1] to the number of sources, calls `show` with its number."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parsed = parser.parse(_NAMES_A_LIST.sub("\n\n", text))
    with ui.element("div").classes("markdown"):
        for node in SyntaxTreeNode(parsed).children:
            _node(node, sources, show)


def _node(node: SyntaxTreeNode, sources: int, show: Show | None) -> None:
    def inside() -> None:
        for child in node.children:
            _node(child, sources, show)

    if node.type == "table":
        _table(node, sources, show)
    elif node.type in _BLOCKS:
        with ui.element(_BLOCKS[node.type]):
            inside()
    elif node.type == "heading":
        with ui.element("div").classes("heading"):
            inside()
    elif node.type in ("fence", "code_block"):
        ui.label(node.content).classes("slab mono prose")
    elif node.type == "code_inline":
        with ui.element("code"):
            ui.label(node.content).classes("inline")
    elif node.type == "softbreak":
        ui.label(" ").classes("inline prose")
    elif node.type == "text":
        _words(node.content, sources, show)
    elif node.children:
        inside()
    elif node.content:
        _words(node.content, sources, show)


def _table(node: SyntaxTreeNode, sources: int, show: Show | None) -> None:
    """The rows, and how many there are; a click on a column's name sorts by it, another turns the order around."""
    head, *parts = node.children
    rows = [row for part in parts for row in part.children]

    @ui.refreshable
    def drawn(by: int = -1, downwards: bool = False) -> None:
        ordered = rows if by < 0 else sorted(rows, key=lambda row: _rank(row.children[by]), reverse=downwards)
        with ui.element("table"):
            with ui.element("thead"), ui.element("tr"):
                for number, cell in enumerate(head.children[0].children):
                    order = "none" if number != by else "descending" if downwards else "ascending"
                    with ui.element("th").props(f"aria-sort={order}"):
                        name = ui.element("button").props('type="button"')
                        turn = number == by and not downwards
                        name.on("click", lambda number=number, turn=turn: drawn.refresh(number, turn))
                        with name:
                            for child in cell.children:
                                _node(child, 0, None)
            with ui.element("tbody"):
                for row in ordered:
                    _node(row, sources, show)

    drawn()
    quiet(many(len(rows), "row"), "text-sm count")


def _rank(cell: SyntaxTreeNode) -> tuple[bool, bool, float, str]:
    """Where a cell stands in its column: numbers by their size, then words, then what is empty."""
    text = " ".join(node.content for node in cell.walk() if not node.children).strip()
    number = _NUMBER.match(text)
    size = float(number[0].replace(",", "")) if number else 0.0
    return not text, number is None, size, text.casefold()


def _words(text: str, sources: int, show: Show | None) -> None:
    for part in _MARK.split(text):
        number = int(part[1:-1]) if show is not None and _MARK.fullmatch(part) else 0
        if show is not None and 1 <= number <= sources:
            mark = ui.element("button").classes("link mono")
            mark.props(f'type="button" aria-label="Source {number}"')
            mark.on("click", lambda number=number: show(number))
            with mark:
                ui.label(part).classes("inline")
        elif part:
            ui.label(part).classes("inline prose")
