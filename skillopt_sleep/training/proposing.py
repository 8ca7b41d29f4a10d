"""From what the analysts found to one candidate: merge, select, update."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.choosing import Chooser
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.insights import Insight
from skillopt_sleep.training.merging import Merged, dedupe, merge
from skillopt_sleep.training.modes import read_update_mode
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.rejected import render_rejected
from skillopt_sleep.training.rewriting import compress, merge_documents, rewrite
from skillopt_sleep.training.select import Selection
from skillopt_sleep.training.sizes import SizeBudget, needs_compression
from skillopt_sleep.training.step_parts import Proposal, Standing
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.vouching import Witness


class Proposer:
    """Makes candidates in the update mode of a run; `autonomous`: the optimizer sets the learning rate.

    With a `witness` only what it vouches for gets into a candidate.
    """

    def __init__(
        self, config: Config, optimizer: Optimizer, *, autonomous: bool, witness: Witness | None = None
    ) -> None:
        self._config = config
        self._witness = witness
        self._optimizer = optimizer
        self._chooser = Chooser(optimizer)
        self._mode = read_update_mode(config.optimizer.skill_update_mode)
        self._autonomous = autonomous

    async def propose(
        self, insights: Sequence[Insight], standing: Standing, traces: Sequence[Trace], budget: int | None
    ) -> Proposal:
        """Return the candidate of one variant; one equal to the skill in force when there is none."""
        merged = await merge(
            self._optimizer,
            standing.skill,
            insights,
            batch_size=self._config.gradient.merge_batch_size,
            memory=standing.memory,
            rejected=render_rejected(standing.rejected.edits),
        )
        problems = list(merged.problems)
        dropped = [result for insight in insights for result in insight.dropped]
        if self._witness is not None:
            vouched = self._witness.vouch(merged.edits, traces, standing.skill.text)
            merged = msgspec.structs.replace(merged, edits=vouched.edits)
            dropped += vouched.dropped
        new = dedupe([edit for edit in merged.edits if not standing.rejected.knows(edit)])
        again = [edit for edit in merged.edits if standing.rejected.knows(edit)]
        problems += [f'proposed again what was turned down: "{e.content or e.target}"' for e in again]
        decision = None
        if self._autonomous and new:
            decision, problem = await self._chooser.decide_rate(standing, new, traces, budget)
            budget = decision.learning_rate
            problems += [problem] if problem else []
        if self._mode == "full_rewrite_minibatch":
            return await self._merge_documents(insights, standing)
        selection, problem = await self._chooser.select(standing, new, budget)
        problems += [problem] if problem else []
        skill, results, summary, told = await self._update(standing, selection.edits)
        return Proposal(
            merged=merged,
            selection=selection,
            results=(*results, *dropped),
            skill=skill,
            decision=decision,
            reasoning=" ".join(dict.fromkeys(i.reasoning for i in insights if i.reasoning)),
            change_summary=summary,
            problems=(*problems, *selection.faults, *told),
        )

    async def _update(
        self, standing: Standing, edits: Sequence[Edit]
    ) -> tuple[Skill, tuple[EditResult, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the new skill, what became of the edits, what a writer says of it, and what went wrong."""
        most, skill = self._config.optimizer.max_skill_tokens, standing.skill
        if self._mode == "rewrite_from_suggestions":
            if not edits:
                return skill, (), (), ()
            written = await rewrite(
                self._optimizer,
                skill,
                edits,
                max_tokens=most,
                rejected=render_rejected(standing.rejected.edits),
            )
            done = written.skill is not None
            detail = "worked in" if done else "the document was not written"
            results = tuple(EditResult(edit=edit, applied=done, detail=detail) for edit in edits)
            return written.skill or skill, results, written.summary, written.problems
        files = self._config.optimizer.max_file_tokens
        skill, results = apply_edits(skill, edits, limit=len(edits), max_tokens=most, max_file_tokens=files)
        budget = SizeBudget(least=self._config.optimizer.min_skill_tokens, most=most)
        wanted = needs_compression(skill, results, budget)
        # Of what a compression writes nobody could say which words of the user it rests on.
        if wanted is None or self._witness is not None:
            return skill, results, (), ()
        shorter = await compress(self._optimizer, skill, wanted)
        if shorter.skill is None:
            return skill, results, (), shorter.problems
        # Only edits of SKILL.md are held back.
        skill, again = apply_edits(
            shorter.skill, wanted.held_back, limit=len(wanted.held_back), max_tokens=most
        )
        kept = tuple(result for result in results if not result.over_size)
        return skill, (*kept, *again), shorter.summary, shorter.problems

    async def _merge_documents(self, insights: Sequence[Insight], standing: Standing) -> Proposal:
        written = await merge_documents(
            self._optimizer,
            standing.skill,
            [insight.document for insight in insights if insight.document],
            batch_size=self._config.gradient.merge_batch_size,
            max_tokens=self._config.optimizer.max_skill_tokens,
        )
        return Proposal(
            merged=Merged(edits=()),
            selection=Selection(edits=()),
            results=(),
            skill=written.skill or standing.skill,
            reasoning=" ".join(dict.fromkeys(i.reasoning for i in insights if i.reasoning)),
            change_summary=written.summary,
            problems=written.problems,
        )
