"""HTML as a stream of tokens, by lxml, with the end tags that authors may leave out; and what the elements mean.

lxml builds no tree here, which would end where elements nest too deep; no file or address is opened, no
entity but those of HTML is known, nothing is run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.errors import DocumentError

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
