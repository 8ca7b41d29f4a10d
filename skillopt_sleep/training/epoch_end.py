"""What happens when an epoch ends: slow update, appendix of reminders, and the optimizer's own memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from skillopt_replay.protocols import Message
from skillopt_replay.skills import Skill, SkillInvalid
from skillopt_replay.tasks import Task
from skillopt_sleep.training.admitting import Admitter
from skillopt_sleep.training.asking import Optimizer, Unreachable, make_object
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contents import EditRefused
from skillopt_sleep.training.epoch_prompts import CONSOLIDATE, META, SLOW, SLOW_CITED
from skillopt_sleep.training.gating import Gate
from skillopt_sleep.training.insights import read_notes as read_reply_notes
from skillopt_sleep.training.longitudinal import PairOfRuns, compare
from skillopt_sleep.training.lookback import Lookback, list_traces
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.notes import add_notes, read_notes, write_notes
from skillopt_sleep.training.race import Contender
from skillopt_sleep.training.racing import Racer
from skillopt_sleep.training.records import Candidate, Edit
from skillopt_sleep.training.regions import read_region, write_region
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.rolling import Runner
from skillopt_sleep.training.run_folder import RunFolder, RunState
from skillopt_sleep.training.showing import show_skill
from skillopt_sleep.training.vouching import Witness

REGION_TOKENS = 600
_MEMORY_CHARACTERS = 4000


class EpochEnd:
    """Closes the epochs of one run. A skill changes here only through the gate, unless told to force."""

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        optimizer: Optimizer,
        runner: Runner,
        gate: Gate,
        racer: Racer,
        tasks: Sequence[Task],
        say: Callable[[str], None],
        *,
        witness: Witness | None = None,
    ) -> None:
        self._config = config
        self._folder = folder
        self._optimizer = optimizer
        self._runner = runner
        self._admitter = Admitter(config, folder, optimizer, gate, say)
        self._lookback = Lookback(config.gradient, optimizer, witness)
        self._racer = racer
        self._witness = witness
        self._races = config.evaluation.gate_mode == "race"
        self._tasks = tasks
        self._say = say

    async def close(self, state: RunState, epoch: int) -> RunState:
        """Return the state after the end of the epoch; its files are written, the state is not."""
        self._optimizer.reset()
        settings = self._config.optimizer
        begun = state
        if settings.use_skill_aware_reflection:
            state = await self._append_notes(state, epoch)
        pairs: list[PairOfRuns] = []
        before, after = self._load(begun.epoch_start, state), self._load(begun.current, state)
        follows = epoch > 1 or begun.begun_after
        if follows and before != after and (settings.use_slow_update or settings.use_meta_skill):
            pairs = await compare(
                before,
                after,
                self._tasks,
                self._runner,
                count=settings.slow_update_samples,
                policy=settings.longitudinal_pair_policy,
                seed=self._config.train.seed,
                epoch=epoch,
            )
        if settings.use_slow_update:
            state = await self._update_slowly(state, epoch, before, pairs)
        if settings.use_meta_skill:
            state = await self._remember(state, epoch, before, after, pairs)
        return msgspec.structs.replace(state, epochs_ended=epoch, epoch_start=state.current)

    def _load(self, path: str, state: RunState) -> Skill:
        return self._folder.load_skill(path, state.skill_name)

    async def _update_slowly(
        self, state: RunState, epoch: int, before: Skill, pairs: Sequence[PairOfRuns]
    ) -> RunState:
        path = self._folder.epoch_end("slow_update", epoch)
        if not pairs:
            why = _say_why_no_pairs(state, epoch)
            self._folder.write_json(path / "slow_result.json", {"action": "skip", "reasoning": why})
            return state
        self._folder.write_json(path / "comparison_pairs.json", [pair.as_json() for pair in pairs])
        skill = self._load(state.current, state)
        guidance = read_region(skill.body, "slow_update")
        parts = [
            show_skill(before, "The skill an epoch ago"),
            show_skill(skill, "The skill now"),
        ]
        parts += [f"The guidance so far:\n{guidance}"] * bool(guidance)
        parts.append(self._lookback.show(pairs))
        system = SLOW + (SLOW_CITED if self._witness else "")
        text, fault = await self._lookback.ask("slow_update", system, parts, "slow_update_content")
        rules: tuple[Edit, ...] = ()
        if text and self._witness is not None:
            text, rules = self._vouch(text, guidance, pairs, skill)
            fault = fault if text else "nothing new in it rests on what the user said"
        if not text:
            self._folder.write_json(path / "slow_result.json", {"action": "skip", "reasoning": fault})
            self._say(f"epoch {epoch} slow update: {fault}")
            return state
        forced = not self._config.optimizer.slow_update_gate_with_selection
        try:
            candidate = write_region(skill, "slow_update", text, max_tokens=REGION_TOKENS)
        except (EditRefused, SkillInvalid) as error:
            self._admitter.refuse(epoch, "slow_update", str(error))
            return state
        won: bool | None = None
        if self._races and not forced:
            kept = await self._race(candidate, pairs, state, epoch)
            won = bool(kept)
            self._folder.write_json(path / "kept.json", kept)
        return await self._admitter.take(
            state, epoch, "slow_update", candidate, forced=forced, won=won, rules=rules
        )

    def _vouch(
        self, text: str, guidance: str, pairs: Sequence[PairOfRuns], skill: Skill
    ) -> tuple[str, tuple[Edit, ...]]:
        """Return the lines that rest on the user's words or stood there before, and the new ones as edits."""
        if self._witness is None:
            return text, ()
        before = {fold(line) for line in guidance.splitlines()}
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        known = [line for line in lines if fold(line) in before]
        new = "\n".join(line for line in lines if fold(line) not in before)
        rules = self._witness.vouch_lines(new, list_traces(pairs), skill.text)
        return "\n".join([*known, *(f"- {rule.content}" for rule in rules)]) if rules else "", rules

    async def _race(
        self, candidate: Skill, pairs: Sequence[PairOfRuns], state: RunState, epoch: int
    ) -> tuple[Candidate, ...]:
        """Return the candidate if it beats the skill in force on the tasks of the comparison."""
        contender = Contender(skill=candidate, edits=(), reasoning="")
        runs = [pair.after for pair in pairs]
        winners, _ = await self._racer.race([contender], runs, step=state.step, epoch=epoch)
        return winners

    async def _append_notes(self, state: RunState, epoch: int) -> RunState:
        if not state.notes:
            return state
        skill = self._load(state.current, state)
        try:
            noted = add_notes(skill, state.notes, max_tokens=REGION_TOKENS)
            candidate, notes = noted.skill, [*read_notes(noted.skill.body), *noted.no_room]
            most = self._config.optimizer.skill_aware_consolidate_threshold
            crowded = noted.no_room or (most and len(notes) > most)
            # Of reminders in other words nobody could say which of the user's they rest on.
            if notes and crowded and self._witness is None:
                candidate = write_notes(skill, await self._consolidate(notes), max_tokens=REGION_TOKENS)
        except (EditRefused, SkillInvalid) as error:
            self._admitter.refuse(epoch, "appendix", str(error))
            return msgspec.structs.replace(state, notes=(), noted=())
        state = await self._admitter.take(
            state, epoch, "appendix", candidate, forced=self._races, rules=state.noted
        )
        return msgspec.structs.replace(state, notes=(), noted=())

    async def _consolidate(self, notes: Sequence[str]) -> list[str]:
        listed = "\n".join(f"{at + 1}. {note}" for at, note in enumerate(notes))
        schema = make_object({"appendix_notes": {"type": "array", "items": {"type": "string"}}})
        messages = [Message("system", CONSOLIDATE), Message("user", listed)]
        try:
            reply = await self._optimizer.ask("appendix_consolidate", messages, schema, key="appendix_notes")
        except (Unreachable, ReplyMalformed) as error:
            self._say(f"the reminders stay as they are: {error}")
            return list(notes)
        fewer = read_reply_notes(reply.value["appendix_notes"])
        return list(fewer) if fewer and sum(map(len, fewer)) < sum(map(len, notes)) else list(notes)

    async def _remember(
        self, state: RunState, epoch: int, before: Skill, after: Skill, pairs: Sequence[PairOfRuns]
    ) -> RunState:
        path = self._folder.epoch_end("meta_skill", epoch) / "meta_skill_result.json"
        if not pairs:
            why = _say_why_no_pairs(state, epoch)
            self._folder.write_json(
                path, {"action": "skip", "reasoning": why, "meta_skill_content": state.memory}
            )
            return state
        parts = [
            show_skill(before, "The skill an epoch ago"),
            show_skill(after, "The skill now"),
        ]
        parts += [f"Your notes so far:\n{state.memory}"] * bool(state.memory)
        parts.append(self._lookback.show(pairs))
        text, fault = await self._lookback.ask("meta_skill", META, parts, "meta_skill_content")
        if self._witness is not None:
            text = self._witness.leave_own(text, list_traces(pairs), after.text)
        memory = text[:_MEMORY_CHARACTERS] or state.memory
        action = "update" if text else "skip"
        value = {
            "action": action,
            "reasoning": fault,
            "meta_skill_content": memory,
            "tokens": msgspec.to_builtins(self._optimizer.uses),
        }
        self._folder.write_json(path, value)
        self._say(f"epoch {epoch} meta skill: {action}")
        return msgspec.structs.replace(state, memory=memory)


def _say_why_no_pairs(state: RunState, epoch: int) -> str:
    first = epoch == 1 and not state.begun_after
    return "there is no epoch before" if first else "no two skills to compare on any task"
