"""HTML as a stream of tokens, by lxml, with the end tags that authors may leave out; what elements mean, and tables.

lxml builds no tree here, which would end where elements nest too deep; no file or address is opened, no
entity but those of HTML is known, nothing is run. Many pages lay themselves out with tables: one that holds another
table, a heading or a single column is no table to a reader, and its cells are read as blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.errors import DocumentError
from recollect.library.reading.sections import fold, markdown_table

_CHUNK_CHARS = 65_536
#: An end tag without a start is looked for in all open elements, so that time is at most the page's length times its
#: depth: pages of 10 MB may nest 400 deep on average, of 100 KB 40,000 deep. 10 MB took 14 to 21 s.
_MAX_CHARS_TIMES_DEPTH = 4_000_000_000


@dataclass(frozen=True, slots=True)
class Text:
    """Characters outside tags, with references (`&amp;`) resolved; a run of them may come in several."""

    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """A start tag."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    """An end tag; every start has one."""

    name: str


Token = Text | Start | End


class _Tokens:
    """What lxml tells of a page, in order. The method names are its protocol."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.tokens.append(Start(name, dict(attributes)))

    def end(self, name: str) -> None:
        self.depth -= 1
        self.tokens.append(End(name))

    def data(self, text: str) -> None:
        self.tokens.append(Text(text))

    def close(self) -> None:
        """The page is read."""


def tokens_of(source: str) -> list[Token]:
    """The tokens of a page. Comments, declarations and a tag that is cut off at the end are left out."""
    from lxml import etree  # type: ignore[import-untyped]  # it ships no types

    page = _Tokens()
    parser = etree.HTMLParser(target=page, encoding="utf-8", no_network=True, huge_tree=True)
    effort = 0
    for start in range(0, len(source), _CHUNK_CHARS):
        parser.feed(source[start : start + _CHUNK_CHARS].encode("utf-8", "replace"))
        effort += page.depth * _CHUNK_CHARS
        if effort > _MAX_CHARS_TIMES_DEPTH:
            raise DocumentError(
                f"elements nest {page.depth:,} deep: the page leaves its tags open or is no page"
            )
    if source:  # lxml has no end for what it never began
        parser.close()
    return page.tokens


HEADINGS = {f"h{level}": level for level in range(1, 7)}
BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure footer"
    " form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre section summary"
    " table tbody td tfoot th thead tr ul".split()
)
#: Never text of the page: programs, styles, drawings, controls, and what is shown only when something is missing.
_SILENT = frozenset(
    "script style template noscript noembed noframes iframe object applet video audio canvas svg nav head select button"
    " textarea datalist annotation annotation-xml dialog map".split()
)
_SILENT_ROLES = frozenset("navigation search banner contentinfo menu menubar toolbar tablist doc-toc".split())
#: Class names of navigation and of links to headings, as DocBook, Sphinx and their relatives write them.
_SILENT_CLASSES = frozenset(
    "navheader navfooter toc tableofcontents table-of-contents breadcrumb breadcrumbs headerlink anchorjs-link"
    " permalink skip-link skiplink sphinxsidebar".split()
)
_ASIDE_CLASSES = frozenset(
    "note tip warning caution important danger hint attention admonition sidebar callout alert markdown-alert"
    " seealso".split()
)
_ASIDE_ELEMENTS = frozenset("div section blockquote details table dl fieldset p".split())
_PERMALINKS = frozenset({"¶", "#", "§", "🔗", "\uf0c1"})


def is_main(tag: Start) -> bool:
    """Whether the page itself says that this is what it is about."""
    return tag.name == "main" or tag.attributes.get("role", "").strip().lower() == "main"


def is_silent(tag: Start) -> bool:
    """Whether nothing inside is text of the page."""
    if tag.name in _SILENT:
        return True
    attributes = tag.attributes
    if not attributes or tag.name in {"html", "body"}:
        return False
    role = attributes.get("role", "").strip().lower()
    if role == "tabpanel":  # the other tabs are hidden, and one click away
        return False
    if role in _SILENT_ROLES or "hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true":
        return True
    style = attributes.get("style", "")
    if style and "display:none" in style.replace(" ", "").lower():
        return True
    names = attributes.get("class", "")
    return bool(names) and not _SILENT_CLASSES.isdisjoint(names.lower().split())


def is_aside(tag: Start) -> bool:
    """Whether this is a note, a warning or a sidebar: headings inside start no section."""
    if tag.name == "aside":
        return True
    if not tag.attributes:
        return False
    if tag.attributes.get("role", "").strip().lower() == "note":
        return True
    names = tag.attributes.get("class", "")
    return (
        bool(names) and tag.name in _ASIDE_ELEMENTS and not _ASIDE_CLASSES.isdisjoint(names.lower().split())
    )


