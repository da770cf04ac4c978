"""`recollect search context ask explain`: what is remembered about a question, and how it is read."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.domain.codec import encode
from recollect.surfaces.cli.invocation import (
    AsOfOption,
    DepthOption,
    DryRunOption,
    FilterOption,
    LayersOption,
    LimitOption,
    ModelOption,
    NowOption,
    QuestionArgument,
    ScopeOption,
    ThresholdOption,
    TimezoneOption,
    TypesOption,
    given,
    invocation,
    read_argument,
)
from recollect.surfaces.cli.memories import spoken
from recollect.surfaces.cli.output import Output, moment, one_line, visible
from recollect.surfaces.cli.runs import at_most, show_answer, show_plan, watch_steps

if TYPE_CHECKING:
    from recollect.domain.findings import Answer
    from recollect.domain.query import Aim, QueryType, ResolvedEntity, TimeRange, Understanding
    from recollect.domain.results import SearchResults

app = typer.Typer(rich_markup_mode=None)

#: How an entity was resolved, as people say it.
_METHODS = {
    "first_person": "who is asking",
    "exact": "known by this name",
    "alias": "known by another name",
    "fuzzy": "a similar name",
    "pronoun": "what the session was about",
    "domain": "a row of the domain database",
    "new": "not known yet",
}
NOTHING_YET = "nothing is remembered yet; begin with: recollect add TEXT"
#: Terms of a long query that are shown.
_SHOWN_TERMS = 40


@app.command()
def search(
    ctx: typer.Context,
    query: QuestionArgument,
    limit: LimitOption = 10,
    threshold: ThresholdOption = 0.7,
    layer: LayersOption = None,
    type: TypesOption = None,
    filter: FilterOption = None,
    scope: ScopeOption = None,
    as_of: AsOfOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False,
    diverse: Annotated[
        bool, typer.Option("--diverse", help="Prefer memories that do not say the same.")
    ] = False,
    dry_run: DryRunOption = False,
) -> None:
    """Find what answers a question."""
    inv = invocation(ctx)
    words = {"query": read_argument(query, what="query")}
    if dry_run:
        with inv.client() as client:
            plan = client.search_dry_run(**{**given(ctx, "search_dry_run"), **words})
        show_plan(inv.out, plan, [("memories", f"{plan.material_tokens:,} tokens")])
        return
    arguments = {**given(ctx, "search"), **words}
    with inv.client() as client:
        started = time.perf_counter()
        results = client.search(**arguments)
        seconds = time.perf_counter() - started
        empty = not results and not inv.out.as_json and not client.count()
    if empty:
        inv.out.aside(NOTHING_YET, style="yellow")
    else:
        show_results(inv.out, results, threshold=threshold, seconds=seconds)


def show_results(out: Output, results: SearchResults, *, threshold: float, seconds: float) -> None:
    """Hits, notes and the time it took."""
    if out.as_json:
        out.document(results)
        return
    for note in results.notes:
        out.aside(f"note: {note}", style="yellow")
    if not results:
        lower = "; try --threshold 0, which shows the nearest anyway" if threshold > 0 else ""
        out.aside(f"nothing scores {threshold:g} or more{lower}", style="yellow")
    elif out.on_terminal:
        _draw(out, results)
    else:
        for rank, hit in enumerate(results, 1):
            row = [rank, hit.score, hit.scope, hit.created_at, hit.id, spoken(hit.speaker, hit.text)]
            if hit.explanation is not None:
                row.append(hit.explanation.sentence)
            out.table("", [row])
    if out.on_terminal:
        out.aside(f"{len(results)} found in {seconds * 1000:.0f} ms")


def _draw(out: Output, results: SearchResults) -> None:
    """Hits as a table; texts are wrapped and whole, ids are left to `--json` and `list`."""
    from rich.text import Text

    columns = "#:dim>, score>, memory*, where:cyan, when:dim"
    rows = []
    for rank, hit in enumerate(results, 1):
        text = out.text(spoken(hit.speaker, hit.text))
        if hit.explanation is not None:
            text = Text.assemble(text, "\n", out.text(hit.explanation.sentence, "dim italic"))
        style = "green" if hit.score >= 0.7 else "yellow"
        rows.append((rank, out.text(f"{hit.score:.2f}", style), text, hit.scope, moment(hit.created_at)))
    out.table(columns, rows)


@app.command()
def context(
    ctx: typer.Context,
    query: QuestionArgument,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", help="The text is never longer than this.", metavar="N")
    ] = 3000,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many memories.", min=1)] = 15,
    threshold: ThresholdOption = 0.7,
    layer: LayersOption = None,
    type: TypesOption = None,
    filter: FilterOption = None,
    scope: ScopeOption = None,
    as_of: AsOfOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
    domain: Annotated[
        bool,
        typer.Option("--domain/--no-domain", help="Ask the domain database where the question needs it."),
    ] = True,
    messages: Annotated[
        bool, typer.Option("--messages", help="Print chat messages as JSON instead of the text.")
    ] = False,
) -> None:
    """Print what is known about a question, for a prompt.

    Notes go to standard error.
    """
    inv = invocation(ctx)
    arguments = {**given(ctx, "context"), "query": read_argument(query, what="query")}
    with inv.client() as client:
        made = client.context(**arguments)
    if messages:
        inv.out.document(made.to_messages())
    elif inv.out.as_json:
        inv.out.document({**encode(made), "messages": made.to_messages()})
    else:
        # A prompt gets every character as it is stored; only a terminal must not obey any.
        sys.stdout.write(visible(made.text) if inv.out.on_terminal else made.text)
    if not inv.out.as_json:
        for note in made.notes:
            print(f"note: {one_line(note)}", file=sys.stderr)


@app.command()
def ask(
    ctx: typer.Context,
    question: QuestionArgument,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="memories or library; may be given twice. Both when not given."),
    ] = None,
    working_dir: Annotated[
        str | None, typer.Option("--working-dir", help="Folder with code that is asked, too.")
    ] = None,
    depth: DepthOption = "auto",
    model: ModelOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Answer a question in words, with citations; "Not known." when nothing answers."""
    inv = invocation(ctx)
    arguments = {**given(ctx, "ask"), "question": read_argument(question, what="question")}
    if dry_run:
        with inv.client() as client:
            plan = client.ask_dry_run(**arguments)
        parts = [
            (name, f"{part.material_tokens:,} tokens, {at_most(part)}") for name, part in plan.sources.items()
        ]
        show_plan(inv.out, plan, parts)
        return
    several = len(source or ["memories", "library"]) + (working_dir is not None) > 1
    with inv.client() as client, watch_steps(inv.out, "asking") as (draw, _):
        teller = None if inv.out.as_json else _teller(inv.out, draw, headed=several)
        answer = client.ask(**arguments, on_event=teller)
        empty = (
            not answer.found
            and not inv.out.as_json
            and not client.count()
            and not client.library.list(limit=1)
        )
    inv.out.result(answer)
    _show_answer(inv.out, answer)
    if empty:
        inv.out.aside(NOTHING_YET, style="yellow")


