"""`recollect add get list history conflicts export update supersede restore delete`: memories, one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.domain.ids import parse_id
from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    STDIN,
    AsOfOption,
    ConversationOption,
    FilterOption,
    IdArgument,
    Invocation,
    LayersOption,
    ScopeOption,
    TypesOption,
    YesOption,
    confirm,
    given,
    invocation,
    opened,
    parse_json,
    parse_object,
    read_argument,
    read_file,
)
from recollect.surfaces.cli.output import Output
from recollect.surfaces.counts import many

if TYPE_CHECKING:
    from recollect.domain.memory import Memory
    from recollect.domain.results import Inference, Page, Receipt

app = typer.Typer(rich_markup_mode=None)


@app.command()
def add(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(help="What to remember; - reads standard input.")] = None,
    messages: Annotated[
        str | None,
        typer.Option(
            help='A JSON file with a list of {"role", "content"}: one memory per turn.', metavar="FILE"
        ),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="agent, user, session, project, team, org or company. [default: user]")
    ] = None,
    scope: Annotated[str | None, typer.Option(help="The scope in that layer, as team/api.")] = None,
    type: Annotated[str, typer.Option(help="episodic, semantic, procedural or summary.")] = "episodic",
    subject: Annotated[str | None, typer.Option(help="Of a fact: whom or what it is about.")] = None,
    predicate: Annotated[str | None, typer.Option(help="Of a fact: the relation.")] = None,
    object: Annotated[str | None, typer.Option(help="Of a fact: the value.")] = None,
    trigger: Annotated[str | None, typer.Option(help="Of a procedure: when to do it.")] = None,
    action: Annotated[str | None, typer.Option(help="Of a procedure: what to do.")] = None,
    entity: Annotated[
        list[str] | None, typer.Option(help="Somebody or something named; repeat for more.")
    ] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1; by type if not given.")] = None,
    metadata: Annotated[str | None, typer.Option(help="Labels to filter by.", metavar="JSON")] = None,
    created_at: Annotated[
        str | None, typer.Option(help="When it was learned, as 2026-05-08.", metavar="TIME")
    ] = None,
    valid_from: Annotated[str | None, typer.Option(help="Since when it is true.", metavar="TIME")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it is true.", metavar="TIME")] = None,
    expires_at: Annotated[str | None, typer.Option(help="When to forget it.", metavar="TIME")] = None,
    conversation: Annotated[str | None, typer.Option(help="The conversation this is a turn of.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from.")] = None,
    infer: Annotated[
        bool, typer.Option("--infer", help="Derive facts from what is said, and say what was stored and why.")
    ] = False,
) -> None:
    """Remember a text, or the turns of a conversation."""
    from recollect.domain.memory import Memory

    inv = invocation(ctx)
    fields = given(ctx, "add")
    content = _content(
        text, messages, parts_given=bool((subject and predicate and object) or (trigger and action))
    )
    with inv.client() as client:
        stored = client.add(content, **fields)
    if isinstance(stored, Memory | list):
        _show_stored(inv, stored)
    else:
        _show_inference(inv, stored)


def _content(text: str | None, messages: str | None, *, parts_given: bool) -> Any:
    if text is not None and messages is not None:
        raise InvalidInputError("give either a text or --messages, not both")
    if messages is not None:
        value = parse_json(read_file(messages, what="messages"), what=f"the file {messages!r}")
        if not isinstance(value, list):
            raise InvalidInputError(
                f"{messages!r} must hold a JSON list of messages, not {value.__class__.__name__}"
            )
        return value
    if text is None and not parts_given:
        raise InvalidInputError("nothing to remember; give a text, - for standard input, or --messages FILE")
    return None if text is None else read_argument(text, what="text")


def _show_stored(inv: Invocation, stored: Memory | list[Memory]) -> None:
    if inv.out.as_json:
        inv.out.document(stored)
        return
    memories = stored if isinstance(stored, list) else [stored]
    if not inv.out.on_terminal:
        for memory in memories:
            print(memory.id)
        return
    for memory in memories[:3]:
        repeat = f", remembered {memory.use_count + 1} times" if memory.use_count else ""
        inv.out.line(f"remembered in {memory.scope}{repeat}: {memory.id}")
    if len(memories) > 3:
        inv.out.line(f"... and {len(memories) - 3} more turns of conversation {memories[0].conversation}")


def _show_inference(inv: Invocation, done: Inference) -> None:
    """What was stored, then what was decided about each statement, then what did not work."""
    if inv.out.as_json:
        inv.out.document(done)
        return
    _show_stored(inv, list(done.memories))
    rows = [
        (decision.kind, decision.text or decision.other_id, decision.reason) for decision in done.decisions
    ]
    inv.out.table("done, with*, why:dim", rows)
    for note in done.notes:
        inv.out.aside(note)


@app.command()
def conflicts(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(help="Show at most so many pairs.")] = 50,
) -> None:
    """List memories that contradict each other.

    Supersede or delete one of each pair.
    """
    with opened(ctx) as (inv, client):
        pairs = client.conflicts(limit=limit)
    inv.out.show(
        pairs,
        "memory, says*, other, says*",
        lambda pair: (pair.memory.id, pair.memory.text, pair.other.id, pair.other.text),
        none="no memories contradict each other",
    )


@app.command()
def get(ctx: typer.Context, id: IdArgument) -> None:
    """Show one memory with everything that is known about it."""
    with opened(ctx) as (inv, client):
        memory = client.get(id)
    show_memory(inv.out, memory)


def show_memory(out: Output, memory: Memory) -> None:
    """One memory, as a document or as names and values."""
    out.result(memory)
    if out.on_terminal:
        out.line(memory.text)
        out.line("")
    else:
        out.pairs([("text", memory.text)])
    names = [
        item for item in memory.__dataclass_fields__ if item not in {"text", "tenant_id", "layer", "position"}
    ]
    out.pairs([(name, getattr(memory, name)) for name in names])


@app.command("list")
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 20,
    cursor: Annotated[str | None, typer.Option(help="Where the page before this one ended.")] = None,
    layer: LayersOption = None,
    scope: ScopeOption = None,
    type: TypesOption = None,
    filter: FilterOption = None,
    conversation: ConversationOption = None,
    superseded: Annotated[bool, typer.Option("--superseded", help="Superseded ones too.")] = False,
    as_of: AsOfOption = None,
    order: Annotated[str, typer.Option(help="newest or oldest first.")] = "newest",
    count: Annotated[bool, typer.Option("--count", help="Say only how many there are.")] = False,
) -> None:
    """List memories, newest first, page by page."""
    inv = invocation(ctx)
    chosen = given(ctx, "count")
    with inv.client() as client:
        if count:
            number = client.count(**chosen)
            inv.out.result({"memories": number})
            inv.out.line(f"{number}")
            return
        page = client.list(limit=limit, cursor=cursor, order=order, **chosen)
    inv.out.result(page)
    if not page.items:
        inv.out.aside("no memories here; add one: recollect add TEXT")
        return
    if inv.out.on_terminal:
        _draw(inv.out, page)
    else:
        inv.out.table(
            "", [(m.created_at, m.scope, m.type.value, m.id, spoken(m.speaker, m.text)) for m in page]
        )
    if page.next_cursor:
        inv.out.aside(f"more with --cursor {page.next_cursor}")


def _draw(out: Output, page: Page) -> None:
    """Memories as a table; the id stands below the text, for beside it there is no room."""
    from rich.text import Text

    columns = "when:dim, where:cyan, memory*"
    rows = []
    for memory in page:
        text = out.text(spoken(memory.speaker, memory.text))
        label = out.text(f"{memory.id} {memory.type.value}", "dim")
        rows.append((memory.created_at, memory.scope, Text.assemble(text, "\n", label)))
    out.table(columns, rows)


def spoken(speaker: str | None, text: str) -> str:
    """A turn with its speaker, as in a script."""
    return f"{speaker}: {text}" if speaker else text


@app.command()
def history(ctx: typer.Context, id: IdArgument) -> None:
    """Show every change of one memory, and what it was before."""
    with opened(ctx) as (inv, client):
        entries = client.history(id)
    columns = "when:dim, what:cyan, by, before*"
    inv.out.show(entries, columns, lambda entry: (entry.at, entry.event, entry.by, dict(entry.before or {})))


@app.command()
def export(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to write; - is standard output.")] = STDIN,
    filter: FilterOption = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write every memory you may see as JSON Lines."""
    inv = invocation(ctx)
    filters = parse_object(filter, what="--filter")
    if file == STDIN:
        with inv.client() as client:
            client.export_jsonl(sys.stdout, filters=filters)
        return
    count = _export_to(inv, Path(file), filters=filters, force=force)
    inv.out.result({"exported": count, "file": file})
    inv.out.line(f"{count} memories written to {file}")


