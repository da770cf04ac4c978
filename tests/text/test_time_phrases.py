"""What people write about time, read on Wednesday, 15 May 2024, at half past two in the afternoon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from recollect.text.times import extract_temporal_scope, find_times, read_times

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)


def shown(moment: datetime | None) -> str:
    if moment is None:
        return ""
    plain = (moment.hour, moment.minute) == (0, 0)
    return moment.strftime("%Y-%m-%d" if plain else "%Y-%m-%d %H:%M")


def read(text: str, now: datetime = NOW) -> str:
    """The scope of a text as "start > end"."""
    found = extract_temporal_scope(text, now=now)
    return "none" if found is None else f"{shown(found.start)} > {shown(found.end)}"


RELATIVE = """
    what happened yesterday?             2024-05-14 > 2024-05-15
    today                                2024-05-15 > 2024-05-16
    the day after tomorrow               2024-05-17 > 2024-05-18
    the day before yesterday             2024-05-13 > 2024-05-14
    3 days ago                           2024-05-12 > 2024-05-13
    three days ago                       2024-05-12 > 2024-05-13
    1 month and 2 days ago               2024-04-13 > 2024-04-14
    two and a half years ago             2021-11-15 > 2021-11-16
    2 hours ago                          2024-05-15 12:00 > 2024-05-15 13:00
    2 weeks from now                     2024-05-29 > 2024-05-30
    last week                            2024-05-06 > 2024-05-13
    last month                           2024-04-01 > 2024-05-01
    next year                            2025-01-01 > 2026-01-01
    this quarter                         2024-04-01 > 2024-07-01
    the previous quarter                 2024-01-01 > 2024-04-01
    past two months                      2024-03-15 > 2024-05-16
    the last 3 years                     2021-05-15 > 2024-05-16
    in the past few weeks                2024-04-24 > 2024-05-16
    over the last year                   2023-05-15 > 2024-05-16
    the past week                        2024-05-08 > 2024-05-16
    the past decade                      2014-05-15 > 2024-05-16
    last 2 quarters                      2023-10-01 > 2024-04-01
    the next 2 days                      2024-05-16 > 2024-05-18
    previous 4 business days             2024-05-09 > 2024-05-15
    within the last 3 hours              2024-05-15 11:30 > 2024-05-15 14:30
    within 5 days                        2024-05-15 > 2024-05-20
    what did I do recently               2024-05-08 > 2024-05-16
    what have I said lately?             2024-05-08 > 2024-05-16
    recent decisions                     2024-05-08 > 2024-05-16
    earlier this year                    2024-01-01 > 2024-05-15 14:30
    later this month                     2024-05-15 14:30 > 2024-06-01
    the rest of the week                 2024-05-15 > 2024-05-20
    so far this month                    2024-05-01 > 2024-05-16
    YTD                                  2024-01-01 > 2024-05-16
    this past weekend                    2024-05-11 > 2024-05-13
    the coming weekend                   2024-05-18 > 2024-05-20
    week-to-date                         2024-05-13 > 2024-05-16
    last summer                          2023-06-01 > 2023-09-01
    last winter                          2023-12-01 > 2024-03-01
    next Friday                          2024-05-24 > 2024-05-25
    this Friday                          2024-05-17 > 2024-05-18
    last Monday                          2024-05-06 > 2024-05-07
    this past Friday                     2024-05-10 > 2024-05-11
    two Fridays ago                      2024-05-03 > 2024-05-04
    Tuesday of last week                 2024-05-07 > 2024-05-08
    what will we do at the weekend?      2024-05-18 > 2024-05-20
    what did we do over the weekend?     2024-05-11 > 2024-05-13
    this morning                         2024-05-15 05:00 > 2024-05-15 12:00
    tonight                              2024-05-15 17:00 > 2024-05-16 04:00
    last night                           2024-05-14 20:00 > 2024-05-15 04:00
    a fortnight ago                      2024-05-01 > 2024-05-02
    the week before last                 2024-04-29 > 2024-05-06
    the month after next                 2024-07-01 > 2024-08-01
    end of month                         2024-05-16 > 2024-06-01
    early next week                      2024-05-20 > 2024-05-23
    late last year                       2023-07-01 > 2024-01-01
