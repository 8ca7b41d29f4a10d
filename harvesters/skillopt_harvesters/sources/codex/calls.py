"""The tool calls of a session, each once: its call, its output, and what is told of its end beside them."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec

from skillopt_harvesters.calls import MAX_COMMAND, MAX_ERROR, CallDraft, clip, digest_of, keep_id
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Signal
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.sources.codex import patches
from skillopt_harvesters.sources.codex.book import TurnBook, add_skills
from skillopt_harvesters.sources.codex.decode import Record, decode_any
from skillopt_harvesters.sources.codex.memory import Memory
from skillopt_harvesters.sources.codex.outputs import Outcome, is_refusal, read_output
from skillopt_harvesters.sources.codex.records import NULL, Call, Output, ToolEnd
from skillopt_harvesters.turns import TurnDraft

_MAX_PATH = 4096
_MAX_FILES = 200
_MAX_PROCESSES = 64
_MAX_EARLY = 16
# A script is still among the latest calls when one that it made is told.
_MAX_SCRIPTS = 64
_SCRIPT = "exec"
# The ids of calls that a script makes.
_INNER = "exec-"
_NAMELESS = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
    "image_generation_call": "image_generation",
    "CommandExecution": "exec_command",
    "FileChange": "apply_patch",
    "McpToolCall": "mcp",
    "exec_command_end": "exec_command",
    "patch_apply_end": "apply_patch",
    "mcp_tool_call_end": "mcp",
}
_USERS = frozenset({"user_shell", "userShell"})
_FOLLOW_UPS = frozenset({"unified_exec_interaction", "unifiedExecInteraction"})
_DECLINED = "declined"
_NOT_THE_AGENT = _USERS | _FOLLOW_UPS


class CallBook:
    """Keeps the calls of the turns that are open."""

    def __init__(self, session: SessionDraft, memory: Memory, turns: TurnBook) -> None:
        self.turns = turns
        self.session = session
        self.memory = memory
        self._latest: TurnDraft | None = None
        # Of the turns that are open, unless another one was opened since.
        self._known: dict[str, tuple[TurnDraft, CallDraft]] = {}

    def add(self, turn: TurnDraft, told: Call) -> CallDraft | None:
        """Add a call to a turn; None when it is known.

        Some servers number their calls anew with every answer: what comes when the call with its id was told
        and has ended is another one.
        """
        name = told.name or _NAMELESS.get(told.type or "") or told.type or ""
        call_id = keep_id(told.call_id or told.id or "")
        known = self._find(call_id)
        if known and not (known[1].closed and known[1].digest):
            return None
        given = told.arguments if told.arguments is not NULL else told.input
        given = given if given is not NULL else told.action
        call = CallDraft(name=name, id=call_id, digest=digest_of(given))
        written = decode_any(given)
        value = _unwrap(written)
        folder = self.memory.folder
        if isinstance(value, dict):
            command = patches.find_command(name, value)
            call.command = command and clip(command, MAX_COMMAND)
            if value is written or "Patch" in written:
                call.files = patches.find_files(_join_texts(value), folder)
            if name == "write_stdin":
                call.source = keep_id(str(value.get("session_id", "")))
        elif isinstance(value, str):
            call.files = patches.find_files(value, folder)
            if name == _SCRIPT:
                commands, files = patches.read_script(value, folder)
                call.files = files
                call.command = clip(commands[0], MAX_COMMAND) if len(commands) == 1 else None
        early = self.memory.early.pop(call_id, None)
        if early is not None:
            call.closed = True
            self._end(call, *early)
        self._keep(turn, call)
        return call

    def _keep_early(self, call: str, outcome: Outcome) -> None:
        """Keep an output whose call is not there: records may have been written in another order."""
        error = outcome.error and redact_within(clip(outcome.error, MAX_ERROR), MAX_ERROR)
        early = self.memory.early
        if call:
            early[call] = (outcome.exit_code, error)
            if len(early) > _MAX_EARLY:
                del early[next(iter(early))]

    def close(self, told: Output, record: Record) -> None:
        """Note what an output says."""
        found = self._find(told.call_id or "")
        if found is None:
            # The record with the call is lost; what the user said to it is not.
            outcome = read_output(told.output)
            if self.session.turn and outcome.refused:
                self.session.turn.signals.add(Signal.REFUSAL)
            self._keep_early(keep_id(told.call_id or ""), outcome)
            return
        turn, call = found
        if call.closed:
            return
        outcome = read_output(told.output)
        call.closed = True
        self._end(call, outcome.exit_code, outcome.error)
        if outcome.refused or outcome.interrupted:
            place = self.turns.place(turn, f"end {call.id}", record)
            if place:
                place.signals.add(Signal.REFUSAL if outcome.refused else Signal.INTERRUPTION)
        if outcome.process and call.name != "write_stdin":
            self.memory.processes[keep_id(outcome.process)] = call.id
            if len(self.memory.processes) > _MAX_PROCESSES:
                self.memory.processes.pop(next(iter(self.memory.processes)))
        elif call.name == "write_stdin" and call.exit_code is not None:
            first = self._find(self.memory.processes.pop(call.source, ""))
            if first:
                self._end(first[1], outcome.exit_code, outcome.error)
        self._note_skill(turn, call)

    def end(self, turn: TurnDraft | None, told: ToolEnd, record: Record) -> None:
        """Note how a call ended. Where its call is not told it is added to `turn`, if there is one."""
        if told.source in _USERS:
            return
        given = told.call_id or told.id or ""
        found = self._find(given)
        call = found[1] if found else self._find_script(given, told)
        if call is None:
            call_id = keep_id(given)
            if turn is None or told.source in _FOLLOW_UPS or call_id in self.memory.elsewhere:
                return
            turn = self.turns.place(turn, call_id, record)
            if turn is None:
                return
            name = told.tool or _NAMELESS.get(told.type or "", "mcp")
            call = CallDraft(name=name, id=call_id, closed=True)
            self._keep(turn, call)
        if call.command is None:
            command = _read_command(told.command)
            call.command = clip(command, MAX_COMMAND) if command else None
        changes = None if told.changes is NULL else decode_any(told.changes)
        if isinstance(changes, dict):
            paths = [clip(str(path), _MAX_PATH) for path in list(changes)[:_MAX_FILES]]
            files = [patches.resolve(path, self.memory.folder) for path in paths]
            call.files = list(dict.fromkeys([*call.files, *files]))
        error = None if _has_ended_well(told) else _read_error(told)
        self._end(call, told.exit_code, error)
        holder = found[0] if found else turn
        if error and holder and told.status == _DECLINED and is_refusal(error):
            place = self.turns.place(holder, f"end {call.id}", record)
            if place:
                place.signals.add(Signal.REFUSAL)
        if call.closed and found is None:
            holder = turn or self.session.turn
            if holder:
                self._note_skill(holder, call)

    def _end(self, call: CallDraft, exit_code: int | None, error: str | None) -> None:
        if call.exit_code is None:
            call.exit_code = exit_code
        if call.error is None and error is not None:
            call.error = clip(error, MAX_ERROR)

    def _note_skill(self, turn: TurnDraft, call: CallDraft) -> None:
        if call.command and call.error is None and not call.exit_code:
            skill = patches.find_skill(call.command, self.session.skills_offered)
            if skill:
                add_skills(turn, [skill])

    def _keep(self, turn: TurnDraft, call: CallDraft) -> None:
        turn.add_call(call)
        if not turn.calls_left_out:
            self._known[call.id] = turn, call

    @property
    def known(self) -> dict[str, tuple[TurnDraft, CallDraft]]:
        """The calls of the turns that are open, by id as it is kept, each with its turn."""
        turns = self.session.turns
        if turns[-1] is not self._latest:
            self._latest = turns[-1]
            self._known = {call.id: (turn, call) for turn in turns for call in turn.calls}
        return self._known

    def _find(self, call_id: str) -> tuple[TurnDraft, CallDraft] | None:
        """Return the latest call with an id, as the client wrote it, in the turns that are open."""
        if not self.session.turns or not call_id:
            return None
        # Nearly all ids are kept as they are.
        known = self.known
        return known.get(call_id) or known.get(keep_id(call_id))

    def _find_script(self, call_id: str, told: ToolEnd) -> CallDraft | None:
        """Return the script that made a call and stands for it, as for its first and its only one."""
        if not call_id.startswith(_INNER):
            return None
        command = _read_command(told.command)
        calls = (call for turn in reversed(self.session.turns) for call in reversed(turn.calls))
        for call in itertools.islice(calls, _MAX_SCRIPTS):
            stands_for = call.command == command or (call.command is None and not call.closed)
            if call.name == _SCRIPT and call.exit_code is None and stands_for:
                return call
        return None


def _unwrap(value: Any) -> Any:
    """Arguments are JSON in a string; what a custom tool is given is a string that may be anything."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            inner = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            inner = decode_any(msgspec.Raw(value.encode("utf-8", "replace")))
        return inner if isinstance(inner, dict) else value
    return value


