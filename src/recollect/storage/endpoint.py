"""How to reach the database, as its owner and as the application, and the first connection to it.

Embedded: both roles are made by the launcher. By URL: the URL names the owner; the application role
`recollect_app` is created beside it with a password derived from the owner's, so that every process that
has the URL can be the application without a second secret to share. A URL whose user already is
`recollect_app` works too, for everything but migrations and upkeep.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import conninfo, sql

from recollect.errors import ConfigurationError, StoreUnsupportedError
from recollect.storage import migrations
from recollect.storage.faults import is_starting, translated

#: For a server that does not even refuse; one on this machine answers within milliseconds.
CONNECT_TIMEOUT_S = 10
#: For the database to start or to answer: recovery after a crash takes a while.
START_TIMEOUT_S = 120.0
_POLL_S = 0.05
#: What a newcomer hears whose session was not open yet when the server's processes crashed.
_CUT_OFF = "server closed the connection unexpectedly"


def connect(conninfo: str, *, deadline: float) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection outside any transaction.

    A server that starts, or recovers from a crash, turns everybody away: it is waited for until `deadline`, a moment
    of the monotonic clock.
    """
    while True:
        try:
            return psycopg.connect(conninfo, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True)
        except psycopg.OperationalError as error:
            passing = is_starting(error) or _CUT_OFF in str(error)
            if not passing or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)


APP_ROLE = "recollect_app"


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
    from recollect.storage import embedded

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
        found = connection.execute("select 1 from pg_roles where rolname = %s", [APP_ROLE]).fetchone()
        verb = "create" if found is None else "alter"
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