"""

CALENDAR = """
    in May 2023                          2023-05-01 > 2023-06-01
    in March                             2024-03-01 > 2024-04-01
    in August                            2023-08-01 > 2023-09-01
    we will meet in August               2024-08-01 > 2024-09-01
    on 8 May                             2024-05-08 > 2024-05-09
    March 3rd                            2024-03-03 > 2024-03-04
    May 8th, 2023                        2023-05-08 > 2023-05-09
    the eighth of May 2023               2023-05-08 > 2023-05-09
    Mon, 8 May 2023                      2023-05-08 > 2023-05-09
    2023-05-08                           2023-05-08 > 2023-05-09
    2023-05-08T23:30:00Z                 2023-05-08 > 2023-05-09
    05/08/2023                           2023-05-08 > 2023-05-09
    25/12/2023                           2023-12-25 > 2023-12-26
    8.5.2023                             2023-05-08 > 2023-05-09
    20230508                             2023-05-08 > 2023-05-09
    8-May-2023                           2023-05-08 > 2023-05-09
    9-18-15                              2015-09-18 > 2015-09-19
    2023-05                              2023-05-01 > 2023-06-01
    on the 4th                           2024-05-04 > 2024-05-05
    the 20th of next month               2024-06-20 > 2024-06-21
    Monday                               2024-05-13 > 2024-05-14
    Feb 29                               2024-02-29 > 2024-03-01
    the 90s                              1990-01-01 > 2000-01-01
    the nineties                         1990-01-01 > 2000-01-01
    mid 90s                              1993-01-01 > 1997-01-01
    the 21st century                     2000-01-01 > 2100-01-01
    in nineteen ninety nine              1999-01-01 > 2000-01-01
    back in '98                          1998-01-01 > 1999-01-01
    Lisbon trip 2019                     2019-01-01 > 2020-01-01
    mid-January                          2024-01-10 > 2024-01-21
    end of March                         2024-03-16 > 2024-04-01
    early 2023                           2023-01-01 > 2023-05-01
    the first week of June 2023          2023-05-29 > 2023-06-05
    the last Friday of April             2024-04-26 > 2024-04-27
    the first 2 weeks of 2021            2021-01-04 > 2021-01-18
    week 12                              2024-03-18 > 2024-03-25
    the week of 8 May                    2024-05-06 > 2024-05-13
    Q4 2023                              2023-10-01 > 2024-01-01
    2023-Q4                              2023-10-01 > 2024-01-01
    Q3'22                                2022-07-01 > 2022-10-01
    the second quarter of last year      2023-04-01 > 2023-07-01
    H1                                   2024-01-01 > 2024-07-01
    the second half of 2023              2023-07-01 > 2024-01-01
    the summer of 2022                   2022-06-01 > 2022-09-01
    Thanksgiving week 2022               2022-11-21 > 2022-11-28
    the 2020 Olympics                    2020-01-01 > 2021-01-01
    last Christmas                       2023-12-25 > 2023-12-26
    Thanksgiving 2022                    2022-11-24 > 2022-11-25
    Easter 2024                          2024-03-31 > 2024-04-01
    Labor Day weekend 2021               2021-09-04 > 2021-09-07
    mother's day                         2024-05-12 > 2024-05-13
    two days before Christmas            2023-12-23 > 2023-12-24
    the Monday after Easter              2024-04-01 > 2024-04-02
    yesterday at 5pm                     2024-05-14 17:00 > 2024-05-14 18:00
    5:30 p.m. on 8 May                   2024-05-08 17:30 > 2024-05-08 17:31
    Friday at half past four             2024-05-10 16:30 > 2024-05-10 16:31
    Monday morning                       2024-05-13 05:00 > 2024-05-13 12:00
