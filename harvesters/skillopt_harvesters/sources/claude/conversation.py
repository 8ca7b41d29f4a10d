"""What was said and done in the records of Claude Code, taken into turns."""

from __future__ import annotations

import re
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import CallDraft, clip, digest_of, keep_id
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Signal
from skillopt_harvesters.sources.claude import evidence, records, words
from skillopt_harvesters.sources.claude.context import Memory
from skillopt_harvesters.sources.claude.losses import Loss
from skillopt_harvesters.sources.claude.records import (
    NULL,
    Attachment,
    Block,
    Message,
    Record,
    ToolInput,
    Usage,
)
from skillopt_harvesters.sources.claude.results import SHELL_TOOLS, Results
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.tokens import Counts, bound, minus
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Callable

_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
TOLD_TOOLS = SHELL_TOOLS | _WRITING_TOOLS | {"Skill"}
_SKILL_FOLDER = re.compile(r"\s*Base directory for this skill: (?P<folder>[^\n]+)")
_LISTED_SKILL = re.compile(r"^- ([\w:.-]{1,100}): ", re.MULTILINE)
_ASKING = frozenset({"subtask"})
_MAX_NAME = 200
_MAX_NAMES = 100
_MAX_SHARED = 16


def asks_agent(record: Record) -> bool:
    """Tell whether a record tells that the user gave work to an agent of its own."""
    ran = record.command_run
    return ran is not None and ran.command in _ASKING and bool(ran.args and ran.args.strip())


