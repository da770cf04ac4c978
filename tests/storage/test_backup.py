"""Backups that come back whole, or leave everything as it was."""

from __future__ import annotations

import os
import stat
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.errors import (
    ConflictError,
    InvalidInputError,
    NotFoundError,
    StoreBusyError,
    StoreCorruptedError,
    StoreError,
    StoreNewerError,
    StoreUnreachableError,
    StoreUnsupportedError,
)
from recollect.storage import backup as backup_module
from recollect.storage.backup import backup, restore
from recollect.storage.embedded import Endpoint, binary, ensure_running, temporary_home

pytestmark = pytest.mark.system  # on a server of its own

ROWS = 3000
STORE = f"""
create schema recollect;
create table recollect.memory (
  tenant_id text not null, id bigint not null, body text not null, embedding public.halfvec(3),
  primary key (tenant_id, id)) partition by hash (tenant_id);
create table recollect.memory_0 partition of recollect.memory for values with (modulus 2, remainder 0);
create table recollect.memory_1 partition of recollect.memory for values with (modulus 2, remainder 1);
create index on recollect.memory using hnsw (embedding public.halfvec_l2_ops);
create sequence recollect.numbers;
create schema recollect_jobs;
create table recollect_jobs.job (id bigint primary key);
alter table recollect.memory enable row level security;
alter table recollect.memory force row level security;
create policy visible on recollect.memory
  using (tenant_id = (select current_setting('recollect.tenant', true)));
grant usage on schema recollect to recollect_app;
grant select on recollect.memory to recollect_app;
insert into recollect.memory
  select 'tenant ' || i % 5, i, E'line\\n\\\\.\\n' || md5(i::text),
    format('[%s,%s,1]', i % 7, i % 11)::public.halfvec
  from generate_series(1, {ROWS}) i;
insert into recollect_jobs.job values (7);
select setval('recollect.numbers', 41);
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture
def empty(home: Path) -> Endpoint:
    return ensure_running(home, sync=False, database=f"empty {uuid.uuid4()}")


@pytest.fixture(scope="module")
def store(home: Path) -> Endpoint:
    endpoint = ensure_running(home, sync=False, database="store")
    tell(endpoint.owner, STORE)
    return endpoint


@pytest.fixture(scope="module")
def saved(store: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("saved") / "store 'one'.backup"
    backup(store.owner, target)
    return target


def tell(conninfo: str, statements: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(statements.encode())


def content(conninfo: str) -> list[object]:
    """Everything a store holds, in a form that can be compared."""
    questions = (
        "select tenant_id, id, body, embedding::text from recollect.memory order by 1, 2",
        "select * from recollect_jobs.job",
        "select last_value from recollect.numbers",
        "select tablename, policyname, qual from pg_policies order by 1, 2",
        "select relname, relrowsecurity, relforcerowsecurity, relacl::text from pg_class"
        " where relnamespace::regnamespace::text like 'recollect%' order by 1",
        "select indexdef from pg_indexes where schemaname like 'recollect%' order by 1",
    )
    with psycopg.connect(conninfo) as connection:
        return [connection.execute(question.encode()).fetchall() for question in questions]


# ---------------------------------------------------------------- round trips


def test_a_backup_comes_back_whole_in_an_empty_database(
    store: Endpoint, saved: Path, empty: Endpoint
) -> None:
    report = restore(empty.owner, saved)
    assert content(empty.owner) == content(store.owner)
    assert report.tables == 4
    assert report.path == saved


@pytest.mark.parametrize(("version", "error"), [(3, StoreUnsupportedError), (999, StoreNewerError)])
def test_a_backup_that_this_program_could_not_open_is_not_restored(
    saved: Path, empty: Endpoint, tmp_path: Path, version: int, error: type[StoreError]
) -> None:
    strange = tmp_path / "strange.backup"
    tell(
        empty.owner,
        "create schema recollect; create table recollect.migration (version integer, phase text, name text);"
        f"insert into recollect.migration values (1, 'pre', 'x'), ({version}, 'pre', 'y')",
    )
    backup(empty.owner, strange)
    restore(empty.owner, saved, replace=True)
    before = content(empty.owner)
    with pytest.raises(error, match=f"schema version {version},"):
        restore(empty.owner, strange, replace=True)
    assert content(empty.owner) == before


def test_the_restored_store_still_hides_rows_from_the_application_role(saved: Path, empty: Endpoint) -> None:
    restore(empty.owner, saved)
    with psycopg.connect(empty.app) as connection:
        assert connection.execute("select count(*) from recollect.memory").fetchone() == (0,)
        connection.execute("set local recollect.tenant = 'tenant 1'")
        assert connection.execute("select count(*) from recollect.memory").fetchone() == (ROWS // 5,)


def test_a_filled_store_is_kept_unless_it_is_to_be_replaced(
    store: Endpoint, saved: Path, empty: Endpoint
) -> None:
    restore(empty.owner, saved)
    tell(empty.owner, "delete from recollect.memory where id > 10; create table recollect.newer (x int)")
    changed = content(empty.owner)
    with pytest.raises(ConflictError, match="already holds"):
        restore(empty.owner, saved)
    assert content(empty.owner) == changed
    restore(empty.owner, saved, replace=True)
    assert content(empty.owner) == content(store.owner)


def test_an_empty_schema_is_no_obstacle_but_one_with_a_function_is(saved: Path, empty: Endpoint) -> None:
    tell(empty.owner, "create schema recollect; create function recollect.f() returns int return 1")
    with pytest.raises(ConflictError, match="parts of a store"):
        restore(empty.owner, saved)
    tell(empty.owner, "drop function recollect.f")
    restore(empty.owner, saved)


def test_restoring_waits_for_nobody_for_ever(
    saved: Path, empty: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore(empty.owner, saved)
    before = content(empty.owner)
    monkeypatch.setattr(backup_module, "_LOCK_TIMEOUT_S", 1)
    with psycopg.connect(empty.owner) as reader:
        reader.execute("select count(*) from recollect.memory")
        with pytest.raises(StoreBusyError, match="close them"):
            restore(empty.owner, saved, replace=True)
    assert content(empty.owner) == before


# ---------------------------------------------------------------- the file


def test_the_file_is_private_and_nothing_else_is_left_beside_it(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert list(saved.parent.iterdir()) == [saved]


def test_an_existing_file_is_overwritten_only_on_purpose(store: Endpoint, tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.write_text("precious")
    with pytest.raises(ConflictError, match="exists already"):
        backup(store.owner, target)
    assert target.read_text() == "precious"
    report = backup(store.owner, target, overwrite=True)
    assert report.size_bytes == target.stat().st_size > 1000
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_backup_that_fails_leaves_no_file(store: Endpoint, empty: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nothing to back up"):
        backup(empty.owner, tmp_path / "a")
    with pytest.raises(StoreUnreachableError):
        backup(make_conninfo(store.owner, password="guess"), tmp_path / "b")
    with pytest.raises(StoreUnreachableError):
        backup("postgresql://127.0.0.1:1/x", tmp_path / "c")
    with pytest.raises(StoreUnreachableError, match="can't be read"):
        backup("what is this", tmp_path / "d")
    tell(store.owner, "grant usage on schema recollect, recollect_jobs to recollect_app")
    with pytest.raises(StoreError):
        backup(store.app, tmp_path / "e")
    assert list(tmp_path.iterdir()) == []


def test_a_role_that_can_t_see_every_row_must_not_make_half_a_backup(empty: Endpoint, tmp_path: Path) -> None:
    tell(
        empty.owner,
        "create schema recollect authorization recollect_app; set role recollect_app;"
        "create table recollect.memory (x int); alter table recollect.memory enable row level security;"
        "alter table recollect.memory force row level security",
    )
    with pytest.raises(StoreUnsupportedError, match="BYPASSRLS"):
        backup(empty.app, tmp_path / "half")
    assert list(tmp_path.iterdir()) == []


def test_folders_and_places_that_do_not_exist_are_refused(store: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is a folder"):
        backup(store.owner, tmp_path)
    with pytest.raises(StoreError, match="no such file"):
        backup(store.owner, tmp_path / "not" / "there")


def test_the_password_is_never_on_a_command_line(store: Endpoint) -> None:
    command, environment = backup_module._command("pg_dump", ["--schema=x"], store.owner)
    password = str(conninfo_to_dict(store.owner)["password"])
    assert password not in " ".join(command)
    assert environment["PGPASSWORD"] == password


# ---------------------------------------------------------------- broken backups


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.98])
@pytest.mark.parametrize("filled", [False, True])
def test_a_backup_cut_short_leaves_the_database_as_it_was(
    saved: Path, empty: Endpoint, tmp_path: Path, share: float, filled: bool
) -> None:
    if filled:
        restore(empty.owner, saved)
    whole = saved.read_bytes()
    broken = tmp_path / "broken"
    broken.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(StoreCorruptedError, match="as it was"):
        restore(empty.owner, broken, replace=filled)
    expected = 4 if filled else 0
    with psycopg.connect(empty.owner) as connection:
        assert connection.execute(
            "select count(*) from pg_tables where schemaname like 'recollect%'"
        ).fetchone() == (expected,)
        if filled:
            assert connection.execute("select count(*) from recollect.memory").fetchone() == (ROWS,)


def test_a_flipped_byte_in_the_data_is_noticed(saved: Path, empty: Endpoint, tmp_path: Path) -> None:
    whole = bytearray(saved.read_bytes())
    for offset in range(len(whole) - 3000, len(whole) - 2000):
        whole[offset] ^= 0x55
    broken = tmp_path / "broken"
    broken.write_bytes(whole)
    with pytest.raises((StoreCorruptedError, StoreError), match="as it was"):
        restore(empty.owner, broken)
    with psycopg.connect(empty.owner) as connection:
        assert connection.execute("select to_regnamespace('recollect')").fetchone() == (None,)


def test_what_is_no_backup_is_refused(empty: Endpoint, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no backup file"):
        restore(empty.owner, tmp_path / "missing")
    text = tmp_path / "notes.txt"
    text.write_text("select 1;\n" * 1000)
    with pytest.raises(StoreCorruptedError):
        restore(empty.owner, text)
    foreign = tmp_path / "foreign"
    tell(empty.owner, "create table public.theirs (x int)")
    parameters = conninfo_to_dict(empty.owner)
    password = str(parameters.pop("password"))
    subprocess.run(
        [binary("pg_dump"), "-Fc", "-f", foreign, "-d", make_conninfo("", **parameters)],
        env={**os.environ, "PGPASSWORD": password},
        check=True,
    )
    with pytest.raises(InvalidInputError, match="not one of a Recollect store"):
        restore(empty.owner, foreign)


def test_a_backup_that_needs_a_role_the_server_lacks_changes_nothing(empty: Endpoint, tmp_path: Path) -> None:
    tell(empty.owner, "create role passing; create schema recollect; create table recollect.memory (x int)")
    tell(empty.owner, "grant select on recollect.memory to passing")
    target = tmp_path / "with a role"
    backup(empty.owner, target)
    tell(empty.owner, "insert into recollect.memory values (1); drop owned by passing; drop role passing")
    with pytest.raises(StoreError, match='role "passing" does not exist'):
        restore(empty.owner, target, replace=True)
    with psycopg.connect(empty.owner) as connection:
        assert connection.execute("select count(*) from recollect.memory").fetchone() == (1,)