def _join_texts(value: dict[str, Any]) -> str:
    """Return the texts in arguments that may hold a patch, each from the beginning of a line."""
    texts: list[str] = []
    for item in value.values():
        words = item if isinstance(item, list) else (item,)
        texts += [word for word in words if isinstance(word, str) and "*** Begin Patch" in word]
    return "\n".join(texts)


def _read_command(raw: msgspec.Raw) -> str | None:
    value = decode_any(raw)
    if isinstance(value, list):
        return patches.join_words(value)
    return value if isinstance(value, str) else None


def ended_as_usual(told: ToolEnd) -> bool:
    """Tell of a command the agent ran, as nearly all are, that it ended well."""
    return (
        told.type == "CommandExecution"
        and told.source not in _NOT_THE_AGENT
        and told.changes is NULL
        and _has_ended_well(told)
    )


def _has_ended_well(told: ToolEnd) -> bool:
    """Tell, of nearly all that did, that a tool ended well."""
    return (
        told.status == "completed"
        and not told.exit_code
        and told.success is None
        and told.error is NULL
        and told.result is NULL
    )


def _read_error(told: ToolEnd) -> str | None:
    """Return the text of an end that was no good; None when it was."""
    if told.exit_code:
        return _read_output(told) or f"exit code {told.exit_code}"
    error = decode_any(told.error)
    if isinstance(error, dict):
        error = error.get("message")
    if isinstance(error, str) and error:
        return error
    result = decode_any(told.result)
    if isinstance(result, dict):
        failure = result.get("Err")
        if isinstance(failure, str):
            return failure
        answer = result.get("Ok", result)
        if isinstance(answer, dict) and (answer.get("isError") or answer.get("is_error")):
            return str(answer.get("content"))
    if told.success is False or told.status in {"failed", _DECLINED}:
        return told.stderr or _read_output(told) or told.status or "failed"
    return None


def _read_output(told: ToolEnd) -> str:
    output = decode_any(told.aggregated_output)
    return output if isinstance(output, str) and output else told.stderr or ""
