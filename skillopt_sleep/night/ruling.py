"""The one door to staging: what the gate ruled about one exact text.

A Ruling comes into being in `ask_gate` alone, which asks the gate; nothing is staged without one that accepts
the very text that is to be staged (see `require`). There is no other way round than to change this module.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import InitVar, dataclass

from skillopt_gate.decide import judge
from skillopt_gate.verdicts import Decision, Evidence, Pair, Policy, Verdict
from skillopt_replay.skills import Skill
from skillopt_sleep.errors import AppError

_KEY = object()


class NotRuled(AppError):
    """Something was to be staged that the gate did not accept: a bug, never the user's fault."""


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """The gate's verdict on one candidate, bound to its text and to the text it was measured against.

    `candidate` and `base` are SHA-256 digests ("" for a skill that did not exist), `evidence` is what to
    carry on, `identity` who ran the tasks.
    """

    key: InitVar[object]
    verdict: Verdict
    evidence: Evidence
    policy: Policy
    candidate: str
    base: str
    identity: str

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a ruling comes from ask_gate and from nowhere else")


def ask_gate(
    incumbent: Skill | None,
    candidate: Skill,
    pairs: Sequence[Pair],
    evidence: Evidence | None,
    policy: Policy,
    *,
    identity: str,
    problems: Sequence[str] = (),
    shorter: bool = False,
    rewritten: bool = False,
    candidates: int = 1,
    family_level: float | None = None,
) -> Ruling:
    """Ask the gate about the candidate and bind its answer to the text; see `skillopt_gate.decide.judge`."""
    verdict, grown = judge(
        pairs,
        evidence,
        policy,
        identity=identity,
        problems=problems,
        shorter=shorter,
        rewritten=rewritten,
        candidates=candidates,
        family_level=family_level,
    )
    return Ruling(
        key=_KEY,
        verdict=verdict,
        evidence=grown,
        policy=policy,
        candidate=digest(candidate.text),
        base=digest(incumbent.text if incumbent else ""),
        identity=identity,
    )


def require(ruling: Ruling, *, text: str, base_text: str) -> None:
    """Raise NotRuled unless the gate accepted exactly this text, measured against exactly that one."""
    if not isinstance(ruling, Ruling):
        raise NotRuled("nothing can be staged that the gate did not rule about")
    if ruling.verdict.decision is not Decision.ACCEPT:
        raise NotRuled(f"the gate did not accept this skill: {ruling.verdict.reason}")
    if ruling.candidate != digest(text):
        raise NotRuled("the gate ruled about another text than the one to be staged")
    if ruling.base != digest(base_text):
        raise NotRuled("the skill was measured against another text than the one it would replace")


def digest(text: str) -> str:
    """Return the SHA-256 of a skill's text in hex, "" for no text."""
    return hashlib.sha256(text.encode()).hexdigest() if text else ""
