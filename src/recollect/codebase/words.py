"""What the words of a question say: their forms, how much a line speaks about them, whether they mean several files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from recollect.codebase.query import CodeQuery, Segments
from recollect.text.terms import code_terms, stem_english

#: Words of questions that say nothing about code.
_COMMON = frozenset(
    """
    a about after all also an and any are as at be because been before being but by can could did do does doing done
    for from get gets had has have here how i if in into is it its just like made make me my need not of off on one or
    our out please should show so some such tell than that the their them then there these they this those through to
    up use used using was we were what when where which while who why will with work works would you your
    """.split()
)
#: Questions about who uses what.
_USES = re.compile(
    r"""(?ix)
    \b(?:
        (?:who|what|which\ \w+|where)\b.{0,40}\b(?:call|use|import|reference|inherit|implement|override)s?\b
      | (?:called|used|imported|referenced|inherited|implemented|overridden)\ (?:by|from)\b
      | where\ (?:is|are)\ .{1,60}\ (?:called|used|imported|referenced)\b
      | usages?\b | uses\ of\b | callers?\b | call\ sites?
    )"""
)
#: Other questions whose answer lies in several files at once.
_ACROSS = re.compile(
    r"""(?ix)
    \b(?:
        callees?\b | call\ (?:graph|chain|stack|tree|hierarchy)
      | depend(?:s|ed|ency|encies|ent)?\b | impact\b | affect(?:s|ed)?\b
      | trac(?:e|ing)\b | flows?\ (?:from|through|into)\b | end[-\ ]to[-\ ]end
      | across\ (?:\w+\ ){0,2}(?:files|modules|packages|services|the\ codebase)
      | (?:between|among)\ .{0,40}\ and\b
      | architecture | layers?\b | circular
      | everywhere | all\ (?:places|files|uses|usages|occurrences)
    )"""
)
#: Questions about a way through the code: from what sets something off to what comes of it.
_TRACED = re.compile(
    r"""(?ix)
    \b(?:
        what\ (?:all\ )?(?:happens|runs|goes\ on)\b
      | what\ is\ (?:done|called|run)\ (?:when|after|before|between|with)\b
      | in\ (?:what|which)\ order | in\ order,? | step\ by\ step | one\ after\ (?:the\ )?(?:other|another)
      | trac(?:e|es|ing)\b | call\ (?:chain|path|flow|sequence) | control\ flow | life\ ?cycle
      | (?:which|what)\ (?:functions|methods|code|calls)\b.{0,60}\b(?:pass|run|go|decide|involved)
      | (?:end|ends|ended|ending)\ up\b | on\ (?:its|the|their)\ way\b | all\ the\ way\b
      | how\ (?:do|does|is|are|can|did)\b.{1,120}\b(?:becomes?|turned\ into|get\ (?:in)?to|get\ back|sent\ again|
          gets?\ remembered|reach(?:es)?|travels?|propagate\w*|find\ (?:its|their)\ way)\b
      | from\b.{3,80}\b(?:to|until|till)\b.{0,80}\b(?:being|going|sent|called|printed|returned|returning|written
          |shown|loaded|stored|functions?)\b
      | (?:starting|beginning)\ (?:from|with|at)\b
    )"""
)
#: Lines of evidence for a place.
WINDOW_LINES = 12
#: A name in a question says more than a word.
_NAME_WEIGHT = 3.0


def weights_of(query: CodeQuery) -> dict[str, float]:
    """What to look for in a line: the stems of the question's words, and of the names in it for more."""
    words = {_stem(word): 1.0 for word in query.words if word not in _COMMON}
    for name in (*query.identifiers, *query.dotted, *query.hinted_names):
        for stem in stems_of(name):
            words[stem] = _NAME_WEIGHT
    return words


def worth_of(text: str, words: Mapping[str, float]) -> float:
    """How much a text says of the words."""
    return sum(words.get(stem, 0.0) for stem in stems_of(text))


def stems_of(text: str) -> set[str]:
    """The stems of a text's words; of an identifier, those of its parts."""
    return {_stem(term) for term in code_terms(text) if term not in _COMMON}


def best_window(
    lines: Sequence[str], words: Mapping[str, float], *, most: int = WINDOW_LINES
) -> tuple[int, int, float]:
    """The run of lines that speaks most about the words (stems), from 0, both ends; and how much that is."""
    if not lines:
        return 0, 0, 0.0
    scores = [worth_of(line, words) for line in lines]
    best, at = -1.0, 0
    for first in range(max(1, len(lines) - most + 1)):
        window = sum(scores[first : first + most])
        if window > best + 1e-9:
            best, at = window, first
    last = min(at + most, len(lines)) - 1
    while last > at and not scores[last]:
        last -= 1
    while at < last and not scores[at]:
        at += 1
    return at, last, best


def asks_for_uses(question: str) -> bool:
    """Whether a question is about who uses something."""
    return _USES.search(question) is not None


def asks_for_path(question: str) -> bool:
    """Whether a question follows something through the code: what happens when, how does it end up there."""
    return _TRACED.search(question) is not None


def is_across(question: str) -> bool:
    """Whether the answer to a question lies in several files at once."""
    return asks_for_uses(question) or _ACROSS.search(question) is not None


_stem = lru_cache(maxsize=50_000)(stem_english)
#: Another form of a word counts a little less than the word itself.
OTHER_FORM = 0.8
#: How soon repeating a word in the query stops to matter, as BM25's k3.
_REPEAT = 1.2
#: Words of a query: those in a title and in sentences come first, then what is pasted most often.
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
    """The words of a query; forms of a word count as that word, fillers not at all. Those of the title come first."""
    counts = [Counter(code_terms(getattr(segments, name))) for name in SEGMENTS]
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
    forms = {term}
    for stem in _stems(term):
        forms.update(stem + ending for ending in _ENDINGS)
        if stem.endswith("e"):
            forms.update(
                (f"{stem}d", f"{stem}r", *(stem[:-1] + ending for ending in ("ing", "ation", "ion", "or")))
            )
        if stem.endswith("y"):
            forms.add(f"{stem[:-1]}ies")
    return tuple(sorted(form for form in forms if len(form) > 2))


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
