"""Whether now is a good time: cheapest question first. The machine is asked, the answer is a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Protocol

from skillopt_sleep.hours import parse_hours
from skillopt_sleep.settings import Service

# So long after the last sign of a session a night that works counts as in somebody's way.
_ACTIVE = timedelta(minutes=3)
# A transcript from the future tells nothing about now.
_AHEAD = timedelta(hours=1)


class Machine(Protocol):
    """What is known of the machine; None is "nobody knows", and never in the way."""

    def on_battery(self) -> bool | None: ...

    def battery_percent(self) -> float | None: ...

    def load_per_core(self) -> float | None: ...

    def free_gb(self) -> float | None: ...

    def is_metered(self) -> bool | None: ...

    def last_activity(self) -> datetime | None: ...


def find_obstacle(rules: Service, machine: Machine, now: datetime, *, catch_up: bool) -> str:
    """Return what speaks against beginning a night now, "" when nothing does."""
    return next(_list_obstacles(rules, machine, now, catch_up=catch_up), "")


def find_disturbance(rules: Service, machine: Machine, now: datetime, since: datetime) -> str:
    """Return what speaks against going on with a night that began at `since`, "" when nothing does."""
    return next(_list_disturbances(rules, machine, now, since), "")


def _list_obstacles(rules: Service, machine: Machine, now: datetime, *, catch_up: bool) -> Iterator[str]:
    yield from _list_quiet(rules, now)
    yield from _list_power(rules, machine)
    load = machine.load_per_core()
    if rules.max_load and load is not None and load > rules.max_load:
        yield f"the machine is busy: {load:.1f} of load per core, and service.max_load is {rules.max_load:g}"
    free = machine.free_gb()
    if free is not None and free < rules.min_disk_gb:
        yield f"only {free:.1f} GB of disk are free, and service.min_disk_gb is {rules.min_disk_gb:g}"
    minutes = max(rules.idle_minutes, rules.catch_up_idle_minutes if catch_up else 0.0)
    active = _find_activity(machine, now)
    if active is not None and now - active < timedelta(minutes=minutes):
        yield f"an agent session went on less than {minutes:g} minutes ago"
    if not rules.metered and machine.is_metered():
        yield "the network is metered, and service.metered is false"


def _list_disturbances(rules: Service, machine: Machine, now: datetime, since: datetime) -> Iterator[str]:
    yield from _list_quiet(rules, now)
    yield from _list_power(rules, machine)
    active = _find_activity(machine, now)
    if rules.idle_minutes and active is not None and active > since and now - active < _ACTIVE:
        yield "an agent session began"


def _list_quiet(rules: Service, now: datetime) -> Iterator[str]:
    for text in rules.quiet_hours:
        if parse_hours(text).holds(now):
            yield f"these are quiet hours: service.quiet_hours has {text}"


def _list_power(rules: Service, machine: Machine) -> Iterator[str]:
    if not machine.on_battery():
        return
    if rules.on_power:
        yield "the machine is not plugged in, and service.on_power is true"
    percent = machine.battery_percent()
    if percent is not None and percent < rules.min_battery:
        yield f"the battery has {percent:.0f} %, and service.min_battery is {rules.min_battery}"


def _find_activity(machine: Machine, now: datetime) -> datetime | None:
    active = machine.last_activity()
    return None if active is None or active > now + _AHEAD else min(active, now)
