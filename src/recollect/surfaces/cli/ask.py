"""`recollect ask`: one answer in words, from memories, documents and code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recollect.surfaces.cli.invocation import JsonOption, invocation, read_argument

if TYPE_CHECKING:
    from recollect.domain.answer import Answer
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
    json: JsonOption = False,
) -> None:
    """Answer a question in words, with citations; "Not known." when nothing answers."""
    inv = invocation(ctx)
    asked = read_argument(question, what="question")
    with inv.client() as client:
        answer = client.ask(
            asked, source or ("memories", "library"), working_dir=working_dir, depth=depth, model=model
        )
    if inv.out.as_json:
        inv.out.document(answer)
    else:
        _show(inv.out, answer)


def _show(out: Output, answer: Answer) -> None:
    out.answer(answer.text, answer.citations, answer.notes, found=answer.found)
    if answer.cost_usd:
        out.aside(f"{answer.cost_usd:.4f} USD")
