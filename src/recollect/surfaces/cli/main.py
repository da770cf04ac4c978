"""The `recollect` command: global options, the list of commands, and the one place where errors end.

A command's module is imported when the command is called, so `recollect search` does not pay for `bench`.
`COMMANDS` is the table of contents. What a command does is in the module named there; what all share is in
invocation.py, output.py and errors.py.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from recollect.errors import RecollectError
from recollect.surfaces.cli.coercion import lighten
from recollect.surfaces.cli.invocation import CALLER_OPTIONS, Invocation, JsonOption, show_help
from recollect.surfaces.cli.output import INTERRUPTED, READER_GONE, Output, report, report_error

#: They speak another language than documents.
_WITHOUT_JSON = frozenset({"mcp", "psql", "serve"})
_HERE = "recollect.surfaces.cli"

#: Heading in the help -> command -> the module whose typer app has it.
SECTIONS: dict[str, dict[str, str]] = {
    "Memories": {
        "demo": "recollect.contrib.demo.cli",
        "add": f"{_HERE}.memories",
        "search": f"{_HERE}.search",
        "ask": f"{_HERE}.search",
        "context": f"{_HERE}.search",
        "explain": f"{_HERE}.search",
        "get": f"{_HERE}.memories",
        "list": f"{_HERE}.memories",
        "history": f"{_HERE}.memories",
        "conflicts": f"{_HERE}.memories",
        "entities": f"{_HERE}.entities",
        "update": f"{_HERE}.memories",
        "supersede": f"{_HERE}.memories",
        "restore": f"{_HERE}.memories",
        "delete": f"{_HERE}.memories",
        "feedback": f"{_HERE}.learning",
        "import": "recollect.contrib.importers.cli",
        "export": f"{_HERE}.memories",
        "consolidate": f"{_HERE}.upkeep",
    },
    "Documents": {
        "library": f"{_HERE}.library",
        "consult": f"{_HERE}.oracle",
        "consultations": f"{_HERE}.oracle",
        "capabilities": f"{_HERE}.oracle",
        "verify": f"{_HERE}.oracle",
    },
    "Code": {
        "explore": f"{_HERE}.explore",
        "explorations": f"{_HERE}.explore",
    },
    "Your own database": {
        "ontology": f"{_HERE}.entities",
    },
    "Who sees what": {
        "tenants": f"{_HERE}.tenancy",
        "scopes": f"{_HERE}.tenancy",
        "members": f"{_HERE}.tenancy",
        "forget-user": f"{_HERE}.tenancy",
        "keys": f"{_HERE}.tenancy",
    },
    "The store": {
        "overview": f"{_HERE}.upkeep",
        "traces": f"{_HERE}.upkeep",
        "serve": f"{_HERE}.serve",
        "mcp": f"{_HERE}.serve",
        "doctor": f"{_HERE}.upkeep",
        "sweep": f"{_HERE}.upkeep",
        "worker": f"{_HERE}.upkeep",
        "reembed": f"{_HERE}.upkeep",
        "db": f"{_HERE}.database",
        "learning": f"{_HERE}.learning",
        "bench": "recollect_bench.cli",
        "settings": f"{_HERE}.upkeep",
        "completion": f"{_HERE}.upkeep",
    },
}
COMMANDS: dict[str, str] = {
    name: module for commands in SECTIONS.values() for name, module in commands.items()
}


class _ReaderGoneError(Exception):
    """Standard output was closed by whoever read it. Not an OSError: typer would take it for its own."""


class RootGroup(TyperGroup):
    """Loads commands on demand, and turns every error into a line and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, without importing what they name."""
        return [name for name, module in COMMANDS.items() if _is_there(module)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported on first use; None if there is none of that name."""
        if cmd_name in COMMANDS and cmd_name not in self.commands and _is_there(COMMANDS[cmd_name]):
            self.add_command(_load(cmd_name, ctx), cmd_name)
        return self.commands.get(cmd_name)

    def get_params(self, ctx: Any) -> Any:
        """The global options."""
        return lighten(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments begin with."""
        if args and args[0] not in COMMANDS:
            # A mistyped command gets a suggestion, for which typer looks at the commands that are loaded.
            for name in self.list_commands(ctx):
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Commands in the help, under their headings."""
        for heading, names in SECTIONS.items():
            loaded = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name, command.get_short_help_str(formatter.width))
                        for name, command in loaded
                        if command
                    ]
                )

    def invoke(self, ctx: Any) -> Any:
        """Run, and notice here that nobody reads any more; further out typer would swallow it."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise _ReaderGoneError from error
        return result

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **more: Any
    ) -> Any:
        """Run, and leave through SystemExit whatever happens."""
        sys.exit(self._guarded(list(sys.argv[1:] if args is None else args), prog_name))

    def _guarded(self, args: list[str], prog_name: str | None) -> int:
        as_json = _asks_for_json(args)
        try:
            code = super().main(args=args, prog_name=prog_name, standalone_mode=False)
        except _ReaderGoneError:
            # As `| head` does. The descriptor is pointed elsewhere, or Python would complain at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return READER_GONE
        except typer.Abort:
            return report("interrupted", "stopped; nothing was changed", as_json=as_json)
        except KeyboardInterrupt:
            return INTERRUPTED
        except typer.TyperException as error:
            return report("usage", _usage_message(error), as_json=as_json)
        except RecollectError as error:
            return report_error(error, as_json=as_json)
        except Exception as error:
            return report_error(error, as_json=as_json)
        return code if isinstance(code, int) else 0


def _is_there(module: str) -> bool:
    if module.startswith(_HERE):
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _load(name: str, ctx: Any) -> Any:
    group = get_group(importlib.import_module(COMMANDS[name]).app)
    if name not in group.commands:  # the whole group is the command, as in `bench`
        return group
    _extend(group.commands[name], ctx)
    return group.commands[name]


def _extend(command: Any, ctx: Any) -> None:
    """`--json`, and who asks of which store, stand behind every command, where people write them.

    A group that does nothing by itself has no `--json`. Help shows who asks once, on the page of `recollect` itself.
    """
    inner = getattr(command, "commands", {})
    for below in inner.values():
        _extend(below, ctx)
    answers = (command.params or not inner) and command.name not in _WITHOUT_JSON
    taken = {option for param in command.params for option in (param.name, *param.opts)}
    for param in ctx.find_root().command.params:
        late = copy.copy(param)
        late.expose_value = False
        if param.name == "json" and answers:
            command.params.append(late)
        elif param.name in CALLER_OPTIONS and taken.isdisjoint((param.name, *param.opts)):
            late.hidden, late.callback = True, _remember_caller
            command.params.append(late)
    lighten(command.get_params(ctx))


def _remember_caller(ctx: Any, param: Any, value: Any) -> Any:
    current = ctx.find_root().obj
    if value is not None and isinstance(current, Invocation):
        current.take(param.name, value)
    return value


def _asks_for_json(args: Sequence[str]) -> bool:
    """Whether `--json` stands anywhere before `--`; usage errors happen before any option is read."""
    options = args[: args.index("--")] if "--" in args else args
    return "--json" in options


def _usage_message(error: typer.TyperException) -> str:
    message = " ".join(error.format_message().split()).rstrip(".")
    ctx = getattr(error, "ctx", None)
    hint = f" (see '{ctx.command_path} --help')" if ctx is not None else ""
    return f"{message[:1].lower()}{message[1:]}{hint}"


app = typer.Typer(
    name="recollect",
    cls=RootGroup,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

_PLACE = "The {0} the caller stands in."


@app.callback()
def recollect(
    ctx: typer.Context,
    home: Annotated[
        Path | None, typer.Option("--home", help="Folder of the embedded database.", metavar="FOLDER")
    ] = None,
    database_url: Annotated[
        str | None, typer.Option("--database-url", help="A PostgreSQL to use instead.", metavar="URL")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option("--url", help="A server to ask instead; its key is RECOLLECT_API_KEY.", metavar="URL"),
    ] = None,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Whose store.", metavar="ID")] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", help="Ask as this user, who has no roles but --role.", metavar="ID"),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="admin, operator or lead:team/api; repeat for more.", metavar="ROLE"),
    ] = None,
    session: Annotated[str | None, typer.Option(help=_PLACE.format("session"), metavar="ID")] = None,
    agent: Annotated[str | None, typer.Option(help=_PLACE.format("agent"), metavar="ID")] = None,
    project: Annotated[str | None, typer.Option(help=_PLACE.format("project"), metavar="ID")] = None,
    team: Annotated[str | None, typer.Option(help=_PLACE.format("team"), metavar="ID")] = None,
    org: Annotated[str | None, typer.Option(help=_PLACE.format("org"), metavar="ID")] = None,
    json: JsonOption = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """The memory of AI agents: store what happened and what is known, and find it in milliseconds.

    Start with 'recollect demo', or with 'recollect add TEXT' and 'recollect search QUESTION'.
    """
    ctx.obj = Invocation(out=Output(as_json=json))
    for name in CALLER_OPTIONS:
        if ctx.params[name] is not None:
            ctx.obj.take(name, ctx.params[name])
    if version:
        _print_version(ctx.obj)
    elif ctx.invoked_subcommand is None:
        show_help(ctx)


def _print_version(inv: Invocation) -> None:
    from importlib.metadata import version

    if inv.out.as_json:
        inv.out.document({"recollect": version("recollect")})
    else:
        print(f"recollect {version('recollect')}")


def run(args: Sequence[str] | None = None) -> NoReturn:
    """The console entry: run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A name in Greek must not end a command whose output goes to an ASCII terminal.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    get_command(app).main(args=args, prog_name="recollect")
    raise AssertionError("main() leaves through SystemExit")


if __name__ == "__main__":
    run()
