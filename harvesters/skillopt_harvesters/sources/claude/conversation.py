"""What was said and done in the records of Claude Code, taken into turns."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from skillopt_harvesters.calls import clip, keep_id
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
from skillopt_harvesters.turns import CallDraft, TurnDraft, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable

_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_TOLD_TOOLS = SHELL_TOOLS | _WRITING_TOOLS | {"Skill"}
_SKILL_FOLDER = re.compile(r"\s*Base directory for this skill: (?P<folder>[^\n]+)")
_LISTED_SKILL = re.compile(r"^- ([\w:.-]{1,100}): ", re.MULTILINE)
_MAX_NAME = 200
_MAX_NAMES = 100
_MAX_SHARED = 16
# So many calls are made in one message.
_MAX_AT_ONCE = 16
_id_of = attrgetter("id")


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

    def take_work(self, found: list[Record]) -> None:
        """Take records of the turn that is going on, none of them copied, in as few steps as can be."""
        session = self.session
        turn = session.turns[-1]
        usage: dict[str, Counts] = {}
        model: str | None = None
        for record in found:
            message = record.message
            if message is None:
                if record.attachment is not None and record.type == "attachment":
                    self.take_attachment(record, record.attachment, copied=False)
            elif record.type == "assistant":
                if record.is_api_error_message or record.attribution_skill or message.model == "<synthetic>":
                    session.model, model = model or session.model, None
                    self.take_assistant(record, copied=False)
                    continue
                source = record.uuid or ""
                if message.usage is not None:
                    usage[keep_id(message.id or source)] = message.usage
                model = message.model or model
                content = message.content
                only = content[0] if isinstance(content, list) and len(content) == 1 else None
                # Nearly all have one block.
                if not isinstance(only, Block):
                    self._take_blocks(turn, message, source)
                elif only.type == "tool_use":
                    self._take_call(turn, only, source)
                elif only.type == "text" and (text := only.text) and not text.isspace():
                    _say(turn, message.id or source, text, source)
                continue
            elif record.type == "user":
                content = message.content
                only = content[0] if isinstance(content, list) and len(content) == 1 else None
                if isinstance(only, Block) and only.type == "tool_result":
                    # Nearly all are this: the result of one call, and no words.
                    self.results.take(record, only, copied=False)
                    continue
                self.take_user(record, copied=False)
            if session.turns[-1] is not turn:
                # A prompt that came along with results.
                self._count_all(usage, turn)
                turn, usage = session.turns[-1], {}
        session.model = model or session.model
        self._count_all(usage, turn)

    def take_user(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None:
            return
        content = message.content
        texts: list[str] = []
        picture = False
        if isinstance(content, str):
            texts = [content] if content else []
        else:
            for block in content or ():
                if isinstance(block, str):
                    texts.append(block)
                elif block.type == "tool_result":
                    self.results.take(record, block, copied=copied)
                elif block.type == "text" and block.text:
                    texts.append(block.text)
                elif block.type == "image":
                    picture = True
        if not (texts or picture):
            return
        if record.is_meta or record.source_tool_use_id is not NULL:
            # A tool's doing: a skill that the agent called comes in as if its command had been typed.
            self._note_skill(record, texts, copied=copied)
        elif not (
            record.is_compact_summary
            or record.is_visible_in_transcript_only
            or record.prompt_source == "system"
            or (record.origin is not NULL and evidence.is_from_client(record.origin))
        ):
            found = words.find_words(texts)
            if record.plan_content is not NULL and words.hands_over_plan(found.prompt):
                # The agent's plan, in a fresh context: a turn of its own without words of the user's.
                found, picture = words.Words(), True
            self._take_words(record, found, copied=copied, picture=picture)

    def _take_words(self, record: Record, found: words.Words, *, copied: bool, picture: bool = False) -> None:
        is_act = found.is_act or (picture and not found.interrupted)
        if found.interrupted:
            turn = self.results.own_turn(record, copied=copied)
            if turn:
                turn.signals.add(Signal.INTERRUPTION)
        if is_act:
            self.memory.loss, self.memory.orphans = Loss.NONE, []
            typed = not self.is_agent and record.entrypoint in {*evidence.PEOPLE, None}
            self.session.open_turn(
                TurnDraft(
                    prompt=found.prompt,
                    command=found.command,
                    typed=typed,
                    started=to_utc(record.timestamp),
                    parent=record.parent_uuid,
                    copied=copied,
                )
            )

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
                _say(turn, message.id or source, text, source)

    def _take_call(self, turn: TurnDraft, block: Block, source: str) -> None:
        name = block.name or ""
        if block.id and turn.calls and _is_told(turn, block.id):
            return
        call = CallDraft(name=name, id=block.id or "", digest=digest_of(block.input), source=source)
        if name in _TOLD_TOOLS:
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
        turn.add_call(call)

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

    def _count_all(self, usage: dict[str, Counts], turn: TurnDraft) -> None:
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

    def take_attachment(self, record: Record, attachment: Attachment, *, copied: bool) -> None:
        if attachment.type == "queued_command":
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


def _say(turn: TurnDraft, message: str, text: str, source: str) -> None:
    """Add text, unless a record of the same message told it: some writers tell a growing message anew."""
    for piece in turn.texts:
        if piece.text == text and piece.message == keep_id(message):
            return
    turn.say(message, text, source)


def _is_told(turn: TurnDraft, call: str) -> bool:
    return keep_id(call) in map(_id_of, turn.calls[-_MAX_AT_ONCE:])
