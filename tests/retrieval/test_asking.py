"""What the stages of a search took."""

from __future__ import annotations

from recollect.retrieval.look import Stopwatch


def test_a_stage_that_runs_several_times_at_once_never_takes_longer_than_the_whole() -> None:
    watch = Stopwatch()
    with watch.stage("judge"), watch.stage("judge"), watch.stage("judge"):
        sum(range(200_000))
    first = watch.stop()
    assert 0 < first["judge"] <= first["total"]
    with watch.stage("judge"):
        sum(range(1_000))
    assert first["judge"] < watch.stop()["judge"] <= watch.stop()["total"]
