"""The verbs that surfaces offer, each once: its name in Python, its place in HTTP, and what it takes.

What a verb takes is read from the client's own signature: names, defaults and descriptions agree everywhere because
there is only one of each. Surfaces translate; nothing is decided here.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import datetime, tzinfo
from functools import cache
from os import PathLike
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from recollect.client.async_client import AsyncRecollect
from recollect.errors import InvalidInputError

#: One parameter in Python that is two in JSON, where a reader can't tell a type by looking.
_APART: Mapping[str, Mapping[str, Any]] = {
    "text_or_messages": {"text": str | None, "messages": list[dict[str, Any]] | None}
}
#: Parameters that only a caller in the same process can give.
LOCAL_ONLY = frozenset({"progress", "on_event", "vacuum", "audit_dir"})

#: What one request may hold of anything: a batch as large takes minutes, and its report a megabyte.
MAX_ITEMS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb of the client: `name` is how Python calls it, `method` and `path` how HTTP does.

    `writes`: it changes something, so that a repeat must be told from a second one. `streams`: it can tell what
    happens while it goes on. `paths`: parameters that name a place on the server's disk, which a server limits.
    `lasts`: it may take seconds or minutes, and is not queued with those that take milliseconds.
    `only`: of what it takes, this here; all when empty. `secret`: its answer holds one, and is kept nowhere.
    """

    name: str
    method: str
    path: str
    tag: str
    writes: bool = False
    streams: bool = False
    lasts: bool = False
    paths: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    secret: bool = False
    status: int = 200

    @property
    def repeats(self) -> bool:
        """Whether it is asked again when the connection to the database breaks."""
        return not (self.writes or self.lasts)

    @property
    def function(self) -> Callable[..., Any]:
        """The client's method."""
        face, _, name = self.name.rpartition(".")
        owner: Any = AsyncRecollect
        if face:
            owner = _evaluated(getattr(AsyncRecollect, face).fget, "return")
        method: Callable[..., Any] = getattr(owner, name)
        return method

    def bind(self, client: AsyncRecollect) -> Callable[..., Any]:
        """The verb of one caller's client."""
        face, _, name = self.name.rpartition(".")
        bound: Callable[..., Any] = getattr(getattr(client, face) if face else client, name)
        return bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing a verb takes, as JSON has it. Without a `default` it must be given; UNCHANGED: it may be left out."""

    name: str
    type: Any
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty


@cache
def parameters(verb: Verb) -> tuple[Parameter, ...]:
    """What a verb takes, read from the client's signature."""
    function = verb.function
    taken: list[Parameter] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.name in LOCAL_ONLY or (verb.only and parameter.name not in verb.only):
            continue
        if parameter.name in _APART:
            taken += [
                Parameter(name=name, type=type, default=None) for name, type in _APART[parameter.name].items()
            ]
            continue
        type_ = json_type(_evaluated(function, parameter.name))
        taken.append(Parameter(name=parameter.name, type=type_, default=parameter.default))
    return tuple(taken)


def verb_name(function: Callable[..., Any]) -> str:
    """How the table names a method: `AsyncLibrary.add` is `library.add`, `AsyncRecollect.add` is `add`."""
    owner, _, name = function.__qualname__.rpartition(".")
    face = owner.removeprefix("Async")
    return name if face in ("Recollect", owner) else f"{face.lower()}.{name}"


def returned(verb: Verb) -> Any:
    """The type of what a verb returns."""
    return _evaluated(verb.function, "return")


def _evaluated(function: Callable[..., Any], name: str) -> Any:
    return get_type_hints(inspect.unwrap(function))[name]


def description(verb: Verb) -> str:
    """What the verb does, in the words of the client."""
    return inspect.getdoc(verb.function) or ""


def json_type(annotation: Any) -> Any:
    """A type of Python as JSON can carry it: times, ids and paths are strings, sequences lists, mappings objects."""
    if annotation in (datetime, UUID, tzinfo) or annotation is PathLike or get_origin(annotation) is PathLike:
        return str
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        members = dict.fromkeys(
            json_type(argument) for argument in arguments if not (argument is bytes or is_dataclass(argument))
        )
        return Union[tuple(members)]  # noqa: UP007 - made at run time
    if origin is not None and isinstance(origin, type):
        if issubclass(origin, Mapping):
            return dict[str, Any]
        if issubclass(origin, Iterable):
            return list[json_type(arguments[0])]  # type: ignore[misc]
    return annotation


