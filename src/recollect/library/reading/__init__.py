"""From a file's bytes to a document: `read_document` finds out what it is and asks the reader of that kind.

Readers are pure: the same bytes give the same text, nothing is run, fetched or stored. Markdown, HTML, text and code
are read here and now; PDF and Office files by third-party parsers in a process of their own (`isolated.py`).
"""

from __future__ import annotations

from dataclasses import replace

from recollect.domain.documents import ReadDocument
from recollect.errors import DocumentTooLargeError, InvalidInputError
from recollect.files.decode import canonical, decode
from recollect.library.reading.html import read_html
from recollect.library.reading.isolated import read_isolated, require_reader
from recollect.library.reading.limits import DEFAULT_LIMITS, ReadingLimits
from recollect.library.reading.markdown import read_markdown
from recollect.library.reading.plain import read_plain
from recollect.library.reading.sections import shorten
from recollect.library.reading.sniff import BINARY_KINDS, KINDS, Sniffed, sniff
from recollect.library.reading.source import read_source

__all__ = ["DEFAULT_LIMITS", "KINDS", "ReadingLimits", "read_document"]

#: The longest path that operating systems take.
_MAX_NAME_CHARS = 4_096


def read_document(
    data: bytes, *, name: str, kind: str | None = None, limits: ReadingLimits = DEFAULT_LIMITS
) -> ReadDocument:
    """Read a file. `name` is its file name: it helps to tell what it is, and titles what has no title."""
    if not isinstance(data, bytes):
        raise InvalidInputError(
            f"a document is bytes, not {type(data).__name__}; read the file in binary mode"
        )
    if not isinstance(name, str) or len(name) > _MAX_NAME_CHARS:
        raise InvalidInputError(f"a document's name is a string of at most {_MAX_NAME_CHARS:,} characters")
    if len(data) > limits.max_file_bytes:
        raise DocumentTooLargeError(
            f"{name!r} has {len(data):,} bytes, the limit is {limits.max_file_bytes:,}; split it"
        )
    sniffed = sniff(data, name=name, kind=kind)
    title = _name_as_title(name, code=sniffed.kind == "code")
    if sniffed.kind in BINARY_KINDS:
        read = read_isolated(data, kind=sniffed.kind, name=name, title=title, limits=limits)
    else:
        if sniffed.kind == "html":
            require_reader("html", name=name)
        read = _read_text(data, sniffed, title)
    if len(read.text) > limits.max_text_chars:
        raise DocumentTooLargeError(
            f"{name!r} has {len(read.text):,} characters of text, the limit is {limits.max_text_chars:,}; split it"
        )
    notes = [sniffed.note] if sniffed.note else []
    if not read.text and not read.gaps:
        notes.append("the file holds no text")
    return replace(read, notes=(*notes, *read.notes))


def _read_text(data: bytes, sniffed: Sniffed, title: str) -> ReadDocument:
    decoded, encoding_notes = decode(data)
    text, character_notes = canonical(decoded)
    match sniffed.kind:
        case "html":
            read = read_html(text, title=title)
        case "markdown":
            read = read_markdown(text, title=title)
        case "code":
            read = read_source(text, title=title, extension=sniffed.extension)
        case _:
            read = read_plain(text, title=title)
    return replace(read, notes=(*read.notes, *encoding_notes, *character_notes))


def _name_as_title(name: str, *, code: bool) -> str:
    """The name without folders and, unless it is code, without its extension."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    stem, dot, _ = last.rpartition(".")
    return shorten(canonical(stem if dot and stem and not code else last)[0]) or "document"
