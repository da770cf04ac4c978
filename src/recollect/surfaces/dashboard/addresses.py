"""Where the dashboard's doors are. Imports no page: commands and the server name them without loading a page."""

from __future__ import annotations

from urllib.parse import urlencode

ROOT = "/dashboard"
LOGIN_PATH, ENTER_PATH, LOGOUT_PATH = f"{ROOT}/login", f"{ROOT}/enter", f"{ROOT}/logout"
#: What NiceGUI's own scripts and sockets are called; a page's socket knows a secret that only its visitor was told.
INSIDE = f"{ROOT}/_nicegui"
#: Where pages send the documents that were dropped on them.
DROP_PATH = f"{INSIDE}/client/"


def inside(path: str) -> str:
    """An address as NiceGUI wants it, which puts the dashboard's own before it."""
    return path.removeprefix(ROOT) or "/"


def link(path: str, **given: object) -> str:
    """A page's address with what it is asked for; what is empty is left out."""
    query = {name: "1" if value is True else str(value) for name, value in given.items() if value}
    return f"{path}?{urlencode(query)}" if query else path
