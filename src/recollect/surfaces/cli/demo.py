"""`recollect demo`: store the demo world, ask it things, show who may not see what.

Everything shown was found by a search a moment before; nothing is written down in advance but the questions.
The world lives in a tenant of its own, so a store with real memories in it stays as it was.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.surfaces.cli.invocation import Invocation, JsonOption, invocation
from recollect.surfaces.cli.memories import spoken
from recollect.surfaces.cli.output import Column, moment

if TYPE_CHECKING:
    from recollect.client_sync import Recollect
    from recollect.demo.world import Person, World
    from recollect.domain.results import Hit

app = typer.Typer(rich_markup_mode=None)

#: Answers that are looked at when recall is counted, and answers that are shown.
COUNTED, SHOWN = 5, 3
THRESHOLD = 0.7

_HEADINGS = {
    "simple": "Simple questions",
    "hard": "Harder ones: causes, decisions, who said what",
    "then": "What was believed on {as_of}, and what is believed now",
    "compare": "A comparison, asked by somebody who leads all three teams",
}
#: The same words, asked by people of different teams.
SHARED_QUESTION = "How do we handle errors?"
SHARED_ASKERS = ("ben", "luis", "jonas", "dora")
#: Something only one project may know.
INSIDE_QUESTION = "What is our walk-away price in the Orvo negotiation?"
INSIDE_KEY = "orvo-floor"
INSIDE_ASKERS = ("hugo", "jonas", "ben")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question with what was found for it. `nearest` means that nothing reached the threshold."""

    ask: str
    asked_by: str
    kind: str
    as_of: datetime | None
    milliseconds: float
    nearest: bool
    hits: tuple[Hit, ...]
    expected: tuple[str, ...]
    found: tuple[str, ...]


@app.command()
def demo(
    ctx: typer.Context,
    fresh: Annotated[bool, typer.Option("--fresh", help="Store the world anew even if it is there.")] = False,
    json: JsonOption = False,
) -> None:
    """Store a sample company and ask it simple and hard questions."""
    from recollect.demo.world import DEMO_TENANT, load_world, store_world

    inv = invocation(ctx)
    world = load_world()
    tenant = inv.tenant or DEMO_TENANT
    # The options before the command say which store; who asks is part of the story.
    operator = Invocation(home=inv.home, database_url=inv.database_url, out=inv.out)
    with operator.client() as client:
        _introduce(inv, world)
        started = time.perf_counter()
        with inv.out.progress("storing", total=len(world.memories)) as progress:
            stored = store_world(client, world, tenant=tenant, fresh=fresh, progress=progress)
        seconds = time.perf_counter() - started
        _tell_stored(inv, world, tenant, stored=stored, seconds=seconds)
        show = _Stage(inv, client, world, tenant)
        show.warm_up()
        answers = show.questions()
        same = show.same_question()
        secret = show.secret()
    following = _next_commands(inv, tenant)
    if inv.out.as_json:
        inv.out.document(
            {
                "tenant": tenant,
                "stored": stored,
                "memories": len(world.memories),
                "seconds": round(seconds, 3),
                "answers": answers,
                "same_question": same,
                "secret": secret,
                "next": following,
            }
        )
        return
    _headline(inv, "Try next")
    for command in following:
        inv.out.line(f"  {command}", style="bold")


def _introduce(inv: Invocation, world: World) -> None:
    teams = sum(scope.startswith("team/") for scope, _ in world.scopes)
    inv.out.line(
        f"{world.name}, {world.about}: {len(world.people)} people, {teams} teams, "
        f"{len(world.memories)} memories up to {world.now:%B %Y}.",
        style="bold",
    )


def _tell_stored(inv: Invocation, world: World, tenant: str, *, stored: bool, seconds: float) -> None:
    if stored:
        rate = len(world.memories) / seconds
        inv.out.line(f"Stored in tenant {tenant!r} in {seconds:.1f} s, {rate:.0f} memories a second.")
    else:
        inv.out.line(f"Already stored in tenant {tenant!r}; --fresh stores it anew.")


def _headline(inv: Invocation, text: str) -> None:
    inv.out.line("")
    inv.out.line(text, style="bold underline")


