"""HTML as a stream of tokens, by lxml: text, start tags, end tags, with the end tags that authors may leave out.

lxml builds no tree here, which would end where elements nest too deep; no file or address is opened, no
entity but those of HTML is known, nothing is run. What the tags mean is `html_rules.py`'s business.
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
