"""Multi-hop sets (2WikiMultiHopQA, MuSiQue): passages, and questions that need several of them.

Every `<set>_corpus.json` in the folder with its `<set>_dev.json` is measured, each in a scope of its own. A passage
is one memory, its title an entity.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect_bench.questions import (
    ALL,
    KEY,
    Corpus,
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

CUTOFFS = (2, 5)
#: To reach: recall@2 of BM25 and MiniLM joined by z-scores (what one look gives; its @5 is 0.684 and 0.510), and @5
#: with the hops that a question needs.
REACH = {"2wikimultihopqa": (0.578, 0.93), "musique": (0.380, 0.62)}


def run_multihop(
    folder: Path, *, embedder: str, limit_questions: int | None, home: Path | None, show: Show
) -> Result:
    """Store, ask, measure, one set after the other."""
    corpora = read_multihop(folder)
    sets: dict[str, Any] = {}
    bars = []
    with trial_store(embedder, home) as client:
        environment = describe_environment()
        for name, corpus in corpora.items():
            inside, ingest_per_s = store_corpus(client, corpus, show)
            questions = spread(corpus.questions, limit_questions)
            answers = ask(inside, questions, limit=max(CUTOFFS), threshold=0, show=show)
            table = recall_table(answers, CUTOFFS)
            sets[name] = {
                "memories": len(corpus.items),
                "recall": table,
                "ingest_per_s": ingest_per_s,
                "search_ms": latency([answer.ms for answer in answers]),
            }
            for cutoff, bar in zip(CUTOFFS, REACH.get(name, ()), strict=False):
                bars.append(Bar(name=f"{name} recall@{cutoff}", value=table[ALL][f"@{cutoff}"], bar=bar))
        environment |= describe_store(client)
    return Result(
        bench="multihop",
        arguments={
            "data": {name: corpus.name.rpartition("-")[2] for name, corpus in corpora.items()},
            "embedder": embedder,
            "limit_questions": limit_questions,
        },
        measures={"unit": "passage", "sets": sets},
        bars=bars,
        environment=environment,
    )


def read_multihop(folder: Path) -> dict[str, Corpus]:
    """The sets of a folder, by name."""
    names = sorted(file.name.removesuffix("_corpus.json") for file in folder.glob("*_corpus.json"))
    if not names:
        raise InvalidInputError(
            f"there is no '<set>_corpus.json' in {str(folder)!r}; pass the folder that has them"
        )
    return {name: _read_set(folder, name) for name in names}


def _read_set(folder: Path, name: str) -> Corpus:
    files = (folder / f"{name}_corpus.json", folder / f"{name}_dev.json")
    passages, questions = (read_json(file, what="data") for file in files)
    scope = f"user/{name}"

    def read() -> Corpus:
        return Corpus(
            name=f"{name}-{fingerprint(*files)}",
            items=[
                {
                    "text": f"{passage['title']}\n{passage['text']}",
                    "scope": scope,
                    "entities": [passage["title"]],
                    "metadata": {KEY: str(number)},
                }
                for number, passage in enumerate(passages)
            ],
            questions=[
                Question(
                    text=question["question"],
                    gold=frozenset(map(str, question["gold"])),
                    scope=scope,
                    group=question["type"],
                )
                for question in questions
            ],
        )

    return reading(files[0], read)
