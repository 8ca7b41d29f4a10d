"""When nights are worked, how much they take on, and how the morning looks."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from skillopt_sleep.hours import PATTERN as HOURS
from skillopt_sleep.settings.kinds import Positive


class Night(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one night takes on."""

    skills: Annotated[Positive, Meta(description="skills worked on in one night")] = 3
    min_occurrences: Annotated[int, Meta(ge=2, description="how often an ask must recur")] = 2


class Service(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the background service works a night."""

    window: Annotated[
        str, Meta(pattern=HOURS, description="hours of the night by the clock here, such as 23:30-06:00")
    ] = "01:00-06:00"
    jitter_minutes: Annotated[float, Meta(ge=0, description="a night begins up to so much later")] = 20.0
    catch_up: Annotated[
        bool, Meta(description="make up for a missed night, outside the window and the quiet hours")
    ] = True
    quiet_hours: Annotated[
        tuple[Annotated[str, Meta(pattern=HOURS)], ...],
        Meta(description="hours in which no night works, each as HH:MM-HH:MM"),
    ] = ("08:00-18:00",)
    idle_minutes: Annotated[
        float, Meta(ge=0, description="how long no agent session may have gone on before a night")
    ] = 15.0
    catch_up_idle_minutes: Annotated[
        float, Meta(ge=0, description="the same before a missed night is made up for")
    ] = 30.0
    on_power: Annotated[bool, Meta(description="work only while the machine is plugged in")] = True
    min_battery: Annotated[
        int, Meta(ge=0, le=100, description="per cent of battery a night needs when not plugged in")
    ] = 50
    max_load: Annotated[
        float, Meta(ge=0, description="load per core above which no night begins; 0 = any")
    ] = 0.7
    min_disk_gb: Annotated[float, Meta(ge=0, description="GB of free disk a night needs")] = 1.0
    metered: Annotated[bool, Meta(description="work on a metered network, too")] = False
    notify: Annotated[bool, Meta(description="tell the desktop in the morning what a night brought")] = False
    webhook: Annotated[
        str,
        Meta(
            pattern=r"^(https?://\S+)?$",
            description="URL that gets a night's figures, never its texts; empty = none",
        ),
    ] = ""


class Review(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How proposals are shown and decided."""

    commit: Annotated[
        bool, Meta(description="true: apply commits a project's skill, and nothing else, on your branch")
    ] = False
    snooze_days: Annotated[Positive, Meta(description="days a snoozed proposal is out of the way")] = 7
    diff: Annotated[
        str, Meta(pattern="^(auto|unified|split)$", description="auto (by width), unified or split")
    ] = "auto"
    keys: Annotated[
        tuple[str, ...],
        Meta(description="keys of the review, each as ACTION:KEY, for example apply:x (see its help, ?)"),
    ] = ()

    def __post_init__(self) -> None:
        for text in self.keys:
            action, _, key = text.partition(":")
            if not action.strip() or not key.strip():
                raise ValueError(f"{text!r} is not ACTION:KEY, for example apply:x")
