"""Lines of a document as a person would read them out, and what a question asks for, as far as its words show.

`sentences_of` makes them, `answer_of` chooses those that answer a question; `answer_in` says them in Markdown, code as
code and rows as a table. Pure functions over text; which lines matter is decided elsewhere (`ranking.py`).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from recollect.retrieval.rank.pool import MAX_QUERY_TERMS
from recollect.text.sentences import BULLET, split_sentences
from recollect.text.terms import query_terms, terms

_TOKEN = re.compile(r"[^\W_][\w.+#-]*")
# Written as nobody writes a plain word: camelCase, SNAKE or snake_case, ALLCAPS, letters with digits.
_ODD = re.compile(r"[^\W\d_][A-Z]|_|[A-Za-z]\d|-[A-Z]")
_SENTENCE_START = re.compile(r"(?:^|[.?!:;]['\"”)]*)\s*['\"“(]*$")

_QUANTITY = re.compile(
    r"\bhow (?:many|much|long|large|big|wide|slow|far|deep|old|often|close|near|alike|full|high|fast|small|early"
    r"|heavy|cold|frequently)\b"
    r"|\bwhat (?:is the )?(?:share|size|length|number|port|amount|limit|percentage|fraction|level)\b"
    r"|\b(?:largest|smallest|longest|greatest|maximum|minimum|upper bound|lower bound|at most|at least"
    r"|return code|which (?:\w+ )?port|at which column|last year)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred|thousand|million|zero|half|third"
    r"|unlimited|infinite)\b",
    re.IGNORECASE,
)
_ASKS_DEFAULT = re.compile(
    r"\bdefaults?\b|\bout of the box\b|\bstock\b|\bfresh(?:ly)?\b|\binitially\b|\bnormally\b|\buntouched\b"
    r"|\bunless (?:i|we|you|it|told|changed|configured|otherwise)\b"
    r"|\b(?:don.t|do not|give no|leave out|omit) ?(?:specify|choose|ask|give|say|pass)?\b"
    r"|\b(?:when|if) (?:none|nothing|no \w+) (?:is|are)\b|\bleave .{0,20}(?:alone|out)\b",
    re.IGNORECASE,
)
_DEFAULT = re.compile(r"\bdefault", re.IGNORECASE)
_HOW_TO = re.compile(r"\bhow (?:do|can|could|should|would) (?:i|we|you)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question's terms in order, which of them belong to names, and whether it wants a quantity, a default or a way.

    There are no more terms than a match has bits for.
    """

    terms: tuple[str, ...]
    names: frozenset[str]
    quantity: bool
    default: bool
    how_to: bool = False


@lru_cache(maxsize=64)
def read_asked(question: str) -> Asked:
    """Read a question; once, however many places it is held against."""
    return Asked(
        terms=tuple(query_terms(question)[:MAX_QUERY_TERMS]),
        names=names_in(question),
        quantity=_QUANTITY.search(question) is not None,
        default=_ASKS_DEFAULT.search(question) is not None,
        how_to=_HOW_TO.search(question) is not None,
    )


def names_in(question: str) -> frozenset[str]:
    """The terms of names: words that are capitalised inside a sentence, or written as only identifiers are."""
    found: set[str] = set()
    for token in _TOKEN.finditer(question):
        word = token.group().rstrip(".-")
        if word == "I":
            continue
        begins = _SENTENCE_START.search(question, 0, token.start()) is not None
        if _ODD.search(word) or (word[0].isupper() and not begins):
            found.update(query_terms(word))
    return frozenset(found)


def has_number(text: str) -> bool:
    """Whether the text says a number, in figures or words."""
    return _NUMBER.search(text) is not None


def names_a_default(text: str) -> bool:
    """Whether the text speaks of a default."""
    return _DEFAULT.search(text) is not None


#: Of what an answer quotes from one place: a paragraph that is read at a glance.
MAX_SENTENCES, MAX_CHARS = 3, 450
#: A sentence that was wrapped over more lines than this is none.
_SENTENCE_LINES = 6
#: A shorter line was not wrapped: what follows it is something else.
_WRAPPED = 50
#: Code has no sentences; of a line longer than this the beginning is shown, and of a block these lines.
_LONGEST, _CODE_LINES = 900, 40

_END = re.compile(r"[.!?:…]['\"”’)\]*_`]*$")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"\s*\|?[\s|:=-]+\|?\s*")
_CELL = re.compile(r"(?<!\\)\|")
#: Cells that say that a row has what the head of its column names.
_TICKS = frozenset("yes y true x ✓ ✔ ✅ required needed ja oui si sí sì sim".split())
#: A row as `_row` writes it: another row is another answer.
_ROW = re.compile(r"[^.;:]{1,80}: [^:]*; ")
_INLINE = (
    (re.compile(r"!\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[([^\]]+)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[([^\]]+)\]\[[^\]]*\]"), r"\1"),
    (re.compile(r"<(https?://[^>\s]+)>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^>]*>|<!--.*?-->"), ""),
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<![\w_])_(?=\S)([^_]+?)(?<=\S)_(?![\w_])"), r"\1"),
    (re.compile(r"`+([^`]+)`+"), r"\1"),
    (re.compile(r"\\([\\`*_{}\[\]()#+.!|-])"), r"\1"),
)


