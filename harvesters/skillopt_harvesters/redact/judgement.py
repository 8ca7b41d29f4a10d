"""Whether what stands behind a name is the secret that the name promises."""

from __future__ import annotations

import re

from skillopt_harvesters.redact.candidates import ENVIRONMENT, FIRM, Candidate
from skillopt_harvesters.redact.names import Strength
from skillopt_harvesters.redact.values import Look, is_identifier, is_phrase, is_regex, is_sentence, look_at

_SCHEMES = frozenset("bearer basic token bot apikey key jwt splunk geniekey sswd negotiate".split())
_STEMS = re.compile(r"pass|pwd|secret|token|key|cred|auth|login|user", re.IGNORECASE)
HEADER = re.compile(r"(?:[A-Za-z][a-z0-9]*-)+(?:[Kk]ey|[Tt]oken|[Ss]ecret)\Z")
_CALLED = re.compile(r"[A-Za-z_$][\w.$:]*\Z")
_ATTRIBUTE = re.compile(r"[A-Za-z_$]\w*(?:\.[A-Za-z_$]\w*)+\Z")
_DIRECTIVE = re.compile(
    r"(?:(?P<word>\b(?:ENV|ARG|setx?|define|export|unset|configure set|config set|secrets? set|add))"
    r"[ \t]{1,4}(?:/m )?[\w./:@-]{0,64}|login[ \t]{1,8}\S{1,64}\s{1,8}|\A|\n[ \t]{0,8})\Z",
    re.IGNORECASE,
)
_PROSE_AFTER = re.compile(r"[,.;:]?[ \t]+[A-Za-z\[]")
_LINE_END = re.compile(r"[\"'`]{0,3}[ \t]{0,16}(?:\\{1,63}[nr\"]|[\r\n]|\Z)")
_CELL_END = re.compile(r"[`*]{0,2}[ \t]{0,64}\|")


def is_secret(candidate: Candidate) -> bool:
    """Whether the value is a secret."""
    strength, joint, value, text = candidate.strength, candidate.joint, candidate.value, candidate.text
    if strength is Strength.PHRASE:
        return is_phrase(text)
    if strength < Strength.PASSWORD and (_has_words(text) or (value.quoted and is_regex(text))):
        return False
    look = look_at(text)
    if look in {Look.NOTHING, Look.RANDOM}:
        return look is Look.RANDOM
    if joint.kind == "below":
        return _is_secret_below(candidate, look)
    if joint.kind == "space" or (joint.kind == "spoken" and strength < Strength.STRONG):
        return _is_secret_unjoined(candidate, look)
    return look >= _least(candidate)


def _has_words(text: str) -> bool:
    """Whether a value is more than one word, or than a scheme and a credential: no token is."""
    scheme, space, rest = text.partition(" ")
    return bool(space) and (" " in rest or scheme.lower() not in _SCHEMES)


def _is_secret_below(candidate: Candidate, look: Look) -> bool:
    """Judge a value under a heading."""
    if candidate.strength is Strength.PASSWORD:
        return look >= Look.NUMBERED and _has_three_classes(candidate.text)
    return look is Look.MIXED and len(candidate.text) >= 16 and candidate.strength >= Strength.MEDIUM


def _is_secret_unjoined(candidate: Candidate, look: Look) -> bool:
    """Judge a value behind nothing but a space, or behind "is"."""
    text, strength = candidate.text, candidate.strength
    password = strength >= Strength.PASSWORD
    directive = _DIRECTIVE.search(candidate.plain, max(0, candidate.start - 100), candidate.start)
    directed = candidate.is_flag or (
        directive is not None and (password or ENVIRONMENT.match(candidate.name) is not None)
    )
    if strength >= Strength.STRONG and directed and not text.startswith("-"):
        told = candidate.is_flag or (directive is not None and directive["word"] is not None)
        follows = _PROSE_AFTER.match(candidate.plain, candidate.value.end)
        sure = told and not _STEMS.search(text) and not follows
        return look >= (Look.NUMBER if sure else Look.NUMBERED)
    if password and look >= Look.NUMBERED and len(text) >= 6 and _has_three_classes(text):
        return True
    return len(text) >= 8 and look >= Look.MIXED


def _has_three_classes(text: str) -> bool:
    tests = (str.islower, str.isupper, str.isdigit, lambda sign: not sign.isalnum())
    return sum(any(map(test, text)) for test in tests) >= 3


