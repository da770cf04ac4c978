"""A small library of our own in front of the C library of the database server, compiled when it is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def has_compiler() -> bool:
    """Whether there is one on this machine."""
    return shutil.which("cc") is not None


def compiled(name: str, folder: Path) -> Path:
    """The library of a source beside this file."""
    library = folder / f"{name}.so"
    source = Path(__file__).with_name(f"{name}.c")
    subprocess.run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    library.chmod(0o755)
    return library


@contextmanager
def preloaded(library: Path, **environ: str) -> Iterator[dict[str, str]]:
    """While it lasts, what this process runs has the library, also the embedded server that inherits nothing else."""
    extra = {"LD_PRELOAD": str(library), **environ}
    run = subprocess.run

    def with_library(*args: Any, **options: Any) -> Any:
        return run(*args, **{**options, "env": {**(options.get("env") or os.environ), **extra}})

    subprocess.run = with_library
    try:
        yield extra
    finally:
        subprocess.run = run
