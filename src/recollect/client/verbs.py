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
    def function(self) -> Callable[..., Any]:
        """The client's method."""
        face, _, name = self.name.rpartition(".")
        owner: Any = AsyncRecollect
        if face:
            owner = _evaluated(getattr(AsyncRecollect, face).fget, "return")
        found: Callable[..., Any] = getattr(owner, name)
        return found

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
    found: list[Parameter] = []
    for one in list(inspect.signature(function).parameters.values())[1:]:
        if one.name in LOCAL_ONLY or (verb.only and one.name not in verb.only):
            continue
        if one.name in _APART:
            found += [
                Parameter(name=name, type=type, default=None) for name, type in _APART[one.name].items()
            ]
            continue
        type_ = json_type(_evaluated(function, one.name))
        found.append(Parameter(name=one.name, type=type_, default=one.default))
    return tuple(found)


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
            json_type(one) for one in arguments if not (one is bytes or is_dataclass(one))
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
    kwargs = {one.name: given[one.name] for one in parameters(verb) if one.name in given}
    for name, value in kwargs.items():
        if isinstance(value, list) and len(value) > MAX_ITEMS:
            raise InvalidInputError(
                f"{name} has {len(value):,} entries, the limit is {MAX_ITEMS:,}; send them in several requests"
            )
    for name, parts in _APART.items():
        if name not in inspect.signature(verb.function).parameters:
            continue
        said = {part: kwargs.pop(part, None) for part in parts}
        there = [part for part, value in said.items() if value is not None]
        if len(there) > 1:
            raise InvalidInputError(f"give either {' or '.join(map(repr, parts))}, not both")
        kwargs[name] = said[there[0]] if there else None
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

