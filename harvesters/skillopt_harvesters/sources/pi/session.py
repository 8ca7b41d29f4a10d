"""A session of pi, read entry by entry."""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters.calls import CallDraft, redact_folder
from skillopt_harvesters.claims import Claims, Copies, mark_of
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind, Signal, Tokens
from skillopt_harvesters.sources.base import is_own_folder
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.sources.loose import decode_as, decode_line
from skillopt_harvesters.sources.pi import records
from skillopt_harvesters.sources.pi.calls import end_call, take_call, take_nested, was_stopped
from skillopt_harvesters.sources.pi.records import Entry, Message, Usage
from skillopt_harvesters.sources.pi.tree import Tree
from skillopt_harvesters.sources.pi.words import Words, find_words
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

_OFFERED = re.compile(r"<name>([^<\n]{1,100})</name>")
_MAX_SAME = 1000
_OPENING = 4096
# One of the quotes may be what is damaged; inside a text they would be escaped.
_PROMPT = re.compile(rb'role(?=[^\\]{0,6}")[^\\]{1,6}user\b')


class Memory(msgspec.Struct):
    """What a reading of this client's files remembers beside the session.

    `lost` says that a prompt was lost with the records before.
    """

    tree: Tree = msgspec.field(default_factory=Tree)
    copied_from: list[str] = []
    folder: str = ""
    is_replay: bool = False
    lost: bool = False


