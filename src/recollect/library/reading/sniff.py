"""What a file is: by its content first, by its name second.

A name can be wrong, and then a note says so. What no reader understands is refused here, with what to do instead.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass

from recollect.errors import (
    DocumentEncryptedError,
    DocumentError,
    DocumentTooLargeError,
    DocumentUnsupportedError,
    InvalidInputError,
)
from recollect.files.decode import looks_binary
from recollect.library.reading.sections import ReadingLimits
from recollect.library.reading.source import SOURCE_EXTENSIONS

KINDS = ("markdown", "html", "text", "code", "pdf", "docx", "pptx", "xlsx")
BINARY_KINDS = frozenset({"pdf", "docx", "pptx", "xlsx"})

BY_EXTENSION = {
    **dict.fromkeys(SOURCE_EXTENSIONS, "code"),
    **dict.fromkeys("md markdown mkd mdown mdx qmd rmd".split(), "markdown"),
    **dict.fromkeys("html htm xhtml xht shtml".split(), "html"),
    **dict.fromkeys(
        "txt text log rst adoc asciidoc tex org csv tsv json jsonl yaml yml toml ini cfg conf xml srt vtt".split(),
        "text",
    ),
    **{kind: kind for kind in BINARY_KINDS},
    **dict.fromkeys("docm dotx dotm".split(), "docx"),
    **dict.fromkeys("pptm ppsx potx".split(), "pptx"),
    **dict.fromkeys("xlsm xltx xltm".split(), "xlsx"),
}
#: The part every Office file of a kind has; its name stands in the archive's directory, at the end of the file.
_OFFICE_PARTS = {"docx": b"word/document.xml", "pptx": b"ppt/presentation.xml", "xlsx": b"xl/workbook.xml"}
_PDF = b"%PDF-"
_ZIP = b"PK\x03\x04"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#: First bytes of formats that are no text, and their names.
_OTHER = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\x00", "a TIFF image"),
    (b"MM\x00*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"SQLite format 3", "a SQLite database"),
    (b"{\\rtf", "an RTF document; save it as DOCX or PDF"),
)
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_ANY_TAG = re.compile(rb"<[A-Za-z!/?]")
_MARKDOWN_SIGN = re.compile(rb"^(?: {0,3}#{1,6} \S|```|~~~|\[[^\]\n]+\]: \S)", re.MULTILINE)
_PROSE_KINDS = frozenset({"markdown", "html", "text"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sniffed:
    """What a file is, and a note when its name says otherwise."""

    kind: str
    extension: str
    note: str = ""


def sniff(data: bytes, *, name: str, kind: str | None = None) -> Sniffed:
    """The kind of a file. A kind given by the caller decides between kinds of text; it can't make a PDF of a text."""
    if kind is not None and kind not in KINDS:
        raise InvalidInputError(f"unknown kind of document {kind!r}; give one of {', '.join(KINDS)}")
    extension = extension_of(name)
    by_name = BY_EXTENSION.get(extension)
    found = _binary_kind(data, name)
    if found is None and kind in BINARY_KINDS:
        raise DocumentError(f"{name!r} is not a {kind.upper()} file: it starts with {data[:8]!r}")
    if found is not None:
        if kind is not None and kind != found:
            raise DocumentError(f"{name!r} is {found.upper()}, not {kind}; leave the kind out")
        return Sniffed(kind=found, extension=extension, note=_mismatch(extension, by_name, found))
    if kind is not None:
        return Sniffed(kind=kind, extension=extension)
    found = _text_kind(data, by_name)
    return Sniffed(kind=found, extension=extension, note=_mismatch(extension, by_name, found))


