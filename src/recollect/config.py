"""Every setting, in one place.

A setting's value comes from the first of these that has one: an argument, an environment variable
(`RECOLLECT_` and the setting's name in capitals, `RLM_...` as it is; an empty one counts as not set),
`recollect.toml` in the current folder or else in `home`, the default below. `Settings.load` looks at them, and
only when called; importing this module reads nothing. A value that makes no sense is a `ConfigurationError` that
says where it came from. docs/reference/settings.md is generated from the help sentences here.

This module knows no setting's meaning: who uses one explains it there.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.domain import readers as read
from recollect.domain.readers import ModelFacts as ModelFacts
from recollect.domain.readers import RunBudget as RunBudget
from recollect.domain.tenancy import LOCAL_TENANT
from recollect.errors import ConfigurationError, InvalidInputError

FILE_NAME = "recollect.toml"
VARIABLE_PREFIX = "RECOLLECT_"
#: Settings whose variables have this prefix alone: RLM_AUDIT_DIR and the like.
_OWN_PREFIX = "rlm_"
#: Variables that set one part of the setting `budget`, whatever else sets the others.
BUDGET_VARIABLES = {
    "RLM_MAX_SUBCALLS": "max_subcalls",
    "RLM_MAX_PER_ITERATION": "max_subcalls_per_iteration",
    "RLM_TIMEOUT": "timeout_seconds",
}
#: Second variables of settings.
_ALSO = {"root_model": "RLM_MODEL"}
LOG_LEVELS = ("debug", "info", "warning", "error")

#: The source of a value nobody set.
DEFAULT_SOURCE = "default"
ARGUMENT_SOURCE = "argument"


#: Settings that there were, and what to write instead.
GONE = {
    "embedder_threads": "a process uses the cores it may run on; narrow those, as with taskset or a container's limit",
    "learning_min_events": "it is 1000",
    "library_max_file_bytes": "the library takes files of up to 100 million bytes; split larger ones",
    "model_effort": "write model_profile = 'effort=...'",
    "model_max_usd": "write budget = 'max_usd=...'",
    "model_input_usd": "write model_profile = 'input_usd=... output_usd=...'",
    "model_max_output": "write model_profile = 'max_output=...'",
    "model_native_tools": "write model_profile = 'tools=on' or 'tools=off'",
    "model_output_usd": "write model_profile = 'input_usd=... output_usd=...'",
    "model_retries": "write model_profile = 'retries=...'",
    "model_timeout_s": "write model_profile = 'timeout_s=...'",
    "model_window": "write model_profile = 'window=...'",
    "pool_timeout_s": "a call waits 30 seconds for a connection; raise pool_size",
    "recursion_enabled": "write recursion_threshold = 1 for off",
    "recursion_max_depth": "it is 3",
    "recursion_sub_call_timeout_s": "it is 30; budget = 'timeout_seconds=...' limits a run as a whole",
    "rlm_max_per_iteration": "write budget = 'max_subcalls_per_iteration=...'",
    "rlm_max_subcalls": "write budget = 'max_subcalls=...'",
    "rlm_model": "write root_model = '...'",
    "rlm_timeout": "write budget = 'timeout_seconds=...'",
    "start_timeout_s": "the database has 120 seconds to start or to answer; try again when it has recovered",
    "telemetry": "set OpenTelemetry's own variable, OTEL_SDK_DISABLED=true",
    "rows_max_tokens": "write budget = 'rows_max_tokens=...'",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting as people see it; secrets are masked in `value`."""

    name: str
    variable: str
    value: str
    default: str
    source: str
    help: str


def _setting(
    parse: Callable[[object], object],
    default: object = None,
    *,
    help: str,
    factory: Callable[[], object] | None = None,
    fallback: str | None = None,
    secret: bool = False,
) -> Any:
    """A setting; `fallback` says in words what the default is."""
    metadata = {"help": help, "parse": parse, "fallback": fallback, "secret": secret}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def _table(parse: Callable[[object], object]) -> Any:
    """A table of the file: it has no environment variable, and is not shown among the settings."""
    return field(default_factory=dict, hash=False, metadata={"parse": parse})


def _ontology(value: object) -> Mapping[str, Any]:
    from recollect.domain.ontology_document import parse_ontology

    if value:
        parse_ontology(value)
    return value if isinstance(value, Mapping) else {}


def _default_home() -> Path:
    import platformdirs

    if hasattr(os, "geteuid") and os.geteuid() == 0 and not os.environ.get("XDG_DATA_HOME"):
        # PostgreSQL does not run as root, and the user it runs as can't enter root's own folder.
        return Path("/var/lib/recollect")
    return platformdirs.user_data_path("recollect", appauthor=False)


