"""What is written down of a step, under the reference's names where it has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from skillopt_gate.verdicts import Decision
from skillopt_replay.skills import Skill
from skillopt_sleep.training.gating import Comparison
from skillopt_sleep.training.insights import Insight
from skillopt_sleep.training.racing import Choice
from skillopt_sleep.training.records import Candidate, EditResult, RejectedEdit
from skillopt_sleep.training.step_parts import Plan, Proposal
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.words import count_tokens


def begin_record(
    plan: Plan,
    skill: Skill,
    micro: Sequence[tuple[list[Trace], int, list[list[Insight]]]],
    insights: Sequence[Insight],
) -> dict[str, Any]:
    batches = []
    for index, ((seed, tasks), (traces, lost, by_variant)) in enumerate(
        zip(plan.batches, micro, strict=True)
    ):
        own = [i for variant in by_variant for i in variant if i.edits or i.document]
        batches.append(
            {
                "batch_idx": index,
                "batch_seed": seed,
                "n_envs": len(tasks),
                "n_lost": lost,
                **_mean(traces, "hard", "soft"),
                "n_failure_patches": sum(insight.kind != "success" for insight in own),
                "n_success_patches": sum(insight.kind == "success" for insight in own),
            }
        )
    traces = [trace for own_traces, _, _ in micro for trace in own_traces]
    patches = [i for i in insights if i.edits or i.document]
    return {
        "step": plan.step,
        "epoch": plan.epoch,
        "step_in_epoch": plan.step_in_epoch,
        **_mean(traces, "rollout_hard", "rollout_soft"),
        "rollout_n": len(traces),
        "rollout_lost": sum(batch["n_lost"] for batch in batches),
        "accumulation_batches": batches,
        "n_minibatches": len(insights),
        "n_patches": len(patches),
        "n_failure_patches": sum(insight.kind != "success" for insight in patches),
        "n_success_patches": sum(insight.kind == "success" for insight in patches),
        "incumbent_hash": skill.digest,
    }


def describe_proposal(
    shown: Proposal, proposals: Sequence[Proposal], insights: Sequence[Insight]
) -> dict[str, Any]:
    problems = [i.problem for i in insights if i.problem] + [x for p in proposals for x in p.problems]
    applied = sum(result.applied for result in shown.results)
    return {
        "n_candidates": len(proposals),
        "n_edits_merged": len(shown.merged.edits),
        "n_edits_ranked": len(shown.selection.edits),
        "support_counts": [edit.support for edit in shown.selection.edits],
        "merge_levels": shown.merged.levels,
        "candidate_hash": shown.skill.digest,
        "candidate_skill_len": len(shown.skill.text),
        "candidate_skill_tokens": count_tokens(shown.skill.text),
        "edit_apply_summary": {
            "total": len(shown.results),
            "applied": applied,
            "skipped": len(shown.results) - applied,
            "errors": 0,
        },
        "problems": list(dict.fromkeys(problems)),
        **({"rewrite_change_summary": list(shown.change_summary)} if shown.change_summary else {}),
        **({"lr_decision": msgspec.to_builtins(shown.decision)} if shown.decision else {}),
    }


def describe_race(choice: Choice, fresh: int) -> dict[str, Any]:
    def describe(candidate: Candidate) -> dict[str, Any]:
        return {
            "candidate_hash": candidate.skill.digest,
            "raced": candidate.raced,
            "hard": candidate.train_hard,
            "incumbent_hard": candidate.base_hard,
        }

    return {
        "race": {
            "n_fresh": fresh,
            "n_won": choice.won,
            "kept": [describe(candidate) for candidate in choice.kept],
            "lost": [describe(candidate) for candidate in choice.lost],
            "told": list(choice.told),
        }
    }


def name_action(comparison: Comparison) -> str:
    if comparison.verdict is None:
        return "force_accept"
    if comparison.verdict.decision is Decision.NOT_ENOUGH:
        return "skip_not_enough"
    return "accept" if comparison.accepted else "reject"


def describe_comparison(comparison: Comparison) -> dict[str, Any]:
    candidate, incumbent, verdict = comparison.candidate, comparison.incumbent, comparison.verdict
    shown: dict[str, Any] = {
        "selection_hard": candidate.hard,
        "selection_soft": candidate.soft,
        "candidate_gate_score": candidate.score,
        "selection_n": candidate.runs,
        "selection_lost": candidate.lost,
        "incumbent_gate_score": incumbent.score,
    }
    if verdict is not None:
        shown["gate"] = {
            "decision": verdict.decision.value,
            "reason": verdict.reason,
            "effect": verdict.effect,
            "interval": list(verdict.interval),
            "p_value": verdict.p_value,
            "wins": verdict.wins,
            "losses": verdict.losses,
            "ties": verdict.ties,
            "broken": list(verdict.broken),
        }
    return shown


def refuse_by_race(candidate: Candidate) -> list[RejectedEdit]:
    applied = [result.edit for result in candidate.edits if result.applied]
    if not candidate.raced:
        return []
    effect = candidate.train_hard - candidate.base_hard
    return [
        RejectedEdit(
            content=edit.content,
            target=edit.target if edit.op == "delete" else "",
            reason="it lost the race on train tasks",
            effect=effect,
            shared=len(applied) > 1,
        )
        for edit in applied
    ]


def refuse_by_gate(results: Sequence[EditResult], comparison: Comparison) -> list[RejectedEdit]:
    verdict = comparison.verdict
    applied = [result.edit for result in results if result.applied]
    if verdict is None:
        return []
    return [
        RejectedEdit(
            content=edit.content,
            target=edit.target if edit.op == "delete" else "",
            reason="the gate turned it down",
            effect=verdict.effect,
            shared=len(applied) > 1,
        )
        for edit in applied
    ]


def _mean(traces: Sequence[Trace], hard: str, soft: str) -> dict[str, float]:
    scores = [trace.rollout.score for trace in traces if trace.rollout.score is not None]
    count = max(len(scores), 1)
    return {hard: sum(s.hard for s in scores) / count, soft: sum(s.soft for s in scores) / count}


def digest_traces(traces: Sequence[Trace], insights: Sequence[Insight], action: str) -> dict[str, Any]:
    return {
        "action": action,
        "n_total": len(traces),
        "n_fail": sum(not trace.passed for trace in traces),
        "failure_patterns": [
            msgspec.to_builtins(pattern)
            for insight in insights
            if insight.kind != "success"
            for pattern in insight.patterns
        ],
        "success_patterns": [
            msgspec.to_builtins(pattern)
            for insight in insights
            if insight.kind == "success"
            for pattern in insight.patterns
        ],
        "tasks": [
            {
                "id": trace.task.id,
                "sample": trace.sample,
                "hard": trace.hard,
                "soft": trace.rollout.score.soft if trace.rollout.score else None,
                "outcome": trace.rollout.outcome.value,
            }
            for trace in traces
        ],
    }
