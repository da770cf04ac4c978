"""`recollect consult`, `consultations`, `capabilities` and `verify`: asking the oracle, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.invocation import (
    DepthOption,
    LimitOption,
    ModelOption,
    QuestionArgument,
    given,
    invocation,
    opened,
    parse_json,
    read_argument,
    read_file,
)
from recollect.surfaces.cli.output import CHECK_FAILED, Output
from recollect.surfaces.cli.runs import call_line, show_answer, show_plan, watch_steps
from recollect.surfaces.counts import many

if TYPE_CHECKING:
    from recollect.domain.oracle import (
        CapabilityGroup,
        DryRun,
        OracleConsultResult,
        OracleEvent,
        Verification,
    )

app = typer.Typer(rich_markup_mode=None)
consultations_app = typer.Typer(
    name="consultations", help="What the oracle was asked and answered.", rich_markup_mode=None
)
app.add_typer(consultations_app)

_Id = Annotated[str, typer.Argument(help="The consultation's id.")]
_SessionOption = Annotated[str | None, typer.Option("--session", help="Only of this session.")]


@app.command()
def consult(
    ctx: typer.Context,
    problem: QuestionArgument,
    doc: Annotated[
        list[str] | None,
        typer.Option(
            "--doc", help="A document to read; repeat for more. Without one the library is searched."
        ),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file", help="A glob of files to read; repeat for more; '!glob' leaves out.", metavar="GLOB"
        ),
    ] = None,
    working_dir: Annotated[
        str | None,
        typer.Option("--working-dir", help="Folder of the files; the current one when --file is given."),
    ] = None,
    depth: DepthOption = "auto",
    model: ModelOption = None,
    max_input_tokens: Annotated[
        int | None, typer.Option("--max-input-tokens", help="Read at most this much.", min=1)
    ] = None,
    session: Annotated[str | None, typer.Option(help="Go on in this session.")] = None,
    end_session: Annotated[
        bool, typer.Option("--end-session", help="Forget afterwards what a follow-up would reuse.")
    ] = False,
    workflow: Annotated[str | None, typer.Option(help="What it is asked for; goes into the record.")] = None,
    agent: Annotated[str | None, typer.Option(help="Who asks; goes into the record.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be read and cost at most; ask nobody.")
    ] = False,
) -> None:
    """Answer a problem from documents and code, with checked citations."""
    inv = invocation(ctx)
    request = {"problem": read_argument(problem, what="problem")}
    if file and working_dir is None:
        request["working_dir"] = "."
    with inv.client() as client:
        if dry_run:
            _show_plan(inv.out, client.oracle_dry_run(**{**given(ctx, "oracle_dry_run"), **request}))
            return
        with watch_steps(inv.out, "consulting") as (on_event, _):
            result = client.oracle_consult(**{**given(ctx, "oracle_consult"), **request}, on_event=on_event)
        if end_session:
            client.consultations.end_session(result.session)
    _show_result(inv.out, result)


@consultations_app.callback(invoke_without_command=True)
def bare(ctx: typer.Context, session: _SessionOption = None, limit: LimitOption = 20) -> None:
    """What the oracle was asked and answered; called bare, the latest."""
    if ctx.invoked_subcommand is None:
        list_consultations(ctx, session, limit)


@consultations_app.command("list")
def list_consultations(ctx: typer.Context, session: _SessionOption = None, limit: LimitOption = 20) -> None:
    """List the latest consultations."""
    with opened(ctx) as (inv, client):
        records = client.consultations.list(session=session, limit=limit)
    inv.out.show(
        records,
        "when:dim, mode, problem*, came of it, id:dim",
        lambda record: (record.timestamp, record.processing_mode, record.problem, record.state, record.id),
        none="nothing was asked yet; try: recollect consult 'How do I ...?'",
    )


@consultations_app.command("show")
def show(
    ctx: typer.Context,
    id: _Id,
    events: Annotated[
        bool, typer.Option("--events", help="Show what happened instead of the answer.")
    ] = False,
) -> None:
    """Show a consultation with its answer, as it was."""
    with opened(ctx) as (inv, client):
        if events:
            events_ = client.consultations.events(id)
            columns = "#>, when:dim, what*"
            inv.out.show(events_, columns, lambda event: (event.number, event.at, _line(event)))
            return
        result = client.consultations.get(id)
    _show_result(inv.out, result)


@consultations_app.command("repeat")
def repeat(ctx: typer.Context, id: _Id) -> None:
    """Ask the same again, of the documents as they are now."""
    with opened(ctx) as (inv, client):
        result = client.consultations.repeat(id)
    _show_result(inv.out, result)


@app.command()
def capabilities(
    ctx: typer.Context,
    week: Annotated[bool, typer.Option("--week", help="Only of the last seven days.")] = False,
    limit: LimitOption = 5,
) -> None:
    """What consultations missed most, requests of one meaning together."""
    with opened(ctx) as (inv, client):
        groups = client.capabilities(days=7 if week else None, limit=limit)
    _show_groups(inv.out, groups)


@app.command()
def verify(
    ctx: typer.Context,
    result: Annotated[
        str, typer.Argument(help="A result saved with --json; - reads standard input.", metavar="RESULT.json")
    ],
    working_dir: Annotated[
        str | None, typer.Option("--working-dir", help="Where cited files are now, if not where they were.")
    ] = None,
) -> None:
    """Read every citation of a result again.

    Exits with 9 when one is stale or unsupported.
    """
    inv = invocation(ctx)
    document = parse_json(read_file(result, what="result"), what="result")
    if document is None:
        raise InvalidInputError(f"{result!r} is empty; save a result with `recollect consult --json`")
    # A saved exploration is verified without the database.
    with inv.unopened_client() as client:
        verification = client.verify(document, working_dir=working_dir)
    _show_verification(inv.out, verification)
    if not verification.holds:
        raise typer.Exit(CHECK_FAILED)


# ---------------------------------------------------------------- what they print


def _line(event: OracleEvent) -> str:
    detail = event.detail
    match event.type.value:
        case "oracle_consultation_started":
            return "started"
        case "oracle_consultation_thinking":
            return str(detail.get("thought", ""))
        case "oracle_rlm_tool_call":
            return call_line(
                detail.get("tool"),
                detail.get("parameters") or {},
                ms=detail.get("duration_ms", 0),
                cached=bool(detail.get("cached")),
                summary=detail.get("error"),
            )
        case "oracle_capability_requested":
            return f"missing: {detail.get('description')}"
        case "oracle_consultation_failed":
            return f"failed: {detail.get('error')}"
        case _:
            return f"completed with {detail.get('citations')} citations"


def _show_result(out: Output, result: OracleConsultResult) -> None:
    out.result(result)
    record, coverage = result.consultation, result.coverage
    cost = "" if not record.model else f", {record.tokens.get('total', 0):,} tokens of {record.model}"
    summary = (
        f"{record.processing_mode}, read {coverage.share:.0%} of {coverage.material_tokens:,} tokens in "
        f"{many(coverage.documents, 'document')} and {many(coverage.files, 'file')}, "
        f"searched {coverage.searched_tokens:,}{cost}, {record.duration_ms:.0f} ms; session {result.session}"
    )
    notes = result.notes
    if not coverage.searched_tokens and not coverage.material_tokens:
        notes = (*notes, "there are no documents yet; add one: recollect library add FILE")
    show_answer(out, result.answer, result.citations, notes, found=result.found, summary=summary)


def _show_plan(out: Output, plan: DryRun) -> None:
    show_plan(
        out,
        plan,
        [
            ("mode", f"{plan.processing_mode}: {plan.reason}"),
            ("documents", tuple(str(document["doc_id"]) for document in plan.documents[:10])),
            ("files", tuple(str(file["path"]) for file in plan.files[:10])),
            ("left out", tuple(f"{skipped.what} ({skipped.reason})" for skipped in plan.skipped[:10])),
            ("material", f"{plan.material_tokens:,} tokens"),
            ("tool calls", f"at most {plan.max_tool_calls}"),
        ],
    )


def _show_groups(out: Output, groups: Sequence[CapabilityGroup]) -> None:
    if out.as_json:
        out.document(
            [
                {
                    "description": group.description,
                    "count": group.count,
                    "documents": list(group.documents),
                    "requests": [request.document() for request in group.requests],
                }
                for group in groups
            ]
        )
        return
    if not groups:
        out.aside("nothing was missing")
    columns = "times>, missing*, documents:dim"
    out.table(columns, [(group.count, group.description, ", ".join(group.documents[:3])) for group in groups])


def _show_verification(out: Output, verification: Verification) -> None:
    out.result(verification)
    styles = {"quoted": "green", "moved": "yellow"}
    for number, citation in enumerate(verification.citations, 1):
        out.line(
            f"[{number}] {citation.place} {citation.standing}", style=styles.get(citation.status.value, "red")
        )
    out.aside(
        f"{verification.quoted} quoted, {verification.moved} moved, {verification.stale} stale, "
        f"{verification.unsupported} unsupported"
    )
