"""HTML: what a reader of the page would read, without its navigation, programs and styles.

`main`, or the only `article`, is preferred when the page has one. Tokens and the rules of
the elements are `html_tokens.py`, with tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from recollect.domain.library import ReadDocument
from recollect.files.decode import canonical
from recollect.library.reading.html_tokens import (
    BLOCKS,
    HEADINGS,
    End,
    GridTable,
    Start,
    Text,
    Token,
    is_aside,
    is_main,
    is_permalink,
    is_silent,
    plain_tables,
    tokens_of,
)
from recollect.library.reading.sections import Heading, fold, make_document, shorten

_MAX_INDENT = 20
#: What `br` leaves in a line that is being gathered; a canonical text has no NUL of its own.
_LINE_BREAK = "\x00"


@dataclass(slots=True)
class _Open:
    """An element that is open."""

    name: str
    root: bool = False
    silent: bool = False
    aside: bool = False
    link_at: int = -1
    grid: bool = False


class Layout:
    """Takes a page's tokens and keeps its lines and headings. `root` limits it to what the page says it is about."""

    def __init__(self, tokens: Sequence[Token], *, root: str | None) -> None:
        self.lines: list[str] = []
        self.headings: list[Heading] = []
        self.title = ""
        self._root = root
        self._stack: list[_Open] = []
        self._names: defaultdict[str, int] = defaultdict(int)
        self._inside = 0
        self._silent = 0
        self._asides = 0
        self._level = 0  # of the heading that is open
        self._inline: list[str] = []
        self._pre: list[str] | None = None
        self._lists: list[int] = []  # of each open list the next number, or -1 when it has none
        self._marker = ""
        self._grid: GridTable | None = None
        self._title: list[str] | None = None  # what the open `title` says so far
        self._read(tokens)

    # ------------------------------------------------------------ tokens

    def _read(self, tokens: Sequence[Token]) -> None:
        plain = plain_tables(tokens)
        for index, token in enumerate(tokens):
            if isinstance(token, Text):
                self._text(token.text)
            elif isinstance(token, Start):
                self._start(token, grid=token.name == "table" and index not in plain)
            else:
                self._end()
        self._break()

    @property
    def _heard(self) -> bool:
        return not self._silent and (self._root is None or self._inside > 0)

    def _text(self, text: str) -> None:
        if self._title is not None:
            self._title.append(text)
        elif self._heard:
            (self._inline if self._pre is None else self._pre).append(text)

    def _start(self, tag: Start, *, grid: bool) -> None:
        name = tag.name
        if name == "title" and not self._names["svg"]:
            self._title = []
        if name == "br" and self._heard:
            self._break_line()
        if name in BLOCKS:
            self._block_starts(name)
        element = _Open(name, self._is_root(tag), is_silent(tag), is_aside(tag))
        if name == "footer" and self._root is None and not (self._names["article"] or self._names["section"]):
            element.silent = True
        if name == "a":
            element.link_at = len(self._inline)
        element.grid = grid and self._grid is None and self._heard and not element.silent
        self._stack.append(element)
        self._names[name] += 1
        self._inside += element.root
        self._silent += element.silent
        self._asides += element.aside
        if self._heard:
            self._opened(tag, element)

    def _is_root(self, tag: Start) -> bool:
        if self._root == "main":
            return is_main(tag)
        return self._root is not None and tag.name == self._root

    def _opened(self, tag: Start, element: _Open) -> None:
        name = element.name
        if element.grid:
            self._grid = GridTable()
        if self._grid is not None:
            self._grid.opened(tag)
        elif name in HEADINGS and not self._asides:
            self._level = HEADINGS[name]
        elif name in {"ul", "ol", "menu"}:
            self._lists.append(_number(tag.attributes.get("start", "1")) if name == "ol" else -1)
        elif name == "li":
            self._marker = self._next_marker()
        if name == "pre" and self._grid is None and self._pre is None:
            self._pre = []

    def _end(self) -> None:
        element = self._stack.pop()
        name = element.name
        if name == "title" and self._title is not None:
            self.title = self.title or fold("".join(self._title))
            self._title = None
        if self._heard:
            self._closed(element)
        self._names[name] -= 1
        self._inside -= element.root
        self._silent -= element.silent
        self._asides -= element.aside

    def _closed(self, element: _Open) -> None:
        name = element.name
        if name == "a" and self._pre is None and 0 <= element.link_at < len(self._inline):
            if is_permalink("".join(self._inline[element.link_at :]), in_heading=self._level > 0):
                del self._inline[element.link_at :]
        elif name == "pre" and self._pre is not None:
            self._finish_pre()
        elif name in BLOCKS:
            self._break()
        if self._grid is not None:
            self._grid.closed(name)
            if element.grid:
                grid, self._grid = self._grid, None
                self._append(grid.lines())
        elif name in {"ul", "ol", "menu"} and self._lists:
            self._lists.pop()
        elif name == "li":
            self._marker = ""

    # ------------------------------------------------------------ lines

    def _block_starts(self, name: str) -> None:
        if not self._heard:
            return
        if self._level and not (name in HEADINGS or "".join(self._inline).strip()):
            return  # a block inside a heading, before its words
        self._break()

    def _break_line(self) -> None:
        if self._pre is not None:
            self._pre.append("\n")
        else:
            self._inline.append(" " if self._level or self._grid is not None else _LINE_BREAK)

    def _break(self) -> None:
        """A block starts or ends here: what was gathered is a line of its own."""
        if self._pre is not None:
            if self._pre and not self._pre[-1].endswith("\n"):
                self._pre.append("\n")
            return
        if self._grid is not None:
            self._grid.add("".join(self._inline))
            self._inline.clear()
            return
        if self._level:
            self._finish_heading()
            return
        if not self._inline:
            return
        written = [line for line in map(fold, "".join(self._inline).split(_LINE_BREAK)) if line]
        self._inline.clear()
        self._append(written)

    def _finish_heading(self) -> None:
        text = fold("".join(self._inline))
        self._inline.clear()
        level, self._level = self._level, 0
        if text:
            self._append([f"{'#' * level} {text}"], apart=True)
            self.headings.append(Heading(line=len(self.lines), level=level, text=text))

    def _finish_pre(self) -> None:
        text = "".join(self._pre or ())
        self._pre = None
        text = canonical(text.removeprefix("\r").removeprefix("\n"))[0].replace("\f", "\n")
        if text.strip():
            fence = "```"
            while fence in text:
                fence += "`"
            self._append([fence, *text.split("\n"), fence], verbatim=True)

    def _append(self, lines: list[str], *, apart: bool = False, verbatim: bool = False) -> None:
        """Add lines, with an empty one before them unless they continue a list."""
        if not lines:
            return
        depth = min(self._names["li"] + self._names["dd"], _MAX_INDENT // 2)
        if self.lines and (apart or verbatim or not (depth and self._marker)):
            self.lines.append("")
        if verbatim or apart:
            self.lines += lines
            return
        indent = "  " * depth
        marker, self._marker = self._marker, ""
        if marker:
            self.lines += [f"{indent[2:]}{marker}{lines[0]}", *(indent + line for line in lines[1:])]
        else:
            self.lines += [indent + line for line in lines]

    def _next_marker(self) -> str:
        if not self._lists or self._lists[-1] < 0:
            return "- "
        self._lists[-1] += 1
        return f"{self._lists[-1] - 1}. "


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) < 8 else 1


def read_html(source: str, *, title: str) -> ReadDocument:
    """A canonical text of HTML; `title` is for a page that does not give itself one."""
    tokens = tokens_of(source)
    layout = Layout(tokens, root=_root(tokens))
    if not layout.lines:
        layout = Layout(tokens, root=None)
    return make_document("html", _title(layout) or title, layout.lines, layout.headings)


def _root(tokens: Sequence[Token]) -> str | None:
    """Which element holds what the page is about: `main`, the only `article`, or the whole page."""
    articles = depth = 0
    for token in tokens:
        if isinstance(token, Start):
            if is_main(token):
                return "main"
            if token.name == "article":
                articles += depth == 0
                depth += 1
        elif isinstance(token, End) and token.name == "article":
            depth -= 1
    return "article" if articles == 1 else None


def _title(layout: Layout) -> str:
    """The page's title; when that is the first heading and the name of the site, the heading alone."""
    if not layout.headings:
        return shorten(layout.title)
    heading = shorten(layout.headings[0].text)
    return heading if not layout.title or layout.title.startswith(heading) else shorten(layout.title)
