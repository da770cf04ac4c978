"""Markdown: the text as it is, with sections at its headings.

Headings are `# like this`, or a line with `===` or `---` under it. What looks like one inside fenced code, a comment
or front matter is none. The text is not rendered: line numbers are the file's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.domain.library import PageSpan, ReadDocument
from recollect.library.reading.sections import Heading, fold, make_document, shorten


def read_plain(text: str, *, title: str) -> ReadDocument:
    """A canonical text, in one section."""
    lines, pages = split_pages(text)
    return make_document("text", title, lines, pages=pages)


def split_pages(text: str) -> tuple[list[str], tuple[PageSpan, ...]]:
    """The lines without form feeds, and the pages when there were any.

    A form feed at the start or end of a line is taken out, and line numbers stay the file's own; one within a line
    ends it.
    """
    if "\f" not in text:
        return text.split("\n"), ()
    lines: list[str] = []
    starts = [1]
    for line in text.split("\n"):
        parts = line.split("\f")
        kept = [part for part in parts if part] or [""]
        # A page starts with what follows its form feed: this line if that has text, else the next one.
        seen = 0
        for part in parts[:-1]:
            seen += bool(part)
            starts.append(len(lines) + 1 + min(seen, len(kept)))
        lines += kept
    spans = []
    ends = [start - 1 for start in starts[1:]] + [len(lines)]
    for page, (start, end) in enumerate(zip(starts, ends, strict=True), start=1):
        if start <= end:
            spans.append(PageSpan(page=page, line_start=start, line_end=end))
    return lines, tuple(spans)


_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})(.*)$")
#: A line that can't be the text of an underlined heading: blank, quoted, a list item, a table row, indented code.
_NO_PARAGRAPH = re.compile(r"(?:[ \t]*$| {4}|\t| {0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|\||<))")
_FRONT_TITLE = re.compile(r"""title[ \t]*[:=][ \t]*(?:"([^"]*)"|'([^']*)'|(.*))$""")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_ATTRIBUTES = re.compile(r"[ \t]*\{[#.:][^{}]*\}[ \t]*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
_CODE = re.compile(r"(`+)(.+?)\1")
#: Stars only: `__init__` is a name more often than it is bold.
_EMPHASIS = re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1")
_TAG = re.compile(
    r"</?(?:a|b|i|em|strong|code|kbd|sub|sup|br|img|span|small|font|tt)\b[^<>]*>", re.IGNORECASE
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
#: Underlined headings over more lines than this are paragraphs above a rule.
_MAX_UNDERLINED_LINES = 3


def read_markdown(text: str, *, title: str, kind: str = "markdown") -> ReadDocument:
    """A canonical text in Markdown; `title` is for a document that does not give itself one."""
    lines, pages = split_pages(text)
    body, front_title = _front_matter(lines)
    headings = find_headings(lines, start=body)
    title = front_title or _own_title(headings) or title
    return make_document(kind, title, lines, headings, pages=pages)


def find_headings(lines: Sequence[str], *, start: int = 0) -> list[Heading]:
    """The headings from this index on."""
    headings: list[Heading] = []
    fence = ""
    in_comment = False
    paragraph = 0  # how many lines right above could be the text of an underlined heading
    for index in range(start, len(lines)):
        line = lines[index]
        if fence:
            fence = "" if _closes(line, fence) else fence
            continue
        if in_comment:
            in_comment = "-->" not in line
            continue
        opened = _FENCE.match(line)
        if opened is not None and not (opened[1][0] == "`" and "`" in opened[2]):
            fence, paragraph = opened[1], 0
            continue
        if line.lstrip(" ").startswith("<!--"):
            in_comment, paragraph = "-->" not in line, 0
            continue
        atx = _ATX.match(line)
        if atx is not None:
            text = plain_heading(_CLOSING_MARKS.sub("", atx[2] or ""))
            if text:
                headings.append(Heading(line=index + 1, level=len(atx[1]), text=text))
            paragraph = 0
            continue
        underline = _UNDERLINE.match(line)
        if underline is not None and 0 < paragraph <= _MAX_UNDERLINED_LINES:
            text = plain_heading(" ".join(lines[index - paragraph : index]))
            if text:
                level = 1 if underline[1][0] == "=" else 2
                headings.append(Heading(line=index + 1 - paragraph, level=level, text=text))
            paragraph = 0
            continue
        paragraph = 0 if _NO_PARAGRAPH.match(line) or underline is not None else paragraph + 1
    return headings


def plain_heading(text: str) -> str:
    """A heading without its markup: emphasis, code marks, links, attributes."""
    text = _LINK.sub(r"\1", _ATTRIBUTES.sub("", text[:2_000]))
    parts = []
    end = 0
    for code in _CODE.finditer(text):
        parts += [_plain_words(text[end : code.start()]), code[2]]
        end = code.end()
    return shorten("".join([*parts, _plain_words(text[end:])]))


def _plain_words(text: str) -> str:
    return _ESCAPED.sub(r"\1", _EMPHASIS.sub(r"\2", _TAG.sub("", text)))


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip().lstrip("> ")
    return len(stripped) >= len(fence) and stripped.strip(fence[0]) == ""


def _front_matter(lines: Sequence[str]) -> tuple[int, str]:
    """The index of the first line behind front matter, and the title in it."""
    mark = lines[0].rstrip()
    if mark not in {"---", "+++"}:
        return 0, ""
    title = ""
    for index in range(1, min(len(lines), 500)):
        line = lines[index]
        if line.rstrip() == mark or (mark == "---" and line.rstrip() == "..."):
            return index + 1, shorten(title)
        match = _FRONT_TITLE.match(line)
        if match is not None and not title:
            title = fold(match[1] or match[2] or match[3] or "")
    return 0, ""


def _own_title(headings: Sequence[Heading]) -> str:
    """The only heading of level 1, or the first heading of all."""
    if not headings:
        return ""
    return next((heading.text for heading in headings if heading.level == 1), headings[0].text)
