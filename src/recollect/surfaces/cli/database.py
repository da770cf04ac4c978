"""`recollect db`: the database itself, embedded or by URL.

The other commands start it when they need it; these look at it, stop it, copy it and open a shell on it. They
are the only commands that go past the client, straight to `recollect.storage`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.domain.codec import encode
from recollect.errors import ForbiddenError, InvalidInputError
from recollect.surfaces.cli.invocation import Invocation, YesOption, confirm, invocation, noun_app, opened

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.storage.backup import BackupReport
    from recollect.storage.cluster.distribute import Plan
    from recollect.storage.cluster.nodes import Node
    from recollect.storage.endpoint import Door

app = typer.Typer(rich_markup_mode=None)
db_app = noun_app("db", "The database: status, start, stop, backup, psql, ...")
app.add_typer(db_app)


@db_app.command()
def status(ctx: typer.Context) -> None:
    """Say whether it runs and what is in it; never starts it."""
    inv = invocation(ctx)
    settings = inv.settings()
    report: dict[str, Any] = {}
    if settings.database_url is None:
        from recollect.storage import embedded

        report["server"] = embedded.status(settings.home)
    else:
        from recollect.config import mask_url

        report["server"] = {"running": True, "url": mask_url(settings.database_url)}
    if settings.database_url is not None or report["server"].running:
        with inv.client() as client:
            report["store"] = client.status()
        if settings.database_url is not None and (owner := _open_door(settings).owner) is not None:
            from recollect.storage.cluster import nodes

            report["cluster"] = nodes.status(owner)
    _show(inv, report)


def _show(inv: Invocation, report: dict[str, Any]) -> None:
    inv.out.result(report)
    cluster = report.pop("cluster", None)
    rows = [
        (name.replace("_", " "), value)
        for part in report.values()
        for name, value in (encode(part).items() if part is not None else ())
    ]
    if cluster is not None:
        rows += [("citus", cluster.citus), ("shards", cluster.shards), ("balance", cluster.balance)]
        rows += [(f"node {node.name}", _describe_node(node)) for node in cluster.nodes]
    inv.out.pairs(rows)


def _describe_node(node: Node) -> str:
    if node.bytes is None:
        return f"does not answer: {node.error}"
    role = "coordinator, " if node.coordinator else ""
    return f"{role}{node.shards} shards, {node.bytes / 1e6:.1f} MB"


@db_app.command()
def distribute(
    ctx: typer.Context,
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards", help="How many; fixed for ever, so two to four times the nodes you may need."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would move, and change nothing.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Spread the store over the machines of a Citus cluster.

    The URL is that of the coordinator. The store is closed meanwhile; a run that was interrupted goes on where it
    stopped. Make a backup first.
    """
    inv = invocation(ctx)
    settings = inv.settings()
    if settings.database_url is None:
        raise InvalidInputError(
            "the embedded database is on one machine; restore a backup of it on a Citus coordinator, and give its URL"
        )
    from recollect.storage.cluster import distribute as cluster

    owner = _owner_conninfo(_open_door(settings))
    plan = cluster.plan(owner, shards=shards)
    if dry_run:
        _show_plan(inv, plan)
        return
    confirm(inv, f"Spread {plan.bytes / 1e6:.1f} MB over {len(plan.nodes)} nodes?", yes=yes)
    with inv.out.progress("distributing", total=len(plan.steps)) as progress:
        cluster.distribute(owner, shards=shards, progress=progress)
    inv.out.result({"nodes": plan.nodes, "shards": plan.shards, "bytes": plan.bytes})
    inv.out.line(f"the store is on {len(plan.nodes)} nodes, in {plan.shards} shards")


def _show_plan(inv: Invocation, plan: Plan) -> None:
    if inv.out.as_json:
        steps = [{"step": step.text, "bytes": step.bytes} for step in plan.steps]
        inv.out.document({"nodes": plan.nodes, "shards": plan.shards, "bytes": plan.bytes, "steps": steps})
        return
    inv.out.pairs([(step.text, f"{step.bytes / 1e6:.1f} MB" if step.bytes else "") for step in plan.steps])
    inv.out.line(f"{plan.bytes / 1e6:.1f} MB would go to {', '.join(plan.nodes)}, in {plan.shards} shards")


@db_app.command("add-node")
def add_node(
    ctx: typer.Context,
    address: Annotated[str, typer.Argument(help="host:port of a PostgreSQL with Citus and pgvector.")],
) -> None:
    """Make one more machine part of the cluster.

    `db rebalance` then gives it its share.
    """
    inv = invocation(ctx)
    from recollect.storage.cluster import nodes

    added = nodes.add_node(_owner_conninfo(_open_door(inv.settings())), address)
    inv.out.result({"added": added})
    inv.out.line("added; `recollect db rebalance` gives it its share" if added else "it is a node already")


@db_app.command()
def rebalance(ctx: typer.Context) -> None:
    """Share the shards out among the nodes of the cluster.

    Searches and writes go on meanwhile.
    """
    inv = invocation(ctx)
    from recollect.storage.cluster import nodes

    owner = _owner_conninfo(_open_door(inv.settings()))
    with inv.out.progress("moving shards") as progress:
        moved = nodes.rebalance(owner, progress=progress)
    inv.out.result({"moves": moved})
    inv.out.line(f"moved {moved} groups of shards" if moved else "every node has its share already")


