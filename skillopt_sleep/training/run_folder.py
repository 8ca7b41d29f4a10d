"""The folder of a run: what users of the reference expect in it, and the state a resume goes on from.

Every file is replaced as a whole, and the state is written last: what it names is there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skillopt_replay.folders import remove_tree
from skillopt_replay.skill_folders import read_skill, write_skill
from skillopt_replay.skills import Skill, SkillInvalid
from skillopt_replay.tasks import Task
from skillopt_sleep.files import sync_tree, write_atomically
from skillopt_sleep.training.contract import TrainingError
from skillopt_sleep.training.gating import Measure
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.rejected import RejectedEdits

T = TypeVar("T")


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands. Skills are named by their file below the run's folder.

    `step` steps are complete, and the ends of `epochs_ended` epochs. `epoch_start` is the skill at the end of
    the epoch before. `idle` counts the steps since the last acceptance. `compared` counts comparisons on val.
    `noted` are the notes as edits with their sessions, where these are asked for.
    `begun_after`: the run began after another, whose skill `epoch_start` is in the first epoch. `final` is
    the measure of the skill in force at the end, where it was not the best one.
    """

    fingerprint: dict[str, str]
    skill_name: str
    step: int = 0
    epochs_ended: int = 0
    current: str
    best: str
    epoch_start: str
    baseline: Measure | None = None
    current_measure: Measure | None = None
    best_measure: Measure | None = None
    best_step: int = 0
    current_origin: str = "initial"
    best_origin: str = "initial"
    memory: str = ""
    rejected: RejectedEdits = RejectedEdits()
    notes: tuple[str, ...] = ()
    noted: tuple[Edit, ...] = ()
    idle: int = 0
    compared: int = 0
    stopped: str = ""
    begun_after: bool = False
    final: Measure | None = None


class RunUnusable(TrainingError):
    """A run's folder cannot be gone on with: it is damaged, or holds a run of something else."""


def write_folder(place: Path, skill: Skill) -> None:
    """Put the skill's folder at the place, whole; what is there goes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    new, old = place.with_name(f".{place.name}.new"), place.with_name(f".{place.name}.old")
    for left in (new, old):
        if left.exists():
            remove_tree(left)
    write_skill(skill, new)
    sync_tree(new)
    if place.exists():
        place.rename(old)
    new.rename(place)
    if old.exists():
        remove_tree(old)


class RunFolder:
    """Reads and writes one run's folder; all paths in its files are relative to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ledger = root / "calls.db"
        self.lock = root / "run.lock"

    def step(self, number: int) -> Path:
        """Return the folder of a step."""
        return self.root / "steps" / f"step_{number:04d}"

    def epoch_end(self, kind: str, epoch: int) -> Path:
        """Return the folder of an epoch's `slow_update` or `meta_skill`."""
        return self.root / kind / f"epoch_{epoch:02d}"

    def write_json(self, path: Path, value: object) -> None:
        """Replace a file with the value as indented JSON."""
        write_atomically(path, msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")

    def read_json(self, path: Path) -> Any:
        """Return the value of a JSON file. Raises RunUnusable when it is damaged."""
        return self.read_as(path, object)

    def read_as(self, path: Path, kind: type[T]) -> T:
        """Return what a JSON file holds as this type. Raises RunUnusable when it holds nothing of it."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError) as error:
            raise RunUnusable(f"{path} is damaged: {error}") from error

    def write_text(self, path: Path, text: str) -> None:
        """Replace a file with the text."""
        write_atomically(path, text)

    def save_skill(self, skill: Skill, name: str) -> str:
        """Write the skill below `skills`; return its path as the state names it."""
        return self.write_skill(self.root / "skills" / name, skill).relative_to(self.root).as_posix()

    def write_skill(self, place: Path, skill: Skill) -> Path:
        """Replace what is at the place by the skill: `<place>.md`, or a folder when it has other files."""
        file = place.with_name(f"{place.name}.md")
        if not skill.files:
            write_atomically(file, skill.text)
            if place.is_dir():
                remove_tree(place)
            return file
        write_folder(place, skill)
        file.unlink(missing_ok=True)
        return place

    def load_skill(self, relative: str, name: str) -> Skill:
        """Return the skill of a path the state names. Raises RunUnusable when it is gone."""
        try:
            return msgspec.structs.replace(read_skill(self.root / relative), name=name)
        except SkillInvalid as error:
            raise RunUnusable(f"{error.message}, so the run cannot go on") from error

    def load_state(self) -> RunState | None:
        """Return the state, None when the run has none yet. Raises RunUnusable when it is damaged."""
        path = self.root / "runtime_state.json"
        try:
            return msgspec.json.decode(path.read_bytes(), type=RunState)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise RunUnusable(
                f"{path} is damaged: {error}", hint="choose another env.out_root, or remove the folder"
            ) from error

    def save_state(self, state: RunState) -> None:
        """Write the state: from now on a resume begins here."""
        self.write_json(self.root / "runtime_state.json", state)

    def load_history(self, steps: int) -> list[dict[str, Any]]:
        """Return the records of the first `steps` steps."""
        records = [self.read_json(self.step(n + 1) / "step_record.json") for n in range(steps)]
        return [record for record in records if isinstance(record, dict)]


def fingerprint(
    config: Mapping[str, Any],
    splits: Mapping[str, Sequence[Task]],
    skill: Skill,
    target: str,
    *optimizers: str,
) -> dict[str, str]:
    """Return a digest of each thing that a run's results depend on, by what it is."""
    parts: dict[str, object] = {
        "config": config,
        "skill": [skill.text, skill.files] if skill.files else skill.text,
        "target": target,
        "optimizer": optimizers[0] if len(optimizers) == 1 else optimizers,
    }
    digests = {name: _digest(part) for name, part in parts.items()}
    return {**digests, **{f"{name} tasks": _digest(tasks) for name, tasks in splits.items()}}


def check_fingerprint(
    known: Mapping[str, str], now: Mapping[str, str], root: Path, list_changed: Callable[[], str]
) -> None:
    """Raise RunUnusable when a run would go on with something else than it began with.

    `list_changed` names the settings that are others now, "" where nobody can tell.
    """
    changed = [name for name in sorted({*known, *now}) if known.get(name) != now.get(name)]
    if changed:
        changed = [(list_changed() or name) if name == "config" else name for name in changed]
        raise RunUnusable(
            f"{root} holds a run with other settings or data: {', '.join(changed)} changed",
            hint="choose another env.out_root, or go back to what it began with",
        )


def _digest(part: object) -> str:
    return hashlib.sha256(msgspec.json.encode(part, order="sorted")).hexdigest()[:16]
