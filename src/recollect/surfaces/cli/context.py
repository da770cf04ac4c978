"""`recollect context`: what is known about a question, ready to be piped into a prompt."""

from __future__ import annotations

import sys
from typing import Annotated

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
from recollect.surfaces.cli.output import one_line, visible

app = typer.Typer(rich_markup_mode=None)


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