def _export_to(inv: Invocation, path: Path, *, filters: dict[str, object] | None, force: bool) -> int:
    if path.exists() and not force:
        raise InvalidInputError(f"{str(path)!r} exists; choose another name or add --force")
    if not path.parent.is_dir():
        raise InvalidInputError(f"the folder {str(path.parent)!r} does not exist; make it first")
    with inv.client() as client, inv.out.progress("exporting") as progress:
        return client.export_jsonl(path, filters=filters, progress=progress)


#: Fields that `update --clear` may empty.
CLEARABLE = (
    "subject", "predicate", "object", "trigger", "action", "entities", "metadata", "source", "valid_from", "valid_to",
    "expires_at",
)  # fmt: skip


@app.command()
def update(
    ctx: typer.Context,
    id: IdArgument,
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
    changes = {name: value for name, value in given(ctx, "update").items() if name != "id"}
    if text is not None:
        changes["text"] = read_argument(text, what="text")
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
    restriction = given(ctx, "delete")
    restricted = any(restriction.values())
    if ids and restricted:
        raise InvalidInputError("give ids or a restriction such as --filter, not both")
    if not ids and not restricted:
        raise InvalidInputError("say what to delete: ids, or a restriction such as --filter JSON")
    for id in ids or ():
        parse_id(id)  # before anybody is asked whether to go on
    count = len(ids or ())
    what = "everything that matches" if restricted else "this memory" if count == 1 else many(count)
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
    erased = many(receipt.memories) if receipt.memories or not documents else ""
    if documents:
        erased += f"{', ' if erased else ''}{many(documents, 'document')}"
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
