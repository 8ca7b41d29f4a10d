"""A rollout of Codex, read record by record into one session."""

from __future__ import annotations

import re
from io import BytesIO
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.calls import keep_id, redact_folder
from skillopt_harvesters.claims import Claims
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.lines import PADDING, Chunk
from skillopt_harvesters.records import Kind, Tokens
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.book import TurnBook
from skillopt_harvesters.sources.codex.calls import CallBook
from skillopt_harvesters.sources.codex.decode import (
    OPENING,
    ROUTES,
    Record,
    Repeats,
    decode_any,
    decode_bare,
    decode_patiently,
)
from skillopt_harvesters.sources.codex.memory import Memory
from skillopt_harvesters.sources.codex.origins import find_origin
from skillopt_harvesters.sources.codex.steps import Steps
from skillopt_harvesters.sources.codex.talk import Talk
from skillopt_harvesters.sources.codex.tasks import Tasks
from skillopt_harvesters.sources.codex.work import NOISE, Work, WorkRecord, decode_work
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.times import first_and_last, to_utc

if TYPE_CHECKING:
    from collections.abc import Callable

_NOTHING = Tokens()
_OPENING = 4096
_MAX_ELSEWHERE = 64
_time_of = attrgetter("time")
_EVENT = "event_msg/user_message"
_TOLD_IN = ("event_msg", "response_item", "response_item/message", "message", "event_msg/item_completed")
# What was said before a summary stands once more beside it.
_COPIES = b'"replacement_history"'
# What a record is called that lacks its type, or its payload or the type of that.
_HOLLOW = frozenset({"(none)", "event_msg", "response_item"})
# Told by its kind or role, one of whose quotes may be what is damaged; inside a text they would be escaped.
_PROMPT = re.compile(
    rb'"user_message|[^\\_]user_message"|"UserMessage|[^\\_]UserMessage"'
    rb'|(?:"user|[^\\_]user").{1,20}content.{1,8}type.{1,4}input_text.{1,4}text[^\\]{1,4}"(?!<|# AGENTS\.md)'
)


