"""Ids are made by the client: UUIDv7 (RFC 9562), so that they sort by time and need no round trip."""

from __future__ import annotations

import os
import threading
import time
from uuid import UUID

from recollect.errors import InvalidInputError

_lock = threading.Lock()
_last_ms = 0
_counter = 0


def new_id() -> UUID:
    """A UUIDv7; ids made by one process ascend strictly, 2^26 of them per millisecond."""
    global _last_ms, _counter
    now_ms = time.time_ns() // 1_000_000
    with _lock:
        if now_ms > _last_ms:
            # Start low in the counter's range, so that a burst within the millisecond has room.
            _last_ms, _counter = now_ms, int.from_bytes(os.urandom(3), "big")
        else:
            _counter += 1
            if _counter >= 1 << 26:
                _last_ms, _counter = _last_ms + 1, 0
        milliseconds, count = _last_ms, _counter
    random = int.from_bytes(os.urandom(6), "big")
    value = (milliseconds & ((1 << 48) - 1)) << 80
    value |= 0x7 << 76 | (count >> 14) << 64
    value |= 0b10 << 62 | (count & 0x3FFF) << 48 | random
    return UUID(int=value)


def parse_id(value: object, *, what: str = "id") -> UUID:
    """Read an id given as a UUID or as text."""
    if isinstance(value, UUID):
        return value
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            pass
    raise InvalidInputError(f"{what} {value!r} is not a UUID; ids look like 0199d3c2-....")
