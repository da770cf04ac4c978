"""What runs in the process that reads one PDF or Office file: fences first, then the reader, then the answer.

Started by `isolated.py` with the order as its argument, the file on standard input and a file for standard output.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from typing import Any

from recollect.errors import DocumentError, DocumentTooLargeError, RecollectError
from recollect.library.reading.sections import ReadingLimits

_REFUSED_EVENTS = (
    "socket.connect",
    "socket.bind",
    "socket.getaddrinfo",
    "socket.sendto",
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.truncate",
    "os.chmod",
    "os.chown",
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main() -> None:
    """Read one file and print the document, or the error, as JSON."""
    order = json.loads(sys.argv[1])
    limits = ReadingLimits(**order["limits"])
    _fence(limits)
    answer = _answer(sys.stdin.buffer.read(), order, limits)
    sys.stdout.buffer.write(json.dumps(answer).encode())
    sys.stdout.buffer.flush()
    # Native libraries may stumble over their own clean-up; the answer is written.
    os._exit(0)


def _answer(data: bytes, order: dict[str, Any], limits: ReadingLimits) -> dict[str, Any]:
    name = order["name"]
    try:
        if order["kind"] == "pdf":
            from recollect.library.reading.pdf import read_pdf

            return {"read": read_pdf(data, name=name, title=order["title"], limits=limits).document()}
        from recollect.library.reading.office import read_office

        read = read_office(data, kind=order["kind"], name=name, title=order["title"], limits=limits)
        return {"read": read.document()}
    except MemoryError:
        return _failure(
            DocumentTooLargeError(
                f"reading {name!r} needs more than {limits.memory_bytes:,} bytes of memory; split it"
            )
        )
    except RecollectError as error:
        return _failure(error)
    except Exception as error:  # a parser met what its authors did not expect
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return _failure(
            DocumentError(f"{name!r} can't be read as {order['kind'].upper()}: {reason}; save it again")
        )


def _failure(error: RecollectError) -> dict[str, Any]:
    return {"error": {"code": error.code, "message": str(error)}}


def _fence(limits: ReadingLimits) -> None:
    """From here on: bounded memory, processor time and output; no network, no programs, no other files written."""
    try:
        import resource
    except ImportError:  # not on Windows; the parent's clock still holds
        pass
    else:
        seconds = math.ceil(limits.timeout_s) + 1
        # Text, escaped as JSON, takes at most six bytes a character; sections and gaps are small beside it.
        answer_bytes = 6 * limits.max_text_chars + 64_000_000
        for what, amount in (
            (resource.RLIMIT_AS, limits.memory_bytes),
            (resource.RLIMIT_CPU, seconds),
            (resource.RLIMIT_FSIZE, answer_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(what)
            allowed = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
            # Some systems know a limit but do not let it be set; the others still hold.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(what, (allowed, hard))
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _, mode, flags = arguments
        writing = isinstance(mode, str) and not {"w", "a", "x", "+"}.isdisjoint(mode)
        if (writing or (isinstance(flags, int) and flags & _WRITING)) and not isinstance(arguments[0], int):
            raise PermissionError("a reader of documents may not write files")
    elif event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"a reader of documents may not do this: {event}")


if __name__ == "__main__":
    main()
