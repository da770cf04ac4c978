"""`recollect demo`: a short story about a company's memory, told by asking it.

Remember, ask, update, compare, who may see what, forget. Everything shown was found by a search a moment before;
nothing is written down in advance but the questions. The company lives in a tenant of its own, so a store with real
memories in it stays as it was.
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

from recollect.surfaces.cli.invocation import Invocation, invocation
from recollect.surfaces.cli.memories import spoken
from recollect.surfaces.cli.output import Column

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.contrib.demo.world import Person, World
    from recollect.domain.results import Hit

app = typer.Typer(rich_markup_mode=None)

#: Answers that are looked at when it is counted what was found.
COUNTED = 5
#: Something only one project may know.
INSIDE_QUESTION = "What is our walk-away price in the Orvo negotiation?"
INSIDE_KEY = "orvo-floor"
INSIDE_ASKERS = ("hugo", "jonas", "ben")
#: Something that is told, found, and forgotten again.
PASSING_BY = "ines"
PASSING_TEXT = "The code of the side door at the Ghent depot is 4711."
PASSING_QUESTION = "What is the code of the side door in Ghent?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question with what was found for it."""

    ask: str
    asked_by: str
    kind: str
    as_of: datetime | None
    milliseconds: float
    hits: tuple[Hit, ...]
    expected: tuple[str, ...]
    found: tuple[str, ...]


@app.command()
def demo(
    ctx: typer.Context,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Store the company anew even if it is there.")
    ] = False,
) -> None:
    """Tell a short story: a company remembers, is asked, and forgets."""
    from recollect.contrib.demo.world import DEMO_TENANT, load_world, store_world

    inv = invocation(ctx)
    world = load_world()
    tenant = inv.tenant or DEMO_TENANT
    # The options say which store; who asks is part of the story.
    operator = Invocation(home=inv.home, database_url=inv.database_url, out=inv.out)
    with operator.client() as client:
        _headline(inv, "1. Remember")
        started = time.perf_counter()
        with inv.out.progress("storing", total=len(world.memories)) as progress:
            stored = store_world(client, world, tenant=tenant, fresh=fresh, progress=progress)
        seconds = time.perf_counter() - started
        _tell_stored(inv, world, tenant, stored=stored, seconds=seconds)
        story = _Story(inv, client, world, tenant)
        # The model is opened before the clock runs; a service has it open all day.
        story.ask("warm up", "quinn")
        answers = story.questions()
        secret = story.secret()
        forgotten = story.forgetting()
    following = _next_commands(inv, tenant)
    if inv.out.as_json:
        inv.out.document(
            {
                "tenant": tenant,
                "stored": stored,
                "memories": len(world.memories),
                "seconds": round(seconds, 3),
                "answers": answers,
                "secret": secret,
                "forgotten": forgotten,
                "next": following,
            }
        )
        return
    _headline(inv, "Try next")
    for command in following:
        inv.out.line(f"  {command}", style="bold", whole=True)


def _tell_stored(inv: Invocation, world: World, tenant: str, *, stored: bool, seconds: float) -> None:
    inv.out.line(
        f"{world.name}, {world.about}: {len(world.people)} people in {len(world.scopes)} teams, projects and "
        f"departments, {len(world.memories)} memories."
    )
    if stored:
        inv.out.line(f"Stored in {seconds:.1f} s, on this machine, without an API key (tenant {tenant!r}).")
    else:
        inv.out.line(f"Already stored in tenant {tenant!r}; --fresh stores it anew.")


def _headline(inv: Invocation, text: str) -> None:
    inv.out.line("")
    inv.out.line(text, style="bold underline")


#: The chapters of the story that are questions, by the kind of question that begins each.
_CHAPTERS = {
    "ask": "2. Ask",
    "then": "3. Update: the fee changed in July, and both answers are still known",
    "compare": "4. Compare: asked by somebody who leads all three teams",
}


