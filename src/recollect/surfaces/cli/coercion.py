"""Reads plain options without pydantic.

Typer turns every option into a pydantic adapter before it reads the first one, which takes longer than all the
rest of reading a command line. Texts, numbers, flags and paths need none of that. `lighten` gives such
parameters a reader of our own; others, and versions of typer that work differently, are left as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a whole number") from None


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a number")
    return number


def _flag(text: str) -> bool:
    known = {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if text.lower() not in known:
        raise ValueError(f"{text!r} is not yes or no")
    return known[text.lower()]


_READERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: _whole_number,
    float: _number,
    bool: _flag,
    Path: Path,
    list[str]: str,
}


class _PlainValue:
    """What typer asks to turn the text of one parameter into its value."""

    def __init__(self, read: Callable[[str], Any], least: float | None, most: float | None) -> None:
        self.read = read
        self.least, self.most = least, most

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if param.multiple or param.nargs == -1:
            return tuple(self._one(item, param, ctx) for item in value or ())
        return None if value is None else self._one(value, param, ctx)

    def _one(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            read = self.read(value) if isinstance(value, str) else value
        except ValueError as error:
            raise typer.BadParameter(str(error), ctx=ctx, param=param) from error
        if self.least is not None and read < self.least:
            raise typer.BadParameter(f"{read} is less than {self.least:g}", ctx=ctx, param=param)
        if self.most is not None and read > self.most:
            raise typer.BadParameter(f"{read} is more than {self.most:g}", ctx=ctx, param=param)
        return read


def lighten(params: list[Any]) -> list[Any]:
    """The same parameters, every plain one with a light reader."""
    for param in params:
        descriptor = getattr(param, "type_descriptor", None)
        if descriptor is None or getattr(param, "_runtime_param", "") is not None:
            continue
        info = descriptor.parameter_info
        read = _READERS.get(descriptor.annotation)
        if read is not None and info.parser is None:
            param._runtime_param = _PlainValue(read, info.min, info.max)
    return params
