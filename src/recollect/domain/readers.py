"""How the value of a setting is read: from Python, a variable of the environment or a line of TOML.

A reader gives the value in its type, or raises a `ValueError` whose words follow the setting's name. `config.py` has
the settings.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from recollect.domain.text import check_name, check_timezone
from recollect.errors import InvalidInputError

#: How long a model that reasons may think, least first.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_ON, _OFF = ("on", "true", "yes", "1"), ("off", "false", "no", "0")


@dataclass(frozen=True, slots=True)
class _Parts:
    """Several values in one setting; as a text they are written as there, without what is as by default."""

    def __str__(self) -> str:
        parts = ((item.name, getattr(self, item.name), item.default) for item in dataclasses.fields(self))
        words = {True: "on", False: "off"}
        return " ".join(f"{name}={words.get(part, part)}" for name, part, usual in parts if part != usual)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBudget(_Parts):
    """What one run may take where its caller says nothing; `timeout_seconds` None: as its kind needs."""

    max_subcalls: int = 50
    max_subcalls_per_iteration: int = 8
    timeout_seconds: float | None = None
    max_usd: float | None = None
    rows_max_tokens: int = 400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts(_Parts):
    """What is said of a chat model by hand; None: as published."""

    window: int | None = None
    max_output: int | None = None
    effort: str | None = None
    tools: bool | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    retries: int = 4
    #: 8,000 tokens at the 70 a second that large models write.
    timeout_s: float = 120.0


def whole_number(low: int, high: int) -> Callable[[object], int]:
    """A whole number within bounds."""

    def parse(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"is not a whole number from {low} to {high}")
        return value

    return parse


def amount(what: str, low: float, high: float) -> Callable[[object], float]:
    """A number within bounds; `what` says of what."""

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


def seconds(low: float, high: float) -> Callable[[object], float]:
    """A number of seconds within bounds."""
    return amount("number of seconds", low, high)


dollars = amount("number of dollars", 0, 1e6)
share = amount("number", 0, 1)


def one_of(what: str, names: tuple[str, ...]) -> Callable[[object], str]:
    """A reader that takes one of some words."""

    def parse(value: object) -> str:
        text = line(value).lower()
        if text not in names:
            raise ValueError(f"is not {what} are {', '.join(names)}")
        return text

    return parse


def _parts(value: object, readers: Mapping[str, Callable[[object], object]], example: str) -> dict[str, Any]:
    """The parts of a setting that has several: 'window=131072 tools=on', or a table."""
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split()]
        value = {name: text for name, _, text in pairs}
    if not isinstance(value, Mapping):
        raise ValueError(f"is neither a table nor a line such as {example!r}")
    parts: dict[str, Any] = {}
    for name, given in value.items():
        if name not in readers:
            raise ValueError(f"has an unknown {name!r}; what can be said is {', '.join(readers)}")
        try:
            parts[name] = readers[name](given)
        except ValueError as error:
            raise ValueError(f"has a {name}={given!r} that {error}") from None
    return parts


def model_facts(value: object) -> ModelFacts:
    """What is said of a model."""
    if isinstance(value, ModelFacts):
        return value
    facts = _parts(value, _FACTS, "window=131072 tools=on")
    if ("input_usd" in facts) != ("output_usd" in facts):
        raise ValueError("has one price without the other; give input_usd and output_usd")
    return ModelFacts(**facts)


def run_budget(value: object) -> RunBudget:
    """What a run may take."""
    if isinstance(value, RunBudget):
        return value
    return RunBudget(**_parts(value, BUDGET, "timeout_seconds=120 max_usd=0.5"))


def switch(value: object) -> bool:
    """On or off."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in _ON or word in _OFF:
        return word in _ON
    raise ValueError("is neither 'on' nor 'off'")


#: How each fact about a model is read.
_FACTS: Mapping[str, Callable[[object], object]] = {
    "window": whole_number(1_024, 100_000_000),
    "max_output": whole_number(64, 10_000_000),
    "effort": one_of("an effort; efforts", EFFORTS),
    "tools": switch,
    "input_usd": dollars,
    "output_usd": dollars,
    "retries": whole_number(0, 100),
    "timeout_s": seconds(0.05, 3600),
}
#: How each part of a run's budget is read.
BUDGET: Mapping[str, Callable[[object], object]] = {
    "max_subcalls": whole_number(0, 100_000),
    "max_subcalls_per_iteration": whole_number(0, 1_000),
    "timeout_seconds": seconds(0.05, 86_400),
    "max_usd": dollars,
    "rows_max_tokens": whole_number(1_000, 1_000_000_000),
}


def folder(value: object) -> Path:
    """A folder, as a full path."""
    if not isinstance(value, (str, os.PathLike)) or not str(value).strip() or "\0" in str(value):
        raise ValueError("is not a folder; give a path")
    try:
        return Path(os.path.abspath(Path(value).expanduser()))
    except RuntimeError as error:
        raise ValueError("has a '~' that can't be resolved; give a full path") from error


def folders(value: object) -> tuple[Path, ...]:
    """Folders: a list, or separated as in PATH."""
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"is not a list of folders; separate them with {os.pathsep!r}")
    return tuple(folder(part) for part in parts)


def postgresql_url(value: object) -> str:
    """The URL of a PostgreSQL."""
    text = line(value)
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


def http_url(value: object) -> str:
    """The address of an HTTP server."""
    text = line(value)
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not an HTTP address; write it as 'http://127.0.0.1:8080/v1'")
    return text.rstrip("/")


def sqlalchemy_url(value: object) -> str:
    """The URL of any database that SQLAlchemy reaches."""
    text = line(value)
    if not re.match(r"[a-z][a-z0-9_]*(?:\+[a-z0-9_]+)?://", text):
        raise ValueError(
            "is not an SQLAlchemy URL; write it as 'postgresql://user:password@host/database' or 'sqlite:///file.db'"
        )
    return text


def urls_by_tenant(value: object) -> Mapping[str, str]:
    """A table of database URLs by tenant."""
    if not isinstance(value, Mapping):
        raise ValueError('is not a table; write [domain_databases] and one line per tenant: acme = "..."')
    urls = {}
    for tenant, url in value.items():
        try:
            urls[name(tenant)] = sqlalchemy_url(url)
        except (ValueError, InvalidInputError) as error:
            raise ValueError(f"has an entry {tenant!r} that {error}") from None
    return urls


def name(value: object) -> str:
    """A name that can be stored."""
    return check_name(value, what="it")


def timezone(value: object) -> str:
    """The name of a time zone."""
    text = line(value)
    check_timezone(text)
    return text


def line(value: object) -> str:
    """One printable line."""
    if not isinstance(value, str):
        raise ValueError("is not a string")
    text = value.strip()
    if not text or not text.isprintable():
        raise ValueError("is empty or has unprintable characters")
    return text


def optional(parse: Callable[[object], object]) -> Callable[[object], object]:
    """What a reader takes, or None."""
    return lambda value: None if value is None else parse(value)
