"""Code as a source: `RLMOrchestrator` explores a folder.

It needs nothing else: no database, no model, no network. The wall clock covers all of it, opening the index included.
The stages of an exploration are `exploration.py`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import telemetry
from recollect.codebase.exploration import Exploration, Progress
from recollect.codebase.request import ExploreRequest
from recollect.config import Settings
from recollect.domain.codebase import RLMResult
from recollect.domain.tenancy import TenantContext
from recollect.providers.models.purse import Purse
from recollect.runs.cache import Cache
from recollect.runs.events import Subscriber

if TYPE_CHECKING:
    from recollect.providers.models import ChatModel
    from recollect.storage.store import Store

__all__ = ["RLMOrchestrator", "default_audit_dir", "index_dir"]


def default_audit_dir(settings: Settings) -> Path:
    """Where records go: the setting, or below the store's home."""
    return settings.rlm_audit_dir or settings.home / "telemetry" / "rlm"


def index_dir(settings: Settings) -> Path:
    """Where the index of explored folders is kept; it may be deleted at any time."""
    return settings.home / "cache" / "codebase"


class RLMOrchestrator:
    """Explores one folder. Equal tool calls of its explorations are answered from one cache while it lives.

    `model` is a name or an open chat model; without one, that of the settings (`root_model`, `model`), or
    none. Records go to `audit_dir`, the symbol index below the home of the settings; the folder itself is only read.
    `context` is who asks: their records are erased when they are forgotten. Where a `store` is open, it tells them and
    admins what goes on.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] = ".",
        *,
        settings: Settings | None = None,
        model: str | ChatModel | None = None,
        audit_dir: str | os.PathLike[str] | None = None,
        cache: Cache | None = None,
        context: TenantContext | None = None,
        store: Store | None = None,
    ) -> None:
        self.root = root
        self.settings = settings if settings is not None else Settings.load()
        self.audit_dir = Path(audit_dir) if audit_dir is not None else default_audit_dir(self.settings)
        self.index_dir = index_dir(self.settings)
        self.cache = cache if cache is not None else Cache()
        self.by = None if context is None else {"tenant_id": context.tenant_id, "user_id": context.user_id}
        self.store, self.context, self.model = store, context, model

    async def explore(
        self,
        task_id: str | None,
        query: str,
        context_hints: Sequence[str] | None = None,
        max_subcalls: int | None = None,
        max_subcalls_per_iteration: int | None = None,
        timeout_seconds: float | None = None,
        *,
        max_tokens: int | None = None,
        max_usd: float | None = None,
        preset: str | None = None,
        resume: bool = False,
        on_event: Subscriber | None = None,
        on_progress: Progress | None = None,
        purse: Purse | None = None,
    ) -> RLMResult:
        """Answer a question about the code, with citations that were read again.

        `context_hints` are paths, symbols, globs, `file:line` and pasted stack traces to begin with. Limits that are
        not given are those of the settings (RLM_MAX_SUBCALLS 50, RLM_MAX_PER_ITERATION 8, RLM_TIMEOUT 300). `resume`
        takes up a run of this task that broke off. `on_event` hears every step, `on_progress` the files indexed.
        `purse` is what models may use where the exploration is not the only one that is asked.
        """
        request = ExploreRequest.check(
            self.settings,
            query=query,
            task_id=task_id,
            context_hints=context_hints,
            max_subcalls=max_subcalls,
            max_subcalls_per_iteration=max_subcalls_per_iteration,
            timeout_seconds=timeout_seconds,
            max_tokens=max_tokens,
            max_usd=max_usd,
            preset=preset,
        )
        with telemetry.span("explore"):
            return await Exploration(
                self, request, on_event=on_event, on_progress=on_progress, purse=purse, resume=resume
            ).go()
