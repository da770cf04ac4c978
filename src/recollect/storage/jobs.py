"""Handing work to workers. The queue itself, and what its tasks do, is in the package `jobs`.

Nothing here fails a caller: without a worker ever having run there is no queue, and then nothing is handed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from recollect.storage.store import Transaction


async def enqueue(tx: Transaction, task: str, subject: str, args: Mapping[str, str]) -> bool:
    """Hand a job of the caller's tenant over; False when there is no queue, or the same job waits in it.

    `subject` tells jobs of one task apart. `args` are ids, never a text: the queue has no row-level security,
    and deleting a memory does not look there.
    """
    row = await tx.fetch_one("enqueue_job", task=task, subject=subject, args=json.dumps(dict(args)))
    return bool(row and row["enqueued"])
