"""Run a command against a second PostgreSQL that is reached by URL, as a database of one's own would be.

    uv run python tools/with_database.py pytest tests/storage tests/client

Starts the bundled server in a folder of its own, over TCP and with a password, and gives its address to the
command as RECOLLECT_TEST_DATABASE_URL. When the command ends, the server is stopped and the folder removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import quote

from psycopg.conninfo import conninfo_to_dict

from recollect.storage.embedded import ensure_running, temporary_home


def main() -> int:
    """Start, run, stop; the exit code is the command's."""
    command = sys.argv[1:]
    if not command:
        print(__doc__)
        return 2
    with temporary_home() as home:
        endpoint = ensure_running(home, listen="127.0.0.1", sync=False)
        environment = {**os.environ, "RECOLLECT_TEST_DATABASE_URL": as_url(endpoint.owner)}
        return subprocess.run(command, env=environment, check=False).returncode


def as_url(conninfo: str) -> str:
    """A connection string in the form people write."""
    parts = {name: quote(str(value), safe="") for name, value in conninfo_to_dict(conninfo).items()}
    return (
        f"postgresql://{parts['user']}:{parts['password']}@{parts['host']}:{parts['port']}/{parts['dbname']}"
    )


if __name__ == "__main__":
    sys.exit(main())
