"""What an epoch's end writes into a region of the skill gets in through the gate, or by force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.gating import Comparison, Gate
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.regions import Region, read_region
from skillopt_sleep.training.run_folder import RunFolder, RunState


class Admitter:
    """Lets candidates of epoch ends in, or not, and writes down which."""

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        optimizer: Optimizer,
        gate: Gate,
        say: Callable[[str], None],
    ) -> None:
        self._config = config
        self._folder = folder
        self._optimizer = optimizer
        self._gate = gate
        self._say = say
        self._races = config.evaluation.gate_mode == "race"

    async def take(
        self,
        state: RunState,
        epoch: int,
        region: Region,
        candidate: Skill,
        *,
        forced: bool,
        won: bool | None = None,
        rules: Sequence[Edit] = (),
    ) -> RunState:
        """Return the state with the candidate as the skill in force, if the gate lets it.

        `won` is what a race said, where that is the gate.
        """
        path = self._folder.epoch_end(region, epoch)
        skill = self._folder.load_skill(state.current, state.skill_name)
        result: dict[str, Any] = {f"{region}_content": read_region(candidate.body, region)}
        if candidate == skill:
            self._folder.write_json(path / "slow_result.json", result | {"action": "skip"})
            return state
        self._folder.write_skill(path / "candidate_skill", candidate)
        comparison: Comparison | None = None
        if not forced and won is None:
            comparison = await self._gate.compare(
                skill,
                candidate,
                index=(state.compared + 1) * self._config.evaluation.samples,
                known=state.current_measure,
            )
            state = msgspec.structs.replace(state, compared=state.compared + 1)
        action = "force_accept"
        if comparison is not None or won is not None:
            accepted = comparison.accepted if comparison is not None else won
            action = "accept" if accepted else "reject"
        result |= {"rules": rules} if rules else {}
        result |= {
            "action": action,
            "candidate_hash": candidate.digest,
            "tokens": msgspec.to_builtins(self._optimizer.uses),
        }
        if comparison is not None:
            result |= {
                "selection_hard": comparison.candidate.hard,
                "selection_soft": comparison.candidate.soft,
                "reasoning": comparison.verdict.reason if comparison.verdict else "the gate is off",
            }
        self._folder.write_json(path / "slow_result.json", result)
        self._say(f"epoch {epoch} {region}: {action}")
        if action == "reject":
            return state
        saved = self._folder.save_skill(candidate, f"skill_v{state.step:04d}_{region}_{epoch:02d}")
        origin = f"{region} of epoch {epoch}"
        measure = comparison.candidate if comparison else None
        state = msgspec.structs.replace(state, current=saved, current_measure=measure, current_origin=origin)
        best = self._folder.load_skill(state.best, state.skill_name)
        raced = self._races and best == skill
        if raced or (comparison is not None and _beats_best(comparison, state, is_best=best == skill)):
            state = msgspec.structs.replace(
                state, best=saved, best_measure=measure, best_origin=origin, best_step=state.step
            )
            self._folder.write_skill(self._folder.root / "best_skill", candidate)
        return state

    def refuse(self, epoch: int, region: Region, why: str) -> None:
        """Write down why there is no candidate."""
        path = self._folder.epoch_end(region, epoch)
        self._folder.write_json(path / "slow_result.json", {"action": "skip", "reasoning": why})
        self._say(f"epoch {epoch} {region}: not written, {why}")


def _beats_best(comparison: Comparison, state: RunState, *, is_best: bool) -> bool:
    """Return whether what the gate let in is the new best: better than the best one, or scored higher."""
    if comparison.verdict is not None and is_best:
        return True
    return state.best_measure is None or comparison.candidate.score > state.best_measure.score
