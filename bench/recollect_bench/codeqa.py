"""Does an exploration lead with the definitions that answer? Questions as a newcomer asks them, no model.

`--data` holds `dev.json` (repository, commit, question, the gold definitions with their lines, what else is fair to
cite), `--repos` one bare clone for each repository, as for `codeloc`. A finding hits a definition when it has a line of
its `focus` (or of all of it) and is not much longer; a copy of a definition (`twin_of`) counts as the definition. What
is asked of code that lacks it (`absent`) should be refused.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect_bench.codeloc import Layout, find_clone
from recollect_bench.questions import latency, spread
from recollect_bench.result import Bar, Result, describe_environment, fingerprint, read_json

if TYPE_CHECKING:
    from recollect.domain.findings import Finding
    from recollect_bench.show import Show

KINDS = ("place", "trace", "impact", "why")
ABSENT = "absent"
CUTOFFS = (5, 10)
WANTED = {"led": 0.65, "share@10": 0.62, "refused": 0.60}
_FILE = "dev.json"
#: A finding of fewer lines is no guess; a longer one is at most so many times as long as what it should hit.
_SHORT_LINES, _TIMES = 120, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A definition that answers, or is fair to cite."""

    path: str
    symbol: str
    lines: tuple[int, int]
    focus: tuple[int, int]
    twin_of: str | None = None

    def is_hit(self, finding: Finding) -> bool:
        """Whether a finding has the lines that answer, and is not much longer than the definition."""
        if finding.source_file != self.path or finding.line_range is None:
            return False
        first, last = finding.line_range
        most = _TIMES * (self.lines[1] - self.lines[0] + 1)
        near = first <= self.focus[1] and self.focus[0] <= last
        return near and (last - first < _SHORT_LINES or last - first <= most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with the definitions that answer it: all of `gold`; `also` are fair to lead with."""

    id: str
    repository: str
    commit: str
    kind: str
    text: str
    gold: tuple[Place, ...]
    also: tuple[Place, ...]


def run_codeqa(
    data: Path, repos: Path, *, limit_questions: int | None = None, home: Path | None = None, show: Show
) -> Result:
    """Explore every tree for its questions, and count. The index is kept in `home`, if there is one."""
    environment = describe_environment()
    questions = spread(read_questions(data / _FILE), limit_questions)
    rows: list[Mapping[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="recollect-codeqa-") as folder,
        show.stage("exploring trees", len(questions)) as progress,
    ):
        for repository in dict.fromkeys(one.repository for one in questions):
            root = Path(folder) / "trees" / repository.replace("/", "+")
            layout = Layout(find_clone(repos, repository), root)
            for question in (one for one in questions if one.repository == repository):
                layout.show(question.commit)
                rows.append(_explore(question, root, home or Path(folder) / "home"))
                progress(len(rows), len(questions))
    measures = {
        "kinds": {
            kind: _means([row for row in rows if kind in ("all", row["kind"])]) for kind in ("all", *KINDS)
        },
        "refused": _mean(rows, "refused"),
        "absent": sum(row["kind"] == ABSENT for row in rows),
        "answerable_refused": [row["id"] for row in rows if row["kind"] != ABSENT and not row["cited"]],
        "misled": [row["id"] for row in rows if row.get("led") is False],
        "explore_ms": latency([row["seconds"] * 1_000 for row in rows]),
    }
    names = {"led": "first finding fair", "share@10": "gold among the first ten", "refused": "absent refused"}
    return Result(
        bench="codeqa",
        arguments={"data": fingerprint(data / _FILE), "limit_questions": limit_questions},
        measures=measures,
        bars=[Bar(name=names[name], value=_mean(rows, name), bar=bar) for name, bar in WANTED.items()],
        environment=environment,
    )


def read_questions(file: Path) -> list[Question]:
    """The questions of a file."""
    try:
        return [
            Question(
                id=row["id"],
                repository=row["repo"],
                commit=row["commit"],
                kind=row["kind"],
                text=row["question"],
                gold=tuple(_place(one) for one in row["gold"]),
                also=tuple(_place(one) for one in row.get("also", ())),
            )
            for row in read_json(file, what="data")
        ]
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"{file.name!r} is not a list of questions: {error!r} is missing") from error


def _place(row: Mapping[str, Any]) -> Place:
    lines = (row["start"], row["end"])
    return Place(
        path=row["path"],
        symbol=row["symbol"],
        lines=lines,
        focus=tuple(row.get("focus") or lines),
        twin_of=row.get("twin_of"),
    )


def _explore(question: Question, root: Path, home: Path) -> dict[str, Any]:
    import asyncio

    from recollect.codebase.explore import RLMOrchestrator
    from recollect.config import Settings

    started = time.perf_counter()
    explorer = RLMOrchestrator(root, settings=Settings(home=home), audit_dir=root.parent.parent / "audit")
    result = asyncio.run(explorer.explore(question.id, question.text))
    seconds = time.perf_counter() - started
    return {**score(question, result.findings if result.success else ()), "seconds": seconds}


def score(question: Question, findings: Sequence[Finding]) -> dict[str, Any]:
    """What the findings for a question are worth."""
    row: dict[str, Any] = {"id": question.id, "kind": question.kind, "cited": len(findings)}
    if question.kind == ABSENT:
        return {**row, "refused": not findings}
    for cutoff in CUTOFFS:
        found = [
            any(
                place.is_hit(finding)
                for place in (gold, *(one for one in question.also if one.twin_of == gold.symbol))
                for finding in findings[:cutoff]
            )
            for gold in question.gold
        ]
        row |= {f"all@{cutoff}": all(found), f"any@{cutoff}": any(found), f"share@{cutoff}": fmean(found)}
    fair = (*question.gold, *question.also)
    return {**row, "led": bool(findings) and any(one.is_hit(findings[0]) for one in fair)}


def _means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    names = ("led", "any@5", "share@5", "all@5", "share@10", "all@10")
    counted = sum("led" in row for row in rows)
    return {"questions": counted, **{name: _mean(rows, name) for name in names}}


def _mean(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    values = [float(row[name]) for row in rows if name in row]
    return fmean(values) if values else 0.0
