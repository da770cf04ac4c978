"""Every query, by name.

The `.sql` files beside this one hold queries under `-- name: like_this` followed by a sentence that says
what it does. `{slots}` are filled through `psycopg.sql` (identifiers, generated conditions), values are
always parameters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from psycopg import sql

_HEADER = re.compile(r"^-- name: (\w+)\n((?:-- .*\n)+)", re.MULTILINE)


@cache
def queries(package: str = __package__) -> dict[str, str]:
    """All named queries of a package. A name used twice is a programming error."""
    named: dict[str, str] = {}
    for file in sorted(resources.files(package).iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            parts = _HEADER.split(file.read_text(encoding="utf-8"))
            for name, body in zip(parts[1::3], parts[3::3], strict=True):
                if name in named:
                    raise RuntimeError(f"query {name!r} in {file.name} is defined twice")
                named[name] = body.strip().rstrip(";")
    return named


def query(name: str) -> str:
    """The text of one named query."""
    return queries()[name]


def compose(name: str, slots: Mapping[str, sql.Composable] | None = None) -> sql.Composed:
    """A named query with its slots filled."""
    return plain(name) if not slots else sql.SQL(query(name)).format(**slots)


@cache
def plain(name: str) -> sql.Composed:
    """A named query without slots."""
    return sql.Composed([sql.SQL(query(name))])
