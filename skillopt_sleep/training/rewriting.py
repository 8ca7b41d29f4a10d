"""Documents written anew by the optimizer: by suggestions, by minibatches, or to make them shorter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from skillopt_replay.protocols import Message
from skillopt_replay.skills import Skill
from skillopt_sleep.training.asking import Optimizer, Unreachable, make_object
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.rewrites import Rewrite, enforce_rewrite
from skillopt_sleep.training.rounds import run_all
from skillopt_sleep.training.select import list_edits
from skillopt_sleep.training.showing import show_skill
from skillopt_sleep.training.sizes import Compression

SCHEMA: dict[str, Any] = make_object(
    {
        "reasoning": {"type": "string"},
        "change_summary": {"type": "array", "items": {"type": "string"}},
        "new_skill": {"type": "string"},
    }
)


class Rewriting(msgspec.Struct, frozen=True, kw_only=True):
    """A skill written anew, or None and why there is none; `summary` is what the writer says it changed."""

    skill: Skill | None
    summary: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


async def rewrite(
    optimizer: Optimizer, skill: Skill, suggestions: Sequence[Edit], *, max_tokens: int, rejected: str = ""
) -> Rewriting:
    """Return the skill rewritten by the selected suggestions. Raises CeilingReached, ServiceRefused."""
    parts = [show_skill(skill)]
    parts += [f"What was tried before and turned down:\n{rejected}"] * bool(rejected)
    parts.append(f"The suggestions:\n{list_edits(suggestions)}")
    return await _write(optimizer, "rewrite", _REWRITE, parts, skill, max_tokens=max_tokens)


async def compress(optimizer: Optimizer, skill: Skill, wanted: Compression) -> Rewriting:
    """Return the skill made shorter, to the size that is wanted. Raises CeilingReached, ServiceRefused."""
    parts = [
        show_skill(skill),
        f"It has {wanted.tokens} tokens; write it in at most {wanted.wanted}.",
    ]
    return await _write(
        optimizer,
        "compress",
        _COMPRESS,
        parts,
        skill,
        max_tokens=wanted.wanted,
        min_tokens=min(wanted.least, wanted.wanted) // 2,
    )


async def merge_documents(
    optimizer: Optimizer, skill: Skill, documents: Sequence[str], *, batch_size: int, max_tokens: int
) -> Rewriting:
    """Return one skill of the documents that minibatches wrote: a tree of merges in their order.

    A merge that fails keeps its first document, and says so. Raises CeilingReached, ServiceRefused.
    """
    problems: list[str] = []
    level = list(documents)

    async def join(group: Sequence[str]) -> str:
        if len(group) == 1:
            return group[0]
        listed = "\n\n".join(f"Version {at + 1}:\n\n{text.strip()}" for at, text in enumerate(group))
        parts = [show_skill(skill), listed]
        try:
            return await _ask(optimizer, "merge", _MERGE, parts)
        except (Unreachable, ReplyMalformed) as error:
            problems.append(f"{len(group)} versions were not merged, the first one stands: {error}")
            return group[0]

    while len(level) > 1:
        groups = [level[at : at + batch_size] for at in range(0, len(level), batch_size)]
        level = await run_all([partial(join, group) for group in groups])
    if not level:
        return Rewriting(skill=None)
    return _conclude(enforce_rewrite(skill, level[0], max_tokens=max_tokens), (), problems)


async def _write(
    optimizer: Optimizer,
    stage: str,
    system: str,
    parts: Sequence[str],
    skill: Skill,
    *,
    max_tokens: int,
    min_tokens: int = 0,
) -> Rewriting:
    """Ask for a document; one that may not stand is told back once."""

    def find_fault(value: Any) -> str:
        text = value.get("new_skill")
        if not isinstance(text, str) or not text.strip():
            return '"new_skill" is empty'
        return enforce_rewrite(skill, text, max_tokens=max_tokens, min_tokens=min_tokens).refused

    messages = [Message("system", system), Message("user", "\n\n".join(parts))]
    try:
        reply = await optimizer.ask(stage, messages, SCHEMA, key="new_skill", check=find_fault)
    except (Unreachable, ReplyMalformed) as error:
        return Rewriting(skill=None, problems=(f"nothing was written: {error}",))
    if reply.fault:
        return Rewriting(skill=None, problems=(f"the new document may not stand: {reply.fault}",))
    result = enforce_rewrite(
        skill, str(reply.value["new_skill"]), max_tokens=max_tokens, min_tokens=min_tokens
    )
    summary = reply.value.get("change_summary")
    said = tuple(str(line) for line in summary) if isinstance(summary, list) else ()
    return _conclude(result, said, ())


async def _ask(optimizer: Optimizer, stage: str, system: str, parts: Sequence[str]) -> str:
    messages = [Message("system", system), Message("user", "\n\n".join(parts))]
    reply = await optimizer.ask(stage, messages, SCHEMA, key="new_skill")
    text = reply.value["new_skill"]
    if not isinstance(text, str) or not text.strip():
        raise ReplyMalformed('"new_skill" is empty')
    return text


def _conclude(result: Rewrite, summary: tuple[str, ...], problems: Sequence[str]) -> Rewriting:
    faults = [f"the new document may not stand: {result.refused}"] if result.refused else []
    restored = [f"put back: {what}" for what in result.restored]
    return Rewriting(skill=result.skill, summary=summary, problems=(*problems, *faults, *restored))


_KEEP = """\
Keep what stands between <!-- ..._START --> and <!-- ..._END --> as it is, and no code block open. Reply \
with JSON: "reasoning", "change_summary" (a list of short lines) and "new_skill" (the whole document without \
its front matter)."""
_REWRITE = f"""\
You write a skill document anew, which an agent reads before every task. Work the suggestions in, put \
together what belongs together, and keep every rule that none of them is about. {_KEEP}"""
_COMPRESS = f"""\
You make a skill document shorter, which an agent reads before every task. Say the same in fewer words; drop \
what repeats; lose no rule. {_KEEP}"""
_MERGE = f"""\
Several writers each wrote a version of the same skill document. Write one of them: every improvement that \
does not contradict another, and what the first versions say where they do. {_KEEP}"""
