"""Words that exclude each other where one is asked for: bedroom and kitchen, staging and production, mother and father.

`families.txt` lists them. English; a word that is in no family says nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import resources

#: The number of a family in the list, and its words.
Kinds = dict[int, frozenset[str]]
#: How many words the longest entry has.
_LONGEST = 3
_POSSESSIVE = re.compile(r"['’]s\b")
_WORD = re.compile(r"[\w-]+")


@cache
def families() -> tuple[tuple[str, ...], ...]:
    """Every family, as a tuple of its words in the singular; those that mean the same are joined by a stroke."""
    text = (resources.files(__package__) / "families.txt").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("//"))
    return tuple(tuple(word.strip() for word in line.split(",")) for line in lines)


@lru_cache(maxsize=128)
def kinds_in(text: str) -> Kinds:
    """The words of each family that a text names, in any number; of those that overlap the longer, from the left."""
    owners = _owners()
    words = _words(text)
    found: dict[int, set[str]] = {}
    place = 0
    while place < len(words):
        for length in range(_LONGEST, 0, -1):
            named = owners.get(" ".join(words[place : place + length]))
            if named is not None:
                for family, word in named:
                    found.setdefault(family, set()).add(word)
                break
        place += length
    return {family: frozenset(named) for family, named in found.items()}


@cache
def _owners() -> dict[str, list[tuple[int, str]]]:
    """For each form of a word, the families that have it, and the word as it is listed."""
    owners: dict[str, list[tuple[int, str]]] = {}
    for number, family in enumerate(families()):
        for word in family:
            for form in itertools.chain.from_iterable(map(_forms, word.split("/"))):
                owners.setdefault(" ".join(_words(form)), []).append((number, word))
    return owners


def _words(text: str) -> list[str]:
    """The words of a text, without the "s" of an owner."""
    return _WORD.findall(_POSSESSIVE.sub("", text.casefold()))


def _forms(word: str) -> Iterator[str]:
    """A word in the singular and in the plural."""
    yield word
    if word.endswith("y") and word[-2] not in "aeiou":
        yield f"{word[:-1]}ies"
    yield f"{word}es" if word.endswith(("s", "x", "ch", "sh", "o")) else f"{word}s"
