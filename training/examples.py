"""What the judge learns from: questions, each with memories that answer it and others that nearly do.

Two sources. `worlds/` are ours, written for this: the answer, the outdated value, the same attribute of somebody else,
another attribute of the same person, and questions that nothing answers. The open question sets (`--answers`, see the
model card) bring breadth: passages that hold the answer and passages of the same text that do not.

A label is how much a memory answers: 1 it does, 0 it does not; an outdated value still answers (0.8: which of two is
newer is decided later, by their dates), and what is merely fair to show beside the answer gets 0.2.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from worlds import visible

from recollect.providers.judge.model import statement

OUTDATED, RELATED = 0.8, 0.2
#: Of the memories nearest to a question so many are negatives, and so many others; each epoch draws some of them.
HARD, OTHERS = 14, 3
#: So many that answer are shown at once, and so many that do not.
RIGHT, SHOWN = 6, 5
SEVERAL = frozenset({"list", "count", "compare"})
#: The open sets whose answers stand in one short text; the rest ask for more context than a memory has.
OPEN = frozenset(
    "squad2_dev squad11_dev squadshifts_reddit squadshifts_amazon_reviews squadshifts_new_wiki friendsqa molweni "
    "hotpotqa selqa tweetqa qamr sgd timeqa adversarialqa disflqa qed".split()
)
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_SPEAKER = re.compile(r"(\w+), [A-Z][a-z]{2} \d{4}: ")

Embed = Callable[[list[str]], Any]
Read = Callable[[str, list[str]], Any]


@dataclass(frozen=True, slots=True)
class Example:
    """One question with the statements that are judged for it."""

    source: str
    question: str
    statements: tuple[str, ...]
    labels: tuple[float, ...]


def from_world(
    world: dict[str, Any],
    *,
    embed: Embed,
    embed_queries: Embed,
    read: Read | None = None,
    seed: int = 0,
    every: bool = False,
) -> list[Example]:
    """A world's questions with what answers them and what is nearest to doing so; `every`: with all that is visible.

    `read` is an earlier judge: what it takes for answers comes first among the near misses.
    """
    draw = random.Random(seed)
    items, questions = world["items"], world["questions"]
    place_of = {item["key"]: place for place, item in enumerate(items)}
    vectors = embed([i["text"] for i in items])
    cosines = embed_queries([q["question"] for q in questions]) @ vectors.T
    names = sorted({item["speaker"] for item in items if item.get("speaker") not in (None, "Assistant")})
    found = []
    for question, row in zip(questions, cosines, strict=True):
        seen = visible(world, question["as"])
        labels = {place_of[key]: RELATED for key in question.get("related", [])}
        labels |= {place_of[key]: OUTDATED for key in question.get("stale", [])}
        labels |= {place_of[key]: 1.0 for key in question["answers"]}
        rest = sorted((place for place in seen if place not in labels), key=lambda place: -row[place])
        if not every:
            rest = rest[:HARD] + draw.sample(rest[HARD:], min(OTHERS, len(rest[HARD:])))
        if read is not None:
            near = read(
                question["question"], [said(items, place, asker=question["as"]) for place in rest[:HARD]]
            )
            rest = [*(rest[place] for place in np.argsort(-near)), *rest[HARD:]]
        places = [*labels, *rest]
        shown = [said(items, place, asker=question["as"]) for place in places]
        values = [labels.get(place, 0.0) for place in places]
        text = question["question"]
        found.append(Example(f"world:{world['name']}:{question['kind']}", text, tuple(shown), tuple(values)))
        swapped = _about_somebody_else(text, names, draw)
        if not every and swapped is not None and labels and question["kind"] not in SEVERAL:
            best = [
                said(items, place, asker=question["as"]) for place, value in labels.items() if value >= 0.8
            ]
            best = [one for one in best if swapped[1] in one and swapped[2] not in one]
            if best:
                found.append(Example("swapped", swapped[0], tuple(best), (0.0,) * len(best)))
    return found


def sampled(example: Example, draw: random.Random) -> Example:
    """What answers, some of what nearly does, and one of the others: another choice each time."""
    right = [place for place, label in enumerate(example.labels) if label > 0]
    wrong = [place for place, label in enumerate(example.labels) if label == 0]
    if len(wrong) >= SHOWN - 1 + OTHERS:
        near, others = wrong[:-OTHERS], wrong[-OTHERS:]
        weights = [1 / (2 + rank) for rank in range(len(near))]
        chosen: set[int] = set()
        while len(chosen) < SHOWN - 1:
            chosen.add(draw.choices(near, weights)[0])
        wrong = [*sorted(chosen), draw.choice(others)]
    places = [*draw.sample(right, min(len(right), RIGHT)), *wrong]
    return Example(
        example.source,
        example.question,
        tuple(example.statements[place] for place in places),
        tuple(example.labels[place] for place in places),
    )


def speakers(example: Example) -> set[str]:
    """Who speaks in it, by name."""
    heads = (_SPEAKER.match(statement) for statement in example.statements)
    return {head[1] for head in heads if head and head[1] not in {"I", "Assistant"}}


def renamed(example: Example, names: list[str], draw: random.Random) -> Example:
    """The same under other names, half of the time, so that it is not names that are learned."""
    own = speakers(example)
    if not own or not example.source.startswith("world") or draw.random() < 0.5:
        return example
    new = dict(zip(sorted(own), draw.sample(names, len(own)), strict=True))
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(own, key=len, reverse=True)))})\b")

    def exchange(text: str) -> str:
        return pattern.sub(lambda match: new[match[0]], text)

    statements = tuple(map(exchange, example.statements))
    return Example(example.source, exchange(example.question), statements, example.labels)


def said(items: list[dict[str, Any]], place: int, *, asker: str) -> str:
    """An item as the judge reads it."""
    item = items[place]
    before = None
    if item.get("conversation") and place and items[place - 1].get("conversation") == item["conversation"]:
        earlier = items[place - 1]
        before = f"{speaker(earlier, asker)}: {earlier['text']}"
    return statement(
        item["text"], who=speaker(item, asker), at=datetime.fromisoformat(item["created_at"]), before=before
    )


def speaker(item: dict[str, Any], asker: str) -> str | None:
    """Who says an item, seen from the asker: "I", a name, or nobody in particular."""
    name = item.get("speaker") or item.get("user")
    return "I" if name is not None and name.casefold() == asker.casefold() else name


def _about_somebody_else(question: str, names: list[str], draw: random.Random) -> tuple[str, str, str] | None:
    """The question with one name exchanged, the name it had and the one it has; None when it has none to exchange."""
    there = [name for name in names if re.search(rf"\b{re.escape(name)}\b", question)]
    others = [name for name in names if name not in question]
    if not there or not others:
        return None
    old, new = draw.choice(there), draw.choice(others)
    return re.sub(rf"\b{re.escape(old)}\b", new, question), old, new


def from_open_sets(path: Path, *, seed: int = 0, limit: int | None = None) -> list[Example]:
    """Questions of the open sets with passages that answer and passages that do not."""
    draw = random.Random(seed)
    rows = [row for row in _read(path) if row["source"] in OPEN and len(row["text"]) <= 400]
    by_question: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_question[row["group"], row["question"]].append(row)
    keys = sorted(by_question)
    draw.shuffle(keys)
    found = []
    for group, question in keys[:limit]:
        pairs = [(row["text"], float(row["label"])) for row in by_question[group, question]][:5]
        pairs += [(draw.choice(rows)["text"], 0.0)]
        if draw.random() < 0.08:
            pairs.append((question, 0.0))  # the question itself is no answer
        best = [text for text, label in pairs if label == 1.0]
        names = [name for name in _NAME.findall(question[1:]) if best and name in best[0]]
        if names and draw.random() < 0.3:
            other = draw.choice(
                [name for row in draw.sample(rows, 20) for name in _NAME.findall(row["text"])] or ["Ada"]
            )
            if other not in best[0]:
                found.append(
                    Example("swapped", question.replace(names[0], other), (statement(best[0]),), (0.0,))
                )
        found.append(
            Example(
                by_question[group, question][0]["source"],
                question,
                tuple(statement(text) for text, _ in pairs),
                tuple(label for _, label in pairs),
            )
        )
    return found


def _read(path: Path) -> Iterable[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def spread(examples: list[Example]) -> str:
    """How many questions, pairs and answers each source gives, for the log."""
    counts: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3, dtype=int))
    for one in examples:
        counts[one.source.split(":")[0]] += (1, len(one.labels), sum(label >= 0.5 for label in one.labels))
    return ", ".join(
        f"{name} {q} questions {p} pairs {a} answers" for name, (q, p, a) in sorted(counts.items())
    )