class _Stage:
    """Asks on behalf of the people of the world, and shows what they get."""

    def __init__(self, inv: Invocation, client: Recollect, world: World, tenant: str) -> None:
        self.inv = inv
        self.client = client
        self.world = world
        self.tenant = tenant
        self.people: dict[str, Person] = {person.id: person for person in world.people}

    def warm_up(self) -> None:
        """Open the model before the clock runs; a service would have it open all day."""
        started = time.perf_counter()
        self._as("quinn").search("warm up", limit=1)
        self.inv.out.line(
            f"The model and the connection are warm after {time.perf_counter() - started:.1f} s."
        )

    def _as(self, user: str) -> Recollect:
        return self.client.for_context(self.world.context(user, tenant=self.tenant))

    def _ask(
        self, ask: str, user: str, *, expect: Sequence[str] = (), kind: str = "", as_of: Any = None
    ) -> Answer:
        asker = self._as(user)
        options = {"limit": COUNTED, "now": self.world.now, "as_of": as_of}
        started = time.perf_counter()
        results = asker.search(ask, threshold=THRESHOLD, **options)
        elapsed = time.perf_counter() - started
        nearest = not results
        if nearest:
            results = asker.search(ask, threshold=0, **options)
        keys = [str(hit.metadata.get("key")) for hit in results]
        return Answer(
            ask=ask,
            asked_by=user,
            kind=kind,
            as_of=as_of,
            milliseconds=round(elapsed * 1000, 1),
            nearest=nearest,
            hits=results.hits,
            expected=tuple(expect),
            found=tuple(key for key in expect if key in keys),
        )

    def questions(self) -> list[Answer]:
        """The questions that come with the world, in their order, under headings by kind."""
        answers = []
        heading = ""
        for question in self.world.questions:
            if question.kind in _HEADINGS and _HEADINGS[question.kind] != heading:
                heading = _HEADINGS[question.kind]
                as_of = f"{question.as_of:%d %B %Y}" if question.as_of else ""
                _headline(self.inv, heading.format(as_of=as_of))
            answer = self._ask(
                question.ask,
                question.asked_by,
                expect=question.expect,
                kind=question.kind,
                as_of=question.as_of,
            )
            self._show(answer)
            answers.append(answer)
        return answers

    def same_question(self) -> list[Answer]:
        """One question, several teams, each with an answer of its own."""
        _headline(self.inv, f"The same question by different people: {SHARED_QUESTION}")
        answers = [self._ask(SHARED_QUESTION, user) for user in SHARED_ASKERS]
        rows = [(self._who(a.asked_by), *_best(a)) for a in answers]
        self.inv.out.table([Column(name="asked by", style="magenta"), *_ANSWER_COLUMNS], rows, header=False)
        return answers

    def secret(self) -> list[Answer]:
        """What one project keeps to itself, asked inside and outside of it."""
        _headline(self.inv, f"Who may know: {INSIDE_QUESTION}")
        answers = [self._ask(INSIDE_QUESTION, user, expect=[INSIDE_KEY]) for user in INSIDE_ASKERS]
        rows = []
        for answer in answers:
            if answer.found:
                hit = next(hit for hit in answer.hits if hit.metadata.get("key") == INSIDE_KEY)
                rows.append((self._who(answer.asked_by), f"{hit.score:.2f}", hit.text, hit.scope))
            else:
                rows.append(
                    (self._who(answer.asked_by), "", "nothing: for this person the row does not exist", "")
                )
        self.inv.out.table([Column(name="asked by", style="magenta"), *_ANSWER_COLUMNS], rows, header=False)
        self.inv.out.line(
            "PostgreSQL's row-level security decides this, not the program; "
            "'recollect doctor --isolation' attacks it."
        )
        return answers

    def _who(self, user: str) -> str:
        return f"{self.people[user].name}, {self.people[user].job}"

    def _show(self, answer: Answer) -> None:
        out = self.inv.out
        if out.as_json:
            return
        then = f" (as of {moment(answer.as_of)})" if answer.as_of else ""
        out.line("")
        out.line(
            f"{self.people[answer.asked_by].name}: {answer.ask}{then}  [{answer.milliseconds:.0f} ms]",
            style="magenta",
        )
        if answer.nearest:
            out.line(f"nothing reaches {THRESHOLD:g}; the nearest are:", style="yellow")
        rows = [
            (f"{hit.score:.2f}", spoken(hit.speaker, hit.text), hit.scope, moment(hit.created_at)[:10])
            for hit in answer.hits[:SHOWN]
        ]
        out.table([*_ANSWER_COLUMNS, Column(name="when", style="dim")], rows, header=False)


_ANSWER_COLUMNS = (
    Column(name="score", style="green", right=True),
    Column(name="memory", wide=True),
    Column(name="where", style="cyan"),
)


def _best(answer: Answer) -> tuple[str, str, str]:
    if not answer.hits:
        return "", "nothing", ""
    hit = max(answer.hits, key=lambda hit: hit.score)
    return f"{hit.score:.2f}", spoken(hit.speaker, hit.text), hit.scope


def _next_commands(inv: Invocation, tenant: str) -> list[str]:
    """Three commands that work as they stand, here and now."""
    from recollect.config import mask_url

    program = ["uv", "run", "recollect"] if os.environ.get("UV_RUN_RECURSION_DEPTH") else ["recollect"]
    if inv.home is not None:
        program += ["--home", str(inv.home)]
    if inv.database_url is not None:
        # A password is not printed, not even to the one who typed it.
        program += ["--database-url", mask_url(inv.database_url)]
    base = shlex.join(program)
    return [
        f'{base} --tenant {shlex.quote(tenant)} --user rosa search "who gets the next engineer?"',
        f"{base} --tenant {shlex.quote(tenant)} --user ana list --limit 5",
        f'{base} add "I drink my coffee black" && {base} search "how do I take my coffee?"',
    ]
