"""Two throw-away tenants for the attacks: the same names in both, a row of every kind in every scope.

They are written by the database's owner in plain SQL, so that no embedder is needed and no wall stands in the
way of building them. Every text carries the tenant's token; whoever reads a token that is not theirs has found
a leak.
"""

# ruff: noqa: S608 - statements are put together here on purpose; none of their parts comes from a caller.

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
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
    tenant = world.tenant_id
    with psycopg.connect(owner) as connection, connection.cursor() as cursor:
        cursor.execute(
            "insert into recollect.tenant (tenant_id, name) values (%s, %s)", [tenant, world.token]
        )
        cursor.execute(
            "insert into recollect.retention (tenant_id, layer, days) values (%s, 3, 30000)", [tenant]
        )
        _insert(
            cursor,
            "scope (tenant_id, scope_id, layer, name, owner, parent_id)",
            [(tenant, p.id, p.layer.precedence, p.name, p.owner, p.parent_id) for p in world.places],
        )
        _insert(
            cursor,
            "membership (tenant_id, user_id, scope_id, role)",
            [(tenant, b.user_id, b.scope_id, b.role) for b in world.belongings],
        )
        _store_tenant_rows(cursor, world)
        for place in world.places:
            _store_rows(cursor, world, place)


def _store_tenant_rows(cursor: psycopg.Cursor[Any], world: World) -> None:
    """Rows that belong to the tenant as a whole, or to one of its users."""
    tenant, token, now = world.tenant_id, world.token, datetime.now(UTC)
    _insert(cursor, "ontology (tenant_id, document)", [(tenant, f'"{token}"')])
    _insert(cursor, "experiment (tenant_id, name, arms, state)", [(tenant, token, "{}", "stopped")])
    for user in (*_USERS, "root"):
        query, memory = new_id(), new_id()
        _insert(
            cursor,
            "retrieval_event (tenant_id, query_id, user_id, at, category, strategy, weights, hits, latency_ms)",
            [(tenant, query, user, now, "factual", token, "{}", 1, 1.0)],
        )
        _insert(
            cursor,
            "retrieval_hit (tenant_id, query_id, memory_id, user_id, place, score, signals)",
            [(tenant, query, memory, user, 1, 0.9, "{}")],
        )
        _insert(
            cursor,
            "run (tenant_id, run_id, query_id, user_id, environment, planner, started_at, stopped_by, subcalls,"
            " tokens, memory_ids, trajectory)",
            [(tenant, new_id(), query, user, "memory", token, now, "done", 1, 1, [memory], "{}")],
        )
        _insert(
            cursor,
            "feedback (tenant_id, feedback_id, memory_id, user_id, kind, score, at)",
            [(tenant, new_id(), memory, user, "helpful", 1.0, now)],
        )
        _store_consultation(cursor, world, user, now)
        _insert(
            cursor,
            "event (tenant_id, event_id, type, by_user, detail)",
            [(tenant, new_id(), "memory_added", user, f'{{"token": "{token}"}}')],
        )
        _insert(
            cursor,
            "reply (tenant_id, user_id, key, request, at, status, body)",
            [(tenant, user, token, digest(token), now, 200, token)],
        )
        _insert(
            cursor,
            "api_key (tenant_id, key_id, name, secret, context, created_by, created_at)",
            [(tenant, new_id(), token, digest(token + user), '{"roles": ["admin"]}', user, now)],
        )
        _insert(
            cursor,
            "policy (tenant_id, policy_id, kind, user_id, category, weights, state)",
            [(tenant, new_id(), "signals", user, token, "{}", "active")],
        )


def _store_consultation(cursor: psycopg.Cursor[Any], world: World, user: str, now: datetime) -> None:
    """A consultation of one event and one request."""
    tenant, token, consultation = world.tenant_id, world.token, new_id()
    _insert(
        cursor,
        "consultation (tenant_id, consultation_id, user_id, session, at, outcome, document)",
        [(tenant, consultation, user, token, now, "success", "{}")],
    )
    _insert(
        cursor,
        "consultation_event (tenant_id, consultation_id, number, user_id, at, type)",
        [(tenant, consultation, 1, user, now, token)],
    )
    _insert(
        cursor,
        "capability_request (tenant_id, request_id, consultation_id, user_id, at, raised_by, description)",
        [(tenant, new_id(), consultation, user, now, "engine", token)],
    )


