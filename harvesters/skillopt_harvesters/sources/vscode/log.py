"""Reading a chat session's log of operations, and going on where the last reading ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.claims import Claims, Copies
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.lines import MAX_LINE
from skillopt_harvesters.salvage import PADDING, is_whole
from skillopt_harvesters.sources.base import Reading, Resume
from skillopt_harvesters.sources.skim import Skimmer, Torn
from skillopt_harvesters.sources.vscode.replay import OPEN, Memory, Replay, Rewound

if TYPE_CHECKING:
    from collections.abc import Callable

_BOM = b"\xef\xbb\xbf"


class OneLine:
    """A stream that ends where a line of another one does."""

    def __init__(self, stream: BinaryIO, start: int) -> None:
        self.stream = stream
        self.start = start
        self.ended = False

    def read(self, size: int, /) -> bytes:
        if self.ended:
            return b""
        chunk = self.stream.readline(size)
        self.ended = chunk.endswith(b"\n")
        return chunk

    def seek(self, offset: int, /) -> int:
        self.ended = False
        return self.stream.seek(self.start + offset)


def replay_all(stream: BinaryIO, replay: Replay, offset: int) -> int:
    """Take the lines from `offset` on; return where the last whole one ends. Raises `Rewound`.

    One that is too long to be held is taken in place. A last line without an end counts if it is whole.
    """
    stream.seek(offset)
    while line := stream.readline(MAX_LINE):
        start, offset = offset, offset + len(line)
        if len(line) == MAX_LINE and not line.endswith(b"\n"):
            end = _take_long(stream, replay, start)
            if end is None:
                return start
            offset = end
            continue
        text = line.removeprefix(_BOM).strip(PADDING)
        if not line.endswith(b"\n") and not is_whole(text):
            return start
        if text:
            replay.take(text, start)
    return offset


def _take_long(stream: BinaryIO, replay: Replay, start: int) -> int | None:
    """Take a line where it lies; return where it ends, None when it is not whole."""
    line = OneLine(stream, start)
    line.seek(0)
    while line.read(1024 * 1024):
        pass
    end = stream.tell()
    if not line.ended and not _is_whole(line):
        return None
    line.seek(0)
    try:
        replay.take_long(Skimmer(line), start)
    except Torn:
        replay.draft.bad += 1
        replay.resuming = False
    stream.seek(end)
    return end


def _is_whole(line: OneLine) -> bool:
    line.seek(0)
    skimmer = Skimmer(line)
    try:
        skimmer.skip()
    except Torn:
        return False
    return skimmer.peek() == -1


def read_log(
    file: BinaryIO, fresh: Callable[[], SessionDraft], claims: Claims, resume: Resume | None
) -> Reading:
    """Read a log; `fresh` makes an empty session. The offset is that of the first request still open."""
    for settling in (True, False):
        replay, offset = _start(fresh, claims, resume if settling else None)
        replay.settling = settling
        try:
            offset = replay_all(file, replay, offset)
        except Rewound:
            continue
        break
    session = replay.view().close()
    replay.copies.settle()
    replay.settle(OPEN)
    draft, memory = replay.draft, replay.memory
    memory.copied_from = list(replay.copies.sessions)
    memory.shown = len(session.turns) - len(draft.closed) - sum(not turn.copied for turn in draft.turns)
    memory.again, memory.skip = bool(replay.open), 0
    if replay.open:
        first = replay.open[0]
        offset, memory.skip = first.line, first.number
        draft.bad, draft.overlong, draft.unknown = (
            first.losses.bad,
            first.losses.overlong,
            first.losses.unknown,
        )
    state = msgspec.msgpack.encode((draft.freeze(), memory))
    return Reading(session=session, offset=offset, state=state)


def _start(fresh: Callable[[], SessionDraft], claims: Claims, resume: Resume | None) -> tuple[Replay, int]:
    empty = fresh()
    name = f"{empty.client}/{empty.id}"
    if resume and resume.session and resume.state:
        try:
            frozen, memory = msgspec.msgpack.decode(resume.state, type=tuple[bytes, Memory])
        except (msgspec.DecodeError, RecursionError):
            frozen, memory = b"", Memory()
        turns = resume.session.turns
        settled = msgspec.structs.replace(resume.session, turns=turns[: len(turns) - memory.shown])
        draft = SessionDraft.thaw(frozen, settled)
        if draft is not None:
            draft.path = empty.path
            copies = Copies(name, claims, copied_from=memory.copied_from, resumed=True)
            replay = Replay(draft, memory, copies, fresh=fresh)
            replay.resuming = memory.again
            return replay, resume.offset
    return Replay(empty, Memory(), Copies(name, claims), fresh=fresh), 0