def extension_of(name: str) -> str:
    """The extension in lower case, without its dot; of `Makefile` and `Dockerfile` their name."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1]
    stem, dot, extension = last.rpartition(".")
    return (extension if dot and stem else last).lower() if dot or last in {"Makefile", "Dockerfile"} else ""


def _binary_kind(data: bytes, name: str) -> str | None:
    """The kind of a file that is no text; None for text."""
    # Readers of PDF forgive junk before its mark; a text may well mention the mark in its first lines.
    if data[:64].lstrip(b"\xef\xbb\xbf \t\r\n\x00").startswith(_PDF) or (
        extension_of(name) == "pdf" and _PDF in data[:1_024]
    ):
        return "pdf"
    if data.startswith(_ZIP):
        return _office_kind(data, name)
    if data.startswith(_OLD_OFFICE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise DocumentEncryptedError(
                f"{name!r} is protected by a password; save it without one and add it again"
            )
        raise DocumentUnsupportedError(
            f"{name!r} is an Office file of before 2007; save it as DOCX, PPTX or XLSX and add that"
        )
    for start, what in _OTHER:
        if data.startswith(start):
            raise DocumentUnsupportedError(f"{name!r} is {what}, which has no text to read")
    if looks_binary(data):
        raise DocumentUnsupportedError(
            f"{name!r} is not text, nor PDF, DOCX, PPTX or XLSX: it starts with {data[:8]!r}"
        )
    return None


def _office_kind(data: bytes, name: str) -> str:
    # The directory of an archive is its last part; the names in it are not compressed.
    places = [(data.rfind(part), kind) for kind, part in _OFFICE_PARTS.items()]
    position, kind = max(places)
    if position < 0:
        raise DocumentUnsupportedError(
            f"{name!r} is a zip archive, or an Office file that is cut off; unpack it, or save it again"
        )
    return kind


def _text_kind(data: bytes, by_name: str | None) -> str:
    start = data[:65_536]
    if by_name in BINARY_KINDS:
        by_name = None  # its content is text
    if (by_name is None or by_name in {"text", "markdown"}) and _HTML_START.match(start):
        return "html"
    if by_name == "html" and start.strip() and not _ANY_TAG.search(start) and b"\x00" not in start:
        by_name = None
    if by_name is not None:
        return by_name
    if start.startswith(b"#!"):
        return "code"
    return "markdown" if _MARKDOWN_SIGN.search(start) else "text"


def _mismatch(extension: str, by_name: str | None, found: str) -> str:
    if by_name is None or by_name == found:
        return ""
    if by_name == "text" and found in _PROSE_KINDS and found != "html":
        return ""
    return f"named .{extension}, but its content is {found}; read as {found}"


#: The largest presentations have some thousand parts.
MAX_PARTS = 20_000
#: XML of a large, monotonous sheet packs about a hundred times; more than this is made to harm.
MAX_RATIO = 250
#: Small files may pack as well as they like.
_HARMLESS_BYTES = 20_000_000
_ENCRYPTED_FLAG = 0x1


def check_archive(data: bytes, *, name: str, limits: ReadingLimits) -> zipfile.ZipFile:
    """The archive, when it is one and of a size that can be read.

    The sizes are those its directory declares: Python's reader never unpacks more of a part than that.
    """
    if data.count(b"PK\x01\x02") > 2 * MAX_PARTS:
        raise DocumentTooLargeError(f"{name!r} has more than {MAX_PARTS:,} parts; save it again, or split it")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError, OverflowError) as error:
        raise DocumentError(f"{name!r} is damaged or cut off ({error}); save it again") from error
    if len(parts) > MAX_PARTS:
        raise DocumentTooLargeError(f"{name!r} has more than {MAX_PARTS:,} parts; save it again, or split it")
    unpacked = sum(part.file_size for part in parts)
    if unpacked > limits.max_unpacked_bytes:
        raise DocumentTooLargeError(
            f"{name!r} would unpack to {unpacked:,} bytes, the limit is {limits.max_unpacked_bytes:,}; split it"
        )
    if unpacked > _HARMLESS_BYTES and unpacked > MAX_RATIO * len(data):
        raise DocumentTooLargeError(
            f"{name!r} would unpack to {unpacked // len(data):,} times its size, as no real document does"
        )
    if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
        raise DocumentEncryptedError(
            f"{name!r} is protected by a password; save it without one and add it again"
        )
    for part in parts:
        if part.filename.lower().endswith((".xml", ".rels")):
            _refuse_entities(archive, part, name)
    return archive


def _refuse_entities(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> None:
    """A document type has no place in an Office file; entities in it could fill the memory or name other files."""
    try:
        with archive.open(part) as opened:
            start = opened.read(4_096)
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError, EOFError) as error:
        raise DocumentError(f"{name!r} is damaged in {part.filename!r} ({error}); save it again") from error
    if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
        raise DocumentError(f"{name!r} declares entities in {part.filename!r}, as no Office program does")
