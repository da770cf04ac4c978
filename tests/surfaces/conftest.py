"""A real server on loopback over the session's store, and clients with keys."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from recollect import Recollect, Settings
from recollect.surfaces.http.app import create_app
from recollect.surfaces.http.server import configured


@dataclass(frozen=True)
class Server:
    """Where it listens."""

    url: str


@pytest.fixture(scope="session")
def served_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which clients may name paths."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="session")
def serve(settings: Settings, served_root: Path) -> Iterator[Callable[..., Server]]:
    """Start a server with other settings: `serve(serve_requests_per_minute=3)`."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(**changes: Any) -> Server:
        made = settings.replace(roots=(served_root,), **changes)
        config = configured(create_app(made), made)
        config.host, config.port, config.lifespan = "127.0.0.1", 0, "on"
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
        thread.start()
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive(), "the server did not start"
        running.append((server, thread))
        port = server.servers[0].sockets[0].getsockname()[1]
        return Server(f"http://127.0.0.1:{port}")

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def server(serve: Callable[..., Server]) -> Server:
    """The session's server."""
    return serve()


@pytest.fixture
def http(server: Server, client: Recollect) -> Iterator[Callable[..., httpx.Client]]:
    """An HTTP client with a key of the test's tenant: `http(user="ana", roles=["admin"])`."""
    opened: list[httpx.Client] = []

    def connect(
        *, user: str | None = "root", roles: tuple[str, ...] = (), at: Server = server, **more: Any
    ) -> httpx.Client:
        token = client.keys.create("test", user=user, roles=roles, **more).token
        made = httpx.Client(
            base_url=at.url, headers={"Authorization": f"Bearer {token}"}, timeout=120, trust_env=False
        )
        opened.append(made)
        return made

    yield connect
    for one in opened:
        one.close()


@pytest.fixture
def environ(settings: Settings, tenant_id: str) -> dict[str, str]:
    found = {
        **os.environ,
        "RECOLLECT_HOME": str(settings.home),
        "RECOLLECT_EMBEDDER": "wordllama",
        "RECOLLECT_TENANT": tenant_id,
        "RECOLLECT_SERVE_DASHBOARD": "off",  # it takes a second to load
    }
    return {**found, "RECOLLECT_DATABASE_URL": settings.database_url} if settings.database_url else found
