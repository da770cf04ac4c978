"""Forgetting what explorations left on this machine: records, journals of runs that broke off, and the symbol index.

A record says who explored, so a user's go and the others stay. The index is a cache of the explored folders and says
nothing of who explored them: it goes whole, and the next exploration makes it anew.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.codebase.explore import default_audit_dir, index_dir
from recollect.config import Settings
from recollect.domain.results import Receipt
from recollect.domain.text import check_name


def forget_explorations(
    settings: Settings, receipt: Receipt, *, tenant_id: str, user_id: str | None = None
) -> Receipt:
    """Erase what explorations of a user, or of a whole tenant, left; returns the receipt with that in it."""
    user = None if user_id is None else check_name(user_id, what="user_id")
    folder, index = default_audit_dir(settings), index_dir(settings)
    rows: Counter[str] = Counter()
    unclaimed = left = 0
    for file in (*folder.glob("*.json"), *folder.glob("*.journal")):
        by = _asked_by(file)
        if by is None:
            unclaimed += 1
        elif by.get("tenant_id") == tenant_id and user in (None, by.get("user_id")):
            try:
                file.unlink(missing_ok=True)
                rows["exploration"] += 1
            except OSError:
                left += 1
    rows["code_index"] = sum(file.is_file() for file in index.rglob("*"))
    shutil.rmtree(index, ignore_errors=True)
    unreachable = [*receipt.unreachable, f"records of explorations in other folders than {str(folder)!r}"]
    if unclaimed:
        unreachable.append(f"{unclaimed} files in {str(folder)!r} that do not say who explored")
    if left:
        unreachable.append(f"{left} records of explorations in {str(folder)!r}, which can't be erased there")
    if index.exists():
        unreachable.append(f"the index of explored code, which is in use ({str(index)!r})")
    return replace(receipt, rows={**receipt.rows, **rows}, unreachable=tuple(unreachable))


def _asked_by(file: Path) -> dict[str, Any] | None:
    """Who a record or a journal is of; None when it does not say, or is neither."""
    try:
        with file.open(encoding="utf-8") as stream:
            document = json.load(stream) if file.suffix == ".json" else json.loads(stream.readline())["run"]
        by = document["by"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return by if isinstance(by, dict) else None
