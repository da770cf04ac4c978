"""LoCoMo: long conversations between two people, and questions about them with the turns that answer.

Each conversation is stored in a scope of its own, each session as one `conversation`, each turn as one memory.
The same questions also show whether `score` means something: at the default threshold the gold that was found should
stay, and a question about other people should find nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect_bench.questions import (
    ALL,
    KEY,
    Answer,
    Corpus,
    Item,
    Question,
    ask,
    check_mapping,
    latency,
    mean,
    reading,
    recall_table,
    spread,
    store_corpus,
)
from recollect_bench.result import Bar, Result, describe_environment, describe_store, fingerprint, read_json
from recollect_bench.trial import trial_store

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect_bench.show import Show

CUTOFFS = (5, 10, 20)
#: The gold among these many is what the default threshold must keep.
KEPT_OF = 10
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
#: Gold is written as "D8:6", sometimes several in one string.
_TURN = re.compile(r"D\d+:\d+")
_SESSION = re.compile(r"session_(\d+)")
_WHEN = "%I:%M %p on %d %B, %Y"


def run_locomo(
    file: Path, *, embedder: str, limit_questions: int | None, home: Path | None, show: Show
) -> Result:
    """Store, ask, measure."""
    corpus = read_locomo(file)
    questions = spread(corpus.questions, limit_questions)
    with trial_store(embedder, home) as client:
        environment = describe_environment()
        inside, ingest_per_s = store_corpus(client, corpus, show)
        answers = ask(inside, questions, limit=max(CUTOFFS), threshold=0, show=show)
        calibration = _calibrate(inside, answers, corpus, show)
        environment |= describe_store(client)
    table = recall_table(answers, CUTOFFS)
    bars = [Bar(name="evidence recall@10", value=table[ALL]["@10"], bar=0.84)]
    if calibration["foreign_questions"]:
        bars.append(Bar(name="gold kept at the default threshold", value=calibration["gold_kept"], bar=0.93))
        bars.append(
            Bar(name="foreign questions that find nothing", value=calibration["foreign_empty"], bar=0.90)
        )
    return Result(
        bench="locomo",
        arguments={"data": fingerprint(file), "embedder": embedder, "limit_questions": limit_questions},
        measures={
            "unit": "turn",
            "memories": len(corpus.items),
            "recall": table,
            "calibration": calibration,
            "ingest_per_s": ingest_per_s,
            "search_ms": latency([answer.ms for answer in answers]),
        },
        bars=bars,
        environment=environment,
    )


def _calibrate(client: Recollect, answers: Sequence[Answer], corpus: Corpus, show: Show) -> dict[str, Any]:
    """What the default threshold does to gold that was found, and to questions about other people."""
    questions = [answer.question for answer in answers]
    kept = ask(client, questions, limit=KEPT_OF, show=show, title="asking with the default threshold")
    found = staying = 0
    for free, strict in zip(answers, kept, strict=True):
        gold = free.question.gold.intersection(free.found[:KEPT_OF])
        found += len(gold)
        staying += len(gold.intersection(strict.found))
    scopes = list(dict.fromkeys(question.scope for question in corpus.questions))
    # Every question is asked of one other conversation, of each of them in turn: some are about like things.
    foreign = [
        replace(question, scope=others[number % len(others)])
        for number, question in enumerate(questions)
        if (others := [scope for scope in scopes if scope != question.scope])
    ]
    strange = ask(client, foreign, limit=KEPT_OF, show=show, title="asking somebody else's conversation")
    return {
        "gold_found": found,
        "gold_kept": staying / found if found else 0.0,
        "foreign_questions": len(strange),
        "foreign_empty": mean(not answer.found for answer in strange),
        "own_empty": mean(not answer.found for answer in kept),
    }


def read_locomo(file: Path) -> Corpus:
    """Conversations and their questions."""
    samples = read_json(file, what="data")

    def read() -> Corpus:
        items = [item for sample in samples for item in _turns(check_mapping(sample))]
        questions = [question for sample in samples for question in _questions(sample)]
        return Corpus(name=f"locomo-{fingerprint(file)}", items=items, questions=questions)

    return reading(file, read)


def _scope(sample: Mapping[str, Any]) -> str:
    return f"user/{sample['sample_id']}"


def _turns(sample: Mapping[str, Any]) -> Iterator[Item]:
    conversation = sample["conversation"]
    names = sorted(
        (name for name in conversation if _SESSION.fullmatch(name)), key=lambda name: int(name[8:])
    )
    for name in names:
        begun = datetime.strptime(conversation[f"{name}_date_time"], _WHEN).replace(tzinfo=UTC)
        for number, turn in enumerate(conversation[name]):
            caption = turn.get("blip_caption")
            yield {
                "text": turn["text"] + (f" [shares a photo: {caption}]" if caption else ""),
                "scope": _scope(sample),
                "conversation": name,
                "speaker": turn["speaker"],
                # Turns have no time of their own; a second apart keeps them in order.
                "created_at": begun + timedelta(seconds=number),
                "metadata": {KEY: turn["dia_id"]},
            }


def _questions(sample: Mapping[str, Any]) -> Iterator[Question]:
    for question in sample["qa"]:
        yield Question(
            text=question["question"],
            gold=frozenset(turn for entry in question["evidence"] for turn in _TURN.findall(entry)),
            scope=_scope(sample),
            group=CATEGORIES.get(question["category"], str(question["category"])),
        )