def _teller(out: Output, draw: Callable[[object], None] | None, *, headed: bool) -> Callable[[object], None]:
    """Prints each source's answer as soon as it is there, and has the steps drawn until then."""
    from recollect.domain.findings import AnswerPart
    from recollect.runs.source import HEADINGS

    def tell(event: object) -> None:
        if not isinstance(event, AnswerPart):
            if draw is not None:
                draw(event)
            return
        if headed:
            out.line(f"{HEADINGS[event.source]}:", style="bold")
        for line in event.text.splitlines():
            out.line(line)

    return tell


def _show_answer(out: Output, answer: Answer) -> None:
    """What stands below the words, which were printed as they came."""
    cost = f"{answer.cost_usd:.4f} USD" if answer.cost_usd else ""
    words = "" if answer.found else answer.text
    show_answer(out, words, answer.citations, answer.notes, found=answer.found, summary=cost)


@app.command()
def explain(
    ctx: typer.Context,
    query: QuestionArgument,
    layer: LayersOption = None,
    scope: ScopeOption = None,
    now: NowOption = None,
    timezone: TimezoneOption = None,
) -> None:
    """Show how a question is understood: category, entities, time, weights."""
    inv = invocation(ctx)
    arguments = {**given(ctx, "explain"), "query": read_argument(query, what="query")}
    with inv.client() as client:
        understanding = client.explain(**arguments)
    inv.out.result(understanding)
    _show_understanding(inv.out, understanding)


def _show_understanding(out: Output, question: Understanding) -> None:
    """One line per thing that was understood, its name first."""
    rows = [("category", _category(question.type))]
    rows += [("entity", _entity(entity)) for entity in question.entities]
    if not question.entities:
        rows.append(("entity", "none"))
    rows.append(("time", "any" if question.time_range is None else _time(question.time_range)))
    rows.append(("wants", _wants(question.aim)))
    rows.append(("strategy", f"{question.strategy.name} ({question.strategy.source})"))
    rows += [
        ("weight", f"{weight:.2f}  {name.replace('_', ' ')}")
        for name, weight in question.strategy.weights.items()
    ]
    more = len(question.terms) - _SHOWN_TERMS
    rows.append(
        ("terms", ", ".join(question.terms[:_SHOWN_TERMS]) + (f" and {more} more" if more > 0 else ""))
    )
    rows += [("note", note) for note in question.notes]
    last = ""
    for name, value in rows:
        if out.on_terminal:
            out.line(f"{'' if name == last else name:<10} {one_line(value)}")
        else:
            out.table([], [(name, value)])
        last = name


def _category(kind: QueryType) -> str:
    flags = {
        "about entities": kind.entity_focused,
        "about a time": kind.time_focused,
        "about how something is done": kind.procedural,
        "needs current data": kind.requires_domain_db,
    }
    return ", ".join([kind.category.value, *(name for name, is_set in flags.items() if is_set)])


def _wants(aim: Aim) -> str:
    flags = {"about the past": aim.past, "about the asker": aim.first_person}
    return ", ".join(
        [aim.want.value.replace("_", " or "), *(name for name, is_set in flags.items() if is_set)]
    )


def _entity(entity: ResolvedEntity) -> str:
    parts = [
        f"{entity.mention_text} = {entity.name} ({entity.canonical_id})",
        entity.kind,
        f"{_METHODS[entity.method.value]}, {entity.confidence:.0%} sure",
    ]
    if entity.also:
        parts.append(f"also {', '.join(entity.also)}")
    if entity.rivals:
        parts.append(f"or {', '.join(entity.rivals)}")
    return "; ".join(parts)


def _time(period: TimeRange) -> str:
    start = moment(period.start) if period.start else "the beginning"
    end = moment(period.end) if period.end else "open end"
    anchored = f", from {period.anchor!r}" if period.anchor else ""
    return f"{start} to {end} (from {period.phrase!r}{anchored})"
