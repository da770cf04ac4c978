"""Questions that no single look answers: what do all teams do about something? Asked of a made-up organisation.

A question is covered by the share of the teams with something to say that are among its hits; a hit counts for a team
when it is the team's own and truly about the topic. Beside it, flat search (`recursion_threshold = 1`) at the same
limits. Everything goes through the public `search`, once with its defaults and once with `threshold=0`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.client.sync_client import Recollect
from recollect.errors import InvalidInputError
from recollect.runs.router import ComplexityRouter
from recollect_bench.organisation import TEAM, TOPIC, Organisation, Plan, make_organisation
from recollect_bench.questions import latency, mean, spread
from recollect_bench.result import Bar, Result, describe_environment, describe_store
from recollect_bench.trial import as_admin, fresh_tenant, trial_store

if TYPE_CHECKING:
    from recollect.domain.results import SearchResults
    from recollect_bench.show import Show

#: The same question in several ways; the last asks of one org's teams only.
PHRASINGS = (
    "Compare {topic} across all teams",
    "How does every team handle {topic}?",
    "What do the teams say about {topic}?",
    "Summarize {topic} practices across teams",
    "Differences in {topic} between our teams",
    "Compare {topic} across all {org} teams",
)
#: Every topic is asked in so many of them, in turn.
PER_TOPIC = 3
SIMPLE = (
    "Who is on holiday in {place}?",
    "What did {vendor} pay?",
    "Which book does {p} recommend?",
    "What is the name of {q}'s cat?",
    "Where is the half marathon that {p} runs?",
    "How much does {prod} cost?",
)
SIMPLE_QUESTIONS = 60
WIDE, NARROW = 100, 10
#: The share of the teams to be covered at the wide limit, and the different teams at the narrow one.
COVERED, DIFFERENT = 0.95, 10
PATHS = ("routed", "flat")
THRESHOLDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("default threshold", {}),
    ("threshold 0", {"threshold": 0.0}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask, about which topic, and the teams that have something to say."""

    text: str
    topic: str
    teams: frozenset[str]
    #: Whether it asks of one org's teams only.
    within_org: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one search gave: all teams among the hits, those with a hit on the topic, the share of such hits."""

    question: Question
    hits: int
    teams: int
    telling: int
    right_hits: float
    right_groups: float
    ms: float

    @property
    def coverage(self) -> float:
        """The share of the teams with something to say that are among the hits."""
        return self.telling / len(self.question.teams)


def run_aggregation(
    plan: Plan, *, embedder: str, limit_questions: int | None, home: Path | None, show: Show
) -> Result:
    """Store the organisation, ask every question on both paths, and count."""
    organisation = make_organisation(plan)
    questions = spread(list(questions_about(organisation)), limit_questions)
    with trial_store(embedder, home) as client:
        environment = describe_environment()
        inside = _stored(client, organisation, show)
        measures: dict[str, Any] = {
            "memories": len(organisation.items),
            "teams": plan.teams,
            "questions": len(questions),
            "routed_share": mean(ComplexityRouter().should_route_to_rlm(q.text) for q in questions),
        }
        with Recollect(settings=client.settings.replace(recursion_threshold=1.0)) as flat_client:
            flat = as_admin(flat_client, inside.tenant_context.tenant_id)
            for path, asked in zip(PATHS, (inside, flat), strict=True):
                measures[path] = _measure(asked, questions, f"asking, {path}", show)
        simple = spread(list(simple_questions(organisation)), limit_questions)
        measures["simple_ms"] = _time_simple(inside, simple, show)
        environment |= describe_store(client)
    routed = measures["routed"]["default threshold"]
    return Result(
        bench="aggregation",
        arguments={
            "memories": plan.memories,
            "teams": plan.teams,
            "seed": plan.seed,
            "embedder": embedder,
            "limit_questions": limit_questions,
        },
        measures=measures,
        bars=[
            Bar(
                name=f"teams covered at limit {WIDE}", value=routed[f"limit {WIDE}"]["coverage"], bar=COVERED
            ),
            Bar(
                name=f"different teams at limit {NARROW}",
                value=routed[f"limit {NARROW}"]["teams"],
                bar=min(DIFFERENT, plan.teams),
            ),
        ],
        environment=environment,
    )


def questions_about(organisation: Organisation) -> Iterator[Question]:
    """Every topic in some of the phrasings; those that nobody speaks about are left out."""
    orgs = sorted(set(organisation.org_of.values()))
    for number, (topic, speaking) in enumerate(organisation.speaking.items()):
        for turn in range(PER_TOPIC):
            phrasing = PHRASINGS[(number + turn) % len(PHRASINGS)]
            org = orgs[number % len(orgs)]
            within = "{org}" in phrasing
            teams = {team for team in speaking if organisation.org_of[team] == org} if within else speaking
            if teams:
                text = phrasing.format(topic=topic, org=org.capitalize())
                yield Question(text=text, topic=topic, teams=frozenset(teams), within_org=within)


def read_answer(question: Question, results: SearchResults, ms: float) -> Answer:
    """Which teams the hits speak for, by the truth in their metadata."""
    owners = [(hit.metadata.get(TEAM), hit.metadata.get(TOPIC) == question.topic) for hit in results]
    telling = {team for team, right in owners if right and team in question.teams}
    groups = [hit.group == f"team/{hit.metadata[TEAM]}" for hit in results if TEAM in hit.metadata]
    return Answer(
        question=question,
        hits=len(results),
        teams=len({team for team, _ in owners if team is not None}),
        telling=len(telling),
        right_hits=mean(right for _, right in owners),
        right_groups=mean(groups),
        ms=ms,
    )


def _measure(client: Recollect, questions: Sequence[Question], title: str, show: Show) -> dict[str, Any]:
    measures: dict[str, Any] = {}
    client.search(questions[0].text)  # what is loaded once is loaded now
    for name, options in THRESHOLDS:
        measures[name] = {}
        for limit in (WIDE, NARROW):
            answers = []
            with show.stage(f"{title}, {name}, limit {limit}", len(questions)) as progress:
                for number, question in enumerate(questions, 1):
                    started = time.perf_counter()
                    results = client.search(question.text, limit=limit, **options)
                    ms = (time.perf_counter() - started) * 1000
                    answers.append(read_answer(question, results, ms))
                    progress(number, None)
            measures[name][f"limit {limit}"] = _summary(answers)
    return measures


def _summary(answers: Sequence[Answer]) -> dict[str, Any]:
    # Of one org there are fewer teams than the narrow limit: no ten can be different.
    wide = [answer for answer in answers if not answer.question.within_org]
    least = min(answers, key=lambda answer: answer.coverage)
    return {
        "coverage": mean(answer.coverage for answer in answers),
        "least": {"question": least.question.text, "coverage": least.coverage},
        "teams": mean(answer.teams for answer in wide),
        "telling_teams": mean(answer.telling for answer in wide),
        "hits": mean(answer.hits for answer in answers),
        "right_hits": mean(answer.right_hits for answer in answers),
        "right_groups": mean(answer.right_groups for answer in answers),
        "search_ms": latency([answer.ms for answer in answers]),
    }


def _time_simple(client: Recollect, questions: Sequence[str], show: Show) -> dict[str, float]:
    """Searches that stay on the standard path, in the same store."""
    taken = []
    with show.stage("asking simple questions", len(questions)) as progress:
        for number, text in enumerate(questions, 1):
            started = time.perf_counter()
            client.search(text)
            taken.append((time.perf_counter() - started) * 1000)
            progress(number, None)
    return latency(taken)


def simple_questions(organisation: Organisation) -> Iterator[str]:
    """Questions about single things that are in the store."""
    slots = organisation.slots
    for number in range(SIMPLE_QUESTIONS):
        values = {name: known[number % len(known)] for name, known in slots.items()}
        yield SIMPLE[number % len(SIMPLE)].format(**values)


def _stored(client: Recollect, organisation: Organisation, show: Show) -> Recollect:
    """The tenant that holds the organisation; one that is there already is used again."""
    total = len(organisation.items)
    inside, there = fresh_tenant(client, f"bench-{organisation.name}", holds=total)
    if there:
        show.say(f"{total:,} memories of {organisation.name} are there already")
        return inside
    organisation.create_scopes(inside)
    with show.stage(f"storing {organisation.name}", total) as progress:
        report = inside.add_many(organisation.items, progress=progress)
    if report.errors:
        first = report.errors[0]
        raise InvalidInputError(f"{len(report.errors)} memories were refused; {first.message}")
    return inside