def _system_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):
        # A container may run under a number that has no name.
        return "user"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """What can be set. Make one with `Settings.load()`, or directly, which looks at nothing outside."""

    # A table: what reads a setting and what it is if nobody says; below, what it is for.
    # fmt: off
    home: Path = _setting(read.folder, factory=_default_home, fallback="the platform's user data folder",
        help="Folder of the embedded database and of cached models.")
    database_url: str | None = _setting(read.optional(read.postgresql_url),
        fallback="the embedded database", secret=True,
        help="PostgreSQL (15 or later, with pgvector 0.8 or later) to use instead of the embedded one.")
    tenant: str = _setting(read.name, LOCAL_TENANT, help="Tenant of a caller that gives no context.")
    user: str = _setting(read.name, factory=_system_user, fallback="the operating system's user name",
        help="User of a caller that gives no context.")
    timezone: str = _setting(read.timezone, "UTC",
        help="Time zone in which questions name days when the caller gives none, as 'Europe/Lisbon'.")
    embedder: str = _setting(read.line, "auto",
        help="What makes vectors of texts: 'auto', 'arctic', 'minilm', 'wordllama', 'e5' (many languages), "
        "'openai:<model>', 'fastembed:<model>'.")
    embedder_base_url: str | None = _setting(read.optional(read.http_url), fallback="the vendor's", secret=True,
        help="Address of an OpenAI-compatible embedding server, for 'openai:<model>'.")
    embedder_api_key: str | None = _setting(read.optional(read.line), fallback="none", secret=True,
        help="Key for that embedding server.")
    model: str | None = _setting(read.optional(read.line), fallback="none",
        help="Chat model for `infer` and summaries: 'openai:<model>', 'anthropic:<model>', 'ollama:<model>'.")
    model_base_url: str | None = _setting(read.optional(read.http_url), fallback="the vendor's", secret=True,
        help="Address of an OpenAI-compatible chat server.")
    model_api_key: str | None = _setting(read.optional(read.line), fallback="the vendor's variable", secret=True,
        help="Key for the chat model.")
    model_profile: ModelFacts = _setting(read.model_facts, factory=lambda: ModelFacts(),
        fallback="as published; a window of 32768 for a model that nobody knows",
        help="What the chat model can do and costs, where that is not published or to be otherwise: 'window=131072 "
        "max_output=8192 effort=low tools=on input_usd=0.15 output_usd=0.60 retries=2 timeout_s=120'. "
        "Window and output in tokens, dollars for a million, effort one of none, minimal, low, medium, high, xhigh, "
        "max; seconds for one answer, waiting and trying again included.")
    root_model: str | None = _setting(read.optional(read.line), fallback="none",
        help="Chat model that plans runs: how a complex question is decomposed, what an exploration or a consultation "
        "looks at. Without one searches are planned by a learned policy, the others by `model` or by rule. "
        "`RLM_MODEL` sets it, too.")
    sub_call_model: str | None = _setting(read.optional(read.line), fallback="the setting `root_model`",
        help="Chat model that plans for the parts of a decomposed question.")
    recursion_threshold: float = _setting(read.share, 0.3,
        help="Complexity from which questions are decomposed: 1 none, 0.5 only the hardest, 0.3 all complex ones.")
    roots: tuple[Path, ...] | None = _setting(read.optional(read.folders),
        fallback="any folder in your own program, none over `recollect serve`",
        help="Folders whose files may be read for callers who name a path; a list, or separated as in PATH.")
    budget: RunBudget = _setting(read.run_budget, factory=lambda: RunBudget(),
        fallback="60 seconds for a decomposed question, 300 for an exploration, 900 for a consultation; 50 tool calls, "
        "8 in a step; any cost; 400000 tokens of rows",
        help="What one run may take: 'timeout_seconds=120 max_usd=0.50 max_subcalls=50 max_subcalls_per_iteration=8 "
        "rows_max_tokens=400000'. Seconds in all, then it answers with what it has; dollars for models, also of `add` "
        "with `infer` and of a consolidation; tool calls of an exploration, answers from its cache are free; tokens "
        "that a question put to every section or memory reads with a model. `RLM_TIMEOUT`, `RLM_MAX_SUBCALLS` and "
        "`RLM_MAX_PER_ITERATION` set one of them each.")
    rlm_cache_enabled: bool = _setting(read.switch, True,
        help="Whether equal tool calls of explorations are answered from memory: on or off.")
    rlm_audit_dir: Path | None = _setting(read.optional(read.folder), fallback="`telemetry/rlm` in the setting `home`",
        help="Folder for the records of explorations, one file each.")
    pool_size: int = _setting(read.whole_number(1, 1000), 8,
        help="Database connections one process may hold open at a time.")
    url: str | None = _setting(read.optional(read.line), fallback="none",
        help="Server to ask instead of a store of one's own, such as http://127.0.0.1:8484.")
    api_key: str | None = _setting(read.optional(read.line), fallback="none", secret=True, help="Key for that server.")
    serve_host: str = _setting(read.line, "127.0.0.1",
        help="Address that `recollect serve` listens at; 0.0.0.0 for every network.")
    serve_port: int = _setting(read.whole_number(0, 65_535), 8484, help="Port that `recollect serve` listens at.")
    serve_requests_per_minute: int = _setting(read.whole_number(0, 10_000_000), 0,
        help="Requests one key may send in a minute; 0 for any number.")
    serve_dashboard: bool = _setting(read.switch, True, help="Whether `recollect serve` offers the dashboard.")
    serve_workers: int = _setting(read.whole_number(1, 256), 1, help="Processes that `recollect serve` answers with.")
    serve_grace_s: float = _setting(read.seconds(0, 3600), 30.0,
        help="Seconds that running requests may take to end once the server is told to stop.")
    statement_timeout_s: float = _setting(read.seconds(0, 86_400), 60.0,
        help="Seconds one database statement may take; 0 means no limit.")
    learning: bool = _setting(read.switch, True,
        help="Whether searches and what came of them are recorded, and rankings learn from it: on or off.")
    learning_retention_days: int = _setting(read.whole_number(1, 36_500), 90,
        help="Days that recorded searches are kept; `sweep` erases older ones.")
    learning_explore: float = _setting(read.share, 0.0,
        help="Share of searches ranked a little differently, at random, to learn what else would serve.")
    domain_database_url: str | None = _setting(read.optional(read.sqlalchemy_url), fallback="none", secret=True,
        help="The tenant's own database, as an SQLAlchemy URL; an ontology says what is in it.")
    domain_timeout_s: float = _setting(read.seconds(0.05, 300), 2.0,
        help="Seconds one question to a domain database may take.")
    log_level: str = _setting(read.one_of("a log level; levels", LOG_LEVELS), "warning",
        help="What the command line logs: debug, info, warning or error.")
    # fmt: on
    #: The `[ontology]` and `[domain_databases]` tables of the file: docs/domain-database.md.
    ontology: Mapping[str, Any] = _table(_ontology)
    domain_databases: Mapping[str, str] = _table(read.urls_by_tenant)
    #: Where each value came from, by name; what is missing here is a default.
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for item in _declared():
            value = getattr(self, item.name)
            try:
                parsed = item.metadata["parse"](value)
            except (ValueError, InvalidInputError) as error:
                source = self.sources.get(item.name, item.name)
                raise ConfigurationError(_complaint(item, source, value, error)) from error
            object.__setattr__(self, item.name, parsed)

    @classmethod
    def load(
        cls,
        home: str | os.PathLike[str] | None = None,
        database_url: str | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        **overrides: object,
    ) -> Settings:
        """Collect settings: argument, else environment, else `recollect.toml`, else default.

        An argument that is None counts as not given. `environ` and `cwd` stand in for the process's own.
        """
        environ = os.environ if environ is None else environ
        folder = Path.cwd() if cwd is None else Path(cwd)
        given = {"home": home, "database_url": database_url, **overrides}
        _refuse_unknown(given, where="argument")
        gone = (name for name in GONE if variable_name(name) not in (*BUDGET_VARIABLES, *_ALSO.values()))
        _refuse_unknown([name for name in gone if environ.get(variable_name(name))], where="the environment")
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for item in _declared():
            variables = (variable_name(item.name), _ALSO.get(item.name, ""))
            variable = next((name for name in variables if environ.get(name)), None)
            if given.get(item.name) is not None:
                values[item.name], sources[item.name] = given[item.name], ARGUMENT_SOURCE
            elif variable is not None and not _is_table(item):
                values[item.name], sources[item.name] = environ[variable], variable
        file = folder / FILE_NAME
        if not file.is_file():
            file = cls._home_from(values, sources) / FILE_NAME
        in_home = file.parent != folder
        for name, value in _read_file(file).items():
            if in_home and name == "home":
                raise ConfigurationError(
                    f"home can't be set in {str(file)!r}, the file is found through it; remove it"
                )
            if name not in values:
                values[name], sources[name] = value, str(file)
                if name == "home" and isinstance(value, str) and value.strip() and not value.startswith("~"):
                    values[name] = file.parent / value
        settings = cls(**values, sources=sources)
        given_parts = {} if sources.get("budget") == ARGUMENT_SOURCE else _budget_parts(environ)
        if not given_parts:
            return settings
        sources["budget"] = ", ".join(name for name, part in BUDGET_VARIABLES.items() if part in given_parts)
        return dataclasses.replace(settings, budget=dataclasses.replace(settings.budget, **given_parts))

    @staticmethod
    def _home_from(values: Mapping[str, Any], sources: Mapping[str, str]) -> Path:
        known = {"home": values["home"]} if "home" in values else {}
        return Settings(**known, sources=sources).home

    def replace(self, **changes: Any) -> Settings:
        """The same settings with some changed."""
        _refuse_unknown(changes, where="argument")
        sources = {**self.sources, **dict.fromkeys(changes, ARGUMENT_SOURCE)}
        return dataclasses.replace(self, **changes, sources=sources)

    def describe(self) -> list[SettingRow]:
        """Every setting with its value (secrets masked), where the value came from, and a help sentence."""
        return [
            SettingRow(
                name=item.name,
                variable=variable_name(item.name),
                value=_display_text(item, getattr(self, item.name)),
                default=_default_text(item),
                source=self.sources.get(item.name, DEFAULT_SOURCE),
                help=item.metadata["help"],
            )
            for item in _declared()
            if not _is_table(item)
        ]

    def __repr__(self) -> str:
        values = ((item, getattr(self, item.name)) for item in _declared() if not _is_table(item))
        return f"Settings({', '.join(f'{item.name}={_masked(item, value)!r}' for item, value in values)})"


