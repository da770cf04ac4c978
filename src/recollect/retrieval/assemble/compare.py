"""Questions that compare: what is compared, which memory speaks for which side, and the table of it.

Sides are the entities or the periods that the question names, else the words around "and" or "vs", else the groups
that the hits come with (their scopes). Without two sides that something is known of there is no table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from recollect.domain.memory import MemoryType
from recollect.domain.query import ResolvedEntity, TimeRange
from recollect.retrieval.assemble.recalled import Recalled, one_line, table_cell

_ASKS = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison|isons)|contrast|differ(?:s|ed|ences?|ent)?|versus|vs)\b", re.IGNORECASE
)
_STOP = r"(?P<right>[^?!;\n]+?)(?:[?!.;\n]|$|\s(?:in terms of|when it comes to|regarding|for|on|with respect to)\s)"
_SHAPES = tuple(
    re.compile(shape, re.IGNORECASE)
    for shape in (
        rf"\bdifferences?\s+between\s+(?P<left>.+?)\s+(?:and|or|vs\.?|versus)\s+{_STOP}",
        rf"\bcomparison\s+(?:of|between)\s+(?P<left>.+?)\s+(?:and|with|to|vs\.?|versus)\s+{_STOP}",
        rf"\b(?:compare|contrast)\s+(?P<left>.+?)\s+(?:and|with|to|against|vs\.?|versus)\s+{_STOP}",
        rf"(?P<left>[^,?!.;\n]+?)\s+(?:vs\.?|versus|compared\s+(?:to|with))\s+{_STOP}",
        rf"\bhow\s+(?:does|do|did)\s+(?P<left>.+?)\s+differ\s+from\s+{_STOP}",
        rf"\bhow\s+(?:is|are)\s+(?P<left>.+?)\s+different\s+from\s+{_STOP}",
    )
)
_WORD = re.compile(r"\w+")
#: Words that name no side: "the API team" and "api" are the same.
_EMPTY = frozenset(
    "a an the our my your their his her its this that of in on at for to and or is are was were do does did "
    "team teams project projects org user company what how".split()
)
#: A table of more columns can't be read.
MAX_SIDES = 8


def is_comparison(query: str) -> bool:
    """Whether a question asks to compare."""
    return bool(_ASKS.search(query))


def find_sides(query: str) -> tuple[str, ...]:
    """What a question compares, as it is written: ("Postgres", "MySQL") for "compare Postgres and MySQL"."""
    for shape in _SHAPES:
        if found := shape.search(query):
            parts = [*found["left"].split(","), *re.split(r",|\s+and\s+", found["right"])]
            sides = tuple(dict.fromkeys(part.strip(" \t\"'“”") for part in parts if _words(part)))
            if len(sides) > 1:
                return sides[:MAX_SIDES]
    return ()


def split_by_side(
    query: str,
    recalled: Sequence[Recalled],
    *,
    entities: Sequence[ResolvedEntity] = (),
    periods: Sequence[TimeRange] = (),
) -> Mapping[str, Sequence[Recalled]]:
    """The memories by the side they speak for; empty when fewer than two sides have any.

    Each hit's `group` becomes its side. A memory that speaks for several sides, or for none, is left out: it is
    told in the other sections.
    """
    if not is_comparison(query):
        return {}
    in_order = sorted(entities, key=lambda entity: query.find(entity.mention_text))
    named = {entity.name: {_folded(entity.name), _folded(entity.mention_text)} for entity in in_order}
    written = {side: {_folded(side)} for side in find_sides(query)}
    dated = {period.phrase: period for period in periods}
    ways = (
        _assign(recalled, dated, lambda item: {name for name in dated if dated[name].contains(item.when)}),
        _assign(recalled, named, _by_name(named)),
        _assign(recalled, written, _by_name(written)),
    )
    best = max(ways, key=lambda sides: sum(map(len, sides.values())) if len(sides) > 1 else 0)
    if max(len(dated), len(named), len(written)) < 2:
        # "compare patterns across teams": the question names nothing, so the hits' own groups are the sides.
        best = _assign(recalled, sorted({item.hit.group for item in recalled}), lambda item: {item.hit.group})
    return best if len(best) > 1 else {}


def _assign(
    recalled: Sequence[Recalled], names: Iterable[str], sides_of: Callable[[Recalled], set[str]]
) -> dict[str, list[Recalled]]:
    found: dict[str, list[Recalled]] = {name: [] for name in names}
    for item in recalled:
        if len(sides := sides_of(item)) == 1:
            side = sides.pop()
            found[side].append(replace(item, hit=replace(item.hit, group=side)))
    known = {name: items for name, items in found.items() if items}
    return dict(list(known.items())[:MAX_SIDES])


def _by_name(names: Mapping[str, set[frozenset[str]]]) -> Callable[[Recalled], set[str]]:
    every = [form for forms in names.values() for form in forms]
    # "prices of Acme" and "prices of Zenith" differ in the names only; what all sides share tells nothing.
    shared = frozenset.intersection(*every) if len(names) > 1 else frozenset()

    def sides_of(item: Recalled) -> set[str]:
        memory = item.memory
        parts = (memory.text, *memory.entities, memory.subject or "", memory.speaker or "", memory.scope)
        said = _words(" ".join(parts))
        return {
            side for side, forms in names.items() if any(((form - shared) or form) <= said for form in forms)
        }

    return sides_of


def _folded(text: str) -> frozenset[str]:
    return frozenset(_words(text) - _EMPTY) or frozenset(_words(text))


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def comparison_table(sides: Mapping[str, Sequence[Recalled]], tell: Callable[[Recalled], str]) -> str:
    """A Markdown table with a column per side. Facts of a predicate share a row; what most sides have is first."""
    rows: list[list[str]] = []
    columns = list(sides.values())
    having = Counter(predicate for items in columns for predicate in dict.fromkeys(map(_predicate, items)))
    for predicate, _ in having.most_common():
        of_side = [[tell(item) for item in items if _predicate(item) == predicate] for items in columns]
        rows += [list(row) for row in zip_longest(*of_side, fillvalue="")]
    lines = [
        [table_cell(one_line(name)) for name in sides],
        ["---"] * len(sides),
        *([table_cell(cell) for cell in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _predicate(item: Recalled) -> str:
    return (item.memory.predicate or "").casefold() if item.type is MemoryType.SEMANTIC else ""
