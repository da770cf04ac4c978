"""Embedders opened once for all tests of this folder, on a cache folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.providers.embedders import Embedder, open_embedder


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def minilm(model_cache: Path) -> Embedder:
    return open_embedder("minilm", cache_dir=model_cache)


@pytest.fixture(scope="session")
def minilm_fp32(model_cache: Path) -> Embedder:
    return open_embedder("minilm:fp32", cache_dir=model_cache)


@pytest.fixture(scope="session")
def wordllama(model_cache: Path) -> Embedder:
    return open_embedder("wordllama", cache_dir=model_cache)


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return [
        "The Platform team moved the API database from MySQL to PostgreSQL in May.",
        "Ana prefers short answers with code.",
        "I went hiking with my sister last weekend, and the view was beautiful!",
        "How do I restart the billing worker?",
        "Rotate the signing keys every ninety days; see the runbook for the exact steps.",
        "login",
        "SELECT count(*) FROM orders WHERE state = 'open' AND created_at > now() - interval '1 day'",
        "Caroline said she would start the pottery class on 7 May 2023.",
        "Die Rechnungsstelle schließt freitags um vier.",
        "设计评审改到星期三下午三点。",
        "error: connection refused (111) while dialing upstream auth-7f9c:8443",
        "We compared three queues, and chose the one that needs no second server.",
        "def add(a: int, b: int) -> int: return a + b",
        "Dinner with the Nakamuras is on Saturday; bring the photographs from Kyoto. " * 6,
        "Who approved the budget for the second office, and what did they ask for in return?",
        "🙂 thanks!!",
    ]
