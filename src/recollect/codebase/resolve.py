"""Which files of a tree a text means: ends of paths, dotted names, globs, folders, and pasted stack traces.

Paths in issues and traces come from other machines: what counts is how many of their last parts are also the last
parts of a file here. Knows paths only; names of definitions are `signals.py`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from recollect.errors import InvalidInputError
from recollect.files.patterns import Glob

#: Files that stand for their folder: `a/b/__init__.py` is the module `a.b`.
_STANDING_FOR_FOLDER = frozenset({"__init__", "index", "mod", "__main__"})
#: A hinted folder or glob names at most so many files; more is no hint.
MAX_MATCHES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Files that may be meant, all equally well: `parts` of their paths agree."""

    files: tuple[int, ...]
    parts: int


NOTHING = Match(files=(), parts=0)


class PathTable:
    """The paths of a tree, to be looked up by their ends."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._parts = [tuple(path.split("/")) for path in paths]
        self._paths = paths
        self._by_name: dict[str, list[int]] = {}
        self._by_stem: dict[str, list[int]] = {}
        for number, parts in enumerate(self._parts):
            self._by_name.setdefault(parts[-1], []).append(number)
            self._by_stem.setdefault(module_parts(parts)[-1], []).append(number)

    def path(self, named: str) -> Match:
        """Files whose path ends as this does, by as many parts as can be."""
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
        match = self._longest(wanted, [(number, module_parts(self._parts[number])) for number in stems])
        return match if match.parts > 1 else NOTHING

    def module(self, dotted: str) -> tuple[Match, int]:
        """The file of the longest beginning of a dotted name that is a module, and how many of its parts that took.

        Every part of that beginning has to agree with the file's path, so that `shop.cart.Cart` is `src/shop/cart.py`
        and not `other/cart.py`. A single part is no module: any variable may be called so.
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
                return Match(files=tuple(numbers), parts=length), length
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
        files = [
            number
            for number, parts in enumerate(self._parts)
            if parts[:length] == wanted and len(parts) > length
        ]
        if not files:
            files = [
                number
                for number, parts in enumerate(self._parts)
                if any(parts[at : at + length] == wanted for at in range(len(parts) - length))
            ]
        return tuple(files) if len(files) <= MAX_MATCHES else ()

    def glob(self, pattern: str) -> tuple[int, ...]:
        """Files that a glob names; without a slash it is about the file's own name. A glob that can't be names none."""
        pattern = pattern.removeprefix("./")
        try:
            glob = Glob(pattern if "/" in pattern else f"**/{pattern}")
        except InvalidInputError:
            return ()
        files = [number for number, path in enumerate(self._paths) if glob.match_file(path)]
        return tuple(files) if len(files) <= MAX_MATCHES else ()

    @staticmethod
    def _longest(wanted: tuple[str, ...], candidates: Sequence[tuple[int, tuple[str, ...]]]) -> Match:
        best: list[int] = []
        most = 0
        for number, parts in candidates:
            agreeing = 0
            for mine, theirs in zip(reversed(parts), reversed(wanted), strict=False):
                if mine != theirs:
                    break
                agreeing += 1
            rank = agreeing + (agreeing == len(parts))
            if rank > most:
                best, most = [number], rank
            elif rank == most:
                best.append(number)
        return Match(files=tuple(best), parts=most) if best else NOTHING


def module_parts(parts: tuple[str, ...]) -> tuple[str, ...]:
    """The parts of a path as a module: without the suffix, and without a name that stands for its folder."""
    stem = parts[-1].split(".", 1)[0] or parts[-1]
    if stem in _STANDING_FOR_FOLDER and len(parts) > 1:
        return parts[:-1]
    return (*parts[:-1], stem)


