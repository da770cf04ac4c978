"""`recollect entities ontology`: what memories and questions name, and what the tenant's own database is about."""

from __future__ import annotations

import json as json_format
import tomllib
from collections.abc import Sequence
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
    from recollect.domain.names import Entity
    from recollect.domain.ontology import DeclaredOntology, DomainResults


app = typer.Typer(rich_markup_mode=None)
entities_app = noun_app("entities", "People, things and projects that memories name.")
app.add_typer(entities_app)

_Name = Annotated[str, typer.Argument(help="A name, an alias, or an id such as customer:a1b2.")]


@entities_app.command("declare")
def declare_entity(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    kind: Annotated[str, typer.Option(help="What kind of thing, as project, customer, product.")] = "thing",
    alias: Annotated[
        list[str] | None, typer.Option("--alias", help="Another name; repeat for more.", metavar="NAME")
    ] = None,
    canonical: Annotated[
        str | None, typer.Option(help="Its row in your own database, as customer:a1b2.", metavar="ID")
    ] = None,
) -> None:
    """Declare an entity for the whole tenant.

    Its names count in lower case, too. Needs admin.
    """
    with opened(ctx) as (inv, client):
        entity = client.entities.declare(name, kind=kind, aliases=alias or (), canonical=canonical)
    _show(inv.out, entity)


@entities_app.command("alias")
def add_alias(
    ctx: typer.Context,
    alias: Annotated[str, typer.Argument(help="The other name.")],
    entity: _Name,
) -> None:
    """Call an entity by another name.

    For yourself, or as admin for the whole tenant.
    """
    with opened(ctx) as (inv, client):
        known = client.entities.alias(alias, entity)
    _show(inv.out, known)


@entities_app.command("list")
def list_entities(
    ctx: typer.Context,
    prefix: Annotated[str, typer.Argument(help="Only names that begin so.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many.", min=1)] = 100,
) -> None:
    """List the entities you may see, with how many memories name each."""
    with opened(ctx) as (inv, client):
        entities = client.entities.list(prefix=prefix, limit=limit)
    none = "nobody and nothing is named yet" if not prefix else f"no name begins with {prefix!r}"
    _show(inv.out, entities, none=none)


@entities_app.command("graph")
def graph(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only what is named together with this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many entities.", min=1)] = 60,
) -> None:
    """Show which entities are named together, and how often."""
    with opened(ctx) as (inv, client):
        graph_ = client.entities.graph(name, limit=limit)
    inv.out.result(graph_)
    names = {entity.key: entity.name for entity in graph_.entities}
    columns = "one:cyan, other:cyan, memories>"
    inv.out.table(columns, [(names[link.source], names[link.target], link.memories) for link in graph_.links])


@entities_app.command("forget")
def forget(ctx: typer.Context, name: _Name) -> None:
    """Forget what was declared or learned of an entity.

    Memories that name it stay.
    """
    with opened(ctx) as (inv, client):
        rows = client.entities.forget(name)
    inv.out.result({"forgotten": name, "rows": rows})
    inv.out.line(f"forgot what was declared of {name}")


def _show(out: Output, entities: Entity | Sequence[Entity], *, none: str = "") -> None:
    columns = "name:cyan*, kind, source, also called, memories>, key:dim"
    out.show(entities, columns, lambda e: (e.name, e.kind, e.source, e.aliases, e.memories, e.key), none=none)


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
def declare_ontology(
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
    inv.out.show(
        list(checks), ", what:cyan, finding*", lambda c: ("ok" if c.ok else "WRONG", c.name, c.detail)
    )
    if not all(check_.ok for check_ in checks):
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
        document = encode(declared)
        del document["ontology"]
        out.document(document)
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
        rows.append(
            ("type", kind.name, f"{kind.full_table}: {', '.join(kind.display_columns)}{words}{filters}")
        )
    for relation in ontology.relations:
        meaning = f"{relation.from_type}.{relation.from_column} = {relation.to_type}.{relation.to_column}"
        rows.append(("relation", f"{relation.from_type} {relation.name} {relation.to_type}", meaning))
    for measure in ontology.measures.values():
        what = f"{measure.aggregate} of {measure.column or 'rows'} of {measure.type}"
        rows.append(("measure", measure.name, f"{what}; asked as: {', '.join(measure.words)}"))
    out.table(columns, rows)


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
