"""`recollect library`: documents in, found, shown and out again; and the page about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pages import ROOT, examples, printed, shown_on

GUIDE = """# Guide

## Tokens

Access tokens expire after thirty minutes.

## Errors

Too many requests give 429.
"""


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    file = tmp_path / "guide.md"
    file.write_text(GUIDE, encoding="utf-8")
    return file


def test_a_file_is_added_listed_searched_shown_and_removed(cli, guide: Path) -> None:  # type: ignore[no-untyped-def]
    added = cli(
        "library", "add", str(guide), "--id", "guide", "--tag", "api", "--title", "The Guide", "--json"
    ).json
    assert (added["outcome"], added["document"]["name"], added["document"]["title"]) == (
        "added",
        "guide",
        "The Guide",
    )
    assert cli("library", "add", str(guide), "--id", "guide").out == "unchanged\tguide\n"
    assert cli("library", "list").out.startswith("guide\tThe Guide\tuser/tess\t")
    assert cli("library", "list", "--tag", "other").out == ""
    [hit] = cli("library", "search", "when does a token expire?", "--limit", "1", "--json").json["hits"]
    assert (hit["document"], hit["path"], hit["lines"]) == ("guide", "Guide > Tokens", [5, 5])
    assert hit["citation"]["content_hash"]
    line = cli("library", "search", "when does a token expire?", "--limit", "1", "-d", "guide").out
    assert line.split("\t")[1:] == [
        "guide:5-5",
        "Guide > Tokens",
        "Access tokens expire after thirty minutes.\n",
    ]
    assert cli("library", "get", "guide", "--text").out == GUIDE
    assert cli("library", "get", "guide", "--lines", "3-5").out == "\n".join(GUIDE.split("\n")[2:5]) + "\n"
    shown = cli("library", "get", "guide").out
    assert "The Guide" in shown
    assert "Guide > Errors\t7-9" in shown
    sections = cli("library", "get", "guide", "--json").json["sections"]
    assert [one["path"] for one in sections] == ["Guide", "Guide > Tokens", "Guide > Errors"]
    receipt = cli("library", "remove", "guide", "--yes").out
    assert "1 document (document guide (" in receipt
    assert cli("library", "list", "--json").json == []


def test_a_document_comes_from_standard_input(cli) -> None:  # type: ignore[no-untyped-def]
    assert cli("library", "add", "-", "--id", "notes.md", input=GUIDE.encode()).out == "added\tnotes.md\n"
    assert cli("library", "get", "notes.md", "--json").json["document"]["kind"] == "markdown"
    done = cli("library", "add", "-", input=b"x", code=2)
    assert done.err == "recollect: a document from standard input needs a name; add --id NAME\n"


def test_several_files_and_folders_are_added_at_once(cli, guide: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    other, folder = tmp_path / "other.md", tmp_path / "notes"
    other.write_text("# Other\n\nAnother text.\n", encoding="utf-8")
    folder.mkdir()
    (folder / "day.md").write_text("# Day\n\nIt rained.\n", encoding="utf-8")
    done = cli("library", "add", str(guide), str(other), str(folder), str(tmp_path / "none.md"), code=8)
    assert done.out == "3 added, 1 not added\n"
    assert "none.md" in done.err
    assert "no such file" in done.err
    assert cli("library", "add", str(guide), str(other), "--json").json["counts"] == {"unchanged": 2}
    for option in ("--id", "--title", "--kind"):
        done = cli("library", "add", str(guide), str(other), option, "x", code=2)
        assert f"{option} is for one document, and there are 2" in done.err


def test_an_address_is_not_a_file(cli) -> None:  # type: ignore[no-untyped-def]
    done = cli("library", "add", "https://example.org/guide.html", code=2)
    assert (
        "'https://example.org/guide.html' is an address, and the library takes files; download it" in done.err
    )


def test_a_folder_is_added_and_a_bad_file_is_named(cli, guide: Path) -> None:  # type: ignore[no-untyped-def]
    folder = guide.parent / "docs"
    folder.mkdir()
    (folder / "a.md").write_text(GUIDE, encoding="utf-8")
    (folder / "b.pdf").write_bytes(b"%PDF-1.7 broken")
    done = cli("library", "add", str(folder), "--tag", "docs", code=8)
    assert done.err.startswith("recollect: b.pdf: ")
    assert done.out == "1 added, 1 not added\n"
    again = cli("library", "add", str(folder), "--json", code=8).json
    assert again["counts"] == {"unchanged": 1}
    assert again["errors"][0]["path"] == "b.pdf"
    done = cli("library", "add", str(folder), "--title", "x", code=2)
    assert "--title is for one document" in done.err


def test_what_is_not_there_has_a_code_and_a_suggestion(cli, guide: Path) -> None:  # type: ignore[no-untyped-def]
    cli("library", "add", str(guide))
    done = cli("library", "get", "giude.md", "--json", code=3)
    assert done.error["code"] == "document_not_found"
    assert done.error["message"] == "no document 'giude.md'; did you mean 'guide.md'?"
    assert (
        cli("library", "remove", "nothing", "--yes", "--json", code=3).error["code"] == "document_not_found"
    )
    assert "no such file" in cli("library", "add", "/nowhere/at/all.md", code=2).err
    assert "is not of the form 10-20" in cli("library", "get", "guide.md", "--lines", "x", code=2).err
    assert "no terminal to ask on" in cli("library", "remove", "guide.md", code=2).err
    assert cli("library", "search", "anything at all", "--limit", "1").code == 0


def test_documents_are_kept_apart_by_scope(cli, guide: Path) -> None:  # type: ignore[no-untyped-def]
    cli("scopes", "create", "team/api")
    cli("library", "add", str(guide), "--scope", "team/api")
    assert cli("library", "list", "--scope", "team/api", "--json").json[0]["scope"] == "team/api"
    assert cli("--user", "bob", "library", "list", "--json").json == []
    assert cli("--user", "bob", "library", "get", "guide.md", code=3).out == ""


# The page about the library ------------------------------------------------------------------------

EXAMPLES = ROOT / "docs_src" / "library"


def test_the_page_shows_every_example_as_it_is() -> None:
    assert shown_on("library.md") == examples("library")


def test_the_examples_of_the_page_print_what_it_shows(newcomer: dict[str, str], tmp_path: Path) -> None:
    expected = (EXAMPLES / "library.out").read_text(encoding="utf-8")
    assert printed(EXAMPLES / "library.py", newcomer, tmp_path) == expected
    lines = printed(EXAMPLES / "library.sh", newcomer, tmp_path).splitlines()
    assert lines[0] == "1 added"
    assert lines[1].startswith("docs/setup.md\tSetup\t")
    assert lines[2].endswith("\tdocs/setup.md:3-3\tSetup\tThe service listens on port 8437.")
    assert lines[3] == "The service listens on port 8437."
