"""`recollect entities`: what memories and questions name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.surfaces.cli.invocation import noun_app, opened
from recollect.surfaces.cli.output import Output

if TYPE_CHECKING:
    from recollect.domain.names import Entity

app = typer.Typer(rich_markup_mode=None)
entities_app = noun_app("entities", "People, things and projects that memories name.")
app.add_typer(entities_app)

_Name = Annotated[str, typer.Argument(help="A name, an alias, or an id such as customer:a1b2.")]


@entities_app.command("declare")
def declare(
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
    _show(inv.out, entity, [entity])


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
    _show(inv.out, known, [known])


@entities_app.command("list")
def list_entities(
    ctx: typer.Context,
    prefix: Annotated[str, typer.Argument(help="Only names that begin so.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many.", min=1)] = 100,
) -> None:
    """List the entities you may see, with how many memories name each."""
    with opened(ctx) as (inv, client):
        found = client.entities.list(prefix=prefix, limit=limit)
    _show(inv.out, found, found)


@entities_app.command("graph")
def graph(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Only what is named together with this.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most this many entities.", min=1)] = 60,
) -> None:
    """Show which entities are named together, and how often."""
    with opened(ctx) as (inv, client):
        found = client.entities.graph(name, limit=limit)
    inv.out.result(found)
    names = {entity.key: entity.name for entity in found.entities}
    columns = "one:cyan, other:cyan, memories>"
    inv.out.table(columns, [(names[link.source], names[link.target], link.memories) for link in found.links])


@entities_app.command("forget")
def forget(ctx: typer.Context, name: _Name) -> None:
    """Forget what was declared or learned of an entity.

    Memories that name it stay.
    """
    with opened(ctx) as (inv, client):
        rows = client.entities.forget(name)
    inv.out.result({"forgotten": name, "rows": rows})
    inv.out.line(f"forgot what was declared of {name}")


def _show(out: Output, document: object, found: Sequence[Entity]) -> None:
    out.result(document)
    columns = "name:cyan*, kind, source, also called, memories>, key:dim"
    out.table(columns, [(e.name, e.kind, e.source, ", ".join(e.aliases), e.memories, e.key) for e in found])
