"""Tool calls: what they were given and how they ended."""

from __future__ import annotations

import re

from skillopt_harvesters.calls import MAX_COMMAND, MAX_ERROR, CallDraft, clip, digest_of
from skillopt_harvesters.records import Signal
from skillopt_harvesters.sources.loose import decode_as
from skillopt_harvesters.sources.opencode.records import Given, Part
from skillopt_harvesters.sources.opencode.words import find_refusal
from skillopt_harvesters.turns import TurnDraft

_SHELLS = frozenset({"bash", "shell", "powershell"})
_WRITERS = frozenset({"write", "edit", "multiedit", "patch", "apply_patch"})
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (?P<path>.{1,4096})$", re.MULTILINE)
_MAX_FILES = 200
_MAX_NAME = 200


def add_tool(turn: TurnDraft, part: Part, *, typed: bool) -> None:
    """Add a call to a turn, with the signals it gives; `typed` is whether a person is there to refuse."""
    given = decode_as(part.input, Given) or Given()
    call = CallDraft(name=part.name, id=part.call, digest=digest_of(bytes(part.input)), closed=part.ended)
    if part.name in _SHELLS:
        call.command = given.command and clip(given.command, MAX_COMMAND)
        call.exit_code = part.exit_code if part.ended else None
    elif part.name in _WRITERS:
        path = given.file_path or given.path
        patched = _PATCHED.findall(given.patch_text or "")[:_MAX_FILES]
        call.files = [path] if path else list(dict.fromkeys(patched))
    elif part.name == "skill" and given.name and part.ended and part.error is None:
        turn.skills[clip(given.name, _MAX_NAME)] = None
    if part.error is not None:
        call.error = clip(part.error, MAX_ERROR)
        _note_refusal(turn, part, typed=typed)
    elif call.exit_code:
        call.fail_at_end(part.output or f"exit code {call.exit_code}")
    turn.add_call(call)


def find_line(parts: list[Part]) -> str | None:
    """Return the line that the first call of a shell in a message runs."""
    for part in parts:
        if part.kind == "tool" and part.name in _SHELLS:
            given = decode_as(part.input, Given)
            return given.command if given else None
    return None


def _note_refusal(turn: TurnDraft, part: Part, *, typed: bool) -> None:
    """Only a person refuses: `opencode run` turns down what it may not ask about in the same words.

    Another program's tool, which is named after its server, may call its error whatever it likes.
    """
    refusal = find_refusal(part.error or "") if typed else None
    if refusal:
        turn.signals.add(Signal.REFUSAL)
        if refusal.words and ("_" not in part.name or part.name in _WRITERS):
            turn.refusals.append(refusal.words)
