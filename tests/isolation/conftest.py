"""Throw-away worlds on the session's store, and databases that may be broken on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from recollect import Recollect, Settings
from recollect.doctor.arena import Arena, read_tables
from recollect.doctor.world import forget_world, new_world, store_world
from recollect.storage import embedded
from recollect.storage.endpoint import Door, open_door


@contextmanager
def arena_in(door: Door) -> Iterator[Arena]:
    """Two stored worlds in a database, forgotten afterwards."""
    assert door.owner is not None
    mine, theirs = new_world(), new_world()
    try:
        for world in (mine, theirs):
            store_world(door.owner, world)
        with psycopg.connect(door.app) as connection:
            tables = read_tables(connection)
        yield Arena(app=door.app, mine=mine, theirs=theirs, tables=tables)
    finally:
        for world in (mine, theirs):
            forget_world(door.owner, world)


@pytest.fixture(scope="session")
def worlds_in() -> Callable[[Door], AbstractContextManager[Arena]]:
    """Two worlds in a database of the test's choice."""
    return arena_in


@pytest.fixture(scope="module")
def door(store: Recollect, settings: Settings) -> Door:
    """The ways into the session's database."""
    return open_door(settings.home, settings.database_url)


@pytest.fixture(scope="module")
def arena(door: Door) -> Iterator[Arena]:
    """Two worlds in the session's store."""
    with arena_in(door) as made:
        yield made


@pytest.fixture(scope="session")
def fortress(new_home: Callable[[], AbstractContextManager[Path]]) -> Iterator[tuple[Path, Door]]:
    """A second server, migrated and otherwise empty, for tests that tear down its walls."""
    with new_home() as home:
        embedded.ensure_running(
            home,
            sync=False,
            settings={"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"},
        )
        yield home, open_door(home, None)


@pytest.fixture
def weakened(fortress: tuple[Path, Door]) -> Iterator[Callable[[str], Door]]:
    """A copy of the fortress in which a statement of the owner has been run."""
    _, door = fortress
    assert door.owner is not None
    source = psycopg.conninfo.conninfo_to_dict(door.owner)["dbname"]
    maintenance = make_conninfo(door.owner, dbname="postgres")
    name = f"weak_{uuid4().hex[:12]}"

    def weaken(statement: str) -> Door:
        with psycopg.connect(maintenance, autocommit=True) as connection:
            connection.execute(
                sql.SQL("create database {} template {}").format(sql.Identifier(name), sql.Identifier(source))
            )
        owner = make_conninfo(door.owner, dbname=name)
        with psycopg.connect(owner) as connection:
            connection.execute(statement)
        return Door(app=make_conninfo(door.app, dbname=name), owner=owner, embedded=True)

    yield weaken
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
