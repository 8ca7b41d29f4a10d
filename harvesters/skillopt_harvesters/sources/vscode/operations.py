"""Operations of a chat session's log, and what is wanted of their values."""

from __future__ import annotations

from typing import Any

import msgspec

from skillopt_harvesters.sources.loose import NULL, decode_any, opening_of
from skillopt_harvesters.sources.skim import Wanted
from skillopt_harvesters.sources.vscode.parts import (
    MAX_TEXT,
    Piece,
    drop_early_text,
    find_markdown,
    read_piece,
    read_pieces,
)
from skillopt_harvesters.sources.vscode.requests import REQUEST, Ask
from skillopt_harvesters.sources.vscode.state import HEADER

ALL, SET, PUSH, DELETE = 0, 1, 2, 3


class Operation(msgspec.Struct, frozen=True, gc=False):
    """A line. `k` is a path of keys and indices, which some write as text."""

    kind: int | None = None
    k: list[str | int] | None = None
    v: msgspec.Raw = NULL
    i: int | None = None


def wanted_at(path: Any) -> Wanted:
    """Return what is wanted of a value that is set, or pushed, at a path."""
    steps = [step for step in path if not isinstance(step, int) and not str(step).isdigit()] if path else []
    if steps[:1] != ["requests"]:
        return True if steps and steps[0] in HEADER else {}
    wanted: Any = [REQUEST] if len(path) == 1 else REQUEST
    for step in steps[1:]:
        wanted = wanted[0] if isinstance(wanted, list) else wanted
        wanted = wanted.get(step, {}) if isinstance(wanted, dict) else wanted
    return wanted  # type: ignore[no-any-return]


def items_of(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """Return the items of a list; none when it is something else."""
    if opening_of(raw) != b"[":
        return []
    try:
        return _decode_list(raw)
    except (msgspec.DecodeError, RecursionError):
        value = decode_any(raw)
        return [msgspec.Raw(msgspec.json.encode(item)) for item in value] if value else []


_decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def change_response(ask: Ask, operation: Operation, path: list[str | int]) -> None:
    """Cut and append the parts of a response, or set one of them."""
    if not path:
        if operation.i is not None and operation.i >= 0:
            del ask.pieces[operation.i :]
        pushed = read_pieces(operation.v) if opening_of(operation.v) == b"[" else []
        ask.pieces.extend(pushed)
        ask.pushed += sum(len(piece.text) for piece in pushed)
        if ask.pushed > MAX_TEXT:
            # Not after every operation: each would look at all pieces before it.
            drop_early_text(ask.pieces)
            ask.pushed = 0
        return
    try:
        place = int(path[0])
    except ValueError:
        return
    if not 0 <= place <= len(ask.pieces):
        return
    if place == len(ask.pieces):
        ask.pieces.append(Piece())
    if len(path) == 1:
        ask.pieces[place] = read_piece(operation.v) if operation.kind == SET else Piece()
    elif path[1] in {"value", "content"} and operation.kind == SET:
        # Markdown that goes on is set by its text.
        ask.pieces[place] = Piece(kind="text", text=find_markdown(operation.v))
