"""Whole folders: every file that git keeps, in order, and nothing that one bad file could spoil."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "docs"
    (root / "guide").mkdir(parents=True)
    (root / "build").mkdir()
    (root / "index.md").write_text("# Index\n\nStart here.\n", encoding="utf-8")
    (root / "guide" / "start.html").write_text("<h1>Start</h1><p>Install it first.</p>", encoding="utf-8")
    (root / "guide" / "app.py").write_text("def main():\n    return 1\n", encoding="utf-8")
    (root / "build" / "out.md").write_text("# Built\n", encoding="utf-8")
    (root / ".gitignore").write_text("build/\n", encoding="utf-8")
    (root / "broken.pdf").write_bytes(b"%PDF-1.7 nothing that could be read")
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    return root


def test_a_folder_is_added_file_by_file_and_a_bad_one_is_reported(client: Recollect, folder: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    report = client.library.add_folder(
        folder, tags=["docs"], progress=lambda done, total: seen.append((done, total))
    )
    names = [one.name for one in client.library.list(tags=["docs"])]
    assert {"docs/index.md", "docs/guide/start.html", "docs/guide/app.py"} <= set(names)
    assert not any("build" in name or "broken" in name or "picture" in name for name in names)
    assert [error.path for error in report.errors] == ["broken.pdf"]
    assert report.errors[0].to_error().code == report.errors[0].code
    assert "picture.png" in {path for path, _ in report.left_out}
    assert report.counts == {"added": len(names)}
    assert seen[-1] == (len(names) + 2, len(names) + 2)
    assert client.library.search("what to do first, install?")[0].document == "docs/guide/start.html"


def test_the_second_time_only_what_changed_is_embedded(client: Recollect, folder: Path) -> None:
    client.library.add_folder(folder)
    (folder / "index.md").write_text("# Index\n\nStart over there.\n", encoding="utf-8")
    report = client.library.add_folder(folder)
    assert report.counts["updated"] == 1
    assert sum(one.embedded for one in report.reports) == 1
    assert {one.outcome for one in report.reports} == {"updated", "unchanged"}


def test_a_folder_can_have_another_name(client: Recollect, folder: Path) -> None:
    client.library.add_folder(folder, id="product")
    assert client.library.get("product/index.md").title == "Index"


def test_links_out_of_the_folder_and_pipes_are_left_out(client: Recollect, folder: Path) -> None:
    outside = folder.parent / "secret.md"
    outside.write_text("# Secret\n", encoding="utf-8")
    (folder / "link.md").symlink_to(outside)
    os.mkfifo(folder / "pipe.md")
    report = client.library.add_folder(folder)
    reasons = dict(report.left_out)
    assert "symbolic link out of" in reasons["link.md"]
    assert "not a regular file" in reasons["pipe.md"]
    assert all("Secret" not in one.title for one in client.library.list())


def test_what_is_no_folder_is_refused(client: Recollect, folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not a folder"):
        client.library.add_folder(folder / "index.md")
    with pytest.raises(InvalidInputError, match="is not a folder"):
        client.library.add_folder(folder / "nowhere")
