"""Paths of the server's disk that a client may name: those below the folders its operator opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ForbiddenError, InvalidInputError

if TYPE_CHECKING:
    from recollect.verbs import Verb


def check_roots(verb: Verb, given: Mapping[str, Any], roots: Sequence[Path]) -> None:
    """Refuse a path that is not below one of the roots, wherever its links lead."""
    for name in verb.paths:
        value = given.get(name)
        if value is None:
            continue
        try:
            place = Path(value).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise InvalidInputError(f"{name} {value!r} is no path") from error
        if not any(place.is_relative_to(root) for root in roots):
            raise ForbiddenError(
                f"{name} {value!r} is not below a folder that this server opens; "
                "its operator names such folders with `recollect serve --root FOLDER`"
            )
