"""What an exploration does can be watched, by who asked and by admins."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest

from recollect import Recollect
from recollect.domain.overview import ExplorationEvent

Connect = Callable[..., httpx.Client]


def test_an_exploration_tells_what_it_does_to_who_asked_and_to_admins(
    http: Connect, client: Recollect, as_user: Callable[..., Recollect], served_root: Path
) -> None:
    folder = served_root / f"code-{uuid4().hex[:8]}"
    folder.mkdir()
    (folder / "billing.py").write_text("def charge_card(amount):\n    return amount\n", encoding="utf-8")
    as_user("ben").open()
    done = http(user="ana").post(
        "/v1/explore", json={"path": str(folder), "query": "where is charge_card", "task_id": "t1"}
    )
    assert done.status_code == 200, done.text
    heard = as_user("ana").events.list(types=[one.value for one in ExplorationEvent])
    kinds = [one.type for one in heard]
    assert kinds[0] == "exploration_started"
    assert kinds[-1] == "exploration_completed"
    assert {"exploration_thinking", "exploration_tool_call", "exploration_finding"} <= set(kinds)
    assert [one.detail["number"] for one in heard] == list(range(1, len(heard) + 1))
    assert {one.detail["task_id"] for one in heard} == {"t1"}
    assert heard[0].detail["detail"]["query"] == "where is charge_card"
    assert heard[-1].detail["detail"]["citations"] == len(done.json()["citations"])
    assert [one.id for one in client.events.list() if one.type.startswith("exploration")] == [
        one.id for one in heard
    ]
    assert not as_user("ben").events.list()


def test_an_exploration_that_can_not_be_is_told_of_as_failed(
    http: Connect, as_user: Callable[..., Recollect], served_root: Path
) -> None:
    gone = served_root / "gone"
    done = http(user="ana").post("/v1/explore", json={"path": str(gone), "query": "x", "task_id": "t2"})
    assert done.status_code == 404, done.text
    last = as_user("ana").events.list()[-1]
    assert (last.type, last.detail["detail"]["code"]) == ("exploration_failed", done.json()["code"])


def test_a_store_that_is_slow_for_a_moment_loses_no_event(
    as_user: Callable[..., Recollect],
    owner_conninfo: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    (tmp_path / "billing.py").write_text("def charge_card(amount):\n    return amount\n", encoding="utf-8")
    ana = as_user("ana").open()
    ana.explore(tmp_path, "where is charge_card", task_id="warm")
    told = len(ana.events.list())
    with psycopg.connect(owner_conninfo) as busy, caplog.at_level(logging.WARNING):
        busy.execute("lock table recollect.event in exclusive mode")
        # Longer than the run and than a second, which was all that the store had to catch up.
        release = threading.Timer(3.0, busy.rollback)
        release.start()
        ana.explore(tmp_path, "where is charge_card", task_id="slow")
        release.join()
    slow = [one for one in ana.events.list() if one.detail["task_id"] == "slow"]
    assert [one.detail["number"] for one in slow] == list(range(1, len(slow) + 1))
    assert slow[-1].type == "exploration_completed"
    assert len(slow) >= told / 2
    assert not caplog.records
