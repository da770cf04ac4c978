"""What is kept below a home is for its owner alone, also where root's home lets the database's user pass through."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.codebase.shop import lay_out

from recollect import RLMOrchestrator, Settings
from recollect.files.jail import private_folder
from recollect.storage.embedded.folder import Folder, make_home

#: Nobody on this machine, neither us nor the database's user.
STRANGER = 64_999

READ = """
for path in open(0).read().splitlines():
    try:
        open(path, "rb").close()
    except OSError:
        continue
    print(path)
"""


def readable_to_strangers(home: Path) -> list[str]:
    """Which files below a home another user can open who knows their names."""
    names = "\n".join(str(file) for file in home.rglob("*") if file.is_file())
    assert names
    # Started by its name and without our variables: a stranger may not see this interpreter's folder.
    found = subprocess.run(
        ["python3", "-c", READ], input=names, capture_output=True, text=True, check=True, user=STRANGER,
        group=STRANGER, extra_groups=[], env={"PATH": os.defpath}, cwd="/",
    )  # fmt: skip
    return found.stdout.splitlines()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look with another user's eyes")
def test_a_stranger_reads_nothing_that_an_exploration_left(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("open")
    for folder in (base, *list(base.parents)[:-2]):
        folder.chmod(0o755)
    home = base / "home"
    before = os.umask(0o022)
    try:
        make_home(Folder(home))
        orchestrator = RLMOrchestrator(lay_out(base / "shop"), settings=Settings(home=home))
        asyncio.run(orchestrator.explore("t", "How is the discount of the season taken off a price?"))
    finally:
        os.umask(before)
    assert len(list((base / "shop").rglob("*.py"))) == len(
        [name for name in readable_to_strangers(base / "shop") if name.endswith(".py")]
    ), "the stranger sees what is open"
    assert readable_to_strangers(home) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's home lets others pass through")
def test_folders_of_an_earlier_version_are_closed(tmp_path: Path) -> None:
    home = Folder(tmp_path / "home")
    (home.home / "cache" / "codebase").mkdir(parents=True)
    (home.home / "cache").chmod(0o755)
    home.home.chmod(0o711)
    make_home(home)
    assert (home.home / "cache").stat().st_mode & 0o777 == 0o700


def test_every_missing_folder_is_private_and_others_stay(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    private_folder(tmp_path / "a" / "b")
    private_folder(tmp_path / "a" / "b")
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("", "a", "a/b")] == [0o755, 0o700, 0o700]
