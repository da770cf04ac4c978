"""Recollect beside other stores: the same texts, the same vectors, the same questions.

The conversations of LoCoMo are small tenants; beside them one tenant holds turns of LongMemEval, cut to a sentence or
two, as many as make up the size. Every text and question is embedded once, by the embedder that is measured, and kept;
each store gets the vectors. A peer runs in an environment of its own (made with uv, from the package index) as a
program that hears requests as JSON lines (`peer/`) and says how long each call took, so no wire is in its times.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from psycopg import sql
from psycopg.conninfo import make_conninfo

from recollect.domain.memory import make_draft
from recollect.errors import InvalidInputError
from recollect.providers.embedders import open_embedder
from recollect.providers.embedders.registry import BUILT_IN, BuiltIn
from recollect.storage.endpoint import open_door
from recollect_bench.floor import connect_owner
from recollect_bench.locomo import read_locomo
from recollect_bench.longmemeval import read_longmemeval
from recollect_bench.questions import KEY, Answer, Item, Question, latency, mean, recall, spread
from recollect_bench.result import Bar, Result, describe_environment
from recollect_bench.trial import ensure_tenant, trial_store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.providers.embedders import Embedder, EmbedderOptions
    from recollect_bench.show import Show

OURS = "recollect"
#: What is installed for each peer.
PEERS: Mapping[str, Sequence[str]] = {
    "chroma": ["chromadb"],
    "lancedb": ["lancedb"],
    "mem0": ["mem0ai"],
    "langgraph": ["langgraph", "langgraph-checkpoint-postgres", "psycopg[binary]"],
    "txtai": ["txtai"],
    "pgvector": ["psycopg[binary]", "pgvector", "numpy"],
}
LIMIT = 10
BATCH = 256
#: The tenant that holds everything that is nobody's conversation, and how much of a long turn it keeps.
OTHERS, OTHERS_CHARS = "others", 200
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class KeptVectors:
    """An embedder that embeds nothing twice; what it made is kept in a file for the next run."""

    def __init__(self, real: Embedder, file: Path | None) -> None:
        self.space, self.split, self._real, self._file = real.space, real.split, real, file
        self._made: dict[str, NDArray[np.float32]] = {}
        if file is not None and file.exists():
            with np.load(file) as kept:
                self._made = dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector per text."""
        missing = list(dict.fromkeys(text for text in texts if f"text {text}" not in self._made))
        if missing:
            made = self._real.embed(missing)
            self._made.update((f"text {text}", vector) for text, vector in zip(missing, made, strict=True))
        return np.stack([self._made[f"text {text}"] for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        if f"question {text}" not in self._made:
            self._made[f"question {text}"] = self._real.embed_query(text)
        return self._made[f"question {text}"]

    def keep(self) -> None:
        """Write what was made."""
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            texts = np.array(list(self._made))
            np.savez(self._file, texts=texts, vectors=np.stack(list(self._made.values())))


_kept: dict[str, KeptVectors] = {}


def open_kept(options: EmbedderOptions) -> KeptVectors:
    """The factory of `kept:<embedder>` while a comparison runs."""
    return _kept[options.variant]


@contextmanager
def kept_vectors(embedder: str, file: Path | None) -> Iterator[KeptVectors]:
    """While it lasts, `kept:<embedder>` names an embedder that has all vectors at hand."""
    BUILT_IN["kept"] = BuiltIn(factory="recollect_bench.peers:open_kept", needs=(), install="", variants=None)
    try:
        with TemporaryDirectory(prefix="recollect-bench-") as cache:
            _kept[embedder] = KeptVectors(open_embedder(embedder, cache_dir=Path(cache)), file)
            yield _kept[embedder]
    finally:
        _kept.clear()
        del BUILT_IN["kept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What every store holds, by tenant, and what it is asked."""

    items: Mapping[str, Sequence[Item]]
    questions: Sequence[Question]

    @property
    def size(self) -> int:
        """How many texts there are."""
        return sum(len(items) for items in self.items.values())


def read_world(data: Path, size: int, questions: int) -> World:
    """LoCoMo's conversations and, in one other tenant, so many turns of LongMemEval that there are `size` texts."""
    files = sorted((data / "locomo").glob("*.json"))
    if not files:
        raise InvalidInputError(
            f"no conversations in {str(data / 'locomo')!r}; see CONTRIBUTING.md for the data"
        )
    talk = read_locomo(files[0])
    items: dict[str, list[Item]] = {}
    for item in talk.items:
        items.setdefault(_tenant(item["scope"]), []).append(item)
    missing = size - len(talk.items)
    if missing < 0:
        raise InvalidInputError(
            f"the conversations alone are {len(talk.items):,} texts; ask for more than {size:,}"
        )
    turns = (turn["text"][:OTHERS_CHARS] for turn in read_longmemeval(data / "longmemeval").items)
    texts = list(dict.fromkeys(text for text in turns if text.strip()))[:missing]
    items[OTHERS] = [
        {"text": text, "metadata": {KEY: f"other-{number}"}} for number, text in enumerate(texts)
    ]
    return World(items=items, questions=spread(talk.questions, questions))


def _tenant(scope: str) -> str:
    return scope.replace("/", "-")


def run_peers(
    data: Path,
    *,
    size: int,
    questions: int,
    peers: Sequence[str],
    environments: Path,
    embedder: str,
    show: Show,
) -> Result:
    """Every store filled and asked, one after the other."""
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise InvalidInputError(f"no peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    world = read_world(data, size, questions)
    environment = describe_environment()
    measured: dict[str, Any] = {}
    with kept_vectors(embedder, environments / f"vectors-{embedder}.npz") as vectors:
        _embed(world, vectors, show)
        with trial_store(f"kept:{embedder}") as client:
            measured[OURS] = _measure_ours(client, world, show)
            for name in peers:
                python = install(name, environments, show)
                with _peer(name, python, client.settings.home, vectors.space.dimensions) as peer:
                    measured[name] = _measure(peer, world, vectors, show)
    best = max((found["recall"] for name, found in measured.items() if name != OURS), default=0.0)
    return Result(
        bench="peers",
        arguments={"n": world.size, "questions": len(world.questions), "embedder": embedder},
        measures={"stores": measured},
        bars=[
            Bar(
                name="recall@10 / the best peer's", value=measured[OURS]["recall"] / max(best, 1e-9), bar=1.0
            ),
            Bar(name="hits of 10 for a small tenant, fewest", value=measured[OURS]["fewest"], bar=LIMIT),
        ],
        environment=environment,
    )


def _embed(world: World, vectors: KeptVectors, show: Show) -> None:
    with show.stage("embedding every text and question", world.size) as progress:
        done = 0
        for items in world.items.values():
            for start in range(0, len(items), BATCH):
                vectors.embed([indexed_text(item) for item in items[start : start + BATCH]])
                done += len(items[start : start + BATCH])
                progress(done, None)
            vectors.keep()
    for question in world.questions:
        vectors.embed_query(question.text)
    vectors.keep()


def indexed_text(item: Item) -> str:
    """What Recollect embeds of an item, and so what every store's vector is of."""
    return make_draft(item, now=_NOW).indexed_text


def _summary(
    world: World, answers: Sequence[Sequence[str]], times: Sequence[float], *, stored_s: float, disk: int
) -> dict[str, Any]:
    asked = [
        Answer(question=question, found=tuple(found), ms=ms)
        for question, found, ms in zip(world.questions, answers, times, strict=True)
    ]
    return {
        "recall": mean(recall(answer, LIMIT) for answer in asked if answer.question.gold),
        "search_ms": latency(times),
        "per_s": world.size / stored_s,
        "disk_mb": disk / 1e6,
        "hits": mean(len(found) for found in answers),
        "fewest": min(len(found) for found in answers),
    }


def _measure_ours(client: Any, world: World, show: Show) -> dict[str, Any]:
    """Recollect, each tenant a tenant of its own; also how long it takes without reading the candidates."""
    before, stored_s = _database_bytes(client.settings.home), 0.0
    inside = {name: ensure_tenant(client, name)[0] for name in world.items}
    client.add("The embedder is loaded.")
    with show.stage(f"filling {OURS}", world.size):
        for name, items in world.items.items():
            moved = [{key: value for key, value in item.items() if key != "scope"} for item in items]
            started = time.perf_counter()
            inside[name].add_many(moved)
            stored_s += time.perf_counter() - started
    disk = _database_bytes(client.settings.home) - before
    answers, times, unread = [], [], []
    with show.stage(f"asking {OURS}", len(world.questions)):
        for question in world.questions:
            started = time.perf_counter()
            found = inside[_tenant(question.scope)].search(question.text, threshold=0, limit=LIMIT)
            times.append((time.perf_counter() - started) * 1000)
            unread.append(times[-1] - found.timings_ms.get("judge", 0.0))
            answers.append([str(hit.metadata[KEY]) for hit in found])
    measured = _summary(world, answers, times, stored_s=stored_s, disk=disk)
    return {**measured, "unjudged_ms": latency(unread), "version": version("recollect")}


def _measure(peer: Conversation, world: World, vectors: KeptVectors, show: Show) -> dict[str, Any]:
    before, stored_ms = peer.disk_bytes(), 0.0
    with show.stage(f"filling {peer.name}", world.size):
        for tenant, items in world.items.items():
            for start in range(0, len(items), BATCH):
                part = items[start : start + BATCH]
                texts = [indexed_text(item) for item in part]
                # Two tenants may have turns of the same name.
                ids = [f"{tenant} {item['metadata'][KEY]}" for item in part]
                rows = [
                    {"id": id, "tenant": tenant, "text": text, "vector": vector}
                    for id, text, vector in zip(ids, texts, vectors.embed(texts).tolist(), strict=True)
                ]
                stored_ms += peer.ask("add", items=rows)["ms"]
        stored_ms += peer.ask("settle")["ms"]
    answers, times = [], []
    with show.stage(f"asking {peer.name}", len(world.questions)):
        for question in world.questions:
            tenant = _tenant(question.scope)
            vector = vectors.embed_query(question.text).tolist()
            answer = peer.ask("search", tenant=tenant, question=question.text, vector=vector, limit=LIMIT)
            times.append(answer["ms"])
            answers.append([id.removeprefix(f"{tenant} ") for id in answer["found"]])
    disk = peer.disk_bytes() - before
    summary = _summary(world, answers, times, stored_s=stored_ms / 1000, disk=disk)
    return {**summary, "version": answer["version"]}


# A peer's process ------------------------------------------------------------------------------------


def install(name: str, environments: Path, show: Show) -> Path:
    """The interpreter of a peer's environment, which is made when it is not there."""
    python = environments / name / "bin" / "python"
    if not python.exists():
        show.say(f"installing {' '.join(PEERS[name])}")
        python_version = f"{sys.version_info.major}.{sys.version_info.minor}"
        _run(["uv", "venv", "--quiet", "--python", python_version, str(environments / name)])
        _run(["uv", "pip", "install", "--quiet", "--python", str(python), *PEERS[name]])
    return python


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InvalidInputError(f"{' '.join(command[:3])} failed: {error}") from error


class Conversation:
    """A peer's process, asked by JSON lines."""

    def __init__(self, name: str, process: subprocess.Popen[str], folder: Path, home: Path) -> None:
        self.name, self._process, self._folder, self._home = name, process, folder, home

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request; a peer that died has said why on standard error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            raise InvalidInputError(f"{self.name} gave up at {do!r}; what it said is above") from error
        return answer

    def disk_bytes(self) -> int:
        """What it takes on the disk: its folder, and its schema of the database."""
        files = sum(file.stat().st_size for file in self._folder.rglob("*") if file.is_file())
        return files + _schema_bytes(self._home, _schema(self.name))


def _schema(name: str) -> str:
    return f"peer_{name}"


@contextmanager
def _peer(name: str, python: Path, home: Path, dimensions: int) -> Iterator[Conversation]:
    """A peer in an empty folder, and with an empty schema of our PostgreSQL for those that need one."""
    with connect_owner(home) as owner:
        owner.execute(sql.SQL("create schema {}").format(sql.Identifier(_schema(name))))
    url = make_conninfo(str(open_door(home, None).owner), options=f"-csearch_path={_schema(name)},public")
    program = Path(__file__).parent / "peer" / f"{name}_peer.py"
    with TemporaryDirectory(prefix=f"recollect-{name}-") as folder:
        command = [str(python), str(program), folder, url, str(dimensions)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8") as process:
            try:
                yield Conversation(name, process, Path(folder), home)
                process.communicate(timeout=30)
            finally:
                process.kill()


def _schema_bytes(home: Path, schema: str) -> int:
    with connect_owner(home) as owner:
        row = owner.execute(
            "select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c"
            " join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relkind in ('r', 'm')",
            [schema],
        ).fetchone()
    assert row is not None
    return int(row[0])


def _database_bytes(home: Path) -> int:
    return _schema_bytes(home, "recollect")
