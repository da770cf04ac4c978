"""The PostgreSQL that comes with Recollect: created, started, joined and stopped under one home folder.

    home/postgres/          the data directory, mode 0700
    home/postgres.new/      a creation under way; whatever is left of an interrupted one is removed
    home/postgres.log       the server's log, without statement text
    home/postgres.lock      locked around every start, stop and creation
    home/postgres.running   locked by the server itself for as long as one of its processes lives
    home/secrets.json       the passwords of the owner and of the application role, mode 0600
    home/binaries-*/        only as root, when the installed binaries are out of the server user's reach

It knows nothing of schemas, migrations or memories: it hands out an `Endpoint`. `launch` is the story
from beginning to end, `process` knows the running server, `folder` the files, `server_settings` also the operating
system's users. A PostgreSQL of your own is reached by URL and never comes here.
"""

from __future__ import annotations

from recollect.storage.embedded.launch import (
    Endpoint,
    ServerStatus,
    ensure_running,
    has_crashed,
    reset_passwords,
    status,
    stop,
    temporary_home,
)
from recollect.storage.embedded.server_settings import binary

__all__ = [
    "Endpoint",
    "ServerStatus",
    "binary",
    "ensure_running",
    "has_crashed",
    "reset_passwords",
    "status",
    "stop",
    "temporary_home",
]
