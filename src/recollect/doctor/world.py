"""Two throw-away tenants for the attacks: the same names in both, a row of every kind in every scope.

They are written by the database's owner in plain SQL, so that no embedder is needed and no wall stands in the
way of building them. Every text carries the tenant's token; whoever reads a token that is not theirs has found
a leak.
"""

# ruff: noqa: S608 - statements are put together here on purpose; none of their parts comes from a caller.

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg

from recollect.doctor.rules import Belonging, Place
from recollect.domain.ids import new_id
from recollect.domain.layers import Layer
from recollect.domain.tenancy import TenantContext

#: Throw-away tenants begin with this; `health` names those that an interrupted run left behind.
PREFIX = "recollect-doctor-"
#: An embedding space no store has: no vector index covers it, so three dimensions do.
SPACE_ID = 32_000

_SHARED = (
    ("org", "west", "company"), ("org", "east", "company"), ("team", "api", "org/west"), ("team", "web", "org/west"),
    ("team", "sea", "org/east"), ("project", "checkout", "team/api"), ("project", "site", "team/web"),
)  # fmt: skip
_USERS = ("ana", "bob", "cleo", "dan")
_OWNED = (
    ("session", "s1", "ana"), ("session", "s1", "bob"), ("session", "s2", "ana"), ("agent", "bot", "ana"),
    ("agent", "bot", "bob"), ("agent", "crawler", ""), ("agent", "miner", ""), ("session", "night", ""),
)  # fmt: skip
_MEMBERS = (
    ("ana", "team/api", "member"), ("bob", "team/web", "member"), ("cleo", "org/west", "lead"),
    ("dan", "project/site", "member"), ("dan", "team/sea", "lead"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One throw-away tenant."""

    tenant_id: str
    token: str
    places: tuple[Place, ...]
    belongings: tuple[Belonging, ...]
    memories: dict[UUID, UUID]
    conversations: dict[UUID, UUID]

    def place(self, written: str, owner: str = "") -> Place:
        """A scope by its written name."""
        layer, _, name = written.partition("/")
        return next(p for p in self.places if (p.layer.value, p.name, p.owner) == (layer, name, owner))

    def as_user(self, user_id: str | None = None, **parts: Any) -> TenantContext:
        """A caller in this tenant."""
        return TenantContext(tenant_id=self.tenant_id, user_id=user_id, **parts)

    @property
    def admin(self) -> TenantContext:
        """The one who sees all of this tenant."""
        return self.as_user("root", roles=("admin",))

    def callers(self) -> list[TenantContext]:
        """One of every kind of caller."""
        return [
            self.as_user(),
            *(self.as_user(name) for name in (*_USERS, "zoe")),
            self.as_user("ana", agent_id="bot"),
            self.as_user("ana", session_id="s1"),
            self.as_user("ana", agent_id="crawler", session_id="night"),
            self.as_user("zoe", agent_id="bot", session_id="s1"),
            self.as_user("zoe", team_id="api", org_id="west", project_id="site"),
            self.as_user("zoe", roles=("lead:team/api",)),
            self.as_user("zoe", roles=("lead:org/east",)),
            self.as_user("zoe", roles=("operator",)),
            self.as_user(agent_id="crawler"),
            self.as_user(agent_id="bot"),
            self.as_user(session_id="night"),
            self.admin,
        ]


def new_world() -> World:
    """The shape of a throw-away tenant, not stored yet."""
    token = f"token{uuid4().hex}"
    tenant_id = PREFIX + uuid4().hex[:16]
    company = Place(id=new_id(), layer=Layer.COMPANY, name=tenant_id)
    named: dict[str, Place] = {"company": company}
    for layer, name, parent in _SHARED:
        named[f"{layer}/{name}"] = Place(
            id=new_id(), layer=Layer(layer), name=name, parent_id=named[parent].id
        )
    for user in _USERS:
        named[f"user/{user}"] = Place(id=new_id(), layer=Layer.USER, name=user)
    owned = [
        Place(
            id=new_id(),
            layer=Layer(layer),
            name=name,
            owner=owner,
            parent_id=named[f"user/{owner}"].id if owner else None,
        )
        for layer, name, owner in _OWNED
    ]
    places = (*named.values(), *owned)
    return World(
        tenant_id=tenant_id,
        token=token,
        places=places,
        belongings=tuple(Belonging(user_id=u, scope_id=named[s].id, role=r) for u, s, r in _MEMBERS),
        memories={place.id: new_id() for place in places},
        conversations={place.id: new_id() for place in places},
    )


def store_world(owner: str, world: World) -> None:
    """Write a world down, as the database's owner, in one transaction."""
    with psycopg.connect(owner) as connection, connection.cursor() as cursor:
        insert = partial(_insert, cursor, tenant_id=world.tenant_id)
        insert("tenant", name=world.token)
        insert("retention", layer=3, days=30000)
        for p in world.places:
            insert(
                "scope", scope_id=p.id, layer=p.layer.precedence, name=p.name, owner=p.owner, parent_id=p.parent_id
            )  # fmt: skip
        for b in world.belongings:
            insert("membership", user_id=b.user_id, scope_id=b.scope_id, role=b.role)
        insert("ontology", document=f'"{world.token}"')
        insert("experiment", name=world.token, arms="{}", state="stopped")
        for user in (*_USERS, "root"):
            _store_user(partial(insert, user_id=user), world.token)
            insert(
                "event",
                event_id=new_id(),
                type="memory_added",
                by_user=user,
                detail=f'{{"token": "{world.token}"}}',
            )
            insert(
                "api_key", key_id=new_id(), name=world.token, secret=digest(world.token + user),
                context='{"roles": ["admin"]}', created_by=user, created_at=datetime.now(UTC),
            )  # fmt: skip
        for place in world.places:
            _store_place(partial(insert, scope_id=place.id), world, place)
            _store_document(partial(insert, scope_id=place.id), world.token, place)


def _store_user(insert: Callable[..., None], token: str) -> None:
    """What a user left behind: a search and what came of it, and a consultation of one event and one request."""
    now, query, memory, consultation = datetime.now(UTC), new_id(), new_id(), new_id()
    insert(
        "retrieval_event", query_id=query, at=now, category="factual", strategy=token, weights="{}", hits=1,
        latency_ms=1.0,
    )  # fmt: skip
    insert("retrieval_hit", query_id=query, memory_id=memory, place=1, score=0.9, signals="{}")
    insert(
        "run", run_id=new_id(), query_id=query, environment="memory", planner=token, started_at=now, stopped_by="done",
        subcalls=1, tokens=1, memory_ids=[memory], trajectory="{}",
    )  # fmt: skip
    insert("feedback", feedback_id=new_id(), memory_id=memory, kind="helpful", score=1.0, at=now)
    insert(
        "consultation", consultation_id=consultation, session=token, at=now, outcome="success", document="{}"
    )
    insert("consultation_event", consultation_id=consultation, number=1, at=now, type=token)
    insert(
        "capability_request", request_id=new_id(), consultation_id=consultation, at=now, raised_by="engine",
        description=token,
    )  # fmt: skip
    insert("reply", key=token, request=digest(token), at=now, status=200, body=token)
    insert("policy", policy_id=new_id(), kind="signals", category=token, weights="{}", state="active")


def _store_place(insert: Callable[..., None], world: World, place: Place) -> None:
    """One row in every table that belongs to a scope, and two memories: one of them a turn."""
    token, memory, talk, now = (
        world.token,
        world.memories[place.id],
        world.conversations[place.id],
        datetime.now(UTC),
    )
    text = f"{token} {place.layer.value}/{place.name} of {place.owner or 'all'}"
    insert("conversation", conversation_id=talk, name=token, turns=1)
    for id, conversation, position in ((memory, None, None), (new_id(), talk, 0)):
        insert(
            "memory", memory_id=id, layer=place.layer.precedence, type="episodic", text=text, digest=digest(text),
            importance=0.5, created_at=now, since=now, conversation_id=conversation, position=position,
        )  # fmt: skip
    far = datetime(9000, 1, 1, tzinfo=UTC)
    insert(
        "embedding", space_id=SPACE_ID, memory_id=memory, part=0, since=now, until=far, embedding="[1,0,0]"
    )  # fmt: skip
    insert("posting", term=token, memory_id=memory, tf=1, dl=1)
    insert("mention", entity=token, memory_id=memory)
    insert("history", history_id=new_id(), memory_id=memory, event="updated", by=token)
    insert("entity", entity=token, name=token, kind="thing", source="found")
    insert("entity_key", key=token, kind="word", entity=token)
    insert("conflict", memory_id=memory, other_id=new_id(), reason=token)
    insert("summary", memory_id=memory, kind="scope", about=token, made_at=now)
    insert("summary_source", summary_id=memory, memory_id=memory, digest=digest(text))
    insert("tally", memories=2, vectors=0, terms=2)


def _store_document(insert: Callable[..., None], token: str, place: Place) -> None:
    """A document of one section and one passage."""
    document = new_id()
    insert(
        "document", document_id=document, layer=place.layer.precedence, name=token, title=token, kind="text",
        digest=digest(token), lines=1, tokens=1, state="ready",
    )  # fmt: skip
    insert(
        "section", document_id=document, section=0, number=0, level=0, heading=token, path=token, line_start=1,
        line_end=1, tokens=1, digest=digest(token), indexed=True, text=token,
    )  # fmt: skip
    insert(
        "passage", space_id=SPACE_ID, document_id=document, section=0, part=0, line_first=0, line_last=0, terms=1,
        embedding="[1,0,0]",
    )  # fmt: skip
    insert("passage_posting", term=token, document_id=document, section=0, part=0, tf=1, dl=1)


def _insert(cursor: psycopg.Cursor[Any], table: str, **row: Any) -> None:
    """A row into a table of this module's choice; values are parameters."""
    marks = ", ".join(["%s"] * len(row))
    cursor.execute(f"insert into recollect.{table} ({', '.join(row)}) values ({marks})", list(row.values()))


def digest(text: str) -> bytes:
    """Any 32 bytes that follow from a text."""
    return hashlib.sha256(text.encode()).digest()


def forget_world(owner: str, world: World) -> None:
    """Erase a throw-away tenant from every table that names it, known to this program or not."""
    with psycopg.connect(owner) as connection:
        tables = connection.execute(
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'"
            " where n.nspname = 'recollect' and c.relkind in ('r', 'p') and not c.relispartition"
        ).fetchall()
        last = "consultation document conversation tally membership scope retention tenant".split()
        order = sorted((row[0] for row in tables), key=lambda name: last.index(name) if name in last else -1)
        connection.execute(
            "update recollect.scope set parent_id = null where tenant_id = %s", [world.tenant_id]
        )
        for table in order:
            statement = psycopg.sql.SQL("delete from {} where tenant_id = %s")
            connection.execute(
                statement.format(psycopg.sql.Identifier("recollect", table)), [world.tenant_id]
            )
