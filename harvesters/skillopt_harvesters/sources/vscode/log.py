"""Reading a chat session's log of operations, and going on where the last reading ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import msgspec

from skillopt_harvesters.claims import Claims, Copies
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.lines import LineReader
from skillopt_harvesters.sources.base import Reading, Resume
from skillopt_harvesters.sources.skim import Skimmer, Torn
from skillopt_harvesters.sources.vscode.replay import OPEN, Memory, Replay, Rewound

if TYPE_CHECKING:
    from collections.abc import Callable


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


class LogLines(LineReader):
    """Lines of a log. One that is too long to be held is taken in place, without being held."""

    def __init__(self, stream: BinaryIO, replay: Replay, *, offset: int) -> None:
        super().__init__(stream, offset=offset)
        self.replay = replay
        self.begin = offset

    def replay_all(self) -> None:
        """Take all lines. Raises `Rewound`."""
        for end, line in self:
            self.replay.take(line, self.begin)
            self.begin = end

    def _skip_overlong(self, length: int) -> bool:
        line = OneLine(self.stream, self.offset)
        line.seek(0)
        while line.read(1024 * 1024):
            pass
        end = self.stream.tell()
        whole = line.ended or _is_whole(line)
        if whole:
            line.seek(0)
            try:
                self.replay.take_long(Skimmer(line), self.offset)
            except Torn:
                self.replay.draft.bad += 1
                self.replay.resuming = False
            self.stream.seek(end)
            self.offset = self.begin = end
        return whole


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
        file.seek(offset)
        lines = LogLines(file, replay, offset=offset)
        try:
            lines.replay_all()
        except Rewound:
            continue
        break
    session = replay.view().close()
    replay.copies.settle()
    replay.settle(OPEN)
    draft, memory = replay.draft, replay.memory
    memory.copied_from = list(replay.copies.sessions)
    memory.shown = len(session.turns) - len(draft.closed) - sum(not turn.copied for turn in draft.turns)
    offset = lines.offset
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
