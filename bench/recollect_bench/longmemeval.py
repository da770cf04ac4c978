"""LongMemEval: hundreds of chat sessions of one user, and questions with the sessions that answer them.

All sessions are pooled into one scope, each turn is one memory; a session counts through its best one. A question is
asked at the day the data set says, as its user did, and once more without a day, which shows what that is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect_bench.questions import (
    ALL,
    KEY,
    Corpus,
    Item,
    Question,
    ask,
    latency,
    reading,
    recall_table,
    spread,
    store_corpus,
)
from recollect_bench.result import Bar, Result, describe_environment, describe_store, fingerprint, read_json
from recollect_bench.trial import trial_store

if TYPE_CHECKING:
    from recollect_bench.show import Show

CUTOFFS = (5, 10, 20)
#: Twenty sessions must be among the memories: a session may fill ten places with its turns.
MEMORIES = 200
SCOPE = "user/reader"
_WHEN = "%Y/%m/%d %H:%M"


def run_longmemeval(
    folder: Path, *, embedder: str, limit_questions: int | None, home: Path | None, show: Show
) -> Result:
    """Store, ask, measure."""
    corpus = read_longmemeval(folder)
    questions = spread(corpus.questions, limit_questions)
    with trial_store(embedder, home) as client:
        environment = describe_environment()
        inside, ingest_per_s = store_corpus(client, corpus, show)
        answers = ask(inside, questions, limit=MEMORIES, threshold=0, show=show)
        undated = [replace(question, now=None) for question in questions]
        today = ask(inside, undated, limit=MEMORIES, threshold=0, show=show, title="asking without a day")
        environment |= describe_store(client)
    table = recall_table(answers, CUTOFFS)
    return Result(
        bench="longmemeval",
        arguments={
            "data": corpus.name.removeprefix("longmemeval-"),
            "embedder": embedder,
            "limit_questions": limit_questions,
        },
        measures={
            "unit": "session",
            "memories": len(corpus.items),
            "recall": table,
            "recall_without_a_day": recall_table(today, CUTOFFS)[ALL],
            "ingest_per_s": ingest_per_s,
            "search_ms": latency([answer.ms for answer in answers]),
        },
        bars=[Bar(name="session recall@5", value=table[ALL]["@5"], bar=0.80)],
        environment=environment,
    )


def read_longmemeval(folder: Path) -> Corpus:
    """Sessions and questions."""
    files = (folder / "sessions.json", folder / "questions_dev.json")
    sessions, questions = (read_json(file, what="data") for file in files)

    def read() -> Corpus:
        return Corpus(
            name=f"longmemeval-{fingerprint(*files)}",
            items=[item for session in sessions for item in _turns(session)],
            questions=[
                Question(
                    text=question["question"],
                    gold=frozenset(question["gold_sessions"]),
                    scope=SCOPE,
                    group=question["type"],
                    now=_when(question["date"]),
                )
                for question in questions
            ],
        )

    return reading(folder, read)


def _turns(session: Mapping[str, Any]) -> Iterator[Item]:
    begun = _when(session["date"])
    for number, turn in enumerate(session["turns"]):
        yield {
            "text": turn["content"],
            "scope": SCOPE,
            "conversation": session["id"],
            "speaker": turn["role"],
            "created_at": None if begun is None else begun + timedelta(seconds=number),
            "metadata": {KEY: session["id"]},
        }


def _when(text: str | None) -> datetime | None:
    """Reads "2023/04/10 (Mon) 17:50"."""
    if text is None:
        return None
    day, _, clock = text.partition(" (")
    return datetime.strptime(f"{day} {clock.rpartition(' ')[2]}", _WHEN).replace(tzinfo=UTC)