def variable_name(setting: str) -> str:
    """The environment variable of a setting."""
    return setting.upper() if setting.startswith(_OWN_PREFIX) else VARIABLE_PREFIX + setting.upper()


def mask_url(url: str) -> str:
    """A URL that may be shown: its password, and secrets among its parameters, are replaced by `***`."""
    # By pattern, not by urlsplit: a URL that can't be parsed must not leak either. Up to the last '@',
    # because an unquoted '@' or '/' in a password is a common mistake; hiding too much is the better one.
    masked = re.sub(r"(://[^/?#:@]*):.*@", r"\1:***@", url)
    if "://" not in masked:
        # Keywords and values, as libpq also takes them.
        return re.sub(r"(?i)(\bpassword\s*=\s*)('[^']*'|\S+)", r"\1***", masked)
    return re.sub(r"(?i)([?&](?:[a-z_-]*(?:password|key|token|secret))=)[^&#]*", r"\1***", masked)


def _declared() -> list[dataclasses.Field[Any]]:
    return [item for item in dataclasses.fields(Settings) if "parse" in item.metadata]


def _is_table(item: dataclasses.Field[Any]) -> bool:
    return "help" not in item.metadata


def _default_text(item: dataclasses.Field[Any]) -> str:
    text: str | None = item.metadata["fallback"]
    return text if text is not None else _display_text(item, item.default)


