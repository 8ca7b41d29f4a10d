"""What the optimizer is shown of failed rollouts: the user's words as words, all else as quoted data.

No gold answer is in it. What a check wants is shown only when the user said it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from skillopt_replay.rollouts import Outcome, Rollout
from skillopt_replay.tasks import (
    Check,
    CommandMatched,
    CommandSucceeds,
    Contains,
    Exact,
    FileContains,
    JsonSchema,
    Matches,
    Origin,
    Pairwise,
    Rubric,
    SectionPresent,
    Task,
    ToolCalled,
)

DATA = "| "
USER = "> "


class Quote(msgspec.Struct, frozen=True):
    """Words the user typed, under the id they are cited by (c1, c2, ...)."""

    id: str
    origin: Origin


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A task the incumbent failed, under the id it is cited by (t1, t2, ...).

    `failed` are the checks that did not pass. `quotes` are the user's corrections of the task and the words
    the failed checks rest on; a quote that several tasks share has one id. `backed` are the quotes the
    failed checks rest on.
    """

    id: str
    task: Task
    rollout: Rollout
    failed: tuple[Check, ...]
    quotes: tuple[Quote, ...]
    backed: tuple[Quote, ...]


def is_valid(rollout: Rollout) -> bool:
    """Return whether the rollout says anything about the skill; infrastructure failures do not."""
    return rollout.outcome is not Outcome.INFRASTRUCTURE and rollout.score is not None


Known = Mapping[tuple[str, int, str], Quote]
"""The user's words by session, turn and text."""


def number_quotes(tasks: Iterable[Task]) -> Known:
    """Return what the user said about the tasks, each under the id it is cited by, in their order.

    Words that several tasks share have one id.
    """
    known: dict[tuple[str, int, str], Quote] = {}
    for task in tasks:
        origins = (*task.corrections, *(c.origin for c in task.checks if c.origin is not None))
        for origin in origins:
            if origin.quote.strip():
                known.setdefault(_key(origin), Quote(f"c{len(known) + 1}", origin))
    return known


def _key(origin: Origin) -> tuple[str, int, str]:
    return origin.session, origin.turn, " ".join(origin.quote.split())


def collect_failures(runs: Sequence[tuple[Task, Rollout]], known: Known | None = None) -> tuple[Failure, ...]:
    """Return the failed among the runs, their ids by their place among the valid ones.

    `known` are the words of all tasks of the run; without it those of these tasks are numbered.
    """
    known = number_quotes(task for task, _ in runs) if known is None else known
    failures: list[Failure] = []
    for place, (task, rollout) in enumerate(run for run in runs if is_valid(run[1])):
        if rollout.score is None or rollout.score.hard >= 1.0:
            continue
        results = rollout.score.results
        failed = tuple(c for c, result in zip(task.checks, results, strict=False) if not result.passed)
        backed = [known[_key(c.origin)] for c in failed if c.origin is not None and c.origin.quote.strip()]
        said = [known[_key(origin)] for origin in task.corrections if origin.quote.strip()]
        failures.append(
            Failure(
                id=f"t{place + 1}",
                task=task,
                rollout=rollout,
                failed=failed,
                quotes=tuple(dict.fromkeys([*said, *backed])),
                backed=tuple(dict.fromkeys(backed)),
            )
        )
    return tuple(failures)


def citable(failures: Sequence[Failure]) -> dict[str, tuple[Quote, ...]]:
    """Return the ids an edit may cite, each with the user's words behind it; quotes come first."""
    quotes = {quote.id: (quote,) for failure in failures for quote in failure.quotes}
    tasks = {failure.id: failure.backed for failure in failures if failure.backed}
    return {**quotes, **tasks}


def describe_check(check: Check, quotes: Sequence[Quote] = ()) -> str:
    """Return in words what the check wants.

    Its text, pattern or command is shown only when the user's words that the check rests on contain it.
    """
    shown = " ".join(_fragment(check).split())
    said = " ".join(check.origin.quote.split()).casefold() if check.origin else ""
    known = bool(shown) and shown.casefold() in said
    wanted = f"`{shown}`" if known else _HIDDEN[type(check)]
    sentence = _SENTENCES[type(check)].format(must="must not" if check.negate else "must", wanted=wanted)
    source = next((quote.id for quote in quotes if quote.origin == check.origin), None)
    return f"{sentence} (see {source})." if source else f"{sentence}."


_SENTENCES: dict[type, str] = {
    Exact: "the final answer {must} be exactly {wanted}",
    Contains: "the final answer {must} contain {wanted}",
    Matches: "the final answer {must} have {wanted}",
    SectionPresent: "the final answer {must} have a section headed {wanted}",
    ToolCalled: "the agent {must} call {wanted}",
    CommandMatched: "the agent {must} run {wanted}",
    FileContains: "{wanted} {must} be there in the end",
    CommandSucceeds: "{wanted} {must} succeed in the end",
    JsonSchema: "the result {must} satisfy the JSON schema {wanted}",
    Rubric: "the work {must} heed {wanted}",
    Pairwise: "the work {must} hold its own by {wanted}",
}
_HIDDEN: dict[type, str] = {
    Exact: "one text (not shown)",
    Contains: "a certain text (not shown)",
    Matches: "a certain form (not shown)",
    SectionPresent: "in a certain way (not shown)",
    ToolCalled: "a certain tool (not shown)",
    CommandMatched: "a certain command (not shown)",
    FileContains: "a certain file content (not shown)",
    CommandSucceeds: "the command that verifies the work (not shown)",
    JsonSchema: "a certain JSON schema (not shown)",
    Rubric: "what the user wants of it (not shown)",
    Pairwise: "what the user wants of it (not shown)",
}


_FRAGMENTS: dict[type, str] = {
    Exact: "text",
    Contains: "text",
    Matches: "pattern",
    SectionPresent: "heading",
    ToolCalled: "name",
    CommandMatched: "command",
    CommandSucceeds: "command",
    JsonSchema: "schema",
    Rubric: "criterion",
    Pairwise: "criterion",
}


def _fragment(check: Check) -> str:
    if isinstance(check, FileContains):
        return check.text or check.path
    return str(getattr(check, _FRAGMENTS[type(check)]))


def mark(prefix: str, text: str) -> str:
    """Return the text with the prefix before each line, whatever ends its lines."""
    return "\n".join(f"{prefix}{line.rstrip()}" for line in text.strip().splitlines() if line.strip())


def fit(texts: Sequence[str], size: int) -> list[str]:
    """Return the texts within `size` characters in all: short ones whole, long ones to equal shares."""
    shares: dict[int, int] = {}
    left = max(size, 0)
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    for position, index in enumerate(order):
        shares[index] = min(len(texts[index]), left // (len(order) - position))
        left -= shares[index]
    return [_clip(text, shares[index]) for index, text in enumerate(texts)]


def _clip(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    prefix = text[: len(DATA)]
    gap = f"\n{prefix}[... left out ...]\n{prefix}"
    room = max(size - len(gap), 0)
    head, tail = text[: room - room // 3].rstrip(), text[len(text) - room // 3 :].lstrip()
    return f"{head}{gap}{tail}" if head else gap.strip()
