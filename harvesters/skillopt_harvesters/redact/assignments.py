"""Secrets that are known by the name before them: assignments, fields, headers, flags and sentences."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from skillopt_harvesters.redact.candidates import ENVIRONMENT, Candidate, is_offered
from skillopt_harvesters.redact.headers import read_authorization, read_bearer, read_cookie
from skillopt_harvesters.redact.joints import Joint, read_joint
from skillopt_harvesters.redact.judgement import HEADER, is_secret
from skillopt_harvesters.redact.literals import Value, read_item, read_value
from skillopt_harvesters.redact.marks import IS_MARK, MARK
from skillopt_harvesters.redact.names import ANCHOR, Strength, classify, qualify
from skillopt_harvesters.redact.values import Look, find_phrase_end, look_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

_NAME_END = re.compile(r"(?:[A-Za-z0-9_]|[.-](?=[A-Za-z0-9_])|[\u00c0-\u024f]|\[\]){0,49}")
_NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_LONGEST_NAME = 48
_LONGEST_LIST = 64
# "Secret ID:", "Unseal Key 1:"
_NUMBERED = re.compile(r"(?<=secret) id(?=\s{0,8}[:=])| [0-9]{1,2}(?=:)")
# What ends a name, and what may join it and its value at once.
_ENDS = frozenset(" =:\"'`")
_TELLING = frozenset(" \"'")
# No value begins with a letter behind this: that is a sentence in Chinese, Japanese or Korean.
_LAST_SIGN = "\u2fff"
_JOINTS = frozenset("=:\"'`")
_SAID = (
    "is|was|are|to|as|be|es|est|ist|lautet|equals|value|val|default|for|of|on|at|in|set|changed|reset|updated"
    "|will|should|now|just|still"
)
# "the token request", "token)", "pass" at the end: no value follows.
_NOTHING_FOLLOWS = re.compile(
    rf"[ \t]{{1,8}}(?!(?:{_SAID})\b)[a-z]{{1,40}}(?:[\s.,;:!?)(]|\Z)"
    r"|[.,;!?)]{0,2}(?:\s{0,8}\Z|\n\n)|[.,!?;]\s"
)
# "hunter2 is the password", "use 8f3kz0q2 as my token".
_TOLD_BEFORE = re.compile(
    r"(?:\A|(?<=\s))[`\"'(]?(?P<value>[^\s`\"',;()\[\]]{6,128})[`\"')]? (?:is |as |\()(?:the|my|our|your) "
    r"(?:[\w-]{1,24} ){0,3}[\w-]{0,24}\Z"
)
# <add value="x" key="password"/>, {"value": "x", "name": "password"}
_VALUE_BEFORE = re.compile(
    r"[Vv]alue\\{0,63}[\"']?\s{0,4}[:=]\s{0,4}\\{0,63}[\"'](?P<value>[^\"'\n\\]{3,128})\\{0,63}[\"']\s{0,4},?\s{0,8}"
    r"\\{0,63}[\"']?(?:[a-z:]{0,8}name|key|Name|Key|type|id)\\{0,63}[\"']?\s{0,4}[:=]\s{0,4}\\{0,63}[\"'][\w.-]{0,40}\Z"
)
_MARK_AHEAD = ("=[redacted:", ":[redacted:", ": [redacted:")
_HIDDEN = re.compile(rf"(?:=|: ?){MARK}(?=\s|\Z)")
# Names whose value is read in another way.
_OF_THEIR_OWN = frozenset({"bearer", "cookie", "auth"})
# Another name follows, which is read next.
_NESTED = re.compile(r"[A-Za-z_]{0,24}(?:pass(?:word)?|token|secret|key|auth)=", re.IGNORECASE)


def find_assigned(view: View) -> Iterator[Edit]:
    """Find the values of names that promise a secret."""
    plain, lowered = view.plain, view.lowered
    position = done = 0
    while (anchor := _find_anchor(view, position)) is not None:
        if anchor[0].startswith("["):
            position = anchor.end()
            continue
        end = _name_end(plain, anchor.end())
        if plain.startswith(" ", end) and (number := _NUMBERED.match(lowered, end)) is not None:
            end = number.end()
        if (
            plain.startswith(_MARK_AHEAD, end)
            and _HIDDEN.match(plain, end)
            and anchor[0] not in _OF_THEIR_OWN
        ):
            # The second look at a text meets what the first one hid.
            position = end
            continue
        edits = _read(plain, lowered, done, anchor, end)
        yield from edits
        done = edits[-1][1] if edits else done
        position = max(done, end)


def _find_anchor(view: View, position: int) -> re.Match[str] | None:
    """Return the first anchor that begins at a position or behind it."""
    names, lowered = view.names, view.lowered
    number = bisect_left(names, position)
    before = ANCHOR.match(lowered, names[number - 1]) if number else None
    if before is not None and before.end() > position:
        # Another one may begin inside it.
        return ANCHOR.search(lowered, position)
    return ANCHOR.match(lowered, names[number]) if number < len(names) else None


def _name_end(plain: str, start: int) -> int:
    if plain[start : start + 1] in _ENDS:
        return start
    match = _NAME_END.match(plain, start)
    return match.end() if match else start


def _name_start(plain: str, done: int, start: int) -> int:
    head = plain[max(done, start - _LONGEST_NAME - 1) : start]
    begin = start - (len(head) - len(head.rstrip(_NAME_CHARACTERS)))
    # The n of an escaped line end is no part of the name.
    return begin + (begin < start and plain[begin] in "nrt" and plain.endswith("\\", 0, begin))


def _read(plain: str, lowered: str, done: int, anchor: re.Match[str], end: int) -> list[Edit]:
    """Read what the name around an anchor gives away: behind it, or before it."""
    if anchor[0] == "bearer" and end == anchor.end():
        return _one(read_bearer(plain, anchor.end()))
    joint = None if _ends_there(plain, anchor.start(), end) else read_joint(plain, end)
    if joint is None:
        return _one(_told_before(plain, done, anchor.start(), end))
    if anchor[0] == "cookie":
        return _one(read_cookie(plain, joint))
    if anchor[0] == "auth" and lowered.startswith("orization", anchor.end()):
        return _one(read_authorization(plain, joint))
    edits = _read_joined(plain, lowered, _name_start(plain, done, anchor.start()), end, joint)
    if edits or joint.assigns or plain.find("[redacted:", joint.begin, joint.begin + 60) >= 0:
        return edits
    return _one(_told_before(plain, done, anchor.start(), end))


def _read_joined(plain: str, lowered: str, start: int, end: int, joint: Joint) -> list[Edit]:
    name = plain[start:end]
    if len(name) > _LONGEST_NAME or plain[joint.begin : joint.begin + 1] > _LAST_SIGN:
        return []
    if _NESTED.match(plain, joint.begin):
        return []
    strength = _strength_of(plain, lowered, start, name, joint)
    return _read_values(plain, start, name, strength, joint) if strength is not Strength.NONE else []


def _ends_there(plain: str, begin: int, end: int) -> bool:
    """Whether it is plain from the next characters that no value follows a name."""
    return (
        plain[end : end + 1] not in _JOINTS
        and _NOTHING_FOLLOWS.match(plain, end) is not None
        and not plain[end - 1].isupper()
        and not _is_flag(plain, begin)
    )


def _is_flag(plain: str, begin: int) -> bool:
    dash = plain.rfind("-", max(0, begin - 24), begin)
    return dash >= 0 and plain[_name_start(plain, 0, begin)] == "-"


def _one(edit: Edit | None) -> list[Edit]:
    return [] if edit is None or edit[0] >= edit[1] else [edit]


def _strength_of(plain: str, lowered: str, start: int, name: str, joint: Joint) -> Strength:
    strength = classify(name)
    if strength in {Strength.KEY, Strength.MEDIUM} and lowered.startswith(" ", start - 1):
        # "access key", "auth token"
        strength = max(strength, qualify(_word_before(lowered, start), name))
    if strength is Strength.KEY and (joint.kind == ":" and HEADER.match(name)):
        strength = Strength.STRONG
    unspaced = joint.kind == "=" and not joint.spaced
    if strength is Strength.KEY and unspaced and ENVIRONMENT.match(name) and "_" in name:
        strength = Strength.MEDIUM
    elif (
        strength is Strength.MEDIUM
        and unspaced
        and (ENVIRONMENT.match(name) or plain[max(0, start - 1) : start] in {"?", "&", "#"})
    ):
        strength = Strength.STRONG
    return strength


def _word_before(lowered: str, start: int) -> str:
    head = lowered[max(0, start - 24) : start - 1]
    return head[len(head.rstrip(_NAME_CHARACTERS)) :]


def _told_before(plain: str, done: int, begin: int, end: int) -> Edit | None:
    """Read the value that a sentence or an object names before it says what it is."""
    start = _name_start(plain, done, begin)
    before = plain[max(0, start - 1) : start]
    if before not in _TELLING:
        return None
    far = max(done, start - 200)
    told = None
    if before != " ":
        told = _VALUE_BEFORE.search(plain[far:start]) if plain.find("alue", far, start) >= 0 else None
    elif _says_whose(plain[max(done, start - 80) : start]):
        told = _TOLD_BEFORE.search(plain[far:start])
    if told is None or look_at(told["value"]) < Look.NUMBERED or classify(plain[start:end]) is Strength.NONE:
        return None
    return (far + told.start("value"), far + told.end("value"), "secret")


def _says_whose(before: str) -> bool:
    """Tell whether "is the", "as my" or the like can stand before a name."""
    return (" is " in before or " as " in before or " (" in before) and (
        "the " in before or "my " in before or "our " in before
    )


def _read_values(plain: str, start: int, name: str, strength: Strength, joint: Joint) -> list[Edit]:
    """Read the value behind a name, or the values of a list."""
    edits: list[Edit] = []
    value = read_value(plain, joint.begin, joint.kind)
    while value is not None and len(edits) < _LONGEST_LIST:
        edit = _judge(plain, start, name, strength, joint, value)
        if edit is not None:
            edits.append(edit)
        if not value.listed:
            break
        value = read_item(plain, value)
    return edits


def _judge(plain: str, start: int, name: str, strength: Strength, joint: Joint, value: Value) -> Edit | None:
    text = value.text
    if joint.kind in {"spoken", "space"} or not value.quoted:
        text = text.rstrip(".,:;")
    if strength is Strength.PHRASE and not value.quoted:
        text = plain[value.start : find_phrase_end(plain, value.start)]
    candidate = Candidate(plain, start, name, strength, joint, value, text)
    if not is_offered(candidate):
        return None
    if text.startswith("[") and IS_MARK.match(text):
        return _after_mark(value, strength)
    if plain.startswith("[redacted:", value.end) or not is_secret(candidate):
        return None
    stop = value.start + len(text)
    if not value.quoted and (strength is Strength.PASSWORD or candidate.starts_line):
        stop = max(stop, value.rest)
    return (value.start, stop, "secret")


def _after_mark(value: Value, strength: Strength) -> Edit | None:
    """Hide the rest of a value of which another rule hid a part, when it is one."""
    covered = IS_MARK.sub("", value.text).strip(" \t.,;:)]}")
    if value.quoted and covered and strength >= Strength.STRONG and " " not in covered:
        return (value.start, value.end, "secret")
    return None
