"""Databases on a Citus cluster, for tests: made on every node, and dropped again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from recollect.storage.cluster.distribute import distribute
from recollect.storage.endpoint import open_door

#: Enough to lie on two nodes, and few enough to be made in seconds.
SHARDS = 8
#: How the workers of a cluster are known to its coordinator, and whether they hold shards.
_NODES = "select nodename, nodeport, shouldhaveshards from pg_dist_node where noderole = 'primary' order by groupid"


def at(url: str, *, name: str | None = None, host: str | None = None, port: int | None = None) -> str:
    """The same URL with another database, or another node."""
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    where = f"{host or parts.hostname}:{port or parts.port}"
    return urlunsplit(
        parts._replace(netloc=f"{login}@{where}" if login else where, path=f"/{name}" if name else parts.path)
    )


@contextmanager
def new_cluster_database(given: str, *, workers: int | None = None) -> Iterator[str]:
    """An empty database on all nodes of the cluster behind a URL, with Citus in it; or on some of its workers."""
    name = f"recollect_test_{uuid4().hex[:12]}"
    with psycopg.connect(given, autocommit=True) as connection:
        [coordinator, *others] = connection.execute(_NODES).fetchall()
    nodes = [coordinator, *others[:workers]]
    places = [at(given, host=host, port=port) for host, port, _ in nodes]
    try:
        for place in places:
            with psycopg.connect(place, autocommit=True) as connection:
                connection.execute("set citus.enable_create_database_propagation = off")
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
            with psycopg.connect(at(place, name=name), autocommit=True) as connection:
                connection.execute("create extension citus")
        url = at(given, name=name)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("select citus_set_coordinator_host(%s, %s)", coordinator[:2])
            for host, port, _ in nodes[1:]:
                connection.execute("select citus_add_node(%s, %s)", [host, port])
        yield url
    finally:
        for place in places:
            with psycopg.connect(place, autocommit=True) as connection:
                connection.execute("set citus.enable_create_database_propagation = off")
                connection.execute(
                    sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name))
                )


@contextmanager
def new_cluster_store(given: str) -> Iterator[str]:
    """A store without tenants, spread over a cluster."""
    with new_cluster_database(given) as url, TemporaryDirectory() as home:
        door = open_door(Path(home), url)
        assert door.owner is not None
        distribute(door.owner, shards=SHARDS)
        yield url
