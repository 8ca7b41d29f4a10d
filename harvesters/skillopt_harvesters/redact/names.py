"""What a name says about its value: that of `db_password` is a secret, that of `max_tokens` is none."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from skillopt_harvesters.redact.marks import MARK
from skillopt_harvesters.redact.words import (
    BENIGN,
    COUNTED,
    CREDENTIALS,
    GLUED_KEYS,
    GLUED_PASSES,
    NO_PASSWORDS,
    PASSWORD_ENDINGS,
    PASSWORDS,
    PAT_OWNERS,
    PUBLIC_KEYS,
    SECRET_KEYS,
    TOKEN_OWNERS,
    TOKENS,
    TRAILERS,
)

# Parts of names, each sought in the lowered text; a mark is read over.
ANCHOR = re.compile(
    # By their first letters: at most places of a text a few are tried instead of all.
    r"p(?:ass|wd|w(?![a-z])|at(?![a-z])|sk(?![a-z])|word)|token|s(?:ecret|enha|eed[ _-]?phrase)"
    r"|c(?:red|ookie|ontrase)|auth(?!or(?!iz))|k(?:ey|ennwort)|login(?![a-z])|recovery[ _-]?phrase"
    r"|b(?:earer|ackup[ _-]?phrase)|m(?:nemonic|ot[ _]de[ _]passe)|jwt"
    "|密(?:码|碼|钥|鑰)|口令|令牌|パスワード|비밀번호|암호|пapoль|" + MARK
)


def find_names(lowered: str, words: list[str] | None = None) -> list[int]:
    """Return where the anchors in a lowered text begin.

    A search reads every character; where the `words` that hold anchors are known, they are looked for alone.
    """
    if words is None:
        return [anchor.start() for anchor in ANCHOR.finditer(lowered)]
    found: list[int] = []
    for word in words:
        size, at = len(word), lowered.find(word)
        while at >= 0:
            if (at == 0 or lowered[at - 1].isspace()) and not lowered[at + size : at + size + 1].strip():
                anchor = ANCHOR.search(lowered, at)
                while anchor is not None and anchor.start() < at + size:
                    found.append(anchor.start())
                    anchor = ANCHOR.search(lowered, anchor.end(), at + size + 1)
            at = lowered.find(word, at + size)
    found.sort()
    return found


class Strength(IntEnum):
    """How surely the value behind a name is a secret."""

    NONE = 0
    KEY = 1  # "key": a secret only when the value looks like nothing else
    MEDIUM = 2  # "token", "credential": a secret when the value is no word
    STRONG = 3  # "api_key", "client_secret": a secret unless the value is a reference or a placeholder
    PASSWORD = 4  # the same, and words are passwords too
    PHRASE = 5  # words of a mnemonic


_PASSWORD_ENDINGS = tuple(PASSWORD_ENDINGS)
_GLUED_KEYS = tuple(GLUED_KEYS)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\x00-\x7f]+")
_OTHER_LANGUAGES = re.compile(
    "密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|암호|contrase|mot ?de ?passe|п.{0,2}oль", re.IGNORECASE
)


def qualify(before: str, name: str) -> Strength:
    """Return the strength of a name of two words: "access key", "auth token"."""
    if before not in SECRET_KEYS and before not in TOKEN_OWNERS:
        return Strength.NONE
    return min(classify(f"{before}_{name}"), Strength.STRONG)


@lru_cache(maxsize=4096)
def classify(name: str) -> Strength:
    """Return how surely the value behind an identifier, flag or header of this name is a secret."""
    if name.lstrip("$-_.") in {"PWD", "OLDPWD"}:
        return Strength.NONE
    if _OTHER_LANGUAGES.search(name):
        return Strength.PASSWORD
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and (words[-1] in TRAILERS or words[-1].isdigit()):
        words.pop()
    if not words:
        return Strength.NONE
    strength = _by_last(words[-1], frozenset(words[:-1]))
    if strength is Strength.KEY and "hash" in name.lower():
        return Strength.NONE
    if strength is not Strength.NONE or words[-1] in BENIGN:
        identifies = words[-1] == "id" and {"secret", "private"} & set(words)
        return Strength.STRONG if identifies else strength
    return _by_inner(words)


def _by_last(word: str, before: frozenset[str]) -> Strength:
    strength = _of_key(word, before)
    if word == "pass":
        strength = Strength.NONE if before & NO_PASSWORDS else Strength.PASSWORD
    elif word in PASSWORDS or word.endswith(_PASSWORD_ENDINGS) or word in GLUED_PASSES:
        strength = Strength.PASSWORD
    elif word == "mnemonic" or (word == "phrase" and before & {"seed", "recovery", "backup"}):
        strength = Strength.PHRASE
    elif word == "secrets" or word.endswith("secret"):
        strength = Strength.STRONG
    elif word == "pat":
        strength = Strength.MEDIUM if not before or before & PAT_OWNERS else Strength.NONE
    elif word in TOKENS or word.endswith(("token", "tokens")):
        counted = before & COUNTED or "public" in before
        strong = before and word != "tokens"
        strength = Strength.NONE if counted else Strength.STRONG if strong else Strength.MEDIUM
    elif word in CREDENTIALS:
        strength = Strength.MEDIUM
    return strength


def _of_key(word: str, before: frozenset[str]) -> Strength:
    if word.endswith(_GLUED_KEYS):
        return Strength.STRONG
    if word not in {"key", "keys"} or before & PUBLIC_KEYS:
        return Strength.NONE
    return Strength.STRONG if before & SECRET_KEYS else Strength.KEY


def _by_inner(words: list[str]) -> Strength:
    """Read a secret's word with something unknown behind it: TOKEN_GITHUB, password_for_bob."""
    best = max(
        (_by_last(word, frozenset(words[:at])) for at, word in enumerate(words) if word != "pass"),
        default=Strength.NONE,
    )
    if best is Strength.PASSWORD:
        return Strength.STRONG
    return min(best, Strength.MEDIUM)