def is_permalink(text: str, *, in_heading: bool) -> bool:
    """Whether a link's text only marks a place to link to."""
    text = text.strip()
    return text in _PERMALINKS and (in_heading or text in {"¶", "\uf0c1"})


#: No table is wider; a span beyond it is a mistake, or an attempt to fill the memory.
_MAX_COLUMNS = 200
_MAX_SPANNED_ROWS = 1_000
_LAYOUT_CONTENT = frozenset({"h1", "h2", "h3", "pre"})


@dataclass(slots=True)
class _Seen:
    index: int
    columns: int = 0
    cells: int = 0
    layout: bool = False


def plain_tables(tokens: Sequence[Token]) -> set[int]:
    """Where tables start that hold no data to lay out in columns, by their position among the tokens."""
    plain: set[int] = set()
    stack: list[_Seen] = []
    for index, token in enumerate(tokens):
        if isinstance(token, Start):
            if token.name == "table":
                if stack:
                    stack[-1].layout = True
                stack.append(_Seen(index, layout=token.attributes.get("role") in {"presentation", "none"}))
            elif stack and token.name == "tr":
                stack[-1].cells = 0
            elif stack and token.name in {"td", "th"}:
                stack[-1].cells += 1
                stack[-1].columns = max(stack[-1].columns, stack[-1].cells)
            elif stack and token.name in _LAYOUT_CONTENT:
                stack[-1].layout = True
        elif isinstance(token, End) and token.name == "table":
            table = stack.pop()
            if table.layout or table.columns <= 1:
                plain.add(table.index)
    return plain


class GridTable:
    """The rows of a table that is open; cells that span several keep their text in the first."""

    def __init__(self) -> None:
        self._rows: list[list[str]] = []
        self._row: list[str] | None = None
        self._cell: list[str] | None = None
        self._caption: list[str] | None = None
        self._captions: list[str] = []
        self._spanned: dict[int, int] = {}
        self._heads = 0
        self._head_row = False

    def opened(self, tag: Start) -> None:
        """An element inside the table starts."""
        if tag.name == "tr":
            self._finish_row()
            self._row, self._head_row = [], True
        elif tag.name in {"td", "th"}:
            self._start_cell(tag)
        elif tag.name == "caption":
            self._caption = []

    def closed(self, name: str) -> None:
        """An element inside the table, or the table itself, ends."""
        if name in {"td", "th"}:
            self._finish_cell()
        elif name in {"tr", "table"}:
            self._finish_row()
        elif name == "caption" and self._caption is not None:
            self._captions += [fold(" ".join(self._caption))]
            self._caption = None

    def add(self, text: str) -> None:
        """Text of one block, for the place that is open."""
        into = self._cell if self._cell is not None else self._caption
        if text.strip():
            (self._captions if into is None else into).append(text)

    def lines(self) -> list[str]:
        """The caption, and the table as Markdown."""
        self._finish_row()
        lines = [fold(line) for line in self._captions if line.strip()]
        rows = [row for row in self._rows if any(row)]
        return [*lines, *([""] if lines else []), *markdown_table(rows, has_header=self._heads > 0)]

    def _start_cell(self, tag: Start) -> None:
        self._finish_cell()
        if self._row is None:
            self._row, self._head_row = [], True
        self._skip_spanned()
        wide = _span(tag.attributes.get("colspan", "1"), _MAX_COLUMNS - len(self._row))
        high = _span(tag.attributes.get("rowspan", "1"), _MAX_SPANNED_ROWS)
        if high > 1:
            for column in range(len(self._row), len(self._row) + wide):
                self._spanned[column] = high
        self._row += [""] * (wide - 1)
        self._cell = []
        self._head_row = self._head_row and tag.name == "th"

    def _skip_spanned(self) -> None:
        assert self._row is not None
        while self._spanned.get(len(self._row), 0) > 0 and len(self._row) < _MAX_COLUMNS:
            self._row.append("")

    def _finish_cell(self) -> None:
        if self._cell is None or self._row is None:
            return
        self._row.append(fold(" ".join(self._cell)))
        self._cell = None

    def _finish_row(self) -> None:
        self._finish_cell()
        if self._row is None:
            return
        if not self._rows and self._head_row and self._row:
            self._heads = 1
        self._rows.append(self._row)
        self._row = None
        self._spanned = {column: left - 1 for column, left in self._spanned.items() if left > 1}


def _span(value: str, limit: int) -> int:
    number = int(value) if value.isascii() and value.isdigit() and len(value) < 8 else 1
    return max(1, min(number, limit))
