"""A session of OpenCode, message by message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.claims import Claims, Copies, mark_of
from skillopt_harvesters.damage import is_damaged
from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.records import Kind, Session, Signal, Tokens
from skillopt_harvesters.sources.base import is_own_folder
from skillopt_harvesters.sources.opencode.records import Head, Message, Part
from skillopt_harvesters.sources.opencode.tools import add_tool, find_line
from skillopt_harvesters.sources.opencode.words import announces_shell, find_words
from skillopt_harvesters.times import to_utc
from skillopt_harvesters.turns import TurnDraft

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CLIENT = "opencode"
_MAX_ID = 200
_MAX_KNOWN = 64
_NOTHING = Tokens()


class Talk:
    """Takes the messages of one session in order.

    A session is read whole each time it changed, since the client changes and removes what it wrote. Forks
    get new ids: what is copied is told by its times and words. `is_headless` tells of another session whether
    a program began it; a fork of such a one is a program's too.
    """

    def __init__(
        self, head: Head, path: str, claims: Claims, *, is_headless: Callable[[str], bool] | None = None
    ) -> None:
        self.session = SessionDraft(
            id=head.id,
            client=CLIENT,
            path=path,
            client_version=head.version,
            project=head.folder,
            parent=head.parent,
        )
        self.kind = Kind.SUBAGENT if head.parent else Kind.HEADLESS if head.headless else Kind.HUMAN
        self._copies = Copies(f"{CLIENT}/{head.id}", claims)
        self._is_headless = is_headless
        self._created = to_utc(head.created)
        self._reverted = head.reverted
        self._undone = False
        self._bad = 0
        self._damaged = False
        self._lost = False
        self._turns: dict[str, TurnDraft] = {}
        self._announcement: Message | None = None
        self._unfinished: tuple[TurnDraft, int] | None = None
        self._enter(head.folder)

    def take(self, message: Message) -> None:
        """Take the next message. Raises nothing: what cannot be used is counted in `session`."""
        if self._reverted and message.id == self._reverted:
            self._undone = True
        self._damaged = self._damaged or self._count_bad() > self._bad
        self._bad = self._count_bad()
        announcement, self._announcement = self._announcement, None
        if message.role == "user":
            self._take_user(message)
        elif message.role == "assistant":
            self._take_assistant(message, announcement)
        elif message.role == "shell" and any(part.hollow for part in message.parts):
            self._lose_text(message.role)
        elif message.role == "shell":
            self._open(message, "".join(part.text for part in message.parts), "!")
        else:
            self.session.meet_unknown(f"message/{message.role or '(none)'}")
            if _may_ask(message) and any(part.text.strip() for part in message.parts):
                self.lose_prompt()

    def finish(self) -> Session:
        """Return the session."""
        self.session.kind = self.kind
        if self.session.started is None:
            self.session.see(self._created)
        self._copies.settle()
        return self.session.close()

    def _enter(self, folder: str | None) -> None:
        if folder:
            self.session.project = self.session.project or folder
            if is_own_folder(folder):
                self.kind = Kind.REPLAY

    def lose_prompt(self) -> None:
        """Note that a prompt cannot be read: the next answer is not to the one before."""
        self._damaged = self._lost = True

    def _lose_text(self, role: str) -> None:
        self.session.meet_unknown(f"{role}/text")
        self.lose_prompt()

    def _count_bad(self) -> int:
        return self.session.bad + self.session.overlong

    def _take_user(self, message: Message) -> None:
        parts = list(message.parts)
        if not parts and self._count_bad() == self._bad:
            # A message's parts are written with it, or right after: then it is read once more.
            self.session.meet_unknown("user/(nothing)")
            self.lose_prompt()
            return
        damaged = [part.kind or "(none)" for part in parts if part.hollow or _is_damaged_text(part)]
        for kind in damaged:
            self.session.meet_unknown(f"user/{kind}")
        texts = [part for part in parts if part.kind == "text" and part.text.strip()]
        typed = [part.text for part in texts if not part.synthetic]
        task = next((part for part in parts if part.kind == "subtask" and part.text), None)
        if task:
            # The prompt is what the command's template became with what was typed after the command.
            words = find_words(task.text)
            self._open(message, words.prompt, words.command or (f"/{task.name}" if task.name else None))
        elif typed:
            words = find_words("\n\n".join(typed))
            self._open(message, words.prompt, words.command)
        elif any(announces_shell(part.text) for part in texts):
            self._announcement = message
        elif any(part.kind == "file" for part in parts) and not damaged:
            self._open(message, "", None)
        elif damaged or self._count_bad() > self._bad:
            self.lose_prompt()
        elif self.session.turn is not None:
            # The client has the agent go on: after a summary, or when a sub-agent answered.
            self._remember(message.id, self.session.turn)

    def _open(self, message: Message, prompt: str, command: str | None) -> None:
        self._damaged = self._lost = False
        copied = self._is_copy(message, prompt, opens=True)
        time = to_utc(message.created)
        if not copied:
            self.session.see(time)
        draft = TurnDraft(
            prompt=prompt,
            command=command,
            typed=self.kind is Kind.HUMAN,
            started=time,
            copied=copied,
            abandoned=self._undone,
        )
        self._remember(message.id, self.session.open_turn(draft))

    def _is_copy(self, message: Message, words: str, *, opens: bool) -> bool:
        mark = mark_of(f"{message.role}/{message.created}/{message.completed}/{message.agent}/{words}")
        if not opens:
            return self._copies.is_copy(mark)
        copied = self._copies.opens_copy(mark)
        if copied and self.kind is Kind.HUMAN and self._is_headless and not self.session.turns:
            owners = (owner.partition("/")[2] for owner in self._copies.sessions)
            if any(self._is_headless(owner) for owner in owners):
                self.kind = Kind.HEADLESS
        return copied

    def _remember(self, message: str, turn: TurnDraft) -> None:
        self._turns[message] = turn
        if len(self._turns) > _MAX_KNOWN:
            del self._turns[next(iter(self._turns))]

    def _take_assistant(self, message: Message, announcement: Message | None) -> None:
        parts: Iterable[Part] = message.parts
        if announcement is not None and message.parent in {announcement.id, ""}:
            parts = list(parts)
            line = find_line(parts)
            if line:
                self._open(announcement, line, "!")
                return
        turn = self._find_turn(message.parent)
        answers = announcement.id if announcement is not None else ""
        # A fork's answers may name the messages that it was copied from.
        is_lost = self._damaged and message.parent not in {"", answers, *self._turns}
        # The second format does not tell what is answered.
        is_lost = is_lost or (self._lost and not message.parent)
        is_lost = is_lost and not (turn and turn.is_untouched)
        copied = self._is_copy(message, "", opens=turn is None or is_lost)
        if turn is None or is_lost:
            turn = self._open_without_prompt(message, copied=copied, is_lost=turn is not None)
        elif turn.copied and not copied:
            turn = self.session.go_on_by_itself(to_utc(message.created))
            turn.abandoned = self._undone
            self._remember(message.parent, turn)
        if not copied:
            self._note(message)
        if message.summary or (copied and not turn.copied):
            spent = self._take_parts(message, parts, None)
        else:
            self._note_end(message, turn)
            spent = self._take_parts(message, parts, turn)
        if spent != _NOTHING and not copied:
            apart = turn.copied or message.summary
            (self.session if apart else turn).count(message.id, spent)

    def _open_without_prompt(self, message: Message, *, copied: bool, is_lost: bool) -> TurnDraft:
        """Open a turn for an answer to a message that is not there."""
        time = to_utc(message.created)
        if is_lost:
            turn = self.session.miss_prompt(time, copied=copied)
            turn.abandoned = self._undone
        else:
            turn = TurnDraft(typed=False, copied=copied, started=time, abandoned=self._undone)
            turn = self.session.open_turn(turn)
        self._damaged = self._lost = False
        self._remember(message.parent, turn)
        return turn

    def _take_parts(self, message: Message, parts: Iterable[Part], turn: TurnDraft | None) -> Tokens:
        """Take the parts one by one, into a turn if they belong to one; return the tokens of the message.

        Old versions keep all steps of a turn in one message. Then each step tells its own tokens and the
        message only the last one's, and the answer is what comes after the last call.
        """
        spent, step = _NOTHING, 0
        for part in parts:
            if part.kind == "step" and part.tokens:
                spent = spent.plus(part.tokens)
            elif turn is None:
                continue
            elif part.kind == "text" and part.text.strip() and not part.synthetic:
                turn.say(f"{message.id}/{step}", part.text)
            elif part.kind == "tool":
                step += 1
                add_tool(turn, part, typed=self.kind is Kind.HUMAN)
        return spent if spent != _NOTHING else message.tokens or _NOTHING

    def _find_turn(self, parent: str) -> TurnDraft | None:
        """Return the turn a message answers in; the last one when that is not known any more."""
        turn = self._turns.get(parent)
        if turn is not None and any(turn is opened for opened in self.session.turns):
            return turn
        return self.session.turn

    def _note(self, message: Message) -> None:
        self.session.see(to_utc(message.created))
        self.session.see(to_utc(message.completed))
        self.session.model = message.model or self.session.model
        self._enter(message.folder)

    def _note_end(self, message: Message, turn: TurnDraft) -> None:
        """Note how an answer ended. One that never did was stopped, if the agent answered again later."""
        before = self._unfinished
        if before is not None and before[0] is not turn:
            self._mark_stopped(*before)
        self._unfinished = None
        if message.stopped:
            turn.signals.add(Signal.INTERRUPTION)
        elif message.failed:
            turn.signals.add(Signal.ERROR)
        elif message.completed is None:
            opened = [other for other in self.session.turns if not other.copied]
            after = len(opened) - next((at for at, other in enumerate(opened) if other is turn), len(opened))
            self._unfinished = turn, len(self.session.closed) + len(opened) - after

    def _mark_stopped(self, turn: TurnDraft, place: int) -> None:
        """Mark a turn by its place among the session's own, where it is closed already."""
        turn.signals.add(Signal.INTERRUPTION)
        closed = self.session.closed
        if not turn.copied and place < len(closed):
            signals = {*closed[place].signals, Signal.INTERRUPTION}
            ordered = tuple(sorted(signals, key=lambda signal: signal.value))
            closed[place] = msgspec.structs.replace(closed[place], signals=ordered)


def _may_ask(message: Message) -> bool:
    """Tell whether a message of no known role was the user's; an answer has more than its parts."""
    if message.role:
        return is_damaged(message.role, "user")
    return not (message.parent or message.model or message.tokens)


def _is_damaged_text(part: Part) -> bool:
    return bool(part.text.strip()) and (not part.kind or is_damaged(part.kind, "text"))
