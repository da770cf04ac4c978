"""Questions about the neighbour of what was noted: the wifi password at home, when only the cabin's was told.

A memory that has everything of a question but its one telling word is the nearest miss there is, and people rarely
write such questions down. They are made of those that have an answer: one word of the question is exchanged for
another of its family (`recollect.text.families`) or another thing of the same world, or whose thing it is for
somebody else's.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from examples import SEVERAL, Example

from recollect.text.families import families, kinds_in

#: Whose thing it may be where nobody else speaks.
SOMEBODY = ["Bruno", "Carmen", "Esther", "Farid", "Greta", "Hugo"]
#: So many questions are made of one that has an answer.
MOST = 3
_THING = re.compile(
    r"\b(the|my|our|his|her|their|an?|for|of|in|at|to|with|\w+'s) ([a-z]{4,})\b(?! [a-z]{4,}s?\b)"
)
_NO_THING = frozenset(
    "time times moment week weeks month months year years days hour hours last next first second third same other most "
    "name number kind sort type part parts rest thing things people person today tomorrow yesterday tonight morning "
    "evening afternoon weekend beginning start that this these those there them when what which where whom whose have "
    "been does with from than then much many more well good best just only once still again about after before during "
    "since until each every everything anything something nothing happen happened work plan plans idea ideas answer "
    "question news reason amount cost costs price total current latest whole case place".split()
)
_FIRST_PERSON = re.compile(r"\b(?:i|me|mine|we|us|our|ours|i'm|i've|i'd)\b", re.IGNORECASE)
_MY = re.compile(r"\bmy\b", re.IGNORECASE)


def about_siblings(
    example: Example, names: list[str], things: dict[str, list[str]], draw: random.Random
) -> list[Example]:
    """What is made of a question that one memory answers: others that it does not answer.

    `names` are people to choose from, `things` what is asked about in each world (`things_of`).
    """
    if example.source.rsplit(":", 1)[-1] in SEVERAL or not example.source.startswith("world"):
        return []
    answers = [
        statement for statement, label in zip(example.statements, example.labels, strict=True) if label >= 0.8
    ]
    if not answers:
        return []
    made = [
        *_of_another_kind(example, answers, draw),
        *_of_another_thing(example, answers, things, draw),
        *_of_somebody_else(example, answers, names, draw),
    ]
    return draw.sample(made, min(MOST, len(made)))


def things_of(examples: Iterable[Example]) -> dict[str, list[str]]:
    """What the questions of a world are about: the words behind an article or an owner, by the world's name."""
    found: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        if example.source.startswith("world"):
            found[_world(example)].update(word for _, word in _things(example.question))
    return {world: sorted(words) for world, words in found.items()}


def _of_another_kind(example: Example, answers: list[str], draw: random.Random) -> Iterator[Example]:
    for family, named in kinds_in(example.question).items():
        telling = [answer for answer in answers if kinds_in(answer).get(family) == named]
        known = {word for statement in example.statements for word in kinds_in(statement).get(family, ())}
        others = [word for word in families()[family] if word not in known]
        if len(named) == 1 and telling and others:
            (word,) = named
            other = draw.choice(others).split("/")[0]
            question = _exchanged(example.question, word, other)
            yield Example("sibling", question, tuple(telling[:2]), (0.0,) * len(telling[:2]))
            yield _contrast(example, telling[0], _exchanged(telling[0], word, other), draw)


def _of_another_thing(
    example: Example, answers: list[str], things: dict[str, list[str]], draw: random.Random
) -> Iterator[Example]:
    """The same asked of another thing of the same world, which no statement at hand speaks of."""
    told = " ".join(example.statements).casefold()
    others = [word for word in things.get(_world(example), ()) if word[:4] not in told]
    for _, word in _things(example.question):
        telling = [answer for answer in answers if re.search(rf"\b{word}\b", answer, re.IGNORECASE)]
        if telling and others:
            other = draw.choice(others)
            question = _exchanged(example.question, word, other)
            yield Example("thing", question, tuple(telling[:2]), (0.0,) * len(telling[:2]))
            yield _contrast(example, telling[0], _exchanged(telling[0], word, other), draw)


def _contrast(example: Example, answer: str, changed: str, draw: random.Random) -> Example:
    """A question with its answer, the same said of something else, and what does not answer anyway."""
    wrong = [text for text, label in zip(example.statements, example.labels, strict=True) if label == 0]
    rest = draw.sample(wrong, min(2, len(wrong)))
    return Example("contrast", example.question, (answer, changed, *rest), (1.0, 0.0) + (0.0,) * len(rest))


def _things(question: str) -> list[tuple[str, str]]:
    return [found for found in _THING.findall(question) if found[1] not in _NO_THING]


def _world(example: Example) -> str:
    return example.source.split(":")[1]


def _of_somebody_else(
    example: Example, answers: list[str], names: list[str], draw: random.Random
) -> Iterator[Example]:
    question = example.question
    own = [answer for answer in answers if answer.startswith(("I, ", "I: ")) and _MY.search(answer)]
    if own and len(_MY.findall(question)) == 1 and not _FIRST_PERSON.search(question):
        name = draw.choice(names or SOMEBODY)
        if not any(name in answer for answer in own):
            changed = _MY.sub(f"{name}'s", question)
            changed = changed[0].upper() + changed[1:]
            yield Example("owner", changed, tuple(own[:2]), (0.0,) * len(own[:2]))
    for name in names:
        told = [answer for answer in answers if answer.startswith(f"{name}, ") and _MY.search(answer)]
        if told and question.count(f"{name}'s ") == 1 and not _FIRST_PERSON.search(question):
            yield Example(
                "owner", question.replace(f"{name}'s ", "my "), tuple(told[:2]), (0.0,) * len(told[:2])
            )
            return


def _exchanged(text: str, word: str, other: str) -> str:
    """A text with another word in place of one, or of those that mean the same."""

    def put(match: re.Match[str]) -> str:
        return other.capitalize() if match[0][0].isupper() and word[0].islower() else other

    forms = "|".join(map(re.escape, word.split("/")))
    return re.sub(rf"\b(?:{forms})\b", put, text, flags=re.IGNORECASE)
