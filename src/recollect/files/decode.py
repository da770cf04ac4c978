"""From bytes to canonical text: which encoding, and which characters may stay.

A byte order mark decides; then UTF-16 without one, UTF-8 (a text that is valid UTF-8 is UTF-8, whatever it declares),
what the file itself declares, and Windows Latin. A text that is mostly UTF-8 with some other bytes in it keeps its
UTF-8, and the other bytes become U+FFFD. Anything but a mark and plain UTF-8 is said in a note.
"""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: In the first lines: `<meta charset=...>`, `<?xml encoding=...?>`, `# -*- coding: ... -*-`.
_DECLARED = re.compile(rb"""(?:charset|encoding|coding)[ \t]*[:=][ \t]*["']?([A-Za-z0-9._-]{2,30})""")
_DECLARED_WITHIN_BYTES = 2_048
#: Encodings of text that people use; Python's list also has compressors and slow curiosities.
_USUAL = re.compile(
    r"(utf-?8(-sig)?|us-ascii|ascii|(iso[-_]?)?8859[-_]\d{1,2}|iso[-_]8859[-_]\d{1,2}|latin-?1|windows-\d{3,4}|cp\d{3,4}"
    r"|koi8-[rtu]|mac-?roman|macintosh|gb2312|gbk|gb18030|big5|shift[-_]jis|sjis|euc[-_](jp|kr)|iso-2022-(jp|kr))"
)
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
#: Bytes that Windows Latin leaves undefined; as Latin 1 they are invisible controls.
_CP1252_UNDEFINED = b"\x81\x8d\x8f\x90\x9d"

#: Characters that some programs take for the end of a line, and others do not.
_OTHER_LINE_ENDS = re.compile("[\x0b\x1c\x1d\x1e\x85\u2028\u2029]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

#: Control characters that do not stand in texts, not even in those of terminals.
_CONTROLS = bytes(set(range(32)) - {0, 7, 8, 9, 10, 11, 12, 13, 27})


def decode(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The text, and notes about how it was found out."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decoded(data[len(mark) :], encoding)
    wide = unmarked_utf16(data)
    if wide is not None:
        text, notes = _decoded(data, wide)
        return text, (f"no byte order mark; read as {wide.upper()}", *notes)
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        pass
    declared = _declared_encoding(data)
    if declared is not None:
        try:
            return data.decode(declared), ()
        except (UnicodeDecodeError, LookupError):
            pass
    if _MULTIBYTE.search(data) is None:
        return _windows_latin(data), ("not UTF-8; read as Windows-1252 (Latin)",)
    return _decoded(data, "utf-8")


def canonical(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with one kind of line end, and without characters that can't be stored; form feeds stay.

    Blank lines at the end are cut off; none is added or removed anywhere else, so line numbers are the file's own.
    """
    notes: list[str] = []
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = _OTHER_LINE_ENDS.sub(" ", text)
    if "\x00" in text:
        notes.append(f"{text.count(chr(0)):,} NUL characters were replaced by U+FFFD")
        text = text.replace("\x00", "\ufffd")
    text, surrogates = _LONE_SURROGATE.subn("\ufffd", text)
    if surrogates:
        notes.append(f"{surrogates:,} broken characters were replaced by U+FFFD")
    return text.rstrip(), tuple(notes)


def unmarked_utf16(data: bytes) -> str | None:
    """UTF-16 without a byte order mark shows as NUL in every second byte of plain Latin text."""
    sample = data[:4_096]
    sample = sample[: len(sample) // 2 * 2]
    if len(sample) < 8:
        return None
    half = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > half * 0.6 and even < half * 0.1:
        return "utf-16-le"
    if even > half * 0.6 and odd < half * 0.1:
        return "utf-16-be"
    return None


def looks_binary(data: bytes) -> bool:
    """Whether these bytes can't be text in any encoding that is read here."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")) or unmarked_utf16(data) is not None:
        return False
    sample = data[:8_192]
    if not sample:
        return False
    controls = sum(sample.count(byte) for byte in _CONTROLS)
    return sample.count(0) > len(sample) // 500 or controls > len(sample) // 10


def _declared_encoding(data: bytes) -> str | None:
    match = _DECLARED.search(data[:_DECLARED_WITHIN_BYTES])
    if match is None:
        return None
    name = match[1].decode("ascii").lower()
    if _USUAL.fullmatch(name) is None:
        return None
    # Pages that say Latin 1 mean Windows Latin, and browsers read them so.
    return "cp1252" if name in {"latin-1", "latin1", "iso-8859-1", "us-ascii", "ascii"} else name


def _decoded(data: bytes, encoding: str) -> tuple[str, tuple[str, ...]]:
    try:
        return data.decode(encoding), ()
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        count = text.count("\ufffd")
        return text, (f"mixed encodings: {count:,} places are not {encoding.upper()} and became U+FFFD",)


def _windows_latin(data: bytes) -> str:
    if data.translate(None, _CP1252_UNDEFINED) == data:
        return data.decode("cp1252")
    return data.decode("latin-1")
