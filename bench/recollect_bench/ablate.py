"""What each signal is worth: every question is asked with all signals, and again with each one left out.

Asked through the same search as everybody's, with the one switch that the public face does not show. The data sets
are those of the other benchmarks, as far as the folder has them; a set of crafted questions (`crafted`) stands in for
signals that no data set has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect.retrieval.rank import SIGNALS
from recollect_bench.crafted import SCOPE, USED, USES, crafted_corpus
from recollect_bench.locomo import read_locomo
from recollect_bench.longmemeval import MEMORIES, read_longmemeval
from recollect_bench.multihop import read_multihop
from recollect_bench.questions import (
    KEY,
    Answer,
    Corpus,
    Question,
    mean,
    recall,
    spread,
    store_corpus,
    things,
)
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.trial import trial_store

if TYPE_CHECKING:
    from uuid import UUID

    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

#: The row with every signal.
EVERYTHING = "all signals"
#: Less than this is one question in ten thousand, or rounding.
_NOTICEABLE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A set of questions, how many memories each asks for, and at which place it is measured."""

    name: str
    corpus: Corpus
    limit: int
    cutoff: int


def run_ablate(
    folder: Path | None, *, embedder: str, limit_questions: int | None, home: Path | None, show: Show
) -> Result:
    """Store each set once, ask it once per signal, and compare."""
    trials = [*_trials(folder, show), Trial(name="crafted", corpus=crafted_corpus(), limit=10, cutoff=1)]
    sets: dict[str, Any] = {}
    with trial_store(embedder, home) as client:
        environment = describe_environment()
        for trial in trials:
            inside, ingest_per_s = store_corpus(client, trial.corpus, show)
            if trial.corpus.name.startswith("crafted") and ingest_per_s is not None:
                _use(inside)
            chosen = trial.corpus.questions
            # Beside data sets all crafted questions are asked: they are few, and each stands for a signal.
            if trial.name != "crafted" or folder is None:
                chosen = spread(chosen, limit_questions)
            sets[trial.name] = _measure(inside, trial, chosen, show)
        environment |= describe_store(client)
    shown = [signal for signal in SIGNALS if _shows(sets, signal)]
    complete = folder is not None and len(trials) == len(_READERS) + 2  # multihop has two sets
    return Result(
        bench="ablate",
        arguments={
            "data": {trial.name: trial.corpus.name.rpartition("-")[2] for trial in trials},
            "embedder": embedder,
            "limit_questions": limit_questions,
        },
        measures={"sets": sets, "signals_that_show": shown},
        bars=[Bar(name="signals whose absence shows", value=len(shown), bar=len(SIGNALS))]
        if complete
        else [],
        environment=environment,
    )


def _locomo(folder: Path) -> list[Trial]:
    file = next(iter(sorted(folder.glob("*.json"))))
    return [Trial(name="locomo", corpus=read_locomo(file), limit=20, cutoff=10)]


def _longmemeval(folder: Path) -> list[Trial]:
    return [Trial(name="longmemeval", corpus=read_longmemeval(folder), limit=MEMORIES, cutoff=5)]


def _multihop(folder: Path) -> list[Trial]:
    return [
        Trial(name=name, corpus=corpus, limit=10, cutoff=5) for name, corpus in read_multihop(folder).items()
    ]


_READERS: dict[str, Callable[[Path], list[Trial]]] = {
    "locomo": _locomo,
    "longmemeval": _longmemeval,
    "multihop": _multihop,
}


def _trials(folder: Path | None, show: Show) -> Iterator[Trial]:
    """The data sets of a folder that has one folder for each."""
    if folder is None:
        return
    if not any((folder / name).is_dir() for name in _READERS):
        raise InvalidInputError(
            f"{str(folder)!r} has none of the folders {', '.join(_READERS)}; pass the one that holds them"
        )
    for name, read in _READERS.items():
        if not any((folder / name).glob("*.json")):
            show.say(f"there is no {name} in the folder; it is left out")
            continue
        yield from read(folder / name)


def _measure(client: Recollect, trial: Trial, questions: Sequence[Question], show: Show) -> dict[str, Any]:
    """recall@k with all signals and without each."""
    asked = [question for question in questions if question.gold]
    rows: dict[str, float] = {}
    groups: dict[str, dict[str, float]] = {}
    with show.stage(f"asking {trial.name}", len(asked) * (1 + len(SIGNALS))) as progress:
        for round, left_out in enumerate((None, *SIGNALS)):
            answers = []
            for number, question in enumerate(asked, 1):
                answers.append(_ask_without(client, trial, question, left_out))
                progress(round * len(asked) + number, None)
            found = [(answer, recall(answer, _place(trial, answer.question))) for answer in answers]
            row = EVERYTHING if left_out is None else left_out
            rows[row] = mean(value for _, value in found)
            groups[row] = {
                group: mean(value for answer, value in found if answer.question.group == group)
                for group in sorted({question.group for question in asked})
            }
    return {
        "questions": len(asked),
        "memories": len(trial.corpus.items),
        "measure": f"recall@{trial.cutoff}",
        "recall": rows,
        "groups": groups,
    }


def _place(trial: Trial, question: Question) -> int:
    """Where a question is measured; one with two answers can't have both in the first place."""
    return len(question.gold) if trial.cutoff == 1 else trial.cutoff


def _ask_without(client: Recollect, trial: Trial, question: Question, left_out: str | None) -> Answer:
    started = time.perf_counter()
    without = frozenset() if left_out is None else frozenset({left_out})
    # The switch is not part of the public face: here, and only here, the bench goes behind it.
    results = client._portal.run(_search(client, trial, question, without))
    return Answer(question=question, found=things(results), ms=(time.perf_counter() - started) * 1000)


async def _search(client: Recollect, trial: Trial, question: Question, without: frozenset[str]) -> Any:
    from recollect.retrieval.pipeline import SearchRequest, search

    workspace = await client._async._workspace()
    request = SearchRequest.check(
        client.settings,
        query=question.text,
        clock=question.now or datetime.now(UTC),
        limit=trial.limit,
        threshold=0.0,
        scope=question.scope,
        without=without,
    )
    return await search(workspace, client.tenant_context, request)


def _use(client: Recollect) -> None:
    """Let the memories that are to be the proven ones have been used."""
    wanted: dict[UUID, tuple[int, float]] = {}
    cursor: str | None = None
    while True:
        page = client.list(scope=SCOPE, limit=100, cursor=cursor)
        for memory in page:
            thing = str(memory.metadata[KEY])
            if thing.startswith(f"{USED}-") and not thing.endswith("-other"):
                wanted[memory.id] = (USES, 0.5)
        cursor = page.next_cursor
        if cursor is None:
            break
    client._portal.run(_reward(client, wanted))


async def _reward(client: Recollect, wanted: dict[UUID, tuple[int, float]]) -> None:
    from recollect.storage.learning import reward_memories

    workspace = await client._async._workspace()
    async with workspace.store.transaction(client.tenant_context) as tx:
        await reward_memories(tx, wanted)


def _shows(sets: dict[str, Any], signal: str) -> bool:
    """Whether leaving a signal out moves any number."""
    return any(abs(one["recall"][signal] - one["recall"][EVERYTHING]) > _NOTICEABLE for one in sets.values())
