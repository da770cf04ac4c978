"""The process that parses files for the index: paths come in, records go out, until its input ends.

Started by `pool.py`. It opens files through the jail of the tree it was started for, reads them, and writes nothing but
its answers. A frame is its length in four bytes and its bytes; an answer is a line of JSON and a record's three parts.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import struct
import sys
from pathlib import Path
from typing import IO

from recollect.codebase.records import FileRecord, read_record
from recollect.codebase.tree import read_text_file
from recollect.files.jail import Jail

#: The first frame: everything is imported.
READY = b"ready"
_LENGTH = struct.Struct("<I")


def main() -> None:
    """Answer until standard input ends."""
    # Nothing here makes cycles, and looking for them in ever new lists takes a tenth of the time.
    gc.disable()
    # What a grammar prints must not stand between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    write_frame(answers, READY)
    with Jail(Path(sys.argv[1])) as jail, contextlib.suppress(BrokenPipeError):
        while (frame := read_frame(sys.stdin.buffer)) is not None:
            for path, language in json.loads(frame):
                answers.write(answer(jail, path, language))
                answers.flush()


def answer(jail: Jail, path: str, language: str | None) -> bytes:
    """The record of one file as a frame, or a frame that says why there is none."""
    data, why = read_text_file(jail, path)
    if data is None:
        return frame({"path": path, "why": why})
    record = read_record(data, path=path, language=language)
    return frame({"path": path, "sha256": hashlib.sha256(data).hexdigest()}, record)


def frame(head: dict[str, object], record: FileRecord | None = None) -> bytes:
    """Pack an answer."""
    parts: tuple[bytes, ...] = ()
    if record is not None:
        parts = (record.numbers, record.definitions, record.references)
        head = {**head, "language": record.language, "lines": record.lines, "note": record.note,
                "sizes": [len(part) for part in parts]}  # fmt: skip
    body = b"".join((json.dumps(head).encode(), b"\n", *parts))
    return _LENGTH.pack(len(body)) + body


def unpack_frame(body: bytes) -> tuple[dict[str, str], FileRecord | None]:
    """The head of an answer, and the record, if there is one."""
    line, _, rest = body.partition(b"\n")
    head = json.loads(line)
    sizes = head.pop("sizes", None)
    if sizes is None:
        return head, None
    first, second = sizes[0], sizes[0] + sizes[1]
    record = FileRecord(
        language=head.pop("language"),
        lines=head.pop("lines"),
        note=head.pop("note"),
        numbers=rest[:first],
        definitions=rest[first:second],
        references=rest[second:],
    )
    return head, record


def read_frame(source: IO[bytes]) -> bytes | None:
    """The next frame, or None at the end."""
    head = source.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    body = source.read(size)
    return body if len(body) == size else None


def write_frame(target: IO[bytes], body: bytes) -> None:
    """Send a frame."""
    target.write(_LENGTH.pack(len(body)) + body)
    target.flush()


if __name__ == "__main__":
    main()
