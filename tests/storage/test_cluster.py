"""A store on many machines: how it gets there, what stays of it, and where each query goes.

They run where `RECOLLECT_TEST_CLUSTER_URL` names a Citus coordinator with workers; `tools/with_cluster.py` starts one.
With it every other test of the store runs on a cluster, too.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from tests.cluster import SHARDS, at, new_cluster_database
from tests.conftest import CLUSTER
from tests.isolation.test_schema import FORMS, filled, is_part, numbered
from typer.testing import CliRunner

from recollect import Recollect, Settings
from recollect.errors import (
    ForbiddenError,
    InvalidInputError,
    StoreBusyError,
    StoreNewerError,
    StoreUnreachableError,
    StoreUnsupportedError,
)
from recollect.storage.backup import backup, restore
from recollect.storage.cluster import nodes
from recollect.storage.cluster.distribute import distribute, plan, refresh
from recollect.storage.cluster.session import one_by_one, session
from recollect.storage.endpoint import open_door
from recollect.storage.sql import compose, queries
from recollect.surfaces.cli.main import app

on_cluster = pytest.mark.skipif(CLUSTER not in os.environ, reason=f"{CLUSTER} names no Citus coordinator")
TEXTS = {"The bakery opens at seven.", "Imke repairs the boiler.", "Tom's birthday is on the 4th of June."}
#: Whoever asks for these asks for all tenants: operators, and upkeep of the whole store.
FOR_ALL_TENANTS = {"list_tenants", "tenants_by_name"}
#: Statements of the owner's, and of no tenant.
OWNERS = {
    "activate_space",
    "delete_space",
    "insert_space",
    "retire_space",
    "delete_statistics",
    "forget_jobs",
}


@pytest.fixture
def given() -> str:
    return os.environ[CLUSTER]


@pytest.fixture
def blank(given: str) -> Iterator[str]:
    """A database on all nodes, without a store."""
    with new_cluster_database(given) as url:
        yield url


def settings_of(url: str, home: Path) -> Settings:
    return Settings(home=home, database_url=url, embedder="wordllama", user="ana")


def owner_of(url: str, home: Path) -> str:
    owner = open_door(home, url).owner
    assert owner is not None
    return owner


def fill(url: str, home: Path) -> str:
    """A store with memories on one machine; returns its owner's way in."""
    with Recollect(settings=settings_of(url, home)) as client:
        client.add_many([{"text": text} for text in sorted(TEXTS)])
        client.tenants.create("other")
    return owner_of(url, home)


def texts(url: str, home: Path) -> set[str]:
    with Recollect(settings=settings_of(url, home)) as client:
        assert client.search("When does the bakery open?").hits[0].text == "The bakery opens at seven."
        return {memory.text for memory in client.list()}


