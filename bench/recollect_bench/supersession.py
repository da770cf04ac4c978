"""Does a new fact retire the old one, and nothing else? Updates and look-alikes, in plain sentences and in talk.

The pairs are in data/supersession.jsonl: two hundred plain ones, written before there were rules, of which half were
held out while the rules were made, and `talk`, changes as people mention them in passing ("Karen left, so Mike is my
boss now") beside jokes, plans, corrections and other people's changes that must retire nothing. Everything goes through
`add`, as a user's statements would: a pair with a speaker as chat messages with `infer`, the others as facts. No model
is used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any
from uuid import UUID

from recollect.domain.memory import Memory, Status
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.trial import ensure_tenant, trial_store

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

#: Vectors decide nothing here, so the fastest embedder will do.
EMBEDDER = "wordllama"
#: Of all facts in all pairs.
MOST_WRONG = 3
PARTS = ("development", "held-out", "talk")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one pair did: facts that were to be retired and were, were not, and facts retired that were not to be."""

    id: str
    half: str
    about: str
    update: bool
    retired: int
    missed: int
    wrong: int


def run_supersession(*, show: Show) -> Result:
    """State every pair in a scope of its own, and count."""
    cases = read_cases()
    outcomes = []
    with trial_store(EMBEDDER) as client:
        environment = describe_environment()
        inside, _ = ensure_tenant(client, "supersession")
        with show.stage("stating", len(cases)) as progress:
            for number, case in enumerate(cases, 1):
                outcomes.append(state(inside, case))
                progress(number, len(cases))
        environment |= describe_store(client)
    measures = {half: _measures([o for o in outcomes if half in ("all", o.half)]) for half in ("all", *PARTS)}
    measures["look-alikes by kind"] = _by_kind(outcomes)
    return Result(
        bench="supersession",
        arguments={},
        measures=measures,
        bars=[
            Bar(name="facts retired wrongly", value=measures["all"]["wrong"], bar=MOST_WRONG, at_most=True)
        ],
        environment=environment,
    )


def read_cases() -> list[dict[str, Any]]:
    """The labelled pairs."""
    file = resources.files(__package__) / "data" / "supersession.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def state(client: Recollect, case: Mapping[str, Any]) -> Outcome:
    """State what was known, then what is new, and look at what is still believed."""
    before = [_state(client, case["id"], item) for item in case["before"]]
    _state(client, case["id"], case["new"])
    due = {id for index in case["retire"] for id in before[index]}
    gone = {id for ids in before for id in ids if client.get(id).status is Status.SUPERSEDED}
    missing = sum(1 for index in case["retire"] if not before[index])
    return Outcome(
        id=case["id"],
        half=case["half"],
        about=case["about"],
        update=bool(case["retire"]),
        retired=len(due & gone),
        missed=len(due - gone) + missing,
        wrong=len(gone - due),
    )


def _state(client: Recollect, case: str, item: Mapping[str, Any]) -> list[UUID]:
    """The facts that one statement became."""
    fields = dict(item)
    scope = f"{fields.pop('scope', 'user/pair')}-{case}"
    if scope.startswith("project/") and scope not in {str(known) for known in client.scopes.list()}:
        client.scopes.create(scope)
    if "speaker" in fields:
        message = {"speaker": fields.pop("speaker"), "content": fields.pop("text")}
        done = client.add([message], scope=scope, infer=True, **fields)
        assert not isinstance(done, Memory | list)
        return [fact.id for fact in done.facts]
    text = fields.pop("text", None)
    stored = client.add(text, scope=scope, type="semantic", **fields)
    assert isinstance(stored, Memory)
    return [stored.id]


def _measures(outcomes: list[Outcome]) -> dict[str, Any]:
    updates = [o for o in outcomes if o.update]
    due = sum(o.retired + o.missed for o in updates)
    return {
        "updates": len(updates),
        "retired": sum(o.retired for o in updates),
        "recall": sum(o.retired for o in updates) / max(1, due),
        "missed": [o.id for o in updates if o.missed],
        "look-alikes": len(outcomes) - len(updates),
        "wrong": sum(o.wrong for o in outcomes),
        "wrongly": [o.id for o in outcomes if o.wrong],
    }


def _by_kind(outcomes: list[Outcome]) -> dict[str, Any]:
    pairs = Counter(o.about for o in outcomes if not o.update)
    wrong = Counter(o.about for o in outcomes if not o.update and o.wrong)
    return {about: {"pairs": count, "wrong": wrong[about]} for about, count in sorted(pairs.items())}
