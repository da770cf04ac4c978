"""Does the router send questions where they belong? Three hundred labelled ones, and those of other data sets.

data/routes.jsonl labels by meaning: `rlm` where an answer has to be gathered from several places, sets sides against
each other, or is put together over time; `standard` where one look finds it, chains of one thing through another
included. There are a hundred `development` questions that the rules were tuned on, and a hundred `held-out` ones that
were written before the last tuning and never looked at for it. The `retired` hundred were held out first; the rules got
0.93 of them right, then their mistakes were looked at. Questions and rules have one author. Questions of other data
sets (`--data`) ask for single things: nearly all should stay standard.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect.runs.router import DEFAULT_THRESHOLD, ComplexityRouter, RouteDecision
from recollect_bench.questions import latency
from recollect_bench.result import Bar, Result, describe_environment, read_json

if TYPE_CHECKING:
    from recollect_bench.show import Show

SPLITS = ("development", "held-out", "retired")
#: The share of each part to be sent rightly.
WANTED = 0.9
#: Routing must cost less, in milliseconds.
MOST_MS = 1.0
#: How many mistakes are shown: those farthest from the threshold.
SHOWN = 8
#: A page pasted into the search box.
_PAGE_WORDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question and where it belongs."""

    query: str
    route: RouteDecision
    split: str


def run_route(data: Path | None, *, show: Show) -> Result:
    """Route every question and count."""
    environment = describe_environment()
    router = ComplexityRouter()
    cases = read_cases()
    scores, took_ms = _timed(router, [case.query for case in cases])
    accuracy = {}
    for split in SPLITS:
        rights = [
            router.decide(score) is case.route
            for case, score in zip(cases, scores, strict=True)
            if case.split == split
        ]
        accuracy[split] = {"questions": len(rights), "right": sum(rights) / len(rights)}
    elsewhere = {}
    for name, queries in () if data is None else read_questions(data):
        show.say(f"routing {len(queries):,} questions of {name}")
        sent, _ = _timed(router, queries)
        away = [
            query
            for query, score in zip(queries, sent, strict=True)
            if router.decide(score) is RouteDecision.RLM
        ]
        elsewhere[name] = {"questions": len(queries), "rlm": len(away), "share": len(away) / len(queries)}
    _, page_ms = _timed(router, [" ".join(["compare what all teams said then"] * (_PAGE_WORDS // 6))] * 20)
    taken = latency(took_ms)
    return Result(
        bench="route",
        arguments={"threshold": DEFAULT_THRESHOLD},
        measures={
            "accuracy": accuracy,
            "mistakes": _mistakes(router, cases, scores),
            "elsewhere": elsewhere,
            "routing_ms": {**taken, "page_p50": latency(page_ms)["p50"]},
        },
        bars=[
            *(Bar(name=f"{split} questions", value=accuracy[split]["right"], bar=WANTED) for split in SPLITS),
            Bar(name="routing one question, p95 ms", value=taken["p95"], bar=MOST_MS, at_most=True),
        ],
        environment=environment,
    )


def read_cases() -> list[Case]:
    """The labelled questions."""
    file = resources.files(__package__) / "data" / "routes.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [Case(query=row["query"], route=RouteDecision(row["route"]), split=row["split"]) for row in rows]


def read_questions(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The questions of the data sets in a folder, by set: LoCoMo, LongMemEval, multi-hop sets."""
    found = False
    for file in sorted(folder.glob("**/*.json")):
        if file.name.startswith("locomo"):
            queries = [item["question"] for talk in read_json(file, what="data") for item in talk["qa"]]
        elif file.name.startswith("questions") or (file.parent.name == "multihop" and "_dev" in file.name):
            queries = [item["question"] for item in read_json(file, what="data")]
        else:
            continue
        found = True
        yield file.stem if file.parent.name == "multihop" else file.parent.name, queries
    if not found:
        raise InvalidInputError(
            f"there are no questions in {str(folder)!r}; pass the folder with locomo, longmemeval and multihop in it"
        )


def _timed(router: ComplexityRouter, queries: Sequence[str]) -> tuple[list[float], list[float]]:
    scores, took_ms = [], []
    for query in queries:
        started = time.perf_counter()
        scores.append(router.score(query))
        took_ms.append((time.perf_counter() - started) * 1000)
    return scores, took_ms


def _mistakes(
    router: ComplexityRouter, cases: Sequence[Case], scores: Sequence[float]
) -> list[dict[str, Any]]:
    """The worst of them, farthest from the threshold first."""
    wrong = [
        {"query": case.query, "split": case.split, "belongs": case.route.value, "score": score}
        for case, score in zip(cases, scores, strict=True)
        if router.decide(score) is not case.route
    ]
    return sorted(wrong, key=lambda row: -abs(float(row["score"]) - router.threshold))[:SHOWN]
