"""Telling random characters from words, identifiers, paths and hashes.

Two things set them apart. Random characters change their class (lower case, upper case, digit, sign) at every
other step, words rarely do. And most pairs of letters in words are of a few hundred common ones, counted here
over English prose and over code, while random letters fall on any of 676 pairs.
"""

from __future__ import annotations

import re
from operator import add, ne
from string import ascii_lowercase, ascii_uppercase, digits

SHORTEST = 20
_SAMPLE = 80
_COMMON_PAIRS = frozenset(
    """
    ab ac ad ag ai ak al am an ap ar as at au av ay ba be bi bl bo bu by ca cc ce ch ci ck cl co cr ct
    cu da dd de di do ds du ea ec ed ee ef eg ei el em en ep eq er es et ev ew ex ey fa fe ff fi fl fo
    fr ft fu ge gh gi gn gr gs gu ha he hi ho ht ia ib ic id ie if ig il im in io ip ir is it iv iz ke
    ki la ld le li ll lo ls lt lu ly ma mb me mi mm mo mp ms mu na nc nd ne nf ng ni nn no ns nt nu nv
    oa ob oc od of og oi ol om on oo op or os ot ou ov ow pa pe pi pl po pp pr ps pt pu py qu ra rc rd
    re rg ri rk rm rn ro rr rs rt ru ry sa sc se sh si so sp ss st su sy ta tc te th ti tl to tp tr ts
    tt tu ty ua ub uc ue ui ul um un up ur us ut va ve vi wa we wh wi wo wr xc xi xp xt yp ys yt ze
    """.split()
)
_ALL_PAIRS = frozenset(a + b for a in ascii_lowercase for b in ascii_lowercase)
_CLASSES = str.maketrans(
    ascii_lowercase + ascii_uppercase + digits + "+/_-=.~",
    "a" * 26 + "A" * 26 + "0" * 10 + "-" * 7,
)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+\Z")


def looks_random(token: str) -> bool:
    """Tell a random token from an identifier, path or hash. `token` is of [A-Za-z0-9+/_-] and padding.

    Of 46,655 distinct words of 20 characters and more in 107 MB of code and documentation 23 pass, half of
    them base64. Of random tokens of letters and digits one in 200 is missed at 20 characters, one in 1,300
    at 24, one in 50,000 at 32. Hex digits never pass: they are hashes unless a name says otherwise.
    """
    if len(token) < SHORTEST:
        return False
    token = token[:_SAMPLE].rstrip("=")
    classes = token.translate(_CLASSES)
    signs = classes.count("-")
    if signs > 2 + len(token) / 12:
        return False
    if _HEX.match(token):
        return False
    lower, upper, digit = "a" in classes, "A" in classes, "0" in classes
    if lower and upper:
        longer = 0.05 * (len(token) >= 24) + 0.05 * (len(token) >= 32)
        limit = (-0.22 if digit else -0.15) - longer
    elif digit and (lower or upper) and len(token) >= 32 and not signs:
        # One case and digits; a number with a letter in it is none.
        limit = -0.35 if classes.count("0") <= len(token) * 0.6 else 1.0
    else:
        return False
    changes = sum(map(ne, classes, classes[1:])) / (len(classes) - 1)
    return changes - share_of_common_pairs(token) >= limit and len(set(token)) >= min(12, len(token) // 2)


def looks_made_up(token: str) -> bool:
    """Tell the same of shorter tokens, which a name promises to be secrets: a weaker test."""
    if len(token) < 10:
        return False
    token = token[:_SAMPLE]
    classes = token.translate(_CLASSES)
    kinds = set(classes) - {"-"}
    lettered = -0.25 if len(token) >= 12 else 1.0
    limit = lettered if "0" not in kinds else -0.4 if len(kinds) == 3 else -0.5
    changes = sum(map(ne, classes, classes[1:])) / (len(classes) - 1)
    return len(kinds) > 1 and changes - share_of_common_pairs(token) >= limit


def share_of_common_pairs(token: str) -> float:
    """Return which part of the pairs of letters is common in words; 0.0 without any pair."""
    lowered = token[:_SAMPLE].lower()
    pairs = list(map(add, lowered, lowered[1:]))
    letters = sum(map(_ALL_PAIRS.__contains__, pairs))
    return sum(map(_COMMON_PAIRS.__contains__, pairs)) / letters if letters else 0.0
