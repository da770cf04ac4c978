"""What a call is given is checked where it comes in, against its own signature, and sent to the server if there is one.

`@checked` on a class of the client's does it for every public method: a limit that is a string, a list that is a number
or a text that no database can hold is refused with a sentence, before anything is done. The types are those of the
annotations, so there is nothing else to declare. What a value means (a layer that exists, a number within its bounds)
is checked by whoever knows. A verb that changes nothing is asked again, once, if the connection breaks under it.
A plain list that one returns shows itself as a table (`domain/tables.py`).
"""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from os import PathLike
from types import NoneType, UnionType
from typing import Any, TextIO, TypeVar, Union, get_args, get_origin
from uuid import UUID

from recollect.domain.tables import displayable
from recollect.domain.text import refuse_unstorable
from recollect.errors import InvalidFilterError, InvalidInputError, InvalidTextError

T = TypeVar("T")

#: How a person calls a type.
_WORDS: Mapping[Any, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    bytes: "bytes",
    datetime: "a datetime",
    tzinfo: "a timezone",
    UUID: "an id",
    TextIO: "an open file",
    NoneType: "None",
}


def checked(cls: type[T]) -> type[T]:
    """Check what the public methods of a class are given."""
    for name, function in list(vars(cls).items()):
        if inspect.isfunction(function) and not name.startswith("_"):
            setattr(cls, name, _checking(function))
    return cls


def check_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse what is not of the type that the function's signature says. A default is always right."""
    expected = _expected(inspect.unwrap(function))
    for name, value in given.items():
        hint, default = expected.get(name, (Any, None))
        if value is not default and not _fits(value, hint, name):
            raise _refusal(name, value, hint)


def _checking(function: Callable[..., Any]) -> Callable[..., Any]:
    names = list(inspect.signature(function).parameters)[1:]

    def check(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        # How many there may be, and what they are called, Python says itself.
        check_arguments(function, {**dict(zip(names, args, strict=False)), **kwargs})

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waiting(self: Any, *args: Any, **kwargs: Any) -> Any:
            check(args, kwargs)
            if self._server is not None and self._server.offers(function):
                return displayable(await self._server.ask(function, *args, **kwargs))
            if not _may_be_repeated(function):
                return displayable(await function(self, *args, **kwargs))
            from recollect.storage.connections import try_twice

            return displayable(await try_twice(lambda: function(self, *args, **kwargs), only_reads=True))

        return waiting

    @functools.wraps(function)
    def plain(self: Any, *args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return function(self, *args, **kwargs)

    return plain


@functools.cache
def _may_be_repeated(function: Callable[..., Any]) -> bool:
    """Whether a method is a verb that changes nothing and does not take long."""
    from recollect.client.verbs import BY_NAME, verb_name  # they are read from these methods

    verb = BY_NAME.get(verb_name(function))
    return verb is not None and verb.repeats


@functools.cache
def _expected(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """The type and the default of each parameter."""
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters.items()
    return {name: (hints.get(name, Any), parameter.default) for name, parameter in parameters}


def _fits(value: object, hint: Any, name: str) -> bool:
    """Whether a value is of a type. Raises about what is inside of it, and about a string that can't be stored."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if isinstance(value, str) and any(get_origin(argument) is PathLike for argument in arguments):
            return _is_path(value, name)
        return any(_fits(value, argument, name) for argument in arguments)
    if hint is Any:
        return True
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    if hint is str and isinstance(value, str):
        refuse_unstorable(value, name)
        return True
    if hint is TextIO:
        return hasattr(value, "write")
    if origin is None:
        return isinstance(value, hint)
    if origin is Callable:
        return callable(value)
    if origin is PathLike:
        return isinstance(value, PathLike) and _is_path(os.fspath(value), name)
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and _holds(value.items(), arguments[1], name)
    if issubclass(origin, Sequence):
        listed = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        return listed and _holds(enumerate(value), arguments[0], name)  # type: ignore[arg-type]
    # What is read only once is looked at when it is read.
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _holds(items: Iterable[tuple[Any, Any]], hint: Any, name: str) -> bool:
    """Whether all that is in a list or a dict is of a type; raises about the first that is not."""
    for key, value in items:
        if not isinstance(key, str | int):
            raise _refusal(f"a key of {name}", key, str)
        if not _fits(value, hint, name):
            raise _refusal(f"{name}[{key!r}]", value, hint)
    return True


def _is_path(value: str | bytes, name: str) -> bool:
    """A path may hold what UTF-8 can't, as far as file systems do."""
    try:
        if b"\0" not in os.fsencode(value):
            return True
    except UnicodeEncodeError:
        pass
    raise InvalidTextError(f"{name} {value!r} can't be the path of a file")


def _refusal(name: str, value: object, hint: Any) -> InvalidInputError:
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    wanted = [kind for kind in kinds if kind is not NoneType]
    # Programs know this fault by its own code.
    fault = InvalidFilterError if name == "filters" else InvalidInputError
    if isinstance(value, str) and any(_is_list(kind) for kind in wanted):
        return fault(f"{name} must be a list, not the string {value!r}; write [{value!r}]")
    # A long value is no help.
    text = repr(value)[:80] if isinstance(value, str | int | float | None) else type(value).__name__
    return fault(f"{name} must be {' or '.join(dict.fromkeys(map(_word, wanted)))}, not {text}")


def _is_list(kind: Any) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping)


def _word(kind: Any) -> str:
    origin = get_origin(kind)
    if origin is PathLike:
        return "a path"
    if origin is Callable:
        return "a function"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a dict"
    if _is_list(kind):
        return "a list"
    return _WORDS.get(kind) or f"a {kind.__name__}"
