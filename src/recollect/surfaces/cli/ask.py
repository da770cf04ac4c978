"""`recollect ask`: one answer in words, from memories, documents and code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.surfaces.cli.invocation import invocation, read_argument
from recollect.surfaces.cli.runs import show_answer, watch_steps

if TYPE_CHECKING:
    from recollect.domain.findings import Answer
    from recollect.surfaces.cli.output import Output

app = typer.Typer(rich_markup_mode=None)


@app.command()
def ask(
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="memories or library; may be given twice. Both when not given."),
    ] = None,
    working_dir: Annotated[
        str | None, typer.Option("--working-dir", help="Folder with code that is asked, too.")
    ] = None,
    depth: Annotated[str, typer.Option(help="quick (one look), thorough (step by step) or auto.")] = "auto",
    model: Annotated[
        str | None, typer.Option(help="Chat model to ask; none when not named here or in the settings.")
    ] = None,
) -> None:
    """Answer a question in words, with citations; "Not known." when nothing answers."""
    inv = invocation(ctx)
    argument = read_argument(question, what="question")
    sources = source or ["memories", "library"]
    several = len(sources) + (working_dir is not None) > 1
    with inv.client() as client, watch_steps(inv.out, "asking") as (draw, _):
        answer = client.ask(
            argument,
            sources,
            working_dir=working_dir,
            depth=depth,
            model=model,
            on_event=None if inv.out.as_json else _teller(inv.out, draw, headed=several),
        )
    if inv.out.as_json:
        inv.out.document(answer)
    else:
        _show(inv.out, answer)


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


def _show(out: Output, answer: Answer) -> None:
    """What stands below the words, which were printed as they came."""
    cost = f"{answer.cost_usd:.4f} USD" if answer.cost_usd else ""
    words = "" if answer.found else answer.text
    show_answer(out, words, answer.citations, answer.notes, found=answer.found, summary=cost)
