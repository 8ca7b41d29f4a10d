"""A rollout of Codex, read record by record into one session."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from skillopt_harvesters.claims import Claims
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind, Signal, Tokens
from skillopt_harvesters.sources.base import is_own_folder
from skillopt_harvesters.sources.codex import records
from skillopt_harvesters.sources.codex.book import TurnBook
from skillopt_harvesters.sources.codex.calls import CallBook
from skillopt_harvesters.sources.codex.decode import (
    Record,
    decode_any,
    decode_as,
    decode_line,
    read_parts,
    split_parts,
)
from skillopt_harvesters.sources.codex.forks import to_ms
from skillopt_harvesters.sources.codex.memory import Memory
from skillopt_harvesters.sources.codex.origins import find_origin
from skillopt_harvesters.sources.codex.prompts import EVENT, GIVEN, ITEM
from skillopt_harvesters.sources.codex.words import Words, find_words
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

_LISTED_SKILL = re.compile(r"^- (?P<name>[\w:.-]{1,100}): .*\(file: ", re.MULTILINE)
_SKILL_LIST = "### Available skills"
_MAX_SKILLS = 1000
# Why a turn may end that was not the user's will.
_NOT_THE_USER = frozenset({"review_ended", "budget_limited"})
_CLIENT_SAYS = "Compact task completed"
_NOTHING = Tokens()


class CodexReader(Reader[Memory]):
    """Takes records in file order.

    The name of the file is the session's id: the records of a fork may carry the id of the session it came
    from.
    """

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        self.turns = TurnBook(session, memory, claims, resumed=resumed)
        self.calls = CallBook(session, memory)
        self._fresh = 0

    def take(self, line: bytes) -> None:
        found, bad = decode_line(line)
        self.session.bad += bad
        for record in found:
            self._take(record)

    def finish(self) -> None:
        memory = self.memory
        self.session.kind = self.turns.find_kind()
        if memory.kind is None and not memory.bare:
            self.session.warn("the record that says who spoke is missing; no prompt counts as typed")
        self.turns.settle()

    def _take(self, record: Record) -> None:
        memory = self.memory
        self.turns.pass_record(record)
        self.session.see(to_utc(record.time))
        memory.bare = memory.bare or record.bare
        take = self._TAKERS.get(record.kind)
        if take is None:
            if record.kind not in records.NOISE:
                self.session.meet_unknown(record.kind)
        elif record.payload is not None:
            self._fresh, memory.ledger.fresh = memory.ledger.fresh, 0
            take(self, record.payload, record)

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
        if meta.forked_from_id:
            turns.expect_copies()
        origin = find_origin(meta)
        memory.kind, memory.program, session.parent = origin.kind, origin.program, origin.parent
        memory.replay = memory.replay or origin.kind is Kind.REPLAY
        if origin.strange:
            session.warn(f"{origin.strange!r} is not known; its prompts do not count as typed")
        git = decode_as(meta.git, records.Git)
        session.client_version = meta.cli_version or session.client_version
        session.branch, session.commit = git.branch, git.commit_hash
        self._enter(meta.cwd)

    def _enter(self, folder: str | None) -> None:
        memory = self.memory
        if folder and folder != memory.folder:
            memory.folder = folder
            self.session.project = self.session.project or folder
            memory.replay = memory.replay or is_own_folder(folder)

    def _take_context(self, context: records.Context, _record: Record) -> None:
        if self.turns.pass_turn(context.turn_id):
            self.turns.adopt_latest()
        self.session.model = context.model or self.session.model
        if not self.turns.copying:
            self._enter(context.cwd)
            self.turns.claim(self.session.turn, context.turn_id)

    def _take_task_started(self, task: records.Task, _record: Record) -> None:
        memory = self.memory
        self.turns.pass_turn(task.turn_id, task.started_at)
        # A review's own agent begins and ends its work in between.
        if not (self.turns.copying or memory.reviewing):
            memory.task = task.turn_id or ""
            memory.trigger = decode_as(task.turn_attribution, records.Attribution).turn_trigger or ""
            memory.meter.itemised = False

    def _take_task_complete(self, task: records.Task, _record: Record) -> None:
        if self.turns.copying:
            return
        turn = self.turns.find(task.turn_id)
        if turn:
            silent = turn.is_untouched and turn.head is not None and not task.last_agent_message
            if silent or decode_any(task.error) is not None:
                turn.signals.add(Signal.ERROR)
            if task.last_agent_message and not turn.answer:
                self._say(turn, task.last_agent_message)
        self._end_task(task)

    def _take_aborted(self, task: records.Task, record: Record) -> None:
        memory = self.memory
        # A fork cuts off what the other session was doing.
        if self.turns.copying:
            return
        memory.reviewing = False
        if task.reason not in _NOT_THE_USER:
            turn = self.turns.find(task.turn_id)
            if turn is None and self.turns.latest is None and task.turn_id == memory.task:
                turn = self.turns.for_agent(record)
            if turn:
                turn.signals.add(Signal.INTERRUPTION)
        self._end_task(task)

    def _end_task(self, task: records.Task) -> None:
        if task.turn_id == self.memory.task:
            self.memory.task = ""

    def _take_error(self, _task: records.Task, _record: Record) -> None:
        if self.turns.latest and not self.turns.copying:
            self.turns.latest.signals.add(Signal.ERROR)

    def _take_rollback(self, rollback: records.Rollback, _record: Record) -> None:
        if not self.turns.copying:
            self.session.abandon_last(rollback.num_turns or 0)

    def _take_message(self, message: records.Message, record: Record) -> None:
        parts = read_parts(message.content)
        texts = [part.text for part in parts if part.text]
        if message.role == "assistant":
            self._take_words(texts, record)
            return
        if any(_SKILL_LIST in text for text in texts):
            self._note_skills(texts)
        if message.role == "user":
            own, notes = split_parts(parts, message.internal_chat_message_metadata_passthrough)
            self._take_prompt(find_words(own, notes), GIVEN, record)

    def _take_user_message(self, told: records.UserMessage, record: Record) -> None:
        if told.kind in {None, "plain"}:
            words = find_words([told.message] if told.message else [])
            words.image = words.image or bool(told.images or told.local_images)
            self._take_prompt(words, EVENT, record)

    def _take_prompt(self, words: Words, stream: int, record: Record) -> None:
        memory, ledger, latest = self.memory, self.memory.ledger, self.turns.latest
        if words.interrupted and latest and not self.turns.copying:
            latest.signals.add(Signal.INTERRUPTION)
        if not self.session.project:
            self._enter(words.folder)
        # What a review asks its own agent is told as if the user had said it, but not given to this one.
        if words.is_act and not (memory.reviewing and stream != GIVEN):
            if words.tagged and stream == GIVEN and ledger.seen & (EVENT | ITEM):
                return
            memory.reviewing = False
            if not ledger.is_known(words, stream, to_ms(record.time)):
                if self._fresh == GIVEN and stream != GIVEN and latest and latest.is_untouched:
                    latest.prompt, latest.command = words.prompt, words.command
                    ledger.adopt()
                else:
                    self.turns.open(words, record, typed=self.turns.may_be_typed())
            ledger.fresh = stream
        if self.turns.latest:
            self.turns.latest.skills.update(dict.fromkeys(words.skills))

    def _take_agent_task(self, _task: records.AgentTask, record: Record) -> None:
        """Open a turn for the task another agent gives; its words are not kept readable."""
        if self.memory.kind is Kind.SUBAGENT and self.turns.latest is None:
            self.turns.for_agent(record)

    def _take_agent_message(self, told: records.AgentMessage, record: Record) -> None:
        if told.message and told.message != _CLIENT_SAYS:
            self._take_words([told.message], record)

    def _take_words(self, texts: list[str], record: Record) -> None:
        text = "\n\n".join(text for text in texts if text.strip())
        if text:
            self._say(self.turns.for_agent(record), text)

    def _say(self, turn: TurnDraft, text: str) -> None:
        """Add a message, which may be told in two streams."""
        if not (turn.texts and turn.texts[-1].text == text):
            turn.say(self.memory.number(), text)

    def _take_compacted(self, compacted: records.Compacted, _record: Record) -> None:
        """Withdraw the summary: the model's answer to the client, not to the user."""
        turn = self.session.turn
        if turn and turn.texts and (compacted.message or "").endswith(turn.texts[-1].text):
            turn.texts.pop()

    def _note_skills(self, texts: list[str]) -> None:
        offered = self.session.skills_offered
        for text in texts:
            for match in _LISTED_SKILL.finditer(text, max(0, text.find(_SKILL_LIST))):
                if len(offered) < _MAX_SKILLS:
                    offered[match["name"]] = None

    def _take_review(self, review: records.Review, record: Record) -> None:
        memory = self.memory
        if not memory.reviewing and not self.turns.copying:
            target = decode_as(review.target, records.Target)
            words = target.instructions if target.type == "custom" else None
            if words is None and review.prompt == review.user_facing_hint:
                words = review.prompt
            asked = Words(command="/review", prompt=(words or "").strip())
            self.turns.open(asked, record, typed=self.turns.may_be_typed())
            memory.reviewing = True

    def _take_review_end(self, _review: records.Review, _record: Record) -> None:
        self.memory.reviewing = False

    def _take_call(self, call: records.Call, record: Record) -> None:
        turn = self.turns.for_agent(record)
        if self.calls.add(turn, call):
            self.turns.claim(turn, call.call_id)

    def _take_output(self, output: records.Output, _record: Record) -> None:
        self.calls.close(output)

    def _take_end(self, told: records.ToolEnd, _record: Record) -> None:
        self.calls.end(self.turns.latest, told)

    def _take_completed(self, completed: records.Completed, record: Record) -> None:
        item = completed.item
        kind = item.type if item else None
        if item is None or kind is None:
            return
        if kind == "UserMessage":
            parts = read_parts(item.content)
            words = find_words([part.text for part in parts if part.text])
            words.image = words.image or any((part.type or "").endswith("image") for part in parts)
            self._take_prompt(words, ITEM, record)
        elif kind == "AgentMessage":
            self._take_words([part.text for part in read_parts(item.content) if part.text], record)
        elif kind in {"CommandExecution", "FileChange", "McpToolCall"}:
            self.calls.end(self.turns.find(completed.turn_id), item)

    def _take_token_count(self, count: records.TokenCount, _record: Record) -> None:
        if count.info:
            turn = self.turns.latest
            copied = self.turns.copying or (turn is not None and turn.copied)
            tokens = self.memory.meter.take_sum(count.info, copied=copied)
            if tokens != _NOTHING:
                (turn or self.session).count(self.memory.number(), tokens)

    def _take_usage(self, told: records.UsageRecord, _record: Record) -> None:
        if told.usage and not self.turns.copying:
            tokens, turn = self.memory.meter.take_call(told.usage), self.turns.latest
            if turn is None or not turn.copied:
                (turn or self.session).count(told.response_id or self.memory.number(), tokens)

    _TAKERS: ClassVar[dict[str, Callable[[Any, Any, Record], None]]] = {
        "session_meta": _take_meta,
        "turn_context": _take_context,
        "compacted": _take_compacted,
        "token_usage_record": _take_usage,
        "event_msg/user_message": _take_user_message,
        "event_msg/agent_message": _take_agent_message,
        "event_msg/item_completed": _take_completed,
        "event_msg/task_started": _take_task_started,
        "event_msg/task_complete": _take_task_complete,
        "event_msg/turn_aborted": _take_aborted,
        "event_msg/error": _take_error,
        "event_msg/token_count": _take_token_count,
        "event_msg/thread_rolled_back": _take_rollback,
        "event_msg/entered_review_mode": _take_review,
        "event_msg/exited_review_mode": _take_review_end,
        "event_msg/exec_command_end": _take_end,
        "event_msg/patch_apply_end": _take_end,
        "event_msg/mcp_tool_call_end": _take_end,
        "response_item/message": _take_message,
        "response_item/agent_message": _take_agent_task,
        **dict.fromkeys(records.CALLS, _take_call),
        **dict.fromkeys(records.OUTPUTS, _take_output),
    }
