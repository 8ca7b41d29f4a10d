"""The settings of a training run, under the structured key names of the reference implementation."""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class ServerSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server of a role's model, where the name does not say it all.

    `timeout_seconds` bounds one request (0: the usual), `temperature` None leaves it at 0. `thinking`
    switches the thinking of a model on or off, for servers that know that.
    """

    base_url: str = ""
    api_version: str = ""
    temperature: float | None = None
    timeout_seconds: float = 0.0
    thinking: Literal["server_default", "enabled", "disabled"] = "server_default"


class ModelSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who runs the tasks and who writes the edits, named as models are named everywhere (`openai:gpt-5.5`).

    With a backend given, the name is the deployment alone. The backends claude_code_exec, codex_exec,
    copilot_exec and command are agents, which work on files: `agent_path` is the client's program where it is
    not on the PATH, and `command` the program of your own with its arguments. `reasoning_effort` is how hard
    models are told to think ("": as they do by themselves), `rewrite_reasoning_effort` the same for whole
    documents. `max_usd`, `max_tokens` and `max_calls` are the ceilings of the whole run, resumes included
    (0: none).
    """

    backend: str = ""
    target: str = "local"
    optimizer: str = "local"
    target_backend: str = ""
    optimizer_backend: str = ""
    target_server: ServerSection = ServerSection()
    optimizer_server: ServerSection = ServerSection()
    agent_path: str = ""
    command: tuple[str, ...] = ()
    reasoning_effort: str = ""
    rewrite_reasoning_effort: str = ""
    rewrite_max_completion_tokens: int = 64_000
    max_usd: float = 0.0
    max_tokens: int = 0
    max_calls: int = 0


class TrainSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Epochs and batches. `train_size` 0 takes the whole split; another number has to be its size.

    `samples` is how often each task of a batch is run; from 2 on, tasks that passed once and failed once are
    shown side by side. `candidates` are raced on the batch before one goes to the gate; `keep` winners are
    written down, of which the first goes on. `patience` ends the run after that many steps in a row without
    an acceptance (0: never).
    """

    num_epochs: int = 4
    train_size: int = 0
    batch_size: int = 40
    accumulation: int = 1
    seed: int = 42
    steps_per_epoch: int = 0
    samples: int = 1
    candidates: int = 1
    keep: int = 1
    race_passes: int = 3
    patience: int = 0


class GradientSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Reflection. `trace_tokens` bounds what one question shows of the rollouts, in tokens.

    `show_gold` lets the optimizer see what the checks want; else it never does. `show_form` tells it the form
    of that: what all train tasks have in common, without an answer; `plain` races these words alone,
    too, as a description and as an instruction. `minibatches` is how many of its minibatches a candidate
    learns from (0: all). With `vouched` every edit has to rest on words the user typed about the tasks, and
    cites them. `temperature` is for all candidates but the first, which is asked at 0.
    """

    minibatch_size: int = 8
    minibatches: int = 0
    merge_batch_size: int = 8
    analyst_workers: int = 16
    failure_only: bool = False
    trace_tokens: int = 24_000
    reply_tokens: int = 16_384
    show_gold: bool = False
    show_form: bool = True
    plain: bool = False
    vouched: bool = False
    temperature: float = 0.7
    attempts: int = 3


class OptimizerSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The textual learning rate, the update mode, and what happens at the end of an epoch.

    A skill for which an edit would be too many tokens is compressed, never below `min_skill_tokens`. The
    files beside its SKILL.md have `max_file_tokens` each.
    """

    learning_rate: int = 4
    min_learning_rate: int = 2
    lr_scheduler: str = "cosine"
    lr_control_mode: str = "fixed"
    warmup_steps: int = 0
    skill_update_mode: str = "patch"
    min_skill_tokens: int = 300
    max_skill_tokens: int = 2000
    max_file_tokens: int = 8000
    use_rejected_buffer: bool = True
    use_slow_update: bool = True
    slow_update_samples: int = 20
    slow_update_gate_with_selection: bool = True
    longitudinal_pair_policy: Literal["mixed", "changed", "unchanged"] = "mixed"
    use_meta_skill: bool = True
    use_skill_aware_reflection: bool = False
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    skill_aware_consolidate_threshold: int = 0


class EvaluationSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gate.

    `gate_mode` one-night accepts by an exact test at `gate_alpha`; strict by a higher mean; race what beats
    the skill in force on the batch it was learned from, with val to choose among several winners only.
    `samples` is how often each val task is run a side. With `remeasure` the incumbent runs anew beside each
    candidate; without, its first measurement stands. `attribute_edits` measures an accepted bundle of edits
    without each of them. `sel_env_num` and `test_env_num` take the first tasks
    of val and test (0: all).
    """

    use_gate: bool = True
    gate_mode: Literal["one-night", "strict", "race"] = "one-night"
    gate_metric: str = "hard"
    gate_mixed_weight: float = 0.5
    gate_alpha: float = 0.05
    gate_min_effect: float = 0.0
    gate_min_tasks: int = 5
    samples: int = 1
    remeasure: bool = True
    attribute_edits: bool = False
    sel_env_num: int = 0
    test_env_num: int = 0
    eval_test: bool = True


class EnvSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which environment, its data, and where the run is written.

    `name` is a registered environment or `module:callable`; `options` are its own arguments. The tasks are
    in `split_dir`, or in `data_path` to be split by a ratio; `split_mode` says which where both are set.
    `skill_init` is a SKILL.md, or a folder that is trained whole; without one `skill_description` is what
    the skill says of itself. `attempts` is how often a rollout is tried
    that the infrastructure failed; where more than the share `most_lost` of a round stays lost, the run
    stops. `exec_timeout` bounds one rollout in seconds, `max_turns` the turns of an agent (0: as the settings
    of the program say).
    """

    name: str = ""
    skill_name: str = ""
    skill_init: str = ""
    skill_description: str = ""
    out_root: str = ""
    split_mode: Literal["", "ratio", "split_dir"] = ""
    split_ratio: str = "2:1:7"
    split_seed: int = 42
    split_dir: str = ""
    data_path: str = ""
    workers: int = 8
    exec_timeout: float = 0.0
    max_turns: int = 0
    max_completion_tokens: int = 16_384
    limit: int = 0
    attempts: int = 2
    most_lost: float = 0.5
    options: dict[str, Any] = {}


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run's settings; every section has the defaults of the reference where it has that key."""

    model: ModelSection = ModelSection()
    train: TrainSection = TrainSection()
    gradient: GradientSection = GradientSection()
    optimizer: OptimizerSection = OptimizerSection()
    evaluation: EvaluationSection = EvaluationSection()
    env: EnvSection = EnvSection()
