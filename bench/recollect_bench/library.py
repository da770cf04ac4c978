"""The library and its oracle over two manuals of 2.8 million tokens, through the public door and without a model.

    index        adding the manuals against the embedder alone, and the memory it takes
    questions    consultations over everything: is a section with the answer among the first five cited, how long does
                 it take, and does every citation verify
    foreign      questions about other products, and for what the manuals' own products lack: "not in the documents"
    needles      facts planted in a million tokens, asked for in other words, one and two at a time
    corruptions  pages changed under what was cited of them: `verify` must notice

Where the manuals and questions come from is `manuals.py`, planting `library_needles.py`, adding `library_index.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInputError
from recollect_bench import library_index, library_needles, manuals
from recollect_bench.manuals import ManualQuestion
from recollect_bench.questions import latency, mean, spread
from recollect_bench.result import Bar, Result, describe_environment, describe_store, fingerprint
from recollect_bench.trial import as_admin, trial_store

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.domain.library import Section
    from recollect.domain.oracle import OracleConsultResult
    from recollect_bench.show import Show

PARTS = ("index", "questions", "foreign", "needles", "corruptions")
#: Cited sections that a reader looks at.
FIRST = 5
CORRUPTIONS = 100
TENANT = "bench-library"


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryPlan:
    """What to measure, on how much: every n-th page, so many questions, so many tokens to hide facts in."""

    docs: Path
    data: Path
    parts: Sequence[str] = PARTS
    every: int = 1
    limit_questions: int | None = None
    needle_tokens: int = 1_000_000

    def check(self) -> None:
        """Refuse what can't be measured."""
        for part in self.parts:
            if part not in PARTS:
                raise InvalidInputError(f"there is no part {part!r}; the parts are {', '.join(PARTS)}")


def run_library(plan: LibraryPlan, *, embedder: str, home: Path | None, show: Show) -> Result:
    """Everything that was asked for, in one store."""
    plan.check()
    docs = manuals.find_docs(plan.docs)
    questions = manuals.read_questions(plan.data)
    environment = describe_environment()
    measures: dict[str, Any] = {}
    with trial_store(embedder, home) as client:
        if {"index", "questions", "foreign"} & set(plan.parts):
            inside = _library(client, plan, docs, embedder, measures, show)
            if "questions" in plan.parts:
                measures |= _questions(inside, plan, questions, show)
            if "foreign" in plan.parts:
                measures |= _unanswerable(inside, plan, show)
        if {"needles", "corruptions"} & set(plan.parts):
            measures |= _needles(client, plan, docs, show)
        environment |= describe_store(client)
    return Result(
        bench="library",
        arguments={
            "data": fingerprint(plan.data / manuals.QUESTIONS),
            "parts": list(plan.parts),
            "every": plan.every,
            "limit_questions": plan.limit_questions,
            "needle_tokens": plan.needle_tokens,
            "embedder": embedder,
        },
        measures=measures,
        bars=bars_of(measures),
        environment=environment,
    )


def bars_of(measures: Mapping[str, Any]) -> list[Bar]:
    """What is to be reached, of what was measured."""
    bars: list[Bar] = []
    if index := measures.get("index"):
        bars.append(Bar(name="indexing / the embedder's own rate", value=index["ratio"], bar=0.60))
        bars.append(
            Bar(name="peak memory while indexing, GB", value=index["peak_mb"] / 1024, bar=1.5, at_most=True)
        )
    if asked := measures.get("questions"):
        bars.append(Bar(name="consultation, slowest, s", value=asked["slowest_s"], bar=3.0, at_most=True))
        found = asked["sections"]["all"]["section@5"]
        bars.append(Bar(name="a section with the answer among the first five", value=found, bar=0.78))
    if foreign := measures.get("foreign"):
        bars.append(Bar(name="questions about other products refused", value=foreign["refused"], bar=0.90))
    if lacking := measures.get("lacking"):
        bars.append(Bar(name="questions for lacking features refused", value=lacking["refused"], bar=0.90))
    if held := measures.get("lacking_held"):
        bars.append(Bar(name="such questions held back refused", value=held["refused"], bar=0.90))
    if needles := measures.get("needles"):
        bars.append(Bar(name="planted facts cited", value=needles["cited"], bar=0.90))
    if corrupted := measures.get("corruptions"):
        share = corrupted["noticed"] / max(corrupted["cases"], 1)
        bars.append(Bar(name="corruptions that verify notices", value=share, bar=1.0))
    checks = [
        one["citations"] for one in measures.values() if isinstance(one, Mapping) and "citations" in one
    ]
    if made := sum(one["made"] for one in checks):
        bars.append(
            Bar(name="citations that verify", value=sum(one["verified"] for one in checks) / made, bar=1.0)
        )
    return bars


