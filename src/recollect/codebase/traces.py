"""Stack traces pasted into a text: Python, Node, Java, Kotlin, Go, Rust, C#, Ruby, PHP, C and C++.

`read_frames` gives the places of every trace, innermost first, as the trace names them: paths of another machine,
often with a checkout or `site-packages` before them. Which files of a tree are meant is `ranking.py`'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file as a text names it, perhaps only its end, and a line (from one), when one is given.

    `function` is the name a stack trace gives beside it.
    """

    path: str
    line: int | None = None
    function: str = ""


#: Frames of one text: a recursion error repeats the same three lines a thousand times.
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
    # Go: a tab, the path and an offset; the function stands on the line before, as in a Rust backtrace.
    re.compile(rf"^\s+(?:at )?{_PATH}:{_NUMBER}(?::\d{{1,7}})?(?: \+0x[0-9a-f]+)?\s*$"),
    re.compile(
        rf"^\s*(?:thread '[^'\n]{{0,100}}'.{{0,300}} at |-->\s*)(?P<path>[^\s:]{{1,400}}\.rs):{_NUMBER}:\d{{1,7}}"
    ),
)
_JAVA_FILE = re.compile(r"\w+\.(?:java|kt|scala|groovy)")
_GO_FUNCTION = re.compile(r"^(?P<function>[\w./*()-]{1,300}?)\([^()\n]{0,300}\)\s*$")
_RUST_FUNCTION = re.compile(
    r"^\s*\d{1,4}: (?:0x[0-9a-f]+ - )?(?P<function>[\w:<>{}# ]{1,300}?)(?:::h[0-9a-f]{16})?\s*$"
)


def read_frames(text: str) -> tuple[Place, ...]:
    """The frames of all traces in a text, innermost first within each trace, in the order of the traces."""
    places: list[Place] = []
    waiting: list[Place] = []
    before = ""
    quiet = 0
    for line in text.split("\n"):
        if len(line) > _MAX_LINE_CHARS:
            continue
        place = _match(_LAST_FIRST, line, before)
        if place is not None:
            waiting.append(place)
            quiet = 0
        else:
            quiet += 1
            # IPython shows a dozen lines of source between two frames of one trace.
            if waiting and quiet > 25:
                places += reversed(waiting)
                waiting = []
            place = _match(_FIRST_FIRST, line, before)
            if place is not None:
                places.append(place)
        if line.strip():
            before = line
        if len(places) + len(waiting) >= MAX_FRAMES:
            break
    places += reversed(waiting)
    return tuple(places)


def _match(patterns: tuple[re.Pattern[str], ...], line: str, before: str) -> Place | None:
    for pattern in patterns:
        match = pattern.match(line)
        if match is None:
            continue
        groups = match.groupdict()
        path = groups["path"].strip().replace("\\", "/")
        if "." not in path.rsplit("/", 1)[-1]:
            continue
        function = groups.get("function") or _function_before(before)
        if _JAVA_FILE.fullmatch(path):
            # `com.shop.Cart.pay(Cart.java:42)`: the package says which of several files of this name it is.
            package = takewhile(lambda part: part[:1].islower(), function.split("."))
            path = "/".join([*package, path])
        number = groups.get("line")
        return Place(path=path, line=int(number) if number else None, function=_last_name(function))
    return None


def _function_before(line: str) -> str:
    match = _RUST_FUNCTION.match(line) or _GO_FUNCTION.match(line)
    return match["function"] if match else ""


def _last_name(function: str) -> str:
    """`a/b.(*T).f` -> f, `crate::m::f` -> f, `C.m` -> m; `<module>` and closures have no name."""
    if function.startswith("<"):
        return ""
    for name in reversed(re.split(r"[.:/\\ #>$-]+", function)):
        if (
            name
            and re.fullmatch(r"\w+", name)
            and not re.fullmatch(r"func\d+|\d+|lambda|closure|anonymous", name)
        ):
            return name
    return ""
