"""Which stages may find something in a text, told from its words by looking them up.

Whatever a stage finds holds a sign that stands in one word: the name of a secret, a run of characters, a
flag. Most texts repeat words that were seen before, and have few signs or none: few stages need to read them.
"""

from __future__ import annotations

import re

from skillopt_harvesters.redact.names import ANCHOR
from skillopt_harvesters.redact.places import PLACE_WORDS
from skillopt_harvesters.redact.programs import COMMAND_WORDS
from skillopt_harvesters.redact.runs import are_dull

# So many words are known at most, then they are forgotten; longer ones are looked at each time.
_MANY = 20_000
_LONG = 64
# A text with more words that are not known is left to all stages.
_STRANGE = 24
_STRANGE_SHARE = 64
# So many names are looked for one by one; to look for more takes longer than to read the text.
_MANY_NAMES = 8

# The kinds of signs, by the stage that reads what stands around them. Plain numbers: flags of an enum take as
# long to combine as a stage takes to read.
ARMOUR, RUN, NAME, URL, ARGUMENT, PLACE, EMAIL, ESCAPE = (1 << bit for bit in range(8))
ALL = 255
# What is no sign in one word, and is with the next.
FIRST = 256
_PAIR = re.compile("log in|sign in|net us")

_PATTERNS: tuple[tuple[int, re.Pattern[str]], ...] = (
    (ARMOUR, re.compile(r"begin|end\Z|putty")),
    (NAME, re.compile(rf"{ANCHOR.pattern}|phrase")),
    (URL, re.compile(r"://|:\\|%3a%2f|@")),
    (ARGUMENT, re.compile(r"(?:\A|[\"',(`\[])--?[a-z]|" + "|".join(map(re.escape, COMMAND_WORDS)))),
    (PLACE, re.compile(r"\$|@|kty|" + "|".join(map(re.escape, PLACE_WORDS)))),
    (EMAIL, re.compile("@|%40")),
    (ESCAPE, re.compile(r"%[0-7][0-9a-f]|&[#a-z]")),
    (FIRST, re.compile(r"(?:log|sign|net)\Z")),
)

# The last of the words of a name that has several: "seed phrase", "mot de passe".
_LAST_WORD = re.compile("phrase|passe")
_SEPARATOR = re.compile("[?&#;]")

_plain: set[str] = set()
_known: dict[str, int] = {}


def find_signs(text: str) -> tuple[int, list[str] | None]:
    """Return the kinds of signs in a text, added up, and the words that hold names, in lower case.

    0 says that no stage would find anything. The words are None when not all of them are known.
    """
    if not text.isascii():
        return ALL, None
    signs = 0
    named: list[str] = []
    strange: list[str] = []
    for word in set(text.split()) - _plain:
        known = _known.get(word)
        if known is None:
            strange.append(word)
            continue
        signs |= known
        if known & NAME:
            named.append(word)
    if len(strange) > _STRANGE + len(text) // _STRANGE_SHARE:
        # Some are looked at all the same: the next text may have them too.
        for word in strange[:_STRANGE]:
            _read(word)
        return ALL, None
    for word in strange:
        known = _read(word)
        signs |= known
        if known & NAME:
            named.append(word)
    if signs & FIRST and _PAIR.search(text.lower()):
        return ALL, None
    signs &= ALL
    if not signs & NAME:
        return signs, []
    words = {word.lower() for word in named}
    return signs, None if len(words) > _MANY_NAMES or any(map(_LAST_WORD.search, words)) else [*words]


def _read(word: str) -> int:
    """Return the signs in a word and remember them."""
    lowered = word.lower()
    signs = 0 if are_dull(word) and "\\/" not in word else RUN
    if ("=" in lowered or "%3d" in lowered) and _SEPARATOR.search(lowered):
        signs |= URL
    for sign, pattern in _PATTERNS:
        if pattern.search(lowered):
            signs |= sign
    if len(word) <= _LONG:
        if len(_plain) + len(_known) >= _MANY:
            _plain.clear()
            _known.clear()
        if signs:
            _known[word] = signs
        else:
            _plain.add(word)
    return signs
