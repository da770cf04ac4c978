"""Read the demo world from the package, and store it through the client's public verbs.

Every memory has a `key`, kept in its metadata, by which questions name their answers. `store_world` is safe
to call again: a complete world is left alone, an incomplete one of ours is forgotten and stored anew, and a
tenant that is not ours is never touched.

A question is only hard to answer among things that are not the answer: tickets, repairs, deployments, stand-ups and
depots are the everyday noise of `world/everyday.jsonl`. Whatever can be asked for on purpose is in the other files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from recollect.domain.codec import decode_fields
from recollect.domain.memory import Status
from recollect.domain.tenancy import TenantContext
from recollect.errors import ConflictError, StoreError, TenantNotFoundError

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect

DEMO_TENANT = "demo"

#: The name that memories and scopes of the whole company carry in the data files.
_COMPANY = "company"

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody at Fernhill, with the scopes he or she leads or is a member of."""

    id: str
    name: str
    job: str
    lead: tuple[str, ...] = ()
    member: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, who asks it, and the keys of the memories that answer it. `told`: it is in the demo's story."""

    ask: str
    asked_by: str
    kind: str
    expect: tuple[str, ...]
    as_of: datetime | None
    told: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything there is. `memories` are items for `add_many`, plus `key`, `by` and `supersedes`."""

    name: str
    about: str
    now: datetime
    scopes: tuple[tuple[str, str], ...]
    people: tuple[Person, ...]
    memories: tuple[Mapping[str, Any], ...]
    questions: tuple[Question, ...]

    @property
    def label(self) -> str:
        """The tenant's name, by which a stored world of this very content is recognised."""
        content = json.dumps(self.memories, default=str, sort_keys=True)
        return f"{self.name}, demo world {hashlib.sha256(content.encode()).hexdigest()[:8]}"

    def context(self, user_id: str, *, tenant: str = DEMO_TENANT) -> TenantContext:
        """The context of a person; what they lead and where they belong is in the database."""
        return TenantContext(tenant_id=tenant, user_id=user_id)


@cache
def load_world() -> World:
    """The world as it is in the package."""
    company = json.loads(_read("company.json"))
    everyday = ({**item, "metadata": {"kind": "everyday"}} for item in _items("everyday.jsonl"))
    return World(
        name=company["name"],
        about=company["about"],
        now=_moment(company["now"]),
        scopes=tuple((item["scope"], item["parent"]) for item in company["scopes"]),
        people=tuple(decode_fields(Person, item) for item in company["people"]),
        memories=(*_items("memories.jsonl"), *_conversation_turns(), *everyday),
        questions=tuple(
            decode_fields(
                Question,
                item,
                asked_by=item["as"],
                as_of=_moment(item["as_of"]) if "as_of" in item else None,
            )
            for item in json.loads(_read("questions.json"))
        ),
    )


def _read(name: str) -> str:
    return resources.files("recollect.contrib.demo").joinpath("world", name).read_text(encoding="utf-8")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def _items(file: str) -> Iterator[dict[str, Any]]:
    for line in _read(file).splitlines():
        item = json.loads(line)
        item["created_at"] = _moment(item.pop("at"))
        yield item


def _conversation_turns() -> Iterator[dict[str, Any]]:
    for line in _read("conversations.jsonl").splitlines():
        talk = json.loads(line)
        for number, (speaker, text) in enumerate(talk["turns"], 1):
            turn = {
                "key": f"{talk['key']}/{number}",
                "scope": talk["scope"],
                "text": text,
                "created_at": _moment(talk["at"]) + timedelta(seconds=40 * (number - 1)),
                "conversation": talk["key"],
                "speaker": speaker,
            }
            yield {**turn, "by": talk["by"]} if "by" in talk else turn


def store_world(
    client: Recollect,
    world: World,
    *,
    tenant: str = DEMO_TENANT,
    fresh: bool = False,
    progress: Progress | None = None,
) -> bool:
    """Store the world into its own tenant, as an operator; False when it was there already."""
    admin = client.for_context(TenantContext(tenant_id=tenant, user_id="quinn", roles=("admin", "operator")))
    known = _find_tenant_name(admin)
    if known is not None:
        if not known.startswith(world.name):
            raise ConflictError(
                f"tenant {tenant!r} exists and is not the demo world; "
                "choose another with `recollect --tenant NAME demo`"
            )
        stored = sum(scope.memories for scope in admin.scopes.list())
        if known == world.label and stored >= len(world.memories) and not fresh:
            return False
        client.tenants.forget(tenant)
    client.tenants.create(tenant, name=world.label)
    _store_tree(admin, world, tenant)
    _store_memories(client, admin, world, tenant, progress)
    return True


def _find_tenant_name(admin: Recollect) -> str | None:
    try:
        return admin.tenants.get().name
    except TenantNotFoundError:
        return None


def _store_tree(admin: Recollect, world: World, tenant: str) -> None:
    for scope, parent in world.scopes:
        admin.scopes.create(scope, parent=_placed(parent, tenant))
    for person in world.people:
        for role, scopes in (("lead", person.lead), ("member", person.member)):
            for scope in scopes:
                admin.members.add(person.id, _placed(scope, tenant), role=role)


def _store_memories(
    client: Recollect, admin: Recollect, world: World, tenant: str, progress: Progress | None
) -> None:
    """What is personal is stored by its owner, the rest by the admin, each in one go."""
    groups: dict[str | None, list[Mapping[str, Any]]] = {}
    for memory in world.memories:
        personal = memory["scope"].partition("/")[0] in {"user", "session", "agent"}
        groups.setdefault(memory["by"] if personal else None, []).append(memory)
    ids: dict[str, Any] = {}
    done = 0
    for owner, memories in groups.items():
        writer = admin if owner is None else client.for_context(world.context(owner, tenant=tenant))
        report = writer.add_many(
            [_stored_item(memory, tenant) for memory in memories],
            progress=_shifted(progress, by=done, total=len(world.memories)),
        )
        if report.errors:
            first = report.errors[0]
            raise StoreError(
                f"{len(report.errors)} demo memories were not stored; the first: {first.message}"
            )
        ids.update(zip((memory["key"] for memory in memories), report.ids, strict=True))
        done += len(memories)
    for memory in world.memories:
        if "supersedes" in memory and admin.get(ids[memory["supersedes"]]).status is Status.ACTIVE:
            admin.supersede(ids[memory["supersedes"]], by=ids[memory["key"]])


def _shifted(progress: Progress | None, *, by: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(by + done, total)


def _placed(scope: str, tenant: str) -> str:
    return f"company/{tenant}" if scope == _COMPANY else scope


def _stored_item(memory: Mapping[str, Any], tenant: str) -> dict[str, Any]:
    item = {name: value for name, value in memory.items() if name not in {"key", "by", "supersedes"}}
    item["scope"] = _placed(item["scope"], tenant)
    item["metadata"] = {**item.get("metadata", {}), "key": memory["key"]}
    return item
