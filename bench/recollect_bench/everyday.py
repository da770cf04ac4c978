"""Everyday talk: whether the first hit answers, and whether silence means "not known".

Each `*.json` of the folder is a world: what some people said over months, and what is asked later, by whom and when.
Items are stored one by one in their order, as turns or single memories; questions are asked at the default threshold
and limit. Kinds that want one answer want it first, lists want every answer, and `absent` wants nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.domain.tenancy import TenantContext
from recollect.errors import InvalidInputError
from recollect_bench.questions import ALL, check_mapping, mean
from recollect_bench.result import Bar, Result, describe_environment, describe_store, fingerprint, read_json
from recollect_bench.trial import fresh_tenant, trial_store

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

#: A default store: what a new user gets.
EMBEDDER = "auto"
#: The figure that each kind of question counts for.
FIGURE_OF = {
    **dict.fromkeys("fact update past time negation person task language first".split(), "first"),
    **dict.fromkeys(("list", "count", "compare"), "complete"),
    "absent": "silent",
}
FIGURES = ("first", "complete", "silent", "fresh")
BARS = {"first": 0.68, "complete": 0.75, "silent": 0.50, "fresh": 0.70}
MOST_JUNK = 0.6
_STORED = ("type", "conversation", "speaker", "scope")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one question came to: `right` in its kind's figure, `fresh` where an outdated item exists, wrong hits."""

    id: str
    world: str
    kind: str
    right: bool
    fresh: bool | None
    junk: int

    def value(self, figure: str) -> bool | None:
        """Whether the question reached a figure; None where it does not count for it."""
        if figure == "fresh":
            return self.fresh
        return self.right if FIGURE_OF[self.kind] == figure else None


def run_everyday(folder: Path, *, home: Path | None, show: Show) -> Result:
    """Store every world in a tenant of its own, ask its questions, and count."""
    files, worlds = read_worlds(folder)
    data = fingerprint(*files)
    outcomes: list[Outcome] = []
    with trial_store(EMBEDDER, home) as client:
        environment = describe_environment()
        for name, world in worlds.items():
            tenant = f"everyday-{name}-{data}"
            _store(client, tenant, world, show)
            with show.stage(f"asking {name}", len(world["questions"])) as progress:
                for number, question in enumerate(world["questions"], 1):
                    asker = _as(client, tenant, question["as"])
                    results = asker.search(question["question"], now=datetime.fromisoformat(world["now"]))
                    keys = [str(hit.metadata.get("key")) for hit in results]
                    outcomes.append(weigh(question, keys, world=name))
                    progress(number, None)
        environment |= describe_store(client)
    total = figures(outcomes)
    return Result(
        bench="everyday",
        arguments={"data": data},
        measures={
            "figures": {
                ALL: total,
                **{name: figures(o for o in outcomes if o.world == name) for name in worlds},
            },
            "kinds": _by_kind(outcomes),
            "missed": [f"{o.world} {o.id}" for o in outcomes if not o.right or o.fresh is False],
        },
        bars=[
            *(Bar(name=name, value=total[name] or 0.0, bar=bar) for name, bar in BARS.items()),
            Bar(name="junk per question", value=total["junk"] or 0.0, bar=MOST_JUNK, at_most=True),
        ],
        environment=environment,
    )


def read_worlds(folder: Path) -> tuple[list[Path], dict[str, Mapping[str, Any]]]:
    """The files of a folder, and the world in each by the file's name."""
    files = sorted(folder.glob("*.json"))
    if not files:
        raise InvalidInputError(
            f"there is no world (*.json) in {str(folder)!r}; pass the folder that has them"
        )
    return files, {file.stem: _read_world(file) for file in files}


def _read_world(file: Path) -> Mapping[str, Any]:
    """A world whose items and questions have what is read of them."""
    try:
        world = check_mapping(read_json(file, what="data"))
        datetime.fromisoformat(world["now"])
        for item in world["items"]:
            item["key"], item["text"], datetime.fromisoformat(item.get("created_at", world["now"]))
        for question in world["questions"]:
            question["id"], question["as"], question["question"], question["answers"]
            FIGURE_OF[question["kind"]]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"{file.name!r} has not the shape this benchmark reads: {error!r}") from error
    return world


def _store(client: Recollect, tenant: str, world: Mapping[str, Any], show: Show) -> None:
    """Store what was said, unless a kept home has it; what no user said is stored by an administrator."""
    items = world["items"]
    admin, kept = fresh_tenant(client, tenant, holds=len(items))
    if kept:
        show.say(f"{len(items):,} memories of {tenant} are there already")
        return
    for scope in world.get("scopes", ()):
        admin.scopes.create(scope["scope"])
        for user in scope.get("members", ()):
            admin.members.add(user, scope["scope"])
    with show.stage(f"storing {tenant}", len(items)) as progress:
        for number, item in enumerate(items, 1):
            fields = {name: item[name] for name in _STORED if name in item}
            if "created_at" in item:
                fields["created_at"] = datetime.fromisoformat(item["created_at"])
            speaker = _as(client, tenant, item["user"]) if item.get("user") else admin
            speaker.add(item["text"], metadata={"key": item["key"]}, **fields)
            progress(number, None)


def _as(client: Recollect, tenant: str, user: str) -> Recollect:
    return client.for_context(TenantContext(tenant_id=tenant, user_id=user))


def weigh(question: Mapping[str, Any], keys: Sequence[str], *, world: str = "") -> Outcome:
    """What a question came to, from the keys of its hits in the order returned."""
    answers, stale = set(question["answers"]), set(question.get("stale", ()))
    fair = answers | stale | set(question.get("related", ()))
    figure = FIGURE_OF[question["kind"]]
    if figure == "first":
        right = bool(keys) and keys[0] in answers
    else:
        right = answers <= set(keys) if figure == "complete" else not keys
    leading = next((key for key in keys if key in answers | stale), None)
    return Outcome(
        id=question["id"],
        world=world,
        kind=question["kind"],
        right=right,
        fresh=leading in answers - stale if stale else None,
        junk=sum(key not in fair for key in keys),
    )


def figures(outcomes: Iterable[Outcome]) -> dict[str, float | None]:
    """The share of questions that reach each figure, their mean, and wrong hits per question; None without any."""
    listed = list(outcomes)
    shares: dict[str, float | None] = {}
    for figure in FIGURES:
        values = [value for o in listed if (value := o.value(figure)) is not None]
        shares[figure] = mean(values) if values else None
    return {
        "questions": len(listed),
        **shares,
        "junk": mean(o.junk for o in listed),
        "everyday": mean(share for share in shares.values() if share is not None),
    }


def _by_kind(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    rights: dict[str, list[bool]] = {}
    for outcome in outcomes:
        rights.setdefault(outcome.kind, []).append(outcome.right)
    return {
        kind: {"questions": len(values), "figure": FIGURE_OF[kind], "right": mean(values)}
        for kind, values in sorted(rights.items())
    }
