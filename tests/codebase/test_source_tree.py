"""The jail: what a tree gives out, and everything that must not get in its way or out of it."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from recollect.codebase.grep import grep
from recollect.codebase.index import CodeIndex
from recollect.codebase.outline import draw
from recollect.codebase.tree import MAX_READ_BYTES, SourceTree, open_tree
from recollect.errors import ForbiddenError, InvalidInputError, SourceError, SourceNotFoundError
from recollect.files.jail import Jail


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def paths(tree: SourceTree) -> list[str]:
    return [file.path for file in tree.files()]


def why(tree: SourceTree, path: str) -> str:
    return next((note.why for note in tree.skipped if note.path == path), "")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return write(tmp_path / "outside", {"secret.py": "PASSWORD = 'outside'\n"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(
        tmp_path / "tree", {"a.py": "one = 1\ntwo = 2\nthree = 3\n", "pkg/b.py": "def b():\n    pass\n"}
    )


def test_files_come_by_path_with_their_languages(root: Path) -> None:
    write(root, {"web/app.tsx": "", "README": "words"})
    assert [(file.path, file.language) for file in open_tree(root).files()] == [
        ("README", None),
        ("a.py", "python"),
        ("pkg/b.py", "python"),
        ("web/app.tsx", "tsx"),
    ]


def test_ignore_files_hold_at_every_level_and_folders_of_tools_stay_out(root: Path) -> None:
    write(root, {".gitignore": "*.log\n/build/\n", "x.log": "", "build/o.py": "", "pkg/.gitignore": "c.py\n"})
    write(root, {"pkg/c.py": "", "node_modules/m/i.js": "", "pkg/__pycache__/b.py": ""})
    write(root, {"env/lib/python3.11/site-packages/numpy/core.py": ""})
    tree = open_tree(root)
    assert paths(tree) == [".gitignore", "a.py", "pkg/.gitignore", "pkg/b.py"]
    with pytest.raises(SourceError, match="ignored by git"):
        tree.read("pkg/c.py")


def test_an_ignored_folder_that_is_named_itself_is_read(root: Path) -> None:
    (root / ".git").mkdir()
    write(root, {".gitignore": "vendor/\n", "vendor/lib/x.py": "x = 1\n"})
    assert paths(open_tree(root)) == [".gitignore", "a.py", "pkg/b.py"]
    assert paths(open_tree(root / "vendor" / "lib")) == ["x.py"]


def test_lines_are_read_as_they_are_numbered(root: Path) -> None:
    tree = open_tree(root)
    assert tree.read("a.py", 2, 3).text == "two = 2\nthree = 3"
    whole = tree.read("a.py")
    assert (whole.last_line, whole.total_lines) == (3, 3)
    assert tree.read("a.py", 3, 99).last_line == 3
    assert tree.read(str(root / "a.py"), 1, 1).path == "a.py"
    with pytest.raises(SourceError, match="has 3 lines"):
        tree.read("a.py", 4)
    for start, end in ((0, 1), (2, 1), (-1, None)):
        with pytest.raises(InvalidInputError, match="no range"):
            tree.read("a.py", start, end)


@pytest.mark.parametrize(
    "path", ["../outside/secret.py", "pkg/../../outside/secret.py", "/etc/passwd", "..", "/"]
)
def test_a_path_out_of_the_tree_is_refused_whether_it_exists_or_not(
    root: Path, outside: Path, path: str
) -> None:
    tree = open_tree(root)
    for asked in (path, path + ".not-there"):
        with pytest.raises((ForbiddenError, SourceNotFoundError)) as caught:
            tree.resolve(asked)
        assert isinstance(caught.value, ForbiddenError) or asked == "...not-there"
    with pytest.raises(ForbiddenError):
        grep(tree, "PASSWORD", [path])


@pytest.mark.parametrize("path", ["", "a\x00b", "x" * 5_000])
def test_what_is_no_path_is_said_to_be_none(root: Path, path: str) -> None:
    with pytest.raises(InvalidInputError, match="is not a path"):
        open_tree(root).resolve(path)


def test_links_out_of_the_root_are_neither_listed_nor_followed(root: Path, outside: Path) -> None:
    (root / "link.py").symlink_to(outside / "secret.py")
    (root / "far").symlink_to(outside)
    (root / "inner.py").symlink_to(root / "a.py")
    tree = open_tree(root)
    assert paths(tree) == ["a.py", "pkg/b.py"]
    assert why(tree, "link.py") == "it is a symbolic link out of the tree"
    assert why(tree, "far") == "it is a symbolic link out of the tree"
    assert "by its own name" in why(tree, "inner.py")
    for path in ("link.py", "far/secret.py", "far"):
        with pytest.raises(ForbiddenError, match="through a symbolic link"):
            tree.read(path)
    assert tree.read("inner.py").path == "a.py"
    assert grep(tree, "PASSWORD").matches == ()


def test_links_in_circles_end(root: Path) -> None:
    (root / "loop").symlink_to(root / "loop")
    (root / "pkg" / "up").symlink_to(root)
    (root / "x").symlink_to(root / "y")
    (root / "y").symlink_to(root / "x")
    tree = open_tree(root)
    assert paths(tree) == ["a.py", "pkg/b.py"]
    with pytest.raises(SourceNotFoundError):
        tree.resolve("loop")


def test_a_root_that_is_a_link_is_the_folder_it_points_to(root: Path, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(root)
    assert open_tree(tmp_path / "here").root == root.resolve()


def test_only_allowed_roots_are_opened(root: Path, outside: Path) -> None:
    assert open_tree(root / "pkg", allowed_roots=[root]).root == root / "pkg"
    for path in (outside, outside / "nothing", root / ".." / "outside"):
        with pytest.raises(ForbiddenError, match="outside the allowed roots"):
            open_tree(path, allowed_roots=[root])


@pytest.mark.parametrize("name", ["nothing", "a.py"])
def test_a_root_that_is_no_folder_is_refused(root: Path, name: str) -> None:
    with pytest.raises(SourceNotFoundError, match="not a folder that can be read"):
        open_tree(root / name)


def test_pipes_sockets_and_devices_are_left_alone_and_nothing_waits_for_them(root: Path) -> None:
    os.mkfifo(root / "pipe.py")
    (root / "dev.py").symlink_to("/dev/zero")
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(root, os.O_RDONLY)
    try:
        # By a short path: names of sockets may have a hundred characters only.
        listener.bind(f"/proc/self/fd/{here}/sock.py")
        tree = open_tree(root)
        assert paths(tree) == ["a.py", "pkg/b.py"]
        assert why(tree, "pipe.py") == "it is a pipe, not a regular file"
        assert why(tree, "sock.py") == "it is a socket, not a regular file"
        assert why(tree, "dev.py") == "it is a symbolic link out of the tree"
        for name in ("pipe.py", "sock.py"):
            with pytest.raises(SourceError):
                tree.read(name)
        with pytest.raises(ForbiddenError):
            tree.read("dev.py")
    finally:
        listener.close()
        os.close(here)


def test_a_device_in_the_tree_is_left_alone(root: Path) -> None:
    try:
        os.mknod(root / "zero.py", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only a privileged user makes devices")
    tree = open_tree(root)
    assert why(tree, "zero.py") == "it is a device, not a regular file"
    with pytest.raises(SourceError):
        tree.read("zero.py")


def test_a_file_that_became_a_pipe_after_the_look_does_not_hang_anything(root: Path, tmp_path: Path) -> None:
    tree = open_tree(root)
    assert "a.py" in paths(tree)
    (root / "a.py").unlink()
    os.mkfifo(root / "a.py")
    assert grep(tree, "one").skipped[0].why == "it is not a regular file"
    with CodeIndex.open(tree, tmp_path / "store") as index:
        assert [file.path for file in index.files] == ["pkg/b.py"]
        assert ("a.py", "it is not a regular file") in [(note.path, note.why) for note in index.skipped]


def test_a_file_deleted_after_the_look_is_noted(root: Path, tmp_path: Path) -> None:
    tree = open_tree(root)
    assert tree.find("a.py") is not None
    (root / "a.py").unlink()
    with pytest.raises(SourceNotFoundError, match=r"no file or folder 'a\.py'"):
        tree.read("a.py")
    assert "no such file" in grep(tree, "one").skipped[0].why
    with CodeIndex.open(tree, tmp_path / "store") as index:
        assert [file.path for file in index.files] == ["pkg/b.py"]


@contextmanager
def somebody_else() -> Iterator[Path]:
    """A folder for all, and, where the user may read everything, a user who may not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    privileged = os.geteuid() == 0
    try:
        yield folder
    finally:
        if privileged:
            os.seteuid(0)
        shutil.rmtree(folder)