# ---------------------------------------------------------------- the parts


def _library(
    client: Recollect, plan: LibraryPlan, docs: Path, embedder: str, measures: dict[str, Any], show: Show
) -> Recollect:
    """The tenant with the manuals; indexing is measured while it is filled, or on some pages when it was before."""
    from recollect.providers.embedders import open_embedder

    tenant = TENANT if plan.every == 1 else f"{TENANT}-{plan.every}"
    there = library_index.is_filled(client, tenant, docs, manuals.FOLDERS, every=plan.every)
    if there and "index" not in plan.parts:
        return as_admin(client, tenant)
    model = open_embedder(embedder, cache_dir=client.settings.home / "models")
    model.embed(["The embedder is loaded."])
    if not there:
        inside, measures["index"] = library_index.fill_library(
            client, tenant, docs, manuals.FOLDERS, every=plan.every, show=show, model=model
        )
        return inside
    show.say("the manuals are there already; indexing is measured on some of their pages")
    again = f"{TENANT}-again"
    every = plan.every * library_index.AGAIN_EVERY
    if library_index.is_filled(client, again, docs, manuals.FOLDERS, every=every):
        library_index.drop_tenant(client, again)
    _, measures["index"] = library_index.fill_library(
        client, again, docs, manuals.FOLDERS, every=every, show=show, model=model
    )
    library_index.drop_tenant(client, again)
    return as_admin(client, tenant)


def _questions(
    inside: Recollect, plan: LibraryPlan, questions: Sequence[ManualQuestion], show: Show
) -> dict[str, Any]:
    # Connections, plans and the embedder are warm after that; nothing that is asked below is answered by it.
    inside.oracle_consult("What is described here?")
    measures = {}
    for name, listed in (("questions", questions), ("own_questions", manuals.own_questions())):
        gone = manuals.missing_gold(inside, listed)
        if gone and plan.every == 1:
            show.say(f"{len(gone)} sections that answer are not in these manuals, such as {gone[0]!r}")
        chosen = spread(listed, plan.limit_questions)
        asked = consult_all(inside, [one.text for one in chosen], show, title=name.replace("_", " "))
        measures[name] = {
            **asked.summary(),
            "gold_missing": gone,
            "sections": section_table(inside, chosen, asked.results),
        }
    return measures


def _unanswerable(inside: Recollect, plan: LibraryPlan, show: Show) -> dict[str, Any]:
    measures = {}
    for name, listed in (
        ("foreign", manuals.foreign_questions()),
        ("lacking", manuals.lacking_questions("tuning")),
        ("lacking_held", manuals.lacking_questions("held")),
    ):
        questions = spread(listed, plan.limit_questions)
        asked = consult_all(inside, questions, show, title=f"{name.replace('_', ' ')} questions")
        wrong = [text for text, one in zip(questions, asked.results, strict=True) if one.found]
        measures[name] = {
            **asked.summary(),
            "refused": 1 - len(wrong) / len(questions),
            "answered": wrong,
        }
    return measures


def _needles(client: Recollect, plan: LibraryPlan, docs: Path, show: Show) -> dict[str, Any]:
    needles = spread(library_needles.all_needles(), plan.limit_questions)
    pages = library_needles.make_haystack(docs, manuals.HAYSTACK, tokens=plan.needle_tokens, needles=needles)
    tenant = f"bench-needles-{plan.needle_tokens}-{len(needles)}"
    inside = library_needles.fill_haystack(client, tenant, pages, show)
    hidden = library_needles.find_hidden(inside, pages)
    measures: dict[str, Any] = {}
    if "needles" in plan.parts:
        inside.oracle_consult("What is described here?")
        asked = consult_all(inside, [one.needle.question for one in hidden], show, title="planted facts")
        pairs = list(library_needles.pairs_of(hidden))
        both = consult_all(inside, [text for text, _, _ in pairs], show, title="pairs of planted facts")
        together = [
            (one.cited_by(result), other.cited_by(result))
            for (_, one, other), result in zip(pairs, both.results, strict=True)
        ]
        found = list(zip(hidden, asked.results, strict=True))
        measures["needles"] = {
            **asked.summary(),
            "documents": len(pages),
            "tokens": plan.needle_tokens,
            "cited": mean(one.cited_by(result) for one, result in found),
            "cited_first_five": mean(one.cited_by(result, first=FIRST) for one, result in found),
            "cited_first": mean(one.cited_by(result, first=1) for one, result in found),
            "missed": [one.needle.number for one, result in found if not one.cited_by(result)],
        }
        measures["needle_pairs"] = {
            **both.summary(),
            "both_cited": mean(all(one) for one in together),
            "facts_cited": mean(sum(one) / 2 for one in together),
        }
    if "corruptions" in plan.parts:
        measures["corruptions"] = library_needles.corrupt(inside, pages, show, cases=CORRUPTIONS)
    return measures


