"""The judge: whether a memory answers a question.

`model` is the trained network, and how a memory is put to it. Importing this package does not load it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.providers.judge.model import Judge

__all__ = ["open_judge"]


def open_judge(*, cache_dir: Path, threads: int | None = None) -> Judge:
    """Open the judge that came with this package."""
    from recollect.providers.judge.model import open_judge as open_model

    return open_model(cache_dir=cache_dir, threads=threads)
