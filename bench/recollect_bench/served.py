"""The `recollect` command in a process that knows the benchmarks' embedder: `python -m recollect_bench.served serve`.

Everything else is the command as it is installed. Workers that it starts import this module too, and know it as well.
"""

from __future__ import annotations

import runpy

from recollect_bench.vectors import name_family

name_family()

if __name__ == "__main__":
    runpy.run_module("recollect.surfaces.cli.main", run_name="__main__", alter_sys=False)