# ---------------------------------------------------------------- asking


@dataclass(frozen=True, slots=True, kw_only=True)
class Consulted:
    """What consultations gave, how long each took, and what verifying all of them has shown."""

    results: Sequence[OracleConsultResult]
    times_ms: Sequence[float]
    citations: Mapping[str, int]

    def summary(self) -> dict[str, Any]:
        """As measures."""
        return {
            "asked": len(self.results),
            "found": mean(one.found for one in self.results),
            # Of all questions: what the judge accepts of answers, and of those that should not have been given.
            "supported": mean(any(cited.supports for cited in one.citations) for one in self.results),
            "consult_ms": latency(self.times_ms),
            "slowest_s": max(self.times_ms, default=0.0) / 1000,
            "citations": dict(self.citations),
        }


def consult_all(inside: Recollect, problems: Sequence[str], show: Show, *, title: str) -> Consulted:
    """Ask everything, each in a session of its own, and verify whatever is cited."""
    results: list[OracleConsultResult] = []
    times: list[float] = []
    counts = {"made": 0, "verified": 0}
    with show.stage(title, len(problems)) as progress:
        for number, problem in enumerate(problems, 1):
            started = time.perf_counter()
            result = inside.oracle_consult(problem)
            times.append((time.perf_counter() - started) * 1000)
            results.append(result)
            counts["made"] += len(result.citations)
            counts["verified"] += inside.verify(result.document()).quoted if result.citations else 0
            progress(number, None)
    return Consulted(results=results, times_ms=times, citations=counts)


def section_table(
    inside: Recollect, questions: Sequence[ManualQuestion], results: Sequence[OracleConsultResult]
) -> dict[str, dict[str, float]]:
    """The share of questions, of all and per kind, with a right section among the first that are cited."""
    trees: dict[str, Sequence[Section]] = {}
    groups: dict[str, list[dict[str, float]]] = {"all": []}
    for question, result in zip(questions, results, strict=True):
        if not question.gold:
            continue
        cited = _cited_sections(inside, result, trees)
        row = {
            "section@1": float(any(_parts_in(question, cited[:1]))),
            "section@5": float(any(_parts_in(question, cited[:FIRST]))),
            "all_parts@5": float(all(_parts_in(question, cited[:FIRST]))),
        }
        groups["all"].append(row)
        groups.setdefault(question.kind, []).append(row)
    return {
        name: {
            "questions": len(rows),
            **{key: mean(row[key] for row in rows) for key in (rows[0] if rows else {})},
        }
        for name, rows in groups.items()
    }


def _parts_in(question: ManualQuestion, sections: Sequence[tuple[str, str]]) -> list[bool]:
    """For each part of a question, whether one of the sections that answer it is there."""
    parts: dict[int, set[tuple[str, str]]] = {}
    for gold in question.gold:
        parts.setdefault(gold.part, set()).add((gold.file, gold.section))
    return [bool(wanted.intersection(sections)) for wanted in parts.values()]


def _cited_sections(
    inside: Recollect, result: OracleConsultResult, trees: dict[str, Sequence[Section]]
) -> list[tuple[str, str]]:
    """Document and heading of what is cited, in order, each once."""
    found: dict[tuple[str, str, int], None] = {}
    for one in result.citations:
        if one.file_path not in trees:
            trees[one.file_path] = inside.library.sections(one.file_path)
        section = next(
            (
                section
                for section in trees[one.file_path]
                if section.line_start <= one.line_start <= section.line_end
            ),
            None,
        )
        if section is not None:
            found[one.file_path, section.heading, section.line_start] = None
    return [(file, heading) for file, heading, _ in found]
