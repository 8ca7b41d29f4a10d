"""A transcript of Claude Code, read record by record into one session."""

from __future__ import annotations

import re
from itertools import compress
from pathlib import PurePath, PureWindowsPath

import msgspec

from skillopt_harvesters.claims import Claims, Copies, mark_of
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.marks import mark_of, marks_of
from skillopt_harvesters.records import Kind, Signal
from skillopt_harvesters.sources.base import OWN_ENTRYPOINT
from skillopt_harvesters.sources.claude import evidence, records, words
from skillopt_harvesters.sources.claude.records import NULL, Attachment, Block, Record, ToolInput, Usage
from skillopt_harvesters.sources.lined import Reader
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import CallDraft, TurnDraft, digest_of

_PEOPLE = frozenset({"cli", "claude-desktop", "claude-vscode"})
_SHELL_TOOLS = frozenset({"Bash", "PowerShell"})
_WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
_TOLD_TOOLS = _SHELL_TOOLS | _WRITING_TOOLS | {"Skill"}
_READ = frozenset({"user", "assistant", "system", "attachment"})
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
_SKILL_FOLDER = re.compile(r"\s*Base directory for this skill: (?P<folder>[^\n]+)")
_MAX_NAME = 200
_TIME = len("2026-01-31T22:15:00.000")
_MAX_NAMES = 100
_LISTED_SKILL = re.compile(r"^- ([\w:.-]{1,100}): ", re.MULTILINE)


