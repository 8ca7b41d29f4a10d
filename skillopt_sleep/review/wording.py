"""How a proposal's numbers are put into words; the same in the review's every form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from skillopt_gate.verdicts import Decision, Policy, Verdict
from skillopt_replay.rollouts import Usage
from skillopt_replay.tasks import Origin
from skillopt_sleep.records import Proposal, TaskEvidence
from skillopt_staging.proposals import State

BADGES = {Decision.ACCEPT: "✓ accept", Decision.REJECT: "✗ reject", Decision.NOT_ENOUGH: "… not yet"}
CHANGES = {"fixed": "✓", "broken": "✗", "same": "=", "not run": "–"}
# What waits for the user, and what may be decided: a reverted proposal does not wait but can be taken again.
WAITING = (State.PENDING, State.SNOOZED)
OPEN = (*WAITING, State.REVERTED)
# A rejection removes the branch; undoing it makes the branch anew.
BRANCHLESS = (State.REJECTED, State.RETIRED)
_MODES = {
    "evidence": "evidence over nights: each night's fresh tasks add to it, and looking often is safe",
    "one-night": "one night: an exact test of tonight's tasks alone",
    "strict": "the mean of passed tasks rose; luck passes this too",
    "soft": "the mean share of passed checks rose; luck passes this too",
    "mixed": "a mean of passed tasks and passed checks rose; luck passes this too",
    "off": "no gate: legal text is all that was asked for",
}
_DIGITS = 2


def say_effect(value: float) -> str:
    """Return a difference of mean scores with its sign, as in +0.31; – when it is not a number."""
    return f"{value:+.{_DIGITS}f}".replace("-", "−") if math.isfinite(value) else "–"


def say_interval(interval: tuple[float, float]) -> str:
    """Return [low, high]."""
    return f"[{say_effect(interval[0])}, {say_effect(interval[1])}]"


def say_wealth(wealth: float) -> str:
    """Return an e-value as a multiple: 24×, 1.6×, 0.03×."""
    if math.isnan(wealth):
        return "–"
    if math.isinf(wealth) or wealth >= 10_000:
        return "over 9999×"
    if wealth >= 10:
        return f"{wealth:.0f}×"
    return f"{wealth:.1f}×" if wealth >= 0.1 or wealth == 0 else f"{wealth:.2f}×"


def say_needed(policy: Policy, verdict: Verdict | None = None) -> str:
    """Return the wealth at which this policy accepts, as in 20×; a verdict tells what it was held to."""
    level = verdict.level if verdict else policy.alpha
    return say_wealth(1 / level) if level > 0 else "–"


def say_mode(mode: str) -> str:
    """Name the way the gate decided, in a few words."""
    return _MODES.get(mode, mode)


def say_cost(usage: Usage) -> str:
    """Return the money spent: $0.42, or "price unknown"."""
    if usage.cost_usd is None:
        return "price unknown"
    if 0 < usage.cost_usd < 0.01:
        return "under $0.01"
    return f"${usage.cost_usd:,.2f}"


def say_tokens(tokens: int) -> str:
    """Return a rounded count: 812, 48 k, 1.3 M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            value = tokens / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return str(tokens)