def _wanted(named: str) -> tuple[str, ...]:
    named = named.replace("\\", "/").removeprefix("file://")
    return tuple(part for part in named.split("/") if part not in ("", ".", "..", "~"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file as a text names it, perhaps only its end, and a line (from 1), when it is given."""

    path: str
    line: int | None = None


#: Frames of a text: a recursion error repeats the same three lines a thousand times.
MAX_FRAMES = 200
#: No line of a trace is longer; longer ones hold data, and are not looked at.
_MAX_LINE_CHARS = 1_000

_PATH = r"(?P<path>[^\s\"'()<>|*?]{1,400}?)"
_NUMBER = r"(?P<line>\d{1,7})"

#: The innermost call stands last in these; each group of frames is turned around.
_LAST_FIRST = (
    re.compile(
        rf"^\s*File \"(?P<path>[^\"\n]{{1,400}})\", line {_NUMBER}(?:, in (?P<function>[\w.<>]{{1,200}}))?"
    ),
    # IPython: `File ~/a/b.py:12, in f(x)`, `~/a/b.py in f(self, x)`, and pytest: `a/b.py:12: in f`.
    re.compile(
        rf"^\s*(?:File )?{_PATH}(?<=\.py):{_NUMBER}(?::\d{{1,5}})?(?:,|:) in (?P<function>[\w.<>]{{1,200}})"
    ),
    re.compile(r"^\s*(?P<path>[^\s\"'()<>|*?]{1,400}\.py) in (?P<function>[\w.<>]{1,200})\("),
)
_FIRST_FIRST = (
    # Node: `at f (/a/b.js:1:2)`, `at async f (file:///a/b.js:1:2)`, `at /a/b.js:1:2`.
    re.compile(
        rf"^\s*at (?:async )?(?:new )?(?P<function>[^()\n]{{1,200}}?) \((?:file://)?{_PATH}:{_NUMBER}:\d{{1,7}}\)"
    ),
    re.compile(rf"^\s*at (?:async )?(?:file://)?{_PATH}:{_NUMBER}(?::\d{{1,7}})?\s*$"),
    # Java, Kotlin, Scala: `at a.b.C.m(C.java:12)`.
    re.compile(
        rf"^\s*at (?:[\w.$@-]{{1,100}}/{{1,2}})?(?P<function>[\w.$<>]{{1,300}})"
        rf"\((?P<path>\w{{1,200}}\.(?:java|kt|scala|groovy)):{_NUMBER}\)"
    ),
    # C#: `at N.C.M(String s) in /a/b.cs:line 12`.
    re.compile(
        rf"^\s*at (?P<function>[\w.`<>\[\],]{{1,300}})\([^()\n]{{0,300}}\)"
        rf" in (?P<path>(?:[A-Z]:)?[^\n:*?]{{1,400}}):line {_NUMBER}"
    ),
    # Ruby: `a/b.rb:12:in 'f'`; PHP: `#0 /a/b.php(12): f()`.
    re.compile(
        rf"^\s*(?:from )?(?P<path>[^\s:\"'()]{{1,400}}\.rb):{_NUMBER}:in [`'](?P<function>[^'\n]{{1,200}})'"
    ),
    re.compile(
        rf"^\s*#\d{{1,4}} (?P<path>[^\s()\"']{{1,400}}\.\w{{1,8}})\({_NUMBER}\): (?P<function>[\w\\:>-]{{1,200}})"
    ),
    # A debugger's: `#1 0x00 in f (x=1) at a/b.c:12`, `#1 f (...) at a/b.c:12`.
    re.compile(
        rf"^\s*#\d{{1,4}}\s+(?:0x[0-9a-f]+ in )?(?P<function>[\w:~<>,]{{1,200}}) ?\("
        rf"[^\n]{{0,500}} at {_PATH}:{_NUMBER}\s*$"
    ),
    # Go: a tab, the path and an offset; Rust: the path alone.
    re.compile(rf"^\s+(?:at )?{_PATH}:{_NUMBER}(?::\d{{1,7}})?(?: \+0x[0-9a-f]+)?\s*$"),
    re.compile(
        rf"^\s*(?:thread '[^'\n]{{0,100}}'.{{0,300}} at |-->\s*)(?P<path>[^\s:]{{1,400}}\.rs):{_NUMBER}:\d{{1,7}}"
    ),
)
_JAVA_FILE = re.compile(r"\w+\.(?:java|kt|scala|groovy)")


def read_frames(text: str) -> tuple[Place, ...]:
    """The frames of all traces in a text, innermost first within each trace, in the order of the traces."""
    places: list[Place] = []
    waiting: list[Place] = []
    quiet = 0
    for line in text.split("\n"):
        if len(line) > _MAX_LINE_CHARS:
            continue
        place = _match(_LAST_FIRST, line)
        if place is not None:
            waiting.append(place)
            quiet = 0
        else:
            quiet += 1
            # IPython shows a dozen lines of source between two frames of a trace.
            if waiting and quiet > 25:
                places += reversed(waiting)
                waiting = []
            place = _match(_FIRST_FIRST, line)
            if place is not None:
                places.append(place)
        if len(places) + len(waiting) >= MAX_FRAMES:
            break
    places += reversed(waiting)
    return tuple(places)


def _match(patterns: tuple[re.Pattern[str], ...], line: str) -> Place | None:
    for pattern in patterns:
        match = pattern.match(line)
        if match is None:
            continue
        groups = match.groupdict()
        path = groups["path"].strip().replace("\\", "/")
        if "." not in path.rsplit("/", 1)[-1]:
            continue
        if _JAVA_FILE.fullmatch(path):
            # `com.shop.Cart.pay(Cart.java:42)`: the package says which of several files of this name it is.
            package = takewhile(lambda part: part[:1].islower(), (groups.get("function") or "").split("."))
            path = "/".join([*package, path])
        number = groups.get("line")
        return Place(path=path, line=int(number) if number else None)
    return None
