"""What a question asks of a declared database: which types, rows by number, filters and measures it names.

Pure: words in, a `Request` out. The words of types and measures come from the ontology; of the language itself only
plural and verb endings, a few words that ask for counting, and those before a number are known here. Names of
rows ("Acme") are not looked for here, they have been resolved before or are looked up in `lookups.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from recollect.domain.ontology import EntityType, Measure, Ontology

#: Of a question that is longer, only the beginning is looked at: nobody asks a database in an essay.
MAX_WORDS = 400
#: Words of a measure may stand apart by so many others: "total value of all orders".
_GAP_WORDS = 4
_WORD = re.compile(r"\w+(?:[-'’/]\w+)*")
_COUNTING = re.compile(r"\b(?:how many|number of|count of|count|total number|total)\b")
_BY = ("by", "per", "each", "every")
#: A number after a type's word: "invoice #123", "order no. INV-7", "order:12345"; but not "order 3 days ago".
_NUMBER = (
    r"(?:\s*[#:№]\s*|\s+(?:(?:no\.?|nr\.?|number|num\.?|id|ref\.?)\s*[#:№]?\s*)?)"
    r"(?P<number>[^\W_]*[-/.]?\d[\w./-]*)"
    r"(?!\s+(?:second|minute|hour|day|week|month|quarter|year|time)s?\b)(?![\w])"
)
#: Scripts written without blanks; words of such a script are found anywhere in the question.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedRow:
    """A row named by its type and number, as in "invoice #123"."""

    type: EntityType
    number: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedMeasure:
    """A measure that a question asks for; `group_by` are the columns it wants it split by."""

    measure: Measure
    group_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A question as far as the ontology understands it."""

    types: tuple[EntityType, ...] = ()
    numbered: tuple[NumberedRow, ...] = ()
    measures: tuple[AskedMeasure, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()  # (type, word)

    def filter_words(self, type_name: str) -> tuple[str, ...]:
        """The adjectives that restrict a type's rows."""
        return tuple(word for owner, word in self.filters if owner == type_name)


def read_question(question: str, ontology: Ontology) -> Request:
    """What a question asks for."""
    words = tuple(words_of(question))
    text = " ".join(words)
    types = tuple(t for t in ontology.types.values() if any(_finds(words, word) for word in type_words(t)))
    filters = tuple(
        (declared.name, word) for declared in types for word in declared.filters if _finds(words, word)
    )
    measures = _measures(words, ontology, types)
    if not measures and _COUNTING.search(text):
        measures = tuple(_plain_count(declared) for declared in types[:3])
    return Request(
        types=types, numbered=tuple(_numbered(question, ontology)), measures=measures, filters=filters
    )


def unapplied(question: str, ontology: Ontology, known: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """What restricts the rows of a type in a question and is not declared: "unpaid" invoices, customers "in food".

    Each comes with the type's plural. `known` are texts that are understood otherwise: the names of rows, the period.
    """
    request = read_question(question, ontology)
    declared = [phrase for kind in ontology.types.values() for phrase in (*type_words(kind), *kind.filters)]
    for measure in request.measures:
        declared += [*measure.measure.words, *(column.replace("_", " ") for column in measure.group_by)]
    clear = {form for phrase in declared for word in words_of(phrase) for form in _forms(word)}
    clear |= _NOT_NAMES | _EVERYDAY | {word for text in known for word in words_of(text)}
    words = words_of(question)
    qualifiers: dict[tuple[str, str], None] = {}
    for kind in request.types:
        for phrase in type_words(kind):
            for start in _places(words, words_of(phrase)):
                end = start + len(words_of(phrase))
                for qualifier in (_before(words[:start], clear), _behind(words[end:], clear)):
                    if qualifier:
                        qualifiers[kind.plural, qualifier] = None
    return tuple(qualifiers)


def _before(words: Sequence[str], clear: frozenset[str] | set[str]) -> str:
    """The adjectives that a noun follows."""
    start = len(words)
    while start and words[start - 1] not in clear and not words[start - 1].isdigit():
        start -= 1
    return " ".join(words[start:][-_MAX_QUALIFIER_WORDS:])


def _behind(words: Sequence[str], clear: frozenset[str] | set[str]) -> str:
    """What limits the noun before: "in food", "are overdue", "without a contract"."""
    if not words or words[0] not in _LIMITING:
        return ""
    end = 1
    while end < len(words) and words[end] in _LIMITING | _SMALL:
        end += 1
    first = end
    while end < len(words) and end - first < _MAX_QUALIFIER_WORDS and words[end] not in clear:
        end += 1
    return " ".join(words[words[0] in _BEING : end]) if end > first else ""


def words_of(text: str) -> list[str]:
    """The words of a text, folded; a possessive's ending is dropped."""
    words = []
    for match in _WORD.finditer(text[: MAX_WORDS * 20].casefold()):
        word = re.sub(r"['’]s?$", "", match.group().replace("’", "'"))
        if word:
            words.append(word)
        if len(words) == MAX_WORDS:
            break
    return words


def type_words(declared: EntityType) -> tuple[str, ...]:
    """What a type is called in questions."""
    return (declared.name.replace("_", " "), declared.plural, *declared.words)


def _forms(word: str) -> frozenset[str]:
    """A word with the endings it takes as a noun or a verb."""
    stem = word[:-1] if word.endswith("e") else word
    many = f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"
    singular = {word[:-1]} if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else set()
    if word.endswith("ies") and len(word) > 4:
        singular.add(f"{word[:-3]}y")
    return frozenset({word, many, f"{word}es", f"{stem}ed", f"{stem}ing", *singular})


def _finds(words: Sequence[str], phrase: str) -> bool:
    """Whether the phrase stands in the words, its last word in any form."""
    return next(_places(words, words_of(phrase)), None) is not None or (
        _UNSPACED.search(phrase) is not None and phrase.casefold() in " ".join(words)
    )


def _places(words: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    if not wanted:
        return
    forms = [_forms(word) for word in wanted]
    for start in range(len(words) - len(wanted) + 1):
        if all(words[start + offset] in form for offset, form in enumerate(forms)):
            yield start


def _measures(
    words: Sequence[str], ontology: Ontology, types: Sequence[EntityType]
) -> tuple[AskedMeasure, ...]:
    """The measures whose words stand near each other; of two, one of which says more, that one."""
    matched: dict[str, frozenset[int]] = {}
    for measure in ontology.measures.values():
        places = [near for phrase in measure.words if (near := _near(words, words_of(phrase)))]
        if not places and _groups(words, measure) and any(t.name == measure.type for t in types):
            places = [frozenset(range(len(words)))]
        if places:
            matched[measure.name] = max(places, key=len)
    return tuple(
        AskedMeasure(measure=ontology.measures[name], group_by=_groups(words, ontology.measures[name]))
        for name, places in matched.items()
        if not any(places < other for other in matched.values())
    )


def _near(words: Sequence[str], wanted: Sequence[str]) -> frozenset[int]:
    """Where all wanted words stand close together, in any order; empty if they do not."""
    forms = [_forms(word) for word in wanted]
    if not forms:
        return frozenset()
    span = len(wanted) + _GAP_WORDS
    for start, word in enumerate(words):
        if not any(word in form for form in forms):
            continue
        window = range(start, min(start + span, len(words)))
        places = {next((at for at in window if words[at] in form), -1) for form in forms}
        if -1 not in places and len(places) == len(forms):
            return frozenset(places)
    return frozenset()


def _groups(words: Sequence[str], measure: Measure) -> tuple[str, ...]:
    """The columns a question wants a measure split by, among those declared."""
    return tuple(
        column
        for column in measure.group_by
        if any(list(_places(words, [by, *words_of(column.replace("_", " "))])) for by in _BY)
    )


def _plain_count(declared: EntityType) -> AskedMeasure:
    measure = Measure(name=f"number of {declared.plural}", type=declared.name, aggregate="count")
    return AskedMeasure(measure=measure)


def _numbered(question: str, ontology: Ontology) -> Iterable[NumberedRow]:
    """Rows named by number, each once. Plurals name no row: "orders 2024" is a year's."""
    seen = set()
    text = question[: MAX_WORDS * 20]
    for declared in ontology.types.values():
        for word in (declared.name.replace("_", " "), *declared.words):
            start = r"(?<!\w)" if not _UNSPACED.search(word) else ""
            pattern = start + r"\s+".join(map(re.escape, word.split())) + _NUMBER
            for match in re.finditer(pattern, text, re.IGNORECASE):
                number = match["number"].rstrip("./-")
                if (declared.name, number) not in seen:
                    seen.add((declared.name, number))
                    yield NumberedRow(type=declared, number=number, text=f"{word} {number}")
        if len(seen) >= 5:
            return


def candidate_names(question: str) -> list[str]:
    """What may be the name of a row, for questions nobody resolved: quoted words, and capitalised ones.

    A capital at the beginning says nothing, unless another follows.
    """
    text = question[: MAX_WORDS * 20]
    names = re.findall(r"[\"“„«]([^\"“”„«»]{2,80})[\"”»]", text)
    for match in _CAPITALISED.finditer(text):
        words = re.sub(r"['’]s?$", "", match.group().rstrip(".,?!")).split()
        at_start = not text[: match.start()].strip()
        while words and re.sub(r"['’].*", "", words[0]).casefold() in _NOT_NAMES:
            words.pop(0)
            at_start = False
        if len(words) > 1 or (words and (not at_start or match.group().endswith(("'s", "’s")))):
            names.append(" ".join(words))
    return list(dict.fromkeys(names))[:8]


def spelled_names(question: str, ontology: Ontology) -> list[str]:
    """Runs of up to four words that may be a whole label, however they are written: "orders of acme corporation"."""
    words = words_of(question)[:60]
    declared = [word for kind in ontology.types.values() for word in (*type_words(kind), *kind.filters)]
    known = {form for phrase in declared for word in words_of(phrase) for form in _forms(word)}
    names = []
    for start, first in enumerate(words):
        for end in range(start + 1, min(start + 4, len(words)) + 1):
            edges = {first, words[end - 1]}
            alone = end == start + 1
            if edges & _NOT_NAMES or (alone and (first in known or len(first) < 3 or first.isdigit())):
                continue
            names.append(" ".join(words[start:end]))
    return list(dict.fromkeys(names))[:120]


_CAPITAL = r"[A-ZÀ-ÞΑ-ΩА-Я][\w&.'’-]*"
_CAPITALISED = re.compile(rf"{_CAPITAL}(?:\s+(?:(?:of|and|&|the)\s+)?{_CAPITAL})*")
_NOT_NAMES = frozenset(
    "what which who whose when where why how is are was were be been do does did can could should would will has have "
    "had show list tell give find get i we me us my our you your they them their it its the a an this that these those "
    "and or not no in on of for to from by with about since until between before after there any all some many much "
    "most more few each every number count total average sum last next first new recent latest today yesterday now "
    "day week month quarter year days weeks months years ago".split()
)
#: Words after a noun that begin what limits it, and small ones between those and the limit itself.
_BEING = frozenset("are is were was".split())
_LIMITING = _BEING | frozenset(
    "in with without from near over under above below worth for by per that who which at".split()
)
_SMALL = frozenset("a an the our not no more less than".split())
#: Words around a question that limit nothing.
_EVERYDAY = frozenset(
    "please currently exist exists existing database system altogether overall right moment far know known look like "
    "going doing down up happened happening".split()
)
#: A longer run of words is no qualifier any more.
_MAX_QUALIFIER_WORDS = 3
