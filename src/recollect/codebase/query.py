"""What a person asks about code, taken apart: names, paths, places, stack traces, words.

`read_query` reads the text of a question or an issue and the hints beside it; nothing here knows a tree. Finding the
files that are meant is `ranking.py`, the formats of stack traces are in `resolve.py`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from recollect.codebase.resolve import Place, read_frames
from recollect.text.terms import code_terms

__all__ = ["CodeQuery", "Place", "Segments", "read_query", "segments_of"]

#: A pasted log can be long; what a question is about stands in its first pages.
MAX_QUERY_CHARS = 100_000
#: What a query is about stands at its beginning, also when its first line has no end.
_TITLE_CHARS = 300
#: A longer text tells a story; a question has a few sentences.
_QUESTION_CHARS = 500
#: A name in the title says more than a name in a pasted program.
TITLE, PROSE, CODE, TRACE = 2.0, 1.0, 0.5, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """A text by what its parts are: the first line, sentences, pasted code and output, stack traces."""

    title: str
    prose: str
    code: str
    trace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuery:
    """A query taken apart.

    `identifiers` are names as written, `dotted` those with a qualifier (`a.b.C`, `A::b` as `A.b`); both, and the terms
    in `words` (`terms.py`), with a weight from where and how often they stand. `prose_names` and
    `code_names` are the same names, by whether they stand in sentences or in code, and how often. `places` are files
    and lines named in the text, `frames` those of stack traces, innermost first. `hinted_*` are what the hints name.
    """

    text: str
    identifiers: Mapping[str, float]
    dotted: Mapping[str, float]
    words: Mapping[str, float]
    prose_names: Mapping[str, float] = field(default_factory=dict)
    code_names: Mapping[str, float] = field(default_factory=dict)
    places: tuple[Place, ...] = ()
    frames: tuple[Place, ...] = ()
    globs: tuple[str, ...] = ()
    hinted_places: tuple[Place, ...] = ()
    hinted_names: tuple[str, ...] = ()
    hinted_frames: tuple[Place, ...] = ()
    about_tests: bool = False
    about_documents: bool = False
    segments: Segments = field(default=Segments(title="", prose="", code="", trace=""), repr=False)

    @property
    def is_question(self) -> bool:
        """Whether this asks what code does, on a single line: nothing is pasted, and no file is named or hinted at."""
        named = (*self.places, *self.frames, *self.globs, *self.hinted_places, *self.hinted_names)
        parts = self.segments
        more = f"{parts.prose}{parts.code}{parts.trace}".strip()
        return not (named or more or self.about_documents) and len(self.text) <= _QUESTION_CHARS


# ------------------------------------------------------------ patterns

_FENCE = re.compile(r"^\s*(```|~~~)")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\. |In \[\d+\]:|Out\[\d+\]:|\$ |irb\(|> )")
#: A line of a program, in whatever language: an import, a definition, an assignment, a call alone on its line.
_CODE_LINE = re.compile(
    r"^(?:\s*(?:from\s+[\w.]+\s+import\b|import\s+[\w.{*]+|(?:class|def|func|fn|struct|enum|interface)\s+\w+"
    r"|(?:const|let|var|public|private|static|return|raise|assert|#include|using|package|@)\b"
    r"|[\w.\[\]'\", ]+\s*(?::=|=|\+=)\s*\S|[\w.]+\([^()]*\)[;:]?\s*$)|.*[;{}]\s*$|\t+\S)"
)
_TRACE_LINE = re.compile(
    r"^\s*(?:Traceback \(most recent|File \"|at \S+ ?\(|at /|goroutine \d+|stack backtrace|Caused by:|#\d+ )"
    r"|^\s*(?:-+>\s*\d+|\d+)\s"
)
_SUFFIXES = (
    "py|pyi|pyx|js|jsx|mjs|cjs|ts|tsx|go|rs|java|kt|kts|scala|groovy|c|h|cc|cpp|cxx|hpp|hh|rb|php|cs|sh|bash|swift|m"
    "|lua|pl|pm|ex|exs|erl|hs|ml|clj|dart|r|jl|vue|svelte|sql|html|htm|css|scss|less|xml|json|yaml|yml|toml|cfg|ini"
    "|md|rst|txt|proto|gradle|cmake|tf"
)
_PLACE = re.compile(
    rf"(?<![\w./\\@~+-])(?:https?://[^\s/]+/)?(?P<path>(?:[\w.@~+-]+[/\\]|/)*[\w.@+-]*\w\.(?:{_SUFFIXES}))(?![\w-])"
    r"(?:(?::|#L|\(|\", line |, line | line )(?P<line>\d{1,7}))?"
)
_IMPORTED_PATH = re.compile(r"(?:from|require\(|import)\s*['\"](?P<path>[\w@./-]+)['\"]")
_DOTTED = re.compile(r"(?<![\w./\\])[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+")
_IMPORT_FROM = re.compile(r"\bfrom\s+([A-Za-z_][\w.]*)\s+import\s+\(?([\w, \t]+)")
_BACKTICKED = re.compile(r"`{1,2}([^`\n]{1,120})`{1,2}")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_CALLED = re.compile(r"\b([A-Za-z_]\w+)\(")
#: Shapes that words of a language do not have: an underscore or a hump inside, or capitals and digits together.
_SHAPED = re.compile(
    r"\b(?:[A-Za-z]\w*_\w+|_+[A-Za-z]\w+|[a-z]+[A-Z]\w*|[A-Z]+[a-z0-9]+[A-Z]\w*|[A-Z][A-Z0-9_]*\d\w*)\b"
)
_GLOB = re.compile(r"[*?]|\[[^\]]+\]")
_FILE_LINE = re.compile(r"^(?P<path>.+?)(?::|#L|\()(?P<line>\d{1,7})(?::\d+)?(?:-L?\d+)?\)?$")
_ABOUT_TESTS = re.compile(
    r"\b(?:(?:unit|integration|regression|failing|flaky|existing|missing|which|what|the|our|all|add)\s+tests?\b"
    # What helps to test is part of the program: its test client, runner or helper.
    r"(?!\s+(?:clients?|runners?|helpers?|harness|doubles?|servers?|utilit\w+|tools?|kits?|modes?)\b)"
    r"|tests?\s+(?:for|of|that|which|cover\w*|suite|case|cases|fail\w*)\b|test_\w+\.py)",
    re.IGNORECASE,
)
_ABOUT_DOCUMENTS = re.compile(
    r"\b(?:where|which|what|how)\b.*\b(?:documented|documentation|docs|readme|tutorial)\b|\breadme\b",
    re.IGNORECASE,
)


def read_query(query: str, hints: Sequence[str] = ()) -> CodeQuery:
    """Take a query apart. Hints are paths, symbols, globs, `file:line`, or pasted stack traces."""
    text = _clean(query)
    parts = segments_of(text)
    weighted = ((parts.title, TITLE), (parts.prose, PROSE), (parts.code, CODE), (parts.trace, TRACE))
    identifiers: defaultdict[str, float] = defaultdict(float)
    dotted: defaultdict[str, float] = defaultdict(float)
    words: defaultdict[str, float] = defaultdict(float)
    in_prose: defaultdict[str, float] = defaultdict(float)
    in_pasted: defaultdict[str, float] = defaultdict(float)
    for part, weight in weighted:
        in_code = weight < PROSE
        mentioned, times = (in_pasted, 1.0) if in_code else (in_prose, weight)
        for name in _identifiers(part, everything=in_code):
            identifiers[name] += weight
            mentioned[name] += times
        for name in _dotted(part):
            dotted[name] += weight
            mentioned[name] += times
        for term in code_terms(part):
            words[term] += weight
    hinted = _Hints()
    for hint in hints:
        hinted.read(_clean(hint).strip())
    frames = (*hinted.frames, *read_frames(text))
    traced = {frame.path for frame in frames}
    return CodeQuery(
        text=text,
        identifiers=dict(identifiers),
        dotted=dict(dotted),
        words=dict(words),
        prose_names=dict(in_prose),
        code_names=dict(in_pasted),
        places=tuple(place for place in _places(text) if place.path not in traced),
        frames=frames,
        globs=tuple(hinted.globs),
        hinted_places=tuple(hinted.places),
        hinted_names=tuple(hinted.names),
        hinted_frames=tuple(hinted.frames),
        about_tests=bool(_ABOUT_TESTS.search(parts.title[:_TITLE_CHARS])),
        about_documents=bool(_ABOUT_DOCUMENTS.search(parts.title[:_TITLE_CHARS])),
        segments=parts,
    )


def segments_of(text: str) -> Segments:
    """Tell sentences from pasted code and from stack traces, line by line."""
    lines = text.strip().split("\n")
    title = lines[0] if lines else ""
    prose: list[str] = []
    code: list[str] = []
    trace: list[str] = []
    fenced = False
    tracing = False
    for line in lines[1:]:
        if _FENCE.match(line):
            fenced, tracing = not fenced, False
            continue
        if _TRACE_LINE.match(line):
            tracing = True
        elif not line.strip() or not (fenced or line[:1].isspace()):
            tracing = False
        if tracing:
            trace.append(line)
        elif fenced or _PROMPT.match(line) or _CODE_LINE.match(line):
            code.append(line)
        else:
            prose.append(line)
    return Segments(title=title, prose="\n".join(prose), code="\n".join(code), trace="\n".join(trace))


# ------------------------------------------------------------ parts


def _clean(text: str) -> str:
    text = text[:MAX_QUERY_CHARS].replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    # Templates of issues explain themselves in comments. No pattern here: openings without an end cost it n squared.
    kept: list[str] = []
    at = 0
    while (opened := text.find("<!--", at)) >= 0:
        kept.append(text[at:opened])
        closed = text.find("-->", opened)
        at = closed + 3 if closed >= 0 else len(text)
    return " ".join([*kept, text[at:]])


def _identifiers(text: str, *, everything: bool) -> list[str]:
    """Names of code in a text: in code every name, among sentences those in ticks, called, or shaped so."""
    if everything:
        return [name for name in _NAME.findall(text) if len(name) > 1]
    names: list[str] = []
    for quoted in _BACKTICKED.findall(text):
        names += _NAME.findall(quoted)
    plain = _BACKTICKED.sub(" ", text)
    names += _CALLED.findall(plain)
    names += _SHAPED.findall(_CALLED.sub(" ", plain))
    for name in _DOTTED.findall(plain):
        names.append(re.split(r"\.|::", name)[-1])
    return [name for name in names if len(name) > 1]


def _dotted(text: str) -> list[str]:
    names = [match.group().replace("::", ".") for match in _DOTTED.finditer(text)]
    for match in _IMPORT_FROM.finditer(text):
        for name in match[2].replace("\t", " ").split(","):
            first = name.split()[:1]
            if first:
                names.append(f"{match[1]}.{first[0]}")
    return names


def _places(text: str) -> tuple[Place, ...]:
    places: dict[tuple[str, int | None], Place] = {}
    for match in _PLACE.finditer(text):
        path, line = match["path"].replace("\\", "/"), match["line"]
        place = Place(path=path, line=int(line) if line else None)
        places.setdefault((place.path, place.line), place)
    for match in _IMPORTED_PATH.finditer(text):
        if "/" in match["path"]:
            places.setdefault((match["path"], None), Place(path=match["path"]))
    return tuple(places.values())


@dataclass(slots=True)
class _Hints:
    """What hints name so far."""

    places: list[Place] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    globs: list[str] = field(default_factory=list)
    frames: list[Place] = field(default_factory=list)

    def read(self, hint: str) -> None:
        """Take a hint for what it is."""
        if not hint:
            return
        if frames := read_frames(hint):
            self.frames += frames
            return
        if "\n" in hint:
            for line in hint.split("\n"):
                self.read(line.strip())
            return
        at = _FILE_LINE.match(hint)
        if at and ("/" in at["path"] or "." in at["path"]) and not _GLOB.search(at["path"]):
            self.places.append(Place(path=at["path"].replace("\\", "/"), line=int(at["line"])))
        elif _GLOB.search(hint):
            self.globs.append(hint)
        elif "/" in hint or "\\" in hint or _PLACE.fullmatch(hint):
            self.places.append(Place(path=hint.replace("\\", "/").rstrip("/")))
        else:
            self.names.append(hint.replace("::", ".").replace("#", ".").removesuffix("()"))