def _least(candidate: Candidate) -> Look:
    """Return the least look that makes the value a secret."""
    strength, joint, value, text = candidate.strength, candidate.joint, candidate.value, candidate.text
    password = strength >= Strength.PASSWORD
    firm = (joint.assigns or joint.kind in FIRM) and not value.wrapped
    code = not value.quoted and not candidate.starts_line and _is_code(candidate)
    long = len(text) >= 8 and text.isalnum() and not _STEMS.search(text)
    if code or (value.listed and value.quoted and not password and look_at(text) < Look.NUMBERED):
        least = Look.RANDOM
    elif strength is Strength.KEY:
        least = (
            Look.MIXED
            if len(text) >= 16 and text.isalnum() and sum(map(str.isdigit, text)) > 3
            else Look.RANDOM
        )
    elif strength is Strength.MEDIUM:
        least = Look.MIXED if len(text) >= 8 and not value.wrapped else Look.RANDOM
    elif password and _is_told(candidate):
        least = Look.NUMBER
    elif not firm or value.next_line:
        alone = not value.next_line or _LINE_END.match(candidate.plain, value.end) is not None
        loose = (
            password
            and not value.wrapped
            and alone
            and (joint.kind != "comma" or candidate.is_flag or candidate.is_first)
        )
        least = Look.NUMBERED if loose or (value.fenced and long) else Look.MIXED
    elif value.quoted:
        least = _least_quoted(strength, text)
    else:
        least = _least_bare(candidate, long=long)
    return least


def _is_code(candidate: Candidate) -> bool:
    """Whether a bare value is a call, an item or an attribute in a program."""
    plain, end, text = candidate.plain, candidate.value.end, candidate.text
    if _CALLED.match(text) is None:
        return False
    if plain.startswith(("(", "["), end):
        return True
    if candidate.joint.kind == ":" and HEADER.match(candidate.name):
        return False
    loose = candidate.strength < Strength.PASSWORD or candidate.value.next_line or candidate.value.listed
    return loose and _ATTRIBUTE.match(text) is not None


def _is_told(candidate: Candidate) -> bool:
    """Whether words and numbers count, too: nothing but a password stands in such a place."""
    joint, value = candidate.joint, candidate.value
    if joint.kind == "spoken" and value.quoted and candidate.name.lower().endswith("phrase"):
        return not _STEMS.search(value.text)
    if value.wrapped or " " in value.text or _STEMS.search(value.text):
        return False
    told = value.fenced
    if joint.kind == "comma":
        told = candidate.is_flag or (candidate.is_first and ENVIRONMENT.match(candidate.name) is not None)
    elif joint.kind == "call":
        told = candidate.name.lower().rpartition(".")[2].startswith(("set", "with"))
    elif joint.kind == "cell":
        told = _CELL_END.match(candidate.plain, value.end) is not None
    elif joint.kind == "spoken":
        told = not candidate.name.isascii()
    return told


def _least_quoted(strength: Strength, text: str) -> Look:
    password = strength >= Strength.PASSWORD
    least = Look.NUMBER if password else Look.PLAIN
    if len(text) < 4 or (" " in text and (not password or _STEMS.search(text) or is_sentence(text))):
        least = Look.RANDOM
    elif " " in text:
        least = Look.PLAIN
    elif _STEMS.search(text) and not any(map(str.isdigit, text)):
        least = Look.PLAIN if not password and "-" in text else Look.NUMBERED
    elif not password and (is_identifier(text) or len(text) < 6):
        least = Look.NUMBERED
    return least


def _least_bare(candidate: Candidate, *, long: bool) -> Look:
    plain, joint, text, end = candidate.plain, candidate.joint, candidate.text, candidate.value.end
    password = candidate.strength >= Strength.PASSWORD
    after = plain[end : end + 1]
    named = _STEMS.search(text) is not None and not any(map(str.isdigit, text))
    if candidate.starts_line:
        least = Look.CODE if password else Look.PLAIN
    elif len(text) < 4:
        least = Look.RANDOM
    elif after in {"(", "[", "."} or named:
        least = Look.MIXED
    elif not password:
        header = len(text) >= 8 and joint.kind == ":" and HEADER.match(candidate.name)
        least = Look.NUMBERED if long or header else Look.MIXED
    elif not joint.spaced and after in {";", "&"} and candidate.value.rest == end:
        least = Look.NUMBER
    elif joint.spaced or after in {",", ")", ";"}:
        least = _least_at_end(candidate, after)
    else:
        least = Look.NUMBER
    return least


def _least_at_end(candidate: Candidate, after: str) -> Look:
    """Tell "password: letmein", which ends, from "password: it must be long" and "login(password=given)"."""
    if after in {",", ")", ";"} or _PROSE_AFTER.match(candidate.plain, candidate.value.end):
        return Look.NUMBERED
    if candidate.joint.kind == "=" and (
        is_identifier(candidate.text) or not candidate.plain.startswith("\n", candidate.start - 1)
    ):
        # A variable of a program.
        return Look.NUMBERED
    return Look.NUMBER