def test_unreadable_files_and_folders_are_noted() -> None:
    with somebody_else() as folder:
        write(folder, {"open.py": "a = 1\n", "shut.py": "b = 2\n", "dark/c.py": "c = 3\n"})
        (folder / "shut.py").chmod(0)
        (folder / "dark").chmod(0)
        if os.geteuid() == 0:
            os.seteuid(65534)
        tree = open_tree(folder)
        assert paths(tree) == ["open.py", "shut.py"]
        assert why(tree, "dark") == "the folder can't be read: permission denied"
        with pytest.raises(SourceError, match="permission denied"):
            tree.read("shut.py")
        assert [note.why for note in grep(tree, "=").skipped] == ["it can't be opened: permission denied"]
        (folder / "dark").chmod(0o755) if os.geteuid() != 65534 else None


def test_a_gigabyte_is_not_read(root: Path) -> None:
    with (root / "huge.py").open("wb") as file:
        file.truncate(1 << 30)
    tree = open_tree(root)
    assert why(tree, "huge.py") == "it is larger than 16,000,000 bytes"
    with pytest.raises(SourceError, match="larger than"):
        tree.read("huge.py")


def test_one_endless_line_is_cut(root: Path, tmp_path: Path) -> None:
    write(root, {"min.js": "var a=1;" * 200_000, "short.js": "var bb;\n"})
    tree = open_tree(root)
    read = tree.read("min.js")
    assert len(read.text) == MAX_READ_BYTES
    assert (read.last_line, read.total_lines) == (1, 1)
    found = grep(tree, "var a", ["min.js"])
    assert [len(match.text) < 500 for match in found.matches] == [True]
    with CodeIndex.open(tree, tmp_path / "store") as index:
        assert any(note.path == "min.js" and "only grep reads it" in note.why for note in index.skipped)
        assert index.defining_files("bb").tolist() == [[file.path for file in index.files].index("short.js")]