class _Story:
    """Asks on behalf of the people of the world, and shows what they get."""

    def __init__(self, inv: Invocation, client: Recollect, world: World, tenant: str) -> None:
        self.inv = inv
        self.client = client
        self.world = world
        self.tenant = tenant
        self.people: dict[str, Person] = {person.id: person for person in world.people}

    def _as(self, user: str) -> Recollect:
        return self.client.for_context(self.world.context(user, tenant=self.tenant))

    def ask(
        self, ask: str, user: str, *, expect: Sequence[str] = (), kind: str = "", as_of: Any = None
    ) -> Answer:
        """What somebody finds."""
        asker = self._as(user)
        started = time.perf_counter()
        results = asker.search(ask, limit=COUNTED, now=self.world.now, as_of=as_of)
        elapsed = time.perf_counter() - started
        keys = [str(hit.metadata.get("key")) for hit in results]
        return Answer(
            ask=ask,
            asked_by=user,
            kind=kind,
            as_of=as_of,
            milliseconds=round(elapsed * 1000, 1),
            hits=results.hits,
            expected=tuple(expect),
            found=tuple(key for key in expect if key in keys),
        )

    def questions(self) -> list[Answer]:
        """The questions of the story, in their order."""
        answers: list[Answer] = []
        for question in self.world.questions:
            if not question.told:
                continue
            if question.kind in _CHAPTERS and question.kind not in {answer.kind for answer in answers}:
                _headline(self.inv, _CHAPTERS[question.kind])
            answer = self.ask(
                question.ask,
                question.asked_by,
                expect=question.expect,
                kind=question.kind,
                as_of=question.as_of,
            )
            # An answer in several parts shows as many.
            self._show(answer, len(question.expect))
            answers.append(answer)
        return answers

    def secret(self) -> list[Answer]:
        """What one project keeps to itself, asked inside and outside of it."""
        _headline(self.inv, "5. Who may see what: PostgreSQL decides, not the program")
        self.inv.out.line(INSIDE_QUESTION, style="magenta")
        answers = [self.ask(INSIDE_QUESTION, user, expect=[INSIDE_KEY]) for user in INSIDE_ASKERS]
        rows = []
        for answer in answers:
            inside = next((hit for hit in answer.hits if hit.metadata.get("key") == INSIDE_KEY), None)
            answer_ = "nothing: for this person the row does not exist" if inside is None else inside.text
            rows.append((self._who(answer.asked_by), answer_))
        columns = [Column(name="asked by", style="magenta"), Column(name="memory", wide=True)]
        self.inv.out.table(columns, rows, header=False)
        return answers

    def forgetting(self) -> dict[str, Any]:
        """Something is told, found, erased with a receipt, and not found any more."""
        _headline(self.inv, "6. Forget, with proof")
        somebody = self._as(PASSING_BY)
        memory = somebody.add(PASSING_TEXT)
        before = self.ask(PASSING_QUESTION, PASSING_BY)
        self._show(before, 1)
        receipt = somebody.delete(memory.id)  # type: ignore[union-attr]
        rows = [count for count in receipt.rows.values() if count]
        self.inv.out.line(
            f"Erased: {sum(rows)} rows in {len(rows)} tables, receipt {receipt.id}. "
            f"Not reached: {', '.join(receipt.unreachable)}."
        )
        after = self.ask(PASSING_QUESTION, PASSING_BY)
        self._show(after, 1)
        return {"before": before, "receipt": receipt, "after": after}

    def _who(self, user: str) -> str:
        return f"{self.people[user].name}, {self.people[user].job}"

    def _show(self, answer: Answer, most: int) -> None:
        out = self.inv.out
        if out.as_json:
            return
        then = f" (on {answer.as_of:%d %B %Y})" if answer.as_of else ""
        asker = self.people[answer.asked_by].name
        out.line(f"{asker}: {answer.ask}{then}  [{answer.milliseconds:.0f} ms]", style="magenta")
        if not answer.hits:
            out.line("nothing: it is not known", style="yellow")
        rows = [(spoken(hit.speaker, hit.text), hit.scope) for hit in answer.hits[:most]]
        out.table([Column(name="memory", wide=True), Column(name="where", style="cyan")], rows, header=False)


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
        f'{base} search "who gets the next engineer?" --tenant {shlex.quote(tenant)} --user rosa',
        f'{base} add "I drink my coffee black" && {base} search "how do I take my coffee?"',
        f'{base} context "How do I rotate the signing key?" --tenant {shlex.quote(tenant)} --user ben',
    ]