def count(number: int, noun: str) -> str:
    """Return "1 task" or "5 tasks"; a noun that ends in s after a hissing sound gets es."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith(('s', 'x', 'ch')) else 's'}"


def say_times(number: int) -> str:
    """Return "once" or "3 times"."""
    return "once" if number == 1 else f"{number} times"


def say_reserved(usd: float, *, under_way: bool = False) -> str:
    """Say in brackets how much of a sum is only what calls may have cost at most, "" when nothing is."""
    if not usd:
        return ""
    why = "calls under way, or cut off" if under_way else "calls that were cut off"
    return f" (${usd:.2f} of it may be too much: {why})"


def say_sealed(number: int) -> str:
    """Say how many tasks are kept back, and for what."""
    return f"{count(number, 'held-out task')} {'is' if number == 1 else 'are'} kept for one last look"


def say_nothing_recurs(sessions: Mapping[str, int], *, harvested: bool = False) -> str:
    """Say why there is nothing to learn from yet; `sessions` are numbers of sessions by kind.

    `harvested` says that transcripts were looked for just now.
    """
    if not sum(sessions.values()) and harvested:
        return (
            "no recurring tasks, as no transcript was found; where they are looked for: skillopt-sleep doctor"
        )
    if not sum(sessions.values()):
        return (
            "no recurring tasks yet, as no session was read; to do it, and to see where they are looked for:"
            " skillopt-sleep harvest; skillopt-sleep doctor"
        )
    alone = sum(sessions.get(kind, 0) for kind in ("headless", "subagent"))
    aside = (
        f"{count(alone, 'session')} {'is' if alone == 1 else 'are'} headless or of sub-agents,"
        " which are not mined"
    )
    if not sessions.get("human", 0):
        return f"no recurring tasks: {aside}; sessions of a person are needed" if alone else _NONE_OF_YOURS
    return "no recurring tasks yet: harvest more sessions" + (f" ({aside})" if alone else "")


_NONE_OF_YOURS = "no recurring tasks: sessions of a person are needed, and there are none"


def say_counts(verdict: Verdict) -> str:
    """Return "5 wins, 1 loss, 6 ties"."""
    ties = "1 tie" if verdict.ties == 1 else f"{verdict.ties} ties"
    return f"{count(verdict.wins, 'win')}, {count(verdict.losses, 'loss')}, {ties}"


def say_sample(verdict: Verdict) -> str:
    """Return how much was measured tonight: "12 tasks, 3 runs each side"."""
    return f"{count(verdict.n, 'task')}, {count(verdict.k, 'run')} each side"


def say_runs(task: TaskEvidence) -> str:
    """Return passed of all runs before and after: "0/3 → 3/3"; – for a side without a run."""
    return f"{_passed(task.incumbent)} → {_passed(task.candidate)}"


def say_age(created: str, now: datetime) -> str:
    """Return how long ago an ISO 8601 time was, in its largest unit: 5 min, 3 h, 2 d."""
    then = read_time(created)
    if then is None:
        return created
    minutes = int((now - then).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    for size, unit in ((60 * 24 * 7, "wk"), (60 * 24, "d"), (60, "h")):
        if minutes >= 2 * size or (unit != "wk" and minutes >= size):
            return f"{minutes // size} {unit}"
    return f"{minutes} min"


def read_time(text: str) -> datetime | None:
    """Return the time an ISO 8601 text names, in UTC when it names no zone; None when it is no time."""
    try:
        # Python 3.10 does not read the letter that stands for UTC.
        value = datetime.fromisoformat(text.removesuffix("Z") + ("+00:00" if text.endswith("Z") else ""))
    except ValueError:
        return None
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def say_place(path: str) -> str:
    """Return an absolute path with the user's home shortened to ~."""
    try:
        home = str(Path.home())
    except RuntimeError:
        return path
    return "~" + path[len(home) :] if path.startswith(home.rstrip("/") + "/") else path


def say_origin(origin: Origin) -> str:
    """Return where the user's words stand: "session a90f22, prompt 4"; people count their prompts from 1."""
    return f"session {origin.session}, prompt {origin.turn + 1}"


def say_ask(task: TaskEvidence, longest: int = 200) -> str:
    """Return what a task asks for in one line: its prompt's first line that says something, shortened."""
    first = next((line for line in task.prompt.splitlines() if line.strip()), task.title or task.task)
    ask = " ".join(first.split())
    return ask if len(ask) <= longest else f"{ask[: longest - 1].rstrip()}…"


def say_state(proposal: Proposal) -> str:
    """Return what has been decided, in a few words; "waiting for you" when nothing has."""
    if proposal.state is State.PENDING:
        return "waiting for you"
    if proposal.state is State.SNOOZED:
        return f"snoozed until {proposal.snoozed_until[:10]}" if proposal.snoozed_until else "snoozed"
    words = proposal.state.value
    if proposal.state is State.APPLIED and proposal.applied and not proposal.applied.complete:
        words += ": what is live is not exactly what was tested"
    return f"{words}: {proposal.reason}" if proposal.reason else words


def _passed(scores: tuple[float, ...]) -> str:
    if not scores:
        return "–"
    total = sum(scores)
    passed = f"{total:.0f}" if abs(total - round(total)) < 1e-9 else f"{total:.1f}"
    return f"{passed}/{len(scores)}"


def tell_reason(verdict: Verdict) -> str:
    """Return the gate's sentence without the decision it opens with: the review shows that beside it."""
    opening, colon, rest = verdict.reason.partition(": ")
    return rest if colon and opening in _OPENINGS else verdict.reason


_OPENINGS = {"accepted", "rejected", "not enough evidence yet"}
