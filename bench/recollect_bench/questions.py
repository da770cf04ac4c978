"""Questions with known answers: store a corpus, ask, and count what came back.

Shared by the benchmarks over data sets. A memory says in its metadata which thing of the data set it is (`KEY`: a
turn, a session, a passage), and a question names the things that answer it. recall@k is the mean, over questions, of
the share of those things found among the first k things. Knows no data set's format.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.errors import InvalidInputError
from recollect_bench.trial import fresh_tenant

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.domain.results import SearchResults
    from recollect_bench.show import Show

#: Where a memory's metadata says which thing of the data set it is.
KEY = "thing"
#: The row over all questions.
ALL = "all"

Item = dict[str, Any]
_Asked = TypeVar("_Asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask of which scope, and what should be found."""

    text: str
    gold: frozenset[str]
    scope: str
    group: str
    #: When it was asked, where the data set says so.
    now: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """A data set, ready to be stored and asked. `name` tells it from every other one."""

    name: str
    items: Sequence[Item]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The things found for a question, the best first, and how long that took."""

    question: Question
    found: tuple[str, ...]
    ms: float


def store_corpus(client: Recollect, corpus: Corpus, show: Show) -> tuple[Recollect, float | None]:
    """The tenant that holds a corpus, and memories stored per second (None when they were there already)."""
    inside, there = fresh_tenant(client, f"bench-{corpus.name}", holds=len(corpus.items))
    if there:
        show.say(f"{len(corpus.items):,} memories of {corpus.name} are there already")
        return inside, None
    client.add("The embedder is loaded.")  # in a tenant of its own: what is timed below is storing
    started = time.perf_counter()
    with show.stage(f"storing {corpus.name}", len(corpus.items)) as progress:
        report = inside.add_many(corpus.items, progress=progress)
    seconds = time.perf_counter() - started
    if report.errors:
        first = report.errors[0]
        raise InvalidInputError(
            f"{len(report.errors)} items of {corpus.name!r} were refused; {first.message}"
        )
    return inside, len(corpus.items) / seconds


def ask(
    client: Recollect, questions: Sequence[Question], *, limit: int, show: Show, **options: Any
) -> list[Answer]:
    """Put every question to the public search, at the time it was asked; `options` are passed on to it."""
    answers = []
    with show.stage(str(options.pop("title", "asking")), len(questions)) as progress:
        for number, question in enumerate(questions, 1):
            started = time.perf_counter()
            results = client.search(
                question.text, limit=limit, scope=question.scope, now=question.now, **options
            )
            ms = (time.perf_counter() - started) * 1000
            answers.append(Answer(question=question, found=things(results), ms=ms))
            progress(number, None)
    return answers


def things(results: SearchResults) -> tuple[str, ...]:
    """What the hits are of, each once, the best first: a thing counts through its best memory."""
    return tuple(dict.fromkeys(str(hit.metadata[KEY]) for hit in results))


def recall(answer: Answer, cutoff: int) -> float:
    """The share of the gold among the first things found."""
    return len(answer.question.gold.intersection(answer.found[:cutoff])) / len(answer.question.gold)


def recall_table(answers: Sequence[Answer], cutoffs: Sequence[int]) -> dict[str, dict[str, float]]:
    """recall@k over all questions and per group; questions without gold are left out."""
    groups: dict[str, list[Answer]] = {ALL: []}
    for answer in answers:
        if answer.question.gold:
            groups[ALL].append(answer)
            groups.setdefault(answer.question.group, []).append(answer)
    ordered = [ALL, *sorted(set(groups) - {ALL})]
    return {
        name: {
            "questions": len(groups[name]),
            **{f"@{k}": mean(recall(answer, k) for answer in groups[name]) for k in cutoffs},
        }
        for name in ordered
    }


def mean(values: Iterable[float]) -> float:
    """The average; 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def percentile(values: Sequence[float], percent: float) -> float:
    """A percentile, between two values where it falls between them."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def latency(values: Sequence[float]) -> dict[str, float]:
    """How long something took, in milliseconds."""
    return {"p50": percentile(values, 50), "p95": percentile(values, 95)}


def spread(questions: Sequence[_Asked], limit: int | None) -> Sequence[_Asked]:
    """At most `limit` questions, spread evenly over all of them."""
    if limit is None or limit >= len(questions):
        return questions
    return [questions[number * len(questions) // limit] for number in range(limit)]


def reading(path: Path, read: Callable[[], Corpus]) -> Corpus:
    """Read a data set; one of another shape is an error that names the file, not a traceback."""
    try:
        return read()
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InvalidInputError(f"{path.name!r} has not the shape this benchmark reads: {error!r}") from error


def check_mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; anything else is a shape this benchmark does not read."""
    if not isinstance(value, Mapping):
        raise ValueError(f"expected an object, got {type(value).__name__}")
    return value
