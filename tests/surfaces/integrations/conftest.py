"""The real packages, offline: mem0 with Chroma in a folder and an embedder on loopback, and Chroma itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.loopback import Asked, answering

from recollect import Recollect


def _embeddings(asked: Asked) -> dict[str, Any]:
    """What OpenAI's embeddings look like; the vectors mean nothing."""
    given = asked.body["input"]
    rows = [
        {"object": "embedding", "index": n, "embedding": [float(len(text) % 7), 1.0, 0.0, 0.5]}
        for n, text in enumerate(given if isinstance(given, list) else [given])
    ]
    return {"object": "list", "data": rows, "model": "double", "usage": {}}


@pytest.fixture(scope="session")
def embedder_url() -> Iterator[str]:
    """An embedder's server on loopback."""
    with answering(_embeddings) as url:
        yield url


@pytest.fixture(scope="session")
def real_mem0(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """mem0's package. It looks at the environment, and writes into its home, when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEM0_DIR", str(tmp_path_factory.mktemp("mem0")))
        patch.setenv("MEM0_TELEMETRY", "False")
        import mem0

        yield mem0


@pytest.fixture
def mem0_memory(real_mem0: Any, embedder_url: str, tmp_path: Path) -> Iterator[Any]:
    """mem0's own `Memory`, with nothing outside this machine. (With Qdrant it would fetch a model.)"""
    spoken = {"api_key": "none", "openai_base_url": embedder_url}
    memory = real_mem0.Memory.from_config(
        {
            "vector_store": {
                "provider": "chroma",
                "config": {"collection_name": "memories", "path": str(tmp_path / "mem0_chroma")},
            },
            "embedder": {"provider": "openai", "config": {"model": "double", "embedding_dims": 4, **spoken}},
            "llm": {"provider": "openai", "config": {"model": "double", **spoken}},
            "history_db_path": str(tmp_path / "history.db"),
        }
    )
    yield memory
    memory.close()


@pytest.fixture
def chroma_folder(tmp_path: Path) -> Callable[[dict[str, list[dict[str, Any]]]], Path]:
    """Makes the folder of a `PersistentClient`: `chroma_folder({"notes": [{"id": ..., "document": ...}]})`."""

    def make(collections: dict[str, list[dict[str, Any]]]) -> Path:
        import chromadb
        from chromadb.config import Settings

        folder = tmp_path / "chroma"
        client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        for name, entries in collections.items():
            collection = client.create_collection(name)
            for n, entry in enumerate(entries):
                collection.add(
                    ids=[entry["id"]],
                    embeddings=[[float(n), 1.0]],
                    documents=[entry["document"]] if "document" in entry else None,
                    metadatas=[entry["metadata"]] if "metadata" in entry else None,
                )
        return folder

    return make


@pytest.fixture
def remote_of(server: Any, client: Recollect) -> Iterator[Callable[..., Recollect]]:
    """The test's tenant through a server: `remote_of("ana")`."""
    opened: list[Recollect] = []

    def connect(user: str, roles: tuple[str, ...] = ()) -> Recollect:
        token = client.keys.create("remote", user=user, roles=roles).token
        opened.append(Recollect(url=server.url, api_key=token))
        return opened[-1]

    yield connect
    for one in opened:
        one.close()


@pytest.fixture
def remote(remote_of: Callable[..., Recollect]) -> Recollect:
    """The same as its administrator."""
    return remote_of("root", ("admin",))
