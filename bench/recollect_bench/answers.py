"""The judge alone: how well it tells texts that answer a question from texts that do not.

`--data` holds `valid.jsonl.gz`, one pair a line: `question`, `text`, `label` (1 answers), `source`. The judge was
trained on none of these questions. The figure is the chance that a text that answers gets a higher verdict than one
that does not (AUC), over all pairs of a source; labels were made by rules, and some are wrong, so 1 is out of reach.
The time is that of reading as many candidates as a search for one thing reads. No store is involved.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.errors import InvalidInputError
from recollect.providers.judge.model import open_judge, statement
from recollect.retrieval.judge.verdict import NARROW
from recollect_bench.questions import ALL, latency, spread
from recollect_bench.result import Bar, Result, describe_environment, fingerprint

if TYPE_CHECKING:
    from recollect_bench.show import Show

#: The most that reading the candidates of one search may take on two cores.
MOST_MS = 40.0
_FILE = "valid.jsonl.gz"
_READS = 100


def run_answers(folder: Path, *, limit: int | None, show: Show) -> Result:
    """Read every pair, and compare verdicts with labels by source."""
    environment = describe_environment()
    path, pairs = read_pairs(folder)
    pairs = list(spread(pairs, limit))
    verdicts: dict[str, list[tuple[float, bool]]] = {ALL: []}
    took_ms = []
    with tempfile.TemporaryDirectory() as cache, show.stage("reading", len(pairs)) as progress:
        judge = open_judge(cache_dir=Path(cache))
        for start in range(0, len(pairs), NARROW):
            batch = pairs[start : start + NARROW]
            logits = judge.read_pairs([(pair["question"], statement(pair["text"])) for pair in batch])
            for pair, logit in zip(batch, logits, strict=True):
                for source in (ALL, pair["source"]):
                    verdicts.setdefault(source, []).append((float(logit), bool(pair["label"])))
            progress(start + len(batch), None)
        texts = [statement(pair["text"]) for pair in pairs]
        for number in range(_READS):
            question = pairs[number % len(pairs)]["question"]
            first = number * NARROW % max(len(texts) - NARROW, 1)
            started = time.perf_counter()
            judge.read(question, texts[first : first + NARROW])
            took_ms.append((time.perf_counter() - started) * 1000)
    told = {
        source: {"pairs": len(rows), "auc": auc(rows)}
        for source, rows in sorted(verdicts.items(), key=lambda entry: (entry[0] != ALL, entry[0]))
    }
    speed = latency(took_ms)
    return Result(
        bench="answers",
        arguments={"data": fingerprint(path)},
        measures={"told": told, "reading_ms": speed, "candidates": NARROW},
        bars=[
            Bar(name=f"judging {NARROW} candidates, p50 ms", value=speed["p50"], bar=MOST_MS, at_most=True)
        ],
        environment=environment,
    )


def auc(rows: list[tuple[float, bool]]) -> float | None:
    """The chance that what answers has the higher verdict; None where all labels are the same."""
    right = np.array([verdict for verdict, answers in rows if answers])
    wrong = np.array([verdict for verdict, answers in rows if not answers])
    if not len(right) or not len(wrong):
        return None
    order = np.sort(wrong)
    below = np.searchsorted(order, right, side="left") + np.searchsorted(order, right, side="right")
    return float(below.mean() / 2 / len(wrong))


def read_pairs(folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    """The file and its pairs."""
    path = folder / _FILE
    if not path.is_file():
        raise InvalidInputError(f"there is no {_FILE!r} in {str(folder)!r}; pass the folder that has it")
    by_source: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                pair = json.loads(line)
                by_source[pair["source"]].append(
                    {name: pair[name] for name in ("question", "text", "label", "source")}
                )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(f"{path.name!r} has not the shape this benchmark reads: {error!r}") from error
    if not by_source:
        raise InvalidInputError(f"{path.name!r} has no pairs")
    return path, [pair for _, pairs in sorted(by_source.items()) for pair in pairs]
