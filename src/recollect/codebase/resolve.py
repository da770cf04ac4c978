"""Which files of a tree a text means: ends of paths, dotted names, globs and folders, against the tree's paths.

Paths in issues and traces come from other machines: what counts is how many of their last parts are also the last
parts of a file here. Knows paths only; names of definitions are `signals.py`'s business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recollect.errors import InvalidInputError
from recollect.files.globs import Glob

#: Files that stand for their folder: `a/b/__init__.py` is the module `a.b`.
_STANDING_FOR_FOLDER = frozenset({"__init__", "index", "mod", "__main__"})
#: A hinted folder or glob names at most so many files; more is no hint.
MAX_MATCHES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Files that may be meant, all equally well: `parts` of their paths agree; `whole`: all parts of theirs do."""

    files: tuple[int, ...]
    parts: int
    whole: bool


NOTHING = Match(files=(), parts=0, whole=False)


class PathTable:
    """The paths of a tree, to be found by their ends."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._parts = [tuple(path.split("/")) for path in paths]
        self._paths = paths
        self._by_name: dict[str, list[int]] = {}
        self._by_stem: dict[str, list[int]] = {}
        for number, parts in enumerate(self._parts):
            self._by_name.setdefault(parts[-1], []).append(number)
            self._by_stem.setdefault(module_parts(parts)[-1], []).append(number)

    def path(self, named: str) -> Match:
        """Files whose path ends as this one does, by as many parts as can be."""
        wanted = _wanted(named)
        if not wanted:
            return NOTHING
        candidates = self._by_name.get(wanted[-1])
        if candidates is not None:
            return self._longest(wanted, [(number, self._parts[number]) for number in candidates])
        if "." in wanted[-1]:
            return NOTHING
        # An import without a suffix: `./cart/pay` is pay.ts, or index.ts in pay.
        stems = self._by_stem.get(wanted[-1], ())
        found = self._longest(wanted, [(number, module_parts(self._parts[number])) for number in stems])
        return found if found.parts > 1 else NOTHING

    def module(self, dotted: str) -> tuple[Match, int]:
        """The file of the longest beginning of a dotted name that is a module, and how many of its parts that took.

        Every part of that beginning has to agree with the file's path, so that `shop.cart.Cart` is `src/shop/cart.py`
        and not `other/cart.py`. A single part is no module: any variable may be called like one.
        """
        parts = dotted.split(".")
        for length in range(len(parts), 1, -1):
            wanted = tuple(parts[:length])
            numbers = [
                number
                for number in self._by_stem.get(wanted[-1], ())
                if module_parts(self._parts[number])[-length:] == wanted
            ]
            if numbers:
                return Match(files=tuple(numbers), parts=length, whole=False), length
        return NOTHING, 0

    def stands_for_folder(self, file: int) -> bool:
        """Whether a file is what its folder is imported as."""
        return len(module_parts(self._parts[file])) < len(self._parts[file])

    def folder(self, named: str) -> tuple[int, ...]:
        """Files below a folder."""
        wanted = _wanted(named)
        if not wanted:
            return ()
        length = len(wanted)
        found = [
            number
            for number, parts in enumerate(self._parts)
            if parts[:length] == wanted and len(parts) > length
        ]
        if not found:
            found = [
                number
                for number, parts in enumerate(self._parts)
                if any(parts[at : at + length] == wanted for at in range(len(parts) - length))
            ]
        return tuple(found) if len(found) <= MAX_MATCHES else ()

    def glob(self, pattern: str) -> tuple[int, ...]:
        """Files that a glob names; one without a slash is about the file's own name. One that can't be names none."""
        pattern = pattern.removeprefix("./")
        try:
            glob = Glob(pattern if "/" in pattern else f"**/{pattern}")
        except InvalidInputError:
            return ()
        found = [number for number, path in enumerate(self._paths) if glob.match_file(path)]
        return tuple(found) if len(found) <= MAX_MATCHES else ()

    @staticmethod
    def _longest(wanted: tuple[str, ...], candidates: Sequence[tuple[int, tuple[str, ...]]]) -> Match:
        best: list[int] = []
        most, whole = 0, False
        for number, parts in candidates:
            agreeing = 0
            for mine, theirs in zip(reversed(parts), reversed(wanted), strict=False):
                if mine != theirs:
                    break
                agreeing += 1
            complete = agreeing == len(parts)
            rank = agreeing + complete
            if rank > most:
                best, most, whole = [number], rank, complete
            elif rank == most:
                best.append(number)
        return Match(files=tuple(best), parts=most, whole=whole) if best else NOTHING


def module_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a path as a module: without the suffix, and without a name that stands for its folder."""
    stem = parts[-1].split(".", 1)[0] or parts[-1]
    if stem in _STANDING_FOR_FOLDER and len(parts) > 1:
        return parts[:-1]
    return (*parts[:-1], stem)


def _wanted(named: str) -> tuple[str, ...]:
    named = named.replace("\\", "/").removeprefix("file://")
    return tuple(part for part in named.split("/") if part not in ("", ".", "..", "~"))
