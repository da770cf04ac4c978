"""`recollect doctor sweep reembed settings completion`: looking after a store, and after this command."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import InvalidInputError
from recollect.surfaces.cli.changes import show_receipt
from recollect.surfaces.cli.errors import CHECK_FAILED
from recollect.surfaces.cli.invocation import invocation, opened
from recollect.surfaces.cli.output import Column

if TYPE_CHECKING:
    from recollect.domain.results import Check
    from recollect.surfaces.cli.output import Progress

app = typer.Typer(rich_markup_mode=None)

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


@app.command()
def doctor(
    ctx: typer.Context,
    isolation: Annotated[
        bool, typer.Option("--isolation", help="Attack the walls between tenants and scopes as well.")
    ] = False,
    indexes: Annotated[
        bool, typer.Option("--indexes", help="Compare every index with its table as well.")
    ] = False,
    crash: Annotated[
        bool,
        typer.Option("--crash", help="Kill the database of a throw-away store under writers as well."),
    ] = False,
    rounds: Annotated[
        int, typer.Option(help="How often --crash kills it.", min=1, max=100_000, metavar="N")
    ] = 5,
) -> None:
    """Check that the store is well; exit code 9 says it is not."""
    with opened(ctx) as (inv, client):
        checks = list(client.doctor(isolation=isolation, indexes=indexes))
    if crash:
        with inv.out.progress("killing") as progress:
            checks += _crash(inv.settings().embedder, rounds, progress)
    if inv.out.as_json:
        inv.out.document({"ok": all(check.ok for check in checks), "checks": checks})
    elif inv.out.on_terminal:
        mark = {True: inv.out.text("ok", "green"), False: inv.out.text("not ok", "bold red")}
        columns = [Column(name=""), Column(name="check", style="cyan"), Column(name="found", wide=True)]
        found = [c.detail if c.ok or not c.advice else f"{c.detail}\n{c.advice}" for c in checks]
        inv.out.table(columns, [(mark[c.ok], c.name, text) for c, text in zip(checks, found, strict=True)])
    else:
        rows = [
            ("ok" if c.ok else "not ok", c.name, c.detail, "" if c.ok else c.advice or "") for c in checks
        ]
        inv.out.table([], rows)
    if not all(check.ok for check in checks):
        raise typer.Exit(CHECK_FAILED)


def _crash(embedder: str, rounds: int, progress: Progress | None) -> list[Check]:
    """Kill the database of a store that is made for it, and gone afterwards."""
    from recollect.client.async_client import AsyncRecollect
    from recollect.config import Settings
    from recollect.doctor.crash import examine_crashes
    from recollect.storage.embedded import temporary_home

    async def run(home: Path) -> list[Check]:
        async with AsyncRecollect(settings=Settings(home=home, embedder=embedder)) as client:
            found = await examine_crashes(client, home, rounds=rounds, progress=progress)
            checks = await client.doctor(indexes=True)
        after = (replace(check, name="indexes after crashes") for check in checks if check.name == "indexes")
        return [found.check(), *after]

    with temporary_home() as home:
        return asyncio.run(run(home))


@app.command()
def sweep(ctx: typer.Context) -> None:
    """Erase what has expired, or is older than its layer is kept."""
    with opened(ctx) as (inv, client):
        receipt = client.sweep()
    show_receipt(inv.out, receipt)


@app.command()
def reembed(
    ctx: typer.Context,
    embedder: Annotated[
        str | None,
        typer.Argument(
            help="As arctic, minilm, wordllama, e5, openai:MODEL; the configured one if not given."
        ),
    ] = None,
) -> None:
    """Turn all texts into vectors anew.

    Searches answer meanwhile, and an interrupted run goes on where it was.
    """
    inv = invocation(ctx)
    with inv.client() as client, inv.out.progress("embedding") as progress:
        report = client.reembed(embedder, progress=progress)
    if inv.out.as_json:
        inv.out.document(report)
    else:
        inv.out.line(f"{report.embedded} memories embedded with {report.space} in {report.seconds:.1f} s")


@app.command()
def settings(ctx: typer.Context) -> None:
    """Show every setting, and where its value comes from."""
    inv = invocation(ctx)
    rows = inv.settings().describe()
    if inv.out.as_json:
        inv.out.document(rows)
        return
    columns = [
        Column(name="setting", style="cyan"),
        Column(name="value", wide=True),
        Column(name="from", style="dim"),
        Column(name="what it is", wide=True, style="dim"),
    ]
    inv.out.table(columns, [(row.name, row.value, row.source, row.help) for row in rows])


@app.command()
def completion(
    ctx: typer.Context,
    shell: Annotated[
        str | None, typer.Argument(help="bash, zsh, fish or powershell; yours if not given.")
    ] = None,
    install: Annotated[bool, typer.Option("--install", help="Put it where your shell looks.")] = False,
) -> None:
    """Print the completion script of a shell, or install it."""
    import shellingham  # type: ignore[import-untyped]
    from typer import completion as scripts

    inv = invocation(ctx)
    if shell is None:
        try:
            shell = shellingham.detect_shell()[0]
        except (shellingham.ShellDetectionFailure, OSError) as error:
            raise InvalidInputError(
                f"can't tell which shell this is; name it: {', '.join(SHELLS)}"
            ) from error
    if shell not in SHELLS:
        raise InvalidInputError(f"no completion for shell {shell!r}; shells are {', '.join(SHELLS)}")
    name, variable = "recollect", "_RECOLLECT_COMPLETE"
    if install:
        shell, path = scripts.install(shell=shell, prog_name=name, complete_var=variable)  # type: ignore[attr-defined]
        if inv.out.as_json:
            inv.out.document({"shell": shell, "file": path})
        else:
            inv.out.line(f"{shell} completion installed in {path}; open a new terminal")
        return
    script = scripts.get_completion_script(prog_name=name, complete_var=variable, shell=shell)  # type: ignore[attr-defined]
    if inv.out.as_json:
        inv.out.document({"shell": shell, "script": script})
    else:
        print(script)
