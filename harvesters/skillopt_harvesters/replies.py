"""What a prompt is to the answer before it, by its words.

The general rule: a prompt that follows an answer and tells the agent something about the same thing corrects
it, unless it accepts the work, goes on from it, asks something or opens a task of its own. Explicit words
("that's wrong", "don't", "must") decide first; a plain instruction or statement counts only when it is
short, in a language there is a lexicon for, and about the work. A reply to a question of the agent's is an
answer, no correction.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache, lru_cache

from skillopt_harvesters.clauses import Act, read_clauses
from skillopt_harvesters.folding import fold_marks
from skillopt_harvesters.lexicons import LEXICONS
from skillopt_harvesters.lexicons.compiled import Phrases, compile_lexicon
from skillopt_harvesters.normalise import content_words, normalise
from skillopt_harvesters.series import continues_series, stands_alone
from skillopt_harvesters.typed import shows_failure, typed_part

_MAX_TELLING = 240
_MAX_AUTOMATIC = 80
_SAME_TEMPLATE = 0.5
_TAIL = 400
_MAX_COMPARED = 1_000
# Code, a value or a name in code.
_SHOWN = re.compile(r"[`#_=<>{}]|\w/\w|/\w|\w\.\w{1,4}\b|\"[^\"]+\"|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\d|, not \w")
# What somebody else said, in quotes: 'my boss wrote "..."'. What I said is not among it.
_REPORTED = re.compile(
    r"((?<!\bi )(?<!\bwe )\b(?:wrote|writes|said|says|commented|comments|replied|replies|asked|asks)"
    r"(?: (?:me|us|that|to me))?[:,]? ?|(?<!我)(?<!我们)(?:说|写道|写着|评论|回复)[:,]? ?)"
    r"([\"“「])[^\"“”「」\n]{3,1000}[\"”」]",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？؟][\"'`”’)*_\s]*\Z")


class Reply(str, Enum):
    """What a prompt does with the answer before it."""

    ACCEPTANCE = "acceptance"  # thanks, ship it
    CONSENT = "consent"  # continue, the second one: nothing is said about the work
    ADDITION = "addition"  # now also ..., commit it: the work is built on
    CORRECTION = "correction"  # the agent is directed again
    DROP = "drop"  # never mind: the work is given up
    QUESTION = "question"
    ASK = "ask"  # a task of its own
    UNCLEAR = "unclear"


def classify_reply(text: str, *, asked: str = "", answer: str = "", outright: bool = False) -> Reply:
    """Return what a prompt is to the answer before it.

    `asked` is the ask that was answered and `answer` what the agent said, where they are known. `outright`
    leaves plain instructions aside and counts only what is said in so many words. Only the first lines are
    read, so time does not grow with the text.
    """
    said = _REPORTED.sub(r"\1\2...\2", fold_marks(typed_part(text)))
    if shows_failure(text):
        return Reply.CORRECTION
    readers = readers_of(said)
    acts = read_clauses(said, readers)
    if asked and not _OUTRIGHT & set(acts) and _is_same_template(said, fold_marks(asked)):
        return Reply.ASK
    # A path, a number or a name in code alone tells nothing of what is to be done with it.
    telling_counts = (
        Act.TELLING in acts
        and not outright
        and len(said) <= _MAX_TELLING
        and _is_known(said, asked)
        and (" " in said or bool(content_words(normalise(said))))
        and (not asked or _is_about(said, f"{asked[:_MAX_COMPARED]}\n{answer[:_MAX_COMPARED]}", readers))
    )
    if Act.AGAIN in acts and _offers(answer):
        # "Shall I fix it?" - "fix it".
        acts = [Act.CONSENT if act is Act.AGAIN else act for act in acts]
    back = asks_back(answer)
    reply = _decide(acts, asks_back=back, telling_counts=telling_counts)
    if reply is not Reply.CORRECTION or not (telling_counts and asked):
        return reply
    plain = _decide(acts, asks_back=back, telling_counts=False)
    if plain is not Reply.CORRECTION and continues_series(said, fold_marks(asked), readers):
        return Reply.ASK
    return plain if stands_alone(said, fold_marks(asked), readers) else reply


def _is_about(said: str, work: str, readers: list[Phrases]) -> bool:
    """Whether a plain statement is about the work: it says what to change, shows code or names what is there.

    Where a language does not say what words of change are, every statement is.
    """
    if any(not one.lexicon.changes or one.inside["changes"].search(said) for one in readers):
        return True
    if _SHOWN.search(said):
        return True
    return not set(content_words(normalise(said))).isdisjoint(content_words(normalise(work)))


def is_automatic(text: str) -> bool:
    """Tell whether a prompt says no more than "go on" or "fine": "continue", "继续", "thanks"."""
    said = fold_marks(typed_part(text))
    acts = set(read_clauses(said, readers_of(said)))
    return (
        bool(acts)
        and len(said) <= _MAX_AUTOMATIC
        and acts <= {Act.PRAISE, Act.CONSENT, Act.AGAIN, Act.ADDITION, Act.DENIAL, Act.DROP}
    )


def leans_on_before(folded: str, *, few: bool) -> bool:
    """Tell whether a prompt can only be understood with what came before it; `few`: it has few words."""
    for phrases in readers_of(folded):
        at = phrases.skip_fillers(folded)
        if any(phrases.fronts[name].match(folded, at) for name in ("leaning", "additions", "sequels")):
            return True
        if few and phrases.inside["backward"].search(folded):
            return True
    return False


def asks_back(answer: str) -> bool:
    """Tell whether an answer ends with a question that the next prompt will answer.

    An offer ("shall I also ...?") is none: people pass it over.
    """
    tail = fold_marks(answer[-_TAIL:]).rstrip()
    if not _ASKS.search(tail):
        return False
    return not _offers(re.split(r"[.!\n]\s", tail)[-1])


def _offers(answer: str) -> bool:
    """Whether an answer ends with an offer to do something more."""
    tail = fold_marks(answer[-_TAIL:])
    return any(one.inside["offers"].search(tail) for one in lexicons())


@cache
def lexicons() -> tuple[Phrases, ...]:
    """Return all lexicons, compiled."""
    return tuple(compile_lexicon(lexicon) for lexicon in LEXICONS)


def speakers_of(folded: str) -> list[Phrases]:
    """Return the lexicons of the languages a text is in, the one with most marks first; none is possible."""
    return list(_find_speakers(folded))


@lru_cache(maxsize=32)
def _find_speakers(folded: str) -> tuple[Phrases, ...]:
    """Do so once for a text that is asked about again and again."""
    counts = [(_count(one, "marks", folded), _count(one, "foreign", folded), one) for one in lexicons()]
    found = [(marks, one) for marks, foreign, one in counts if marks > foreign]
    return tuple(one for _, one in sorted(found, key=lambda pair: -pair[0]))


def readers_of(folded: str) -> list[Phrases]:
    """Return the lexicons to read a text with: its languages', or those that nothing in it speaks against.

    A script of its own shows a language by its characters, so that one is never guessed.
    """
    guesses = (one for one in lexicons() if one.lexicon.spaced)
    return speakers_of(folded) or [one for one in guesses if not one.inside["foreign"].search(folded)]


def _is_known(said: str, asked: str) -> bool:
    """Whether there is a lexicon for a text: its words show it, or it is in letters of the ask's language."""
    if speakers_of(said):
        return True
    return any(
        not one.inside["foreign"].search(said)
        for one in speakers_of(fold_marks(asked[:_MAX_COMPARED]))
        if one.lexicon.spaced
    )


