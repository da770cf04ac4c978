"""`recollect update supersede restore delete`: changing what is remembered, and forgetting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    ConversationOption,
    FilterOption,
    LayersOption,
    ScopeOption,
    TypesOption,
    YesOption,
    confirm,
    invocation,
    opened,
    parse_object,
    read_argument,
)
from recollect.surfaces.cli.memories import show_memory
from recollect.surfaces.cli.output import Output

if TYPE_CHECKING:
    from recollect.domain.results import Receipt

app = typer.Typer(rich_markup_mode=None)

#: Fields that `update --clear` may empty.
CLEARABLE = (
    "subject",
    "predicate",
    "object",
    "trigger",
    "action",
    "entities",
    "metadata",
    "source",
    "valid_from",
    "valid_to",
    "expires_at",
)


@app.command()
def update(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="The memory's id.")],
    text: Annotated[str | None, typer.Option(help="The new text; - reads standard input.")] = None,
    subject: Annotated[str | None, typer.Option(help="Of a fact.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Of a fact.")] = None,
    object: Annotated[str | None, typer.Option(help="Of a fact.")] = None,
    trigger: Annotated[str | None, typer.Option(help="Of a procedure.")] = None,
    action: Annotated[str | None, typer.Option(help="Of a procedure.")] = None,
    entity: Annotated[list[str] | None, typer.Option(help="All entities anew; repeat for more.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    metadata: Annotated[str | None, typer.Option(help="All metadata anew.", metavar="JSON")] = None,
    valid_from: Annotated[str | None, typer.Option(help="Since when it is true.", metavar="TIME")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it is true.", metavar="TIME")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When to forget it.", metavar="TIME")] = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from.")] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(help="A field to empty, as expires_at; repeat for more.", metavar="FIELD"),
    ] = None,
) -> None:
    """Change one memory; what is not given stays. The old state is kept in its history."""
    inv = invocation(ctx)
    given: dict[str, Any] = {
        "text": None if text is None else read_argument(text, what="text"),
        "subject": subject,
        "predicate": predicate,
        "object": object,
        "trigger": trigger,
        "action": action,
        "entities": tuple(entity) if entity else None,
        "importance": importance,
        "metadata": parse_object(metadata, what="--metadata"),
        "valid_from": valid_from,
        "valid_to": valid_to,
        "expires_at": expires_at,
        "source": source,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    for name in clear or []:
        if name not in CLEARABLE:
            raise InvalidInputError(
                f"can't clear {name!r}; fields that can be empty are {', '.join(CLEARABLE)}"
            )
        if name in changes:
            raise InvalidInputError(f"{name!r} is both given and cleared; do one of the two")
        changes[name] = {"entities": (), "metadata": {}}.get(name)
    if not changes:
        raise InvalidInputError("nothing to change; give at least one option, for example --text")
    with inv.client() as client:
        memory = client.update(id, **changes)
    show_memory(inv.out, memory)


@app.command()
def supersede(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="The memory that is no longer believed.")],
    by: Annotated[str, typer.Option(help="The memory that replaces it.", metavar="ID")],
) -> None:
    """Replace a memory by another; the old one can be restored."""
    with opened(ctx) as (inv, client):
        memory = client.supersede(id, by=by)
    show_memory(inv.out, memory)


@app.command()
def restore(ctx: typer.Context, id: Annotated[str, typer.Argument(help="A superseded memory.")]) -> None:
    """Believe a superseded memory again."""
    with opened(ctx) as (inv, client):
        memory = client.restore(id)
    show_memory(inv.out, memory)


@app.command()
def delete(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Memories to erase.")] = None,
    filter: FilterOption = None,
    layer: LayersOption = None,
    scope: ScopeOption = None,
    type: TypesOption = None,
    conversation: ConversationOption = None,
    yes: YesOption = False,
) -> None:
    """Erase memories for good, and print a receipt."""
    inv = invocation(ctx)
    restriction: dict[str, Any] = {
        "filters": parse_object(filter, what="--filter"),
        "layers": layer or None,
        "scope": scope,
        "types": type or None,
        "conversation": conversation,
    }
    restricted = any(restriction.values())
    if ids and restricted:
        raise InvalidInputError("give ids or a restriction such as --filter, not both")
    if not ids and not restricted:
        raise InvalidInputError("say what to delete: ids, or a restriction such as --filter JSON")
    count = len(ids or ())
    what = "everything that matches" if restricted else "this memory" if count == 1 else f"{count} memories"
    confirm(inv, f"Erase {what} for good?", yes=yes)
    with inv.client() as client:
        if ids and count > 1:
            # All are looked at before the first is erased, so that a typing error erases nothing.
            restriction = {"filters": {"id": {"$in": [str(client.get(id).id) for id in ids]}}}
        receipt = client.delete(ids[0]) if ids and count == 1 else client.delete(**restriction)
    show_receipt(inv.out, receipt)


def show_receipt(out: Output, receipt: Receipt) -> None:
    """What was erased, where from, and what erasing can't reach."""
    out.result(receipt)
    rows = ", ".join(f"{table} {count}" for table, count in receipt.rows.items() if count)
    documents = receipt.rows.get("document", 0)
    erased = f"{receipt.memories} memories" if receipt.memories or not documents else ""
    if documents:
        erased += f"{', ' if erased else ''}{documents} document{'' if documents == 1 else 's'}"
    out.pairs(
        [
            ("erased", f"{erased} ({receipt.what})"),
            ("rows", rows),
            ("made again", f"{receipt.rebuilt} summaries" if receipt.rebuilt else ""),
            ("vacuum", receipt.vacuum),
            ("not reached", "; ".join(receipt.unreachable)),
            ("receipt", f"{receipt.id} of {receipt.at.isoformat(timespec='seconds')}"),
        ]
    )
