"""Local days and hours are the right moments, in any zone and on the days when clocks change."""

from __future__ import annotations

import os
import time
from datetime import date, datetime, timedelta, timezone
from datetime import time as dt_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.errors import UsageError
from skillopt_sleep.period import as_local, parse_since, parse_until

NEW_YORK, KATHMANDU, ST_JOHNS = "America/New_York", "Asia/Kathmandu", "America/St_Johns"
ZONES = [
    "UTC",
    NEW_YORK,
    KATHMANDU,
    ST_JOHNS,
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Africa/Casablanca",
    "EST5EDT,M3.2.0,M11.1.0",
    "<+0330>-3:30",
]
# Days on which, or beside which, one of the zones changed its clocks: by an hour, by half, by a whole day.
CHANGES = [
    (2026, 3, 8),
    (2026, 11, 1),
    (2010, 3, 14),
    (2010, 11, 7),
    (2018, 11, 4),
    (2019, 2, 17),
    (2011, 12, 30),
    (2026, 4, 5),
    (2026, 10, 4),
    (2025, 2, 23),
]


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch):
    """Give what sets the zone of this process; it is set back at the end."""

    def set_zone(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    set_zone("UTC")
    yield set_zone
    monkeypatch.undo()
    time.tzset()


def read(stored: str) -> datetime:
    return datetime.fromisoformat(stored.replace("Z", "+00:00"))


def look_at_the_clock(moment: datetime) -> datetime:
    """Return what local clocks show, by the C library."""
    shown = time.localtime(moment.timestamp())
    return datetime(*shown[:6], tzinfo=timezone.utc).replace(tzinfo=None)


@given(st.sampled_from(ZONES), st.sampled_from(CHANGES), st.integers(-2, 2))
def test_a_day_holds_exactly_the_minutes_at_which_the_calendar_shows_it(zone, name, near, offset):
    zone(name)
    day = date(*near) + timedelta(days=offset)
    since, until = read(parse_since(day.isoformat())), read(parse_until(day.isoformat()))
    noon = datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc)
    minutes = [noon + timedelta(minutes=m) for m in range(-48 * 60, 48 * 60)]
    shown = [moment for moment in minutes if look_at_the_clock(moment).date() == day]
    if shown:
        assert (since, until) == (shown[0], shown[-1] + timedelta(minutes=1))
    else:
        assert since == until  # the day was left out, as on Samoa in 2011


@given(st.sampled_from(ZONES), st.sampled_from(CHANGES), st.integers(-1440, 2880))
def test_a_clock_time_is_the_first_or_the_last_moment_at_which_clocks_show_it(zone, name, near, minutes):
    zone(name)
    wanted = datetime.combine(date(*near), dt_time.min) + timedelta(minutes=minutes)
    since, until = (
        read(parse_since(f"{wanted:%Y-%m-%dT%H:%M}")),
        read(parse_until(f"{wanted:%Y-%m-%d %H:%M}")),
    )
    around = [wanted.replace(tzinfo=timezone.utc) + timedelta(minutes=m) for m in range(-48 * 60, 48 * 60)]
    showing = [moment for moment in around if look_at_the_clock(moment) == wanted]
    if showing:
        assert (since, until) == (showing[0], showing[-1])
    else:
        assert since == until
        assert look_at_the_clock(since - timedelta(seconds=1)) < wanted < look_at_the_clock(since)


@pytest.mark.parametrize(
    ("name", "day", "hours", "since"),
    [
        (NEW_YORK, "2026-03-08", 23, "2026-03-08T05:00:00.000Z"),
        (NEW_YORK, "2026-11-01", 25, "2026-11-01T04:00:00.000Z"),
        (NEW_YORK, "2026-07-01", 24, "2026-07-01T04:00:00.000Z"),
        (ST_JOHNS, "2026-11-01", 25, "2026-11-01T02:30:00.000Z"),
        (KATHMANDU, "2026-11-01", 24, "2026-10-31T18:15:00.000Z"),
        ("Australia/Lord_Howe", "2026-04-05", 24.5, "2026-04-04T13:00:00.000Z"),
    ],
)
def test_days_have_as_many_hours_as_they_have_there(zone, name: str, day: str, hours: float, since: str):
    zone(name)
    assert parse_since(day) == since
    assert read(parse_until(day)) - read(since) == timedelta(hours=hours)


