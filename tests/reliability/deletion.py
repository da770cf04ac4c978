"""A marker that every feature has seen, and where it is left after it was deleted: in no table, file or log of ours.

What deletion can't reach (an export, a backup, a folder of the user's own) must be named in the receipt instead.
Whatever a feature has written below the home is closed to other users of the machine.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from tests.reliability.histories import dump

from recollect import Recollect, Settings
from recollect.domain.results import Receipt
from recollect.errors import RecollectError
from recollect.storage.embedded import ensure_running, temporary_home

WAYS = ("delete", "forget_user", "tenants.forget")


def remember(client: Recollect, marker: str) -> list[str]:
    """Let everything that works with memories see the marker; gives what did."""
    first = client.add(
        f"Ana met {marker} in Lisbon.",
        entities=[marker],
        metadata={"who": marker},
        conversation=f"talk with {marker}",
        speaker=marker,
    )
    client.update(first.id, text=f"Ana met {marker} in Porto.")
    fact = client.add(f"{marker} works at Acme", type="semantic", source=f"note {marker}")
    newer = client.add(f"{marker} works at Globex", type="semantic")
    with suppress(RecollectError):
        client.supersede(fact.id, by=newer.id)
    client.add([{"role": "user", "content": f"My dentist is {marker} and I pay on Mondays."}], infer=True)
    client.entities.declare(marker)
    client.entities.alias(f"old {marker}", marker)
    hits = client.search(f"Where did Ana meet {marker}?")
    client.explain(f"Where did Ana meet {marker}?")
    client.context(f"What is known about {marker}?")
    client.ask(f"Where does {marker} work?")
    for hit in hits:
        client.feedback(hit.id, "helpful", query_id=hits.query_id)
    for number in range(30):
        client.add(f"{marker} called for the {number}th time about invoice {number * 17}.")
    client.consolidate()
    client.sweep()
    client.overview()
    client.events.list()
    return [
        "add",
        "update",
        "supersede",
        "infer",
        "entities",
        "search",
        "context",
        "ask",
        "feedback",
        "consolidate",
    ]


def use(client: Recollect, marker: str, folder: Path) -> list[str]:
    """Let everything else see it, too."""
    document = f"# Guide of {marker}\n\n## Tokens\n\nA token of {marker} expires after 15 minutes.\n"
    client.library.add(document.encode(), name=f"{marker}.md")
    docs, code = folder / "docs", folder / "code"
    docs.mkdir()
    code.mkdir()
    (docs / "note.md").write_text(f"# Note\n\n{marker} presses the button.\n", encoding="utf-8")
    (code / "shop.py").write_text(f"def charge_{marker}(amount):\n    return amount\n", encoding="utf-8")
    client.library.add_folder(docs)
    client.library.search(f"When does a token of {marker} expire?")
    found = client.oracle_consult(f"When does a token of {marker} expire?", working_dir=code)
    client.consultations.repeat(found.consultation.id)
    client.explore(code, f"Where is charge_{marker} defined?", task_id=f"task {marker}")
    client.ask(f"What does charge_{marker} do?", working_dir=code)
    client.keys.create(f"key of {marker}", user=client.tenant_context.user_id)
    client.export_jsonl(io.StringIO())
    with suppress(RecollectError):
        client.learning.train()
    return ["library", "consult", "explore", "ask about code", "keys", "export"]


def erase(client: Recollect, way: str) -> list[Receipt]:
    """Delete it in one of the ways."""
    if way == "forget_user":
        return [client.forget_user(str(client.tenant_context.user_id))]
    if way == "tenants.forget":
        return [client.tenants.forget(client.tenant_context.tenant_id)]
    for name in [entity.name for entity in client.entities.list()]:
        with suppress(RecollectError):
            client.entities.forget(name)
    receipts = []
    while memories := client.list(include_superseded=True, limit=1_000):
        # A summary goes with what it sums up.
        receipts.append(client.delete(memories[0].id, vacuum=len(memories.items) == 1))
    return receipts


def left(home: Path, marker: str) -> list[str]:
    """Every table and file of a home that holds the marker in any spelling."""
    spellings = [marker.encode(), marker.lower().encode(), marker.encode("utf-16-le")]
    places = []
    with psycopg.connect(ensure_running(home).owner, autocommit=True) as owner:
        places += [f"table {name}" for name, rows in dump(owner) if marker.lower() in rows.lower()]
        places += [
            "statistics of the planner"
            for (rows,) in owner.execute(
                "select count(*) from pg_stats where pg_stats::text ilike %s", [f"%{marker}%"]
            )
            if rows
        ]
    for file in sorted(home.rglob("*")):
        with suppress(FileNotFoundError):
            content = file.read_bytes() if file.is_file() and not file.is_socket() else b""
            if any(spelling in content for spelling in spellings):
                places.append(f"file {file.relative_to(home)}")
    return places


def open_to_others(home: Path) -> list[str]:
    """Every file and folder below a home that others may read, write or enter."""
    found = []
    for path in sorted(home.rglob("*")):
        with suppress(FileNotFoundError):
            if not path.is_symlink() and path.stat().st_mode & 0o077:
                found.append(str(path.relative_to(home)))
    return found


def is_declared(home: Path, place: str) -> bool:
    """Whether a place is where declared names are, which are the tenant's and not a user's."""
    with psycopg.connect(ensure_running(home).owner, autocommit=True) as owner:
        rows = owner.execute(
            "select 'table recollect.' || c.relname, 'file postgres/' || pg_relation_filepath(c.oid) from pg_class c"
            " where c.relnamespace = 'recollect'::regnamespace and c.relname ~ '^entity' and c.relkind in ('r', 'i')"
        ).fetchall()
    return any(place in names for names in rows)


def examine(way: str) -> dict[str, Any]:
    """Everything sees a marker, it is deleted, and every place is looked at."""
    marker = f"Zyx{uuid4().hex[:9]}"
    with temporary_home() as home, tempfile.TemporaryDirectory() as name:
        ensure_running(home)
        settings = Settings(home=home, embedder="wordllama")
        with Recollect(settings=settings) as store:
            store.tenants.create("acme")
            context = store.tenant_context.replace(tenant_id="acme", user_id="ana")
            client = store.for_context(context)
            features = remember(client, marker)
            if way != "delete":
                features += use(client, marker, Path(name))
            environ = {**os.environ, "RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDER": "wordllama"}
            command = [sys.executable, "-m", "recollect.surfaces.cli.main", "search", marker]
            subprocess.run(command, env=environ, check=False, capture_output=True)
            before = left(home, marker)
            exposed = open_to_others(home)
            receipts = erase(client, way)
            named = sorted(
                {what.replace(str(home), "HOME") for receipt in receipts for what in receipt.unreachable}
            )
            after = left(home, marker)
            declared = {place for place in after if is_declared(home, place)}
            if any("declared" in what for what in named):
                after = [place for place in after if place not in declared]
    return {
        "way": way,
        "features": features,
        "places": len(before),
        "left": len(after),
        "named": named,
        "violations": [
            *(f"{way}: left in {place}" for place in after),
            *(f"{path} is open to others" for path in exposed),
        ],
    }


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """Each way to delete."""
    for way in options.only or WAYS:
        yield examine(way)