def is_open(line: str) -> bool:
    """Whether a sentence goes on behind this line."""
    text = line.strip()
    return bool(text) and not (
        _END.search(text) or text.startswith("|") or _FENCE.match(text) or _HEADING.match(text)
    )


def begins_block(line: str) -> bool:
    """Whether nothing before this line belongs to its sentence."""
    return (
        not line.strip()
        or line.lstrip().startswith("|")
        or any(mark.match(line) for mark in (_FENCE, _HEADING, BULLET))
    )


def whole_sentences(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """A range of lines, counted from 1, with those that its first and last sentence stand on."""
    for _ in range(_SENTENCE_LINES):
        if first > 1 and is_open(lines[first - 2]) and not begins_block(lines[first - 1]):
            first -= 1
        if last < len(lines) and is_open(lines[last - 1]) and not begins_block(lines[last]):
            last += 1
    return first, last


def table_head(lines: Sequence[str], line: int) -> str:
    """The first row of the table that a line, counted from 1, stands in; nothing outside of tables."""
    first = line
    while first > 0 and lines[first - 1].lstrip().startswith("|"):
        first -= 1
    return lines[first] if first < line else ""


def ticked(head: str, row: str) -> list[str]:
    """The columns of a table whose cell in a row says yes."""
    pairs = zip(_cells(head), _cells(row), strict=False)
    return [name for name, cell in pairs if _plain(cell).casefold() in _TICKS]


def sentences_of(lines: Sequence[str], *, head: str = "") -> list[str]:
    """The sentences of some lines in plain text. `head` is the first row of a table that the lines may lie in."""
    return [sentence for block in _blocks(lines, head) for sentence in split_sentences(_plain(block.text))]


def passage_of(lines: Sequence[str], first: int, last: int) -> tuple[int, int, list[str]]:
    """A range of lines, counted from 1, widened to whole sentences, and these in plain text."""
    first, last = whole_sentences(lines, first, last)
    return first, last, [sentence for sentence, _ in _sentences(lines, first, last)]


def _sentences(lines: Sequence[str], first: int, last: int) -> list[tuple[str, _Block]]:
    """The sentences of a range of lines in plain text, each with the block that it stands in."""
    fenced = sum(_FENCE.match(line) is not None for line in lines[: first - 1]) % 2 == 1
    blocks = _blocks(lines[first - 1 : last], table_head(lines, first), fenced=fenced, first=first)
    return [(sentence, block) for block in blocks for sentence in split_sentences(_plain(block.text))]


def answer_of(question: str, sentences: Sequence[str]) -> str:
    """The sentence that speaks most about the question, with those around it as far as an answer goes."""
    if not sentences:
        return ""
    worth = _worth(question, sentences)
    best = max(range(len(sentences)), key=lambda at: (worth[at], -at))
    first, last = _around(sentences, best, [_ROW.match(one) is not None for one in sentences])
    return _cut(" ".join(sentences[first : last + 1]))


def answer_in(question: str, lines: Sequence[str], first: int, last: int) -> str:
    """The same of a range of lines, counted from 1, in Markdown: code in its block, rows that say as much in a table.

    One row alone is read out.
    """
    found = _sentences(lines, *whole_sentences(lines, first, last))
    if not found:
        return ""
    sentences = [sentence for sentence, _ in found]
    worth = _worth(question, sentences)
    best = max(range(len(found)), key=lambda at: (worth[at], -at))
    # Code behind a sentence is told with it when the sentence leads to it.
    stops = [
        block.row
        or (block.fenced and not found[best][1].fenced and not (at and sentences[at - 1].endswith(":")))
        for at, (_, block) in enumerate(found)
    ]
    begin, end = _around(sentences, best, stops)
    if found[begin][1].row:
        begin, end = _rows_alike(found, worth, begin)
    parts = []
    for place, members in groupby(found[begin : end + 1], lambda one: _place(lines, one[1])):
        sentences = [sentence for sentence, _ in members]
        if place is not None:
            parts.append(_code(lines, *place))
        elif found[begin][1].row and end > begin:
            parts.append(_table(lines, [block.line for _, block in found[begin : end + 1]]))
        else:
            parts.append(_cut(" ".join(sentences)))
    return "\n\n".join(parts)


def _cut(answer: str) -> str:
    return answer if len(answer) <= _LONGEST else f"{answer[:_LONGEST].rpartition(' ')[0]} ..."


def _worth(question: str, sentences: Sequence[str]) -> list[float]:
    """How much each sentence speaks about the question."""
    asked = read_asked(question)
    held = [set(terms(sentence)) & set(asked.terms) for sentence in sentences]
    spread = Counter(term for one in held for term in one)
    worth = [sum(math.log(1.0 + len(sentences) / spread[term]) for term in one) for one in held]
    if asked.quantity:
        # A quantity is answered by a number, also in the sentence behind the one that names the thing.
        return [value + 0.5 * has_number(text) for value, text in zip(worth, sentences, strict=True)]
    return worth


def _around(sentences: Sequence[str], best: int, stops: Sequence[bool]) -> tuple[int, int]:
    """The first and last sentence of an answer: the best, and its neighbours up to a stop, as far as there is room."""
    first = last = best
    room = MAX_CHARS - len(sentences[first])
    while last - first + 1 < MAX_SENTENCES:
        # What follows explains; what comes before is taken when nothing follows.
        following = last + 1 < len(sentences)
        at = last + 1 if following else first - 1
        if at < 0 or len(sentences[at]) > room or stops[at]:
            break
        room -= len(sentences[at])
        first, last = min(first, at), max(last, at)
    return first, last


@dataclass(frozen=True, slots=True)
class _Block:
    """A paragraph, a list item, a row of a table or a line of code, in one piece; `line` is the last of it."""

    text: str
    line: int
    fenced: bool = False
    row: bool = False


def _blocks(lines: Sequence[str], head: str, *, fenced: bool = False, first: int = 1) -> Iterator[_Block]:
    """The blocks of some lines, the first of which is counted as `first` and may lie in code already."""
    names = _cells(head)
    block: list[str] = []
    for number, line in enumerate([*lines, ""], first):
        if _FENCE.match(line):
            fenced = not fenced
            continue
        wrapped = block and (len(block[-1]) >= _WRAPPED or line.lstrip()[:1].islower())
        if block and (fenced or begins_block(line) or not wrapped):
            yield _Block(" ".join(block), number - 1)
            block = []
        if fenced:
            yield _Block(line, number, fenced=True)
        elif line.lstrip().startswith("|"):
            if _RULE.fullmatch(line):
                continue
            cells = _cells(line)
            if not names:
                names = cells
            elif cells != names:
                yield _Block(_row(names, cells), number, row=True)
        elif line.strip() and not _HEADING.match(line):
            names = []
            block.append(BULLET.sub("", line).strip())


def _rows_alike(found: Sequence[tuple[str, _Block]], worth: Sequence[float], best: int) -> tuple[int, int]:
    """The rows around the best one that say as much about the question."""
    first = last = best
    while last + 1 < len(found) and _alike(found, worth, last + 1, best):
        last += 1
    while first > 0 and _alike(found, worth, first - 1, best):
        first -= 1
    return first, last


def _alike(found: Sequence[tuple[str, _Block]], worth: Sequence[float], at: int, best: int) -> bool:
    return found[at][1].row and 0 < worth[best] <= worth[at] + 1e-9


def _place(lines: Sequence[str], block: _Block) -> tuple[int, int] | None:
    """The first and last line of the code that a block is of, without its fences; None outside of code."""
    if not block.fenced:
        return None
    first = last = block.line
    while first > 1 and not _FENCE.match(lines[first - 2]):
        first -= 1
    while last < len(lines) and not _FENCE.match(lines[last]):
        last += 1
    return first, last


def _table(lines: Sequence[str], rows: Sequence[int]) -> str:
    """These lines of a table under its head."""
    head = table_head(lines, rows[0])
    rule = f"|{'---|' * len(_cells(head))}"
    return "\n".join([head.strip(), rule, *(lines[row - 1].strip() for row in rows)])


def _code(lines: Sequence[str], first: int, last: int) -> str:
    opened = first > 1 and _FENCE.match(lines[first - 2])
    return fenced_code(lines[first - 1 : last], lines[first - 2].strip() if opened else "```")


def fenced_code(code: Sequence[str], opening: str = "```") -> str:
    """Lines as a block of code; of a long one the beginning, and how much more there is."""
    more = [f"... {len(code) - _CODE_LINES} more lines"] if len(code) > _CODE_LINES else []
    # A fence inside, as in a docstring, would end the block.
    shown = [_FENCE.sub("    ...", line) for line in code[:_CODE_LINES]]
    return "\n".join([opening, *shown, *more, opening[:3]])


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(row.strip().strip("|"))] if row.strip() else []


def _row(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as it is read out: "Plan Basic: Daily copies 14 days; Monthly copies 3 months."."""
    named = [f"{name} {cell}".strip() for name, cell in zip(names, cells, strict=False) if cell]
    return f"{named[0]}{': ' if named[1:] else ''}{'; '.join(named[1:])}." if named else ""


def _plain(text: str) -> str:
    for pattern, put in _INLINE:
        text = pattern.sub(put, text)
    return " ".join(text.split())