def arguments_of(verb: Verb, given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as the client's method takes it; what was left out keeps the method's default."""
    kwargs = {
        parameter.name: given[parameter.name] for parameter in parameters(verb) if parameter.name in given
    }
    for name, value in kwargs.items():
        if isinstance(value, list) and len(value) > MAX_ITEMS:
            raise InvalidInputError(
                f"{name} has {len(value):,} entries, the limit is {MAX_ITEMS:,}; send them in several requests"
            )
    for name, parts in _APART.items():
        if name not in inspect.signature(verb.function).parameters:
            continue
        values = [value for part in parts if (value := kwargs.pop(part, None)) is not None]
        if len(values) > 1:
            raise InvalidInputError(f"give either {' or '.join(map(repr, parts))}, not both")
        kwargs[name] = values[0] if values else None
    return kwargs


def given_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The way back: arguments of the client's method as JSON names them."""
    given = dict(arguments)
    for name, parts in _APART.items():
        if name in given:
            value = given.pop(name)
            first, *others = parts
            # What is no text is meant as the other; nothing at all is said as the first, which then is missing.
            given[first if value is None or isinstance(value, str) else others[0]] = value
    return given


_MEMORIES, _LIBRARY, _ORACLE, _CODE, _WHO, _LEARNING, _DATABASE = (
    "memories",
    "library",
    "oracle",
    "code",
    "who sees what",
    "learning",
    "your own database",
)


def _verb(route: str, name: str, tag: str, **more: Any) -> Verb:
    method, _, path = route.partition(" ")
    return Verb(name=name, method=method, path=path, tag=tag, **more)


VERBS: tuple[Verb, ...] = (
    _verb("POST /v1/memories", "add", _MEMORIES, writes=True, status=201),
    _verb("POST /v1/memories/batch", "add_many", _MEMORIES, writes=True, lasts=True),
    _verb("GET /v1/memories", "list", _MEMORIES),
    _verb("GET /v1/memories/count", "count", _MEMORIES),
    _verb("GET /v1/memories/{id}", "get", _MEMORIES),
    _verb("PATCH /v1/memories/{id}", "update", _MEMORIES, writes=True),
    _verb("DELETE /v1/memories/{id}", "delete", _MEMORIES, writes=True, only=("id",)),
    _verb("POST /v1/memories/delete", "delete", _MEMORIES, writes=True),
    _verb("GET /v1/memories/{id}/history", "history", _MEMORIES),
    _verb("POST /v1/memories/{memory_id}/feedback", "feedback", _MEMORIES, writes=True),
    _verb("POST /v1/memories/{id}/supersede", "supersede", _MEMORIES, writes=True),
    _verb("POST /v1/memories/{id}/restore", "restore", _MEMORIES, writes=True),
    _verb("POST /v1/search", "search", _MEMORIES),
    _verb("POST /v1/search/dry-run", "search_dry_run", _MEMORIES),
    _verb("POST /v1/context", "context", _MEMORIES),
    _verb("POST /v1/ask", "ask", _MEMORIES, streams=True, lasts=True, paths=("working_dir",)),
    _verb("POST /v1/ask/dry-run", "ask_dry_run", _MEMORIES, lasts=True, paths=("working_dir",)),
    _verb("POST /v1/explain", "explain", _MEMORIES),
    _verb("GET /v1/conflicts", "conflicts", _MEMORIES),
    _verb("POST /v1/consolidate", "consolidate", _MEMORIES, writes=True, lasts=True),
    _verb("POST /v1/sweep", "sweep", _MEMORIES, writes=True, lasts=True),
    _verb("GET /v1/library/documents", "library.list", _LIBRARY),
    _verb("GET /v1/library/documents/{document:path}/sections", "library.sections", _LIBRARY),
    _verb("GET /v1/library/documents/{document:path}/text", "library.text", _LIBRARY),
    _verb("GET /v1/library/documents/{document:path}", "library.get", _LIBRARY),
    _verb("DELETE /v1/library/documents/{document:path}", "library.remove", _LIBRARY, writes=True),
    _verb("POST /v1/library/search", "library.search", _LIBRARY),
    _verb(
        "POST /v1/library/folders",
        "library.add_folder",
        _LIBRARY,
        writes=True,
        lasts=True,
        paths=("folder",),
        status=201,
    ),
    _verb("POST /v1/library/resume", "library.resume", _LIBRARY, writes=True, lasts=True),
    _verb(
        "POST /v1/consult",
        "oracle_consult",
        _ORACLE,
        writes=True,
        streams=True,
        lasts=True,
        paths=("working_dir",),
    ),
    _verb("POST /v1/consult/dry-run", "oracle_dry_run", _ORACLE, lasts=True, paths=("working_dir",)),
    _verb("GET /v1/consultations", "consultations.list", _ORACLE),
    _verb("GET /v1/consultations/{id}", "consultations.get", _ORACLE),
    _verb("GET /v1/consultations/{id}/events", "consultations.events", _ORACLE),
    _verb("POST /v1/consultations/{id}/repeat", "consultations.repeat", _ORACLE, writes=True, lasts=True),
    _verb("POST /v1/consultations/end-session", "consultations.end_session", _ORACLE, writes=True),
    _verb("POST /v1/advise", "advise", _ORACLE, paths=("path",)),
    _verb("GET /v1/capabilities", "capabilities", _ORACLE),
    _verb("POST /v1/verify", "verify", _ORACLE, paths=("working_dir",)),
    _verb("POST /v1/explore", "explore", _CODE, writes=True, streams=True, lasts=True, paths=("path",)),
    _verb("POST /v1/explore/dry-run", "explore_dry_run", _CODE, lasts=True, paths=("path",)),
    _verb("GET /v1/explorations", "explorations.list", _CODE),
    _verb("GET /v1/explorations/{task_id:path}", "explorations.get", _CODE),
    _verb("POST /v1/explorations/{task_id:path}/replay", "explorations.replay", _CODE, lasts=True),
    _verb("GET /v1/ontology", "ontology.get", _DATABASE),
    _verb("PUT /v1/ontology", "ontology.declare", _DATABASE, writes=True),
    _verb("DELETE /v1/ontology", "ontology.clear", _DATABASE, writes=True),
    _verb("GET /v1/ontology/check", "ontology.check", _DATABASE),
    _verb("POST /v1/ontology/query", "ontology.query", _DATABASE),
    _verb("GET /v1/learning", "learning.status", _LEARNING),
    _verb("POST /v1/learning/used", "learning.log_retrieval_event", _LEARNING, writes=True),
    _verb("GET /v1/learning/runs", "learning.runs", _LEARNING),
    _verb("GET /v1/learning/runs/{id}", "learning.run", _LEARNING),
    _verb("GET /v1/learning/report", "learning.report", _LEARNING),
    _verb("POST /v1/learning/train", "learning.train", _LEARNING, writes=True, lasts=True),
    _verb("POST /v1/learning/bootstrap", "learning.bootstrap", _LEARNING, writes=True, lasts=True),
    _verb("POST /v1/learning/experiments", "learning.start_experiment", _LEARNING, writes=True, status=201),
    _verb("POST /v1/learning/experiments/stop", "learning.stop_experiment", _LEARNING, writes=True),
    _verb("POST /v1/learning/reset", "learning.reset", _LEARNING, writes=True),
    _verb("GET /v1/tenant", "tenants.get", _WHO),
    _verb("GET /v1/tenants", "tenants.list", _WHO),
    _verb("POST /v1/tenants", "tenants.create", _WHO, writes=True, status=201),
    _verb("DELETE /v1/tenants/{id}", "tenants.forget", _WHO, writes=True, lasts=True),
    _verb("PUT /v1/tenant/retention", "tenants.set_retention", _WHO, writes=True),
    _verb("PUT /v1/tenant/recursion", "tenants.set_recursion", _WHO, writes=True),
    _verb("PUT /v1/tenant/traces", "tenants.set_traces", _WHO, writes=True),
    _verb("GET /v1/scopes", "scopes.list", _WHO),
    _verb("POST /v1/scopes", "scopes.create", _WHO, writes=True, status=201),
    _verb("POST /v1/scopes/move", "scopes.move", _WHO, writes=True),
    _verb("DELETE /v1/scopes/{scope:path}", "scopes.delete", _WHO, writes=True),
    _verb("GET /v1/members", "members.list", _WHO),
    _verb("POST /v1/members", "members.add", _WHO, writes=True, status=201),
    _verb("DELETE /v1/members", "members.remove", _WHO, writes=True),
    _verb("DELETE /v1/users/{user_id:path}", "forget_user", _WHO, writes=True, lasts=True),
    _verb("GET /v1/keys", "keys.list", _WHO),
    _verb("POST /v1/keys", "keys.create", _WHO, writes=True, secret=True, status=201),
    _verb("DELETE /v1/keys/{id}", "keys.revoke", _WHO, writes=True),
    _verb("POST /v1/keys/{id}/rotate", "keys.rotate", _WHO, writes=True, secret=True, status=201),
    _verb("GET /v1/overview", "overview", _MEMORIES),
    _verb("GET /v1/events", "events.list", _MEMORIES),
    _verb("GET /v1/traces", "traces.list", _MEMORIES),
    _verb("GET /v1/traces/{id}", "traces.get", _MEMORIES),
    _verb("GET /v1/entities/graph", "entities.graph", _MEMORIES),
    _verb("GET /v1/entities", "entities.list", _MEMORIES),
    _verb("POST /v1/entities", "entities.declare", _MEMORIES, writes=True, status=201),
    _verb("POST /v1/entities/aliases", "entities.alias", _MEMORIES, writes=True),
    _verb("DELETE /v1/entities", "entities.forget", _MEMORIES, writes=True),
)
BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}