def _masked(item: dataclasses.Field[Any], value: object) -> object:
    if value is None or not item.metadata["secret"]:
        return value
    return mask_url(str(value)) if item.name.endswith("_url") else "***"


def _display_text(item: dataclasses.Field[Any], value: object) -> str:
    if value is None or not str(value):
        return str(item.metadata["fallback"])
    masked = _masked(item, value)
    if isinstance(masked, bool):
        return "on" if masked else "off"
    if isinstance(masked, tuple):
        return os.pathsep.join(map(str, masked))
    return f"{masked:g}" if isinstance(masked, float) else str(masked)


def _complaint(item: dataclasses.Field[Any], source: str, value: object, error: Exception) -> str:
    place = f" (in {source!r})" if source.endswith(FILE_NAME) else ""
    if _is_table(item):
        return f"{item.name}{place}: {error}"
    masked, reason = _masked(item, value), str(error)
    if isinstance(error, InvalidInputError):
        reason = f"can't be used: {reason}"
    label = source if source in (variable_name(item.name), _ALSO.get(item.name)) else item.name
    masked = os.fspath(masked) if isinstance(masked, os.PathLike) else masked
    return f"{label}={masked!r}{place} {reason}"


def _budget_parts(environ: Mapping[str, str]) -> dict[str, Any]:
    """What the variables for parts of a budget say."""
    parts: dict[str, Any] = {}
    for variable, part in BUDGET_VARIABLES.items():
        if text := environ.get(variable):
            try:
                parts[part] = read.BUDGET[part](text)
            except ValueError as error:
                raise ConfigurationError(f"{variable}={text!r} {error}") from error
    return parts


def _refuse_unknown(names: Iterable[str], *, where: str) -> None:
    known = [item.name for item in _declared()]
    for name in names:
        if name in known:
            continue
        if name in GONE:
            raise ConfigurationError(f"the setting {name!r} in {where} is gone: {GONE[name]}")
        close = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"settings are {', '.join(known)}"
        raise ConfigurationError(f"unknown setting {name!r} in {where}; {hint}")


def _read_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"can't read {str(file)!r}: {error}") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{str(file)!r} is not valid TOML: {error}") from error
    _refuse_unknown(values, where=repr(str(file)))
    return values
