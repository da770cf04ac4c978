"""Properties of calendar arithmetic, in every year, month and zone."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text.times import extract_temporal_scope, find_times, read_times
from recollect.text.times.calendar import (
    Grain,
    Span,
    day_in_month,
    easter,
    iso_week,
    month,
    next_business_day,
    nth_part,
    nth_week,
    nth_weekday,
    period_of,
    placed_span,
    shift,
    week_of,
    years,
)
from recollect.text.times.period import cycle_number, cycle_span

MOMENTS = st.datetimes(min_value=datetime(1200, 1, 1), max_value=datetime(2900, 1, 1))
TILING = [
    grain
    for grain in Grain
    if grain
    not in (Grain.INSTANT, Grain.DAYPART, Grain.SEASON, Grain.BUSINESS_DAY, Grain.WEEKEND, Grain.FORTNIGHT)
]
#: Zones that set their clocks at midnight, by half an hour, or that lost a whole day.
ZONES = st.sampled_from(
    [
        ZoneInfo(name)
        for name in (
            "UTC",
            "Europe/Berlin",
            "America/Sao_Paulo",
            "Australia/Lord_Howe",
            "Pacific/Apia",
            "Asia/Kathmandu",
        )
    ]
)


@given(grain=st.sampled_from(TILING), moment=MOMENTS, away=st.integers(-9, 9))
def test_periods_of_a_kind_contain_their_moment_and_touch_without_gaps(
    grain: Grain, moment: datetime, away: int
) -> None:
    here, there, next_one = (period_of(grain, moment, n) for n in (0, away, away + 1))
    assert here.start <= moment < here.end
    assert there.start < there.end == next_one.start
    assert period_of(grain, there.start) == there
    assert period_of(grain, there.last) == there


@given(moment=MOMENTS, away=st.integers(-100, 100))
def test_a_weekend_is_the_end_of_its_week(moment: datetime, away: int) -> None:
    weekend = period_of(Grain.WEEKEND, moment, away)
    assert weekend.start.weekday() == 5
    assert weekend.end == week_of(weekend.start).end
    assert weekend.end - weekend.start == timedelta(days=2)


@given(
    moment=MOMENTS,
    count=st.integers(-500, 500),
    grain=st.sampled_from([Grain.MONTH, Grain.QUARTER, Grain.YEAR]),
)
def test_shifting_by_months_lands_in_the_right_month_and_never_past_its_end(
    moment: datetime, count: int, grain: Grain
) -> None:
    size = {Grain.MONTH: 1, Grain.QUARTER: 3, Grain.YEAR: 12}[grain]
    moved = shift(moment, count, grain)
    assert (moved.year * 12 + moved.month) - (moment.year * 12 + moment.month) == count * size
    assert moved.day <= moment.day
    if moved.day < moment.day:
        assert (moved + timedelta(days=1)).day == 1


@given(moment=MOMENTS, count=st.integers(-300, 300).filter(bool))
def test_business_days_are_counted_without_weekends(moment: datetime, count: int) -> None:
    moved = next_business_day(moment, count)
    assert moved.weekday() < 5
    first, last = sorted((moment.date(), moved.date()))
    step = timedelta(days=1)
    days = (first + step * number for number in range((last - first).days + 1))
    passed = sum(day.weekday() < 5 and day != moment.date() for day in days)
    assert passed == abs(count)


@given(year=st.integers(1200, 2900), number=st.integers(1, 53))
def test_weeks_by_number_agree_with_iso(year: int, number: int) -> None:
    week = iso_week(year, number)
    by_part = nth_week(years(year), number)
    assert week == by_part
    if week is None:
        assert number == 53
    else:
        assert week.start.date().isocalendar()[:2] == (year, number)


@given(moment=MOMENTS, weekday=st.integers(0, 6))
def test_weekdays_counted_from_both_ends_of_a_month_meet(moment: datetime, weekday: int) -> None:
    whole = month(moment.year, moment.month)
    forwards = [day for n in range(1, 6) if (day := nth_weekday(whole, weekday, n))]
    backwards = [day for n in range(-5, 0) if (day := nth_weekday(whole, weekday, n))]
    assert forwards == backwards
    assert len(forwards) in (4, 5)
    assert {day.start.weekday() for day in forwards} == {weekday}


@given(moment=MOMENTS, grain=st.sampled_from([Grain.DAY, Grain.MONTH, Grain.QUARTER, Grain.HALF]))
def test_the_parts_of_a_year_fill_it(moment: datetime, grain: Grain) -> None:
    year = years(moment.year)
    parts = []
    while part := nth_part(year, grain, len(parts) + 1):
        parts.append(part)
    assert parts[0].start == year.start
    assert parts[-1].end == year.end
    assert all(one.end == other.start for one, other in itertools.pairwise(parts))
    assert nth_part(year, grain, -1) == parts[-1]
    assert nth_part(year, grain, 0) is None


@given(moment=MOMENTS, cycle=st.sampled_from([Grain.YEAR, Grain.MONTH, Grain.WEEK, Grain.DAY]))
def test_numbers_of_cycles_lead_back_to_the_moment(moment: datetime, cycle: Grain) -> None:
    number = cycle_number(cycle, moment)
    span = cycle_span(cycle, number)
    assert span.start <= moment < span.end
    assert cycle_span(cycle, number + 1).start == span.end


@given(year=st.integers(1583, 9999))
def test_easter_is_a_sunday_in_spring(year: int) -> None:
    assert easter(year).weekday() == 6
    assert date(year, 3, 22) <= easter(year) <= date(year, 4, 25)


@pytest.mark.parametrize(
    ("year", "day"), [(1961, (4, 2)), (2000, (4, 23)), (2019, (4, 21)), (2024, (3, 31)), (2038, (4, 25))]
)
def test_easter_is_on_the_day_it_was_kept(year: int, day: tuple[int, int]) -> None:
    assert easter(year) == date(year, *day)


def test_days_that_a_month_has_not_are_none() -> None:
    assert day_in_month(2023, 2, 29) is None
    assert day_in_month(2024, 2, 29) is not None
    assert day_in_month(2024, 4, 31) is None


@given(
    start=st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2030, 1, 1)),
    length=st.timedeltas(min_value=timedelta(microseconds=1), max_value=timedelta(days=400)),
    zone=ZONES,
)
def test_a_span_is_never_empty_whatever_the_clocks_do(
    start: datetime, length: timedelta, zone: ZoneInfo
) -> None:
    begin, end = placed_span(Span(start=start, end=start + length), zone)
    assert begin.astimezone(UTC) < end.astimezone(UTC)


PHRASES = st.sampled_from(
    """
    today|yesterday|this week|last week|this month|last month|next month|this quarter|last quarter|this year|last year
    |the weekend|recently|past two months|last 3 hours|3 days ago|2 weeks ago|Monday|last Friday|next Sunday|in May
    |May 8|Christmas|Q3|H2|the first week of June|end of March|early next week|between March and May
    |from Friday to Monday|last summer|this morning|last night|at 2:30 am|between 1 and 3 am|the 31st
    |earlier today|the fortnight
    """.replace("\n", "").split("|")
)
NOWS = st.datetimes(
    min_value=datetime(2000, 1, 1), max_value=datetime(2035, 1, 1), timezones=st.just(ZoneInfo("UTC"))
)


@given(text=PHRASES.map(str.strip), now=NOWS, zone=ZONES)
def test_every_phrase_gives_a_period_with_a_length_in_every_zone_at_every_moment(
    text: str, now: datetime, zone: ZoneInfo
) -> None:
    found = extract_temporal_scope(text, now=now, timezone=zone)
    assert found is not None
    assert found.start is not None
    assert found.end is not None
    assert found.start.astimezone(UTC) < found.end.astimezone(UTC)


@given(now=NOWS, zone=ZONES)
def test_what_is_called_this_contains_now_and_what_is_called_last_is_over(
    now: datetime, zone: ZoneInfo
) -> None:
    for unit in ("week", "month", "quarter", "year", "decade"):
        this = extract_temporal_scope(f"this {unit}", now=now, timezone=zone)
        last = extract_temporal_scope(f"last {unit}", now=now, timezone=zone)
        after = extract_temporal_scope(f"next {unit}", now=now, timezone=zone)
        assert this is not None
        assert last is not None
        assert after is not None
        assert this.contains(now)
        assert last.end == this.start
        assert this.end == after.start


@given(now=NOWS, zone=ZONES, count=st.integers(1, 400))
def test_so_many_days_ago_is_the_day_that_many_days_before(now: datetime, zone: ZoneInfo, count: int) -> None:
    found = extract_temporal_scope(f"{count} days ago", now=now, timezone=zone)
    assert found is not None
    assert found.start is not None
    assert (now.astimezone(zone).date() - found.start.date()).days == count


@given(text=st.text(max_size=300), zone=ZONES)
def test_no_text_breaks_reading(text: str, zone: ZoneInfo) -> None:
    now = datetime(2024, 5, 15, tzinfo=UTC)
    for one in find_times(text, now=now, timezone=zone):
        assert one.phrase in text


WORDS = st.sampled_from(
    """
    from to between and since until before after of in on at the last next this first 2 31 2023 99 may march monday week
    weeks year days ago later early end mid half quarter q3 5pm : / - . , ' s now today christmas feb 29 within
    more than
    """.split()
)


@given(words=st.lists(WORDS, max_size=12), now=NOWS, zone=ZONES)
def test_words_of_time_in_any_order_give_ranges_with_a_length_or_none(
    words: list[str], now: datetime, zone: ZoneInfo
) -> None:
    reading = read_times(" ".join(words), now=now, timezone=zone)
    for one in [*reading.ranges, *([reading.scope] if reading.scope else [])]:
        if one.start is not None and one.end is not None:
            assert one.start.astimezone(UTC) < one.end.astimezone(UTC)


@pytest.mark.parametrize("now", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.parametrize(
    "text", ["last year", "next week", "in 9999 years", "100 centuries ago", "yesterday", "2999"]
)
def test_the_ends_of_the_calendar_are_no_trap(text: str, now: datetime) -> None:
    for zone in ("Pacific/Apia", "America/Sao_Paulo"):
        find_times(text, now=now, timezone=ZoneInfo(zone))


@pytest.mark.system
@pytest.mark.parametrize(
    "part",
    [
        "first week of ",
        "1 ",
        "from 1 to ",
        "may 8 ",
        "1/2/",
        "early ",
        "the ",
        "two thousand and ",
        "🎉 明日 ",
        "99999",
    ],
)
def test_a_long_text_of_anything_is_read(part: str) -> None:
    now = datetime(2024, 5, 15, tzinfo=UTC)
    text = part * (60_000 // len(part))
    reading = read_times(f"yesterday {text}", now=now)
    assert reading.ranges[0].phrase == "yesterday"


def test_beyond_ten_thousand_words_a_note_says_where_reading_stopped() -> None:
    reading = read_times(
        "yesterday" + " word" * 20_000 + " on 8 May 2023", now=datetime(2024, 5, 15, tzinfo=UTC)
    )
    assert [one.phrase for one in reading.ranges] == ["yesterday"]
    assert reading.notes == ("times were looked for in the first 12,000 words and signs of the text",)