def test_nul_bytes_make_a_file_binary_whatever_its_name(root: Path, tmp_path: Path) -> None:
    write(root, {"data.py": b"x = 1\n" + bytes(500), "picture.png": b"\x89PNG"})
    tree = open_tree(root)
    assert why(tree, "picture.png") == "its name is that of a binary file"
    with pytest.raises(SourceError, match="it is binary"):
        tree.read("data.py")
    assert [note.path for note in grep(tree, "x").skipped] == ["data.py"]
    with CodeIndex.open(tree, tmp_path / "store") as index:
        assert "data.py" not in {file.path for file in index.files}


def test_encodings_are_told_apart_and_lines_stay_the_same_everywhere(root: Path, tmp_path: Path) -> None:
    text = "# café\n\ndef naïve():\n    return 'ok'\n"
    write(
        root,
        {
            "latin.py": text.encode("latin-1"),
            "wide.py": text.encode("utf-16"),
            "mark.py": text.encode("utf-8-sig"),
            "windows.py": text.replace("\n", "\r\n").encode(),
            "old.py": text.replace("\n", "\r").encode(),
            "mixed.py": text.encode() + "# caf\u00e9".encode("latin-1") + b"\n",
        },
    )
    tree = open_tree(root)
    names = ["latin.py", "mark.py", "mixed.py", "old.py", "wide.py", "windows.py"]
    for name in names:
        assert tree.read(name, 3, 3).text == "def naïve():", name
    assert [(match.path, match.line) for match in grep(tree, r"^def naïve\(\):$").matches] == [
        (name, 3) for name in names
    ]
    with CodeIndex.open(tree, tmp_path / "store") as index:
        found = {one.path: one.symbol.start_line for one in index.definitions("naïve")}
    assert found == dict.fromkeys(names, 3)


