"""Requests of a chat session into turns."""

from __future__ import annotations

import re

from skillopt_harvesters.calls import CallDraft, clip
from skillopt_harvesters.claims import Copies, mark_of
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Signal, Tokens
from skillopt_harvesters.sources.copilot import words
from skillopt_harvesters.sources.vscode.parts import Piece, drop_early_text
from skillopt_harvesters.sources.vscode.requests import Ask
from skillopt_harvesters.turns import MAX_ANSWER, MAX_PROMPT, TurnDraft

_EDITOR = re.compile(r"edit|patch|create|replace|insert|write", re.IGNORECASE)
# A code block whose text went into a file leaves its fences behind.
_EMPTY_FENCES = re.compile(r"```[\w+-]*\s*```")


def count_hollow(session: SessionDraft, ask: Ask) -> Ask:
    """Count a request whose prompt is not where it should be; return the request."""
    if ask.hollow and ask.is_ours:
        session.meet_unknown("request/(none)")
    return ask


def add_turn(session: SessionDraft, ask: Ask, copies: Copies) -> None:
    """Add a request to a session: a turn, or, when nobody typed it, what goes on in the one before."""
    if not ask.is_ours:
        return
    found = words.find_words(ask.text)
    command = found.command or ask.command
    asks = bool(found.prompt or command) and not ask.automatic
    copied = False
    if ask.id:
        mark = mark_of(ask.id)
        copied = copies.opens_copy(mark) if asks or session.turn is None else copies.is_copy(mark)
    if not copied:
        session.see(ask.started)
        session.see(ask.ended)
        session.model = ask.model or session.model
        session.client_version = ask.version or session.client_version
    turn = session.turn
    if asks:
        draft = TurnDraft(prompt=found.prompt, command=command, started=ask.started, copied=copied)
        draft.abandoned = bool(ask.withdrawn)
        turn = session.open_turn(draft)
    elif ask.hollow and not ask.automatic:
        turn = session.miss_prompt(ask.started, copied=copied)
        turn.abandoned = bool(ask.withdrawn)
    elif turn is None:
        turn = session.open_turn(TurnDraft(typed=False, started=ask.started, copied=copied))
    elif turn.copied != copied:
        if copied:
            return
        turn = session.go_on_by_itself(ask.started)
    _fill(turn, ask)
    if not copied and ask.tokens != Tokens():
        turn.count(ask.id, ask.tokens)


def _fill(turn: TurnDraft, ask: Ask) -> None:
    """Put a response into a turn. The text between two calls is one message, however many parts it has."""
    drop_early_text(ask.pieces)
    text: list[str] = []
    for number, piece in enumerate(ask.pieces):
        if piece.kind == "text":
            text.append(piece.text)
        elif piece.kind == "clear":
            text = []
        elif piece.kind == "call":
            _say(turn, f"{ask.id}/{number}", text)
            text = []
            _add_call(turn, piece, cancelled=bool(ask.cancelled))
        elif piece.kind == "edit":
            _add_edit(turn, piece)
        elif piece.kind == "rejected":
            turn.signals.add(Signal.REFUSAL)
            turn.refusals.extend([clip(piece.text.strip(), MAX_PROMPT)] if piece.text.strip() else [])
    _say(turn, f"{ask.id}/end", text)
    if ask.cancelled:
        turn.signals.add(Signal.INTERRUPTION)
    elif ask.failed:
        turn.signals.add(Signal.ERROR)


def _say(turn: TurnDraft, message: str, text: list[str]) -> None:
    joined = _EMPTY_FENCES.sub("", "".join(text)).strip()
    if joined:
        turn.say(message, clip(joined, MAX_ANSWER))


def _add_call(turn: TurnDraft, piece: Piece, *, cancelled: bool) -> None:
    call = CallDraft(
        name=piece.name,
        id=piece.id,
        digest=piece.digest,
        command=piece.command,
        exit_code=piece.exit_code,
        closed=True,
    )
    if piece.error is not None:
        call.fail(piece.error)
    turn.add_call(call)
    if piece.refused and not cancelled:
        turn.signals.add(Signal.REFUSAL)
    if piece.skill:
        turn.skills[piece.skill] = None


def _add_edit(turn: TurnDraft, piece: Piece) -> None:
    """Note a written file with the call that wrote it, or as an edit without one."""
    last = turn.calls[-1] if turn.calls else None
    if last is None or not _EDITOR.search(last.name):
        last = CallDraft(name=piece.name, closed=True)
        turn.add_call(last)
    if piece.text and piece.text not in last.files and len(last.files) < words.MAX_FILES:
        last.files.append(piece.text)
