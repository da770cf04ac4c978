"""One connection, as soon as the server takes any. Used before there is a pool; knows no role and no schema."""

from __future__ import annotations

import time
from typing import Any

import psycopg

from recollect.storage.faults import is_starting

#: For a server that does not even refuse; one on this machine answers within milliseconds.
CONNECT_TIMEOUT_S = 10
_POLL_S = 0.05
#: What a newcomer hears whose session was not open yet when the server's processes crashed.
_CUT_OFF = "server closed the connection unexpectedly"


def connect(conninfo: str, *, deadline: float) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection outside any transaction.

    A server that starts, or recovers from a crash, turns everybody away: it is waited for until `deadline`, a moment
    of the monotonic clock.
    """
    while True:
        try:
            return psycopg.connect(conninfo, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True)
        except psycopg.OperationalError as error:
            passing = is_starting(error) or _CUT_OFF in str(error)
            if not passing or time.monotonic() > deadline:
                raise
        time.sleep(_POLL_S)
