"""What may be stored as text, the identity of a text, and a few other checks of what callers give.

PostgreSQL's `text` can't hold NUL, and UTF-8 can't encode lone surrogates; both are refused here
with a sentence a person can act on, before anything is sent.
"""

from __future__ import annotations

import hashlib
import json
import math
import unicodedata
from collections.abc import Mapping
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import Any, TypeVar

from recollect.errors import InvalidInputError, InvalidTextError

E = TypeVar("E", bound=StrEnum)

#: A memory is a passage, not a book: about 25,000 English words. Books belong in the library.
MAX_TEXT_CHARS = 200_000
#: The most that one page of anything holds.
MAX_LIMIT = 1_000
#: Names of tenants, users, scopes, speakers, entities.
MAX_NAME_CHARS = 200
#: Metadata is for filters and labels; PostgreSQL would take 1 GB, which nobody means.
MAX_METADATA_BYTES = 64 * 1024
#: Deeper than any label goes; also what stops a value that contains itself.
MAX_METADATA_DEPTH = 32
#: A double holds less; longer integers are slow to print, and Python refuses the longest.
_MAX_INTEGER_BITS = 1_024


def check_text(value: object, *, what: str = "text", limit: int = MAX_TEXT_CHARS) -> str:
    """Return the text, or say what is wrong with it."""
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidTextError(
                f"{what} is not valid UTF-8 at byte {error.start}; decode it first"
            ) from error
    if not isinstance(value, str):
        raise InvalidTextError(f"{what} must be a string, not {type(value).__name__}")
    if not value.strip():
        raise InvalidTextError(f"{what} is empty; give it at least one visible character")
    if len(value) > limit:
        raise InvalidTextError(f"{what} has {len(value):,} characters, the limit is {limit:,}; split it")
    refuse_unstorable(value, what)
    return value


def check_name(value: object, *, what: str) -> str:
    """Return a short, one-line identifier without surrounding blanks."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{what} must be a string, not {type(value).__name__}")
    name = value.strip()
    if not name:
        raise InvalidInputError(f"{what} is empty")
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInputError(f"{what} has {len(name)} characters, the limit is {MAX_NAME_CHARS}")
    refuse_unstorable(name, what)
    if any(unicodedata.category(letter) == "Cc" for letter in name):
        raise InvalidInputError(f"{what} {name!r} has control characters; use one plain line")
    return name


def check_metadata(
    value: object, *, what: str = "metadata", limit: int = MAX_METADATA_BYTES
) -> dict[str, Any]:
    """Return metadata as plain JSON data, or say which part is not."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{what} must be a dict, not {type(value).__name__}")
    plain = _plain_json(value, what, MAX_METADATA_DEPTH)
    encoded = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    if len(encoded.encode()) > limit:
        raise InvalidInputError(f"{what} is larger than {limit:,} bytes; put long text into the memory")
    decoded: dict[str, Any] = json.loads(encoded)
    return decoded


def _plain_json(value: object, where: str, depth: int) -> Any:
    """A copy made of dicts, lists and plain values only."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MAX_INTEGER_BITS:
            raise InvalidInputError(
                f"{where} is a number of {value.bit_length():,} bits; store it as a string"
            )
        return value
    if isinstance(value, str):
        refuse_unstorable(value, where)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInputError(f"{where} is {value!r}, which JSON can't hold; use null")
        return value
    if isinstance(value, Mapping | list | tuple) and depth == 0:
        raise InvalidInputError(
            f"{where[:60]} is nested more than {MAX_METADATA_DEPTH} deep, or contains itself"
        )
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInputError(f"{where} has the key {key!r}; JSON keys are strings")
            refuse_unstorable(key, where)
        return {key: _plain_json(item, f"{where}.{key}", depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_json(item, f"{where}[{index}]", depth - 1) for index, item in enumerate(value)]
    raise InvalidInputError(f"{where} is a {type(value).__name__}, which is not JSON; convert it first")


def refuse_unstorable(value: str, what: str) -> None:
    """Refuse what PostgreSQL or UTF-8 can't hold."""
    if "\x00" in value:
        raise InvalidTextError(f"{what} has a NUL character at position {value.index(chr(0))}; remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"{what} has a lone surrogate at position {error.start}, which is not valid UTF-8; re-decode the source"
        ) from error


def text_digest(text: str) -> bytes:
    """Identity of a text for finding repeats: blanks folded, Unicode composed, case kept."""
    folded = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(folded.encode("utf-8")).digest()


def parse_member(kind: type[E], value: object, what: str) -> E:
    """A member of an enumeration by its value; an unknown one is an error that lists the known ones."""
    try:
        return kind(str(value))
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise InvalidInputError(f"unknown {what} {value!r}; {what.split()[-1]}s are {known}") from None


def check_whole(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """A number that must lie within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least or value > (most or value):
        to = "on" if most is None else f"to {most}"
        raise InvalidInputError(f"{name} {value!r} is not a whole number from {least} {to}")
    return value


def check_timezone(value: object) -> tzinfo:
    """A time zone by its IANA name ("Europe/Lisbon"), or one of Python's own; None is UTC."""
    if value is None:
        return UTC
    if isinstance(value, tzinfo):
        return value
    if not isinstance(value, str):
        raise InvalidInputError(
            f"timezone must be a name such as 'Europe/Lisbon' or a tzinfo, not {type(value).__name__}"
        )
    if value.strip().upper() in {"UTC", "Z"}:
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(value.strip())
    # Names that look like paths out of the zones' folder are ValueErrors, folders in it OSErrors.
    except (KeyError, ValueError, OSError):
        raise InvalidInputError(
            f"unknown timezone {value!r}; write an IANA name such as 'Europe/Lisbon' or 'UTC'"
        ) from None
