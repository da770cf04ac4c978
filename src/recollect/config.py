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
from urllib.parse import urlsplit

from recollect.domain.tenancy import LOCAL_TENANT
from recollect.domain.text import check_name
from recollect.domain.zones import check_timezone
from recollect.errors import ConfigurationError, InvalidInputError

FILE_NAME = "recollect.toml"
VARIABLE_PREFIX = "RECOLLECT_"
#: Settings whose variables have this prefix alone: RLM_MAX_SUBCALLS and the like.
_OWN_PREFIX = "rlm_"
#: How long a model that reasons may think, least first.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
LOG_LEVELS = ("debug", "info", "warning", "error")
_ON, _OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")

#: The source of a value nobody set.
DEFAULT_SOURCE = "default"
ARGUMENT_SOURCE = "argument"


#: Settings that there were, and what to write instead.
GONE = {
    "embedder_threads": "a process uses the cores it may run on; narrow those, as with taskset or a container's limit",
    "learning_min_events": "it is 1000",
    "model_effort": "write model_profile = 'effort=...'",
    "model_input_usd": "write model_profile = 'input_usd=... output_usd=...'",
    "model_max_output": "write model_profile = 'max_output=...'",
    "model_native_tools": "write model_profile = 'tools=on' or 'tools=off'",
    "model_output_usd": "write model_profile = 'input_usd=... output_usd=...'",
    "model_retries": "write model_profile = 'retries=...'",
    "model_window": "write model_profile = 'window=...'",
    "pool_timeout_s": "a call waits 30 seconds for a connection; raise pool_size",
    "recursion_enabled": "write recursion_threshold = 1 for off",
    "recursion_max_depth": "it is 3",
    "recursion_sub_call_timeout_s": "it is 30; rlm_timeout limits a run as a whole",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is said of a chat model by hand; None: as published."""

    window: int | None = None
    max_output: int | None = None
    effort: str | None = None
    tools: bool | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    retries: int = 4

    def __str__(self) -> str:
        given = ((item.name, getattr(self, item.name), item.default) for item in dataclasses.fields(self))
        words = {True: "on", False: "off"}
        said = {
            name: words[value] if isinstance(value, bool) else value
            for name, value, usual in given
            if value != usual
        }
        return " ".join(f"{name}={value}" for name, value in said.items())


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
    help: str,
    parse: Callable[[object], object],
    *,
    default: object = None,
    factory: Callable[[], object] | None = None,
    default_text: str | None = None,
    secret: bool = False,
) -> Any:
    metadata = {"help": help, "parse": parse, "default_text": default_text, "secret": secret}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


def _table(parse: Callable[[object], object]) -> Any:
    """A table of the file: it has no environment variable, and is not shown among the settings."""
    return field(default_factory=dict, hash=False, metadata={"table": parse})


def _whole_number(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"is not a whole number from {low} to {high}")
        return value

    return parse


def _amount(what: str, low: float, high: float) -> Callable[[object], float]:
    def parse(value: object) -> float:
        try:
            amount = float(value) if isinstance(value, (str, int, float)) else low - 1
        except ValueError:
            amount = low - 1
        # A NaN compares false with both ends, so it is refused here too.
        if isinstance(value, bool) or not low <= amount <= high:
            raise ValueError(f"is not a {what} from {low:g} to {high:g}")
        return amount

    return parse


def _seconds(low: float, high: float) -> Callable[[object], float]:
    return _amount("number of seconds", low, high)


_dollars = _amount("number of dollars", 0, 1e6)
_share = _amount("number", 0, 1)


def _one_of(what: str, names: tuple[str, ...]) -> Callable[[object], str]:
    def parse(value: object) -> str:
        text = _line(value).lower()
        if text not in names:
            raise ValueError(f"is not {what} are {', '.join(names)}")
        return text

    return parse


def _model_facts(value: object) -> ModelFacts:
    if isinstance(value, ModelFacts):
        return value
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split()]
        value = {name: text for name, _, text in pairs}
    if not isinstance(value, Mapping):
        raise ValueError("is not a list of facts; write them as 'window=131072 tools=on'")
    facts: dict[str, Any] = {}
    for name, given in value.items():
        if name not in _FACTS:
            raise ValueError(f"has an unknown {name!r}; what can be said is {', '.join(_FACTS)}")
        try:
            facts[name] = _FACTS[name](given)
        except ValueError as error:
            raise ValueError(f"has a {name}={given!r} that {error}") from None
    if ("input_usd" in facts) != ("output_usd" in facts):
        raise ValueError("has one price without the other; give input_usd and output_usd")
    return ModelFacts(**facts)


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _ON or word in _OFF:
        return word in _ON
    raise ValueError("is neither 'on' nor 'off'")


#: How each fact about a model is read.
_FACTS: Mapping[str, Callable[[object], object]] = {
    "window": _whole_number(1_024, 100_000_000),
    "max_output": _whole_number(64, 10_000_000),
    "effort": _one_of("an effort; efforts", EFFORTS),
    "tools": _switch,
    "input_usd": _dollars,
    "output_usd": _dollars,
    "retries": _whole_number(0, 100),
}


def _folder(value: object) -> Path:
    if not isinstance(value, (str, os.PathLike)) or not str(value).strip() or "\0" in str(value):
        raise ValueError("is not a folder; give a path")
    try:
        return Path(os.path.abspath(Path(value).expanduser()))
    except RuntimeError as error:
        raise ValueError("has a '~' that can't be resolved; give a full path") from error


def _folders(value: object) -> tuple[Path, ...]:
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"is not a list of folders; separate them with {os.pathsep!r}")
    return tuple(_folder(part) for part in parts)


def _postgresql_url(value: object) -> str:
    text = _line(value)
    scheme = text.partition("://")[0]
    if scheme not in {"postgresql", "postgres"} or "://" not in text:
        raise ValueError(
            "is not a PostgreSQL URL; write it as 'postgresql://user:password@host:5432/database'"
        )
    try:
        urlsplit(text).port  # noqa: B018 - the property raises for a port that is not a number
    except ValueError:
        # The reason would quote a piece of the password.
        raise ValueError(
            "is not a PostgreSQL URL: its host or port can't be read; "
            "write '@', '/' and ':' in a password as %40, %2F and %3A"
        ) from None
    return text


def _http_url(value: object) -> str:
    text = _line(value)
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not an HTTP address; write it as 'http://127.0.0.1:8080/v1'")
    return text.rstrip("/")


def _sqlalchemy_url(value: object) -> str:
    text = _line(value)
    if not re.match(r"[a-z][a-z0-9_]*(?:\+[a-z0-9_]+)?://", text):
        raise ValueError(
            "is not an SQLAlchemy URL; write it as 'postgresql://user:password@host/database' or 'sqlite:///file.db'"
        )
    return text


def _urls_by_tenant(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError('is not a table; write [domain_databases] and one line per tenant: acme = "..."')
    found = {}
    for tenant, url in value.items():
        try:
            found[_name(tenant)] = _sqlalchemy_url(url)
        except (ValueError, InvalidInputError) as error:
            raise ValueError(f"has an entry {tenant!r} that {error}") from None
    return found


def _ontology(value: object) -> Mapping[str, Any]:
    from recollect.domain.ontology_document import parse_ontology

    if value:
        parse_ontology(value)
    return value if isinstance(value, Mapping) else {}


def _name(value: object) -> str:
    return check_name(value, what="it")


def _timezone(value: object) -> str:
    text = _line(value)
    check_timezone(text)
    return text


def _line(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("is not a string")
    text = value.strip()
    if not text or not text.isprintable():
        raise ValueError("is empty or has unprintable characters")
    return text


def _optional(parse: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else parse(value)


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

    home: Path = _setting(
        "Folder of the embedded database and of cached models.",
        _folder,
        factory=_default_home,
        default_text="the platform's user data folder",
    )
    database_url: str | None = _setting(
        "PostgreSQL (15 or later, with pgvector 0.8 or later) to use instead of the embedded one.",
        _optional(_postgresql_url),
        default_text="the embedded database",
        secret=True,
    )
    tenant: str = _setting("Tenant of a caller that gives no context.", _name, default=LOCAL_TENANT)
    user: str = _setting(
        "User of a caller that gives no context.",
        _name,
        factory=_system_user,
        default_text="the operating system's user name",
    )
    timezone: str = _setting(
        "Time zone in which questions name days when the caller gives none, as 'Europe/Lisbon'.",
        _timezone,
        default="UTC",
    )
    embedder: str = _setting(
        "What makes vectors of texts: 'auto', 'arctic', 'minilm', 'wordllama', 'e5' (many languages), "
        "'openai:<model>', 'fastembed:<model>'.",
        _line,
        default="auto",
    )
    embedder_base_url: str | None = _setting(
        "Address of an OpenAI-compatible embedding server, for 'openai:<model>'.",
        _optional(_http_url),
        default_text="the vendor's",
        secret=True,
    )
    embedder_api_key: str | None = _setting(
        "Key for that embedding server.", _optional(_line), default_text="none", secret=True
    )
    model: str | None = _setting(
        "Chat model for `infer` and summaries: 'openai:<model>', 'anthropic:<model>', 'ollama:<model>'.",
        _optional(_line),
        default_text="none",
    )
    model_base_url: str | None = _setting(
        "Address of an OpenAI-compatible chat server.",
        _optional(_http_url),
        default_text="the vendor's",
        secret=True,
    )
    model_api_key: str | None = _setting(
        "Key for the chat model.", _optional(_line), default_text="the vendor's variable", secret=True
    )
    model_timeout_s: float = _setting(
        "Seconds the chat model may take for one answer, waiting and trying again included.",
        _seconds(0.05, 3600),
        default=120.0,  # 8,000 tokens at the 70 a second that large models write
    )
    model_profile: ModelFacts = _setting(
        "What the chat model can do and costs, where that is not published or to be otherwise: "
        "'window=131072 max_output=8192 effort=low tools=on input_usd=0.15 output_usd=0.60 retries=2'. Window "
        "and output in tokens, dollars for a million, effort one of none, minimal, low, medium, high, xhigh, max.",
        _model_facts,
        factory=lambda: ModelFacts(),
        default_text="as published; a window of 32768 for a model that nobody knows",
    )
    model_max_usd: float | None = _setting(
        "Dollars that models may cost in one consultation, exploration, search, `add` with `infer` or consolidation.",
        _optional(_dollars),
        default_text="no limit",
    )
    root_model: str | None = _setting(
        "Chat model that plans how complex questions are decomposed; a learned policy does when none is named.",
        _optional(_line),
    )
    sub_call_model: str | None = _setting(
        "Chat model that plans for the parts of a decomposed question.",
        _optional(_line),
        default_text="the setting `root_model`",
    )
    recursion_threshold: float = _setting(
        "Complexity from which questions are decomposed: 1 none, 0.5 only the hardest, 0.3 all complex ones.",
        _share,
        default=0.3,
    )
    roots: tuple[Path, ...] | None = _setting(
        "Folders whose files may be read for callers who name a path; a list, or separated as in PATH.",
        _optional(_folders),
        default_text="any folder in your own program, none over `recollect serve`",
    )
    rows_max_tokens: int = _setting(
        "Tokens that a question put to every section or memory may read with a model; what is left out is said.",
        _whole_number(1_000, 1_000_000_000),
        default=400_000,
    )
    rlm_max_subcalls: int = _setting(
        "Tool calls that one exploration of code may make; answers from its cache are free.",
        _whole_number(0, 100_000),
        default=50,
    )
    rlm_max_per_iteration: int = _setting(
        "Tool calls that one step of an exploration may make.", _whole_number(0, 1_000), default=8
    )
    rlm_timeout: float | None = _setting(
        "Seconds that a run may take in all; then it answers with what it has.",
        _optional(_seconds(0.05, 86_400)),
        default_text="60 for a decomposed question, 300 for an exploration, 900 for a consultation",
    )
    rlm_model: str | None = _setting(
        "Chat model that explores code, as 'anthropic:<model>'; without its key none is asked.",
        _optional(_line),
        default_text="the settings `root_model` or `model`",
    )
    rlm_cache_enabled: bool = _setting(
        "Whether equal tool calls of explorations are answered from memory: on or off.", _switch, default=True
    )
    rlm_audit_dir: Path | None = _setting(
        "Folder for the records of explorations, one file each.",
        _optional(_folder),
        default_text="`telemetry/rlm` in the setting `home`",
    )
    telemetry: bool = _setting(
        "Whether metrics and traces go to OpenTelemetry, if the application or `recollect` sets it up: on or off.",
        _switch,
        default=True,
    )
    pool_size: int = _setting(
        "Database connections one process may hold open at a time.", _whole_number(1, 1000), default=8
    )
    library_max_file_bytes: int = _setting(
        "Largest file the library takes, in bytes.",
        _whole_number(1, 2_000_000_000),
        default=100_000_000,  # a thousand pages of scanned paper
    )
    url: str | None = _setting(
        "Server to ask instead of a store of one's own, such as http://127.0.0.1:8484.",
        _optional(_line),
        default_text="none",
    )
    api_key: str | None = _setting("Key for that server.", _optional(_line), default_text="none", secret=True)
    serve_host: str = _setting(
        "Address that `recollect serve` listens at; 0.0.0.0 for every network.", _line, default="127.0.0.1"
    )
    serve_port: int = _setting(
        "Port that `recollect serve` listens at.", _whole_number(0, 65_535), default=8484
    )
    serve_requests_per_minute: int = _setting(
        "Requests one key may send in a minute; 0 for any number.", _whole_number(0, 10_000_000), default=0
    )
    serve_dashboard: bool = _setting("Whether `recollect serve` offers the dashboard.", _switch, default=True)
    serve_workers: int = _setting(
        "Processes that `recollect serve` answers with.", _whole_number(1, 256), default=1
    )
    serve_grace_s: float = _setting(
        "Seconds that running requests may take to end once the server is told to stop.",
        _seconds(0, 3600),
        default=30.0,
    )
    start_timeout_s: float = _setting(
        "Seconds to wait for the database to start or to answer; recovery after a crash takes a while.",
        _seconds(0.1, 3600),
        default=120.0,
    )
    statement_timeout_s: float = _setting(
        "Seconds one database statement may take; 0 means no limit.", _seconds(0, 86_400), default=60.0
    )
    learning: bool = _setting(
        "Whether searches and what came of them are recorded, and rankings learn from it: on or off.",
        _switch,
        default=True,
    )
    learning_retention_days: int = _setting(
        "Days that recorded searches are kept; `sweep` erases older ones.",
        _whole_number(1, 36_500),
        default=90,
    )
    learning_explore: float = _setting(
        "Share of searches ranked a little differently, at random, to learn what else would serve.",
        _share,
        default=0.0,
    )
    domain_database_url: str | None = _setting(
        "The tenant's own database, as an SQLAlchemy URL; an ontology says what is in it.",
        _optional(_sqlalchemy_url),
        default_text="none",
        secret=True,
    )
    domain_timeout_s: float = _setting(
        "Seconds one question to a domain database may take.", _seconds(0.05, 300), default=2.0
    )
    log_level: str = _setting(
        "What the command line logs: debug, info, warning or error.",
        _one_of("a log level; levels", LOG_LEVELS),
        default="warning",
    )
    #: The `[ontology]` and `[domain_databases]` tables of the file: docs/domain-database.md.
    ontology: Mapping[str, Any] = _table(_ontology)
    domain_databases: Mapping[str, str] = _table(_urls_by_tenant)
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
        for item in _tables():
            try:
                parsed = item.metadata["table"](getattr(self, item.name))
            except (ValueError, InvalidInputError) as error:
                source = self.sources.get(item.name, item.name)
                place = f" (in {source!r})" if source.endswith(FILE_NAME) else ""
                raise ConfigurationError(f"{item.name}{place}: {error}") from error
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
        _refuse_unknown([name for name in GONE if environ.get(variable_name(name))], where="the environment")
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for item in _declared():
            variable = variable_name(item.name)
            if given.get(item.name) is not None:
                values[item.name], sources[item.name] = given[item.name], ARGUMENT_SOURCE
            elif environ.get(variable):
                values[item.name], sources[item.name] = environ[variable], variable
        for item in _tables():
            if given.get(item.name) is not None:
                values[item.name], sources[item.name] = given[item.name], ARGUMENT_SOURCE
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
        return cls(**values, sources=sources)

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
                value=_shown(item, getattr(self, item.name)),
                default=_default_text(item),
                source=self.sources.get(item.name, DEFAULT_SOURCE),
                help=item.metadata["help"],
            )
            for item in _declared()
        ]

    def __repr__(self) -> str:
        shown = ((item, getattr(self, item.name)) for item in _declared())
        parts = (f"{item.name}={_masked(item, value)!r}" for item, value in shown)
        return f"Settings({', '.join(parts)})"


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
    return [item for item in dataclasses.fields(Settings) if "help" in item.metadata]


def _tables() -> list[dataclasses.Field[Any]]:
    return [item for item in dataclasses.fields(Settings) if "table" in item.metadata]


def _default_text(item: dataclasses.Field[Any]) -> str:
    text: str | None = item.metadata["default_text"]
    return text if text is not None else _shown(item, item.default)


def _masked(item: dataclasses.Field[Any], value: object) -> object:
    if value is None or not item.metadata["secret"]:
        return value
    return mask_url(str(value)) if item.name.endswith("_url") else "***"


def _shown(item: dataclasses.Field[Any], value: object) -> str:
    if value is None or value == ModelFacts():
        return str(item.metadata["default_text"])
    shown = _masked(item, value)
    if isinstance(shown, bool):
        return "on" if shown else "off"
    if isinstance(shown, tuple):
        return os.pathsep.join(map(str, shown))
    return f"{shown:g}" if isinstance(shown, float) else str(shown)


def _complaint(item: dataclasses.Field[Any], source: str, value: object, error: Exception) -> str:
    shown = _masked(item, value)
    reason = str(error)
    if isinstance(error, InvalidInputError):
        reason = f"can't be used: {reason}"
    place = f" (in {source!r})" if source.endswith(FILE_NAME) else ""
    label = source if source == variable_name(item.name) else item.name
    shown = os.fspath(shown) if isinstance(shown, os.PathLike) else shown
    return f"{label}={shown!r}{place} {reason}"


def _refuse_unknown(names: Iterable[str], *, where: str) -> None:
    known = [item.name for item in (*_declared(), *_tables())]
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