def test_where_clocks_go_back_at_midnight_both_passings_of_the_hour_belong_to_the_day(zone):
    zone(ST_JOHNS)  # on 2010-11-07, one minute past midnight, it was 23:01 on the 6th again
    assert parse_until("2010-11-06") == "2010-11-07T03:30:00.000Z"
    assert parse_since("2010-11-07") == "2010-11-07T02:30:00.000Z"


def test_hours_pass_and_days_are_the_calendars(zone):
    zone(NEW_YORK)
    after = datetime(2026, 3, 8, 16, 0, tzinfo=timezone.utc)  # noon; the night had one hour less
    assert parse_since("24h", now=after) == "2026-03-07T16:00:00.000Z"
    assert parse_since("1d", now=after) == "2026-03-07T17:00:00.000Z"
    assert parse_since("1w", now=after) == "2026-03-01T17:00:00.000Z"
    assert parse_since("90m", now=after) == "2026-03-08T14:30:00.000Z"


def test_today_is_the_local_one(zone):
    late = datetime(2026, 3, 10, 22, 0, tzinfo=timezone.utc)
    zone(KATHMANDU)
    assert parse_since("today", now=late) == "2026-03-10T18:15:00.000Z"
    assert parse_until("yesterday", now=late) == "2026-03-10T18:15:00.000Z"
    zone(NEW_YORK)
    assert parse_since("Today", now=late) == "2026-03-10T04:00:00.000Z"


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-31T18:30Z", "2026-01-31T18:30:00.000Z"),
        ("2026-01-31 18:30:15.25+05:45", "2026-01-31T12:45:15.250Z"),
        ("2026-01-31t18:30:15-0330", "2026-01-31T22:00:15.000Z"),
        ("2026-01-31T18:30 +02", "2026-01-31T16:30:00.000Z"),
        ("2026-01-31T18:30", "2026-01-31T23:30:00.000Z"),
        ("0500-06-01T12:00Z", "0500-06-01T12:00:00.000Z"),
    ],
)
def test_a_time_with_a_zone_is_taken_by_its_zone(zone, text: str, utc: str):
    zone(NEW_YORK)
    assert parse_since(text) == parse_until(text) == utc


@given(
    st.one_of(st.text(max_size=20), st.from_regex(r"\d{1,5}[-./]\d{1,3}[-./]\d{1,3}.{0,9}", fullmatch=True))
)
def test_whatever_is_typed_is_a_time_or_is_refused_with_an_example(text: str):
    for parse in (parse_since, parse_until):
        try:
            moment = parse(text)
        except UsageError as error:
            moment = error.hint[len("write ") :][:10] + "T00:00:00Z"
        assert read(moment)


@pytest.mark.parametrize(
    "text", ["", "2026-02-30", "2026-1-1", "25:00", "7x", "-3d", "0001-01-01", "9999-12-31"]
)
def test_what_is_no_time_is_refused(text: str):
    with pytest.raises(UsageError, match="is not a time"):
        parse_since(text)


def test_stored_times_are_shown_with_their_offset_and_odd_ones_as_they_are(zone):
    zone(NEW_YORK)
    assert as_local("2026-11-01T05:30:00.000Z") == "2026-11-01 01:30 -0400"
    assert as_local("2026-11-01T06:30:00Z") == "2026-11-01 01:30 -0500"
    zone(KATHMANDU)
    assert as_local("2026-11-01T06:30:00.123Z") == "2026-11-01 12:15 +0545"
    assert (as_local(None), as_local("soon")) == ("", "soon")
    assert os.environ["TZ"] == KATHMANDU
