"""A run as the reviewer reads it: what the agent said and ran, in order, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillopt_replay.agents.chat import WRITTEN
from skillopt_replay.rollouts import Called, Rollout, RolloutCall, Said

# A proposal holds twice as much of each of its tasks, and all proposals are read when the review opens.
LONGEST = 3_000
_LONGEST_OUTPUT = 400


def tell_runs(runs: Sequence[Rollout]) -> str:
    """Return the transcript of the first valid run, its answer last; when none is valid, why.

    At most 3,000 characters: what is too long loses its middle, as the end tells how it went.
    """
    for run in runs:
        if run.score is None:
            continue
        return cut_middle("\n".join(part for part in _tell(run) if part), LONGEST)
    return f"(no valid run: {runs[0].error})" if runs else ""


def cut_middle(text: str, longest: int) -> str:
    """Return a text of about `longest` characters at most, its middle left out where it is longer."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def _tell(run: Rollout) -> Iterator[str]:
    steps = run.steps or tuple(Called(number) for number in range(len(run.calls)))
    for step in steps:
        if isinstance(step, Said):
            if step.text.strip() != run.answer.strip():
                yield step.text.strip()
        elif step.call < len(run.calls):
            yield _tell_call(run.calls[step.call])
    yield run.answer.strip()
    if run.diff.strip():
        yield f"\nchanged:\n{run.diff.strip()}"


def _tell_call(call: RolloutCall) -> str:
    if call.name == WRITTEN:
        return ""
    if call.command:
        failed = f"  (exit code {call.exit_code})" if call.exit_code else ""
        said = cut_middle((call.error or call.output).strip(), _LONGEST_OUTPUT)
        return f"$ {call.command}{failed}" + (f"\n{said}" if said else "")
    failed = f"  failed: {cut_middle(call.error.strip(), _LONGEST_OUTPUT)}" if call.error else ""
    return f"[{call.name}]{failed}"
