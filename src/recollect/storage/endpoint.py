"""How to reach the database, as its owner and as the application, and `Connector`, which opens connections to it.

Embedded: both roles are made by the launcher. By URL: the URL names the owner; the application role
`recollect_app` is created beside it with a password derived from the owner's, so that every process that
has the URL can be the application without a second secret to share. A URL whose user already is
`recollect_app` works too, for everything but migrations and upkeep.

The embedded server may die under programs that use it: the system ran out of memory, somebody killed it. Whoever
connects next finds it gone and starts it, once for all callers of this process; the home's lock does the same for
other processes. A database by URL is somebody else's: it is never started, and its refusals are raised as they are.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql
from psycopg.rows import dict_row

from recollect.errors import ConfigurationError, ForbiddenError, StoreUnsupportedError
from recollect.storage import embedded, migrations
from recollect.storage.connections import CONNECT_TIMEOUT_S, Connection, connect
from recollect.storage.embedded.folder import APP_ROLE as APP_ROLE
from recollect.storage.faults import is_crowded, is_starting, translated

#: For the database to start or to answer: recovery after a crash takes a while.
START_TIMEOUT_S = 120.0
_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Connection strings: `app` for data, `owner` for migrations and upkeep (None: no rights to them)."""

    app: str = field(repr=False)
    owner: str | None = field(repr=False)
    embedded: bool


def open_door(home: Path, database_url: str | None, *, start_timeout_s: float = START_TIMEOUT_S) -> Door:
    """Start or join the database and bring its schema up to date."""
    deadline = time.monotonic() + start_timeout_s
    door = _door_by_url(database_url) if database_url else embedded_door(home, start_timeout_s)
    version = _version(door, deadline)
    migrations.check_version(version)
    if version is None or version < migrations.newest_version():
        if door.owner is None:
            raise StoreUnsupportedError(
                f"the database is at schema version {version or 0}, this program needs {migrations.newest_version()}; "
                f"run `recollect db migrate` with the owner's URL, {APP_ROLE!r} may not"
            )
        migrations.migrate(door.owner)
    return door


def embedded_door(home: Path, timeout_s: float = START_TIMEOUT_S) -> Door:
    """Start or join the embedded server. Its schema is not looked at."""
    endpoint = embedded.ensure_running(home, timeout_s=timeout_s)
    return Door(app=endpoint.app, owner=endpoint.owner, embedded=True)


def _door_by_url(url: str) -> Door:
    try:
        parts = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise ConfigurationError(
            f"the database URL can't be read ({str(error).strip()}); write postgresql://user:password@host:5432/name"
        ) from error
    parts.setdefault("connect_timeout", 10)
    owner = conninfo.make_conninfo("", **parts)
    if parts.get("user") == APP_ROLE:
        return Door(app=owner, owner=None, embedded=False)
    password = app_password(str(parts.get("password") or ""))
    app = conninfo.make_conninfo("", **{**parts, "user": APP_ROLE, "password": password})
    return Door(app=app, owner=owner, embedded=False)


def app_password(owner_password: str) -> str:
    """What the application role shows, for whoever knows the owner's password."""
    return hmac.new(owner_password.encode(), APP_ROLE.encode(), hashlib.sha256).hexdigest()


def _version(door: Door, deadline: float) -> int | None:
    """The schema's version as the application sees it; makes the application role when it is missing."""
    with translated():
        try:
            connection = connect(door.app, deadline=deadline)
        except psycopg.OperationalError:
            if door.embedded or door.owner is None:
                raise
            _ensure_app_role(door, deadline)
            connection = connect(door.app, deadline=deadline)
        with connection:
            return migrations.schema_version(connection)


def _ensure_app_role(door: Door, deadline: float) -> None:
    """Create the application role, or set its password anew after the owner's was changed."""
    assert door.owner is not None
    password = str(conninfo.conninfo_to_dict(door.app)["password"])
    with connect(door.owner, deadline=deadline) as connection:
        while not _set_app_role(connection, password):
            if time.monotonic() > deadline:
                raise StoreUnsupportedError(f"other programs keep changing the role {APP_ROLE!r}; try again")
            time.sleep(_POLL_S)


