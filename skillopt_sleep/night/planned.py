"""What a night takes on, as records: frozen when it begins, and gone on with when it was cut off."""

from __future__ import annotations

import msgspec

from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.store.candidates import Carried
from skillopt_sleep.store.memories import Learned
from skillopt_sleep.training.records import RejectedEdit

NOTHING_FRESH = "its candidate waits for held-out tasks it has not been measured on"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a skill lives: `scope` is project or user, `live` the absolute path of its SKILL.md.

    `text` is what lies there now ("" when nothing does); `repository` is set for a project's skill.
    """

    scope: str
    live: str
    text: str
    repository: str | None = None


class SkillPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One skill's work tonight. With `carried` set, training is skipped and its evidence goes on.

    `rejected` are the edits turned down before this night, `learned` is what the last one left: what happens
    to the skill while the night is worked on, or lies interrupted, does not change what the optimizer is
    asked. `renewed` are tasks that its evidence has counted, and may count again should it start anew with
    another agent or model. `val` choose among candidates; of the `sealed` tasks only their number is here, so
    that none can be run. `hidden` is the text of all held-out tasks that are not in `gate`.
    """

    skill: str
    title: str
    client: str
    place: Place
    train: tuple[Task, ...]
    gate: tuple[Task, ...]
    carried: Carried | None = None
    rejected: tuple[RejectedEdit, ...] = ()
    learned: Learned = Learned()
    renewed: tuple[Task, ...] = ()
    val: tuple[Task, ...] = ()
    sealed: int = 0
    hidden: tuple[str, ...] = ()

    @property
    def base(self) -> str:
        """The digest of the incumbent, "" when there is none."""
        return Skill(self.skill, self.place.text).digest if self.place.text else ""


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A recurring ask left alone tonight, and why in one sentence."""

    skill: str
    title: str
    tasks: int
    reason: str


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """So many calls of each kind if nothing stops early, with one held-out task run again in doubt.

    `usd`, `tokens` and `minutes` are what those would take; None when there is nothing to go by. Most nights
    take less: hopeless candidates stop early. `ceiling_usd` is where the night stops whatever happens, and
    so does the month at `ceiling_month_usd` (0: nowhere), of which `month_usd` were spent before.
    """

    rollouts: int
    optimizer_calls: int
    judge_calls: int
    usd: float | None
    tokens: int | None
    minutes: float | None
    ceiling_usd: float
    ceiling_month_usd: float = 0.0
    month_usd: float = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A night's work, frozen when it begins; `splits` is the side of every task and group in it.

    `forecast` is what it was thought to take then.
    """

    skills: tuple[SkillPlan, ...]
    skipped: tuple[Skipped, ...]
    splits: dict[str, str]
    forecast: Forecast | None = None
