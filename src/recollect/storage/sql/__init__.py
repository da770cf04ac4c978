"""Every query, by name.

The `.sql` files beside this one hold queries under `-- name: like_this` followed by a sentence that says
what it does. `{slots}` are filled through `psycopg.sql` (identifiers, generated conditions), values are
always parameters.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_HEADER = re.compile(r"^-- name: (\w+)\n((?:-- .*\n)+)", re.MULTILINE)
FILES = (
    "tenancy.sql",
    "memories.sql",
    "facts.sql",
    "entities.sql",
    "anchors.sql",
    "search.sql",
    "spaces.sql",
    "upkeep.sql",
    "ontology.sql",
    "summaries.sql",
    "jobs.sql",
    "grouped.sql",
    "learning.sql",
    "runs.sql",
    "library.sql",
    "bootstrap.sql",
    "oracle.sql",
    "keys.sql",
    "replies.sql",
    "happenings.sql",
    "overview.sql",
)


@cache
def queries() -> dict[str, str]:
    """All named queries. A name used twice, or a query without a sentence, is a programming error."""
    found: dict[str, str] = {}
    for file in FILES:
        text = (resources.files(__package__) / file).read_text(encoding="utf-8")
        parts = _HEADER.split(text)
        for name, sentence, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            if name in found or not sentence.strip("- \n"):
                raise RuntimeError(f"query {name!r} in {file} is defined twice or not described")
            found[name] = body.strip().rstrip(";")
    return found


def query(name: str) -> str:
    """The text of one named query."""
    return queries()[name]
