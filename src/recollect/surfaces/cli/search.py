"""`recollect search` and `recollect context`: find memories, or what is known as text for a prompt."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.domain.codec import encode
from recollect.surfaces.cli.invocation import (
    AsOfOption,
    FilterOption,
    LayersOption,
    NowOption,
    ScopeOption,
    TimezoneOption,
    TypesOption,
    invocation,
    parse_object,
    read_argument,
)
from recollect.surfaces.cli.memories import spoken
from recollect.surfaces.cli.output import Column, Output, moment, one_line, visible

if TYPE_CHECKING:
    from recollect.domain.results import SearchResults

app = typer.Typer(rich_markup_mode=None)


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many.", min=1)] = 10,
    threshold: Annotated[float, typer.Option(help="From 0 (everything) to 1; 0.7 means relevant.")] = 0.7,
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
) -> None:
    """Find what answers a question."""
    inv = invocation(ctx)
    question = read_argument(query, what="query")
    filters = parse_object(filter, what="--filter")
    with inv.client() as client:
        started = time.perf_counter()
        results = client.search(
            question,
            limit=limit,
            threshold=threshold,
            layers=layer or None,
            types=type or None,
            filters=filters,
            scope=scope,
            as_of=as_of,
            now=now,
            timezone=timezone,
            explain=explain,
            diverse=diverse,
        )
        seconds = time.perf_counter() - started
    show_results(inv.out, results, threshold=threshold, seconds=seconds)


def show_results(out: Output, results: SearchResults, *, threshold: float, seconds: float) -> None:
    """Hits, notes and the time it took."""
    if out.as_json:
        out.document(results)
        return
    for note in results.notes:
        out.aside(f"note: {note}", style="yellow")
    if not results:
        lower = (
            "try --threshold 0, which shows the nearest anyway"
            if threshold > 0
            else "there is nothing here yet"
        )
        out.aside(f"nothing scores {threshold:g} or more; {lower}", style="yellow")
    elif out.on_terminal:
        _draw(out, results)
    else:
        for rank, hit in enumerate(results, 1):
            row = [rank, hit.score, hit.scope, hit.created_at, hit.id, spoken(hit.speaker, hit.text)]
            if hit.explanation is not None:
                row.append(hit.explanation.sentence)
            out.table([], [row])
    if out.on_terminal:
        out.aside(f"{len(results)} found in {seconds * 1000:.0f} ms")


def _draw(out: Output, results: SearchResults) -> None:
    """Hits as a table; texts are wrapped and whole, ids are left to `--json` and `list`."""
    from rich.text import Text

    columns = [
        Column(name="#", style="dim", right=True),
        Column(name="score", right=True),
        Column(name="memory", wide=True),
        Column(name="where", style="cyan"),
        Column(name="when", style="dim"),
    ]
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
    query: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", help="The text is never longer than this.", metavar="N")
    ] = 3000,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many memories.", min=1)] = 15,
    threshold: Annotated[float, typer.Option(help="From 0 (everything) to 1; 0.7 means relevant.")] = 0.7,
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
    question = read_argument(query, what="query")
    filters = parse_object(filter, what="--filter")
    with inv.client() as client:
        made = client.context(
            question,
            max_tokens=max_tokens,
            limit=limit,
            threshold=threshold,
            layers=layer or None,
            types=type or None,
            filters=filters,
            scope=scope,
            as_of=as_of,
            now=now,
            timezone=timezone,
            domain=domain,
        )
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
