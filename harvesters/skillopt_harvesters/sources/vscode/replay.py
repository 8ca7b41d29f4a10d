"""A chat session's log of operations, replayed.

Each line changes one state: 0 sets all of it, 1 a value at a path, 2 cuts a list and appends to it, 3 deletes
a value. Only what is kept of a request is held, and of all but the last requests nothing: they are settled.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_harvesters.claims import Copies, mark_of
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.sources.loose import NULL, decode_any, decode_line, opening_of
from skillopt_harvesters.sources.skim import Skimmer
from skillopt_harvesters.sources.vscode.documents import iterate_requests
from skillopt_harvesters.sources.vscode.operations import (
    ALL,
    DELETE,
    PUSH,
    SET,
    Operation,
    change_response,
    items_of,
    wanted_at,
)
from skillopt_harvesters.sources.vscode.requests import Ask, read_request
from skillopt_harvesters.sources.vscode.state import HEADER, field_of, read_state, take_header
from skillopt_harvesters.sources.vscode.turns import add_turn, count_hollow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# Requests that may still change. The client changes the last one only, and cuts when the user goes back.
OPEN = 2


class Rewound(Exception):
    """An operation reaches back to a request that was settled: the log must be replayed without settling."""


class Memory(msgspec.Struct):
    """What a reading of a log remembers beside the settled session.

    `settled` requests stand before the open ones in the list. When there are open ones, the next reading
    takes the line `again` that brought the first; `skip` requests of that line are settled. `muted` are
    requests that were read before the client forgot them, `known` all that were settled. `shown` turns of
    the stored session are those of open requests.
    """

    settled: int = 0
    again: bool = False
    skip: int = 0
    muted: list[int] = []
    known: list[int] = []
    shown: int = 0
    copied_from: list[str] = []


class Losses(msgspec.Struct, frozen=True):
    """What a draft counted up to some line."""

    bad: int
    overlong: int
    unknown: dict[str, int]


class Open(msgspec.Struct):
    """An open request. The line that brought it begins at `line`, where `losses` were counted.

    It was the request with the `number` there.
    """

    ask: Ask
    line: int
    number: int
    losses: Losses


class Replay:
    """Takes operations in file order. `draft` has the settled requests, `open` those after them."""

    def __init__(
        self, draft: SessionDraft, memory: Memory, copies: Copies, *, fresh: Callable[[], SessionDraft]
    ) -> None:
        self.draft = draft
        self.memory = memory
        self.copies = copies
        self.open: list[Open] = []
        self.settling = True
        self.resuming = False  # the next line was taken before: only what it brought that is open counts
        self._fresh = fresh
        self._line = 0
        self._number = 0
        self._losses = Losses(0, 0, {})

    def take(self, line: bytes, offset: int) -> None:
        """Take a line that begins at `offset`. Raises `Rewound`."""
        self._start_line(offset)
        operations, bad = decode_line(line, Operation, key="k")
        self.draft.bad += bad
        for operation in operations:
            if operation.kind == ALL:
                self._take_all(operation.v)
            elif operation.kind == DELETE and opening_of(operation.v) in (b"[", b"{"):
                # A bit away from one that appends.
                self.draft.meet_unknown("operation 3 with a value")
            elif operation.kind in {SET, PUSH, DELETE} and operation.k:
                self._take_change(operation, operation.k)
            else:
                self.draft.meet_unknown(f"operation {operation.kind}")
        self.resuming = False

    def take_long(self, skimmer: Skimmer, offset: int) -> None:
        """Take a line that is too long to be held. Raises `Rewound`, and `Torn` when it is broken."""
        self._start_line(offset)
        kind: Any = None
        path: Any = None
        value: bytes = b"null"
        cut: Any = None
        for key in skimmer.members():
            if key == "kind":
                kind = decode_any(skimmer.prune(True))  # noqa: FBT003
            elif key == "k":
                path = decode_any(skimmer.prune(True))  # noqa: FBT003
            elif key == "i":
                cut = decode_any(skimmer.prune(True))  # noqa: FBT003
            elif key == "v" and kind == ALL:
                self._take_all_long(skimmer)
            elif key == "v":
                value = skimmer.prune(wanted_at(path))
        if kind in {SET, PUSH} and isinstance(path, list) and path:
            cut = cut if isinstance(cut, int) else None
            self._take_change(Operation(kind, path, msgspec.Raw(value), cut), path)
        self.resuming = False

    def view(self) -> SessionDraft:
        """Return a draft with the open requests as turns too; this one stays as it is."""
        draft = self.draft
        draft = msgspec.structs.replace(
            draft,
            turns=deepcopy(draft.turns),
            closed=list(draft.closed),
            parents=dict(draft.parents),
            skills_offered=dict(draft.skills_offered),
            usage=dict(draft.usage),
            warnings=list(draft.warnings),
        )
        for place in self.open:
            self._add(draft, place.ask)
        return draft

    def settle(self, keep: int) -> None:
        """Make turns of all but the last requests."""
        while len(self.open) > keep:
            ask = self.open.pop(0).ask
            self._add(self.draft, ask)
            self.memory.settled += 1
            if ask.id:
                self.memory.known.append(mark_of(ask.id))

    def _start_line(self, offset: int) -> None:
        draft = self.draft
        self._line, self._number = offset, 0
        self._losses = Losses(draft.bad, draft.overlong, dict(draft.unknown))

    def _take_all(self, raw: msgspec.Raw) -> None:
        state = read_state(raw)
        if state.requests is msgspec.UNSET:
            self.draft.meet_unknown("state/(none)")
        requests = state.requests or []
        if self.open or self.memory.settled or self.draft.closed_turns:
            self._replace(len(requests))
        for key in HEADER:
            take_header(self.draft, key, decode_any(getattr(state, field_of(key))))
        self._append(read_request(item) for item in requests)

    def _take_all_long(self, skimmer: Skimmer) -> None:
        self._forget()
        for key in skimmer.members():
            if key == "requests":
                self._append(iterate_requests(skimmer, self.draft))
            elif key in HEADER:
                value = decode_any(skimmer.prune(HEADER[key]))
                take_header(self.draft, key, value)

    def _replace(self, count: int) -> None:
        """Make room for a whole new state. A poorer one does not make us forget: clients have lost chats."""
        if self.resuming:
            return
        if count >= self.memory.settled + len(self.open):
            self._forget()
            return
        self.settle(0)
        self.memory.muted = list(self.memory.known)
        self.memory.settled = 0

    def _forget(self) -> None:
        if self.resuming:
            return
        old, self.draft = self.draft, self._fresh()
        self.draft.bad, self.draft.unknown, self.draft.overlong = old.bad, old.unknown, old.overlong
        self.memory = Memory()
        self.open = []

    def _take_change(self, operation: Operation, path: list[str | int]) -> None:
        if path[0] != "requests":
            if is_damaged(str(path[0]), "requests"):
                self.draft.meet_unknown(f"operation on {path[0]}")
            if len(path) == 1 and path[0] in HEADER and operation.kind == SET:
                take_header(self.draft, str(path[0]), decode_any(operation.v))
            return
        if len(path) == 1:
            self._change_list(operation)
            return
        place = self._find(path[1])
        if place is None:
            if len(path) == 2 and operation.kind == SET and opening_of(operation.v) == b"{":
                self._append([read_request(operation.v)])
            return
        if len(path) == 2:
            place.ask = (
                count_hollow(self.draft, read_request(operation.v)) if operation.kind == SET else Ask()
            )
        elif path[2] == "response" and (len(path) > 3 or operation.kind == PUSH):
            change_response(place.ask, operation, path[3:])
        elif len(path) == 3 and operation.kind != PUSH:
            place.ask.take(str(path[2]), operation.v if operation.kind == SET else NULL)
        elif path[2:] == ["message", "text"]:
            place.ask.take("message", operation.v)

    def _change_list(self, operation: Operation) -> None:
        items = items_of(operation.v)
        if opening_of(operation.v) != b"[" and operation.kind != DELETE and operation.i is None:
            self.draft.meet_unknown("operation without requests")
        if operation.kind == PUSH:
            if operation.i is not None and operation.i >= 0 and not self.resuming:
                self._cut(operation.i)
        else:
            self._replace(len(items))
        self._append(read_request(item) for item in items)

    def _cut(self, length: int) -> None:
        kept = length - self.memory.settled
        if kept < 0:
            raise Rewound
        del self.open[kept:]

    def _find(self, index: str | int) -> Open | None:
        try:
            number = int(index) - self.memory.settled
        except ValueError:
            return None
        if number < 0:
            if int(index) < 0:
                return None
            raise Rewound
        return self.open[number] if number < len(self.open) else None

    def _append(self, asks: Iterable[Ask]) -> None:
        for ask in asks:
            self._number += 1
            count_hollow(self.draft, ask)
            if self.memory.skip:
                self.memory.skip -= 1
                continue
            self.open.append(Open(ask, self._line, self._number - 1, self._losses))
            if self.settling:
                self.settle(OPEN)
        self.memory.skip = 0

    def _add(self, draft: SessionDraft, ask: Ask) -> None:
        if not (ask.id and self.memory.muted and mark_of(ask.id) in self.memory.muted):
            add_turn(draft, ask, self.copies)
