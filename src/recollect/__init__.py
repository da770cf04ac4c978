"""Recollect: the memory of AI agents.

The public names, and nothing else. Each is imported when it is first used, so `import recollect` reads no
environment, opens no files and loads nothing heavy. The two doors are `Recollect` and `AsyncRecollect`
(sync_client.py waits for the calls of async_client.py); values are in `domain/`, settings in `config`, errors in
`errors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.client.async_client import AsyncRecollect as AsyncRecollect
    from recollect.client.sync_client import Recollect as Recollect
    from recollect.codebase.explore import RLMOrchestrator as RLMOrchestrator
    from recollect.codebase.triggers import should_explore as should_explore
    from recollect.config import Settings as Settings
    from recollect.domain.codebase import RLMResult as RLMResult
    from recollect.domain.context import AugmentedContext as AugmentedContext
    from recollect.domain.findings import Answer as Answer
    from recollect.domain.layers import Layer as Layer
    from recollect.domain.learning import Feedback as Feedback
    from recollect.domain.memory import Memory as Memory
    from recollect.domain.memory import MemoryType as MemoryType
    from recollect.domain.names import Entity as Entity
    from recollect.domain.oracle import EventType as EventType
    from recollect.domain.oracle import OracleConsultation as OracleConsultation
    from recollect.domain.oracle import OracleConsultResult as OracleConsultResult
    from recollect.domain.query import Understanding as Understanding
    from recollect.domain.results import AddReport as AddReport
    from recollect.domain.results import Conflict as Conflict
    from recollect.domain.results import ConsolidateReport as ConsolidateReport
    from recollect.domain.results import HistoryEntry as HistoryEntry
    from recollect.domain.results import Hit as Hit
    from recollect.domain.results import Inference as Inference
    from recollect.domain.results import Member as Member
    from recollect.domain.results import Page as Page
    from recollect.domain.results import Receipt as Receipt
    from recollect.domain.results import Scope as Scope
    from recollect.domain.results import SearchResults as SearchResults
    from recollect.domain.results import Tenant as Tenant
    from recollect.domain.tenancy import TenantContext as TenantContext
    from recollect.errors import RecollectError as RecollectError

    __version__: str

_HOMES = {
    "AddReport": "recollect.domain.results",
    "Answer": "recollect.domain.findings",
    "AsyncRecollect": "recollect.client.async_client",
    "AugmentedContext": "recollect.domain.context",
    "Conflict": "recollect.domain.results",
    "ConsolidateReport": "recollect.domain.results",
    "Entity": "recollect.domain.names",
    "EventType": "recollect.domain.oracle",
    "Feedback": "recollect.domain.learning",
    "HistoryEntry": "recollect.domain.results",
    "Hit": "recollect.domain.results",
    "Inference": "recollect.domain.results",
    "Layer": "recollect.domain.layers",
    "Member": "recollect.domain.results",
    "Memory": "recollect.domain.memory",
    "MemoryType": "recollect.domain.memory",
    "OracleConsultResult": "recollect.domain.oracle",
    "OracleConsultation": "recollect.domain.oracle",
    "Page": "recollect.domain.results",
    "RLMOrchestrator": "recollect.codebase.explore",
    "RLMResult": "recollect.domain.codebase",
    "Receipt": "recollect.domain.results",
    "Recollect": "recollect.client.sync_client",
    "RecollectError": "recollect.errors",
    "Scope": "recollect.domain.results",
    "SearchResults": "recollect.domain.results",
    "Settings": "recollect.config",
    "Tenant": "recollect.domain.results",
    "TenantContext": "recollect.domain.tenancy",
    "Understanding": "recollect.domain.query",
    "should_explore": "recollect.codebase.triggers",
}

__all__ = [
    "AddReport",
    "Answer",
    "AsyncRecollect",
    "AugmentedContext",
    "Conflict",
    "ConsolidateReport",
    "Entity",
    "EventType",
    "Feedback",
    "HistoryEntry",
    "Hit",
    "Inference",
    "Layer",
    "Member",
    "Memory",
    "MemoryType",
    "OracleConsultResult",
    "OracleConsultation",
    "Page",
    "RLMOrchestrator",
    "RLMResult",
    "Receipt",
    "Recollect",
    "RecollectError",
    "Scope",
    "SearchResults",
    "Settings",
    "Tenant",
    "TenantContext",
    "Understanding",
    "__version__",
    "should_explore",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version("recollect")
    elif name in _HOMES:
        from importlib import import_module

        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
