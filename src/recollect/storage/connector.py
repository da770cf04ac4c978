"""Opens connections, and starts our own server again when it is gone.

The embedded server may die under programs that use it: the system ran out of memory, somebody killed it. Whoever
connects next finds it gone and starts it, once for all callers of this process; the home's lock does the same for
other processes. A database by URL is somebody else's: it is never started, and its refusals are raised as they are.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import psycopg
from psycopg.rows import dict_row

from recollect.errors import ForbiddenError
from recollect.storage.connections import Connection
from recollect.storage.endpoint import CONNECT_TIMEOUT_S, Door, embedded_door
from recollect.storage.faults import is_crowded, is_starting

#: For a look at whether the server answers; one that is busy for so long is as good as gone to who asks.
_LOOK_S = 2
_log = logging.getLogger(__name__)


class Connector:
    """The way to one database, for as long as a program runs."""

    def __init__(self, door: Door, home: Path) -> None:
        self.door = door
        self._home = home
        self._start: asyncio.Task[Door] | None = None
        self._start_failed = False

    async def connect(self, *, owner: bool = False, unasked: bool = False) -> Connection:
        """Connect as the application, or as the database's owner; starts the embedded server if it is gone.

        `unasked` is for work that nobody waits for: it starts a server that crashed, but lets one rest that was
        stopped on purpose.
        """
        try:
            return await self._connect(owner, CONNECT_TIMEOUT_S)
        except psycopg.OperationalError as error:
            if not self._is_to_be_started(error, unasked):
                raise
        await self._start_again()
        return await self._connect(owner, CONNECT_TIMEOUT_S)

    async def conninfo(self) -> str:
        """How the application connects, once the server is there; for a pool of another library."""
        await (await self.connect(unasked=True)).close()
        return self.door.app

    async def answers(self) -> bool:
        """Whether the server takes connections; starts nothing."""
        try:
            await (await self._connect(False, _LOOK_S)).close()
        except psycopg.OperationalError as error:
            return is_crowded(error)
        return True

    async def _connect(self, owner: bool, timeout_s: int) -> Connection:
        conninfo = self.door.owner if owner else self.door.app
        if conninfo is None:
            raise ForbiddenError("this needs the database owner's URL; the application role may not")
        return await Connection.connect(
            conninfo, autocommit=True, row_factory=dict_row, connect_timeout=timeout_s
        )

    def _is_to_be_started(self, error: psycopg.OperationalError, unasked: bool) -> bool:
        """Whether starting, or waiting for a start under way, may help. New passwords are read on the way."""
        if not self.door.embedded or is_crowded(error) or isinstance(error, psycopg.errors.ConnectionTimeout):
            return False
        if is_starting(error) or self._start is not None or self._start_failed or not unasked:
            return True
        from recollect.storage import embedded

        return embedded.has_crashed(self._home)

    async def _start_again(self) -> None:
        if self._start is None:
            _log.warning("the embedded database does not answer; it is started again")
            self._start = asyncio.create_task(asyncio.to_thread(embedded_door, self._home))
            self._start.add_done_callback(self._started)
        # A caller that gives up does not stop the start, which others wait for.
        await asyncio.shield(self._start)

    def _started(self, start: asyncio.Task[Door]) -> None:
        self._start = None
        self._start_failed = start.cancelled() or start.exception() is not None
        if not self._start_failed:
            self.door = start.result()
