"""Folders that their owner alone can look into."""

from __future__ import annotations

from pathlib import Path


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone, and so whatever is missing above it; what is there stays as it is.

    `Path.mkdir` gives its mode to the last folder only: the others would be open to everybody.
    """
    for one in reversed([folder, *folder.parents]):
        if not one.is_dir():
            one.mkdir(mode=0o700, exist_ok=True)
