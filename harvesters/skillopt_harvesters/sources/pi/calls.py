"""Tool calls of pi: their arguments, how they ended, and those that a script of the agent made."""

from __future__ import annotations

import re
from pathlib import PurePath, PureWindowsPath

from skillopt_harvesters.calls import MAX_COMMAND, CallDraft, clip, digest_of
from skillopt_harvesters.sources.loose import decode_as
from skillopt_harvesters.sources.pi.records import Arguments, Block, Message, NestedCall
from skillopt_harvesters.turns import TurnDraft

_SHELL_TOOLS = frozenset({"bash", "powershell"})
_WRITING_TOOLS = frozenset({"write", "edit"})
_EXIT_CODE = re.compile(r"\bCommand exited with code (\d{1,10})\s*\Z")
_STOPPED = re.compile(r"\b(?:Command|Operation) aborted\s*\Z")


def take_call(turn: TurnDraft, block: Block, folder: str) -> None:
    """Add a call to a turn. Paths in its arguments are relative to `folder`, as often as not."""
    call = CallDraft(name=block.name or "", id=block.id or "", digest=digest_of(bytes(block.arguments)))
    _note_arguments(turn, call, decode_as(block.arguments, Arguments) or Arguments(), folder)
    turn.add_call(call)


def take_nested(turn: TurnDraft, inner: NestedCall, folder: str) -> None:
    """Add a call that a script of the agent made; the client keeps how it ended."""
    call = CallDraft(name=inner.name or "", digest=digest_of(bytes(inner.arguments)), closed=True)
    _note_arguments(turn, call, decode_as(inner.arguments, Arguments) or Arguments(), folder)
    if inner.status == "ok":
        call.exit_code = 0 if call.name in _SHELL_TOOLS else None
    elif inner.status == "error":
        _fail(call, inner.error or "failed")
    turn.add_call(call)


def end_call(call: CallDraft, message: Message) -> bool:
    """Note how a call ended; tell whether the user stopped it."""
    if not message.is_error:
        call.exit_code = 0 if call.name in _SHELL_TOOLS else None
        return False
    _fail(call, message.text)
    return was_stopped(message)


def was_stopped(message: Message) -> bool:
    """Tell whether the user stopped the call that a result belongs to."""
    return bool(message.is_error) and _STOPPED.search(message.text[-200:]) is not None


def _fail(call: CallDraft, error: str) -> None:
    call.fail_at_end(error)
    code = _EXIT_CODE.search(error[-200:])
    call.exit_code = int(code[1]) if code and call.name in _SHELL_TOOLS else None


def _note_arguments(turn: TurnDraft, call: CallDraft, given: Arguments, folder: str) -> None:
    path = given.path or given.file_path or ""
    if call.name in _SHELL_TOOLS:
        call.command = given.command and clip(given.command, MAX_COMMAND)
    elif call.name in _WRITING_TOOLS and path:
        call.files = [_resolve(path, folder)]
    elif call.name == "read" and PureWindowsPath(path).name == "SKILL.md":
        turn.skills[PureWindowsPath(path).parent.name] = None


def _resolve(path: str, folder: str) -> str:
    absolute = path.startswith(("/", "~")) or PureWindowsPath(path).is_absolute()
    return path if absolute or not folder else str(PurePath(folder) / path)
