"""Walking a folder as git sees it: `.gitignore` at every level, `.git` left alone, links not followed.

Reads names and ignore files only; the files themselves are the caller's business. A submodule's files belong to the
tree they lie in; where its `.git` points to is not looked at.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Names looked at before the walk gives up; a large monorepo has some hundred thousand.
_MAX_ENTRIES = 500_000
_MAX_IGNORE_BYTES = 1_000_000
_MAX_DEPTH = 100
#: Why something was left out, where the time of who asks did not last.
TOO_LATE = "the time was over before it was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """Paths relative to the folder: those to read, in order, and (path, reason) of those that can't be."""

    paths: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Ignoring:
    """An ignore file: its patterns, and where it stands relative to the folder that is walked."""

    spec: Any
    #: What to take off a path, or to put before it, to have it relative to the ignore file.
    inside: str = ""
    above: str = ""

    def decides(self, path: str, *, folder: bool) -> bool | None:
        """True to ignore, False to keep after all, None when it says nothing."""
        relative = self.above + path.removeprefix(self.inside)
        decision: bool | None = self.spec.check_file(f"{relative}/" if folder else relative).include
        return decision


def walk(
    root: Path,
    wanted: Sequence[Any],
    unwanted: Any,
    *,
    within: Sequence[Path] | None,
    max_files: int,
    until: float = math.inf,
) -> Walked:
    """The files that one of the wanted patterns names, by the first that does, and the unwanted do not.

    `until` is by the monotonic clock; what was not come to by then is left out.
    """
    ranked: list[tuple[int, str]] = []
    left_out: list[tuple[str, str]] = []
    for path, reason in _files(root, unwanted, within):
        if time.monotonic() > until:
            left_out.append((path, f"{TOO_LATE}; what follows was not looked at…"))
            break
        rank = next((number for number, spec in enumerate(wanted) if spec.match_file(path)), None)
        if reason and (rank is not None or reason.endswith("…")):
            left_out.append((path, reason))
        elif rank is not None:
            ranked.append((rank, path))
    ranked.sort()
    left_out += [
        (path, f"more than {max_files:,} files match; narrow the globs") for _, path in ranked[max_files:]
    ]
    return Walked(paths=tuple(path for _, path in ranked[:max_files]), left_out=tuple(left_out))


def _files(root: Path, unwanted: Any, within: Sequence[Path] | None) -> Iterator[tuple[str, str]]:
    for path, reason, entry in entries(root, unwanted=unwanted, within=within):
        if entry is None:
            yield path, reason
        else:
            yield path, _why_not(root, path, entry)


def entries(
    root: Path,
    *,
    unwanted: Any = None,
    within: Sequence[Path] | None = None,
    max_entries: int = _MAX_ENTRIES,
) -> Iterator[tuple[str, str, os.DirEntry[str] | None]]:
    """Everything that is not a folder and not ignored: its path and its entry, or a reason in place of the entry.

    Links, pipes and devices come as entries too. A reason that ends with … says that the walk went no further.
    """
    looked_at = 0
    waiting: list[tuple[str, int, tuple[_Ignoring, ...]]] = [("", 0, _above(root, within))]
    while waiting:
        folder, depth, ignoring = waiting.pop()
        try:
            with os.scandir(root / folder) as scan:
                listed = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield folder or ".", f"the folder can't be read: {(error.strerror or str(error)).lower()}", None
            continue
        prefix = f"{folder}/" if folder else ""
        if any(entry.name == ".gitignore" for entry in listed):
            ignoring = _with_own(root, prefix, ignoring)
        deeper = []
        for entry in listed:
            looked_at += 1
            if looked_at > max_entries:
                yield (
                    prefix or ".",
                    f"the folder has more than {max_entries:,} files; what follows was not looked at…",
                    None,
                )
                return
            path = prefix + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == ".git" or (ignoring and _ignored(path, ignoring, folder=is_folder)):
                continue
            if unwanted is not None and unwanted.match_file(f"{path}/" if is_folder else path):
                continue
            if not path.isascii() and not _is_text(path):
                yield path.encode("utf-8", "replace").decode(), "its name is not valid UTF-8", None
            elif is_folder and depth < _MAX_DEPTH:
                deeper.append((path, depth + 1, ignoring))
            elif is_folder:
                yield path, f"it is nested more than {_MAX_DEPTH} folders deep", None
            else:
                yield path, "", entry
        waiting += reversed(deeper)


