"""How far one call goes through the files: counted by tools/hops.py, in a process of its own that it listens to."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import Recollect, Settings

TOOL = Path(__file__).parents[2] / "tools" / "hops.py"


@pytest.mark.system
def test_consulting_and_exploring_pass_few_files(store: Recollect, settings: Settings) -> None:
    told = subprocess.run(
        [sys.executable, str(TOOL), "consult", "explore"],
        env={
            **os.environ,
            "RECOLLECT_HOME": str(settings.home),
            "RECOLLECT_DATABASE_URL": settings.database_url or "",
            "RECOLLECT_EMBEDDER": settings.embedder,
        },
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    hops = {name: int(count) for name, count in re.findall(r"^(\w+): .*?(\d+) hops", told, re.MULTILINE)}

    # Half of what it was when three harnesses stood around one loop: 1,302 and 977.
    assert hops["consult"] <= 651
    assert hops["explore"] <= 488
