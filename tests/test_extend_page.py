"""The page about extensions shows files that work: installed as a package, they are found by their entry points."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from recollect.errors import DocumentError, DocumentReaderMissingError
from recollect.library.reading import read_document
from recollect.providers.embedders import open_embedder

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "docs_src" / "extend"
MAIL = b"Subject: Lunch\nFrom: ana@example.com\nDate: Tue, 05 May 2026 10:00:00 +0000\n\nAt noon, by the harbour.\n"


def test_the_page_shows_the_examples() -> None:
    page = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    blocks = dict(re.findall(r"<!-- (\S+) -->\n```\w*\n(.*?)```\n", page, re.DOTALL))
    assert sorted(blocks) == sorted(str(file.relative_to(ROOT)) for file in EXAMPLES.glob("*.*"))
    for file, text in blocks.items():
        assert (ROOT / file).read_text(encoding="utf-8") == text, file


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples as an installer leaves them: modules on the path, entry points in the metadata."""
    for file in EXAMPLES.glob("*.py"):
        shutil.copy(file, tmp_path)
    metadata = tmp_path / "our_doors-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: our-doors\nVersion: 1.0\n")
    groups = tomllib.loads((EXAMPLES / "pyproject.toml").read_text())["project"]["entry-points"]
    groups["recollect.readers"] |= {"broken": "mail:nothing", "md": "mail:read_mail", "odd": "json:loads"}
    lines = [
        f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in names.items()) for group, names in groups.items()
    ]
    (metadata / "entry_points.txt").write_text("".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_embedder_is_found_by_its_name(installed: Path) -> None:
    embedder = open_embedder("letters", cache_dir=installed)
    vectors = embedder.embed(["aab", "zzz"])
    assert vectors.shape == (2, 26)
    assert float(embedder.embed_query("aab") @ vectors[0]) == pytest.approx(1.0)


def test_the_reader_is_found_by_a_files_extension(installed: Path) -> None:
    read = read_document(MAIL, name="inbox/lunch.EML")
    assert (read.title, read.kind) == ("Lunch", "markdown")
    assert "At noon, by the harbour." in read.text
    assert [section.path for section in read.sections] == ["Lunch"]


def test_a_reader_can_not_take_a_format_that_is_read_already(installed: Path) -> None:
    assert read_document(b"# Plan\n\nSubject: none\n", name="plan.md").title == "Plan"


def test_a_reader_that_fails_or_is_not_there_refuses_its_file_alone(installed: Path) -> None:
    with pytest.raises(
        DocumentReaderMissingError, match=r"\.broken files can't be loaded from 'mail:nothing'"
    ):
        read_document(b"x", name="a.broken")
    with pytest.raises(DocumentError, match=r"'a.odd' broke its reader: "):
        read_document(b"x", name="a.odd")


def test_the_model_answers() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "model.py")], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout == "You said: Hello there\n", done.stderr
