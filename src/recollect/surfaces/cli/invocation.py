"""What every command shares: who asks, of which store, in which form, and how input is read.

`Invocation` is made once from the options that every command takes and hangs on typer's context. Commands call
`opened(ctx)`, or `invocation(ctx)` where they need no store, and never build contexts themselves. Options that many
commands share are declared here once, so that they read the same everywhere; main.py gives each of them `--json`.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from recollect.errors import InvalidInputError, InvalidTextError
from recollect.surfaces.cli.output import Output, one_line

if TYPE_CHECKING:
    from recollect.client.sync_client import Recollect
    from recollect.config import Settings
    from recollect.domain.tenancy import TenantContext

STDIN = "-"

_PLACES = ("session", "agent", "project", "team", "org")
#: Options that say who asks, of which store.
CALLER_OPTIONS = ("home", "database_url", "url", "tenant", "user", "role", *_PLACES)


@dataclass(slots=True, kw_only=True)
class Invocation:
    """The options that every command takes. What is None was not given."""

    home: Path | None = None
    database_url: str | None = None
    url: str | None = None
    tenant: str | None = None
    user: str | None = None
    roles: tuple[str, ...] = ()
    places: dict[str, str] = field(default_factory=dict)
    out: Output = field(default_factory=Output)

    def take(self, option: str, value: Any) -> None:
        """Keep one of the options that say who asks, of which store."""
        if option in _PLACES:
            self.places[f"{option}_id"] = value
        elif option == "role":
            self.roles += tuple(value)
        else:
            setattr(self, option, value)

    def settings(self) -> Settings:
        """The settings this command runs with."""
        from recollect.config import Settings

        return Settings.load(
            home=self.home,
            database_url=self.database_url,
            url=self.url,
            tenant=self.tenant,
            user=self.user,
        )

    def logged_settings(self) -> Settings:
        """The same, with logging set up as they say."""
        settings = self.settings()
        _log_to_stderr(settings.log_level)
        return settings

    def context(self, settings: Settings) -> TenantContext | None:
        """Who is asking.

        Whoever can start the command owns the store, so the default is its admin and operator. `--user` means
        "as that user", who has no roles but those given. Of a server it is whom the key speaks for: None.
        """
        return self._said_to_server(settings) if settings.url is not None else self.owner_of_store(settings)

    def owner_of_store(self, settings: Settings) -> TenantContext:
        """The caller of a store of one's own."""
        from recollect.domain.tenancy import TenantContext

        roles = self.roles or (() if self.user else ("admin", "operator"))
        return TenantContext(tenant_id=settings.tenant, user_id=settings.user, roles=roles, **self.places)

    def _said_to_server(self, settings: Settings) -> TenantContext | None:
        """What the options say beside the key; roles are the key's alone."""
        from recollect.domain.tenancy import TenantContext, read_token

        token = read_token(settings.api_key or "")
        if token is None or not (self.user or self.places):
            return None
        return TenantContext(tenant_id=token.tenant_id, user_id=self.user).replace(**self.places)

    @contextmanager
    def client(self) -> Iterator[Recollect]:
        """The client, opened for the caller the options describe."""
        from recollect.client.sync_client import Recollect

        settings = self.logged_settings()
        with Recollect(settings=settings, context=self.context(settings)) as client:
            yield client

    @contextmanager
    def unopened_client(self) -> Iterator[Recollect]:
        """The client without its database, which is opened only if a call needs it: code is explored without."""
        from recollect.client.sync_client import Recollect

        settings = self.logged_settings()
        client = Recollect(settings=settings, context=self.context(settings))
        try:
            yield client
        finally:
            client.close()


def _log_to_stderr(level: str) -> None:
    """Log lines look like errors do. Other libraries speak only when somebody is looking for a fault."""
    import logging

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("recollect: %(levelname)s: %(message)s"))
    # `force` because a process may run several commands, as tests do, each with its own standard error.
    others = level.upper() if level == "debug" else "CRITICAL"
    logging.basicConfig(handlers=[handler], level=others, force=True)
    logging.getLogger("recollect").setLevel(level.upper())


