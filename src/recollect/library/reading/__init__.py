"""From a file's bytes to a document: `read_document` finds out what it is and asks the reader of that kind.

Readers are pure: the same bytes give the same text, nothing is run, fetched or stored. Markdown, HTML, text and code
are read here and now; PDF and Office files by third-party parsers in a process of their own (`isolated.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from recollect.domain.library import ReadDocument
from recollect.errors import (
    DocumentError,
    DocumentReaderMissingError,
    DocumentTooLargeError,
    InvalidInputError,
    RecollectError,
)
from recollect.files.decode import canonical, decode
from recollect.library.reading.html import read_html
from recollect.library.reading.isolated import read_isolated, require_reader
from recollect.library.reading.markdown import read_markdown, read_plain
from recollect.library.reading.sections import DEFAULT_LIMITS, ReadingLimits, shorten
from recollect.library.reading.sniff import BINARY_KINDS, BY_EXTENSION, KINDS, Sniffed, extension_of, sniff
from recollect.library.reading.source import read_source

__all__ = ["DEFAULT_LIMITS", "KINDS", "ReadingLimits", "read_document"]

#: Readers of other packages are entry points of this group: a file's extension = "module:function".
GROUP = "recollect.readers"
#: What such a reader is: from a file's bytes and name to its text in Markdown.
Reader = Callable[[bytes, str], str]
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
    reader = _third_party(name) if kind is None else None
    sniffed = sniff(data, name=name, kind=kind) if reader is None else Sniffed(kind="markdown", extension="")
    title = _name_as_title(name, code=sniffed.kind == "code")
    if reader is not None:
        read = _read_by(reader, data, name, title)
    elif sniffed.kind in BINARY_KINDS:
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


def _third_party(name: str) -> Reader | None:
    """Another package's reader of files with this extension. What is read here already can't be taken over."""
    extension = extension_of(name)
    if not extension or extension in BY_EXTENSION:
        return None
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=extension):
        try:
            reader: Reader = entry.load()
        except (ImportError, AttributeError) as error:
            raise DocumentReaderMissingError(
                f"the reader of .{extension} files can't be loaded from {entry.value!r}: {error}; reinstall its package"
            ) from error
        return reader
    return None


def _read_by(reader: Reader, data: bytes, name: str, title: str) -> ReadDocument:
    try:
        text, notes = canonical(reader(data, name))
    except RecollectError:
        raise
    except Exception as error:
        raise DocumentError(f"{name!r} broke its reader: {type(error).__name__}: {error}") from error
    read = read_markdown(text, title=title)
    return replace(read, notes=(*read.notes, *notes))


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