class CodexReader(Reader[Memory]):
    """Takes records in file order.

    The name of the file is the session's id: the records of a fork may carry the id of the session it came
    from.
    """

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        self.turns = TurnBook(session, memory, claims, resumed=resumed)
        self.calls = CallBook(session, memory, self.turns)
        self.talk = Talk(session, memory, self.turns)
        self.steps = Steps(memory, self.turns, self.calls, self.talk)
        self._repeats = Repeats()
        self._time = b""
        self._hour: bytes | None = None
        talk = self.talk
        tasks = Tasks(session, memory, self.turns, talk, self._repeats)
        self._takers: dict[str, Callable[[Any, Record], None]] = {
            "session_meta": self._take_meta,
            "turn_context": tasks.take_context,
            "compacted": talk.take_compacted,
            "token_usage_record": self._take_usage,
            "event_msg/user_message": talk.take_user_message,
            "event_msg/agent_message": talk.take_agent_message,
            "event_msg/item_completed": self._take_completed,
            "event_msg/task_started": tasks.take_task_started,
            "event_msg/task_complete": tasks.take_task_complete,
            "event_msg/turn_aborted": tasks.take_aborted,
            "event_msg/error": tasks.take_error,
            "event_msg/token_count": self._take_token_count,
            "event_msg/thread_rolled_back": tasks.take_rollback,
            "event_msg/entered_review_mode": talk.take_review,
            "event_msg/exited_review_mode": talk.take_review_end,
            "event_msg/exec_command_end": self._take_end,
            "event_msg/patch_apply_end": self._take_end,
            "event_msg/mcp_tool_call_end": self._take_end,
            "response_item/message": talk.take_message,
            "response_item/agent_message": talk.take_agent_task,
            **dict.fromkeys(records.CALLS, self._take_call),
            **dict.fromkeys(records.OUTPUTS, self._take_output),
        }
        self._work: dict[tuple[str | None, str | None], Callable[[Any, Any], None]] = {
            ("token_usage_record", None): self._take_usage,
            ("response_item", "function_call"): self._take_call,
            ("response_item", "custom_tool_call"): self._take_call,
            ("response_item", "function_call_output"): self._take_output,
            ("response_item", "custom_tool_call_output"): self._take_output,
            ("event_msg", "item_completed"): self._take_completed,
            ("event_msg", "token_count"): self._take_token_count,
        }

    def take(self, line: bytes) -> None:
        if self.memory.gate.copying:
            self.turns.pass_line(line)
        opening = OPENING.match(line)
        route = ROUTES.get((opening[3], opening[4])) if opening else None
        if opening is None or route is None:
            record = decode_bare(line)
        else:
            written, hour = opening[1], opening[2]
            time = written.decode("ascii", "replace")
            # Nearly every record is a little later than the one before, and in the same hour.
            if written > self._time and hour is not None and hour == self._hour:
                self._time = written
            else:
                self._see(time)
                self._hour = hour if to_utc(time) == time else None
            if (route.decode is None or route.skim is not None) and route.is_noise(line, self._repeats):
                if self.memory.gate.copying:
                    self.turns.pass_time(time)
                return
            record = route.read(line, time)
        if record is not None:
            if _lacks_item(record.payload):
                self.session.meet_unknown("item/(none)")
                self.lose(line)
            self._take(record)
            return
        found, bad = decode_patiently(line)
        self.session.bad += bad
        if bad or any(one.payload is None and _has_damaged_kind(one) for one in found):
            self.lose(line)
        for one in found:
            self._see(one.time)
            self._take(one)

    def take_chunk(self, chunk: Chunk) -> bool:
        if self.memory.gate.copying:
            return False
        try:
            found = decode_work(chunk)
        except (msgspec.DecodeError, RecursionError):
            return False
        lines = BytesIO(chunk.view).readlines()
        # As many where two records stand on one line and none on a blank one: then they are not side by side.
        if len(lines) != len(found) or any(map(bytes.isspace, lines)):
            return False
        for time in first_and_last(list(map(_time_of, found))):
            self.session.see(time)
        place, gate = self.steps.take(found, 0), self.memory.gate
        while place < len(found):
            if not self._take_work(found[place]):
                self.take(lines[place].strip(PADDING))
                if gate.copying:
                    self.take_all(lines[place + 1 :])
                    break
            place = self.steps.take(found, place + 1)
        return True

    def _take_work(self, record: WorkRecord) -> bool:
        """Take a record of work by itself; False when it is none."""
        work = record.payload
        if work is None:
            return False
        kind = (record.type, work.type)
        take = self._work.get(kind)
        if take is None or (work.type == "item_completed" and _lacks_item(work)):
            return kind in NOISE
        ledger = self.memory.ledger
        self.talk.fresh, ledger.fresh = ledger.fresh, 0
        take(work, record)
        return True

    def lose(self, line: bytes) -> None:
        if self.turns.copying or _COPIES in line[:_OPENING]:
            return
        if _PROMPT.search(line, 0, _OPENING):
            self.memory.lost = True

    def finish(self) -> None:
        self.session.see(to_utc(self._time.decode("ascii", "replace") or None))
        self.session.kind = self.turns.find_kind()
        self.memory.folder = redact_folder(self.memory.folder)
        self.memory.task = keep_id(self.memory.task)
        self.turns.settle()

    def _take(self, record: Record) -> None:
        memory, payload = self.memory, record.payload
        if memory.gate.copying:
            self.turns.pass_time(record.time)
        if payload is None:
            if record.kind not in records.KINDS and record.kind not in records.NOISE:
                self.session.meet_unknown(record.kind)
                memory.lost = memory.lost or (is_damaged(record.kind, _EVENT) and not self.turns.copying)
            return
        if record.bare:
            memory.bare = True
        self.talk.fresh, memory.ledger.fresh = memory.ledger.fresh, 0
        self._takers[record.kind](payload, record)

    def _see(self, time: str | int | float | None) -> None:
        utc = to_utc(time)
        self.session.see(utc)
        if utc and utc == time and utc.encode() > self._time:
            self._time = utc.encode()

    def _take_meta(self, meta: records.Meta, record: Record) -> None:
        memory, session, turns = self.memory, self.session, self.turns
        if memory.own:
            if not turns.knows(meta.id):
                turns.expect_copies()
            elif meta.cli_version:
                session.client_version = meta.cli_version
            return
        if turns.belongs_to_older(meta.id):
            turns.expect_copies()
            return
        turns.name_session(meta.id)
        memory.gate.begin(session.id, meta.timestamp or record.time)
        session.see(to_utc(meta.timestamp))
        base = decode_any(meta.history_base)
        if isinstance(base, dict):
            memory.meter.inherited = True
        elif meta.forked_from_id:
            turns.expect_copies()
            memory.gate.first = meta.subagent_history_start_ordinal
        origin = find_origin(meta)
        memory.kind, memory.program, session.parent = origin.kind, origin.program, origin.parent
        if isinstance(base, dict) and meta.id and base.get("thread_id") == meta.id != session.id:
            # The user went back, and the thread goes on in another file.
            session.rewound = meta.id
        memory.replay = memory.replay or origin.kind is Kind.REPLAY
        if origin.strange:
            session.warn(f"{origin.strange!r} is not known; its prompts do not count as typed")
        git = meta.git or records.Git()
        session.client_version = meta.cli_version or session.client_version
        session.branch, session.commit = git.branch, git.commit_hash
        self.turns.enter(meta.cwd)

    def _take_call(self, call: records.Call, record: Record) -> None:
        turn = self.turns.for_agent(record)
        place = self.turns.place(turn, call.call_id or call.id or "", record)
        if place is None:
            name = keep_id(call.call_id or call.id or "")
            self.memory.elsewhere = [*self.memory.elsewhere, name][-_MAX_ELSEWHERE:]
        elif self.calls.add(place, call):
            self.turns.claim(turn, call.call_id)

    def _take_output(self, output: records.Output, record: Record) -> None:
        self.calls.close(output, record)

    def _take_end(self, told: records.ToolEnd, record: Record) -> None:
        self.calls.end(self.turns.latest, told, record)

    def _take_completed(self, completed: records.Completed, record: Record) -> None:
        item, thread = completed.item, completed.thread_id
        self.turns.pass_turn(completed.turn_id)
        if (
            thread
            and thread != self.session.id
            and not (self.turns.copying or self.turns.knows(thread) or is_damaged(thread, self.session.id))
        ):
            return
        if item is None:
            return
        if item.type in {"CommandExecution", "FileChange", "McpToolCall"}:
            self.calls.end(self.turns.find(completed.turn_id), item, record)
        else:
            self.talk.take_item(item, record)

    def _take_token_count(self, count: records.TokenCount, record: Record) -> None:
        if count.info:
            tokens = self.memory.meter.take_sum(count.info, copied=self.turns.copying)
            if tokens != _NOTHING:
                work = f"sum {self.memory.meter.sum or tokens}"
                self._count(self.memory.number(), tokens, work, record)

    def _take_usage(self, told: records.UsageRecord, record: Record) -> None:
        if told.usage and not self.turns.copying:
            tokens = self.memory.meter.take_call(told.usage)
            name = told.response_id or ""
            self._count(name or self.memory.number(), tokens, name and f"usage {name}", record)

    def _count(self, call: str, tokens: Tokens, work: str, record: Record) -> None:
        """Count tokens in the turn that goes on; the session counts those that belong to none."""
        turn = self.turns.latest
        if turn is None:
            self.session.count(call, tokens)
            return
        place = self.turns.place(turn, work, record)
        if place and not place.copied:
            place.count(call, tokens)


def _lacks_item(payload: object) -> bool:
    """Tell whether a completed item is not there, or does not say what it is."""
    if not isinstance(payload, (records.Completed, Work)):
        return False
    return payload.item is None or payload.item.type is None


def _has_damaged_kind(record: Record) -> bool:
    """Tell whether a record of no known kind may have told what was said."""
    return record.kind in _HOLLOW or any(is_damaged(record.kind, known) for known in _TOLD_IN)
