"""Ask the optimizer for edits by one minibatch of failures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from skillopt_replay.protocols import ChatModel, Completion, Ledger, Message
from skillopt_replay.skills import Skill
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.evidence import Failure, render_evidence
from skillopt_sleep.training.misses import collect_misses, render_misses
from skillopt_sleep.training.prompts import build_messages, build_repair, build_schema
from skillopt_sleep.training.provenance import Sources, vouch
from skillopt_sleep.training.records import Edit, EditResult, RejectedEdit, TrainingConfig
from skillopt_sleep.training.replies import ReplyMalformed, read_reply


class Reflection(msgspec.Struct, frozen=True, kw_only=True):
    """What one minibatch yielded: edits that rest on the user's words, and those dropped because they don't.

    `problem` says what went wrong, "" when nothing did. `reached` is False when the optimizer never
    answered: missing data, not a bad proposal.
    """

    edits: tuple[Edit, ...] = ()
    dropped: tuple[EditResult, ...] = ()
    reasoning: str = ""
    problem: str = ""
    reached: bool = True


async def reflect(
    model: ChatModel,
    ledger: Ledger,
    skill: Skill | None,
    failures: Sequence[Failure],
    config: TrainingConfig,
    *,
    sources: Sources,
    variant: int = 0,
    rejected: Sequence[RejectedEdit] = (),
) -> Reflection:
    """Return the edits the optimizer proposes.

    Variant 0 is asked at temperature 0, the others at the configured one with seeds of their own. A reply
    that is malformed, and one with targets that are not found or without an edit that may stand, are told
    back once each. Without any words of the user behind the failures nothing is asked.
    Raises CeilingReached, ServiceRefused.
    """
    ids = tuple(dict.fromkeys(quote.id for failure in failures for quote in failure.quotes))
    if not ids:
        return Reflection(problem="no failure here rests on words the user typed")
    schema = build_schema(skill, ids, config.learning_rate)
    evidence = render_evidence(failures, config.evidence_tokens)
    messages = build_messages(skill, evidence, config.learning_rate, rejected)
    temperature = config.temperature if variant else 0.0
    seed = config.seed + variant
    best: Reflection | None = None
    told: set[str] = set()
    while True:

        async def ask(messages: tuple[Message, ...] = tuple(messages)) -> Completion:
            return await model.complete(
                messages, schema=schema, max_tokens=config.reply_tokens, temperature=temperature, seed=seed
            )

        key = _hash(model.identity, messages, schema, config.reply_tokens, temperature, seed)
        completion = await ledger.once("optimizer", key, model.estimate, ask, Completion)
        if completion.error is not None:
            problem = f"the optimizer gave no answer: {completion.error}"
            return _add_problem(best or Reflection(reached=False), problem)
        try:
            reply = read_reply(completion)
        except ReplyMalformed as malformed:
            kind, fault = "malformed", str(malformed)
        else:
            kept, dropped = vouch(reply.edits, failures, sources)
            problem = "; ".join(reply.faults)
            latest = Reflection(edits=kept, dropped=dropped, reasoning=reply.reasoning, problem=problem)
            best = latest if kept or best is None else best
            kind, fault = "unusable", _find_misses(skill, kept, config) if kept else _list_dropped(dropped)
        if not fault or kind in told:
            return _add_problem(best or Reflection(), fault if best is None or not best.edits else "")
        told.add(kind)
        messages += [Message("assistant", _quote(completion)), build_repair(fault)]


def _add_problem(reflection: Reflection, problem: str) -> Reflection:
    problems = dict.fromkeys(filter(None, [reflection.problem, problem]))
    return msgspec.structs.replace(reflection, problem="; ".join(problems))


def _find_misses(skill: Skill | None, edits: Sequence[Edit], config: TrainingConfig) -> str:
    """Return which edits have a target that is not found, "" when none."""
    if skill is None:
        return ""
    _, results = apply_edits(skill, edits, limit=len(edits), max_tokens=config.max_skill_tokens)
    return render_misses(collect_misses(skill.body, results))


def _list_dropped(dropped: Sequence[EditResult]) -> str:
    return "; ".join(f'"{result.edit.content}": {result.detail}' for result in dropped)


def _quote(completion: Completion) -> str:
    """Return the reply as text; some models give only the decoded object."""
    return completion.text or msgspec.json.encode(completion.value).decode()


def _hash(*parts: object) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