def is_ignored(root: Path, path: str, *, within: Sequence[Path] | None = None) -> bool:
    """Whether git would not keep this path of the folder, by a rule of its own or of a folder it is in."""
    ignoring = _above(root, within)
    parts = path.split("/")
    for number in range(len(parts)):
        prefix = "".join(f"{part}/" for part in parts[:number])
        ignoring = _with_own(root, prefix, ignoring)
        if _ignored(prefix + parts[number], ignoring, folder=number + 1 < len(parts)):
            return True
    return False


def _why_not(root: Path, path: str, entry: os.DirEntry[str]) -> str:
    """Why an entry can't be read, or an empty text."""
    if not entry.is_symlink():
        return "" if entry.is_file(follow_symlinks=False) else "it is not a regular file"
    try:
        real = Path(os.path.realpath(root / path))
    except OSError:  # a link that is taken away while it is read
        return "it was changed meanwhile"
    if not real.is_relative_to(root):
        return "it is a symbolic link out of the working directory"
    if real.is_file():
        return ""
    return "it is a symbolic link to a folder, which is read by its own name, or to nothing"


def _ignored(path: str, ignoring: Sequence[_Ignoring], *, folder: bool) -> bool:
    """As git decides: the ignore file nearest to the path that says anything."""
    for rules in reversed(ignoring):
        decided = rules.decides(path, folder=folder)
        if decided is not None:
            return decided
    return False


def _with_own(root: Path, prefix: str, ignoring: tuple[_Ignoring, ...]) -> tuple[_Ignoring, ...]:
    spec = _spec(root / prefix / ".gitignore")
    return ignoring if spec is None else (*ignoring, _Ignoring(spec, inside=prefix))


def _above(root: Path, within: Sequence[Path] | None) -> tuple[_Ignoring, ...]:
    """The ignore files of the repository the folder is in, from its top; none when it is in no repository."""
    above: list[Path] = []
    for folder in (root, *root.parents):
        if within is not None and not any(folder.is_relative_to(allowed) for allowed in within):
            return ()
        above.append(folder)
        if (folder / ".git").exists():
            rules = tuple(_rules_of(root, reversed(above)))
            # Whoever names an ignored folder itself means it.
            return () if folder != root and _root_ignored(root, folder, rules) else rules
    return ()


def _root_ignored(root: Path, top: Path, ignoring: Sequence[_Ignoring]) -> bool:
    """Whether the folder that is walked is ignored itself, or one it lies in."""
    parts = root.relative_to(top).parts
    for rules in reversed(ignoring):
        own = rules.above.count("/")
        inside = parts[len(parts) - own :]
        for number in range(1, len(inside) + 1):
            if rules.spec.check_file("/".join(inside[:number]) + "/").include:
                return True
    return False


def _rules_of(root: Path, folders: Iterable[Path]) -> Iterator[_Ignoring]:
    for folder in folders:
        relative = root.relative_to(folder).as_posix()
        place = "" if relative == "." else f"{relative}/"
        for file in (folder / ".git" / "info" / "exclude", folder / ".gitignore"):
            # The walked folder's own .gitignore is read when the walk gets there.
            spec = None if file == root / ".gitignore" else _spec(file)
            if spec is not None:
                yield _Ignoring(spec, above=place)


def _spec(file: Path) -> Any | None:
    from pathspec import GitIgnoreSpec

    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _MAX_IGNORE_BYTES:
            return None
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    usable = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:  # git leaves out what it can't read, too
            continue
        usable.append(line)
    return GitIgnoreSpec.from_lines(usable)


def _is_text(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
