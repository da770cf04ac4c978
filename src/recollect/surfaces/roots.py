"""Paths of the server's disk that a client may name: those below the folders its operator opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ForbiddenError, InvalidInputError
from recollect.oracle.verify import folder_of

if TYPE_CHECKING:
    from recollect.client.verbs import Verb


def check_roots(verb: Verb, given: Mapping[str, Any], roots: Sequence[Path]) -> None:
    """Refuse a path that is not below one of the roots, wherever its links lead."""
    named = {name: given.get(name) for name in verb.paths}
    if verb.name == "verify" and named["working_dir"] is None:
        named["the folder of the result"] = folder_of(given.get("result"))
    for name, value in named.items():
        if value is not None:
            check_path(name, value, roots)


def check_path(name: str, value: str, roots: Sequence[Path]) -> None:
    """Refuse one path that is not below one of the roots."""
    try:
        place = Path(value).resolve()
        below = any(place.is_relative_to(root) for root in roots)
        # What lies elsewhere is not even looked at; a name that no file system takes is no path.
        if below:
            place.exists()
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise InvalidInputError(f"{name} {str(value)[:200]!r} is not a path") from error
    if not below:
        raise ForbiddenError(
            f"{name} {value[:200]!r} is not below a folder that this server opens; "
            "its operator names such folders with `recollect serve --root FOLDER`"
        )
