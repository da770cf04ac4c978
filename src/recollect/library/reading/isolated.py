"""PDF and Office files are read in a process of their own: their parsers are large, and the files are strangers'.

The child (`child.py`) may use so much time and memory, may write nothing but its answer, and may not reach the network
or start programs; when it dies, only its file is lost. Both its input and its answer are unnamed temporary files.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from recollect.domain.library import ReadDocument
from recollect.errors import (
    DocumentError,
    DocumentReaderMissingError,
    DocumentTooLargeError,
    RecollectError,
    error_class,
)
from recollect.library.reading.sections import ReadingLimits

#: What each kind is read with; all of them come with one extra.
_PACKAGES = {
    "pdf": ("pypdfium2", "pdfplumber"),
    "docx": ("markitdown", "mammoth"),
    "pptx": ("markitdown", "pptx"),
    "xlsx": ("openpyxl",),
    "html": ("lxml",),
}
#: Of the parent's environment a reader needs only what finds libraries.
_KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "LANG")


def require_reader(kind: str, *, name: str) -> None:
    """Refuse a file whose kind needs a package that is not installed."""
    missing = [package for package in _PACKAGES[kind] if find_spec(package) is None]
    if missing:
        raise DocumentReaderMissingError(
            f"{name!r} is {kind.upper()}, and {missing[0]} is not installed: pip install 'recollect[documents]'"
        )


def read_isolated(data: bytes, *, kind: str, name: str, title: str, limits: ReadingLimits) -> ReadDocument:
    """Read a file of this kind within the limits."""
    import subprocess
    import tempfile

    from recollect.storage.embedded.folder import reporting

    require_reader(kind, name=name)
    order = json.dumps({"kind": kind, "name": name, "title": title, "limits": asdict(limits)})
    with (
        reporting("read", Path(name), "nothing is wrong with the file, try again"),
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as answered,
    ):
        given.write(data)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-s", "-m", "recollect.library.reading.child", order],
            stdin=given,
            stdout=answered,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            start_new_session=True,
        )
        try:
            process.wait(timeout=limits.timeout_s)
        except subprocess.TimeoutExpired:
            raise DocumentTooLargeError(
                f"reading {name!r} took longer than {limits.timeout_s:g} s; split it, or raise the limit"
            ) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        return _answer(answered, process.returncode, name=name, limits=limits)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        # A pool of threads for a file would take more address space than the file.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _answer(answered: IO[bytes], returncode: int, *, name: str, limits: ReadingLimits) -> ReadDocument:
    answered.seek(0)
    try:
        document: dict[str, Any] = json.loads(answered.read())
    except ValueError:
        raise _death(returncode, name=name, limits=limits) from None
    if "error" in document:
        raise error_class(document["error"]["code"])(document["error"]["message"])
    return ReadDocument.read(document["read"])


def _death(returncode: int, *, name: str, limits: ReadingLimits) -> RecollectError:
    """What a child that left no answer died of."""
    import signal

    if returncode == -getattr(signal, "SIGXCPU", 0):
        return DocumentTooLargeError(
            f"reading {name!r} took longer than {limits.timeout_s:g} s; split it, or raise the limit"
        )
    cause = f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
    return DocumentError(
        f"{name!r} broke its reader ({cause}): it is damaged, or needs more than"
        f" {limits.memory_bytes:,} bytes of memory; save it again, or split it"
    )
