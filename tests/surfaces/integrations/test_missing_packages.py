"""Without another package its integration says how to get it, and the facade needs none."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.contrib.importers import import_from
from recollect.errors import IntegrationMissingError


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("recollect.contrib.langgraph", "langgraph.store.base", "recollect[langgraph]"),
        ("recollect.contrib.pydantic_ai", "pydantic_ai", "recollect[pydantic-ai]"),
        ("recollect.contrib.langchain", "langchain_core.retrievers", "recollect[langgraph]"),
        ("recollect.contrib.llama_index", "llama_index.core.retrievers", "llama-index-core"),
        ("recollect.contrib.autogen", "autogen_core.memory", "autogen-core"),
        ("recollect.contrib.crewai", "crewai.memory.types", "crewai"),
    ],
)
def test_an_integration_without_its_package_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(IntegrationMissingError) as raised:
        importlib.import_module(module)
    assert extra in str(raised.value)
    assert isinstance(raised.value, ImportError)


def test_a_folder_of_chroma_without_its_package_names_the_extra_and_another_way(
    monkeypatch: pytest.MonkeyPatch, client: Recollect, tmp_path: Path
) -> None:
    (tmp_path / "chroma.sqlite3").touch()
    monkeypatch.setitem(sys.modules, "chromadb", None)
    with pytest.raises(IntegrationMissingError, match=r"recollect\[chroma\].*collection\.get"):
        import_from(client, "chroma", tmp_path)
    assert import_from(client, "chroma", b'{"ids": ["a"], "documents": ["A note."]}').added == 1


def test_the_facade_and_the_importers_load_nothing_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mem0", "chromadb", "langgraph", "pydantic_ai", "mcp"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in [
        name
        for name in sys.modules
        if name.startswith(("recollect.contrib.mem0", "recollect.contrib.importers"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    assert importlib.import_module("recollect.contrib.mem0").Memory
    assert importlib.import_module("recollect.contrib.importers").import_from
