"""The client's face for past explorations: `r.explorations`. Exploring is `r.explore`.

Checks, hands over, decides nothing. Records are files (codebase/audit.py), so none of this opens the
database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from recollect.client.arguments import checked
from recollect.client.face import Face
from recollect.domain.codebase import RLMResult
from recollect.domain.text import MAX_LIMIT, check_whole
from recollect.errors import ForbiddenError


@checked
class AsyncExplorations(Face):
    """Explorations that were made, from their records in the setting `rlm_audit_dir`. Needs operator.

    The records are the machine's, not a tenant's: whoever explores reads its disk.
    """

    async def list(self, *, limit: int = 50) -> Sequence[RLMResult]:
        """The latest explorations, the newest first."""
        from recollect.codebase.audit import list_audits

        check_whole("limit", limit, most=MAX_LIMIT)
        audits = await asyncio.to_thread(list_audits, self._folder(), limit=limit)
        return [result for _, result in audits]

    async def get(self, task_id: str) -> RLMResult:
        """An exploration as it was, with its steps."""
        from recollect.codebase.audit import audit_path, read_audit, result_of

        file = audit_path(self._folder(), task_id)
        document = await asyncio.to_thread(read_audit, file)
        return result_of(document, file=str(file))

    async def replay(self, task_id: str) -> RLMResult:
        """Play an exploration again from its record: no tree is read and no model is asked."""
        from recollect.codebase.audit import audit_path, read_audit, replay_audit

        file = audit_path(self._folder(), task_id)
        document = await asyncio.to_thread(read_audit, file)
        return await replay_audit(document, file=str(file))

    def _folder(self) -> Path:
        from recollect.codebase.explore import default_audit_dir

        if not self._context.is_operator:
            raise ForbiddenError(
                "only an operator may read the records of explorations; add 'operator' to the context's roles"
            )
        return default_audit_dir(self._client.settings)
