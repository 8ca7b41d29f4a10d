"""The names of a run's modes, with the spellings that configuration files use for them."""

from __future__ import annotations

import difflib
from typing import Literal, TypeVar

Schedule = Literal["constant", "linear", "cosine", "autonomous"]
"""How the learning rate goes down from step to step."""

Control = Literal["fixed", "autonomous", "none"]
"""Who sets the learning rate: the schedule, the optimizer at every step, or nobody (no cap)."""

UpdateMode = Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
"""How a skill is changed: by edits, rewritten by selected suggestions, or by whole documents."""

M = TypeVar("M", bound=str)

_SCHEDULES: dict[str, Schedule] = {
    "constant": "constant",
    "linear": "linear",
    "cosine": "cosine",
    "autonomous": "autonomous",
}
_CONTROLS: dict[str, Control] = {
    "fixed": "fixed",
    "manual": "fixed",
    "scheduler": "fixed",
    "scheduled": "fixed",
    "autonomous": "autonomous",
    "auto": "autonomous",
    "optimizer": "autonomous",
    "none": "none",
    "off": "none",
    "no_lr": "none",
}
_UPDATE_MODES: dict[str, UpdateMode] = {
    "patch": "patch",
    "rewrite_from_suggestions": "rewrite_from_suggestions",
    "rewrite": "rewrite_from_suggestions",
    "suggestions": "rewrite_from_suggestions",
    "rewrite_suggestions": "rewrite_from_suggestions",
    "full_rewrite_minibatch": "full_rewrite_minibatch",
    "full_rewrite": "full_rewrite_minibatch",
    "minibatch_full_rewrite": "full_rewrite_minibatch",
    "skill_rewrite_minibatch": "full_rewrite_minibatch",
}


def read_schedule(name: str) -> Schedule:
    """Return the schedule of this name. Raises ValueError for another, with the nearest name."""
    return _read(name, _SCHEDULES, "lr_scheduler")


def read_control(name: str) -> Control:
    """Return the control mode of this name or alias. Raises ValueError for another."""
    return _read(name, _CONTROLS, "lr_control_mode")


def read_update_mode(name: str) -> UpdateMode:
    """Return the update mode of this name or alias. Raises ValueError for another."""
    return _read(name, _UPDATE_MODES, "skill_update_mode")


def _read(name: str, known: dict[str, M], key: str) -> M:
    plain = name.strip().casefold().replace("-", "_")
    if plain in known:
        return known[plain]
    near = difflib.get_close_matches(plain, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ValueError(f"{key} is {name!r}: it must be one of {', '.join(dict.fromkeys(known.values()))}{hint}")