def test_names_that_are_not_utf8_are_noted(root: Path, tmp_path: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9.py", "wb") as file:
        file.write(b"x = 1\n")
    tree = open_tree(root)
    assert paths(tree) == ["a.py", "pkg/b.py"]
    assert [note.why for note in tree.skipped] == ["its name is not valid UTF-8"]
    CodeIndex.open(tree, tmp_path / "store").close()


def test_a_submodule_is_read_where_it_lies_and_its_git_pointer_is_not_followed(
    root: Path, outside: Path
) -> None:
    (root / ".git").mkdir()
    write(root, {".git/config": "url = https://user:token@example.com\n", "sub/.git": f"gitdir: {outside}\n"})
    write(root, {"sub/.gitignore": "made.py\n", "sub/lib.py": "", "sub/made.py": ""})
    tree = open_tree(root)
    assert paths(tree) == ["a.py", "pkg/b.py", "sub/.gitignore", "sub/lib.py"]
    for path in (".git/config", "sub/.git", ".git"):
        with pytest.raises(ForbiddenError, match="git's own folder"):
            tree.read(path)


def test_a_hundred_thousand_files_are_listed_and_more_than_the_limit_are_not() -> None:
    # In memory where that is possible: a disk takes a minute for as many names.
    memory = Path("/dev/shm")
    root = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    try:
        for folder in range(100):
            place = os.open(_made(root / f"d{folder:03}"), os.O_RDONLY)
            for number in range(1_000):
                os.close(os.open(f"f{number}.py", os.O_CREAT | os.O_WRONLY, dir_fd=place))
            os.close(place)
        assert len(open_tree(root).files()) == 100_000
        few = open_tree(root, max_files=2_500)
        assert len(few.files()) == 2_500
        assert "more than 2,500 files" in few.skipped[-1].why
    finally:
        shutil.rmtree(root)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_a_tree_that_changes_while_it_is_read_never_leads_out(root: Path, outside: Path) -> None:
    """A file and its folder are swapped for links out of the tree and back, all the time, while both are read."""
    (root / "pkg" / "secret.py").write_text("PASSWORD = 'inside'\n")
    (root / "spare").symlink_to(outside)
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            (root / "pkg").rename(root / "away")
            (root / "spare").rename(root / "pkg")
            (root / "pkg").rename(root / "spare")
            (root / "away").rename(root / "pkg")

    swapper = threading.Thread(target=swap)
    swapper.start()
    read: set[bytes] = set()
    try:
        for _ in range(2_000):
            with Jail(root) as jail:
                try:
                    data = jail.read("pkg/secret.py", 1_000)
                except OSError:
                    continue
                assert data is not None
                read.add(data)
    finally:
        ended.set()
        swapper.join()
    assert read <= {b"PASSWORD = 'inside'\n"}


def test_nothing_in_the_tree_is_written(root: Path, tmp_path: Path) -> None:
    def state() -> list[tuple[str, int, int, int]]:
        found = [root, *sorted(root.rglob("*"))]
        return [
            (str(path), path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_size) for path in found
        ]

    before = state()
    tree = open_tree(root)
    grep(tree, "def")
    tree.read("a.py")
    with CodeIndex.open(tree, tmp_path / "store") as index:
        draw(index)
        index.definitions("b")
    assert state() == before
