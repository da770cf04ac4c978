"""`recollect ontology`: what the tenant's own database is about, and what it says."""

from __future__ import annotations

import json as json_format
import tomllib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.domain.codec import encode
from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    TimezoneOption,
    YesOption,
    invocation,
    noun_app,
    opened,
    read_argument,
    read_file,
)
from recollect.surfaces.cli.output import Column, Output

if TYPE_CHECKING:
    from recollect.domain.ontology import DeclaredOntology, DomainResults
    from recollect.domain.results import Check

app = typer.Typer(rich_markup_mode=None)
ontology_app = noun_app("ontology", "Your own database: what is in it, and what it answers.")
app.add_typer(ontology_app)


@ontology_app.command("show")
def show(ctx: typer.Context) -> None:
    """Show what is declared.

    The types, relations and measures, and where they were declared.
    """
    with opened(ctx) as (inv, client):
        declared = client.ontology.get()
    _show_declared(inv.out, declared)


@ontology_app.command("declare")
def declare(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="TOML or JSON; - reads standard input.")],
) -> None:
    """Declare an ontology for the tenant, in place of the one before."""
    inv = invocation(ctx)
    document = _read_document(file)
    with inv.client() as client:
        declared = client.ontology.declare(document)
    _show_declared(inv.out, declared)


@ontology_app.command("check")
def check(ctx: typer.Context) -> None:
    """Compare the ontology with the database.

    Ends with 1 if something does not fit.
    """
    with opened(ctx) as (inv, client):
        checks = client.ontology.check()
    _show_checks(inv.out, list(checks))
    if not all(found.ok for found in checks):
        raise typer.Exit(1)


@ontology_app.command("clear")
def clear(ctx: typer.Context, yes: YesOption = False) -> None:
    """Withdraw the stored ontology.

    The one of recollect.toml counts again.
    """
    with opened(ctx, "Withdraw the stored ontology?", yes=yes) as (inv, client):
        cleared = client.ontology.clear()
    inv.out.result({"cleared": cleared})
    inv.out.line("withdrawn" if cleared else "none was stored")


@ontology_app.command("query")
def query(
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(help="The question; - reads standard input.")],
    now: Annotated[
        str | None, typer.Option(help="What 'last month' in the question is counted from.", metavar="TIME")
    ] = None,
    timezone: TimezoneOption = None,
) -> None:
    """Show what the database alone would answer to a question."""
    inv = invocation(ctx)
    text = read_argument(question, what="question")
    with inv.client() as client:
        results = client.ontology.query(text, now=now, timezone=timezone)
    show_domain_results(inv.out, results)


def _read_document(path: str) -> dict[str, Any]:
    """A TOML or JSON document; the `[ontology]` heading of recollect.toml may stay in it."""
    text = read_file(path, what="ontology")
    try:
        document = json_format.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except ValueError as error:
        raise InvalidInputError(f"ontology {path!r} is neither TOML nor JSON: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(f"ontology {path!r} is nested too deep") from error
    inner = document.get("ontology") if isinstance(document, dict) else None
    return inner if isinstance(inner, dict) else document


def _show_declared(out: Output, declared: DeclaredOntology) -> None:
    if out.as_json:
        shown = encode(declared)
        del shown["ontology"]
        out.document(shown)
        return
    for note in declared.notes:
        out.aside(f"note: {note}", style="yellow")
    ontology = declared.ontology
    if not ontology:
        out.aside("nothing is declared; write an ontology and run 'recollect ontology declare FILE'")
        return
    by = f" by {declared.by}" if declared.by else ""
    out.aside(f"declared in: {declared.source}{by}")
    columns = "what:dim, name:cyan, meaning*"
    rows: list[tuple[str, str, str]] = []
    for kind in ontology.types.values():
        words = f"; also {', '.join(kind.words)}" if kind.words else ""
        filters = f"; filters {', '.join(kind.filters)}" if kind.filters else ""
        rows.append(("type", kind.name, f"{kind.full_table}: {', '.join(kind.shown)}{words}{filters}"))
    for relation in ontology.relations:
        meaning = f"{relation.from_type}.{relation.from_column} = {relation.to_type}.{relation.to_column}"
        rows.append(("relation", f"{relation.from_type} {relation.name} {relation.to_type}", meaning))
    for measure in ontology.measures.values():
        what = f"{measure.aggregate} of {measure.column or 'rows'} of {measure.type}"
        rows.append(("measure", measure.name, f"{what}; asked as: {', '.join(measure.words)}"))
    out.table(columns, rows)


def _show_checks(out: Output, checks: list[Check]) -> None:
    out.result(checks)
    columns = ", what:cyan, finding*"
    out.table(columns, [("ok" if found.ok else "WRONG", found.name, found.detail) for found in checks])


def show_domain_results(out: Output, results: DomainResults) -> None:
    """Tables and notes of a domain database."""
    out.result(results)
    for note in results.notes:
        out.aside(f"note: {note}", style="yellow")
    if not results and not results.notes:
        out.aside("the question names nothing that the ontology declares")
    for table in results.tables:
        out.line(table.title, style="bold")
        last = len(table.columns) - 1
        columns = [Column(name=name, wide=place == last) for place, name in enumerate(table.columns)]
        if out.on_terminal:
            out.table(columns, table.rows)
        else:
            out.table(columns, [table.columns, *table.rows])
        if table.truncated:
            out.aside(f"only the first {len(table.rows)} rows")