class PiReader(Reader[Memory]):
    """Takes entries in file order, which is the order they were written in.

    Nothing in a file tells whether a person typed the prompts or a program gave them (`pi -p`, the RPC
    mode): all three write the same. They count as typed.
    """

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        self.tree = memory.tree
        self.copies = Copies(
            f"{session.client}/{session.id}", claims, copied_from=memory.copied_from, resumed=resumed
        )

    def take(self, line: bytes) -> None:
        found, bad = decode_line(line, Entry)
        self.session.bad += bad
        if bad:
            self.lose(line)
        for entry in found:
            if entry.message is None and (entry.type == "message" or entry.type not in records.KNOWN):
                if entry.type == "message":
                    self.session.meet_unknown("message/(none)")
                self.lose(line)
            self._take(entry)

    def lose(self, line: bytes) -> None:
        if _PROMPT.search(line, 0, _OPENING):
            self.memory.lost = True

    def finish(self) -> None:
        self.session.kind = Kind.REPLAY if self.memory.is_replay else Kind.HUMAN
        self.tree.mark_abandoned(self.session)
        self.memory.folder = redact_folder(self.memory.folder)
        self.copies.settle()
        self.memory.copied_from = list(self.copies.sessions)

    def _take(self, entry: Entry) -> None:
        if entry.type == "session":
            self._take_header(entry)
            return
        if entry.type not in records.KNOWN:
            self.session.meet_unknown(entry.type or "(none)")
        mark = self._see(entry)
        if mark is None:
            return
        up = self.tree.find(entry.parent_id, has_id=entry.id is not None)
        turn = self._take_message(entry, mark, up) if entry.message else up
        # What costs tokens may be all that a fork has of a session: its owner is looked up.
        if not entry.message and not (self.copies.opens_copy if entry.usage else self._is_copy)(mark):
            self.session.see(to_utc(entry.timestamp))
            self._count(self.session, mark, entry.usage)
        self.tree.pass_entry(entry.id, turn)

    def _see(self, entry: Entry) -> int | None:
        """Return an entry's mark, None when it is written once more.

        The same words at the same time are said again when their id is another one.
        """
        number, mark = 1, _mark(entry)
        while not self.copies.see(mark):
            if entry.id is None or self.tree.knows(entry.id) or number == _MAX_SAME:
                return None
            number += 1
            mark = _mark(entry, number)
        return mark

    def _take_header(self, entry: Entry) -> None:
        """Note the folder and the time. A file may hold a second header, when two processes wrote it."""
        session, memory = self.session, self.memory
        session.see(to_utc(entry.timestamp))
        if entry.cwd:
            session.project = session.project or entry.cwd
            memory.folder = memory.folder or entry.cwd
            memory.is_replay = memory.is_replay or is_own_folder(entry.cwd)

    def _is_copy(self, mark: int) -> bool:
        return self.copies.is_copy(mark)

    def _take_message(self, entry: Entry, mark: int, up: int) -> int:
        """Take a message and return the number of the turn it belongs to."""
        message = entry.message or Message()
        role = message.role
        if role in {"user", "bashExecution"}:
            return self._take_words(entry, message, mark, up)
        if role == "assistant":
            return self._take_assistant(entry, message, mark, up)
        copied = self._is_copy(mark)
        if not copied:
            self.session.see(to_utc(entry.timestamp))
        if role == "toolResult":
            return self._take_result(entry, message, mark, up, copied=copied)
        if role == "system":
            self._take_system(message)
        elif role not in records.CLIENT_ROLES:
            self.session.meet_unknown(f"message/{role or '(none)'}")
            self.memory.lost = self.memory.lost or (_may_ask(message) and bool(message.text.strip()))
        return up

    def _take_words(self, entry: Entry, message: Message, mark: int, up: int) -> int:
        if message.role == "bashExecution":
            words = Words(prompt=message.command or "", command="!")
        else:
            words = find_words(message.text)
        damaged = _find_damage(message)
        if damaged:
            self.session.meet_unknown(f"{message.role}/{damaged}")
            if not (words.prompt or (words.command and message.role == "user")):
                self.memory.lost = True
                return up
        if not (words.prompt or words.command or message.has_image):
            return up
        copied = self.copies.opens_copy(mark)
        self.memory.lost = False
        time = to_utc(entry.timestamp)
        if not copied:
            self.session.see(time)
        turn = self._open(
            TurnDraft(prompt=words.prompt, command=words.command, started=time, copied=copied), up
        )
        if words.skill:
            turn.skills[words.skill] = None
        return self.tree.latest

    def _open(self, turn: TurnDraft, up: int) -> TurnDraft:
        opened = self.session.open_turn(turn)
        if opened is turn:
            self.tree.open(up, copied=turn.copied)
        return opened

    def _take_assistant(self, entry: Entry, message: Message, mark: int, up: int) -> int:
        session, turn = self.session, self.session.turn
        time = to_utc(entry.timestamp)
        lost, self.memory.lost = self.memory.lost, False
        if lost and not (turn and turn.is_untouched):
            copied = self.copies.opens_copy(mark)
            turn = session.miss_prompt(time, copied=copied)
            self.tree.open(up, copied=copied)
        elif turn is None or up != self.tree.latest:
            # The agent goes on by itself, for instance from a place the user went back to.
            copied = self.copies.opens_copy(mark)
            turn = self._open(TurnDraft(typed=False, started=time, copied=copied), up)
        else:
            copied = self._is_copy(mark)
            if turn.copied and not copied:
                turn = session.go_on_by_itself(time)
                self.tree.open(up, copied=False)
        if not copied:
            session.see(time)
            session.model = message.model or session.model
            self._count(turn if not turn.copied else session, mark, message.usage)
        if copied and not turn.copied:
            return self.tree.latest
        if message.stop_reason == "aborted":
            turn.signals.add(Signal.INTERRUPTION)
        elif message.stop_reason == "error":
            turn.signals.add(Signal.ERROR)
        for block in message.blocks:
            if block.type == "text" and block.text and block.text.strip():
                turn.say(str(mark), block.text)
            elif block.type == "toolCall":
                take_call(turn, block, self.memory.folder)
        return self.tree.latest

    def _take_result(self, entry: Entry, message: Message, mark: int, up: int, *, copied: bool) -> int:
        found = self._find_call(message.tool_call_id or "")
        if found is None:
            # The call is lost, or a fork's that was harvested first; that the user stopped it is not.
            if not copied and was_stopped(message):
                turn, up = self._go_on(entry, up)
                turn.signals.add(Signal.INTERRUPTION)
            return up
        turn, call = found
        call.closed = True
        if not copied:
            self._count(turn if not turn.copied else self.session, mark, message.usage)
        stopped = end_call(call, message)
        nested = decode_as(message.nested_calls, records.NestedCalls)
        inner = (nested.calls or []) if nested else []
        if turn.copied != copied:
            if copied or not (stopped or inner):
                return up
            # A fork that was harvested first has the call, and ends before its result.
            turn, up = self._go_on(entry, up)
        if stopped:
            turn.signals.add(Signal.INTERRUPTION)
        for one in inner:
            take_nested(turn, one, self.memory.folder)
        return up

    def _go_on(self, entry: Entry, up: int) -> tuple[TurnDraft, int]:
        """Return the turn of the session's own that goes on, with its number."""
        turn = self.session.turn
        if turn is None or turn.copied:
            turn = self.session.go_on_by_itself(to_utc(entry.timestamp))
            self.tree.open(up, copied=False)
        return turn, self.tree.latest

    def _find_call(self, call_id: str) -> tuple[TurnDraft, CallDraft] | None:
        for turn in reversed(self.session.turns) if call_id else ():
            call = turn.find_call(call_id)
            if call and not call.closed:
                return turn, call
        return None

    def _take_system(self, message: Message) -> None:
        sections = decode_as(message.sections, records.Sections)
        if sections and sections.skills:
            self.session.offer_skills(name.strip() for name in _OFFERED.findall(sections.skills))

    def _count(self, holder: TurnDraft | SessionDraft, mark: int, usage: Usage | None) -> None:
        """Count a model call; the session counts those that belong to no turn, as summaries do."""
        if usage is not None:
            tokens = Tokens(
                usage.input or 0, usage.output or 0, usage.cache_read or 0, usage.cache_write or 0
            )
            if tokens != Tokens():
                holder.count(f"{mark:x}", tokens)


def _may_ask(message: Message) -> bool:
    """Tell whether a message of no known role was the user's; others have more than a content."""
    if message.role is not None:
        return is_damaged(message.role, "user")
    told = (message.model, message.usage, message.stop_reason, message.tool_call_id)
    return told.count(None) == len(told)


def _find_damage(message: Message) -> str:
    """Return the type of a text of the user's that was damaged, or lacks its text; "" when none is."""
    if message.role == "bashExecution":
        return "(none)" if message.command is None else ""
    if message.content is None:
        return "(none)"
    for block in message.blocks:
        if block.text is None if block.type == "text" else is_damaged(block.type, "text"):
            return block.type or ""
        if block.type is None and block.text:
            return "(none)"
    return ""


def _mark(entry: Entry, number: int = 1) -> int:
    """Return the mark of an entry: what stays the same when it is copied or gets another id.

    Ids are short, and made anew when the client brings an old file up to date. `number` counts the entries of
    a file that are the same but for their ids.
    """
    message = entry.message
    again = f"#{number}" if number > 1 else ""
    if message is None:
        return mark_of(f"{entry.type}/{entry.timestamp}/{entry.id}{again}")
    own = message.tool_call_id or message.response_id or message.command or message.text[:1000]
    return mark_of(f"{message.role}/{entry.timestamp}/{message.timestamp}/{own}{again}")
