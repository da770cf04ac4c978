"""`fastembed:<model>` where its models can't be downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import EmbedderFailedError, InvalidInputError
from recollect.providers.embedders import open_embedder


def test_a_model_that_can_not_be_downloaded_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(EmbedderFailedError, match=r"could not be downloaded.*network.*'minilm'") as caught:
        open_embedder("fastembed:BAAI/bge-small-en-v1.5", cache_dir=tmp_path)
    assert caught.value.__cause__ is not None


def test_an_unknown_model_is_refused_before_any_download(tmp_path: Path) -> None:
    for name in ("fastembed:nobody/nothing", "fastembed"):
        with pytest.raises(InvalidInputError, match="fastembed has no model"):
            open_embedder(name, cache_dir=tmp_path)
