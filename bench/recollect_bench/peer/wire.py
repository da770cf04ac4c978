"""A peer's side of `recollect bench peers`: requests and answers as JSON lines. Standard library only."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

Item = dict[str, Any]


class Peer(Protocol):
    """A store under comparison, opened in a folder of its own; `url` is a PostgreSQL for those that need one."""

    package: str

    def __init__(self, folder: Path, url: str, dimensions: int) -> None: ...

    def add(self, items: list[Item]) -> None:
        """Store items: id, tenant, text, vector."""

    def settle(self) -> None:
        """What its documentation advises after filling, such as building an index."""

    def search(self, tenant: str, question: str, vector: list[float], limit: int) -> list[str]:
        """The ids of the nearest items of a tenant, the best first."""


class Known:
    """Vectors of texts that were made before, for peers that want to embed themselves."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def learn(self, items: list[Item]) -> None:
        """Remember the items' vectors."""
        self.vectors.update((item["text"], item["vector"]) for item in items)

    def of(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts; one that nobody made is an error."""
        return [self.vectors[text] for text in texts]


def serve(kind: type[Peer]) -> None:
    """Answer one request after another; each answer says how long the call itself took."""
    answers, sys.stdout = sys.stdout, sys.stderr
    peer = kind(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    for line in sys.stdin:
        request = json.loads(line)
        call = getattr(peer, request.pop("do"))
        started = time.perf_counter()
        found = call(**request)
        taken_ms = (time.perf_counter() - started) * 1000
        answer = {"ms": taken_ms, "found": found, "version": version(peer.package)}
        print(json.dumps(answer), file=answers, flush=True)
