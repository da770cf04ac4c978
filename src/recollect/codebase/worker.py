"""The process that parses files for the index: paths come in, records go out, until nobody asks any more.

Started by `pool.py`. It opens files through the jail of the tree it was started for, reads them, and writes nothing but
its answers.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from recollect.codebase.records import FileRecord, read_record
from recollect.codebase.tree import read_text_file
from recollect.files.jail import Jail

#: The first message: everything is imported.
READY = "ready"

#: A path, its content's hash, its record; or a path, nothing, and why there is no record.
Parsed = tuple[str, str, FileRecord | str]


def main() -> None:
    """Answer batches of (path, language) on the pipe whose number is the second argument."""
    # Nothing here makes cycles, and looking for them in ever new lists takes a tenth of the time.
    gc.disable()
    pipe = Connection(int(sys.argv[2]))
    pipe.send(READY)
    with Jail(Path(sys.argv[1])) as jail, contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            for path, language in pipe.recv():
                pipe.send(parse_file(jail, path, language))


def parse_file(jail: Jail, path: str, language: str | None) -> Parsed:
    """The record of a file, or why there is none."""
    data, why = read_text_file(jail, path)
    if data is None:
        return path, "", why
    return path, hashlib.sha256(data).hexdigest(), read_record(data, path=path, language=language)


if __name__ == "__main__":
    main()