"""

RANGES = """
    since March                          2024-03-01 >
    since yesterday                      2024-05-14 >
    until yesterday                      > 2024-05-15
    before 2020                          > 2020-01-01
    after 2020                           2021-01-01 >
    after 8 May                          2024-05-08 >
    prior to May 2023                    > 2023-05-01
    by the end of the week               > 2024-05-20
    2016 and later                       2016-01-01 >
    more than 3 months ago               > 2024-02-15
    less than a week ago                 2024-05-08 > 2024-05-16
    older than 3 months                  > 2024-02-15 14:30
    between March and May                2024-03-01 > 2024-06-01
    from Nov to March                    2023-11-01 > 2024-04-01
    from 2014 to 2018                    2014-01-01 > 2019-01-01
    from 2014 until 2018                 2014-01-01 > 2018-01-01
    from April to June 2017              2017-04-01 > 2017-07-01
    from Monday to Friday                2024-05-13 > 2024-05-18
    from 4 to 22 May                     2024-05-04 > 2024-05-23
    May 8-10, 2023                       2023-05-08 > 2023-05-11
    10/1/2018 - 10/7/2018                2018-10-01 > 2018-10-08
    between the 4th and the 6th of May   2024-05-04 > 2024-05-07
    from May 2023 until now              2023-05-01 > 2024-05-15 14:30
    last week between Friday and Sunday  2024-05-10 > 2024-05-13
    yesterday between 4 and 5 pm         2024-05-14 16:00 > 2024-05-14 17:00
    yesterday from 9 to 11               2024-05-14 09:00 > 2024-05-14 11:00
    the 3 days before 8 May 2023         2023-05-05 > 2023-05-08
    2021-2023                            2021-01-01 > 2024-01-01
    the 2021/22 season                   2021-01-01 > 2023-01-01
    3 days starting next Monday          2024-05-20 > 2024-05-23
    since May and before July 2024       2024-05-01 > 2024-07-01
    Compare last month with this month   2024-04-01 > 2024-06-01
    sales in Q1 and Q2 2023              2023-01-01 > 2023-07-01
"""

NO_TIMES = """
    may I ask something
    it may rain
    a second opinion
    the march on Washington
    version 2.0.1
    python 3.11 or 3.12
    call 555-2023-2014
    call +1 (555) 010-2023
    INV-2023
    order 20240101
    2000 users signed up
    COVID-19
    24/7 support
    on the 4th floor
    every Monday
    who was the first?
    what did April say?
    how many days ago did I call?
    which day of the week is it?
    the most recently added file
    the fall of Rome
    now
    a 25 minutes meeting
    a 1:1 with Ana
    the sun was out and we sat down
    $2023
    192.168.20.23
