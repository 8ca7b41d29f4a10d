"""One sentence of a correction, read with the phrases of one language."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.folding import fold_marks
from skillopt_harvesters.lexicons.compiled import QUOTED
from skillopt_harvesters.redact import redact_within
from skillopt_harvesters.vocabulary import looks_like_command, names_program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.lexicons.compiled import Phrases

MAX_QUOTE = 300
_MAX_WORDS = 25
_HAN = "\u4e00-\u9fff"
_QUOTED = re.compile(QUOTED)
_QUOTE_MARK = re.compile(r"[`\"“]|(?<!\w)'")
_CODE_MARK = re.compile(r"\d|[_()=/:#<>$@+*\[\]{}]|\w\.\w|--")
_NAME = re.compile(r"\b[A-Z]")
_CLAUSE_END = re.compile(rf"(?:[.,;!?–—]|(?<!says)(?<!said):)(?=[\s{_HAN}])|(?<=[{_HAN}])[.,;:!?]")
_MARKS = "`\"“'"


class Correction(msgspec.Struct, frozen=True):
    """What the user wanted and did not want; both None when only the complaint is clear.

    `general` is True for an instruction ("use X, not Y"), False for a fact about one answer ("it should be
    X"). `literal` is True when a fragment was quoted or looks like code or a number, so that it can be looked
    for as it stands. `tools` are the fragments the user called tools. `quote` is redacted.
    """

    wanted: str | None
    unwanted: str | None
    quote: str
    general: bool = True
    literal: bool = False
    tools: tuple[str, ...] = ()


class _Fragment(msgspec.Struct, frozen=True):
    """A piece of the text, `raw` with its marks and `text` without; `tool` when it was called one."""

    raw: str
    text: str
    tool: bool

    @property
    def is_literal(self) -> bool:
        """Whether it stands for itself: quoted, code or a number. "JSON" alone is a format, no text."""
        raw = fold_marks(self.raw)
        return bool(_QUOTE_MARK.search(raw) or _CODE_MARK.search(raw))


class Sentence:
    """One sentence, as it stands in the text and with its marks folded."""

    def __init__(self, original: str, folded: str, phrases: Phrases) -> None:
        self.original, self.folded, self.phrases = original, folded, phrases

    def find(self, quote: str) -> Correction | None:
        for pattern in self.phrases.forms["pairs"]:
            match = pattern.search(self.folded)
            # "Never change X to Y" wants no Y.
            if not match or self._is_denied(self._lead(match.start())):
                continue
            wanted, unwanted = self._take(match, "wanted", tail=True), self._take(match, "unwanted")
            if wanted and unwanted and wanted.text != unwanted.text:
                general = any(map(str.isalpha, wanted.text))
                return _correct(wanted, unwanted, quote, general=general)
        fact = self._find_fact()
        if fact:
            return _correct(*fact, quote, general=False)
        wanted, denied = self._find_wanted()
        unwanted = self._find_unwanted_command() or self._find_unwanted() or denied
        if wanted and unwanted and wanted.text == unwanted.text:
            wanted = None
        return _correct(wanted, unwanted, quote) if wanted or unwanted else None

    def _find_fact(self) -> tuple[_Fragment, _Fragment | None] | None:
        """Return what one answer should have been: "it should be X", "it must print X"."""
        match = self._search("facts")
        printed = self._search("printed")
        if printed and not (match and match["wanted"][0] in _MARKS):
            wanted = self._take(printed, "wanted", whole=True)
            return (wanted, None) if wanted else None
        wanted = self._take(match, "wanted") if match else None
        if not match or not wanted:
            return None
        unwanted = self._take(match, "unwanted") if match["unwanted"] else None
        telling = wanted.is_literal or unwanted is not None or _NAME.search(wanted.raw)
        return (wanted, unwanted) if telling else None

    def _find_unwanted_command(self) -> _Fragment | None:
        """Return the command line that a prohibition names outright: "never git push --force to main"."""
        for pattern in self.phrases.forms["unwanted_commands"]:
            match = pattern.search(self.folded)
            fragment = self._take(match, "unwanted") if match else None
            if fragment and names_program(fragment.text):
                command = _manners(self.phrases).split(fragment.text)[0]
                return _Fragment(fragment.raw, command, fragment.tool)
        return None

    def _search(self, name: str) -> re.Match[str] | None:
        found = (pattern.search(self.folded) for pattern in self.phrases.forms[name])
        return next((match for match in found if match), None)

    def _find_wanted(self) -> tuple[_Fragment | None, _Fragment | None]:
        """Return the first fragment that is wanted, or as the second one that is denied ("not to use X")."""
        for lead, fragment in self._find_each("wanted"):
            if not self._holds("voids", lead):
                return (None, fragment) if self._holds("negations", lead) else (fragment, None)
        return None, None

    def _find_unwanted(self) -> _Fragment | None:
        for lead, fragment in self._find_each("unwanted"):
            if not (self._holds("voids", lead) or self._holds("keepings", lead)):
                return fragment
        return None

    def _find_each(self, name: str) -> Iterator[tuple[str, _Fragment]]:
        """Yield the fragments of a kind, each behind the words of its clause that lead to it."""
        for pattern in self.phrases.forms[name]:
            for match in pattern.finditer(self.folded):
                fragment = self._take(match, name)
                if fragment is None:
                    break
                yield self._lead(match.start(name)), fragment

    def _lead(self, position: int) -> str:
        """Return the words of the clause before a position."""
        clause = _CLAUSE_END.split(self.folded[:position])[-1]
        return self.phrases.inside["joints"].split(clause)[-1]

    def _is_denied(self, lead: str) -> bool:
        return self._holds("voids", lead) or self._holds("negations", lead)

    def _holds(self, name: str, lead: str) -> bool:
        return bool(self.phrases.inside[name].search(lead))

    def _take(
        self, match: re.Match[str], name: str, *, tail: bool = False, whole: bool = False
    ) -> _Fragment | None:
        """Return the fragment without its marks, or None when nothing can be checked by it.

        `tail` takes what a loose phrase leads to: "dates as 2024-01-31" is about the date. `whole` says that
        the fragment is text as it should be printed, with its commas and end marks.
        """
        start, end = match.span(name)
        raw = self.original[start:end]
        fragment = raw.strip()
        if tail and fragment[:1] not in _MARKS and not looks_like_command(fragment):
            fragment = raw = _leads(self.phrases).split(fragment)[-1]
        after = self.folded[end : end + 12]
        quoted = _QUOTED.search(fold_marks(fragment))
        tool = bool(_tools(self.phrases)[0].match(after))
        if quoted:
            fragment = fragment[quoted.start() + 1 : quoted.end() - 1].strip()
        elif whole:
            fragment = fragment.rstrip(".,;:?").strip()
        else:
            fragment = (
                _nouns(self.phrases).sub("", fragment, count=1).strip().rstrip(".,;:?!。，；：？！").strip()
            )
            named = _tools(self.phrases)[1].search(fragment)
            if named and named.start() > 0:
                tool, fragment = True, fragment[: named.start()].rstrip()
            if fragment.count("(") < fragment.count(")"):
                fragment = fragment.rstrip(")")
        if not _is_usable(fragment, self.phrases, marked=bool(quoted), whole=whole):
            return None
        return _Fragment(raw, fragment, tool)


def _correct(
    wanted: _Fragment | None, unwanted: _Fragment | None, quote: str, *, general: bool = True
) -> Correction:
    parts = [part for part in (wanted, unwanted) if part]
    return Correction(
        wanted.text if wanted else None,
        unwanted.text if unwanted else None,
        quote,
        general,
        not general or any(part.is_literal for part in parts),
        tuple(part.text for part in parts if part.tool),
    )


def _is_usable(fragment: str, phrases: Phrases, *, marked: bool, whole: bool) -> bool:
    words = fragment.lower().split()
    empty = _empty(phrases)
    if not words or len(words) > _MAX_WORDS or all(word in empty for word in words):
        return False
    if words[0] in empty and not (marked or whole):
        return False
    if len(fragment) < 2 and not fragment.isdigit() and not marked:
        return False
    return "[redacted:" not in redact_within(fragment, MAX_QUOTE)


@cache
def _empty(phrases: Phrases) -> frozenset[str]:
    return frozenset(phrases.lexicon.empty.split())


@cache
def _leads(phrases: Phrases) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrases.lexicon.leads) or '(?!)'})\s+", re.IGNORECASE)


@cache
def _manners(phrases: Phrases) -> re.Pattern[str]:
    words = "|".join(phrases.lexicon.manners) if phrases.lexicon.spaced else "(?!)"
    return re.compile(rf"\s+(?:{words})(?!\S)", re.IGNORECASE)


@cache
def _nouns(phrases: Phrases) -> re.Pattern[str]:
    nouns = "|".join(phrases.lexicon.nouns)
    gap = r"s?\s+" if phrases.lexicon.spaced else r"\s*"
    return re.compile(rf"\A(?:the\s+)?(?:{nouns}){gap}", re.IGNORECASE)


@cache
def _tools(phrases: Phrases) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the noun "tool": right after a fragment, and at the end of one."""
    nouns = "|".join(phrases.lexicon.tool_nouns)
    return (
        re.compile(rf"\s*(?:{nouns})(?!\w)" if phrases.lexicon.spaced else rf"\s*(?:{nouns})", re.IGNORECASE),
        re.compile(rf"\s*(?:{nouns})\Z", re.IGNORECASE),
    )
