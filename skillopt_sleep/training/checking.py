"""What the settings of a run may be, beyond their types."""

from __future__ import annotations

from skillopt_gate.metrics import METRICS
from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.modes import read_control, read_schedule, read_update_mode

_LEAST = {
    "model": {"max_usd": 0, "max_tokens": 0, "max_calls": 0, "rewrite_max_completion_tokens": 100},
    "train": {
        "num_epochs": 1,
        "train_size": 0,
        "batch_size": 1,
        "accumulation": 1,
        "samples": 1,
        "candidates": 1,
        "keep": 1,
        "race_passes": 0,
        "patience": 0,
    },
    "gradient": {
        "minibatch_size": 1,
        "minibatches": 0,
        "merge_batch_size": 2,
        "analyst_workers": 1,
        "trace_tokens": 200,
        "reply_tokens": 100,
        "attempts": 1,
    },
    "optimizer": {
        "learning_rate": 0,
        "min_learning_rate": 0,
        "warmup_steps": 0,
        "min_skill_tokens": 1,
        "max_skill_tokens": 50,
        "max_file_tokens": 50,
        "slow_update_samples": 1,
        "skill_aware_consolidate_threshold": 0,
    },
    "evaluation": {"samples": 1, "sel_env_num": 0, "test_env_num": 0, "gate_min_tasks": 1},
    "env": {
        "workers": 1,
        "exec_timeout": 0,
        "max_turns": 0,
        "limit": 0,
        "attempts": 1,
        "max_completion_tokens": 1,
    },
}


def check(config: Config) -> Config:
    """Return the config. Raises UsageError for a value out of its range."""
    for section, least in _LEAST.items():
        for key, bound in least.items():
            value = getattr(getattr(config, section), key)
            if not value >= bound:  # so that no ceiling is "not a number"
                raise UsageError(f"{section}.{key} is {value}", hint=f"it must be at least {bound}")
    rate = config.optimizer
    if rate.min_skill_tokens > rate.max_skill_tokens:
        raise UsageError("optimizer.min_skill_tokens is more than optimizer.max_skill_tokens")
    try:
        read_schedule(rate.lr_scheduler)
        read_control(rate.lr_control_mode)
        mode = read_update_mode(rate.skill_update_mode)
    except ValueError as error:
        raise UsageError(f"optimizer.{error}") from error
    if config.gradient.vouched and mode != "patch":
        raise UsageError(
            f"gradient.vouched does not go with optimizer.skill_update_mode {mode}",
            hint="in a document written anew no rule could name its sources: leave it at patch",
        )
    if config.gradient.plain and (mode != "patch" or config.gradient.vouched):
        with_what = "gradient.vouched" if config.gradient.vouched else f"optimizer.skill_update_mode {mode}"
        raise UsageError(
            f"gradient.plain does not go with {with_what}",
            hint="it is a rule that no user and no model wrote",
        )
    gate = config.evaluation
    if gate.gate_metric not in METRICS:
        raise UsageError(
            f"evaluation.gate_metric is {gate.gate_metric!r}", hint=f"it is one of {', '.join(METRICS)}"
        )
    if not 0.0 <= config.env.most_lost <= 1.0:
        raise UsageError(f"env.most_lost is {config.env.most_lost}", hint="it lies between 0 and 1")
    for key in ("gate_mixed_weight", "gate_min_effect", "gate_alpha"):
        value = getattr(gate, key)
        if not 0.0 <= value <= 1.0 or (key == "gate_alpha" and value in (0.0, 1.0)):
            raise UsageError(f"evaluation.{key} is {value}", hint="it lies between 0 and 1")
    return config
