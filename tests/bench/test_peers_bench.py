"""Other stores beside ours, on texts small enough to know the answers by heart."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.bench.conftest import QUIET

from recollect.errors import InvalidInputError
from recollect.storage import embedded
from recollect_bench.peers import OTHERS, read_world, run_peers
from recollect_bench.tables import tables_of


@pytest.fixture
def data(tmp_path: Path, locomo_file: Path) -> Path:
    """Six turns of two conversations, and a session of somebody else's."""
    (tmp_path / "data" / "locomo").mkdir(parents=True)
    (tmp_path / "data" / "longmemeval").mkdir()
    locomo_file.rename(tmp_path / "data" / "locomo" / "tiny.json")
    turns = [{"role": "user", "content": f"On day {n} the ferry was late again."} for n in range(30)]
    sessions = [{"id": "s1", "date": "2023/04/10 (Mon) 17:50", "turns": turns}]
    for name, content in {"sessions": sessions, "questions_dev": []}.items():
        file = tmp_path / "data" / "longmemeval" / f"{name}.json"
        file.write_text(json.dumps(content), encoding="utf-8")
    return tmp_path / "data"


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """This very environment, which has what the raw pgvector peer needs, in the place of its own."""
    python = tmp_path / "environments" / "pgvector" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return tmp_path / "environments"


def test_a_peer_gets_the_same_texts_and_vectors_and_answers_for_each_tenant(
    data: Path,
    environments: Path,
    new_home: Callable[[], AbstractContextManager[Path]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def running() -> Iterator[Path]:
        with new_home() as home:
            embedded.ensure_running(home, sync=False)
            yield home

    monkeypatch.setattr(embedded, "temporary_home", running)
    result = run_peers(
        data,
        size=30,
        questions=5,
        peers=["pgvector"],
        environments=environments,
        embedder="wordllama",
        show=QUIET,
    )
    ours, peer = result.measures["stores"]["recollect"], result.measures["stores"]["pgvector"]
    # Both hold the turn that is asked for in its own words; one question's gold is in no conversation.
    assert (ours["recall"], peer["recall"]) == (0.75, 0.75)
    # Nobody finds another tenant's: the smaller conversation has two turns.
    assert (ours["fewest"], peer["fewest"]) == (2, 2)
    assert min(peer["disk_mb"], peer["per_s"], peer["search_ms"]["p50"], ours["unjudged_ms"]["p50"]) > 0
    [table] = tables_of(result)
    assert [row[0].split()[0].rstrip(",") for row in table.rows] == ["recollect", "recollect", "pgvector"]
    assert (environments / "vectors-wordllama.npz").exists()


def test_the_rest_of_the_size_is_one_other_tenants_and_small_sizes_are_refused(data: Path) -> None:
    world = read_world(data, 20, 3)
    assert {name: len(items) for name, items in world.items.items()} == {
        "user-conv-a": 4,
        "user-conv-b": 2,
        OTHERS: 14,
    }
    assert world.size == 20
    with pytest.raises(InvalidInputError, match="the conversations alone are 6 texts"):
        read_world(data, 5, 3)


def test_a_peer_that_nobody_wrote_and_data_that_is_not_there_are_named(data: Path, tmp_path: Path) -> None:
    options = {"size": 30, "questions": 5, "environments": tmp_path, "embedder": "wordllama", "show": QUIET}
    with pytest.raises(InvalidInputError, match="no peer 'oracle'; there are chroma"):
        run_peers(data, peers=["oracle"], **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no conversations in"):
        run_peers(tmp_path, peers=[], **options)  # type: ignore[arg-type]
