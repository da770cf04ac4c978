"""What a file imports: module and names, read from the text of its import statements.

The statements are short and regular, so expressions over their text say more with less than twelve tree walks would.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Found = tuple[str, tuple[str, ...]]

_STRING = re.compile(r"""["'`]([^"'`\n]{1,300})["'`]""")
_WORD = re.compile(r"[^\W\d][\w$]*")
_MAX_NAMES = 200


def imports_of(statement: str, language: str) -> list[Found]:
    """(module, names) of one import statement."""
    reader = _READERS.get(language)
    return list(reader(statement)) if reader is not None else []


def _python(text: str) -> Iterator[Found]:
    text = re.sub(r"#[^\n]*", "", text).replace("\\\n", " ")
    if text.startswith("from"):
        found = re.match(r"from\s*([.\w]+)\s*import\b(.*)", text, re.DOTALL)
        if found:
            names = [part.split()[0] for part in found[2].strip(" ()\n\t").split(",") if part.split()]
            yield found[1], tuple(name for name in names if _WORD.fullmatch(name))[:_MAX_NAMES]
        return
    for part in text.removeprefix("import").split(","):
        if words := part.split():
            yield words[0], ()


def _script(text: str) -> Iterator[Found]:
    module = _STRING.findall(text)
    if not module:
        return
    clause = text.rpartition("from")[0] or ""
    named = re.search(r"\{(.*?)\}", clause, re.DOTALL)
    names = [part.split()[0] for part in named[1].split(",") if part.split()] if named else []
    # `import type X` and `import X` bind the module's default under a name of the file's own.
    default = re.match(r"import\s+(?:type\s+)?([^\W\d][\w$]*)\s*(?:,|\s*$)", clause)
    if default:
        names.append(default[1])
    yield module[-1], tuple(name for name in names if _WORD.fullmatch(name))[:_MAX_NAMES]


def _go(text: str) -> Iterator[Found]:
    for module in _STRING.findall(text):
        yield module, ()


def _rust(text: str) -> Iterator[Found]:
    body = re.sub(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:use|extern\s+crate)\s+|;\s*$|\s+", " ", text).strip()
    body = re.sub(r"\s+as\s+\w+", "", body)
    head, brace, rest = body.partition("{")
    prefix = head.strip().removesuffix("::").replace(" ", "")
    if not brace:
        module, _, name = prefix.rpartition("::")
        yield (module or name), ((name,) if module and name != "*" else ())
        return
    names = tuple(dict.fromkeys(_WORD.findall(rest)))[:_MAX_NAMES]
    yield prefix, names


def _dotted(text: str) -> Iterator[Found]:
    body = re.sub(r"^\s*(?:global\s+)?(?:import|using)\s+|\bstatic\s+|;\s*$", "", text).strip()
    body = body.rpartition("=")[2].strip()
    if not body:
        return
    module, _, name = body.rpartition(".")
    yield body.removesuffix(".*"), ((name,) if name and name != "*" and module else ())


def _include(text: str) -> Iterator[Found]:
    found = re.search(r"""[<"]([^>"\n]{1,300})[>"]""", text)
    if found:
        yield found[1], ()
        return
    using = re.match(r"using\s+(?:namespace\s+)?([\w:]+)", text)
    if using:
        module, _, name = using[1].rpartition("::")
        yield (module or name), ((name,) if module else ())


def _php(text: str) -> Iterator[Found]:
    if not text.startswith("use"):
        for module in _STRING.findall(text):
            yield module.lstrip("/"), ()
        return
    body = re.sub(r"^use\s+(?:function\s+|const\s+)?|;\s*$", "", text)
    head, brace, rest = body.partition("{")
    if brace:
        names = tuple(part.split()[0] for part in rest.strip(" }").split(",") if part.split())
        yield head.strip().rstrip("\\"), names[:_MAX_NAMES]
        return
    for part in body.split(","):
        if words := part.split():
            yield words[0].lstrip("\\"), (words[0].rpartition("\\")[2],)


def _required(text: str) -> Iterator[Found]:
    for module in _STRING.findall(text)[:1]:
        yield module, ()


def _sourced(text: str) -> Iterator[Found]:
    words = text.split()
    if len(words) > 1:
        yield words[1].strip("\"'"), ()


_READERS: dict[str, Callable[[str], Iterator[Found]]] = {
    "python": _python,
    "javascript": _script,
    "typescript": _script,
    "tsx": _script,
    "go": _go,
    "rust": _rust,
    "java": _dotted,
    "csharp": _dotted,
    "c": _include,
    "cpp": _include,
    "php": _php,
    "ruby": _required,
    "bash": _sourced,
}

#: Calls that import, in languages that have no statement for it: name called -> the language.
IMPORTING_CALLS = {
    "javascript": frozenset({"require"}),
    "typescript": frozenset({"require"}),
    "tsx": frozenset({"require"}),
    "ruby": frozenset({"require", "require_relative", "load", "autoload"}),
    "bash": frozenset({"source", "."}),
}
