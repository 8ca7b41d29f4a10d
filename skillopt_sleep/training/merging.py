"""Aggregate what the minibatches propose: a tree of merges, in which the failure side wins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from skillopt_replay.protocols import Message
from skillopt_replay.skill_files import SKILL_FILE
from skillopt_replay.skills import Skill
from skillopt_sleep.training.analyst_prompts import make_edits_schema
from skillopt_sleep.training.asking import Optimizer, Unreachable, make_object
from skillopt_sleep.training.insights import MOST_EDITS, Insight
from skillopt_sleep.training.markdown import fold
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.replies import ReplyMalformed
from skillopt_sleep.training.rounds import run_all
from skillopt_sleep.training.showing import show_skill

Patch = tuple[Edit, ...]


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """One patch of all.

    `levels` is the depth of the tree; `problems` say which merges had to do without a model: their edits
    stand side by side instead.
    """

    edits: Patch
    levels: int = 0
    problems: tuple[str, ...] = ()


async def merge(
    optimizer: Optimizer,
    skill: Skill,
    insights: Sequence[Insight],
    *,
    batch_size: int,
    memory: str = "",
    rejected: str = "",
) -> Merged:
    """Return the patches merged: failures and contrasts among each other, successes, then both.

    Edits that are the same up to case and spaces count once, with the support of all. Each merge of several
    patches is one question; the tree and its order depend on the insights alone. Raises CeilingReached,
    ServiceRefused.
    """
    failures = [dedupe(i.edits) for i in insights if i.kind != "success" and i.edits]
    successes = [dedupe(i.edits) for i in insights if i.kind == "success" and i.edits]
    tree = _Tree(optimizer, skill, batch_size, memory, rejected)
    first, second = await run_all(
        [partial(tree.reduce, failures, "failures"), partial(tree.reduce, successes, "successes")]
    )
    if first and second:
        edits = await tree.join([first, second], "failures first, then successes")
    else:
        edits = first or second
    return Merged(edits=dedupe(edits), levels=tree.levels, problems=tuple(sorted(tree.problems)))


def dedupe(edits: Sequence[Edit]) -> Patch:
    """Return each distinct edit once, in the order given, with the support and sources of all of it."""
    known: dict[tuple[str, str, str, str], Edit] = {}
    for edit in edits:
        key = _name(edit)
        first = known.get(key)
        if first is None:
            known[key] = edit
            continue
        source = "failure" if "failure" in (first.source, edit.source) else "success"
        known[key] = msgspec.structs.replace(
            first,
            support=first.support + edit.support,
            source=source,
            rank=min(first.rank, edit.rank),
            because=tuple(dict.fromkeys([*first.because, *edit.because])),
            sessions=tuple(dict.fromkeys([*first.sessions, *edit.sessions])),
        )
    return tuple(known.values())


class _Tree:
    def __init__(self, optimizer: Optimizer, skill: Skill, size: int, memory: str, rejected: str) -> None:
        self._optimizer = optimizer
        self._skill = skill
        self._size = max(size, 2)
        self._memory = memory
        self._rejected = rejected
        self.levels = 0
        self.problems: set[str] = set()

    async def reduce(self, patches: Sequence[Patch], what: str) -> Patch:
        level = 0
        while len(patches) > 1:
            level += 1
            groups = [patches[i : i + self._size] for i in range(0, len(patches), self._size)]
            patches = await run_all([partial(self.join, group, what) for group in groups])
        self.levels = max(self.levels, level)
        return patches[0] if patches else ()

    async def join(self, patches: Sequence[Patch], what: str) -> Patch:
        """Return one patch of several."""
        pool = dedupe([edit for patch in patches for edit in patch])
        if len(patches) == 1 or len(pool) == 1:
            return pool
        cited = sorted({name for edit in pool for name in edit.because})
        try:
            schema = make_schema(self._skill, cited)
            reply = await self._optimizer.ask("merge", self._build(patches, what), schema)
        except (Unreachable, ReplyMalformed) as error:
            self.problems.add(f"{what} were put together without a merge: {error}")
            return pool
        edits = _read(reply.value.get("edits"), pool, files=bool(self._skill.files))
        if not edits:
            self.problems.add(f"{what} were put together without a merge: the reply left no edit")
            return pool
        return edits

    def _build(self, patches: Sequence[Patch], what: str) -> list[Message]:
        listed = [
            [
                {
                    "op": e.op,
                    "target": e.target,
                    "content": e.content,
                    "support": e.support,
                    "source": e.source,
                    **({"because": e.because} if e.because else {}),
                    **({"file": e.file} if self._skill.files else {}),
                }
                for e in patch
            ]
            for patch in patches
        ]
        parts = [show_skill(self._skill)]
        parts += [f"What was tried before and turned down:\n{self._rejected}"] * bool(self._rejected)
        parts += [f"Your own notes from earlier epochs:\n{self._memory}"] * bool(self._memory)
        parts.append(f"The patches ({what}), as JSON:\n{msgspec.json.encode(listed).decode()}")
        cites = any(edit.because for patch in patches for edit in patch)
        return [Message("system", _SYSTEM + (_CITED if cites else "")), Message("user", "\n\n".join(parts))]


_SYSTEM = """\
Several analysts each proposed a patch of the same skill document. Make one patch of them.
- Edits that mean the same become one; its support is the sum of theirs.
- No two edits touch the same place.
- Where edits contradict each other, the one whose source is failure stands.
- Keep an edit that stands alone; write nothing that none of them asks for.
Reply with JSON: "reasoning" (a sentence or two) and "edits", each with op, target, content, support and \
source (failure or success)."""


_CITED = """ Each also has "because": the ids of the user's words that it rests on, as given; an edit that \
several became has all of theirs."""


def make_schema(skill: Skill, cited: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON schema of a merged patch; `cited` are the ids that its edits may rest on, if any."""
    edits = make_edits_schema(None, skill)
    item = edits["items"]
    properties = {**item["properties"], "source": {"enum": ["failure", "success"]}}
    if cited:
        properties["because"] = {"type": "array", "items": {"enum": list(cited)}, "minItems": 1}
    return make_object(
        {"reasoning": {"type": "string"}, "edits": {**edits, "items": make_object(properties)}}
    )


def _read(raw: object, pool: Sequence[Edit], *, files: bool) -> Patch:
    """Return the usable edits of a merge; none can claim more support than all of the pool has.

    One that comes back as it was rests on what it rested on.
    """
    most = sum(edit.support for edit in pool)
    before = {_name(edit): edit for edit in pool}
    edits = []
    for number, entry in enumerate(raw[:MOST_EDITS] if isinstance(raw, list) else ()):
        try:
            fields = dict(entry)
            op = "add" if fields.get("op") == "append" else fields.get("op")
            edit = msgspec.convert(
                {
                    "op": op,
                    "target": fields.get("target") or "",
                    "content": "" if op == "delete" else fields.get("content") or "",
                    "support": min(max(int(fields.get("support") or 1), 1), most),
                    "source": "success" if fields.get("source") == "success" else "failure",
                    "rank": number,
                    **({"file": fields.get("file") or SKILL_FILE} if files else {}),
                },
                Edit,
            )
        except (msgspec.ValidationError, TypeError, ValueError, OverflowError):
            continue
        cited = fields.get("because")
        known = before.get(_name(edit))
        because = known.because if known else tuple(map(str, cited if isinstance(cited, list) else ()))
        edits.append(msgspec.structs.replace(edit, because=because))
    return tuple(edits)


def _name(edit: Edit) -> tuple[str, str, str, str]:
    return edit.op, edit.file, fold(edit.content), fold(edit.target)
