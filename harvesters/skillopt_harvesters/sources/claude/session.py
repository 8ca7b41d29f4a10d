"""A transcript of Claude Code, read record by record into one session."""

from __future__ import annotations

import os
from functools import partial
from operator import attrgetter

import msgspec

from skillopt_harvesters.calls import keep_id, redact_folder
from skillopt_harvesters.claims import Claims, Copies
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.lines import Chunk
from skillopt_harvesters.marks import fold, mark_of, marks_of, read_uuids
from skillopt_harvesters.sources.claude import evidence, records
from skillopt_harvesters.sources.claude.context import Context, Memory
from skillopt_harvesters.sources.claude.conversation import Conversation, asks_agent
from skillopt_harvesters.sources.claude.losses import Loss, judge_loss
from skillopt_harvesters.sources.claude.records import NULL, Block, Record
from skillopt_harvesters.sources.claude.work import take_work
from skillopt_harvesters.sources.lined import Reader

_READ = frozenset({"user", "assistant", "system", "attachment"})
_MAX_ORPHANS = 64
_type_of, _uuid_of = attrgetter("type"), attrgetter("uuid")


class ClaudeReader(Reader[Memory]):
    """Takes records in file order.

    The file's name is the session's id: the first records of a resumed session carry the id of the old
    one, and those of a sub-agent its parent's.
    """

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        folder, name = os.path.split(session.path)
        self.is_agent = name.startswith("agent-") or os.path.basename(folder) == "subagents"  # noqa: PTH119
        self.copies = Copies(
            f"{session.client}/{session.id}", claims, copied_from=memory.copied_from, resumed=resumed
        )
        self._last: Record | None = None
        self.context = Context(session, memory, is_agent=self.is_agent)
        # No method of this reader: it would be held by what it holds, and outlive its file.
        self._knows = partial(_knows, self.copies, memory)
        self.conversation = Conversation(session, memory, is_agent=self.is_agent, knows=self._knows)

    def take_chunk(self, chunk: Chunk) -> bool:
        try:
            found = records.decode_records(chunk)
        except (msgspec.DecodeError, RecursionError):
            return False
        self._take_records(found)
        return True

    def take_all(self, lines: list[bytes]) -> None:
        decode = records.decode_record
        found: list[Record] = []
        for line in lines:
            try:
                found.append(decode(line))
            except (msgspec.DecodeError, RecursionError):
                records_there, bad = records.decode_line(line)
                if bad:
                    self._take_records(found)
                    found = []
                    self.lose(line)
                self.session.bad += bad
                found += records_there
        self._take_records(found)

    def take(self, line: bytes) -> None:
        self.take_all([line])

    def lose(self, line: bytes) -> None:
        if not self.memory.loss:
            self._note_rest()
        self.memory.loss = max(self.memory.loss, judge_loss(line))

    def _note_rest(self) -> None:
        if self._last is not None:
            self.memory.rests = evidence.ends_work(self._last)

    def finish(self) -> None:
        if not self.memory.loss:
            self._note_rest()
        self.session.kind = self.context.find_kind()
        self.memory.folder = redact_folder(self.memory.folder)
        self.copies.settle()
        self.memory.copied_from = list(self.copies.sessions)

    def _take_records(self, found: list[Record]) -> None:
        """Take records in order. What can be done for many at once is: most have nothing to tell but that."""
        if not _READ.issuperset(map(_type_of, found)):
            found = self._drop_strange(found)
        self._last = next((one for one in reversed(found) if one.message is not None), self._last)
        uuids = list(map(_uuid_of, found))
        if self.memory.loss or not (all(uuids) and self._take_new(found, uuids)):
            for record in found:
                self._take_one(record)

    def _drop_strange(self, found: list[Record]) -> list[Record]:
        """Return records without those that are not read; what stands before a lost prompt is taken."""
        kept: list[Record] = []
        for record in found:
            if record.type in _READ:
                kept.append(record)
            elif record.type not in records.KNOWN_NOISE:
                self.session.meet_unknown(record.type or "(none)")
                if _may_be_prompt(record) and self.conversation.asks(record):
                    self._take_records(kept)
                    kept = []
                    if not self.memory.loss:
                        self._note_rest()
                    self.memory.loss = Loss.PROMPT
        return kept

    def _take_new(self, found: list[Record], uuids: list[str]) -> bool:
        """Take records if each comes for the first time; else take none."""
        numbers = read_uuids(uuids)
        marks = marks_of(uuids) if numbers is None else fold(numbers)
        if not self.copies.see_all(marks):
            return False
        heads, singly = self._look_through(found)
        if self.copies.are_own(marks, [marks[place] for place in heads]):
            self.context.note(found)
            self._take_own(found, singly, plain=numbers is not None)
        else:
            opening = set(heads)
            for place, (record, mark) in enumerate(zip(found, marks, strict=True)):
                self._take_seen(record, mark, opens=place in opening)
        return True

    def _look_through(self, found: list[Record]) -> tuple[list[int], list[int]]:
        """Return which records may open a turn, and which must be taken singly: those, and others."""
        aside, answered = not self.is_agent, self.memory.answered
        heads: list[int] = []
        singly: list[int] = []
        for place, record in enumerate(found):
            if not answered if record.type == "assistant" else _may_open_turn(record):
                answered = answered or record.type == "assistant"
                heads.append(place)
                singly.append(place)
            elif (
                (aside and record.is_sidechain)
                or record.retracted_message_uuids is not NULL
                or record.supersedes_uuids is not NULL
            ):
                singly.append(place)
        self.memory.answered = answered
        return heads, singly

    def _take_own(self, found: list[Record], singly: list[int], *, plain: bool) -> None:
        """Take records of the session's own; those between two prompts go together."""
        start = 0
        for place in [*singly, len(found)]:
            if self.session.turns and start < place:
                take_work(self.conversation, found[start:place], plain=plain)
                start = place
            for record in found[start : place + 1]:
                self._take(record, copied=False)
            start = place + 1

    def _take_one(self, record: Record) -> None:
        if not record.uuid:
            self.context.note([record])
            self._take(record, copied=False)
            return
        mark = mark_of(record.uuid)
        if self.copies.see(mark):
            opens = _may_open_turn(record)
            if record.type == "assistant":
                opens, self.memory.answered = not self.memory.answered, True
            self._take_seen(record, mark, opens=opens)

    def _take_seen(self, record: Record, mark: int, *, opens: bool) -> None:
        copied = self.copies.opens_copy(mark) if opens else self.copies.is_copy(mark)
        if not copied:
            self.context.note([record])
        self._take(record, copied=copied)

    def _take(self, record: Record, *, copied: bool) -> None:
        kind = record.type
        if self.memory.loss and kind != "assistant":
            self._note_orphan(record)
        if not copied and _withdraws(record):
            self._withdraw(record)
        if record.is_sidechain and not self.is_agent:
            self.memory.sidechains += 1
            message = record.message if kind == "assistant" else None
            if message and message.usage and message.model != "<synthetic>" and not copied:
                self.conversation.count(keep_id(message.id or record.uuid or ""), message.usage, None)
            elif message and message.usage and copied:
                self.conversation.note_copied(keep_id(message.id or record.uuid or ""), message.usage)
        elif kind == "assistant":
            self.conversation.take_assistant(record, copied=copied)
        elif kind == "user":
            self.conversation.take_user(record, copied=copied)
        elif kind == "attachment":
            self.conversation.take_attachment(record, record.attachment, copied=copied)
        elif kind == "system":
            self.conversation.take_command(record, copied=copied)

    def _note_orphan(self, record: Record) -> None:
        """Note what the client wrote behind a lost record, such as the reminders that go with a prompt."""
        is_orphan = record.parent_uuid and not self._knows(record.parent_uuid)
        if record.uuid and is_orphan and len(self.memory.orphans) < _MAX_ORPHANS:
            self.memory.orphans.append(mark_of(record.uuid))

    def _withdraw(self, record: Record) -> None:
        retracted = [
            *evidence.strings_in(record.retracted_message_uuids),
            *evidence.strings_in(record.supersedes_uuids),
        ]
        for turn in self.session.turns:
            turn.withdraw(retracted)


def _knows(copies: Copies, memory: Memory, record: str) -> bool:
    """Tell whether a record came before, and is not what came with one that was lost."""
    mark = mark_of(record)
    return copies.has_seen(mark) and mark not in memory.orphans


def _may_be_prompt(record: Record) -> bool:
    """Tell whether a record of no known type was a user's; answers have more than a content."""
    if record.type is not None:
        return is_damaged(record.type, "user")
    message = record.message
    return message is not None and message.id is None and message.model is None and message.usage is None


def _withdraws(record: Record) -> bool:
    return record.retracted_message_uuids is not NULL or record.supersedes_uuids is not NULL


def _may_open_turn(record: Record) -> bool:
    """Tell whether a record may be a prompt, and the head of a turn; so is the first answer of all."""
    if record.type == "user":
        message = record.message
        content = message.content if message else None
        opening = content[0] if content else None
        return not (isinstance(opening, Block) and opening.type == "tool_result")
    if record.type == "system":
        return asks_agent(record)
    attachment = record.attachment
    return attachment is not None and (attachment.type == "queued_command" or attachment.prompt is not NULL)
