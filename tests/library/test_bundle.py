"""Bundling the files of a working folder: what comes in, what stays out, and what is said of it."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from recollect.errors import ForbiddenError, InvalidInputError, SourceNotFoundError
from recollect.files.jail import Jail
from recollect.library.bundle import Bundle, FileBundler
from recollect.providers.tokens import count_tokens


def fill(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def paths(bundle: Bundle) -> list[str]:
    return [file.path for file in bundle.files]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return fill(
        tmp_path / "project",
        {
            "README.md": "# Read me\n",
            "src/app.py": "def run():\n    return 1\n",
            "src/api/login.py": "LOGIN = True\n",
            "src/api/login_test.py": "assert True\n",
            "docs/guide.md": "Guide.\n",
        },
    )


def test_a_bundled_file_has_its_text_tokens_lines_and_hash(project: Path) -> None:
    bundle = FileBundler(project).bundle(["src/app.py"])
    [file] = bundle.files
    assert (file.path, file.text, file.lines) == ("src/app.py", "def run():\n    return 1", 2)
    assert file.tokens == bundle.tokens == count_tokens(file.text)
    assert file.sha256 == hashlib.sha256(b"def run():\n    return 1\n").hexdigest()
    assert bundle.left_out == ()


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["src/**/*.py"], ["src/api/login.py", "src/api/login_test.py", "src/app.py"]),
        (["src/*.py"], ["src/app.py"]),
        (["src"], ["src/api/login.py", "src/api/login_test.py", "src/app.py"]),
        (["./src/api/"], ["src/api/login.py", "src/api/login_test.py"]),
        (["*.md"], ["README.md"]),
        (["**/*.md"], ["README.md", "docs/guide.md"]),
        (["docs/*", "README.md"], ["docs/guide.md", "README.md"]),
        (["**", "!src", "!*.txt"], ["README.md", "docs/guide.md"]),
        (["!*_test.py", "!docs/"], ["README.md", "src/api/login.py", "src/app.py"]),
        (["src/ap?/log[i]n.py"], ["src/api/login.py"]),
        (["."], ["README.md", "docs/guide.md", "src/api/login.py", "src/api/login_test.py", "src/app.py"]),
        ([], []),
    ],
)
def test_globs_say_which_files_come_in_and_in_which_order(
    project: Path, patterns: list[str], expected: list[str]
) -> None:
    assert paths(FileBundler(project).bundle(patterns)) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "/etc/passwd",
        "../secret.txt",
        "src/../../secret.txt",
        "~/x",
        "C:\\x",
        "!../x",
        "!/x",
        "a\x00b",
        "\\\\host",
    ],
)
def test_a_glob_that_is_absolute_or_leads_out_is_refused(project: Path, pattern: str) -> None:
    with pytest.raises(InvalidInputError, match="glob"):
        FileBundler(project).bundle([pattern])


def test_one_string_is_not_a_list_of_globs(project: Path) -> None:
    with pytest.raises(InvalidInputError, match="list of globs"):
        FileBundler(project).bundle("src")


def test_what_git_ignores_stays_out_at_every_level(tmp_path: Path) -> None:
    root = fill(
        tmp_path,
        {
            ".git/config": "",
            ".git/info/exclude": "private.txt\n",
            ".gitignore": "*.log\nbuild/\n!keep.log\n",
            "a.log": "x",
            "keep.log": "x",
            "private.txt": "x",
            "build/out.txt": "x",
            "sub/.gitignore": "/local.txt\n!special.log\n",
            "sub/local.txt": "x",
            "sub/special.log": "x",
            "sub/deeper/local.txt": "x",
            "sub/b.log": "x",
        },
    )
    bundle = FileBundler(root).bundle(["**", "!.gitignore"])
    assert paths(bundle) == ["keep.log", "sub/deeper/local.txt", "sub/special.log"]
    assert paths(FileBundler(root / "sub").bundle(["*.log", "**/*.txt"])) == [
        "special.log",
        "deeper/local.txt",
    ]


def test_a_file_named_outright_that_does_not_come_is_explained(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": ".env\n", ".env": "KEY=1", "a.txt": "x"})
    bundle = FileBundler(tmp_path).bundle([".env", "nowhere.txt", "a.txt", "none*"])
    assert paths(bundle) == ["a.txt"]
    assert bundle.left_out == (
        (".env", "it is ignored, excluded or empty"),
        ("nowhere.txt", "there is no such file"),
    )


def test_binary_large_and_special_files_are_left_out_by_name(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {
            "a.bin": bytes(range(256)),
            "b.pdf": b"%PDF-1.7\n",
            "c.txt": "x" * 2_000,
            "d.txt": "naïve".encode("cp1252"),
        },
    )
    os.mkfifo(tmp_path / "pipe")
    bundle = FileBundler(tmp_path, max_file_bytes=1_000).bundle(["*"])
    assert [(file.path, file.text) for file in bundle.files] == [("d.txt", "naïve")]
    assert sorted(bundle.left_out) == [
        ("a.bin", "it is binary"),
        ("b.pdf", "it is binary"),
        ("c.txt", "it is larger than 1,000 bytes"),
        ("pipe", "it is not a regular file"),
    ]


def test_no_symbolic_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    outside = fill(tmp_path / "outside", {"secret.txt": "secret", "more/secret.txt": "secret"})
    root = fill(tmp_path / "root", {"real.txt": "inside", "sub/x.txt": "inside"})
    (root / "file.txt").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    (root / "inner.txt").symlink_to("real.txt")
    (root / "sub" / "again").symlink_to("..")
    bundle = FileBundler(root).bundle(["**"])
    assert [(file.path, file.text) for file in bundle.files] == [
        ("inner.txt", "inside"),
        ("real.txt", "inside"),
        ("sub/x.txt", "inside"),
    ]
    reasons = dict(bundle.left_out)
    assert {"file.txt", "folder", "up"} == {
        path for path, why in reasons.items() if "out of the working" in why
    }
    assert set(reasons) == {"file.txt", "folder", "up", "loop", "sub/again"}


def test_a_link_made_after_the_walk_is_not_followed_either(tmp_path: Path) -> None:
    fill(tmp_path, {"outside.txt": "secret", "root/a.txt": "x"})
    bundler = FileBundler(tmp_path / "root")
    (tmp_path / "root" / "a.txt").unlink()
    (tmp_path / "root" / "a.txt").symlink_to(tmp_path / "outside.txt")
    with Jail(bundler.root) as jail:
        assert bundler._read(jail, "a.txt") == "it is not a regular file of the working directory"


def test_a_parent_that_is_swapped_for_a_link_meanwhile_leads_nowhere(tmp_path: Path) -> None:
    fill(tmp_path, {"outside/a.txt": "secret", "root/in/a.txt": "inside"})
    inner, aside = tmp_path / "root" / "in", tmp_path / "root" / "aside"
    bundler, over = FileBundler(tmp_path / "root"), threading.Event()

    def swap() -> None:
        while not over.is_set():
            inner.rename(aside)
            inner.symlink_to(tmp_path / "outside")
            inner.unlink()
            aside.rename(inner)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        read = [file.text for _ in range(300) for file in bundler.bundle(["in/a.txt"]).files]
    finally:
        over.set()
        swapping.join()
    assert set(read) <= {"inside"}


def test_the_working_folder_must_lie_in_an_allowed_root(tmp_path: Path) -> None:
    fill(tmp_path, {"allowed/in/a.txt": "x", "other/b.txt": "x"})
    (tmp_path / "allowed" / "link").symlink_to(tmp_path / "other")
    allowed = [tmp_path / "allowed"]
    assert paths(FileBundler(tmp_path / "allowed" / "in", allowed_roots=allowed).bundle(["*"])) == ["a.txt"]
    for outside in ("other", "allowed/link", "allowed/../other", "nowhere", "allowedness"):
        with pytest.raises(ForbiddenError, match="outside the allowed roots"):
            FileBundler(tmp_path / outside, allowed_roots=allowed)
    with pytest.raises(ForbiddenError, match="there are none"):
        FileBundler(tmp_path / "allowed", allowed_roots=[])


def test_a_working_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, {"a.txt": "x"})
    for name in ("nowhere", "a.txt"):
        with pytest.raises(SourceNotFoundError, match="not a folder"):
            FileBundler(tmp_path / name)


def test_beyond_the_cap_files_are_left_out_and_smaller_ones_still_come(tmp_path: Path) -> None:
    fill(tmp_path, {"1.txt": "one two three", "2.txt": "word " * 50, "3.txt": "one two", "4.txt": "one"})
    bundle = FileBundler(tmp_path).bundle(["*"], max_tokens=5)
    assert (paths(bundle), bundle.tokens) == (["1.txt", "3.txt"], 5)
    assert bundle.left_out == (
        ("2.txt", f"its {count_tokens(('word ' * 50).rstrip())} tokens are beyond the cap of 5"),
        ("4.txt", "the cap of 5 tokens is used up"),
    )


def test_a_glob_made_to_run_long_does_not(tmp_path: Path) -> None:
    fill(tmp_path, {"a" * 200: "x"})
    assert paths(FileBundler(tmp_path).bundle(["*a" * 60 + "b", "**/" * 100 + "x"])) == []
