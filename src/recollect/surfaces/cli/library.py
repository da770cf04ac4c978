"""`recollect library`: whole documents, added, listed, searched and removed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.domain.library import FileError, FolderReport
from recollect.errors import InvalidInputError, RecollectError, StoreError
from recollect.surfaces.cli.invocation import (
    STDIN,
    Invocation,
    YesOption,
    confirm,
    invocation,
    noun_app,
    opened,
    read_stdin_bytes,
)
from recollect.surfaces.cli.memories import show_receipt
from recollect.surfaces.cli.output import PARTLY_STORED, one_line

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.domain.library import Document, DocumentReport, SectionResults

app = typer.Typer(rich_markup_mode=None)
library_app = noun_app("library", "Whole documents: kept with their lines, found by section, cited by line.")
app.add_typer(library_app)

_Document = Annotated[str, typer.Argument(help="A document's id, as 'library list' shows it.")]
_TagsOption = Annotated[
    list[str] | None, typer.Option("--tag", help="A label; repeat for more.", metavar="TAG")
]
_OnlyTags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="Only documents with this tag; repeat for more.", metavar="TAG"),
]
_InScope = Annotated[
    str | None, typer.Option("--scope", help="The scope it is in, as team/api.", metavar="SCOPE")
]


@library_app.command("add")
def add(
    ctx: typer.Context,
    paths: Annotated[
        list[str], typer.Argument(help="Files and folders; - reads standard input.", metavar="PATHS...")
    ],
    tag: _TagsOption = None,
    title: Annotated[str | None, typer.Option(help="Its title, if not the one in the file.")] = None,
    id: Annotated[
        str | None, typer.Option(help="What it is called, as fastapi-docs. [default: the file's name]")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="agent, user, session, project, team, org or company. [default: user]")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="The scope in that layer, as team/api.", metavar="SCOPE")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="What the file is, when its name does not tell: markdown, html, pdf ..."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until a worker has indexed it.")] = False,
) -> None:
    """Add documents: files, and all files of folders.

    A file that is unchanged is left alone; of a changed one only the sections that changed are indexed again. In a
    folder, files that git ignores are left out. One of several that can't be read is named and the others are added;
    the exit code is then 8.
    """
    inv = invocation(ctx)
    alone = len(paths) == 1
    placement: dict[str, Any] = {"id": id, "tags": tag, "layer": layer, "scope": scope}
    details: dict[str, Any] = {"title": title, "kind": kind}
    if not alone or _is_folder(paths[0]):
        what = f"{paths[0]!r} is a folder" if alone else f"there are {len(paths)}"
        for option, value in {**details, "id": None if alone else id}.items():
            if value is not None:
                raise InvalidInputError(f"--{option} is for one document, and {what}")
    with inv.client() as client:
        if alone and not _is_folder(paths[0]):
            source = _source(paths[0], id)
            details["name"] = id if paths[0] == STDIN else None
            with inv.out.progress("indexing") as progress:
                done = client.library.add(source, **placement, **details, wait=wait, progress=progress)
            _show_added(inv, done)
            return
        with inv.out.progress("adding") as progress:
            if alone:
                reports = [client.library.add_folder(paths[0], **placement, progress=progress)]
            else:
                reports = [_add_path(client, path, placement, wait=wait) for path in paths]
    _show_folder(inv, FolderReport.joined(reports))


def _add_path(client: Recollect, path: str, placement: dict[str, Any], *, wait: bool) -> FolderReport:
    """Add one of several files and folders; what is wrong with it does not keep the others from being added."""
    try:
        if _is_folder(path):
            return client.library.add_folder(path, **placement)
        return FolderReport(reports=(client.library.add(_source(path, None), **placement, wait=wait),))
    except StoreError:
        raise
    except RecollectError as error:
        return FolderReport(errors=(FileError(path=path, code=error.code, message=str(error)),))


def _is_folder(path: str) -> bool:
    return path != STDIN and os.path.isdir(os.path.expanduser(path))


def _source(path: str, id: str | None) -> str | bytes:
    if path != STDIN:
        return path
    if id is None:
        raise InvalidInputError("a document from standard input needs a name; add --id NAME")
    return read_stdin_bytes("document")


def _show_added(inv: Invocation, done: DocumentReport) -> None:
    if inv.out.as_json:
        inv.out.document(done)
        return
    document = done.document
    if not inv.out.on_terminal:
        print(f"{done.outcome}\t{document.name}")
    elif done.outcome == "unchanged":
        inv.out.line(f"{document.name} is unchanged")
    elif done.outcome == "queued":
        inv.out.line(f"{document.name} is kept; a worker indexes it (--wait stays until it has)")
    else:
        kept = f", {done.kept} as they were" if done.outcome == "updated" and done.kept else ""
        inv.out.line(
            f"{done.outcome} {document.name}: {document.sections} sections{kept}, {document.tokens:,} tokens"
        )
    _show_remarks(inv, document)


def _show_remarks(inv: Invocation, document: Document) -> None:
    """What a user should know about the reading."""
    for note in document.notes:
        inv.out.aside(note)
    for gap in document.gaps[:5]:
        where = f"{gap.where}: " if gap.where else ""
        inv.out.aside(f"not read: {where}{gap.description}")
    if len(document.gaps) > 5:
        inv.out.aside(f"not read: {len(document.gaps) - 5} more, which 'library get --json' lists")


def _show_folder(inv: Invocation, report: FolderReport) -> None:
    if inv.out.as_json:
        inv.out.document(
            {
                "counts": dict(report.counts),
                "reports": report.reports,
                "errors": report.errors,
                "left_out": [{"path": path, "reason": reason} for path, reason in report.left_out],
            }
        )
    else:
        for error in report.errors:
            print(f"recollect: {one_line(error.path)}: {one_line(error.message)}", file=sys.stderr)
        counts = {**report.counts, "not added": len(report.errors), "left out": len(report.left_out)}
        parts = [f"{count} {what}" for what, count in counts.items() if count]
        inv.out.line(", ".join(parts) or "the folder has no files to add")
        for path, reason in report.left_out[:5]:
            inv.out.aside(f"left out: {path}: {reason}")
        if len(report.left_out) > 5:
            inv.out.aside(f"left out: {len(report.left_out) - 5} more, which --json lists")
    if report.errors:
        raise typer.Exit(PARTLY_STORED)


@library_app.command("list")
def list_(
    ctx: typer.Context,
    tag: _OnlyTags = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="Only this scope, as team/api.", metavar="SCOPE")
    ] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1)] = 1_000,
    after: Annotated[str, typer.Option(help="Only ids that come behind this one.", metavar="ID")] = "",
) -> None:
    """List documents by id."""
    with opened(ctx) as (inv, client):
        documents = client.library.list(tags=tag, scope=scope, limit=limit, after=after)
    inv.out.show(
        documents,
        "document*, title*, where:cyan, tokens, state, tags:dim",
        lambda document: (
            document.name,
            document.title,
            document.scope,
            document.tokens,
            document.state,
            document.tags,
        ),
        none="no documents here; add one: recollect library add FILE",
    )


@library_app.command("get")
def get(
    ctx: typer.Context,
    document: _Document,
    text: Annotated[bool, typer.Option("--text", help="Print its text instead.")] = False,
    lines: Annotated[
        str | None, typer.Option(help="Print these lines, as 10-20.", metavar="FIRST-LAST")
    ] = None,
    scope: _InScope = None,
) -> None:
    """Show what is known of a document and its sections, or its text."""
    inv = invocation(ctx)
    first, last = _line_range(lines)
    with inv.client() as client:
        record = client.library.get(document, scope=scope)
        if text or lines:
            body = client.library.text(record.id, line_start=first, line_end=last)
            if inv.out.as_json:
                inv.out.document({"document": record.name, "text": body})
            else:
                print(body)
            return
        sections = client.library.sections(record.id)
    inv.out.result({"document": record, "sections": sections})
    names = [name for name in record.__dataclass_fields__ if name not in {"gaps", "notes", "layer", "digest"}]
    inv.out.pairs([(name, getattr(record, name)) for name in names])
    _show_remarks(inv, record)
    columns = "section*, lines, pages"
    rows = [
        (section.path or record.title, f"{section.line_start}-{section.line_end}", _pages(section.pages))
        for section in sections
    ]
    inv.out.table(columns, rows)


def _pages(pages: tuple[int, int] | None) -> str:
    if pages is None:
        return ""
    return str(pages[0]) if pages[0] == pages[1] else f"{pages[0]}-{pages[1]}"


def _line_range(lines: str | None) -> tuple[int | None, int | None]:
    if lines is None:
        return None, None
    first, dash, last = lines.partition("-")
    try:
        return int(first), int(last) if dash else int(first)
    except ValueError:
        raise InvalidInputError(f"--lines {lines!r} is not of the form 10-20") from None


@library_app.command("search")
def search(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="A question, or words.")],
    document: Annotated[
        list[str] | None,
        typer.Option("--document", "-d", help="Only this document; repeat for more.", metavar="ID"),
    ] = None,
    tag: _OnlyTags = None,
    limit: Annotated[int, typer.Option(help="How many sections.", min=1)] = 4,
) -> None:
    """Find the sections that answer a question, with the lines to cite."""
    with opened(ctx) as (inv, client):
        results = client.library.search(query, documents=document or None, tags=tag, limit=limit)
    if inv.out.as_json:
        inv.out.document(
            {
                "query": results.query,
                "answered": results.answered,
                "hits": results.hits,
                "notes": results.notes,
            }
        )
        return
    _show_hits(inv, results)
    if results and not results.answered:
        inv.out.aside("the documents do not seem to answer that; these sections come nearest")
    for note in results.notes:
        inv.out.aside(note)


def _show_hits(inv: Invocation, results: SectionResults) -> None:
    if not results:
        inv.out.aside("nothing in the library answers that")
    for number, hit in enumerate(results):
        place = f"{hit.document}:{hit.lines[0]}-{hit.lines[1]}"
        pages = f", page {_pages(hit.pages)}" if hit.pages else ""
        if not inv.out.on_terminal:
            print(f"{hit.score:.2f}\t{place}\t{one_line(hit.path or hit.title)}\t{one_line(hit.text)}")
            continue
        if number == 1:
            inv.out.line("See also:" if results.answered else "Further off:", style="dim")
        inv.out.line(one_line(hit.text))
        inv.out.line(f"  {hit.path or hit.title}, {place}{pages}  {hit.score:.2f}", style="dim")


@library_app.command("remove")
def remove(ctx: typer.Context, document: _Document, scope: _InScope = None, yes: YesOption = False) -> None:
    """Erase a document with everything made from it, and print a receipt."""
    with opened(ctx) as (inv, client):
        record = client.library.get(document, scope=scope)
        confirm(inv, f"Remove {record.name!r} from {record.scope}?", yes=yes)
        receipt = client.library.remove(record.id)
    show_receipt(inv.out, receipt)
