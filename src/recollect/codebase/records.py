"""What the index keeps of one file, made where the file is parsed and packed for the way to the store.

`numbers` holds what the whole-tree arrays are built from (`arrays.py`); `definitions` and `references` are read back
one file at a time. Standard library only: the processes that parse start quickly and stay small.
"""

from __future__ import annotations

import json
import logging
import re
import struct
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from recollect.codebase.symbols.columns import REFERENCE_KINDS, USE, Columns, read_columns
from recollect.codebase.symbols.values import FileSymbols, Reference, SymbolInfo
from recollect.codebase.tree import text_of
from recollect.errors import GrammarMissingError
from recollect.text.terms import IDENTIFIER, identifier_terms, term_key

_log = logging.getLogger(__name__)

#: Raise it when what is kept of a file changes; queries are part of the fingerprint by themselves (`store.py`).
FORMAT = 5
#: Larger source files were generated, and a syntax tree takes fifty times the memory of its text.
MAX_PARSE_BYTES = 2_000_000
#: Larger texts without a grammar are data.
MAX_WORDS_BYTES = 1_000_000
#: A file with longer lines on average was packed by a program.
_MAX_MEAN_LINE_CHARS = 500
_PACKED_FROM_BYTES = 20_000
_MAX_TERMS = 65_535
_MAX_COUNT = 65_535
#: The counts before a record's numbers: terms, postings, definitions, references; and lines and terms of the file.
HEADER = struct.Struct("<6I")
#: What follows them: a name, the kind of number, and which of the counts says how many there are.
LAYOUT = (
    ("term_keys", "Q", 0), ("definition_keys", "Q", 2), ("reference_keys", "Q", 3), ("term_counts", "I", 0),
    ("definition_lengths", "I", 2), ("posting_definitions", "H", 1), ("posting_terms", "H", 1),
    ("posting_counts", "H", 1), ("strong", "H", 3), ("weak", "H", 3), ("definition_kinds", "B", 2),
)  # fmt: skip
#: How a line of a comment begins, in any of the languages, and the most lines of one that belong to what stands below.
_COMMENT = ("#", "//", "*", "/*")
_COMMENT_LINES = 30
#: Definitions whose own lines are counted apart; one-liners belong to what they lie in.
_UNITS = frozenset("function method class interface struct enum trait module namespace".split())
_UNIT_LINES = 3
KINDS = (
    "function", "method", "class", "interface", "struct", "enum", "trait", "module", "namespace", "type", "variable",
    "constant", "field", "macro", "prototype",
)  # fmt: skip
#: A definition as a row of its fields.
_FIELDS = attrgetter(*SymbolInfo.__dataclass_fields__)
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_CPP_HEADER = re.compile(
    r"^\s*(?:class\s+\w+[^;]*$|namespace\b|template\s*<|public:|private:|using\s+\w)|std::", re.MULTILINE
)
_SHEBANG = re.compile(r"#!\s*\S*?(?:/|env\s+(?:-\S+\s+)*)(python|bash|sh|zsh|ksh|ruby|node|php)[\d.]*\b")
_SHEBANG_LANGUAGES = {"sh": "bash", "zsh": "bash", "ksh": "bash", "node": "javascript"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """One file, packed. `note` says what was left out, and why."""

    language: str | None
    lines: int
    note: str
    numbers: bytes
    definitions: bytes
    references: bytes


#: Number of the definition, number of the term, count: three columns.
_Postings = tuple[list[int], list[int], list[int]]
_KEYS: dict[str, tuple[int, ...]] = {}
_MAX_KEYS = 300_000


def read_record(data: bytes, *, path: str, language: str | None) -> FileRecord:
    """Read one file. Whatever stands in it, there is a record."""
    limit = MAX_WORDS_BYTES if language is None else MAX_PARSE_BYTES
    if len(data) > limit:
        note = f"it has more than {limit:,} bytes, so only grep reads it"
        return _record(language, [], None, note, lines=data.count(b"\n") + 1)
    text = text_of(data)
    lines = text.split("\n")
    if len(data) > _PACKED_FROM_BYTES and len(text) / len(lines) > _MAX_MEAN_LINE_CHARS:
        note = "its lines are those of a program's output, so only grep reads it"
        return _record(language, [], None, note, lines=len(lines))
    language = _refined(path, language, text)
    columns, note = None, ""
    if language is not None:
        try:
            columns = read_columns(text.encode("utf-8", "replace"), language)
        except GrammarMissingError as error:
            language, note = None, str(error)
        except Exception:
            # One file that a grammar takes apart as nobody thought it could must not cost the others their index.
            _log.warning("the structure of %r can't be read", path, exc_info=True)
            note = "its structure can't be read, so only its words are known"
        else:
            note = "its grammar did not come to an end with it" if columns.gave_up else ""
    return _record(language, lines, columns, note)


def _refined(path: str, language: str | None, text: str) -> str | None:
    """The language, where the name alone does not say it."""
    if language == "c" and path.endswith(".h") and _CPP_HEADER.search(text[:100_000]):
        return "cpp"
    if language is None and text.startswith("#!") and (shebang := _SHEBANG.match(text[:200])):
        return _SHEBANG_LANGUAGES.get(shebang[1], shebang[1])
    return language


def _record(
    language: str | None, texts: list[str], columns: Columns | None, note: str, *, lines: int | None = None
) -> FileRecord:
    """The record of a file of these texts, a line each; `lines` is how many there are where they are not read."""
    lines = len(texts) if lines is None else lines
    columns = columns or Columns([], [], [], [], [], [], errors=0)
    kept = [_FIELDS(definition) for definition in columns.definitions]
    used = [columns.names, columns.reference_names, columns.reference_lines, columns.reference_kinds]
    return FileRecord(
        language=language,
        lines=lines,
        note=note,
        numbers=_numbers(texts, columns, lines),
        definitions=_packed(kept),
        references=_packed([*used, columns.imports, columns.errors]),
    )


def _count(
    lines: Sequence[str], definitions: Sequence[SymbolInfo]
) -> tuple[dict[int, list[int]], _Postings, list[int], int]:
    """Terms of the file (key -> [number, count]), the postings of its definitions, and lengths."""
    owners = [-1] * len(lines)
    for number, definition in enumerate(definitions):
        height = definition.end_line - definition.start_line + 1
        # Outer definitions come before inner ones, so that the innermost is written last.
        if definition.kind in _UNITS or height >= _UNIT_LINES:
            first, last = comment_start(lines, definition.start_line), min(definition.end_line, len(lines))
            owners[first - 1 : last] = [number] * (last - first + 1)
    texts: dict[int, list[str]] = {}
    for owner, line in zip(owners, lines, strict=True):
        texts.setdefault(owner, []).append(line)
    terms: dict[int, list[int]] = {}
    owned: list[int] = []
    numbers: list[int] = []
    times_each: list[int] = []
    lengths = [0] * len(definitions)
    total = 0
    for owner, own in texts.items():
        counts: dict[int, int] = {}
        for word, times in Counter(IDENTIFIER.findall("\n".join(own))).items():
            for key in _keys(word):
                counts[key] = counts.get(key, 0) + times
        length = 0
        for key, times in counts.items():
            length += times
            entry = terms.get(key)
            if entry is None:
                if len(terms) >= _MAX_TERMS:
                    continue
                entry = terms[key] = [len(terms), 0]
            entry[1] += times
            if owner >= 0:
                owned.append(owner)
                numbers.append(entry[0])
                times_each.append(times if times < _MAX_COUNT else _MAX_COUNT)
        total += length
        if owner >= 0:
            lengths[owner] = length
    return terms, (owned, numbers, times_each), lengths, total


def comment_start(lines: Sequence[str], start_line: int) -> int:
    """Where the comment right above a definition begins, or the definition itself: most languages document there."""
    at = start_line
    while at > 1 and start_line - at < _COMMENT_LINES and lines[at - 2].lstrip().startswith(_COMMENT):
        at -= 1
    return at


def _keys(word: str) -> tuple[int, ...]:
    keys = _KEYS.get(word)
    if keys is None:
        if len(_KEYS) > _MAX_KEYS:
            _KEYS.clear()
        keys = _KEYS[word] = tuple(term_key(term) for term in identifier_terms(word))
    return keys


def _numbers(texts: Sequence[str], columns: Columns, lines: int) -> bytes:
    """What the arrays of a tree are built from, as `LAYOUT` says; the modules of imports stand behind it."""
    definitions, names = columns.definitions, columns.names
    terms, (owners, numbers, times), lengths, length = _count(texts, definitions)
    strong, weak = [0] * len(names), [0] * len(names)
    for name, kind in zip(columns.reference_names, columns.reference_kinds, strict=True):
        (weak if kind == USE else strong)[name] += 1
    parts: dict[str, Iterable[int]] = {
        "term_keys": terms,
        "definition_keys": (term_key(definition.name) for definition in definitions),
        "reference_keys": map(term_key, names),
        "term_counts": (entry[1] for entry in terms.values()),
        "definition_lengths": lengths,
        "posting_definitions": owners,
        "posting_terms": numbers,
        "posting_counts": times,
        "strong": (min(count, _MAX_COUNT) for count in strong),
        "weak": (min(count, _MAX_COUNT) for count in weak),
        "definition_kinds": (_KIND_NUMBERS.get(definition.kind, len(KINDS)) for definition in definitions),
    }
    modules = "\n".join(" ".join(module.splitlines()) for module, _, _ in columns.imports)
    header = HEADER.pack(len(terms), len(owners), len(definitions), len(names), lines, length)
    packed = (array(kind, parts[name]).tobytes() for name, kind, _ in LAYOUT)
    return b"".join((header, *packed, modules.encode("utf-8", "replace")))


def _packed(value: Any) -> bytes:
    return zlib.compress(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"), 1
    )


def unpack_definitions(blob: bytes) -> tuple[SymbolInfo, ...]:
    """The definitions of a record."""
    return tuple(SymbolInfo(*row) for row in json.loads(zlib.decompress(blob)))


def unpack_symbols(definitions: bytes, references: bytes, *, language: str, lines: int) -> FileSymbols:
    """Everything a record says about its file."""
    used = json.loads(zlib.decompress(references))
    return Columns(unpack_definitions(definitions), *used).symbols(language, lines=lines)


def references_to(references: bytes, name: str) -> list[Reference]:
    """The references of a record to one name, without making objects of the others."""
    names, numbers, places, kinds, _, _ = json.loads(zlib.decompress(references))
    wanted = {number for number, other in enumerate(names) if other == name}
    return [
        Reference(name=name, line=line, kind=REFERENCE_KINDS[kind])
        for number, line, kind in zip(numbers, places, kinds, strict=True)
        if number in wanted
    ]
