"""How long ago a moment is, in words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retrieval.assemble.recalled import format_time_ago

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(0), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=13), "13 days ago"),
        (timedelta(days=14), "2 weeks ago"),
        (timedelta(days=29), "4 weeks ago"),
        (timedelta(days=30), "1 month ago"),
        (timedelta(days=61), "2 months ago"),
        (timedelta(days=364), "11 months ago"),
        (timedelta(days=365), "1 year ago"),
        (timedelta(days=800), "2 years ago"),
        (timedelta(days=-3), "in 3 days"),
        (timedelta(hours=-1), "in 1 hour"),
        (timedelta(seconds=-1), "just now"),
    ],
)
def test_a_distance_is_said_in_the_largest_unit_that_fits(ago: timedelta, words: str) -> None:
    assert format_time_ago(NOW - ago, NOW) == words


def test_the_zones_of_the_two_moments_do_not_matter() -> None:
    moment = (NOW - timedelta(hours=3)).astimezone(ZoneInfo("Asia/Tokyo"))
    assert format_time_ago(moment, NOW) == "3 hours ago"


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=40_000)))
def test_past_and_future_mirror_each_other(distance: timedelta) -> None:
    past = format_time_ago(datetime(2500, 1, 1, tzinfo=UTC) - distance, datetime(2500, 1, 1, tzinfo=UTC))
    future = format_time_ago(datetime(2500, 1, 1, tzinfo=UTC) + distance, datetime(2500, 1, 1, tzinfo=UTC))
    assert past == "just now" == future or past.removesuffix(" ago") == future.removeprefix("in ")
