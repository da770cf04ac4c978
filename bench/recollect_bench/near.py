"""Questions next door to what was noted: everything of the memory is in them but the one word that matters.

The notes are in data/near.jsonl, each with a question that it answers (`asked`) and one that it does not (`near`):
about another thing of the same sort, about the same thing of somebody else, or about another attribute of the same
thing. One user notes all of them and asks at the default settings. These are the hardest questions without an answer;
`everyday` has few of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from recollect_bench.everyday import EMBEDDER
from recollect_bench.questions import ALL, mean
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.trial import ensure_tenant, trial_store

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

#: What `everyday` asks of a first hit, and of silence.
BARS = {"answered first": 0.68, "silent": 0.50}


def run_near(*, show: Show) -> Result:
    """Note everything, then ask both questions of every note."""
    rows = read_rows()
    with trial_store(EMBEDDER, None) as client:
        environment = describe_environment()
        owner, _ = ensure_tenant(client, "near")
        owner.add_many([{"text": row["note"]} for row in rows])
        with show.stage("asking", len(rows)) as progress:
            outcomes = []
            for number, row in enumerate(rows, 1):
                outcomes.append(outcome(owner, row))
                progress(number, None)
        environment |= describe_store(client)
    groups = {ALL: outcomes} | {
        group: [one for one in outcomes if one["group"] == group]
        for group in dict.fromkeys(row["group"] for row in rows)
    }
    table = {group: figures(members) for group, members in groups.items()}
    return Result(
        bench="near",
        arguments={},
        measures={
            "figures": table,
            "answered wrongly": {one["near"]: one["shown"] for one in outcomes if not one["silent"]},
            "missed": [one["asked"] for one in outcomes if not one["answered first"]],
        },
        bars=[Bar(name=name, value=table[ALL][name], bar=bar) for name, bar in BARS.items()],
        environment=environment,
    )


def read_rows() -> list[dict[str, str]]:
    """The notes with their questions."""
    file = resources.files(__package__) / "data" / "near.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def outcome(client: Recollect, row: Mapping[str, str]) -> dict[str, Any]:
    """Whether a note is the first hit of its own question, and what the question next door finds."""
    hits, strangers = client.search(row["asked"]), client.search(row["near"])
    return {
        **row,
        "answered first": bool(hits) and hits[0].text == row["note"],
        "silent": not strangers,
        "shown": [hit.text for hit in strangers],
    }


def figures(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How many there are, and the share of each figure."""
    return {"notes": len(outcomes)} | {name: mean(float(one[name]) for one in outcomes) for name in BARS}
