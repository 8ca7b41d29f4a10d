"""What is read, mined, trained and asked of a candidate."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from skillopt_sleep.clients import check_clients, check_root
from skillopt_sleep.errors import UsageError
from skillopt_sleep.settings.kinds import Positive, Share


class Training(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How edits are found."""

    learning_rate: Annotated[int, Meta(ge=0, description="most edits a candidate may carry")] = 4
    candidates: Annotated[Positive, Meta(description="candidates raced on the train tasks")] = 2
    minibatch_size: Annotated[Positive, Meta(description="failed runs one reflection sees")] = 4
    tasks: Annotated[Positive, Meta(description="train tasks a night")] = 8
    epochs: Annotated[Positive, Meta(description="times a night goes through its train tasks")] = 1
    batch_size: Annotated[int, Meta(ge=0, description="train tasks of a step; 0 = all in one step")] = 0
    samples: Annotated[Positive, Meta(description="runs of each train task; 2 or more show what varies")] = 1
    lr_scheduler: Annotated[
        str,
        Meta(
            pattern="^(constant|linear|cosine|autonomous)$",
            description="of the learning rate: constant, linear, cosine, autonomous (the optimizer decides)",
        ),
    ] = "constant"
    min_learning_rate: Annotated[int, Meta(ge=0, description="where a falling learning rate ends")] = 1
    use_slow_update: Annotated[
        bool, Meta(description="guidance from comparing the skill with the one a night, or epoch, ago")
    ] = False
    use_meta_skill: Annotated[
        bool, Meta(description="notes the optimizer keeps for itself, from the same comparison")
    ] = False
    use_skill_aware_reflection: Annotated[
        bool, Meta(description="reminders of rules that are there and were not followed")
    ] = False
    trace_tokens: Annotated[
        int,
        Meta(ge=0, description="what one reflection is shown of runs; 0 = 900 for a local model, else 6000"),
    ] = 0
    reply_tokens: Annotated[
        int, Meta(ge=0, description="longest reply of the optimizer; 0 = 500 for a local model, else 2000")
    ] = 0
    max_skill_tokens: Annotated[Positive, Meta(description="size budget of a skill")] = 2000
    seed: Annotated[int, Meta(description="seed of shuffles and splits")] = 42


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an edit is good enough."""

    mode: Annotated[
        str,
        Meta(
            pattern="^(evidence|one-night|strict|soft|mixed|off)$",
            description="evidence (over nights), one-night (an exact test); without evidence: strict, soft or"
            " mixed (the mean rose), off (anything legal)",
        ),
    ] = "evidence"
    alpha: Annotated[float, Meta(gt=0, lt=1, description="chance of accepting a useless skill")] = 0.05
    min_effect: Annotated[Share, Meta(description="smallest mean gain worth having")] = 0.05
    min_tasks: Annotated[Positive, Meta(description="fewer usable held-out tasks decide nothing")] = 5
    tasks: Annotated[Positive, Meta(description="held-out tasks a night")] = 12
    max_nights: Annotated[Positive, Meta(description="nights a candidate may wait for evidence")] = 10
    candidates: Annotated[
        Positive, Meta(description="candidates of a skill that may reach the gate on one night; share alpha")
    ] = 1
    control: Annotated[
        str,
        Meta(
            pattern="^(candidate|family)$",
            description="candidate (alpha for each) or family (useless ones among all accepted)",
        ),
    ] = "candidate"
    family_alpha: Annotated[
        float, Meta(gt=0, lt=1, description="useless share of what is accepted, under family control")
    ] = 0.1
    max_cost_ratio: Annotated[float, Meta(ge=0, description="times a run may get dearer; 0 = any")] = 2.0
    max_time_ratio: Annotated[float, Meta(ge=0, description="times a run may take longer; 0 = any")] = 3.0
    soft_weight: Annotated[Share, Meta(description="share of the soft score in mode mixed")] = 0.5
    val_share: Annotated[
        float, Meta(ge=0, lt=0.4, description="share of tasks that choose among candidates")
    ] = 0.0
    sealed_share: Annotated[
        float, Meta(ge=0, lt=0.4, description="share of tasks kept for one look at a finished skill")
    ] = 0.1


class Mine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How recurring tasks are found."""

    across_projects: Annotated[
        bool,
        Meta(description="true: what recurs in any projects is one family, and its skill the user's"),
    ] = False
    titles: Annotated[
        str,
        Meta(
            pattern="^(plain|model)$",
            description="plain (made from the prompts) or model (a night asks the optimizer for better ones)",
        ),
    ] = "plain"


class Harvest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose transcripts are read, and where they are looked for."""

    clients: Annotated[tuple[str, ...], Meta(description="clients to read; empty = all known")] = ()
    roots: Annotated[
        tuple[str, ...],
        Meta(description="further folders, each as CLIENT:PATH; they may be missing"),
    ] = ()

    def __post_init__(self) -> None:
        try:
            if self.clients:
                check_clients(self.clients)
            for root in self.roots:
                check_root(root)
        except UsageError as error:
            # Of an error that is no ValueError the reader of the file would not tell the place.
            hint = f" ({error.hint})" if error.hint else ""
            raise ValueError(f"{error.message}{hint}") from error
