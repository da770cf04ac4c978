"""Run a command against a Citus cluster on this machine: a coordinator and two workers, gone afterwards.

    uv run python tools/with_cluster.py pytest -m "" tests/storage/test_cluster.py

The servers are those of recollect_bench.citus. The coordinator's address reaches the command as
RECOLLECT_TEST_CLUSTER_URL. Where there is no Citus the command is not run, and the exit code is 3.
"""

from __future__ import annotations

import os
import subprocess
import sys

from recollect_bench.citus import find_binaries, local_cluster

NO_CITUS = 3
WORKERS = 2


def main() -> int:
    """Start, run, stop; the exit code is the command's."""
    command = sys.argv[1:]
    if not command:
        print(__doc__)
        return 2
    if find_binaries() is None:
        print(
            "no PostgreSQL with Citus and pgvector was found (PG_CONFIG names its pg_config); nothing was run"
        )
        return NO_CITUS
    with local_cluster(WORKERS) as cluster:
        environment = {**os.environ, "RECOLLECT_TEST_CLUSTER_URL": cluster.coordinator.url}
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