def _store_rows(cursor: psycopg.Cursor[Any], world: World, place: Place) -> None:
    """One row in every table that belongs to a scope."""
    tenant, scope, memory = world.tenant_id, place.id, world.memories[place.id]
    text = f"{world.token} {place.layer.value}/{place.name} of {place.owner or 'all'}"
    now = datetime.now(UTC)
    talk = world.conversations[scope]
    far = datetime(9000, 1, 1, tzinfo=UTC)
    _insert(
        cursor,
        "conversation (tenant_id, conversation_id, scope_id, name, turns)",
        [(tenant, talk, scope, world.token, 1)],
    )
    _insert(
        cursor,
        "memory (tenant_id, memory_id, scope_id, layer, type, text, digest, importance, created_at, since,"
        " conversation_id, position)",
        [
            (
                tenant,
                memory,
                scope,
                place.layer.precedence,
                "episodic",
                text,
                digest(text),
                0.5,
                now,
                now,
                None,
                None,
            ),
            (
                tenant,
                new_id(),
                scope,
                place.layer.precedence,
                "episodic",
                text,
                digest(text),
                0.5,
                now,
                now,
                talk,
                0,
            ),
        ],
    )
    _insert(
        cursor,
        "embedding (tenant_id, space_id, memory_id, part, scope_id, since, until, embedding)",
        [(tenant, SPACE_ID, memory, 0, scope, now, far, "[1,0,0]")],
    )
    _insert(
        cursor,
        "posting (tenant_id, term, memory_id, scope_id, tf, dl)",
        [(tenant, world.token, memory, scope, 1, 1)],
    )
    _insert(
        cursor, "mention (tenant_id, entity, memory_id, scope_id)", [(tenant, world.token, memory, scope)]
    )
    _insert(
        cursor,
        "history (tenant_id, history_id, memory_id, scope_id, event, by)",
        [(tenant, new_id(), memory, scope, "updated", world.token)],
    )
    _insert(
        cursor,
        "entity (tenant_id, entity, scope_id, name, kind, source)",
        [(tenant, world.token, scope, world.token, "thing", "found")],
    )
    _insert(
        cursor,
        "entity_key (tenant_id, key, kind, entity, scope_id)",
        [(tenant, world.token, "word", world.token, scope)],
    )
    _insert(
        cursor,
        "conflict (tenant_id, memory_id, other_id, scope_id, reason)",
        [(tenant, memory, new_id(), scope, world.token)],
    )
    _insert(
        cursor,
        "summary (tenant_id, memory_id, scope_id, kind, about, made_at)",
        [(tenant, memory, scope, "scope", world.token, now)],
    )
    _insert(
        cursor,
        "summary_source (tenant_id, summary_id, memory_id, scope_id, digest)",
        [(tenant, memory, memory, scope, digest(text))],
    )
    _insert(cursor, "tally (tenant_id, scope_id, memories, vectors, terms)", [(tenant, scope, 2, 0, 2)])
    _store_document(cursor, world, place)


def _store_document(cursor: psycopg.Cursor[Any], world: World, place: Place) -> None:
    """A document of one section and one passage."""
    tenant, scope, token, document = world.tenant_id, place.id, world.token, new_id()
    _insert(
        cursor,
        "document (tenant_id, document_id, scope_id, layer, name, title, kind, digest, lines, tokens, state)",
        [
            (
                tenant,
                document,
                scope,
                place.layer.precedence,
                token,
                token,
                "text",
                digest(token),
                1,
                1,
                "ready",
            )
        ],
    )
    _insert(
        cursor,
        "section (tenant_id, document_id, section, scope_id, number, level, heading, path, line_start, line_end,"
        " tokens, digest, indexed, text)",
        [(tenant, document, 0, scope, 0, 0, token, token, 1, 1, 1, digest(token), True, token)],
    )
    _insert(
        cursor,
        "passage (tenant_id, space_id, document_id, section, part, scope_id, line_first, line_last, terms, embedding)",
        [(tenant, SPACE_ID, document, 0, 0, scope, 0, 0, 1, "[1,0,0]")],
    )
    _insert(
        cursor,
        "passage_posting (tenant_id, term, document_id, section, part, scope_id, tf, dl)",
        [(tenant, token, document, 0, 0, scope, 1, 1)],
    )


def _insert(cursor: psycopg.Cursor[Any], target: str, rows: Sequence[Sequence[Any]]) -> None:
    """Rows into a table of this module's choice; values are parameters."""
    if not rows:
        return
    marks = ", ".join(["%s"] * len(rows[0]))
    cursor.executemany(f"insert into recollect.{target} values ({marks})", rows)


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
        last = [
            "consultation",
            "document",
            "conversation",
            "tally",
            "membership",
            "scope",
            "retention",
            "tenant",
        ]
        order = sorted((row[0] for row in tables), key=lambda name: last.index(name) if name in last else -1)
        connection.execute(
            "update recollect.scope set parent_id = null where tenant_id = %s", [world.tenant_id]
        )
        for table in order:
            statement = psycopg.sql.SQL("delete from {} where tenant_id = %s")
            connection.execute(
                statement.format(psycopg.sql.Identifier("recollect", table)), [world.tenant_id]
            )
