"""What an Office file says it unpacks to, looked at before anything is unpacked.

Office files are zip archives of XML. A few kilobytes can unpack to gigabytes, or be a million empty parts.
"""

from __future__ import annotations

import io
import zipfile

from recollect.errors import DocumentEncryptedError, DocumentError, DocumentTooLargeError
from recollect.library.reading.limits import ReadingLimits

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
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, OverflowError) as error:
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
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise DocumentError(f"{name!r} is damaged in {part.filename!r} ({error}); save it again") from error
    if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
        raise DocumentError(f"{name!r} declares entities in {part.filename!r}, as no Office program does")
