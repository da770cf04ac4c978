"""Words of a query with their forms: `orders` also means `order`, `ordered` and `ordering`.

The index keeps words as they are written, so forms are made here and looked up. A made form that is no word costs a
look and finds nothing. English endings only; names and words of other languages keep their plural `s` at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from recollect.codebase.query import Segments
from recollect.text.code_terms import terms_of

#: Another form of a word counts a little less than the word itself.
OTHER_FORM = 0.8
#: How soon repeating a word in the query stops to matter, as BM25's k3.
_REPEAT = 1.2
#: Words of one query: those in a title and in sentences come first, then what is pasted most often.
MAX_WORDS = 250
SEGMENTS = ("title", "prose", "code", "trace")
#: No endings are taken off shorter words: `is`, `was`, `css`.
_SHORT = 4
#: Words that hold sentences together; in a small tree they would look rare.
_FILLERS = frozenset(
    """
    a an the it its is are was were be been being am do does did done doing has have had having i you he she we they me
    my your our their them this that these those there here and or but nor so if then else than as at by for from in
    into of on onto to up with without within about after before between over under again also just only very too not no
    yes can cannot could should would may might must will shall what which who whom whose when where why how all any
    both each few more most other some such own same because while until during via per etc eg ie get gets got seem
    seems please think like want wants
    """.split()
)
_ENDINGS = ("", "s", "es", "ed", "ing", "er", "ion", "or")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of the query: its forms, each with a factor, and its weight in each of `SEGMENTS`."""

    text: str
    forms: tuple[tuple[str, float], ...]
    weights: tuple[float, ...]


def words_of(segments: Segments, *, limit: int = MAX_WORDS) -> list[Word]:
    """The words of a query; forms of one word are one, fillers are none. Those of the title come first."""
    counts = [Counter(terms_of(getattr(segments, name))) for name in SEGMENTS]
    every: dict[str, None] = {}
    for counted in counts:
        every.update(dict.fromkeys(term for term in counted if term not in _FILLERS))
    groups: list[list[str]] = []
    by_form: dict[str, int] = {}
    for term in sorted(every, key=lambda term: (len(term), term)):
        number = by_form.get(term)
        if number is None:
            number = next((by_form[form] for form in forms_of(term) if form in by_form), None)
        if number is None:
            number = len(groups)
            groups.append([])
            for form in forms_of(term):
                by_form.setdefault(form, number)
        by_form[term] = number
        groups[number].append(term)
    words = [_word(group, counts) for group in groups]
    words.sort(key=lambda word: tuple(-weight for weight in word.weights))
    return words[:limit]


def _word(group: Sequence[str], counts: Sequence[Counter[str]]) -> Word:
    forms = dict.fromkeys((form for term in group for form in forms_of(term)), OTHER_FORM)
    forms.update(dict.fromkeys(group, 1.0))
    weights = []
    for counted in counts:
        times = sum(counted[term] for term in group)
        weights.append(times * (_REPEAT + 1) / (times + _REPEAT))
    return Word(text=group[0], forms=tuple(sorted(forms.items())), weights=tuple(weights))


@lru_cache(maxsize=20_000)
def forms_of(term: str) -> tuple[str, ...]:
    """The forms a word may be written in, itself among them."""
    if len(term) < _SHORT or not term.isascii() or not term.isalpha():
        return (term, f"{term}s") if term.isalpha() else (term,)
    found = {term}
    for stem in _stems(term):
        found.update(stem + ending for ending in _ENDINGS)
        if stem.endswith("e"):
            found.update(
                (f"{stem}d", f"{stem}r", *(stem[:-1] + ending for ending in ("ing", "ation", "ion", "or")))
            )
        if stem.endswith("y"):
            found.add(f"{stem[:-1]}ies")
    return tuple(sorted(form for form in found if len(form) > 2))


def _stems(term: str) -> set[str]:
    stems = {term}
    if term.endswith("ies"):
        stems.add(term[:-3] + "y")
    if term.endswith("es"):
        stems.update((term[:-2], term[:-1]))
    elif term.endswith("s") and not term.endswith("ss"):
        stems.add(term[:-1])
    for ending, shortest in (("ing", 6), ("ed", 5), ("er", 6), ("or", 6)):
        if term.endswith(ending) and len(term) >= shortest:
            bare = term[: -len(ending)]
            stems.update((bare, bare + "e"))
            if len(bare) > 3 and bare[-1] == bare[-2]:
                stems.add(bare[:-1])
    if term.endswith("ation") and len(term) > 7:
        stems.update((term[:-5], term[:-5] + "e", term[:-3] + "e"))
    elif term.endswith("ion") and len(term) > 6:
        stems.update((term[:-3], term[:-3] + "e"))
    if term.endswith("ly") and len(term) > 5:
        stems.add(term[:-2])
    return stems
