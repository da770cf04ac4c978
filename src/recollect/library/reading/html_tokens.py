"""HTML as a stream of tokens: text, start tags, end tags.

Reads every input in time proportional to its length, which the standard library's parser does not promise for hostile
ones. Follows the HTML standard where documents differ from each other: comments, quoted attributes, elements whose
content is no markup. Nothing is run or fetched. What the tags mean is `html.py`'s business.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: A start tag as most are written, at once. It never looks beyond the next "<" or ">", and never looks back.
_USUAL_TAG = re.compile(
    r"""<([A-Za-z][A-Za-z0-9]*+)((?:\s++[A-Za-z_:][\w:.-]*+(?:="[^"<>]*+")?+)*+)\s*+(/?+)>"""
)
_USUAL_ATTRIBUTE = re.compile(r"""([A-Za-z_:][\w:.-]*)(?:="([^"]*)")?""")
_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE_NAME = re.compile(r"[^\s/>=][^\s/>=]*")
_BLANKS = re.compile(r"[\s/]*")
_SPACE = re.compile(r"\s*")
_UNQUOTED = re.compile(r"[^\s>]*")
#: Elements whose content is text up to their end tag, whatever it looks like.
RAW_ELEMENTS = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
_RAW_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in RAW_ELEMENTS}
#: Python refuses to read longer numbers; no character has one.
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{8,};?")


@dataclass(frozen=True, slots=True)
class Text:
    """Characters outside tags, with references (`&amp;`) resolved."""

    text: str


@dataclass(frozen=True, slots=True)
class Start:
    """A start tag; `closed` when it ends with `/>`."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    closed: bool = False


@dataclass(frozen=True, slots=True)
class End:
    """An end tag."""

    name: str


Token = Text | Start | End


def tokens_of(source: str) -> Iterator[Token]:
    """The tokens in order. Comments, declarations and a tag that is cut off at the end are left out."""
    position = 0
    while position < len(source):
        opening = source.find("<", position)
        if opening < 0:
            yield Text(unescape(source[position:]))
            return
        if opening > position:
            yield Text(unescape(source[position:opening]))
        after = source[opening + 1 : opening + 2]
        if after.isascii() and after.isalpha():
            start, position = _start_tag(source, opening)
            if start is None:
                return
            yield start
            if start.name in RAW_ELEMENTS and not start.closed:
                raw, position = _raw_content(source, position, start.name)
                if raw:
                    yield Text(unescape(raw) if start.name in {"title", "textarea"} else raw)
        elif after == "/":
            name = _NAME.match(source, opening + 2)
            closing = source.find(">", opening)
            if closing < 0:
                return
            if name is not None:
                yield End(name[0].lower())
            position = closing + 1
        elif after in {"!", "?"}:
            text, position = _declaration(source, opening)
            if text:
                yield Text(text)
        else:
            yield Text("<")
            position = opening + 1


def unescape(text: str) -> str:
    """The text with its character references resolved."""
    if "&" not in text:
        return text
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text))


def _declaration(source: str, opening: int) -> tuple[str, int]:
    """The text of a CDATA section, nothing of a comment or declaration; and the position behind it."""
    if source.startswith("<!--", opening):
        # `<!-->` and `<!--->` are whole comments.
        closing = source.find("-->", opening + 2)
        return "", len(source) if closing < 0 else closing + 3
    if source.startswith("<![CDATA[", opening):
        closing = source.find("]]>", opening)
        end = len(source) if closing < 0 else closing
        return source[opening + 9 : end], len(source) if closing < 0 else closing + 3
    closing = source.find(">", opening)
    return "", len(source) if closing < 0 else closing + 1


def _raw_content(source: str, position: int, name: str) -> tuple[str, int]:
    closing = _RAW_ENDS[name].search(source, position)
    if closing is None:
        return source[position:], len(source)
    return source[position : closing.start()], closing.start()


def _start_tag(source: str, opening: int) -> tuple[Start | None, int]:
    """A start tag and the position behind it; None when the source ends within it."""
    usual = _USUAL_TAG.match(source, opening)
    if usual is not None:
        found: dict[str, str] = {}
        if usual[2]:
            for attribute_name, value in _USUAL_ATTRIBUTE.findall(usual[2]):
                found.setdefault(attribute_name.lower(), unescape(value))
        return Start(usual[1].lower(), found, bool(usual[3])), usual.end()
    return _unusual_start_tag(source, opening)


def _unusual_start_tag(source: str, opening: int) -> tuple[Start | None, int]:
    """A start tag in any form the standard allows."""
    name = _NAME.match(source, opening + 1)
    assert name is not None
    position = name.end()
    attributes: dict[str, str] = {}
    while True:
        blanks = _BLANKS.match(source, position)
        assert blanks is not None
        position = blanks.end()
        if position >= len(source):
            return None, position
        if source[position] == ">":
            closed = source[position - 1] == "/"
            return Start(name[0].lower(), attributes, closed), position + 1
        attribute = _ATTRIBUTE_NAME.match(source, position)
        if attribute is None:  # a stray "="
            position += 1
            continue
        value, position = _attribute_value(source, attribute.end())
        if value is None:
            return None, position
        attributes.setdefault(attribute[0].lower(), value)


def _attribute_value(source: str, position: int) -> tuple[str | None, int]:
    """The value behind an attribute's name, "" when it has none; None when its quote is never closed."""
    space = _SPACE.match(source, position)
    assert space is not None
    if source[space.end() : space.end() + 1] != "=":
        return "", position
    space = _SPACE.match(source, space.end() + 1)
    assert space is not None
    position = space.end()
    quote = source[position : position + 1]
    if quote in {'"', "'"}:
        closing = source.find(quote, position + 1)
        if closing < 0:
            return None, len(source)
        return unescape(source[position + 1 : closing]), closing + 1
    unquoted = _UNQUOTED.match(source, position)
    assert unquoted is not None
    return unescape(unquoted[0]), unquoted.end()