@db_app.command()
def start(ctx: typer.Context) -> None:
    """Start the embedded database, if it does not run."""
    inv = invocation(ctx)
    settings = _embedded_settings(inv, "start")
    _open_door(settings)
    from recollect.storage import embedded

    _show(inv, {"server": embedded.status(settings.home)})


@db_app.command()
def stop(ctx: typer.Context) -> None:
    """Stop the embedded database until the next command."""
    inv = invocation(ctx)
    settings = _embedded_settings(inv, "stop")
    from recollect.storage import embedded

    stopped = embedded.stop(settings.home)
    inv.out.result({"stopped": stopped})
    inv.out.line("stopped" if stopped else "it was not running")


@db_app.command()
def migrate(ctx: typer.Context) -> None:
    """Bring the database to this program's schema."""
    inv = invocation(ctx)
    settings = inv.settings()
    from recollect.storage import migrations

    door = _open_door(settings)
    applied = migrations.migrate(door.owner) if door.owner is not None else []
    version = migrations.newest_version()
    inv.out.result({"schema_version": version, "applied": applied})
    inv.out.line(f"the schema is at version {version}")


@db_app.command(context_settings={"ignore_unknown_options": True})
def psql(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PSQL ARGUMENTS]...", help='Handed on to psql, as -c "select 1".'),
    ] = None,
    owner: Annotated[bool, typer.Option("--owner", help="As the owner, past row-level security.")] = False,
) -> None:
    """Open psql on the store.

    As the application role, which sees no rows until it says who is asking, or with --owner past all walls.
    """
    inv = invocation(ctx)
    if inv.out.as_json:
        raise InvalidInputError(
            "psql prints what it likes; for JSON write a query that builds it, without --json"
        )
    settings = inv.settings()
    door = _open_door(settings)
    program, environment = psql_call(door, owner=owner)
    if not owner and sys.stdin.isatty() and not arguments:
        from recollect.storage.store import caller_settings

        introduction = caller_settings(inv.owner_of_store(settings)).as_string()
        print(f"rows appear after: {introduction};", file=sys.stderr)
    sys.stdout.flush()
    os.execve(program[0], [*program, *(arguments or [])], environment)  # noqa: S606


def psql_call(door: Door, *, owner: bool) -> tuple[list[str], dict[str, str]]:
    """The command and its environment; the password is in the latter, for anybody may read a command line."""
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from recollect.storage.embedded import binary

    conninfo = _owner_conninfo(door) if owner else door.app
    parameters: dict[str, Any] = dict(conninfo_to_dict(conninfo))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    password = parameters.pop("password", None)
    if password is not None:
        environment["PGPASSWORD"] = str(password)
    return [str(binary("psql")), f"--dbname={make_conninfo('', **parameters)}"], environment


@db_app.command()
def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to write the backup.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write the whole store, all tenants, into one file."""
    inv = invocation(ctx)
    from recollect.storage.backup import backup as write_backup

    report = write_backup(_owner_conninfo(_open_door(inv.settings())), file, overwrite=force)
    _show_backup(inv, report, "written")


@db_app.command()
def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="A file that 'db backup' wrote.")],
    yes: YesOption = False,
) -> None:
    """Bring a backup back, in the place of what is there."""
    inv = invocation(ctx)
    if not file.is_file():
        raise InvalidInputError(f"there is no backup file {str(file)!r}")
    confirm(inv, f"Replace everything in the store by {file.name}?", yes=yes)
    from recollect.storage.backup import restore as read_backup

    settings = inv.settings()
    report = read_backup(_owner_conninfo(_open_door(settings)), file, replace=True)
    # An old backup has an old schema, and one of a cluster has no shards yet.
    owner = _open_door(settings).owner
    if settings.database_url is not None and owner is not None:
        from recollect.storage.cluster.distribute import spread_again

        spread_again(owner)
    _show_backup(inv, report, "restored")


@db_app.command()
def index(ctx: typer.Context) -> None:
    """Build the vector index of the tenant now."""
    with opened(ctx) as (inv, client):
        built = client.build_index()
    inv.out.result({"built": built})
    inv.out.line("built the vector index" if built else "the vector index is there already")


@db_app.command()
def compact(ctx: typer.Context) -> None:
    """Rewrite every table: nothing erased stays in any data page."""
    with opened(ctx) as (inv, client):
        freed = client.compact()
    inv.out.result({"freed_bytes": freed})
    inv.out.line(f"rewrote every table; {freed:,} bytes freed")


def _show_backup(inv: Invocation, report: BackupReport, verb: str) -> None:
    inv.out.result(report)
    size_mb = report.size_bytes / 1e6
    inv.out.line(f"{verb}: {report.path}, {report.tables} tables, {size_mb:.1f} MB, {report.elapsed_s:.1f} s")


def _embedded_settings(inv: Invocation, verb: str) -> Settings:
    settings = inv.settings()
    if settings.database_url is not None:
        raise InvalidInputError(f"the database is set by URL, and only the embedded one is ours to {verb}")
    return settings


def _open_door(settings: Settings) -> Door:
    from recollect.storage.endpoint import open_door

    return open_door(settings.home, settings.database_url)


def _owner_conninfo(door: Door) -> str:
    if door.owner is None:
        raise ForbiddenError("the database URL is the application role's; this needs the owner's")
    return door.owner
