"""What a value looks like: a reference, a word, a number, or something only a program makes up."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from skillopt_harvesters.redact.chance import looks_made_up, looks_random, share_of_common_pairs
from skillopt_harvesters.redact.words import PLACEHOLDERS


class Look(IntEnum):
    """Looks of a value, from no secret at all to one that is nothing else."""

    NOTHING = 0  # empty, a placeholder, a reference to where the secret is
    CODE = 1  # a call, an attribute, a type
    NUMBER = 2
    PLAIN = 3  # words of letters
    NUMBERED = 4  # a word with digits at its end, or with signs
    MIXED = 5  # digits and letters in turn
    RANDOM = 6


_ENOUGH = 160
# The first of these that a value matches says what it is.
_SHAPES = (
    # only signs, or places to be filled in a format
    ("nothing", r"(?:%\(?\w{0,40}\)?[sdr]|\{\w{0,40}\}|[^\w\s])+\Z|(?:x{3,}|_+|0+|[xX*.•-]{3,})\Z"),
    # your-token-here, example-key
    (
        "nothing",
        r"(?:your|my|some|insert|enter|replace|add|put|fill)[-_ ](?:own[-_ ])?[a-z_ -]*\Z"
        r"|(?:example|dummy|fake|sample|placeholder|changeme|test)[-_][a-z_-]+\Z",
    ),
    # $NAME, %NAME%, {{ name }}, <name>, !Ref name
    (
        "nothing",
        r"(?:\$[a-z_]\w*(?:/.*)?|\$\{.*|\$\(.*|%[a-z_]\w*%|\{\{.*|\{[a-z_][\w.\[\]'\"!:]*\}|<[^<>]*>?|#\{.*"
        r"|!(?:Ref|Sub|GetAtt|ImportValue|vault|secret|env)\b.*|@[a-z_/.]+|\[.*\])\Z",
    ),
    # where the secret is kept
    (
        "nothing",
        r"(?:valueFrom|secretKeyRef|AWS_\w+"
        r"|(?:op|ref\+\w+|vault|env|file|secret|sops|ssm|keyring|arn|projects)[:/].*"
        r"|(?:process\.env|os\.environ|os\.getenv|env|secrets|vars|Deno\.env)[.\[(].*)\Z",
    ),
    ("nothing", r"(?:sha(?:1|224|256|384|512)|md5|h1)[:-][a-z0-9+/=_-]{20,}\Z"),
    ("nothing", r"[a-z][a-z0-9+.-]{1,20}:(?:\\?/){2}|urn:|mailto:|data:"),
    ("number", r"[+-]?[0-9][0-9_,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?(?:ms|s|m|h|d|k|kb|mb|%|px|em|rem)?\Z"),
    ("number", r"v?[0-9]+(?:\.[0-9]+)+(?:[-+.]?[a-z]+\.?[0-9]*)?\Z|[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    ("code", r"(?:await |new |!)?[a-z_$][\w.$:>-]*(?:\(|\[[\"'\w])"),
    ("code", r"!?[a-z_][a-z_]*(?:(?:\.|->|::|\?\.)[a-z_]+)+\??\Z"),
    ("plain", r"[._:/-]*[^\W\d_]+(?:[ ._/|?!:,;'’&()+\\-]+[^\W\d_]+)*[ ._/|?!:,;'’&()+\\-]*\Z"),
)
_SHAPE = re.compile(
    "|".join(f"(?P<{kind}{number}>{shape})" for number, (kind, shape) in enumerate(_SHAPES)),
    re.IGNORECASE | re.DOTALL,
)
_LOOKS = {"nothing": Look.NOTHING, "number": Look.NUMBER, "code": Look.CODE, "plain": Look.PLAIN}
_LOOK_OF = {f"{kind}{number}": _LOOKS[kind] for number, (kind, _) in enumerate(_SHAPES)}
_INSERTED = re.compile(r"\$?\{\{?[^{}\n]{0,256}\}?\}|\$\([^()\n]{0,256}\)|\$[A-Za-z_]\w{0,64}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+\??\Z")
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@%-]+(?:/[\w.@%-]*)*\Z|[A-Za-z]:\\|(?:[\w.@-]+/)+[\w.@-]*\Z"
    r"|[\w-]+\.(?:[a-z]{2,4}|json|yaml|toml)\Z"
)
_REGEX = re.compile(r"\(\?|\[\^|\\[dwsbDWSB][*+?{)\]]?|\][*+]|\)[*+]|\]\{[0-9]|\[a-zA?")
_PHRASE = re.compile(r"[a-z]{2,9}(?:[ ,]{1,2}[a-z]{2,9})*")
_WORD = re.compile(r"[^\W\d_]+[.,;:!?]*\Z")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})\Z")
_SIGNS = re.compile(r"[!@#$%^&*~?]")
_TOKENLIKE = re.compile(r"[A-Za-z0-9+/_=.~-]+\Z")
_DIGITS = re.compile(r"[0-9]+")
_LETTERS = re.compile(r"[^\W\d_]")


def look_at(value: str) -> Look:
    """Say what a value looks like, without knowing its name. The first 160 characters tell."""
    return _look_at(value[:_ENOUGH].strip())


@lru_cache(maxsize=4096)
def _look_at(value: str) -> Look:
    if len(value) < 3 or value.lower().rstrip(".,;:!") in PLACEHOLDERS:
        return Look.NOTHING
    if "{" in value or "$(" in value:
        value = _INSERTED.sub("", value)
        if len(value) < 3:
            return Look.NOTHING
    shape = _SHAPE.match(value)
    look = _LOOK_OF[shape.lastgroup or ""] if shape else None
    if look is Look.NOTHING:
        return Look.NOTHING
    if len(value) >= 20 and (
        any(map(looks_random, value.split("."))) or (len(value) >= 32 and _HEX.match(value))
    ):
        return Look.RANDOM
    if (
        look is Look.PLAIN
        and value.isalpha()
        and (looks_made_up(value) or (len(value) >= 24 and value.islower()))
    ):
        return Look.MIXED
    return _look_of_mixture(value) if look is None else look


def _look_of_mixture(value: str) -> Look:
    """Look at a value with digits, which is no number, or with odd signs."""
    groups = len(_DIGITS.findall(value))
    if len(value) >= 16 and (_UUID.match(value) or _HEX.match(value)):
        return Look.MIXED
    if not _LETTERS.search(value):
        return Look.NUMBERED if groups else Look.NOTHING
    if (
        ("/" in value or "." in value or ":\\" in value)
        and _PATH.match(value)
        and share_of_common_pairs(value) > (0.6 if groups > 1 else 0.5)
    ):
        return Look.CODE
    if (
        groups >= 2
        or (groups and _SIGNS.search(value))
        or (_TOKENLIKE.match(value) and looks_made_up(value) and not _IDENTIFIER.match(value))
    ):
        return Look.MIXED
    return Look.NUMBERED


def is_regex(value: str) -> bool:
    return _REGEX.search(value) is not None


def is_identifier(value: str) -> bool:
    """Whether a value is a name in snake case, which a program made up no secret of."""
    return "_" in value and value.replace("_", "").isalpha()


def is_sentence(value: str) -> bool:
    """Whether a quoted value is a text for people: several words, the first of them with a capital."""
    words = value.split()
    return len(words) > 2 and words[0][:1].isupper() and all(_WORD.match(word) for word in words)


def is_phrase(value: str) -> bool:
    """Whether a value is the words of a mnemonic: twelve to twenty-four of them, in lower case."""
    return 12 <= len(value.split()) <= 25 and _PHRASE.fullmatch(value) is not None


def find_phrase_end(plain: str, start: int) -> int:
    """Return where the small words that begin at `start` end."""
    match = _PHRASE.match(plain, start, start + 300)
    return match.end() if match else start
