"""A transcript of Claude Code, read record by record into one session."""

from __future__ import annotations

import re
from pathlib import PurePath, PureWindowsPath

import msgspec

from skillopt_harvesters.claims import Claims, Copies, mark_of
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind, Signal, Tokens
from skillopt_harvesters.sources.base import OWN_ENTRYPOINT, is_own_folder
from skillopt_harvesters.sources.claude import evidence, records, words
from skillopt_harvesters.sources.claude.records import Attachment, Block, Message, Record, ToolInput
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import MAX_COMMAND, MAX_ERROR, CallDraft, TurnDraft, clip, digest_of

_PEOPLE = frozenset({"cli", "claude-desktop", "claude-vscode"})
_SHELL_TOOLS = frozenset({"Bash", "PowerShell"})
_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_SKILL_FOLDER = re.compile(r"\s*Base directory for this skill: (?P<folder>[^\n]+)")
_LISTED_SKILL = re.compile(r"^- ([\w:.-]{1,100}): ", re.MULTILINE)


class Memory(msgspec.Struct):
    """What a reading of this client's files remembers beside the session."""

    entrypoints: dict[str, None] = {}
    copied_from: list[str] = []
    is_replay: bool = False
    folder: str = ""
    sidechains: int = 0


class ClaudeReader(Reader[Memory]):
    """Takes records in file order.

    The file's name is the session's id: the first records of a resumed session carry the id of the old
    one, and those of a sub-agent its parent's.
    """

    def __init__(self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool) -> None:
        super().__init__(session, memory, claims, resumed=resumed)
        path = PurePath(session.path)
        self.is_agent = path.name.startswith("agent-") or path.parent.name == "subagents"
        self.copies = Copies(
            f"{session.client}/{session.id}", claims, copied_from=memory.copied_from, resumed=resumed
        )

    def take(self, line: bytes) -> None:
        found, bad = records.decode_line(line)
        self.session.bad += bad
        for record in found:
            self._take(record)

    def finish(self) -> None:
        self.session.kind = self._find_kind()
        self.copies.settle()
        self.memory.copied_from = list(self.copies.sessions)

    @property
    def turn(self) -> TurnDraft | None:
        return self.session.turn

    def _take(self, record: Record) -> None:
        kind = record.type
        if kind not in {"user", "assistant", "system", "attachment"}:
            if kind not in records.KNOWN_NOISE:
                self.session.meet_unknown(kind or "(none)")
            return
        copied = False
        if record.uuid:
            mark = mark_of(record.uuid)
            if not self.copies.see(mark):
                return
            copied = self._is_copied(record, kind, mark)
        if not copied:
            self._note_context(record)
        if record.is_sidechain and not self.is_agent:
            self.memory.sidechains += 1
            message = record.message if kind == "assistant" else None
            if message and not copied:
                self._count_tokens(record, message, None)
            return
        if kind == "user":
            self._take_user(record, copied=copied)
        elif kind == "assistant":
            self._take_assistant(record, copied=copied)
        elif kind == "attachment":
            self._take_attachment(record, copied=copied)

    def _find_kind(self) -> Kind:
        if self.memory.is_replay:
            return Kind.REPLAY
        if self.is_agent or (self.memory.sidechains and not self.session.turns):
            return Kind.SUBAGENT
        strange = [
            name for name in self.memory.entrypoints if name not in _PEOPLE and not name.startswith("sdk-")
        ]
        if strange:
            self.session.warn(
                f"entrypoint {strange[0][:40]!r} is not known; its prompts do not count as typed"
            )
        # Old clients do not write an entrypoint: a person, as far as anybody can tell.
        if not self.memory.entrypoints or not _PEOPLE.isdisjoint(self.memory.entrypoints):
            return Kind.HUMAN
        return Kind.HEADLESS

    def _is_copied(self, record: Record, kind: str, mark: int) -> bool:
        if kind == "user":
            message = record.message
            content = message.content if message else None
            if isinstance(content, str) or not (
                content and isinstance(content[0], Block) and content[0].type == "tool_result"
            ):
                return self.copies.opens_copy(mark)
        elif kind == "attachment" or (kind == "assistant" and self.turn is None):
            return self.copies.opens_copy(mark)
        return self.copies.is_copy(mark)

    def _note_context(self, record: Record) -> None:
        session = self.session
        session.see(to_utc(record.timestamp))
        if record.version:
            session.client_version = record.version
        if record.cwd and record.cwd != self.memory.folder:
            self.memory.folder = record.cwd
            session.project = session.project or record.cwd
            self.memory.is_replay = self.memory.is_replay or is_own_folder(record.cwd)
        if record.git_branch:
            session.branch = session.branch or record.git_branch
        if record.entrypoint and record.entrypoint not in self.memory.entrypoints:
            self.memory.entrypoints[record.entrypoint] = None
            self.memory.is_replay = self.memory.is_replay or record.entrypoint.startswith(OWN_ENTRYPOINT)
        retracted = [
            *evidence.strings_in(record.retracted_message_uuids),
            *evidence.strings_in(record.supersedes_uuids),
        ]
        if retracted:
            for turn in session.turns:
                turn.withdraw(retracted)

    def _take_user(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None:
            return
        blocks = message.blocks
        for block in blocks:
            if block.type == "tool_result":
                self._take_result(record, block)
        texts = [block.text for block in blocks if block.type == "text" and block.text]
        if record.is_meta:
            self._note_skill(texts)
        elif not (
            record.is_compact_summary
            or record.is_visible_in_transcript_only
            or evidence.is_from_client(record.origin)
        ):
            self._take_words(record, words.find_words(texts), copied=copied)

    def _take_words(self, record: Record, found: words.Words, *, copied: bool) -> None:
        if found.interrupted and self.turn:
            self.turn.signals.add(Signal.INTERRUPTION)
        if found.is_act:
            typed = not self.is_agent and record.entrypoint in {*_PEOPLE, None}
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

    def _take_result(self, record: Record, block: Block) -> None:
        call = self._find_call(block.tool_use_id or "")
        if call is None:
            return
        call.closed = True
        if not block.is_error:
            call.exit_code = (
                0 if call.name in _SHELL_TOOLS and evidence.has_ended(record.tool_use_result) else None
            )
            return
        text = records.join_text(block.content)
        call.error = clip(text, MAX_ERROR)
        code = _EXIT_CODE.match(text)
        call.exit_code = int(code[1]) if code and call.name in _SHELL_TOOLS else None
        feedback = records.decode_any(record.user_feedback)
        refusal = words.find_refusal(text, feedback if isinstance(feedback, str) else None)
        if refusal and self.turn:
            self.turn.signals.add(Signal.REFUSAL)
            if refusal.words:
                self.turn.refusals.append(refusal.words)

    def _take_assistant(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None:
            return
        turn = self.turn
        if turn is None:
            # The agent goes on by itself, for instance after a compaction that opened a new file.
            turn = TurnDraft(typed=False, started=to_utc(record.timestamp), copied=copied)
            turn = self.session.open_turn(turn)
        if record.is_api_error_message:
            turn.signals.add(Signal.ERROR)
            return
        if message.model == "<synthetic>" or (copied and not turn.copied):
            return
        if not copied:
            self._count_tokens(record, message, turn)
        if record.attribution_skill:
            turn.skills[record.attribution_skill] = None
        source = record.uuid or ""
        for block in message.blocks:
            if block.type == "text" and block.text and block.text.strip():
                turn.say(message.id or source, block.text, source)
            elif block.type == "tool_use":
                self._take_call(turn, block, source)

    def _take_call(self, turn: TurnDraft, block: Block, source: str) -> None:
        given = records.decode_as(block.input, ToolInput) or ToolInput()
        name = block.name or ""
        call = CallDraft(name=name, id=block.id or "", digest=digest_of(bytes(block.input)), source=source)
        if name in _SHELL_TOOLS:
            call.command = given.command and clip(given.command, MAX_COMMAND)
        elif name in _WRITING_TOOLS:
            path = given.file_path or given.notebook_path
            call.files = [path] if path else []
        elif name == "Skill":
            skill = (given.skill or given.command or "").strip("/ ").partition(" ")[0]
            if skill:
                turn.skills[skill] = None
        turn.add_call(call)

    def _count_tokens(self, record: Record, message: Message, turn: TurnDraft | None) -> None:
        """Count a model call once: its records share the message id, and the last has the final numbers."""
        usage = message.usage
        if usage is None or message.model == "<synthetic>":
            return
        tokens = Tokens(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
        )
        key = message.id or record.uuid or ""
        for earlier in self.session.turns:
            if key in earlier.usage:
                earlier.count(key, tokens)
                return
        (self.session if turn is None or turn.copied else turn).count(key, tokens)

    def _find_call(self, call_id: str) -> CallDraft | None:
        found = (turn.find_call(call_id) for turn in reversed(self.session.turns)) if call_id else ()
        return next((call for call in found if call and not call.closed), None)

    def _take_attachment(self, record: Record, *, copied: bool) -> None:
        attachment = records.decode_as(record.attachment, Attachment)
        if attachment is None:
            return
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
            self.session.skills_offered.update(dict.fromkeys(names))

    def _note_skill(self, texts: list[str]) -> None:
        """Note a loaded skill: its body stands in a meta message that names its folder."""
        for text in texts:
            match = _SKILL_FOLDER.match(text)
            if match and self.turn:
                self.turn.skills[PureWindowsPath(match["folder"].strip()).name] = None
