"""`openai:<model>` over real HTTP, against a small server that gives real vectors or misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.loopback import Answer, Asked, answering

from recollect.errors import (
    ConfigurationError,
    EmbedderError,
    EmbedderFailedError,
    InvalidInputError,
    InvalidTextError,
)
from recollect.providers.embedders import Embedder, open_embedder
from recollect.providers.embedders.vectors import blank_vector

KEY = "sk-test-0123456789"


@dataclass
class Server:
    """What the server was asked, and what it should do wrong, one entry per request to come."""

    embedder: Embedder
    url: str = ""
    faults: list[str] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        self.requests.append({**asked.body, "path": asked.path})
        self.keys.append(asked.headers["Authorization"])
        fault, texts = self.faults.pop(0) if self.faults else "", asked.body["input"]
        if fault.isdigit():
            return int(fault)
        vectors = (3 * self.embedder.embed(texts)).tolist()  # not of length 1, as of some servers
        data: list[dict[str, Any]] = [
            {"object": "embedding", "index": index, "embedding": vector}
            for index, vector in enumerate(vectors)
        ]
        if fault == "one too few":
            data.pop()
        elif fault == "the same index twice":
            data[-1]["index"] = 0
        elif fault == "shorter vectors":
            data = [{**item, "embedding": item["embedding"][:10]} for item in data]
        elif fault == "unequal vectors":
            data[0]["embedding"] = data[0]["embedding"][:10]
        elif fault == "nan":
            data[0]["embedding"][0] = float("nan")
        elif fault == "no numbers":
            data[0]["embedding"] = ["a", "b"]
        elif fault == "another shape":
            return 200, b'{"result": []}'
        elif fault == "zero vector":
            data[0]["embedding"] = [0.0] * len(data[0]["embedding"])
        body = json.dumps({"object": "list", "model": "m", "data": data[::-1], "usage": {}}).encode()
        return 200, body[: len(body) // 2] if fault == "truncated" else body


@pytest.fixture
def server(wordllama: Embedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    state = Server(embedder=wordllama)

    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with answering(lambda asked: state.answer(asked)) as state.url:
        yield state


def connect(server: Server, tmp_path: Path, **options: Any) -> Embedder:
    return open_embedder("openai:some-model", cache_dir=tmp_path, base_url=server.url, **options)


def test_the_server_s_vectors_come_back_as_unit_vectors_in_order(
    server: Server, tmp_path: Path, wordllama: Embedder, sentences: list[str]
) -> None:
    embedder = connect(server, tmp_path, api_key=KEY)
    texts = [f"{sentence} {number}" for number in range(5) for sentence in sentences]

    assert np.allclose(embedder.embed(texts), wordllama.embed(texts), atol=1e-5)
    assert np.allclose(embedder.embed_query("login"), wordllama.embed_query("login"), atol=1e-5)
    assert (embedder.space.name, embedder.space.dimensions) == ("openai:some-model", 256)
    assert {(request["path"], request["model"]) for request in server.requests} == {
        ("/v1/embeddings", "some-model")
    }
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert max(len(request["input"]) for request in server.requests) <= 32


def test_key_and_address_come_from_the_environment(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert open_embedder("openai:some-model", cache_dir=tmp_path).space.dimensions == 256
    assert server.keys == [f"Bearer {KEY}"]


def test_blank_texts_are_not_sent_and_get_the_blank_vector(server: Server, tmp_path: Path) -> None:
    embedder = connect(server, tmp_path)
    vectors = embedder.embed(["", "login", " \n"])
    assert [request["input"] for request in server.requests[1:]] == [["login"]]
    assert np.array_equal(vectors[0], blank_vector(256))
    assert np.array_equal(vectors[2], blank_vector(256))


def test_a_lone_surrogate_is_refused_as_invalid_text(server: Server, tmp_path: Path) -> None:
    embedder = connect(server, tmp_path)
    with pytest.raises(InvalidTextError, match="valid Unicode"):
        embedder.embed(["fine", "broken \ud800 text"])


def test_a_zero_vector_becomes_the_blank_vector(server: Server, tmp_path: Path) -> None:
    embedder = connect(server, tmp_path)
    server.faults = ["zero vector"]
    assert np.array_equal(embedder.embed_query("login"), blank_vector(256))


def test_long_texts_are_split_and_never_sent_longer_than_the_window(server: Server, tmp_path: Path) -> None:
    embedder = connect(server, tmp_path)
    text = "数据库 and database " * 1000
    pieces = embedder.split(text)
    assert "".join(pieces) == text
    assert len(pieces) > 2
    embedder.embed([text, *pieces])
    assert max(len(sent.encode()) for request in server.requests for sent in request["input"]) <= 8000


@pytest.mark.parametrize("fault", ["429", "500", "503"])
def test_a_passing_fault_is_retried(server: Server, tmp_path: Path, wordllama: Embedder, fault: str) -> None:
    embedder = connect(server, tmp_path)
    server.faults = [fault]
    assert np.allclose(embedder.embed_query("login"), wordllama.embed_query("login"), atol=1e-5)
    assert not server.faults


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("429", "answered 429.*try again later"),
        ("500", "answered 500.*try again later"),
        ("401", "answered 401.*OPENAI_API_KEY"),
        ("404", "answered 404.*model's name"),
        ("truncated", "can't be read"),
        ("another shape", "can't be read"),
        ("one too few", "1 vectors for 2 texts"),
        ("the same index twice", "1 vectors for 2 texts"),
        ("shorter vectors", "10 numbers, before 256"),
        ("unequal vectors", "unequal length"),
        ("no numbers", "not of numbers"),
        ("nan", "NaN|can't be read"),
    ],
)
def test_a_lasting_fault_is_a_clear_error_with_its_cause_and_without_the_key(
    server: Server, tmp_path: Path, fault: str, message: str
) -> None:
    embedder = connect(server, tmp_path, api_key=KEY)
    server.faults = [fault] * 9
    with pytest.raises(EmbedderFailedError, match=message) as caught:
        embedder.embed(["one", "two"])
    assert "'openai:some-model'" in str(caught.value)
    assert KEY not in str(caught.value)
    if fault.isdigit():
        assert caught.value.__cause__ is not None
    server.faults = []
    assert embedder.embed(["one", "two"]).shape == (2, 256)  # and the embedder still works


def test_a_server_that_is_not_there_fails_when_opened(server: Server, tmp_path: Path) -> None:
    nowhere = "http://127.0.0.1:9/v1"  # the discard port: nobody listens
    with pytest.raises(EmbedderFailedError, match=r"can't be reached.*OPENAI_BASE_URL") as caught:
        open_embedder("openai:m", cache_dir=tmp_path, base_url=nowhere)
    assert caught.value.__cause__ is not None


def test_a_server_that_never_answers_is_given_up_after_the_timeout(server: Server, tmp_path: Path) -> None:
    waiting = threading.Event()
    answer = server.answer

    def wait_first(asked: Asked) -> Answer:
        waiting.wait(30)
        return answer(asked)

    server.answer = wait_first  # type: ignore[method-assign]
    try:
        with pytest.raises(EmbedderFailedError, match="did not answer in time"):
            connect(server, tmp_path, timeout_s=0.05)
    finally:
        waiting.set()


def test_without_key_and_address_the_error_names_both(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*OPENAI_BASE_URL"):
        open_embedder("openai:text-embedding-3-small", cache_dir=tmp_path)


@pytest.mark.parametrize("url", ["not a url", "ftp://host", "http://[::1"])
def test_a_senseless_address_is_an_embedder_or_configuration_error(
    server: Server, tmp_path: Path, url: str
) -> None:
    with pytest.raises((ConfigurationError, EmbedderError)):
        open_embedder("openai:m", cache_dir=tmp_path, base_url=url)


def test_a_model_must_be_named(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="'openai:text-embedding-3-small'"):
        open_embedder("openai", cache_dir=tmp_path, base_url=server.url)