"""


def rows(table: str) -> list[tuple[str, str]]:
    pairs = [line.strip("\n") for line in table.splitlines() if line.strip()]
    return [(line[4:41].strip(), line[41:].strip()) for line in pairs]


@pytest.mark.parametrize(("text", "wanted"), [*rows(RELATIVE), *rows(CALENDAR), *rows(RANGES)])
def test_a_phrase_means_its_range(text: str, wanted: str) -> None:
    assert read(text).strip() == wanted


@pytest.mark.parametrize("text", [line.strip() for line in NO_TIMES.splitlines() if line.strip()])
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert find_times(text, now=NOW) == []


def test_the_phrase_is_what_the_text_says() -> None:
    found = find_times("Ana came on 8 May 2023, Ben left last week; nobody in 2019.", now=NOW)
    assert [one.phrase for one in found] == ["8 May 2023", "last week", "2019"]


def test_days_begin_at_midnight_of_the_given_zone() -> None:
    late = datetime(2024, 5, 15, 23, 0, tzinfo=UTC)
    tokyo = extract_temporal_scope("today", now=late, timezone=ZoneInfo("Asia/Tokyo"))
    assert tokyo is not None
    assert tokyo.start == datetime(2024, 5, 16, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert tokyo.end == datetime(2024, 5, 17, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert tokyo.contains(late)


def test_a_moment_without_a_zone_is_in_the_given_one() -> None:
    zone = ZoneInfo("Asia/Tokyo")
    naive = extract_temporal_scope("today", now=datetime(2024, 5, 15, 1), timezone=zone)
    assert naive is not None
    assert naive.start == datetime(2024, 5, 15, tzinfo=zone)


def test_the_present_moment_lies_in_ranges_that_reach_it() -> None:
    for text in (
        "recently",
        "the last 3 hours",
        "past two months",
        "this week",
        "from May 2023 until now",
        "YTD",
    ):
        found = extract_temporal_scope(text, now=NOW)
        assert found is not None, text
        assert found.contains(NOW), text


def test_words_that_are_usually_off_have_slack_and_exact_ones_have_none() -> None:
    def slack(text: str) -> timedelta:
        found = extract_temporal_scope(text, now=NOW)
        assert found is not None
        assert (found.widened() == found) == (not found.slack)
        return found.slack

    assert slack("yesterday") == slack("on 8 May") == slack("3 days ago") == timedelta(0)
    assert timedelta(days=3) <= slack("2 weeks ago") < slack("2 months ago") < slack("2 years ago")
    assert slack("2 months ago") < slack("a few months ago")
    wide = extract_temporal_scope("a year ago", now=NOW)
    assert wide is not None
    assert wide.widened().contains(datetime(2023, 9, 1, tzinfo=UTC))


def test_a_date_that_can_be_read_in_two_ways_is_read_with_the_month_first_and_says_so() -> None:
    reading = read_times("what was on 05/08/2023?", now=NOW)
    assert reading.notes == ("read '05/08/2023' with the month first: 2023-05-08",)
    assert read_times("what was on 05/05/2023 and 12/25/2023?", now=NOW).notes == ()


def test_a_date_with_the_day_first_turns_the_others_in_the_text() -> None:
    found = find_times("from 25/04/2023 to 05/08/2023", now=NOW)
    assert [(shown(one.start), shown(one.end)) for one in found] == [("2023-04-25", "2023-08-06")]


def test_a_range_that_runs_backwards_is_turned_round_with_a_note() -> None:
    reading = read_times("between 2024 and 2020", now=NOW)
    assert reading.scope is not None
    assert (shown(reading.scope.start), shown(reading.scope.end)) == ("2020-01-01", "2025-01-01")
    assert reading.notes == ("'between 2024 and 2020' runs backwards; read it as 2020-01-01 to 2024-12-31",)


def test_limits_that_exclude_each_other_limit_nothing_and_say_so() -> None:
    reading = read_times("after 2024 and before 2020", now=NOW)
    assert reading.scope is None
    assert reading.notes == (
        "after 2024, before 2020 contradict each other; the question was not limited in time",
    )


def test_a_limit_that_excludes_the_period_asked_for_is_left_out_and_named() -> None:
    reading = read_times("what did we plan in May 2023, since March 2024?", now=NOW)
    assert reading.scope is not None
    assert (shown(reading.scope.start), shown(reading.scope.end)) == ("2023-05-01", "2023-06-01")
    assert "only the first was taken" in reading.notes[0]


@pytest.mark.parametrize("month", range(1, 13))
def test_months_without_a_year_go_round_the_turn_of_the_year(month: int) -> None:
    reading = read_times("after June and before March", now=NOW.replace(month=month))
    assert reading.notes == ()
    assert reading.scope is not None
    assert reading.scope.start is not None
    assert reading.scope.end is not None
    assert (reading.scope.start.month, reading.scope.end.month) == (7, 3)
    assert reading.scope.end.year == reading.scope.start.year + 1


def test_a_time_of_day_belongs_to_the_date_beside_it_and_does_not_stretch_other_dates() -> None:
    assert read("what did Ana send in week 10, at 8 p.m.?") == "2024-03-04 > 2024-03-11"
    assert read("what did Ana send at 8 p.m.?") == "2024-05-14 20:00 > 2024-05-14 21:00"
