"""What a value looks like: a reference, a word, a number, or something only a program makes up."""

from __future__ import annotations

import re
from enum import IntEnum

from skillopt_harvesters.redact.chance import looks_made_up, looks_random, share_of_common_pairs
from skillopt_harvesters.redact.marks import IS_MARK


class Look(IntEnum):
    """Looks of a value, from no secret at all to one that is nothing else."""

    NOTHING = 0  # empty, a placeholder, a reference to where the secret is
    CODE = 1  # a call, an attribute, a type
    NUMBER = 2
    PLAIN = 3  # words of letters
    NUMBERED = 4  # a word with digits at its end, or with signs
    MIXED = 5  # digits and letters in turn
    RANDOM = 6


_PLACEHOLDERS = frozenset(
    (
        "string str number boolean bool bytes int integer float char varchar text any unknown never object void "
        "null none nil true false undefined optional required hidden secret password token changed changeme "
        "change_me missing invalid expired rotated incorrect correct wrong protected default example placeholder "
        "dummy test testing todo tbd redacted masked censored empty blank same here below above valid ok yes no "
        "hash hashed encrypted encoded plain plaintext field input value env environment vault file stdin prompt "
        "ask self this array list dict map function async await new return type interface class enum const let "
        "var buffer uuid date json yaml xml html base64 hex utf8 utf-8 sha256 sha512 sha1 md5 bcrypt argon2 oauth "
        "oauth2 bearer basic digest jwt saml oidc header cookie session query body path param params inherit auto "
        "manual off on enabled disabled reset set unset get post is was are the a an of for with not"
    ).split()
)
_PLACEHOLDER = re.compile(
    r"(?:x{3,}|\*+|\.{2,}|-{2,}|_+|\?+|…|•+|0+|[xX*.•-]{3,})\Z"
    r"|(?:your|my|some|insert|enter|replace|add|put|fill)[-_ ](?:own[-_ ])?[a-z_ -]*\Z"
    r"|(?:example|dummy|fake|sample|placeholder|changeme|test)[-_][a-z_-]+\Z",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"(?:\$[A-Za-z_]\w*|\$\{.*|\$\(.*|\$\{\{.*|%[A-Za-z_]\w*%|%\(?[a-z]\)?[a-z]?|\{\{.*|\{[A-Za-z_][\w.\[\]'\"!:]*\}|<[^<>]*>?"
    r"|#\{.*|!(?:Ref|Sub|GetAtt|ImportValue|vault|secret|env)\b.*|(?:op|ref\+\w+|vault|env|file|secret|sops|ssm|keyring|arn"
    r"|projects)[:/].*|@[A-Za-z_/.]+|(?:process\.env|os\.environ|os\.getenv|env|secrets|vars|ENV|Deno\.env)[.\[(].*"
    r"|valueFrom|secretKeyRef|AWS_\w+|\[.*\])\Z",
    re.DOTALL,
)
_INSERTED = re.compile(r"\$?\{\{?[^{}\n]{0,256}\}?\}|\$\([^()\n]{0,256}\)|\$[A-Za-z_]\w{0,64}")
_CALL = re.compile(r"(?:await |new |!)?[A-Za-z_$][\w.$:>-]*(?:\(|\[[\"'\w])")
_ATTRIBUTE = re.compile(r"!?[A-Za-z_]\w*(?:(?:\.|->|::|\?\.)[A-Za-z_]\w*)+\??\Z")
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@%+-]+(?:/[\w.@%+-]*)*\Z|[A-Za-z]:\\|(?:[\w.@+-]+/)+[\w.@+-]*\Z|[\w-]+\.(?:[a-z]{2,4}|json|yaml|toml)\Z"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}:(?:\\?/){2}|urn:|mailto:|data:")
_REGEX = re.compile(r"\(\?|\[\^|\\[dwsbDWSB][*+?{)\]]?|\][*+]|\)[*+]|\]\{[0-9]|\[a-zA?")
_NUMBER = re.compile(r"[+-]?[0-9][0-9_,]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?:ms|s|m|h|d|k|kb|mb|%|px|em|rem)?\Z", re.IGNORECASE)
_VERSION = re.compile(r"v?[0-9]+(?:\.[0-9]+)+(?:[-+.]?[a-z]+\.?[0-9]*)?\Z|[0-9]{4}-[0-9]{2}-[0-9]{2}", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{16,}|[0-9A-F]{16,})\Z")
_PLAIN = re.compile(r"[._:/-]*[^\W\d_]+(?:[ ._/|?!:,;'’&()+\\-]+[^\W\d_]+)*[ ._/|?!:,;'’&()+\\-]*\Z")
_SIGNS = re.compile(r"[!@#$%^&*~?+=|<>]")
_DIGITS = re.compile(r"[0-9]+")
_LETTERS = re.compile(r"[^\W\d_]")


def look_at(value: str) -> Look:
    """Say what a value looks like, without knowing its name."""
    value = value.strip()
    if "{" in value or "$(" in value:
        value = _INSERTED.sub("", value)
    lowered = value.lower().rstrip(".,;:!")
    if (
        len(value) < 3
        or lowered in _PLACEHOLDERS
        or _PLACEHOLDER.match(value)
        or _REFERENCE.match(value)
        or IS_MARK.fullmatch(value)
    ):
        return Look.NOTHING
    if any(map(looks_random, value.split("."))) or (len(value) >= 32 and _HEX.match(value)):
        return Look.RANDOM
    if _URL.match(value):
        return Look.NOTHING
    if _NUMBER.match(value) or _VERSION.match(value):
        return Look.NUMBER
    if _CALL.match(value):
        return Look.CODE
    return _look_of_words(value)


def _look_of_words(value: str) -> Look:
    if _ATTRIBUTE.match(value) and not _DIGITS.search(value):
        return Look.CODE
    if _PLAIN.match(value):
        return Look.MIXED if value.isalnum() and looks_made_up(value) else Look.PLAIN
    if _UUID.match(value) or _HEX.match(value):
        return Look.MIXED
    groups = len(_DIGITS.findall(value))
    letters = len(_LETTERS.findall(value))
    if not letters:
        return Look.NUMBERED if groups else Look.NOTHING
    if _PATH.match(value) and share_of_common_pairs(value) > (0.6 if groups > 1 else 0.5):
        return Look.CODE
    if groups >= 2 or (looks_made_up(value) and not _ATTRIBUTE.match(value)) or (groups and _SIGNS.search(value)):
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
    return len(words) > 2 and words[0][:1].isupper() and all(_PLAIN.match(word) for word in words)


def is_phrase(value: str) -> bool:
    """Whether a value is the words of a mnemonic: twelve to twenty-four of them, in lower case."""
    words = value.split()
    return 12 <= len(words) <= 25 and all(word.isalpha() and word.islower() and len(word) < 10 for word in words)
