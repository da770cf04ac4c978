"""The names `recollect` exports: frozen here, so that adding or losing one is a decision."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import recollect

PUBLIC = [
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


def test_the_public_names_are_these() -> None:
    assert recollect.__all__ == PUBLIC


def test_every_public_name_can_be_had() -> None:
    for name in PUBLIC:
        assert getattr(recollect, name) is not None
        assert name in dir(recollect)


def test_what_is_exported_at_run_time_is_what_type_checkers_see() -> None:
    tree = ast.parse(Path(str(recollect.__file__)).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.asname: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == recollect._HOMES


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'recall'"):
        _ = recollect.recall
