"""The tasks of a Codex rollout: how each begins and ends, and what the user took back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.records import Kind, Signal
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.decode import decode_any
from skillopt_harvesters.sources.codex.prompts import EVENT

if TYPE_CHECKING:
    from skillopt_harvesters.drafts import SessionDraft
    from skillopt_harvesters.sources.codex.book import TurnBook
    from skillopt_harvesters.sources.codex.decode import Record, Repeats
    from skillopt_harvesters.sources.codex.memory import Memory
    from skillopt_harvesters.sources.codex.talk import Talk
    from skillopt_harvesters.turns import TurnDraft

# Why a turn may end that was not the user's will.
_NOT_THE_USER = frozenset({"review_ended", "budget_limited"})
_GOAL = "goal"
# How the turns are named that the client took over from another program's session.
_IMPORTED = "external-import-turn-"


class Tasks:
    """Takes records in file order; a task is what the client calls its work on one prompt."""

    def __init__(
        self, session: SessionDraft, memory: Memory, turns: TurnBook, talk: Talk, repeats: Repeats
    ) -> None:
        self.session = session
        self.memory = memory
        self.turns = turns
        self.talk = talk
        self._repeats = repeats

    def take_context(self, context: records.Context, _record: Record) -> None:
        if self.turns.pass_turn(context.turn_id):
            self.turns.adopt_latest()
        self.session.model = context.model or self.session.model
        if not self.turns.copying:
            self.turns.enter(context.cwd)
            self.turns.claim(self.session.turn, context.turn_id)
            self._repeats.note_context(context)

    def take_task_started(self, task: records.Task, _record: Record) -> None:
        memory = self.memory
        if (task.turn_id or "").startswith(_IMPORTED):
            self.turns.expect_copies()
        self.turns.pass_turn(task.turn_id, task.started_at)
        told = task.turn_attribution or records.Attribution()
        # A review's own agent begins and ends its work in between.
        anothers = memory.reviewing or (told.parent_turn_id and memory.kind is not Kind.SUBAGENT)
        if not (self.turns.copying or anothers):
            memory.task = task.turn_id or ""
            memory.trigger = told.turn_trigger or ""
            memory.meter.itemised = False

    def take_task_complete(self, task: records.Task, record: Record) -> None:
        if self.turns.copying:
            return
        turn = self.turns.find(task.turn_id)
        if turn:
            silent = turn.is_untouched and turn.head is not None and not task.last_agent_message
            silent = silent and turn.command != "!"
            if silent or decode_any(task.error) is not None:
                self._signal(turn, Signal.ERROR, record)
            if task.last_agent_message and not turn.answer:
                self.talk.say(turn, task.last_agent_message, EVENT, record)
        self._end_task(task)

    def take_aborted(self, task: records.Task, record: Record) -> None:
        memory = self.memory
        # A fork cuts off what the other session was doing.
        if self.turns.copying:
            return
        memory.reviewing = False
        if task.reason not in _NOT_THE_USER:
            turn = self.turns.find(task.turn_id)
            # Work on a goal goes on in tasks of which only the first has the name of its prompt's turn.
            nobodys = self.turns.latest is None or memory.trigger == _GOAL
            if turn is None and nobodys and task.turn_id == memory.task:
                turn = self.turns.for_agent(record)
            if turn:
                self._signal(turn, Signal.INTERRUPTION, record)
        self._end_task(task)

    def take_error(self, _task: records.Task, record: Record) -> None:
        if self.turns.latest and not self.turns.copying:
            self._signal(self.turns.latest, Signal.ERROR, record)

    def take_rollback(self, rollback: records.Rollback, _record: Record) -> None:
        if not self.turns.copying:
            self.turns.go_back(rollback.num_turns or 0)

    def _signal(self, turn: TurnDraft, signal: Signal, record: Record) -> None:
        own = self.turns.place(turn, signal.value, record)
        if own:
            own.signals.add(signal)

    def _end_task(self, task: records.Task) -> None:
        if task.turn_id == self.memory.task:
            self.memory.task = ""
