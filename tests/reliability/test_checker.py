"""The checker of histories finds what is planted, and nothing where nothing is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reliability.checker import Operation, check


def history(*steps: tuple[Any, ...]) -> list[Operation]:
    """Steps as (kind, begun, ended, outcome, text, retired), the last ones left out as they like."""
    return [
        Operation(
            client="a", kind=kind, memory="m", begun=begun, ended=ended, outcome=outcome,
            text=rest[0] if rest else "", retired=bool(rest[1:] and rest[1]),
        )
        for kind, begun, ended, outcome, *rest in steps
    ]  # fmt: skip


ADDED = ("add", 0, 1, "ok", "x")
NEVER = float("inf")


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        ([ADDED, ("get", 2, 3, "absent")], "get absent"),
        ([ADDED, ("search", 2, 3, "ok", "")], "search ok (nothing)"),
        ([ADDED, ("update", 2, 3, "ok", "y"), ("get", 4, 5, "ok", "x")], "get ok (x)"),
        ([ADDED, ("delete", 2, 3, "ok"), ("get", 4, 5, "ok", "x")], "get ok (x)"),
        ([ADDED, ("delete", 2, 3, "ok"), ("search", 4, 5, "ok", "x")], "search ok (x)"),
        ([ADDED, ("delete", 2, 3, "ok"), ("update", 4, 5, "ok", "y")], "update ok (y)"),
        ([ADDED, ("delete", 2, 3, "ok"), ("delete", 4, 5, "ok")], "delete ok"),
        ([ADDED, ("supersede", 2, 3, "ok"), ("search", 4, 5, "ok", "x")], "search ok (x)"),
        ([ADDED, ("supersede", 2, 3, "ok"), ("get", 4, 5, "ok", "x", False)], "get ok (x)"),
        ([ADDED, ("restore", 2, 3, "ok")], "restore ok"),
        ([ADDED, ("supersede", 2, 3, "ok"), ("restore", 4, 5, "refused")], "restore refused"),
        ([ADDED, ("get", 2, 3, "ok", "y")], "get ok (y)"),
        # What was seen can't be unseen, though the update itself has no end yet.
        ([ADDED, ("update", 2, 9, "ok", "y"), ("get", 3, 4, "ok", "y"), ("get", 5, 6, "ok", "x")], "get ok (x)"),
        ([ADDED, ("delete", 2, NEVER, "unknown"), ("get", 3, 4, "absent"), ("get", 5, 6, "ok", "x")], "get ok (x)"),
    ],
)  # fmt: skip
def test_what_can_not_have_happened_is_found(steps: list[tuple[Any, ...]], last: str) -> None:
    (wrong,) = check(history(*steps))
    assert wrong.startswith(f"memory m: a {last}")


@pytest.mark.parametrize(
    "steps",
    [
        [ADDED, ("get", 2, 3, "ok", "x"), ("delete", 4, 5, "ok"), ("get", 6, 7, "absent"), ("delete", 8, 9, "absent")],
        [ADDED, ("update", 2, 9, "ok", "y"), ("get", 3, 4, "ok", "x"), ("get", 5, 6, "ok", "y")],
        [ADDED, ("update", 2, 9, "ok", "y"), ("update", 3, 8, "ok", "z"), ("get", 10, 11, "ok", "y")],
        [ADDED, ("update", 2, NEVER, "unknown", "y"), ("get", 3, 4, "ok", "x"), ("get", 5, 6, "ok", "y")],
        [ADDED, ("update", 2, NEVER, "unknown", "y"), ("get", 3, 4, "ok", "x"), ("delete", 5, 6, "ok")],
        [ADDED, ("supersede", 2, 3, "ok"), ("search", 4, 5, "ok"), ("restore", 6, 7, "ok"), ("get", 8, 9, "ok", "x")],
        [ADDED, ("get", 2, NEVER, "unknown"), ("delete", 3, 4, "ok"), ("search", 5, 6, "ok", "")],
    ],
)  # fmt: skip
def test_what_can_have_happened_is_left_alone(steps: list[tuple[Any, ...]]) -> None:
    assert check(history(*steps)) == []