class Memory(msgspec.Struct):
    """What a reading of this client's files remembers beside the session."""

    entrypoints: dict[str, None] = {}
    copied_from: list[str] = []
    is_replay: bool = False
    folder: str = ""
    answered: bool = False
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
        self._contexts: set[tuple[str | None, ...]] = set()

    def take_chunk(self, chunk: memoryview) -> bool:
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
                found += self._decode(line)
        self._take_records(found)

    def take(self, line: bytes) -> None:
        self._take_records(self._decode(line))

    def _decode(self, line: bytes) -> list[Record]:
        found, bad = records.decode_line(line)
        self.session.bad += bad
        return found

    def finish(self) -> None:
        self.session.kind = self._find_kind()
        self.copies.settle()
        self.memory.copied_from = list(self.copies.sessions)

    @property
    def turn(self) -> TurnDraft | None:
        return self.session.turn

    def _take_records(self, found: list[Record]) -> None:
        """Take records in order. What can be done for many at once is: most have nothing to tell but that."""
        found = [record for record in found if record.type in _READ or self._pass_over(record)]
        unnamed = [record for record in found if not record.uuid]
        if unnamed or not self._take_new(found):
            for record in found:
                self._take_one(record)

    def _pass_over(self, record: Record) -> bool:
        if record.type not in records.KNOWN_NOISE:
            self.session.meet_unknown(record.type or "(none)")
        return False

    def _take_new(self, found: list[Record]) -> bool:
        """Take records if each comes for the first time; else take none."""
        marks = marks_of([record.uuid or "" for record in found])
        if not self.copies.see_all(marks):
            return False
        openers = [self._may_open_turn(record) for record in found]
        if self.copies.are_own(marks, compress(marks, openers)):
            self._note_contexts(found)
            for record in found:
                self._take(record, copied=False)
        else:
            for record, mark, opens in zip(found, marks, openers, strict=True):
                self._take_seen(record, mark, opens=opens)
        return True

    def _take_one(self, record: Record) -> None:
        if not record.uuid:
            self._note_contexts([record])
            self._take(record, copied=False)
            return
        mark = mark_of(record.uuid)
        if self.copies.see(mark):
            self._take_seen(record, mark, opens=self._may_open_turn(record))

    def _take_seen(self, record: Record, mark: int, *, opens: bool) -> None:
        copied = self.copies.opens_copy(mark) if opens else self.copies.is_copy(mark)
        if not copied:
            self._note_contexts([record])
        self._take(record, copied=copied)

    def _take(self, record: Record, *, copied: bool) -> None:
        kind = record.type
        if not copied and (
            record.retracted_message_uuids is not NULL or record.supersedes_uuids is not NULL
        ):
            self._withdraw(record)
        if record.is_sidechain and not self.is_agent:
            self.memory.sidechains += 1
            message = record.message if kind == "assistant" else None
            if message and message.usage and message.model != "<synthetic>" and not copied:
                self._count(message.id or record.uuid or "", message.usage, None)
        elif kind == "assistant":
            self._take_assistant(record, copied=copied)
        elif kind == "user":
            self._take_user(record, copied=copied)
        elif kind == "attachment" and record.attachment is not None:
            self._take_attachment(record, record.attachment, copied=copied)

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

    def _may_open_turn(self, record: Record) -> bool:
        """Tell whether a record may be the head of a turn: a prompt, or the first answer of all."""
        kind = record.type
        if kind == "assistant":
            first = not self.memory.answered
            self.memory.answered = True
            return first
        if kind == "user":
            content = record.message.content if record.message else None
            return (
                not content
                or isinstance(content, str)
                or not isinstance(content[0], Block)
                or content[0].type != "tool_result"
            )
        return record.attachment is not None and record.attachment.type == "queued_command"

    def _note_contexts(self, found: list[Record]) -> None:
        """Note when and where records were written, and by which client."""
        self._note_times([record.timestamp for record in found])
        contexts = {
            (record.cwd, record.version, record.git_branch, record.entrypoint, record.session_id)
            for record in found
        }
        if contexts != self._contexts:
            self._contexts = contexts
            for record in found:
                self._take_context(record)

    def _note_times(self, times: list[str | int | float | None]) -> None:
        session = self.session
        written = [time for time in times if isinstance(time, str)]
        # Of times as nearly all are written the order of the alphabet tells the first and the last.
        if len(written) == len(times) > 1 and {time[_TIME:] for time in written} == {"Z"}:
            earliest, latest = min(written), max(written)
            if to_utc(earliest) == earliest and to_utc(latest) == latest:
                times = [earliest, latest]
        for time in times:
            session.see(to_utc(time))

    def _withdraw(self, record: Record) -> None:
        retracted = [
            *evidence.strings_in(record.retracted_message_uuids),
            *evidence.strings_in(record.supersedes_uuids),
        ]
        for turn in self.session.turns:
            turn.withdraw(retracted)

    def _take_context(self, record: Record) -> None:
        session, memory = self.session, self.memory
        session.client_version = record.version or session.client_version
        session.branch = session.branch or record.git_branch or None
        if self.is_agent:
            session.parent = session.parent or record.session_id or None
        if record.cwd and record.cwd != memory.folder:
            memory.folder = record.cwd
            session.project = session.project or record.cwd
            memory.is_replay = memory.is_replay or evidence.is_own_folder(record.cwd)
        entrypoint = record.entrypoint and record.entrypoint[:_MAX_NAME]
        if entrypoint and entrypoint not in memory.entrypoints and len(memory.entrypoints) < _MAX_NAMES:
            memory.entrypoints[entrypoint] = None
            memory.is_replay = memory.is_replay or entrypoint.startswith(OWN_ENTRYPOINT)

    def _take_user(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None:
            return
        content = message.content
        texts: list[str] = []
        if isinstance(content, str):
            texts = [content] if content else []
        else:
            for block in content or ():
                if isinstance(block, str):
                    texts.append(block)
                elif block.type == "tool_result":
                    self._take_result(record, block)
                elif block.type == "text" and block.text:
                    texts.append(block.text)
        if not texts:
            return
        if record.is_meta:
            self._note_skill(texts)
        elif not (
            record.is_compact_summary
            or record.is_visible_in_transcript_only
            or (record.origin is not NULL and evidence.is_from_client(record.origin))
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
        call.fail(text)
        code = _EXIT_CODE.match(text)
        call.exit_code = int(code[1]) if code and call.name in _SHELL_TOOLS else None
        feedback = records.decode_any(record.user_feedback)
        refusal = words.find_refusal(text, feedback if isinstance(feedback, str) else None)
        if refusal and self.turn:
            self.turn.signals.add(Signal.REFUSAL)
            if refusal.words and len(self.turn.refusals) < _MAX_NAMES:
                self.turn.refusals.append(refusal.words)

    def _take_assistant(self, record: Record, *, copied: bool) -> None:
        message = record.message
        if message is None:
            return
        turns = self.session.turns
        if turns:
            turn = turns[-1]
        else:
            # The agent goes on by itself, for instance after a compaction that opened a new file.
            turn = TurnDraft(typed=False, started=to_utc(record.timestamp), copied=copied)
            turn = self.session.open_turn(turn)
        if record.is_api_error_message:
            turn.signals.add(Signal.ERROR)
            return
        model = message.model
        if model == "<synthetic>" or (copied and not turn.copied):
            return
        source = record.uuid or ""
        name = message.id or source
        if not copied:
            if model is not None:
                self.session.model = model
            if message.usage is not None:
                self._count(name, message.usage, turn)
        if record.attribution_skill:
            self._load_skill(turn, record.attribution_skill)
        content = message.content
        if isinstance(content, str):
            content = [content]
        for block in content or ():
            if isinstance(block, str):
                if block.strip():
                    turn.say(name, block, source)
                continue
            kind = block.type
            if kind == "tool_use":
                self._take_call(turn, block, source)
            elif kind == "text" and block.text and block.text.strip():
                turn.say(name, block.text, source)

    def _take_call(self, turn: TurnDraft, block: Block, source: str) -> None:
        name = block.name or ""
        call = CallDraft(name=name, id=block.id or "", digest=digest_of(block.input), source=source)
        if name in _TOLD_TOOLS:
            given = records.decode_as(block.input, ToolInput) or ToolInput()
            if name in _SHELL_TOOLS:
                call.command = given.command
            elif name in _WRITING_TOOLS:
                path = given.file_path or given.notebook_path
                call.files = [path] if path else []
            else:
                skill = (given.skill or given.command or "").strip("/ ").partition(" ")[0]
                if skill:
                    self._load_skill(turn, skill)
        turn.add_call(call)

    def _load_skill(self, turn: TurnDraft, name: str) -> None:
        if len(turn.skills) < _MAX_NAMES:
            turn.skills[name[:_MAX_NAME]] = None

    def _count(self, call: str, usage: Usage, turn: TurnDraft | None) -> None:
        """Count a model call once: its records share the message id, and the last has the final numbers."""
        turns = self.session.turns
        if len(call) > _MAX_NAME:
            call = call[:_MAX_NAME]
        if turn is None or turn.copied or (len(turns) > 1 and call not in turn.usage):
            for earlier in turns:
                if call in earlier.usage:
                    earlier.count(call, usage)
                    return
        (self.session if turn is None or turn.copied else turn).count(call, usage)

    def _find_call(self, call_id: str) -> CallDraft | None:
        if call_id:
            for turn in reversed(self.session.turns):
                call = turn.find_call(call_id)
                if call is not None and not call.closed:
                    return call
        return None

    def _take_attachment(self, record: Record, attachment: Attachment, *, copied: bool) -> None:
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

    def _note_skill(self, texts: list[str]) -> None:
        """Note a loaded skill: its body stands in a meta message that names its folder."""
        for text in texts:
            match = _SKILL_FOLDER.match(text)
            if match and self.turn:
                self._load_skill(self.turn, PureWindowsPath(match["folder"].strip()).name)