def _set_app_role(connection: psycopg.Connection[tuple[Any, ...]], password: str) -> bool:
    """Whether it could be done now.

    Roles belong to the server, locks to a database: programs that open databases of one server at once, or the same
    one, get in each other's way.
    """
    role, database = sql.Identifier(APP_ROLE), sql.Identifier(connection.info.dbname)
    try:
        role_row = connection.execute("select 1 from pg_roles where rolname = %s", [APP_ROLE]).fetchone()
        verb = "create" if role_row is None else "alter"
        attributes = "login nosuperuser nobypassrls nocreatedb nocreaterole password"
        connection.execute(
            sql.SQL("{} role {} " + attributes + " {}").format(sql.SQL(verb), role, sql.Literal(password))
        )
        connection.execute(sql.SQL("grant connect, temporary on database {} to {}").format(database, role))
    except (psycopg.errors.InternalError_, psycopg.errors.UniqueViolation, psycopg.errors.DuplicateObject):
        return False  # "tuple concurrently updated", or made by another a moment before
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreUnsupportedError(
            f"the URL's user may not create the role {APP_ROLE!r}; give it CREATEROLE, or let an administrator run "
            "`recollect db migrate` once with a URL that may"
        ) from error
    return True


#: For a look at whether the server answers; one that is busy for so long is as good as gone to who asks.
_LOOK_S = 2
_log = logging.getLogger(__name__)


class Connector:
    """The way to one database, for as long as a program runs."""

    def __init__(self, door: Door, home: Path) -> None:
        self.door = door
        self._home = home
        self._start: asyncio.Task[Door] | None = None
        self._start_failed = False

    async def connect(self, *, owner: bool = False, unasked: bool = False) -> Connection:
        """Connect as the application, or as the database's owner; starts the embedded server if it is gone.

        `unasked` is for work that nobody waits for: it starts a server that crashed, but lets one rest that was
        stopped on purpose.
        """
        try:
            return await self._connect(owner, CONNECT_TIMEOUT_S)
        except psycopg.OperationalError as error:
            if not self._is_to_be_started(error, unasked):
                raise
        await self._start_again()
        return await self._connect(owner, CONNECT_TIMEOUT_S)

    async def conninfo(self) -> str:
        """How the application connects, once the server is there; for a pool of another library."""
        await (await self.connect(unasked=True)).close()
        return self.door.app

    async def answers(self) -> bool:
        """Whether the server takes connections; starts nothing."""
        try:
            await (await self._connect(False, _LOOK_S)).close()
        except psycopg.OperationalError as error:
            return is_crowded(error)
        return True

    async def _connect(self, owner: bool, timeout_s: int) -> Connection:
        conninfo = self.door.owner if owner else self.door.app
        if conninfo is None:
            raise ForbiddenError("this needs the database owner's URL; the application role may not")
        return await Connection.connect(
            conninfo, autocommit=True, row_factory=dict_row, connect_timeout=timeout_s
        )

    def _is_to_be_started(self, error: psycopg.OperationalError, unasked: bool) -> bool:
        """Whether starting, or waiting for a start under way, may help. New passwords are read on the way."""
        if not self.door.embedded or is_crowded(error) or isinstance(error, psycopg.errors.ConnectionTimeout):
            return False
        if is_starting(error) or self._start is not None or self._start_failed or not unasked:
            return True
        return embedded.has_crashed(self._home)

    async def _start_again(self) -> None:
        if self._start is None:
            _log.warning("the embedded database does not answer; it is started again")
            self._start = asyncio.create_task(asyncio.to_thread(embedded_door, self._home))
            self._start.add_done_callback(self._started)
        # A caller that gives up does not stop the start, which others wait for.
        await asyncio.shield(self._start)

    def _started(self, start: asyncio.Task[Door]) -> None:
        self._start = None
        self._start_failed = start.cancelled() or start.exception() is not None
        if not self._start_failed:
            self.door = start.result()
