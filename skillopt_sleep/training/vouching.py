"""The user's words that the edits of a run have to rest on, numbered once for all its train tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from skillopt_replay.rollouts import Rollout
from skillopt_replay.tasks import Task
from skillopt_sleep.training.evidence import Quote, citable, collect_failures, number_quotes
from skillopt_sleep.training.markdown import ITEM
from skillopt_sleep.training.provenance import collect_sources, find_borrowed, vouch
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.traces import Trace


class Vouched(msgspec.Struct, frozen=True, kw_only=True):
    """The edits that may stand, each with its sessions, and those dropped with the reason."""

    edits: tuple[Edit, ...]
    dropped: tuple[EditResult, ...]


class Witness:
    """Knows what the user typed about the train tasks of a run, and what nobody but others wrote.

    An id means the same words in every question of the run.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._known = number_quotes(tasks)

    def quote(self, traces: Sequence[Trace]) -> tuple[Quote, ...]:
        """Return the user's words behind the failed ones of these runs."""
        failures = collect_failures(_pair(traces), self._known)
        return tuple(dict.fromkeys(quote for failure in failures for quote in failure.quotes))

    def leave_backed(self, traces: Sequence[Trace]) -> list[Trace]:
        """Return the runs without failed ones about which the user said nothing: no edit may rest on them."""
        failures = collect_failures(_pair(traces), self._known)
        silent = {failure.task.id for failure in failures if not citable([failure])}
        return [trace for trace in traces if trace.task.id not in silent]

    def vouch(self, edits: Iterable[Edit], traces: Sequence[Trace], skill: str) -> Vouched:
        """Return which edits rest on the user's words about these runs; `skill` is what is in force."""
        failures = collect_failures(_pair(traces), self._known)
        kept, dropped = vouch(edits, failures, collect_sources(_pair(traces), skill))
        return Vouched(edits=kept, dropped=dropped)

    def vouch_lines(self, text: str, traces: Sequence[Trace], skill: str) -> tuple[Edit, ...]:
        """Return the lines of a text that rest on the user's words, as edits that add each."""
        lines = [" ".join(line.split()) for line in text.splitlines()]
        items = [(found["text"] if (found := ITEM.match(line)) else line) for line in lines if line]
        edits = [Edit(op="add", content=item) for item in items if not item.startswith("#")]
        return self.vouch(edits, traces, skill).edits

    def leave_own(self, text: str, traces: Sequence[Trace], skill: str) -> str:
        """Return the text without the lines that take something over from what the user did not type."""
        sources = collect_sources(_pair(traces), skill)
        return "\n".join(line for line in text.splitlines() if not find_borrowed(line, sources)).strip()


def _pair(traces: Sequence[Trace]) -> list[tuple[Task, Rollout]]:
    return [(trace.task, trace.rollout) for trace in traces]
