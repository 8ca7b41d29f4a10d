"""What the optimizer is shown of rollouts: whole traces within a budget of tokens, as quoted data.

What a check wants is not shown, and the text of an exact answer is masked wherever the run wrote it, unless
the configuration says that the optimizer may see it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from skillopt_replay.rollouts import Called, Outcome, Rollout, RolloutCall
from skillopt_replay.tasks import Check, Exact, Task
from skillopt_sleep.training.deviations import tell_deviation
from skillopt_sleep.training.evidence import DATA, USER, Quote, describe_check, fit, mark
from skillopt_sleep.training.forms import find_forms

WITHHELD = "[withheld]"
# An exact answer of no more characters is only masked when it is the whole line, or said to be in the answer.
_SHORT = 3


class Trace(msgspec.Struct, frozen=True):
    """A scored rollout of a task; `sample` numbers its runs, from 0."""

    task: Task
    rollout: Rollout
    sample: int = 0

    @property
    def hard(self) -> float:
        return self.rollout.score.hard if self.rollout.score else 0.0

    @property
    def passed(self) -> bool:
        return self.hard >= 1.0


def render(
    traces: Sequence[Trace],
    max_tokens: int,
    *,
    show_gold: bool = False,
    show_form: bool = False,
    quotes: Sequence[Quote] = (),
    kin: Sequence[Task] = (),
) -> str:
    """Return the traces as text of about `max_tokens` (characters / 4); long parts lose their middle.

    Each begins with its id, t1 and on; lines of the task, the agent and its tools begin with a bar. With
    `quotes`, what the user said about the tasks, these follow under their ids, and what the user typed
    begins with an angle bracket instead. With `show_form` the form of what a check wants is told, where it
    holds for the `kin`, and what of the answer is in the way.
    """
    forms = find_forms([trace.task for trace in traces], kin) if show_form else None
    size = max_tokens * 4
    words = fit([mark(USER, quote.origin.quote) for quote in quotes], size // 2)
    asked = USER if quotes else DATA
    parts: list[str] = []
    for trace in traces:
        hide = str if show_gold else _Mask(trace, told=show_form)
        did = (_list_steps(trace.rollout), trace.rollout.answer.strip(), trace.rollout.diff.strip())
        parts += [mark(asked, trace.task.prompt), *(mark(DATA, hide(text)) for text in did)]
    texts = fit(parts, size - sum(map(len, words)))
    shown = []
    for index, trace in enumerate(traces):
        prompt, steps, answer, diff = texts[index * 4 : index * 4 + 4]
        lines = [f"[t{index + 1}] {_say_outcome(trace)}. The task:", prompt]
        lines += ["What the agent did:", steps] if steps else []
        lines += ["What it answered:", answer or f"{DATA}(nothing)"]
        lines += ["What it changed:", diff] if diff else []
        shown.append("\n".join([*lines, *_say_checks(trace, quotes, forms, show_gold=show_gold)]))
    return "\n\n".join([*shown, *_head(quotes, words)])


def render_quotes(quotes: Sequence[Quote], max_tokens: int) -> str:
    """Return what the user said as text of about `max_tokens`, each quote under its id."""
    return "\n\n".join(_head(quotes, fit([mark(USER, q.origin.quote) for q in quotes], max_tokens * 4)))


def _head(quotes: Sequence[Quote], words: Sequence[str]) -> list[str]:
    told = zip(quotes, words, strict=True)
    return [f"[{quote.id}] What the user said about it:\n{text}" for quote, text in told]


def _say_outcome(trace: Trace) -> str:
    run = f" (run {trace.sample + 1})" if trace.sample else ""
    if trace.passed:
        return f"Passed{run}"
    soft = trace.rollout.score.soft if trace.rollout.score else 0.0
    limit = ", out of time, turns or money" if trace.rollout.outcome is Outcome.LIMIT else ""
    return f"Failed{run}, with {soft:.0%} of what was asked{limit}"


def _say_checks(
    trace: Trace, quotes: Sequence[Quote], forms: Mapping[Check, str] | None, *, show_gold: bool
) -> list[str]:
    results = trace.rollout.score.results if trace.rollout.score else ()
    lines = []
    deviations: list[str] = []
    for check, result in zip(trace.task.checks, results, strict=False):
        if not result.passed:
            detail = f" {' '.join(result.detail.split())}: {_wanted(check)}" if show_gold else ""
            wanted = f"{forms[check]}." if forms and check in forms else describe_check(check, quotes)
            lines.append(f"Not met: {wanted}{detail}")
            if forms is not None:
                deviations.append(tell_deviation(check, trace.rollout.answer))
    lines += [f"Why: {deviation}." for deviation in dict.fromkeys(deviations) if deviation]
    # What an environment scores by itself it also explains by itself.
    told = [result.detail for result in results[len(trace.task.checks) :] if not result.passed]
    lines += [f"Not met:\n{mark(DATA, detail)}" for detail in dict.fromkeys(told) if detail.strip()]
    return lines


def _wanted(check: object) -> str:
    return msgspec.json.encode(check).decode()


def _list_steps(rollout: Rollout) -> str:
    steps = rollout.steps or tuple(Called(index) for index in range(len(rollout.calls)))
    lines = []
    for step in steps:
        if isinstance(step, Called):
            if step.call < len(rollout.calls):
                lines += _list_call(rollout.calls[step.call])
        else:
            lines.append(step.text.strip())
    return "\n".join(lines)


def _list_call(call: RolloutCall) -> list[str]:
    first = f"$ {call.command}" if call.command else f"{call.name} {call.arguments}".rstrip()
    lines = [first, *([call.output.strip()] if call.output.strip() else [])]
    if call.error:
        lines.append(f"failed: {call.error}")
    elif call.exit_code:
        lines.append(f"exit status {call.exit_code}")
    return lines


class _Mask:
    """Hides the exact answers of a task. `told`: what is said of the answer tells where one is in it."""

    def __init__(self, trace: Trace, *, told: bool) -> None:
        golds: dict[str, bool] = {}
        for check in trace.task.checks:
            if isinstance(check, Exact) and check.text.strip():
                gold = check.text.strip()
                found = told and bool(tell_deviation(check, trace.rollout.answer))
                golds[gold] = golds.get(gold, False) or found or len(gold) > _SHORT
        patterns = []
        for gold in sorted(golds, key=lambda text: (-len(text), text)):
            words = r"\s+".join(map(re.escape, gold.split()))
            around = (r"(?<!\w)", r"(?!\w)") if golds[gold] else (r"^[ \t]*", r"[ \t]*$")
            patterns.append(f"{around[0]}{words}{around[1]}")
        flags = re.IGNORECASE | re.MULTILINE
        self._pattern = re.compile("|".join(patterns), flags) if patterns else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub(WITHHELD, text) if self._pattern else text