VERBS: tuple[Verb, ...] = (
    Verb(name="add", method="POST", path="/v1/memories", tag=_MEMORIES, writes=True, status=201),
    Verb(name="add_many", method="POST", path="/v1/memories/batch", tag=_MEMORIES, writes=True, lasts=True),
    Verb(name="list", method="GET", path="/v1/memories", tag=_MEMORIES),
    Verb(name="count", method="GET", path="/v1/memories/count", tag=_MEMORIES),
    Verb(name="get", method="GET", path="/v1/memories/{id}", tag=_MEMORIES),
    Verb(name="update", method="PATCH", path="/v1/memories/{id}", tag=_MEMORIES, writes=True),
    Verb(name="delete", method="DELETE", path="/v1/memories/{id}", tag=_MEMORIES, writes=True, only=("id",)),
    Verb(name="delete", method="POST", path="/v1/memories/delete", tag=_MEMORIES, writes=True),
    Verb(name="history", method="GET", path="/v1/memories/{id}/history", tag=_MEMORIES),
    Verb(
        name="feedback", method="POST", path="/v1/memories/{memory_id}/feedback", tag=_MEMORIES, writes=True
    ),
    Verb(name="supersede", method="POST", path="/v1/memories/{id}/supersede", tag=_MEMORIES, writes=True),
    Verb(name="restore", method="POST", path="/v1/memories/{id}/restore", tag=_MEMORIES, writes=True),
    Verb(name="search", method="POST", path="/v1/search", tag=_MEMORIES),
    Verb(name="context", method="POST", path="/v1/context", tag=_MEMORIES),
    Verb(
        name="ask",
        method="POST",
        path="/v1/ask",
        tag=_MEMORIES,
        streams=True,
        lasts=True,
        paths=("working_dir",),
    ),
    Verb(name="explain", method="POST", path="/v1/explain", tag=_MEMORIES),
    Verb(name="conflicts", method="GET", path="/v1/conflicts", tag=_MEMORIES),
    Verb(name="consolidate", method="POST", path="/v1/consolidate", tag=_MEMORIES, writes=True, lasts=True),
    Verb(name="sweep", method="POST", path="/v1/sweep", tag=_MEMORIES, writes=True, lasts=True),
    Verb(name="library.list", method="GET", path="/v1/library/documents", tag=_LIBRARY),
    Verb(
        name="library.sections",
        method="GET",
        path="/v1/library/documents/{document:path}/sections",
        tag=_LIBRARY,
    ),
    Verb(name="library.text", method="GET", path="/v1/library/documents/{document:path}/text", tag=_LIBRARY),
    Verb(name="library.get", method="GET", path="/v1/library/documents/{document:path}", tag=_LIBRARY),
    Verb(
        name="library.remove",
        method="DELETE",
        path="/v1/library/documents/{document:path}",
        tag=_LIBRARY,
        writes=True,
    ),
    Verb(name="library.search", method="POST", path="/v1/library/search", tag=_LIBRARY),
    Verb(
        name="library.add_folder",
        method="POST",
        path="/v1/library/folders",
        tag=_LIBRARY,
        writes=True,
        lasts=True,
        paths=("folder",),
        status=201,
    ),
    Verb(
        name="library.resume", method="POST", path="/v1/library/resume", tag=_LIBRARY, writes=True, lasts=True
    ),
    Verb(
        name="oracle_consult",
        method="POST",
        path="/v1/consult",
        tag=_ORACLE,
        writes=True,
        streams=True,
        lasts=True,
        paths=("working_dir",),
    ),
    Verb(
        name="oracle_dry_run",
        method="POST",
        path="/v1/consult/dry-run",
        tag=_ORACLE,
        lasts=True,
        paths=("working_dir",),
    ),
    Verb(name="consultations.list", method="GET", path="/v1/consultations", tag=_ORACLE),
    Verb(name="consultations.get", method="GET", path="/v1/consultations/{id}", tag=_ORACLE),
    Verb(name="consultations.events", method="GET", path="/v1/consultations/{id}/events", tag=_ORACLE),
    Verb(
        name="consultations.repeat",
        method="POST",
        path="/v1/consultations/{id}/repeat",
        tag=_ORACLE,
        writes=True,
        lasts=True,
    ),
    Verb(
        name="consultations.end_session",
        method="POST",
        path="/v1/consultations/end-session",
        tag=_ORACLE,
        writes=True,
    ),
    Verb(name="capabilities", method="GET", path="/v1/capabilities", tag=_ORACLE),
    Verb(name="verify", method="POST", path="/v1/verify", tag=_ORACLE, paths=("working_dir",)),
    Verb(
        name="explore",
        method="POST",
        path="/v1/explore",
        tag=_CODE,
        writes=True,
        streams=True,
        lasts=True,
        paths=("path",),
    ),
    Verb(
        name="explore_dry_run",
        method="POST",
        path="/v1/explore/dry-run",
        tag=_CODE,
        lasts=True,
        paths=("path",),
    ),
    Verb(name="explorations.list", method="GET", path="/v1/explorations", tag=_CODE),
    Verb(name="explorations.get", method="GET", path="/v1/explorations/{task_id:path}", tag=_CODE),
    Verb(
        name="explorations.replay",
        method="POST",
        path="/v1/explorations/{task_id:path}/replay",
        tag=_CODE,
        lasts=True,
    ),
    Verb(name="ontology.get", method="GET", path="/v1/ontology", tag=_DATABASE),
    Verb(name="ontology.declare", method="PUT", path="/v1/ontology", tag=_DATABASE, writes=True),
    Verb(name="ontology.clear", method="DELETE", path="/v1/ontology", tag=_DATABASE, writes=True),
    Verb(name="ontology.check", method="GET", path="/v1/ontology/check", tag=_DATABASE),
    Verb(name="ontology.query", method="POST", path="/v1/ontology/query", tag=_DATABASE),
    Verb(name="learning.status", method="GET", path="/v1/learning", tag=_LEARNING),
    Verb(
        name="learning.log_retrieval_event",
        method="POST",
        path="/v1/learning/used",
        tag=_LEARNING,
        writes=True,
    ),
    Verb(name="learning.runs", method="GET", path="/v1/learning/runs", tag=_LEARNING),
    Verb(name="learning.run", method="GET", path="/v1/learning/runs/{id}", tag=_LEARNING),
    Verb(name="learning.report", method="GET", path="/v1/learning/report", tag=_LEARNING),
    Verb(
        name="learning.train",
        method="POST",
        path="/v1/learning/train",
        tag=_LEARNING,
        writes=True,
        lasts=True,
    ),
    Verb(
        name="learning.bootstrap",
        method="POST",
        path="/v1/learning/bootstrap",
        tag=_LEARNING,
        writes=True,
        lasts=True,
    ),
    Verb(
        name="learning.start_experiment",
        method="POST",
        path="/v1/learning/experiments",
        tag=_LEARNING,
        writes=True,
        status=201,
    ),
    Verb(
        name="learning.stop_experiment",
        method="POST",
        path="/v1/learning/experiments/stop",
        tag=_LEARNING,
        writes=True,
    ),
    Verb(name="learning.reset", method="POST", path="/v1/learning/reset", tag=_LEARNING, writes=True),
    Verb(name="tenants.get", method="GET", path="/v1/tenant", tag=_WHO),
    Verb(name="tenants.list", method="GET", path="/v1/tenants", tag=_WHO),
    Verb(name="tenants.create", method="POST", path="/v1/tenants", tag=_WHO, writes=True, status=201),
    Verb(name="tenants.forget", method="DELETE", path="/v1/tenants/{id}", tag=_WHO, writes=True, lasts=True),
    Verb(name="tenants.set_retention", method="PUT", path="/v1/tenant/retention", tag=_WHO, writes=True),
    Verb(name="tenants.set_recursion", method="PUT", path="/v1/tenant/recursion", tag=_WHO, writes=True),
    Verb(name="tenants.set_traces", method="PUT", path="/v1/tenant/traces", tag=_WHO, writes=True),
    Verb(name="scopes.list", method="GET", path="/v1/scopes", tag=_WHO),
    Verb(name="scopes.create", method="POST", path="/v1/scopes", tag=_WHO, writes=True, status=201),
    Verb(name="scopes.move", method="POST", path="/v1/scopes/move", tag=_WHO, writes=True),
    Verb(name="scopes.delete", method="DELETE", path="/v1/scopes/{scope:path}", tag=_WHO, writes=True),
    Verb(name="members.list", method="GET", path="/v1/members", tag=_WHO),
    Verb(name="members.add", method="POST", path="/v1/members", tag=_WHO, writes=True, status=201),
    Verb(name="members.remove", method="DELETE", path="/v1/members", tag=_WHO, writes=True),
    Verb(
        name="forget_user",
        method="DELETE",
        path="/v1/users/{user_id:path}",
        tag=_WHO,
        writes=True,
        lasts=True,
    ),
    Verb(name="keys.list", method="GET", path="/v1/keys", tag=_WHO),
    Verb(name="keys.create", method="POST", path="/v1/keys", tag=_WHO, writes=True, secret=True, status=201),
    Verb(name="keys.revoke", method="DELETE", path="/v1/keys/{id}", tag=_WHO, writes=True),
    Verb(
        name="keys.rotate",
        method="POST",
        path="/v1/keys/{id}/rotate",
        tag=_WHO,
        writes=True,
        secret=True,
        status=201,
    ),
    Verb(name="overview", method="GET", path="/v1/overview", tag=_MEMORIES),
    Verb(name="events.list", method="GET", path="/v1/events", tag=_MEMORIES),
    Verb(name="traces.list", method="GET", path="/v1/traces", tag=_MEMORIES),
    Verb(name="traces.get", method="GET", path="/v1/traces/{id}", tag=_MEMORIES),
    Verb(name="entities.graph", method="GET", path="/v1/entities/graph", tag=_MEMORIES),
    Verb(name="entities.list", method="GET", path="/v1/entities", tag=_MEMORIES),
    Verb(name="entities.declare", method="POST", path="/v1/entities", tag=_MEMORIES, writes=True, status=201),
    Verb(name="entities.alias", method="POST", path="/v1/entities/aliases", tag=_MEMORIES, writes=True),
    Verb(name="entities.forget", method="DELETE", path="/v1/entities", tag=_MEMORIES, writes=True),
)
BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}
