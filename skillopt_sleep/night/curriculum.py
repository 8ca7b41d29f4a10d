"""A skill's part of a plan as a training environment, and the settings a night trains with."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt_replay.rollouts import Rollout, Usage
from skillopt_replay.skills import Skill, new_skill
from skillopt_replay.tasks import Task
from skillopt_sleep.night.planned import SkillPlan
from skillopt_sleep.night.rolls import Roller
from skillopt_sleep.settings import Settings
from skillopt_sleep.training.config import (
    Config,
    EnvSection,
    EvaluationSection,
    GradientSection,
    OptimizerSection,
    TrainSection,
)
from skillopt_sleep.training.describe import check_split, describe

_SMALL, _LARGE = (900, 500), (6000, 2000)  # tokens shown of runs, and of the reply
_LEAST_SHOWN, _LEAST_REPLY = 200, 100
_TEMPERATURE = 0.3  # small models lose the form of their replies above


class PlannedTasks:
    """The train and val tasks of a skill's plan; those of the gate, and the sealed ones, are not here.

    Its rollouts are those of the night's own roller, which keeps them and pays for them.
    """

    def __init__(self, plan: SkillPlan, roll: Roller, *, identity: str, estimate: Usage) -> None:
        check_split(plan.train)
        self.name = plan.skill
        self.identity = identity
        self.estimate = estimate
        self._plan = plan
        self._roll = roll

    @property
    def initial(self) -> Skill:
        """The skill in force, or the empty one that a new skill begins as."""
        text = self._plan.place.text
        return Skill(self._plan.skill, text) if text else make_blank(self._plan)

    def load(self, split: str) -> Sequence[Task]:
        """Return the tasks of the split; there are none to test on."""
        return {"train": self._plan.train, "val": self._plan.val}.get(split, ())

    async def rollout(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Run the task; where no skill is in force yet the empty one stands for none."""
        nothing = not self._plan.place.text and skill == make_blank(self._plan)
        return await self._roll(task, None if nothing else skill, sample)

    async def pay(self, task: Task, skill: Skill, sample: int) -> Rollout:
        """Return the rollout that the ledger of the night has, or a new one that it then has."""
        return await self.rollout(task, skill, sample)


def make_blank(plan: SkillPlan) -> Skill:
    """Return the empty skill that what is learned is added to, with its description."""
    title = plan.skill.replace("-", " ").capitalize()
    return new_skill(plan.skill, describe(plan.title, plan.train), f"# {title}")


def make_config(settings: Settings, tasks: int, slots: int, *, optimizer: str = "") -> Config:
    """Return the trainer's settings for `tasks` train tasks; every key of [training] has its place here.

    `optimizer` is the identity of the model that writes the edits: a local one is shown less, as it reads
    slowly and has little room.

    A night has few tasks, so no gate on val could tell luck from gain: what beats the skill in force on the
    train tasks goes on, val tasks choose where there are too many, and the night's own gate decides.
    """
    training = settings.training
    shown, replied = _SMALL if optimizer.startswith("local:") else _LARGE
    return Config(
        train=TrainSection(
            num_epochs=training.epochs,
            batch_size=training.batch_size or max(tasks, 1),
            seed=training.seed,
            samples=training.samples,
            candidates=training.candidates,
            keep=settings.gate.candidates,
        ),
        gradient=GradientSection(
            minibatch_size=training.minibatch_size,
            analyst_workers=slots,
            trace_tokens=max(training.trace_tokens or shown, _LEAST_SHOWN),
            reply_tokens=max(training.reply_tokens or replied, _LEAST_REPLY),
            vouched=True,
            temperature=_TEMPERATURE,
            attempts=1,
        ),
        optimizer=OptimizerSection(
            learning_rate=training.learning_rate,
            min_learning_rate=min(training.min_learning_rate, training.learning_rate),
            lr_scheduler=training.lr_scheduler,
            min_skill_tokens=min(300, training.max_skill_tokens),
            max_skill_tokens=training.max_skill_tokens,
            use_slow_update=training.use_slow_update,
            use_meta_skill=training.use_meta_skill,
            use_skill_aware_reflection=training.use_skill_aware_reflection,
        ),
        evaluation=EvaluationSection(gate_mode="race", eval_test=False),
        env=EnvSection(skill_name="", workers=slots, attempts=1, most_lost=1.0),
    )