def noun_app(name: str, help: str) -> typer.Typer:
    """A group of commands about one thing; called bare it shows its help."""

    def bare(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            show_help(ctx)

    app = typer.Typer(name=name, help=help, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(bare)
    return app


def show_help(ctx: typer.Context) -> None:
    """The help page, where a command was left out."""
    if invocation(ctx).out.as_json:
        raise InvalidInputError(f"name a command; '{ctx.command_path} --help' lists them")
    print(ctx.get_help())


def invocation(ctx: typer.Context) -> Invocation:
    """The invocation of a command's context."""
    current: Invocation = ctx.find_root().obj
    return current


@contextmanager
def opened(
    ctx: typer.Context, question: str | None = None, *, yes: bool = True
) -> Iterator[tuple[Invocation, Recollect]]:
    """The invocation of a command, and the client it asks for, once the person has said yes to the question."""
    current = invocation(ctx)
    if question is not None:
        confirm(current, question, yes=yes)
    with current.client() as client:
        yield current, client


#: Options that are not named like what the client takes, as those that are given once for each value.
_NAMES = {
    "alias": "aliases", "depth": "depth_hint", "doc": "doc_ids", "document": "documents", "entity": "entities",
    "file": "files", "filter": "filters", "hint": "context_hints", "kind": "kinds", "layer": "layers",
    "max_per_iteration": "max_subcalls_per_iteration", "role": "roles", "source": "sources",
    "superseded": "include_superseded", "tag": "tags", "timeout": "timeout_seconds", "type": "types",
}  # fmt: skip
_OBJECTS = frozenset({"filter", "metadata"})


def given(ctx: typer.Context, verb: str) -> dict[str, Any]:
    """The options of a command that a verb of the client takes, by the names it has for them, where they are given."""
    from recollect.client.verbs import BY_NAME

    taken = inspect.signature(BY_NAME[verb].function).parameters
    arguments: dict[str, Any] = {}
    for option, value in ctx.params.items():
        name = _NAMES[option] if _NAMES.get(option) in taken else option
        if name in taken and value not in (None, [], ()):
            arguments[name] = parse_object(value, what=f"--{option}") if option in _OBJECTS else value
    return arguments


def _remember_json(ctx: typer.Context, value: bool) -> bool:
    current = ctx.find_root().obj
    if value and isinstance(current, Invocation):
        current.out.as_json = True
    return value


JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON document and nothing else.", callback=_remember_json, is_eager=True
    ),
]
IdArgument = Annotated[str, typer.Argument(help="The memory's id.")]
QuestionArgument = Annotated[str, typer.Argument(help="The question; - reads standard input.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", help="At most this many.", min=1)]
ThresholdOption = Annotated[float, typer.Option(help="From 0 (everything) to 1; 0.7 means relevant.")]
DepthOption = Annotated[str, typer.Option(help="quick (one look), thorough (step by step) or auto.")]
ModelOption = Annotated[
    str | None, typer.Option(help="Chat model to ask; none when not named here or in the settings.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what it would cost at most; ask nobody.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
LayersOption = Annotated[
    list[str] | None, typer.Option("--layer", help="Only this layer; repeat for more.", metavar="LAYER")
]
TypesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help="Only this type: episodic, semantic, procedural, summary; repeat for more.",
        metavar="TYPE",
    ),
]
ScopeOption = Annotated[
    str | None, typer.Option("--scope", help="Only this scope, as team/api.", metavar="SCOPE")
]
FilterOption = Annotated[
    str | None,
    typer.Option("--filter", help='A filter as JSON: \'{"importance": {"$gte": 0.8}}\'.', metavar="JSON"),
]
AsOfOption = Annotated[
    str | None, typer.Option("--as-of", help="What was believed then, as 2026-05-08.", metavar="TIME")
]
NowOption = Annotated[
    str | None,
    typer.Option("--now", help="What 'yesterday' in the question is counted from.", metavar="TIME"),
]
TimezoneOption = Annotated[
    str | None,
    typer.Option("--timezone", help="Whose days the question names, as Europe/Lisbon.", metavar="ZONE"),
]
ConversationOption = Annotated[
    str | None, typer.Option("--conversation", help="Only turns of this conversation.", metavar="NAME")
]


def parse_json(text: str | None, *, what: str) -> Any:
    """Read an option that is JSON."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInputError(
            f"{what} is not JSON ({error}); put it in single quotes: '{{\"key\": 1}}'"
        ) from error


def parse_object(text: str | None, *, what: str) -> dict[str, Any] | None:
    """Read an option that is a JSON object."""
    value = parse_json(text, what=what)
    if value is not None and not isinstance(value, dict):
        raise InvalidInputError(f"{what} must be a JSON object like '{{\"key\": 1}}', got {text!r}")
    return value


def read_argument(value: str, *, what: str) -> str:
    """An argument, or all of standard input when it is `-`."""
    return read_stdin(what) if value == STDIN else value


def read_stdin(what: str) -> str:
    """All of standard input as text, without the line break at its end."""
    data = _stdin_bytes(what).read()
    try:
        return data.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidTextError(
            f"{what} on standard input is not valid UTF-8 at byte {error.start}; "
            "convert it first, for example with iconv"
        ) from error


def read_stdin_bytes(what: str) -> bytes:
    """All of standard input as it comes."""
    return _stdin_bytes(what).read()


def read_file(path: str, *, what: str) -> str:
    """A whole file as text, or standard input when it is `-`."""
    if path == STDIN:
        return read_stdin(what)
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTextError(
            f"{what} {path!r} is not valid UTF-8 at byte {error.start}; convert it first"
        ) from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"can't read {what} {path!r}: {_reason(error)}") from error


def line_source(path: str, *, what: str) -> Path | BinaryIO:
    """A file to be read line by line, or standard input when it is `-`."""
    return _stdin_bytes(what) if path == STDIN else Path(path)


def _stdin_bytes(what: str) -> BinaryIO:
    if sys.stdin is None:
        raise InvalidInputError(f"standard input is closed; give the {what} as an argument")
    if sys.stdin.isatty():
        print(f"reading {what} from the terminal; end with Ctrl-D", file=sys.stderr)
    buffer: BinaryIO = sys.stdin.buffer
    return buffer


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)


def confirm(inv: Invocation, question: str, *, yes: bool) -> None:
    """Go on only when the person agrees; without a terminal to ask on, only with `--yes`."""
    if yes:
        return
    if inv.out.as_json or not (sys.stdin and sys.stdin.isatty()):
        raise InvalidInputError(
            f"{question[0].lower()}{question[1:]} add --yes; there is no terminal to ask on"
        )
    typer.confirm(one_line(question), abort=True, err=True)