@on_cluster
def test_a_store_becomes_a_cluster_and_has_lost_nothing(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    before = plan(owner, shards=SHARDS)
    assert before.bytes > 0
    assert len(before.nodes) >= 1
    assert any("memory_15" in step.text for step in before.steps)
    distribute(owner, shards=SHARDS)
    assert texts(blank, tmp_path) == TEXTS
    status = nodes.status(owner)
    assert status is not None
    assert status.shards == SHARDS
    assert all(node.answers for node in status.nodes)
    with psycopg.connect(owner) as connection:
        # Nothing is left on the coordinator that the shards have now.
        connection.execute("set citus.enable_ddl_propagation = off")
        left = connection.execute(
            "select sum(pg_relation_size(c.oid)) from pg_class c join pg_dist_partition p on p.logicalrelid = c.oid"
            " where c.relnamespace = 'recollect'::regnamespace and p.partmethod = 'h'"
        ).fetchone()
    assert left == (0,)


@on_cluster
def test_a_distribution_that_was_killed_goes_on_where_it_stopped(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    steps = len(plan(owner, shards=SHARDS).steps)
    script = (
        "import os, signal, sys\n"
        "from recollect.storage.cluster.distribute import distribute\n"
        "kill = lambda done, _: done == int(sys.argv[2]) and os.kill(os.getpid(), signal.SIGKILL)\n"
        f"distribute(sys.argv[1], shards={SHARDS}, progress=kill)\n"
    )
    for _ in range(4):
        left = plan(owner, shards=SHARDS).steps
        killed = subprocess.run([sys.executable, "-c", script, owner, str(steps // 5)], check=False)
        assert killed.returncode == -signal.SIGKILL
        assert len(plan(owner, shards=SHARDS).steps) < len(left)
        with (
            pytest.raises(StoreBusyError, match="recollect db distribute"),
            Recollect(settings=settings_of(blank, tmp_path)) as client,
        ):
            client.list()
    distribute(owner, shards=SHARDS)
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
def test_a_second_node_gets_its_share_while_the_store_is_in_use(given: str, tmp_path: Path) -> None:
    with new_cluster_database(given, workers=1) as url:
        owner = fill(url, tmp_path)
        distribute(owner, shards=SHARDS)
        with psycopg.connect(given) as connection:
            [_, _, (host, port), *_] = connection.execute(
                "select nodename, nodeport from pg_dist_node order by groupid"
            ).fetchall()
        name = psycopg.conninfo.conninfo_to_dict(owner)["dbname"]
        with pytest.raises(StoreUnreachableError, match="can't become a node"):
            nodes.add_node(owner, f"{host}:{port}")
        second = at(given, host=host, port=port)
        try:
            with psycopg.connect(second, autocommit=True) as connection:
                connection.execute("set citus.enable_create_database_propagation = off")
                connection.execute(sql.SQL("create database {}").format(sql.Identifier(str(name))))
            with psycopg.connect(at(second, name=str(name)), autocommit=True) as connection:
                connection.execute("create extension citus")
            assert nodes.add_node(owner, f"{host}:{port}")
            assert not nodes.add_node(owner, f"{host}:{port}")
            assert nodes.rebalance(owner) >= SHARDS // 2
            assert nodes.rebalance(owner) == 0
            status = nodes.status(owner)
            assert status is not None
            assert [node.shards for node in status.nodes if not node.coordinator] == [SHARDS // 2] * 2
            assert texts(url, tmp_path) == TEXTS
        finally:
            with psycopg.connect(second, autocommit=True) as connection:
                connection.execute("set citus.enable_create_database_propagation = off")
                connection.execute(
                    sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(str(name)))
                )


@on_cluster
def test_workers_do_jobs_of_a_cluster(blank: str, tmp_path: Path) -> None:
    distribute(fill(blank, tmp_path), shards=SHARDS)
    environ = {
        **os.environ,
        "RECOLLECT_HOME": str(tmp_path),
        "RECOLLECT_DATABASE_URL": blank,
        "RECOLLECT_EMBEDDER": "wordllama",
    }

    def work() -> dict[str, int]:
        command = [sys.executable, "-m", "recollect.surfaces.cli.main", "worker", "--once", "--json"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        jobs: dict[str, int] = json.loads(done.stdout)["jobs"]
        return jobs

    # The first makes the queue.
    assert work() == {}
    with Recollect(settings=settings_of(blank, tmp_path)) as client:
        client.add_many([{"text": f"Plant {n} shipped {n * 7} crates to Gera."} for n in range(20)])
        assert list(client.list(types=["summary"])) == []
        assert work() == {"recollect.consolidate": 1}
        assert list(client.list(types=["summary"])) != []


@on_cluster
def test_a_large_tenant_gets_shards_and_a_worker_of_its_own(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    distribute(owner, shards=SHARDS)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("select isolate_tenant_to_new_shard('recollect.tenant', 'local', 'CASCADE')")
        shards = connection.execute(
            "select get_shard_id_for_distribution_column('recollect.tenant', name)"
            " from unnest(array['local', 'other']) name"
        ).fetchall()
        assert shards[0] != shards[1]
        connection.execute(
            "select citus_move_shard_placement(s.shardid, s.nodename, s.nodeport, n.nodename, n.nodeport)"
            " from citus_shards s, pg_dist_node n where s.shardid = %s and n.groupid <> 0 and n.nodeport <> s.nodeport",
            shards[0],
        )
    assert texts(blank, tmp_path) == TEXTS
    with Recollect(settings=settings_of(blank, tmp_path)) as client:
        client.add("Written after the move.")


@on_cluster
def test_a_backup_of_a_cluster_comes_back_and_can_be_spread_again(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    distribute(owner, shards=SHARDS)
    backup(owner, tmp_path / "cluster.backup")
    with Recollect(settings=settings_of(blank, tmp_path)) as client:
        client.add("Written after the backup.")
    restore(owner, tmp_path / "cluster.backup", replace=True)
    assert texts(blank, tmp_path) == TEXTS
    distribute(owner, shards=SHARDS)
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
def test_a_migration_of_a_cluster_leaves_it_one(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    distribute(owner, shards=SHARDS)
    with session(owner) as connection, one_by_one(connection):
        connection.execute(
            'create table recollect.note (tenant_id text collate "C" not null, scope_id uuid not null)'
        )
        connection.execute("call recollect.place('note')")
        connection.execute(
            "alter table recollect.note add foreign key (tenant_id) references recollect.tenant"
        )
        connection.execute("drop function recollect.caller_rights()")
        spread = connection.execute(
            "select from pg_dist_partition where logicalrelid = 'recollect.note'::regclass"
        )
        assert spread.rowcount == 1
    with session(owner) as connection, one_by_one(connection):
        refresh(connection)
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
def test_every_named_query_goes_to_one_shard(settings: Settings, tenant_id: str) -> None:
    wide, refused, routed = {}, {}, 0
    with psycopg.connect(open_door(settings.home, settings.database_url).app, autocommit=True) as role:
        role.execute("set plan_cache_mode = force_custom_plan")
        role.execute(compose("create_staging").as_string(role).encode())
        for name in sorted(set(queries()) - OWNERS - FOR_ALL_TENANTS - {"create_staging"}):
            if is_part(name) or queries()[name].startswith("copy "):
                continue
            for form in FORMS.get(name, [""]):
                try:
                    tasks = tasks_of(role, filled(name, form, role), tenant_id)
                except psycopg.Error as error:
                    refused[name] = f"{type(error).__name__}: {error}"
                    continue
                routed += len(tasks)
                if any(count > 1 for count in tasks):
                    wide[name] = tasks
    assert refused == {}
    assert wide == {}
    assert routed > 150


def tasks_of(app: psycopg.Connection[tuple[object, ...]], text: str, tenant_id: str) -> list[int]:
    """How many shards each part of a statement goes to."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)[sb]", text)))
    with app.transaction(force_rollback=True):
        app.execute('select recollect.enter(%s, \'{"user": "ana"}\')', [tenant_id])
        app.execute(f"prepare tried as {numbered(text)}".encode())
        row = app.execute(
            "select parameter_types::text[] from pg_prepared_statements where name = 'tried'"
        ).fetchone()
        app.execute("deallocate tried")
        assert row is not None
        # What is compared with null can be on no shard.
        some = {"uuid": f"'{uuid4()}'::uuid", "text": "'any'::text"}
        values = {
            name: some.get(type, f"null::{type}") if name != "tenant" else f"'{tenant_id}'::{type}"
            for name, type in zip(names, row[0], strict=True)  # type: ignore[call-overload]
        }
        plain = re.sub(r"%\((\w+)\)[sb]", lambda found: values[found[1]], text).replace("%%", "%")
        lines = app.execute(f"explain {plain}".encode()).fetchall()
    return [int(count) for line in lines for count in re.findall(r"Task Count: (\d+)", str(line[0]))]


@on_cluster
def test_a_query_of_all_tenants_is_seen_to_go_to_all_shards(owner_conninfo: str) -> None:
    with psycopg.connect(owner_conninfo) as connection:
        lines = connection.execute("explain select count(*) from recollect.memory").fetchall()
    assert f"Task Count: {SHARDS}" in " ".join(line[0] for line in lines)


@on_cluster
def test_every_shard_on_every_node_has_its_walls(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    distribute(owner, shards=SHARDS)
    app = psycopg.conninfo.conninfo_to_dict(open_door(tmp_path, blank).app)
    with psycopg.connect(owner) as connection:
        shards = connection.execute(
            "select nodename, nodeport, shard_name from citus_shards where citus_table_type = 'distributed'"
        ).fetchall()
    assert len(shards) > 20 * SHARDS
    seen = []
    for place in sorted({(host, port) for host, port, _ in shards}):
        with psycopg.connect(owner, host=place[0], port=place[1]) as worker:
            worker.execute("set citus.override_table_visibility = off")
            weak = worker.execute(
                "select c.relname from pg_class c where c.relnamespace = 'recollect'::regnamespace"
                " and c.relkind = 'r' and c.relname ~ '_[0-9]{5,}$'"
                " and not (c.relrowsecurity and c.relforcerowsecurity)"
                " and c.relname !~ '^(store|space|migration)_'"
            ).fetchall()
        assert weak == []
        with psycopg.connect(**{**app, "host": place[0], "port": place[1]}, autocommit=True) as attacker:  # type: ignore[arg-type]
            for host, port, name in shards:
                if (host, port) == place:
                    found = attacker.execute(
                        sql.SQL("select count(*) from {}").format(sql.SQL(name))
                    ).fetchone()
                    seen += [name] if found != (0,) else []
    assert seen == []


@on_cluster
def test_a_node_that_does_not_answer_is_named_and_nothing_is_changed(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "update pg_dist_node set nodeport = 9 where groupid = (select max(groupid) from pg_dist_node)"
        )
    with pytest.raises(StoreUnreachableError, match=r":9 does not answer"):
        distribute(owner, shards=SHARDS)
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
def test_a_store_of_a_newer_program_is_not_spread(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("insert into recollect.migration values (9999, 'pre', 'future', 'x')")
    with pytest.raises(StoreNewerError):
        open_door(tmp_path, blank)


@on_cluster
def test_an_old_citus_is_refused_and_the_store_stays_as_it_was(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    with psycopg.connect(owner, autocommit=True) as connection:
        version = connection.execute("select extversion from pg_extension where extname = 'citus'").fetchone()
        assert version is not None
        connection.execute("update pg_extension set extversion = '13.2-1' where extname = 'citus'")
    with pytest.raises(StoreUnsupportedError, match=r"Citus 13\.2 is too old"):
        distribute(owner, shards=SHARDS)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("update pg_extension set extversion = %s where extname = 'citus'", version)
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
def test_whoever_does_not_own_the_store_can_spread_nothing(blank: str, tmp_path: Path) -> None:
    fill(blank, tmp_path)
    with pytest.raises(ForbiddenError, match="not allowed"):
        distribute(open_door(tmp_path, blank).app, shards=SHARDS)
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
@pytest.mark.parametrize("shards", [0, -1, 100_000])
def test_a_number_of_shards_that_makes_no_sense_is_refused(blank: str, tmp_path: Path, shards: int) -> None:
    owner = fill(blank, tmp_path)
    with pytest.raises(InvalidInputError, match="make no sense"):
        distribute(owner, shards=shards)


def test_a_server_without_citus_is_refused_and_keeps_its_store(
    client: Recollect, owner_conninfo: str
) -> None:
    if CLUSTER in os.environ:
        pytest.skip("this server has Citus")
    client.add("still here")
    with pytest.raises(StoreUnsupportedError, match="Citus"):
        distribute(owner_conninfo)
    assert [memory.text for memory in client.list()] == ["still here"]


@on_cluster
def test_the_command_line_says_what_would_move_moves_it_and_shows_where_it_lies(
    blank: str, tmp_path: Path
) -> None:
    owner = fill(blank, tmp_path)
    environ = {
        "RECOLLECT_HOME": str(tmp_path),
        "RECOLLECT_DATABASE_URL": blank,
        "RECOLLECT_EMBEDDER": "wordllama",
    }

    def run(*arguments: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, ["db", *arguments, "--json"], env=environ, prog_name="recollect")
        assert result.exit_code == 0, result.stderr
        document: dict[str, Any] = json.loads(result.stdout)
        return document

    dry = run("distribute", "--shards", str(SHARDS), "--dry-run")
    assert dry["bytes"] == plan(owner, shards=SHARDS).bytes > 0
    assert run("status")["cluster"] is None
    assert run("distribute", "--shards", str(SHARDS), "--yes")["shards"] == SHARDS
    status = run("status")["cluster"]
    assert status["shards"] == SHARDS
    assert {node["name"] for node in status["nodes"]} >= set(dry["nodes"])
    assert status["balance"] >= 1
    assert run("rebalance") == {"moves": 0}
    assert texts(blank, tmp_path) == TEXTS


@on_cluster
def test_a_cut_between_the_nodes_in_the_middle_of_a_write_undoes_it(blank: str, tmp_path: Path) -> None:
    owner = fill(blank, tmp_path)
    distribute(owner, shards=SHARDS)
    with psycopg.connect(open_door(tmp_path, blank).app) as role, psycopg.connect(owner) as looking:
        role.execute('select recollect.enter(\'local\', \'{"user": "ana", "admin": true}\')')
        role.execute("delete from recollect.mention where tenant_id = 'local'")
        changed = role.execute("update recollect.memory set text = 'lost' where tenant_id = 'local'").rowcount
        assert changed == len(TEXTS)
        ended = looking.execute(
            "select sum(result::int) from run_command_on_workers('select count(pg_terminate_backend(pid))"
            " from pg_stat_activity where usename = ''recollect_app'' and datname = current_database()')"
        ).fetchone()
        assert ended is not None
        assert ended[0] >= 1
        with pytest.raises(psycopg.Error):
            role.execute("update recollect.memory set importance = 1 where tenant_id = 'local'")
        role.rollback()
    assert texts(blank, tmp_path) == TEXTS
    with Recollect(settings=settings_of(blank, tmp_path)) as client:
        client.add("Written after the cut.")
