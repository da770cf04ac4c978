"""Anything as an argument of any public call: it answers or raises one of our errors.

What led to an outcome that nothing had led to before is kept in `corpus.jsonl`, and tried again by a test.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path, PosixPath
from typing import Any
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given, settings
from tests.reliability.results import kept, open_store
from tests.surfaces.test_fuzzed_calls import CALLS, arguments, found, refuses_or_answers

from recollect import Recollect, TenantContext

CORPUS = Path(__file__).with_name("corpus.jsonl")
#: Of each function, before the next has its turn.
TURN = 250
#: What the text of an argument may be made of.
NAMES = {
    "datetime": datetime, "Decimal": Decimal, "PosixPath": PosixPath, "UUID": UUID, "nan": float("nan"),
    "inf": float("inf"), "print": print, "object": object, "range": range,
}  # fmt: skip


class Corpus:
    """One example of each outcome that a function ever had."""

    def __init__(self) -> None:
        lines = CORPUS.read_text("utf-8").splitlines() if CORPUS.exists() else []
        self._outcomes = {(one["call"], one["outcome"]) for one in map(json.loads, lines)}

    def offer(self, call: str, values: dict[str, Any], outcome: str) -> None:
        """Keep what leads to a new outcome, if it can be written down."""
        # What it is about, without the values: the first words.
        outcome = " ".join(re.sub(r"'.*|\d.*|\(.*", "", outcome).split()[:5])
        text = re.sub(r"<built-in function print>", "print", repr(values))
        text = re.sub(r"<object object at 0x\w+>", "object()", text)
        if (call, outcome) in self._outcomes or not _is_readable(text):
            return
        self._outcomes.add((call, outcome))
        with CORPUS.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"call": call, "outcome": outcome, "values": text}) + "\n")


def _is_readable(text: str) -> bool:
    try:
        read(text)
    except Exception:
        return False
    return len(text) < 300


def read(text: str) -> dict[str, Any]:
    """The arguments that a line of the corpus holds."""
    values: dict[str, Any] = eval(text, {"__builtins__": {}}, NAMES)  # our own file
    return values


def try_calls(client: Recollect, call: str, count: int, corpus: Corpus) -> tuple[int, list[str]]:
    """So many calls of a function; gives how many there were, and what is not ours."""
    calls, wrong = 0, []

    @settings(max_examples=count, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(arguments(found(call)))
    def attempt(values: dict[str, Any]) -> None:
        nonlocal calls
        calls += 1
        corpus.offer(call, values, refuses_or_answers(client, call, values))

    try:
        attempt()
    except Exception as error:
        wrong.append(f"{call}: {error!r} {getattr(error, '__notes__', '')}")
    return calls, wrong


def slices(options: Namespace) -> Iterator[dict[str, Any]]:
    """All functions in turns, until so many calls were made in all."""
    wanted = (options.count or 100_000) - sum(line["calls"] for line in kept("fuzz"))
    corpus = Corpus()
    with open_store() as (store, _), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        while wanted > 0:
            for call in options.only or CALLS:
                tenant = f"fuzz-{uuid4().hex[:12]}"
                store.tenants.create(tenant)
                context = TenantContext(tenant_id=tenant, user_id="ana", roles=("admin", "operator"))
                calls, wrong = try_calls(store.for_context(context), call, TURN, corpus)
                wanted -= calls
                yield {"call": call, "calls": calls, "violations": wrong}
