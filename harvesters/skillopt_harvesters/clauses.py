"""The clauses of a prompt, and what each of them does."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillopt_harvesters.lexicons.compiled import Phrases

_MAX_CLAUSES = 60
_MAX_WHOLE = 160
_MAX_PEELS = 12
_FEW = 3
_HAN = "\u4e00-\u9fff"
_SENTENCE_END = re.compile(rf"[.!?]+(?=[\s{_HAN}\"'”)*]|\Z)|\n+")
_CLAUSE_END = re.compile(rf"[,;:]+(?=\s|[{_HAN}]|\Z)|(?<=[{_HAN}])[,;:]|\s[-–—]+\s|—")
_GAP = re.compile(r"[\s,.!?;:()\[\]'\"“”*_~…–—\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d-]+")
_APPLAUSE = re.compile("[👍👌🎉✅🙏💯🚀]")
_BOOS = re.compile("[👎😡🤬]")
# What a prompt opens with when it brings a file or a command of its own along.
_MENTION = re.compile(r"@[\w./-]|\$[a-z][\w-]*\s")
_WORD = re.compile(rf"[{_HAN}]{{2}}|[^\s{_HAN}]+")


class Act(str, Enum):
    """What a clause does."""

    PRAISE = "praise"
    CONSENT = "consent"
    DROP = "drop"
    AGAIN = "again"
    CONTRAST = "contrast"
    OBJECTION = "objection"  # says outright that something is not right, or gives a rule
    DENIAL = "denial"  # no: an objection or an answer
    ABSENCE = "absence"  # no trailers
    ASIDE = "aside"  # by the way
    DEMAND = "demand"  # says how something has to be
    TELLING = "telling"  # an instruction or a statement, without a mark of what it is for
    STEP = "step"  # what one does with good work
    ADDITION = "addition"
    ALSO = "also"  # said of a clause that ends with "as well"
    TASK = "task"
    QUESTION = "question"
    REMARK = "remark"


def read_clauses(text: str, lexicons: Sequence[Phrases]) -> list[Act]:
    """Return what the clauses of a folded text do, in order. Each is read in the first lexicon it fits."""
    acts: list[Act] = []
    if not lexicons:
        return acts
    if _MENTION.match(text):
        acts.append(Act.TASK)
    if _APPLAUSE.search(text):
        acts.append(Act.PRAISE)
    if _BOOS.search(text):
        acts.append(Act.OBJECTION)
    for count, (start, end, stop, first, asks) in enumerate(_split(text)):
        if count >= _MAX_CLAUSES:
            break
        fitting = next((one for one in lexicons if one.inside["marks"].search(text, start, end)), lexicons[0])
        found = _Clause(text, start, end, stop, fitting, first=first, asks=asks).read()
        # "In short: ..." says what the next clause is about, "the linter says:" what was pasted below.
        heads = text[end : end + 1] == ":" and found == [Act.TELLING]
        acts.extend([] if heads else found)
    return acts


def _split(text: str) -> Iterator[tuple[int, int, int, bool, bool]]:
    """Yield (start, end, end of sentence, first of its sentence, ends with a question mark) per clause."""
    at = 0
    while at < len(text):
        mark = _SENTENCE_END.search(text, at)
        stop, after = (mark.start(), mark.end()) if mark else (len(text), len(text))
        asks = "?" in text[stop:after]
        start, first = at, True
        while start < stop:
            gap = _CLAUSE_END.search(text, start, stop)
            end = gap.start() if gap else stop
            if _GAP.sub("", text[start:end]):
                yield start, end, stop, first, asks and end == stop
                first = False
            start = gap.end() if gap else stop
        at = after


class _Clause:
    """One clause at work: what stands at its front is taken off piece by piece."""

    def __init__(
        self, text: str, start: int, end: int, stop: int, phrases: Phrases, *, first: bool, asks: bool
    ) -> None:
        self.text, self.at, self.end, self.stop = text, start, end, stop
        self.phrases = phrases
        self.first, self.asks = first, asks
        self.requested = False
        self.object_at = start

    def read(self) -> list[Act]:
        acts: list[Act] = []
        for _ in range(_MAX_PEELS):
            self._skip()
            if self.at >= self.end:
                return acts
            whole = self._read_whole()
            if whole is not None:
                return acts + whole
            if not self._peel(acts):
                break
        if self._holds("too"):
            acts.append(Act.ALSO)
        acts.append(self._read_rest(sequel=Act.ADDITION in acts))
        return acts

    def _peel(self, acts: list[Act]) -> bool:
        """Take one word off the front that says nothing by itself; False when there is none."""
        for name, act in (
            ("contrasts", Act.CONTRAST),
            ("sequels", Act.ADDITION),
            ("additions", Act.ADDITION),
            ("fillers", None),
            ("absences", Act.ABSENCE),
            ("denials", Act.DENIAL),
            ("assents", Act.PRAISE),
            ("requests", None),
        ):
            if self._blocks(name):
                continue
            match = self._begins(name)
            if match and self.at < match.end() <= self.end:
                self.requested = self.requested or name == "requests"
                # "X, and Y" is one instruction; "and Y" goes on from the work.
                if act and (name != "additions" or self.first):
                    acts.append(act)
                self.at = match.end()
                return True
        return False

    def _blocks(self, name: str) -> bool:
        """Whether what looks like a small word opens something that says more."""
        return name != "requests" and bool(
            self._begins("objections") or (name != "additions" and self._begins("prohibitions"))
        )

    def _read_rest(self, *, sequel: bool) -> Act:
        act = self._read_question() or self._read_objection(sequel=sequel)
        return act or self._read_work() or self._read_statement()

    def _read_question(self) -> Act | None:
        if self._begins("doubts"):
            return Act.OBJECTION
        tells = self._begins("pairs_alone") or self._begins("prohibitions")
        asks = self._begins("questions") or (self.asks and not tells)
        return Act.QUESTION if asks and not self.requested else None

    def _read_objection(self, *, sequel: bool) -> Act | None:
        rule = self._begins("prohibitions") or self._begins("pairs_alone")
        if self._begins("objections") or (rule and not sequel):
            return Act.OBJECTION
        return Act.ASIDE if self._begins("asides") else None

    def _read_work(self) -> Act | None:
        """Read what names some work to do. A complaint inside a task describes it, outside it is one."""
        deed = self._read_deed()
        if deed is Act.TASK:
            other_way = self._holds("instead") and self._begins("known", self.object_at)
            return Act.OBJECTION if other_way else deed
        return Act.OBJECTION if self._holds("complaints") or self._holds("instead") else deed

    def _read_statement(self) -> Act:
        if self._holds("obligations"):
            return Act.DEMAND
        if self._holds("asides"):
            return Act.ASIDE
        if self._begins("remarks"):
            return Act.REMARK
        back = self._begins("backward")
        return Act.REMARK if back and self._is_over(back.end()) else Act.TELLING

    def _is_over(self, at: int) -> bool:
        """Whether nothing but small words stands from a place on."""
        at = self._after_gap(at)
        while at < self.end and (filler := self._begins("fillers", at)) and filler.end() > at:
            at = self._after_gap(filler.end())
        return at >= self.end

    def _read_deed(self) -> Act | None:
        self.object_at = self.at
        if self.requested and self._begins("things"):
            return Act.TASK
        for name in ("steps", "adds", "deeds"):
            verb = self._begins(name)
            if verb and verb.end() <= self.end:
                self.object_at = self._after_gap(verb.end())
                return self._weigh(name)
        return None

    def _weigh(self, verb: str) -> Act | None:
        """Say what a verb and its object make: a step, a task of its own, or a change (None).

        To add something known changes the work; to add something new goes on from it. After a deed "for" or
        "in" tells how it is to be done.
        """
        at = self.object_at
        size = len(_WORD.findall(self.text, at, self.end))
        back, known = bool(self._begins("backward", at)), bool(self._begins("known", at))
        if verb == "deeds":
            how = at >= self.end or bool(self._begins("manners", at))
            small = size <= _FEW and (back or known) and not self._begins("things", at)
        else:
            how = verb == "adds" and known
            small = size <= _FEW + 1 or (verb == "steps" and back)
        if how:
            return None
        return Act.STEP if small else Act.TASK

    def _read_whole(self) -> list[Act] | None:
        """Return the acts of a clause that is made of set phrases only, or None."""
        if self.end - self.at > _MAX_WHOLE:
            return None
        dead: set[int] = set()

        def parse(at: int, depth: int) -> list[Act] | None:
            at = self._after_gap(at)
            if at >= self.end:
                return []
            if at in dead or depth > 40:
                return None
            for kind, act in _WHOLE:
                # One pattern for all says quickly, and nearly always, that there is none.
                if not self.phrases.wholes[kind].match(self.text, at, self.end):
                    continue
                ends = {
                    match.end()
                    for piece in self.phrases.pieces[kind]
                    if (match := piece.match(self.text, at, self.end)) and match.end() > at
                }
                for end in sorted(ends, reverse=True):
                    rest = parse(end, depth + 1)
                    if rest is not None:
                        return [act, *rest] if act else rest
            dead.add(at)
            return None

        return parse(self.at, 0)

    def _skip(self) -> None:
        self.at = self._after_gap(self.at)

    def _after_gap(self, at: int) -> int:
        gap = _GAP.match(self.text, at, self.end)
        return gap.end() if gap else at

    def _begins(self, name: str, at: int | None = None) -> re.Match[str] | None:
        return self.phrases.fronts[name].match(self.text, self.at if at is None else at, self.stop)

    def _holds(self, name: str) -> bool:
        return bool(self.phrases.inside[name].search(self.text, self.at, self.end))


_WHOLE = (
    ("praise", Act.PRAISE),
    ("drops", Act.DROP),
    ("repeats", Act.AGAIN),
    ("consent", Act.CONSENT),
    ("sequels", Act.ADDITION),
    ("fillers", None),
)