class Conversation:
    """Takes records into the turns of a session, in file order."""

    def __init__(
        self, session: SessionDraft, memory: Memory, *, is_agent: bool, knows: Callable[[str], bool]
    ) -> None:
        self.session = session
        self.memory = memory
        self.is_agent = is_agent
        self.results = Results(session, memory, knows)
        self._knows = knows
        session.tells_again = True

    def take_user(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None or message.content is msgspec.UNSET:
            self.session.meet_unknown("user/(none)")
            turn = self.session.turn
            if self._may_ask(record) and not (turn and turn.is_waiting):
                self.session.miss_prompt(to_utc(record.timestamp), copied=copied)
            return
        texts, picture, damaged = self._read_content(record, message, copied=copied)
        if damaged:
            self.session.meet_unknown(f"user/{damaged}")
            if self._lacks_words(record, message, texts):
                self.session.miss_prompt(to_utc(record.timestamp), copied=copied)
                return
        if not (texts or picture):
            return
        if record.is_meta or record.source_tool_use_id is not NULL:
            # A tool's doing: a skill that the agent called comes in as if its command had been typed.
            self._note_skill(record, texts, copied=copied)
            if words.opens_local_command(texts):
                self.memory.caveat = keep_id(record.uuid or "")
                if record.parent_uuid:
                    # It may be what the user does first after going back.
                    self.session.go_back_to(record.parent_uuid)
        elif record.plan_content is not NULL and words.hands_over_plan(text := "\n".join(texts).strip()):
            # The agent's plan, in a fresh context: a turn of its own with what the user said to the plan.
            found = words.find_plan_words(text, str(records.decode_any(record.plan_content)))
            self._take_words(record, found, copied=copied, picture=True)
        elif not evidence.is_clients_own(record):
            is_local = bool(record.parent_uuid) and keep_id(record.parent_uuid or "") == self.memory.caveat
            found = words.find_local_words(texts) if is_local else words.find_words(texts)
            self._take_words(record, found, copied=copied, picture=picture)

    def _read_content(self, record: Record, message: Message, *, copied: bool) -> tuple[list[str], bool, str]:
        """Take the results in a user's message.

        Returns its texts, whether it has a picture, and the type of a text block that was damaged, or lacks
        its text.
        """
        content = message.content
        texts: list[str] = []
        picture, damaged = False, ""
        if isinstance(content, str):
            return ([content] if content else []), picture, damaged
        for block in content or ():
            if isinstance(block, str):
                texts.append(block)
            elif block.type == "tool_result":
                self.results.take(record, block, copied=copied)
            elif block.type == "text":
                if block.text:
                    texts.append(block.text)
                elif block.text is None:
                    damaged = "text"
            elif block.type == "image":
                picture = True
            elif block.text and (block.type is None or is_damaged(block.type, "text")):
                damaged = block.type or "(none)"
        return texts, picture, damaged

    def asks(self, record: Record) -> bool:
        """Tell whether a record that cannot be read for what it is has words as a prompt has."""
        message = record.message
        if message is None or not self._may_ask(record):
            return False
        return words.find_words([block.text for block in message.blocks if block.text]).is_act

    def _may_ask(self, record: Record) -> bool:
        """Tell whether a record is neither the client's own, nor a sub-agent's, nor the result of a call."""
        if record.is_meta or record.source_tool_use_id is not NULL or evidence.is_clients_own(record):
            return False
        return record.tool_use_result is None and (self.is_agent or not record.is_sidechain)

    def _lacks_words(self, record: Record, message: Message, texts: list[str]) -> bool:
        """Tell whether a prompt of which a text is damaged has no other words."""
        if not self._may_ask(record) or words.find_words(texts).is_act:
            return False
        kinds = [block.type for block in message.blocks if block.type != "text" or block.text is None]
        return self.asks(record) or ("text" in kinds and "tool_result" not in kinds)

    def _take_words(self, record: Record, found: words.Words, *, copied: bool, picture: bool = False) -> None:
        is_act = found.is_act or (picture and not found.interrupted)
        if found.interrupted and not record.interrupted_by_shutdown:
            turn = self._find_stopped(record, copied=copied)
            if turn:
                turn.signals.add(Signal.INTERRUPTION)
        if is_act:
            self.memory.loss, self.memory.orphans = Loss.NONE, []
            position = record.turn_position
            is_first = record.parent_uuid is None and position is not None and position.prompt_index == 1
            typed = not self.is_agent and record.entrypoint in {*evidence.PEOPLE, None}
            self.session.open_turn(
                TurnDraft(
                    prompt=found.prompt,
                    command=found.command,
                    typed=typed,
                    started=to_utc(record.timestamp),
                    parent=record.parent_uuid,
                    copied=copied,
                ),
                is_first=is_first,
            )

    def take_command(self, record: Record, *, copied: bool) -> None:
        """Take a command with which the user gave work to an agent; the client tells it as one of its own."""
        if asks_agent(record) and record.command_run:
            prompt = (record.command_run.args or "").strip()
            found = words.Words(command=f"/{record.command_run.command}", prompt=prompt)
            self._take_words(record, found, copied=copied)

    def _find_stopped(self, record: Record, *, copied: bool) -> TurnDraft | None:
        """Return the turn that was interrupted; a prompt that waited for that stands before the notice."""
        if record.interrupted_message_id:
            message = keep_id(record.interrupted_message_id)
            for turn in reversed(self.session.turns):
                if turn.copied == copied and message in turn.usage:
                    return turn
        return self.results.own_turn(record, copied=copied)

    def take_assistant(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None:
            return
        source = record.uuid or ""
        name = keep_id(message.id or source)
        turn = self.session.turn
        if self.memory.loss and self._has_lost_prompt(record, turn, name):
            turn = self.session.miss_prompt(to_utc(record.timestamp), copied=copied)
        elif turn is None:
            # The agent goes on by itself, for instance after a compaction that opened a new file.
            turn = TurnDraft(typed=False, started=to_utc(record.timestamp), copied=copied)
            turn = self.session.open_turn(turn)
        model = message.model
        if copied and message.usage is not None:
            self.note_copied(name, message.usage)
        is_work = model != "<synthetic>" and not record.is_api_error_message
        own = self.results.own_turn(record, copied=copied) if is_work or record.is_api_error_message else None
        if own is None:
            return
        turn = own
        if record.is_api_error_message:
            turn.signals.add(Signal.ERROR)
            return
        if not copied:
            if model is not None:
                self.session.model = model
            usage = message.usage
            if usage is not None:
                self.count(name, usage, turn)
        if record.attribution_skill:
            self._load_skill(turn, record.attribution_skill)
        self._take_blocks(turn, message, source)

    def _take_blocks(self, turn: TurnDraft, message: Message, source: str) -> None:
        content = message.content
        for block in [content] if isinstance(content, str) else content or ():
            if isinstance(block, Block):
                kind = block.type
                if kind == "tool_use":
                    self._take_call(turn, block, source)
                    continue
                text = block.text if kind == "text" else None
            else:
                text = block
            if text and not text.isspace():
                turn.say_once(message.id or source, text, source)

    def _take_call(self, turn: TurnDraft, block: Block, source: str) -> None:
        if block.id and turn.has_told(block.id):
            return
        call = CallDraft(
            name=block.name or "", id=block.id or "", digest=digest_of(block.input), source=source
        )
        self.complete_call(call, block, turn)
        turn.add_call(call)

    def complete_call(self, call: CallDraft, block: Block, turn: TurnDraft) -> None:
        """Note what a call is about, and how it ended if its result came before it."""
        name = call.name
        if name in TOLD_TOOLS:
            given = records.decode_as(block.input, ToolInput) or ToolInput()
            if name in SHELL_TOOLS:
                call.command = given.command
            elif name in _WRITING_TOOLS:
                path = given.file_path or given.notebook_path
                call.files = [path] if path else []
            else:
                skill = (given.skill or given.command or "").strip("/ ").partition(" ")[0]
                if skill:
                    self._load_skill(turn, skill)
        end = self.memory.early.pop(keep_id(call.id), None) if self.memory.early else None
        if end is not None:
            self.results.end(call, end)

    def _load_skill(self, turn: TurnDraft, name: str) -> None:
        if len(turn.skills) < _MAX_NAMES:
            turn.skills[clip(name, _MAX_NAME)] = None

    def _has_lost_prompt(self, record: Record, turn: TurnDraft | None, message: str) -> bool:
        """Tell whether an answer is to a prompt that was lost; what continues a known record is not."""
        memory = self.memory
        if record.parent_uuid and self._knows(record.parent_uuid):
            return False
        is_certain = memory.loss is Loss.PROMPT
        memory.loss, memory.orphans = Loss.NONE, []
        if turn and (turn.is_untouched or (turn.texts and turn.texts[-1].message == message)):
            # What was lost came along with a prompt that is still to be answered, or inside an answer.
            return False
        return is_certain or (record.parent_uuid is not None and memory.rests)

    def note_copied(self, call: str, usage: Usage) -> None:
        """Remember what another session counts of a model call, of which this one may have the rest."""
        shared = self.memory.shared
        shared[call] = bound(usage)
        if len(shared) > _MAX_SHARED:
            del shared[next(iter(shared))]

    def _without_shared(self, call: str, usage: Usage) -> Counts:
        """Return of a model call what no other session counts."""
        known = self.memory.shared.get(call) if self.memory.shared else None
        return usage if known is None else minus(bound(usage), known)

    def count_all(self, usage: dict[str, Counts], turn: TurnDraft) -> None:
        """Count several model calls, by ids as `keep_id` returns them."""
        for earlier in self.session.turns:
            if earlier is not turn:
                for call in usage.keys() & earlier.usage.keys():
                    earlier.count(call, usage.pop(call))
        for call in usage.keys() & self.session.settled.keys():
            self.session.correct(call, usage.pop(call))
        if turn.copied:
            for call, counts in usage.items():
                self.session.count(call, counts)
        else:
            turn.count_all(usage)

    def count(self, call: str, usage: Usage, turn: TurnDraft | None) -> None:
        """Count a model call once: its records share the message id, and the last has the final numbers."""
        turns = self.session.turns
        counts = self._without_shared(call, usage)
        if turn is None or turn.copied or (len(turns) > 1 and call not in turn.usage):
            for earlier in turns:
                if call in earlier.usage:
                    earlier.count(call, counts)
                    return
            if self.session.correct(call, counts):
                return
        (self.session if turn is None or turn.copied else turn).count(call, counts)

    def take_attachment(self, record: Record, attachment: Attachment | None, *, copied: bool) -> None:
        if attachment is None or attachment.type is None or is_damaged(attachment.type, "queued_command"):
            self.session.meet_unknown(f"attachment/{(attachment and attachment.type) or '(none)'}")
            if attachment and attachment.prompt is not NULL and self._may_ask(record):
                self.session.miss_prompt(to_utc(record.timestamp), copied=copied)
        elif attachment.type == "queued_command" and attachment.prompt is NULL:
            self.session.meet_unknown("attachment/queued_command")
            if attachment.command_mode in {None, "prompt"} and self._may_ask(record):
                self.session.miss_prompt(to_utc(record.timestamp), copied=copied)
        elif attachment.type == "queued_command":
            ours = attachment.command_mode not in {None, "prompt"} or attachment.is_meta
            if not ours and not evidence.is_from_client(attachment.origin) and not record.is_meta:
                blocks = records.decode_content(attachment.prompt)
                texts = [block.text for block in blocks if block.type == "text" and block.text]
                self._take_words(record, words.find_words(texts), copied=copied)
        elif attachment.type == "skill_listing":
            names = evidence.strings_in(attachment.names)
            if not names:
                names = _LISTED_SKILL.findall(records.join_text(attachment.content))
            self.session.offer_skills(names)

    def _note_skill(self, record: Record, texts: list[str], *, copied: bool) -> None:
        """Note a loaded skill: its body stands in a meta message that names its folder."""
        for text in texts:
            match = _SKILL_FOLDER.match(text)
            turn = self.results.own_turn(record, copied=copied) if match else None
            if match and turn:
                self._load_skill(turn, PureWindowsPath(match["folder"].strip()).name)
