"""When nights are due: whole years of them, with an injected clock and the real rules of time zones."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.daemon.happenings import (
    End,
    account,
    begin,
    finish,
    note_done,
    note_start,
    note_stop,
    pause,
    resume,
    skip,
    wait,
    want,
)
from skillopt_sleep.daemon.schedule import (
    Remark,
    Schedule,
    Work,
    begin_schedule,
    find_due,
    foresee,
    is_paused,
    mend_clock,
)
from skillopt_sleep.hours import find_latest, find_span, parse_hours
from skillopt_sleep.settings import Service

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
RULES = Service()
TICK = 5 * MINUTE


def move_to(zone: str) -> None:
    os.environ["TZ"] = zone
    time.tzset()


@pytest.fixture(autouse=True)
def in_berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    move_to(BERLIN)
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def at(text: str, zone: str = BERLIN, *, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(timezone.utc)


class Life:
    """A machine, its daemon and its clock, from one moment on.

    `is_on` says whether the machine runs at a moment; `obstacle` what is in a night's way. A night takes
    `length`, and is gone on with when cut off. `ran` are the nights that ended: when, and which.
    """

    def __init__(self, start: datetime, rules: Service = RULES, *, length: timedelta = HOUR) -> None:
        self.now = start
        self.ahead = timedelta(0)
        self.rules = rules
        self.length = length
        self.left = length
        self.tick = TICK
        self.only_sleeps = False
        self.schedule = begin_schedule("seed", start)
        self.is_on: Callable[[datetime], bool] = lambda now: True
        self.obstacle: Callable[[datetime, bool], str] = lambda now, catch_up: ""
        self.ran: list[tuple[datetime, Work]] = []
        self.worked: list[datetime] = []
        self.outcomes: dict[str, tuple[str, str]] = {}

    @property
    def clock(self) -> datetime:
        """What the machine takes the time to be."""
        return self.now + self.ahead

    def live(self, *, until: datetime) -> None:
        was_on = True
        while self.now < until:
            on = self.is_on(self.now)
            if on and not was_on and self.schedule.working and not self.only_sleeps:
                self.schedule = note_start(self.schedule, self.clock)[0]
            if on:
                self._tick()
            was_on = on
            self.now += self.tick

    def _tick(self) -> None:
        # As the daemon keeps it: what does not survive being written down is lost.
        self.schedule = msgspec.json.decode(msgspec.json.encode(self.schedule), type=Schedule)
        now = self.clock
        self.schedule = mend_clock(self.schedule, now)
        work = self.schedule.working
        if work is not None:
            self.worked.append(now)
            self.left -= self.tick
            if self.left <= timedelta(0):
                self.ran.append((now, work))
                self.left = self.length
                self.schedule = finish(self.schedule, End.DONE, now)
            elif work.until is not None and now >= work.until:
                self.schedule = finish(self.schedule, End.WINDOW_OVER, now)
        self.schedule, outcomes = account(self.schedule, self.rules, now)
        for outcome in outcomes:
            self.outcomes.setdefault(outcome.window, (outcome.state, outcome.reason))
        due = find_due(self.schedule, self.rules, now)
        if due is None or self.schedule.working is not None:
            return
        reason = self.obstacle(now, due.catch_up)
        if is_paused(self.schedule, now):
            reason = "paused"
        if reason:
            self.schedule = wait(self.schedule, due, reason)
        else:
            self.schedule = begin(self.schedule, due, now)


def local(moment: datetime, zone: str = BERLIN) -> datetime:
    return moment.astimezone(ZoneInfo(zone))


# --- whole years ---------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE])
def test_a_machine_that_is_always_on_works_each_night_of_a_year_once_and_inside_the_window(zone: str):
    move_to(zone)
    life = Life(at("2026-01-01 12:00", zone))
    life.tick = 15 * MINUTE
    life.live(until=at("2027-01-01 12:00", zone))
    assert len(life.ran) == 365
    assert len({work.window for _, work in life.ran}) == 365
    assert not any(work.catch_up for _, work in life.ran)
    for moment in life.worked:
        assert 1 <= local(moment, zone).hour < 6
    assert set(life.outcomes.values()) == {("ran", "")}
    assert len(life.outcomes) == 365
    assert len(life.schedule.remarks) < 20, "a year leaves no more behind than a week"


@pytest.mark.parametrize(
    "window", ["02:15-02:45", "02:00-03:00", "01:30-02:30", "02:30-04:00", "23:30-02:30"]
)
def test_hours_that_the_clocks_jump_over_or_show_twice_have_one_night(window: str):
    rules = Service(window=window, jitter_minutes=0, quiet_hours=())
    life = Life(at("2026-03-20 12:00"), rules, length=10 * MINUTE)
    life.live(until=at("2026-04-05 12:00"))
    assert len(life.ran) == 16
    life = Life(at("2026-10-17 12:00"), rules, length=10 * MINUTE)
    life.live(until=at("2026-11-01 12:00"))
    assert len(life.ran) == 15
    assert set(life.outcomes.values()) == {("ran", "")}


def test_a_laptop_that_is_closed_at_night_makes_up_for_each_night_in_the_evening():
    def is_on(now: datetime) -> bool:
        return 9 <= local(now).hour < 23

    life = Life(at("2026-01-01 12:00"))
    life.tick = 15 * MINUTE
    life.is_on = is_on
    # The user works until eight.
    life.obstacle = lambda now, _: "an agent session" if 9 <= local(now).hour < 20 else ""
    life.live(until=at("2027-01-01 12:00"))
    assert 360 <= len(life.ran) <= 365
    assert all(work.catch_up for _, work in life.ran)
    assert all(20 <= local(moment).hour < 23 for moment in life.worked)


def test_a_machine_that_comes_back_to_being_on_at_night_comes_back_to_the_window():
    life = Life(at("2026-01-01 12:00"))
    life.is_on = lambda now: now > at("2026-01-10 19:00") or 9 <= local(now).hour < 23
    life.obstacle = lambda now, _: "an agent session" if 9 <= local(now).hour < 20 else ""
    life.live(until=at("2026-01-20 12:00"))
    assert not any(work.catch_up for moment, work in life.ran if moment > at("2026-01-12 00:00"))


@pytest.mark.parametrize("days", [2, 7, 21, 60])
def test_after_some_time_away_one_night_is_made_up_for_and_not_all(days: int):
    gone, back = at("2026-03-25 12:00"), at("2026-03-25 12:00") + days * DAY
    life = Life(at("2026-03-20 12:00"))
    life.is_on = lambda now: not gone <= now < back
    life.live(until=back + 12 * HOUR)
    after = [work for moment, work in life.ran if moment > gone]
    assert [work.catch_up for work in after] == [True]
    missed = [window for window, (state, _) in life.outcomes.items() if state == "missed"]
    assert len(missed) == min(days, 14)
    assert all("off or asleep" in reason for state, reason in life.outcomes.values() if state == "missed")


def test_without_catching_up_a_missed_night_is_missed():
    life = Life(at("2026-05-01 12:00"), Service(catch_up=False))
    life.is_on = lambda now: not at("2026-05-02 23:00") <= now < at("2026-05-03 09:00")
    life.live(until=at("2026-05-05 12:00"))
    assert [work.window for _, work in life.ran] == ["2026-05-02", "2026-05-04", "2026-05-05"]
    assert life.outcomes["2026-05-03"][0] == "missed"


def test_a_machine_that_wakes_inside_the_window_works_what_is_left_of_it():
    life = Life(at("2026-05-01 12:00"))
    life.is_on = lambda now: not at("2026-05-01 23:00") <= now < at("2026-05-02 04:00")
    life.live(until=at("2026-05-02 12:00"))
    ((moment, work),) = life.ran
    assert (work.catch_up, local(moment).hour) == (False, 5)


# --- windows that end ----------------------------------------------------------------------------


def test_a_night_that_meets_the_end_of_its_window_goes_on_in_the_next_and_not_at_noon():
    life = Life(at("2026-05-01 12:00"), length=12 * HOUR)
    life.live(until=at("2026-05-08 12:00"))
    assert all(1 <= local(moment).hour <= 6 for moment in life.worked)
    assert not any(local(moment).strftime("%H:%M") > "06:05" for moment in life.worked)
    assert [work.window for _, work in life.ran] == ["2026-05-04", "2026-05-07"]
    assert life.outcomes["2026-05-02"][0] == "unfinished"
    assert life.outcomes["2026-05-04"] == ("ran", "")


def test_the_machine_sleeps_in_the_middle_of_a_night_and_wakes_at_noon():
    life = Life(at("2026-05-01 12:00"), length=3 * HOUR)
    life.only_sleeps = True
    life.is_on = lambda now: not at("2026-05-02 02:00") <= now < at("2026-05-02 12:00")
    life.live(until=at("2026-05-03 12:00"))
    awake = [moment for moment in life.worked if at("2026-05-02 12:00") <= moment < at("2026-05-03 00:00")]
    assert len(awake) <= 1, "it is stopped as soon as the clock is looked at"
    assert [work.window for _, work in life.ran] == ["2026-05-03"]


# --- clocks and zones ----------------------------------------------------------------------------


def test_a_clock_that_is_set_back_neither_repeats_a_night_nor_loses_the_next():
    life = Life(at("2026-05-01 12:00"))
    life.live(until=at("2026-05-02 05:00"))
    assert len(life.ran) == 1
    life.ahead = -3 * HOUR
    life.live(until=at("2026-05-02 18:00"))
    assert len(life.ran) == 1
    life.live(until=at("2026-05-03 18:00"))
    assert len(life.ran) == 2


@pytest.mark.parametrize("years", [1, 30])
def test_a_clock_that_runs_ahead_for_an_hour_costs_at_most_one_night(years: int):
    life = Life(at("2026-05-01 12:00"))
    life.live(until=at("2026-05-03 19:00"))
    life.ahead = 365 * years * DAY
    life.live(until=at("2026-05-03 20:30"))
    life.ahead = timedelta(0)
    life.live(until=at("2026-05-10 12:00"))
    days = {local(moment).date() for moment, _ in life.ran if moment < at("2026-06-01 00:00")}
    assert len(days) >= 8
    assert len(life.ran) <= 10
    assert find_due(life.schedule, RULES, at("2026-05-11 05:00")) is not None


def test_journeys_through_time_zones_bring_no_second_night_within_six_hours():
    life = Life(at("2026-05-01 12:00"))
    zones = [BERLIN, "UTC", NEW_YORK, "Asia/Tokyo", "Pacific/Auckland", "Pacific/Honolulu", BERLIN]
    for hop in range(40):
        move_to(zones[hop % len(zones)])
        life.live(until=life.now + 17 * HOUR)
    moments = [moment for moment, _ in life.ran]
    assert len(moments) >= 20
    assert min(later - sooner for sooner, later in pairwise(moments)) >= 6 * HOUR


# --- trouble -------------------------------------------------------------------------------------


def test_what_kept_a_night_from_beginning_is_told_when_its_window_is_over():
    life = Life(at("2026-05-01 12:00"), Service(catch_up=False))
    life.obstacle = lambda now, _: "the machine is not plugged in"
    life.live(until=at("2026-05-03 12:00"))
    assert life.ran == []
    assert set(life.outcomes.values()) == {("missed", "the machine is not plugged in")}


def test_a_failing_night_is_tried_three_times_a_window_and_again_in_the_next():
    schedule = begin_schedule("seed", at("2026-05-01 12:00"))
    tries = []
    now = schedule.since
    while now < at("2026-05-04 00:00"):
        due = find_due(schedule, RULES, now)
        if due is not None:
            tries.append(local(now))
            schedule = finish(begin(schedule, due, now), End.FAILED, now, "no agent is signed in")
        schedule, outcomes = account(schedule, RULES, now)
        assert {outcome.state for outcome in outcomes} <= {"failed"}
        now += TICK
    assert Counter(moment.day for moment in tries) == {2: 3, 3: 3}
    assert all(1 <= moment.hour < 6 for moment in tries)


def test_a_night_that_is_cut_off_again_and_again_is_given_up_until_the_next_window():
    schedule = begin_schedule("seed", at("2026-05-01 12:00"))
    now, tries = at("2026-05-02 01:30"), 0
    while now < at("2026-05-02 23:00"):
        due = find_due(schedule, RULES, now)
        if due is not None:
            tries += 1
            schedule = note_start(begin(schedule, due, now), now)[0]
        now += TICK
    assert tries == 3
    assert "cut off" in schedule.remarks["2026-05-02"].reason
    assert find_due(schedule, RULES, at("2026-05-03 01:30")) is not None


def test_a_daemon_that_keeps_dying_waits_longer_and_longer_and_forgets_when_it_lives():
    now = at("2026-05-01 12:00")
    schedule = begin_schedule("seed", now)
    delays = []
    for _ in range(12):
        schedule, delay = note_start(schedule, now)
        delays.append(delay)
        now += timedelta(seconds=delay + 5)
    assert delays[:3] == [0, 0, 0]
    assert delays[3:6] == [10, 20, 40]
    assert max(delays) == 600
    assert note_start(schedule, now + HOUR)[1] == 0
    for _ in range(10):
        schedule, delay = note_start(note_stop(schedule), now + HOUR)
        assert delay == 0, "an orderly end is no crash"


def test_a_year_leaves_no_more_behind_than_a_week():
    sizes = []
    life = Life(at("2026-01-01 12:00"))
    life.tick = 30 * MINUTE
    life.obstacle = lambda now, _: "the machine is not plugged in" if now.day % 3 else ""
    for weeks in range(53):
        life.live(until=at("2026-01-08 12:00") + 7 * weeks * DAY)
        sizes.append(len(msgspec.json.encode(life.schedule)))
    assert max(sizes) <= 1.2 * max(sizes[:4])
    assert max(sizes) < 4096


def test_a_year_takes_no_more_memory_than_a_month():
    life = Life(at("2026-01-01 12:00"))
    life.tick = HOUR
    ours = tracemalloc.Filter(inclusive=True, filename_pattern="*skillopt_sleep*")
    tracemalloc.start()
    try:
        taken = []
        for months in (1, 12):
            life.live(until=at("2026-01-01 12:00") + 30 * months * DAY)
            traces = tracemalloc.take_snapshot().filter_traces([ours]).statistics("filename")
            taken.append(sum(trace.size for trace in traces))
    finally:
        tracemalloc.stop()
    # What the test keeps of each night was made here and there: a night has about 200 bytes of it.
    assert taken[1] - taken[0] < 330 * 200


def test_a_night_that_the_user_worked_counts_as_the_days():
    schedule = begin_schedule("seed", at("2026-05-01 12:00"))
    evening = at("2026-05-01 22:30")
    worked = note_done(mend_clock(schedule, evening), evening)
    assert find_due(schedule, RULES, at("2026-05-02 03:00")) is not None
    assert find_due(worked, RULES, at("2026-05-02 03:00")) is None
    assert note_done(worked, at("2026-05-01 20:00")) == worked
    assert note_done(worked, at("2030-05-01 20:00")) == worked, "the clock was ahead then"


# --- what the user says --------------------------------------------------------------------------


def test_one_night_of_the_users_after_a_week_without_a_daemon_does_not_hide_what_was_missed():
    begun = begin_schedule("seed", at("2026-05-01 12:00"))
    back = mend_clock(begun, at("2026-05-09 12:00"))
    schedule, outcomes = account(note_done(back, at("2026-05-09 11:00")), RULES, at("2026-05-09 12:00"))
    assert [(one.window[-2:], one.state) for one in outcomes] == [
        *((f"0{day}", "missed") for day in range(2, 9)),
        ("09", "ran"),
    ]


def test_a_night_that_is_asked_for_begins_at_noon_and_counts_as_the_days():
    life = Life(at("2026-05-01 12:00"))
    life.live(until=at("2026-05-02 12:00"))
    life.schedule = want(life.schedule)
    life.live(until=at("2026-05-02 14:00"))
    assert [work.forced for _, work in life.ran] == [False, True]
    life.live(until=at("2026-05-03 12:00"))
    assert len(life.ran) == 3


def test_tonight_can_be_skipped_and_only_tonight():
    life = Life(at("2026-05-01 12:00"))
    life.live(until=at("2026-05-01 20:00"))
    life.schedule, span = skip(life.schedule, RULES, life.clock)
    assert span.name == "2026-05-02"
    life.live(until=at("2026-05-03 12:00"))
    assert [work.window for _, work in life.ran] == ["2026-05-03"]
    assert life.outcomes["2026-05-02"] == ("skipped", "as you asked")


def test_skipping_inside_the_window_means_that_window_unless_its_night_is_done():
    schedule = begin_schedule("seed", at("2026-05-01 12:00"))
    assert skip(schedule, RULES, at("2026-05-02 02:00"))[1].name == "2026-05-02"
    done = msgspec.structs.replace(schedule, completed=at("2026-05-02 02:00"))
    assert skip(done, RULES, at("2026-05-02 03:00"))[1].name == "2026-05-03"


@pytest.mark.parametrize(
    ("asked", "taken_back"), [("20:00", "21:00"), ("20:00", "02:30"), ("01:05", "01:30")]
)
def test_a_night_that_was_to_be_left_out_is_worked_after_all(asked: str, taken_back: str):
    life = Life(at("2026-05-01 12:00"))
    moments = [at(f"2026-05-{'02' if hour < '12' else '01'} {hour}") for hour in (asked, taken_back)]
    life.live(until=moments[0])
    life.ran.clear()
    life.schedule, span = skip(life.schedule, RULES, life.clock)
    life.live(until=moments[1])
    assert (span.name, life.ran) == ("2026-05-02", [])
    life.schedule = resume(life.schedule, RULES, life.clock)
    assert foresee(life.schedule, RULES, life.clock) < at("2026-05-02 05:00")
    life.live(until=at("2026-05-02 12:00"))
    assert len(life.ran) == 1
    assert life.outcomes["2026-05-02"][0] == "ran"


def test_what_was_left_out_stays_so_once_its_window_is_over():
    life = Life(at("2026-05-01 12:00"))
    life.schedule, _ = skip(life.schedule, RULES, life.clock)
    life.live(until=at("2026-05-02 12:00"))
    life.schedule = resume(life.schedule, RULES, life.clock)
    life.live(until=at("2026-05-02 20:00"))
    assert (life.ran, life.outcomes["2026-05-02"][0]) == ([], "skipped")


def test_a_night_at_work_that_is_left_out_is_told_as_such():
    schedule = begin_schedule("seed", at("2026-05-01 12:00"))
    now = at("2026-05-02 03:30")
    due = find_due(schedule, RULES, now)
    assert due is not None
    schedule, _ = skip(begin(schedule, due, now), RULES, now)
    schedule = finish(schedule, End.DISTURBED, now, "it is to be left out")
    assert schedule.remarks["2026-05-02"] == Remark("skipped", "as you asked")
    assert find_due(schedule, RULES, now + timedelta(minutes=10)) is None
    schedule = resume(schedule, RULES, now + timedelta(minutes=10))
    assert find_due(schedule, RULES, now + timedelta(minutes=10)) is not None


def test_nothing_happens_while_paused_and_then_again():
    life = Life(at("2026-05-01 12:00"))
    life.schedule = pause(life.schedule, at("2026-05-04 12:00"))
    life.live(until=at("2026-05-04 11:00"))
    assert life.ran == []
    assert set(life.outcomes.values()) == {("missed", "paused")}
    assert foresee(life.schedule, RULES, life.clock) == at("2026-05-04 12:00")
    life.live(until=at("2026-05-05 12:00"))
    assert len(life.ran) == 2, "one is made up for, and the next is on time"
    life.schedule = pause(life.schedule)
    life.live(until=at("2026-05-08 12:00"))
    assert len(life.ran) == 2
    life.schedule = resume(life.schedule, RULES, life.clock)
    life.live(until=at("2026-05-09 12:00"))
    assert len(life.ran) == 4


def test_the_next_night_is_foreseen_as_it_comes():
    life = Life(at("2026-03-27 12:00"))
    for _ in range(60):
        foreseen = foresee(life.schedule, RULES, life.clock)
        before = len(life.worked)
        while len(life.worked) == before:
            life.live(until=life.now + TICK)
        begun = life.worked[before] - TICK
        assert foreseen <= begun < foreseen + 2 * TICK
        while life.schedule.working is not None:
            life.live(until=life.now + TICK)


def test_a_new_daemon_does_not_work_at_once():
    schedule = begin_schedule("seed", at("2026-05-02 02:00"))
    assert find_due(schedule, RULES, at("2026-05-02 05:00")) is None
    assert find_due(schedule, RULES, at("2026-05-02 23:00")) is None
    assert find_due(schedule, RULES, at("2026-05-03 02:00")) is not None


@given(st.integers(0, 366 * 24), st.text(min_size=1))
def test_the_jitter_is_the_same_whenever_asked_and_within_bounds(hours: int, seed: str):
    now = at("2026-01-01 00:00") + hours * HOUR
    span = find_latest(parse_hours(RULES.window), now)
    schedule = begin_schedule(seed, span.start - 3 * DAY)
    begins = [span.start + minute * MINUTE for minute in range(25)]
    due = [find_due(schedule, RULES, moment) is not None for moment in begins]
    assert due == sorted(due)
    assert due[21]


@given(st.integers(0, 1439), st.integers(0, 1439), st.integers(0, 366))
def test_spans_are_as_long_as_the_clock_says_but_for_changes_of_an_hour(start: int, end: int, day: int):
    hours = parse_hours(f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}")
    span = find_span(hours, date(2026, 1, 1) + day * DAY)
    assert abs((span.end - span.start) - hours.length) <= HOUR
    assert span.start < span.end
    if hours.length < DAY - HOUR:
        assert hours.holds(span.start + (span.end - span.start) / 2)


@pytest.mark.parametrize("text", ["", "1-2", "24:00-01:00", "01:00", "01:60-02:00", "01:00-02:00 "])
def test_what_are_no_hours_is_refused(text: str):
    with pytest.raises(ValueError, match="no hours"):
        parse_hours(text)