def _count(phrases: Phrases, name: str, folded: str) -> int:
    return sum(1 for _ in phrases.inside[name].finditer(folded))


_OUTRIGHT = {Act.OBJECTION, Act.DENIAL}
_TELLS = {Act.DEMAND, Act.TELLING, Act.AGAIN}
_SAID_AFTER_NO = {Act.DEMAND, Act.TELLING, Act.TASK, Act.REMARK, Act.STEP}
_BESIDES = {Act.ASIDE, Act.ALSO}
_PLAIN = (
    (Act.TASK, Reply.ASK),
    (Act.QUESTION, Reply.QUESTION),
    (Act.STEP, Reply.ADDITION),
    (Act.ADDITION, Reply.ADDITION),
    (Act.PRAISE, Reply.ACCEPTANCE),
    (Act.CONSENT, Reply.CONSENT),
    (Act.DENIAL, Reply.CONSENT),
    (Act.AGAIN, Reply.CONSENT),
)


def _decide(acts: list[Act], *, asks_back: bool, telling_counts: bool) -> Reply:
    done = set(acts)
    first = next((act for act in acts if act not in {Act.PRAISE, Act.CONTRAST, Act.CONSENT}), None)
    if _opens_task(first, done):
        return Reply.ASK
    if Act.OBJECTION in done and first is not Act.DROP:
        return Reply.CORRECTION
    if Act.DROP in done:
        return Reply.DROP
    if asks_back and done & _TELLS:
        return Reply.CONSENT
    if _directs(first, done, telling_counts=telling_counts):
        return Reply.CORRECTION
    goes_on = first is Act.ADDITION and Act.QUESTION not in done
    plain = next((reply for act, reply in _PLAIN if act in done), Reply.UNCLEAR)
    return Reply.ADDITION if goes_on else plain


def _opens_task(first: Act | None, done: set[Act]) -> bool:
    """Whether a prompt begins with a task, or with a remark that leads to one: "there is a new ticket"."""
    led = first is Act.REMARK and Act.TASK in done and Act.OBJECTION not in done
    return (first is Act.TASK or led) and Act.DENIAL not in done


def _directs(first: Act | None, done: set[Act], *, telling_counts: bool) -> bool:
    """Whether a prompt without an outright objection still tells the agent about what it just did."""
    if Act.DENIAL in done and done & _SAID_AFTER_NO:
        return True
    if first is Act.ADDITION:
        return False
    praised = Act.PRAISE in done and Act.CONTRAST not in done
    plain = telling_counts and Act.TELLING in done and first is not Act.REMARK and not done & _BESIDES
    return Act.DEMAND in done or first is Act.AGAIN or ((plain or Act.ABSENCE in done) and not praised)


def _is_same_template(said: str, asked: str) -> bool:
    """Whether a prompt is the one before with other values, as in a series of like asks."""
    mine = content_words(normalise(said[:_MAX_COMPARED]))
    if len(mine) < 2:
        return False
    theirs = content_words(normalise(asked[:_MAX_COMPARED]))
    if mine[0] not in theirs[:2]:
        return False
    one, other = set(mine), set(theirs)
    return len(one & other) >= _SAME_TEMPLATE * len(one | other)
