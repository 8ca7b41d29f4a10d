"""Short texts of plain words, told from all others by looking their words up.

Most prompts, names, paths and commands hold nothing that any rule begins with. A word is plain when no rule
can begin, end or lie in it, so that a text of plain words alone has no secret.
"""

from __future__ import annotations

import re

from skillopt_harvesters.redact.names import ANCHOR
from skillopt_harvesters.redact.runs import are_dull

# Longer texts nearly always have a word that is not plain.
_LONGEST = 256
# So many words are known at most; later ones are looked at each time.
_MANY = 20_000
# Words, paths and numbers, perhaps in quotes, with at most one sign behind them; and what stands between them
# in code. A colon ends a word, a dash is between letters, and quotes and brackets have nothing before them.
_SHAPE = re.compile(
    r"[\"'`(]?(?:[a-z0-9_./]|(?<=[a-z0-9])-(?=[a-z0-9]))+(?:\(\))?[\"'`]?[.,;:!?)]?|[=+*#]|->|\{\}|\(\)"
)
# What a rule begins with that needs neither a name nor a sign that is not in a plain word.
_TRIGGERS = re.compile(
    r"phrase|private-mac|rdp|vault|bundle|communi|sqlplus|xpdp|rabbitmqctl|http-basic|kty|identified"
)
_PAIRS = ("log in", "sign in", "net us")

_plain: set[str] = set()


def is_plain(text: str) -> bool:
    """Tell whether a text is short, and made of plain words and white space alone."""
    if len(text) > _LONGEST or not text.isascii():
        return False
    lowered = text.lower()
    if any(map(lowered.__contains__, _PAIRS)):
        return False
    for word in set(text.split()) - _plain:
        if not _is_plain_word(word):
            return False
        if len(_plain) < _MANY:
            _plain.add(word)
    return True


def _is_plain_word(word: str) -> bool:
    lowered = word.lower()
    return (
        _SHAPE.fullmatch(lowered) is not None
        and ANCHOR.search(lowered) is None
        and _TRIGGERS.search(lowered) is None
        and are_dull(word)
    )
