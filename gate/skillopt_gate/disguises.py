"""What a text says underneath: other letters, spacing or encodings of it do not make it another text."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

# Letters that look like Latin ones, small forms only: text is folded first.
_LOOKALIKES = str.maketrans(
    "авекмнорстухіјѕԁһԛԝьαβεικνορτυχıɡɑⅼ|",
    "abekmhopctyxijsdhqwbabeikvoptuxigall",
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}[\s:]?){16,}")
_MARKS = re.compile(r"^[ \t]*(?:[-*+>#|]+|\d+[.)])[ \t]*|<!--.*?-->", re.MULTILINE | re.DOTALL)
_MOST_DECODED = 100_000


def simplify(text: str) -> str:
    """Return the text in small letters, without accents and invisible characters, look-alikes made Latin.

    Not meant to be read: real words of other scripts change as well.
    """
    whole = unicodedata.normalize("NFKD", text).casefold()
    kept = "".join(c for c in whole if unicodedata.category(c) not in {"Mn", "Cf", "Me"})
    return unicodedata.normalize("NFC", kept).translate(_LOOKALIKES)


def squeeze(text: str) -> tuple[str, list[int]]:
    """Return the simplified letters and digits alone, and for each its place in `text`."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for one in simplify(character):
            if one.isalnum():
                letters.append(one)
                places.append(place)
    return "".join(letters), places


def list_readings(text: str) -> list[str]:
    """Return the text, and as it reads without marks, decoded (HTML, percent, base64, hex) and turned."""
    readings = [
        text,
        _MARKS.sub(" ", text),
        html.unescape(text),
        unquote(text),
        codecs.encode(text, "rot13"),
        text[::-1],
    ]
    readings += list(_decode(text))
    return list(dict.fromkeys(readings))


def _decode(text: str) -> Iterator[str]:
    for run in (found.group() for found in _BASE64.finditer(text[:_MOST_DECODED])):
        plain = run.rstrip("=").replace("-", "+").replace("_", "/")
        # A run may begin or end with characters that belong to the words around it.
        with_padding = plain[: len(plain) // 4 * 4]
        rest = plain + "=" * (-len(plain) % 4)
        for candidate in (rest, with_padding):
            try:
                yield base64.b64decode(candidate, validate=True).decode()
                break
            except (binascii.Error, UnicodeDecodeError):
                continue
    for run in (found.group() for found in _HEX.finditer(text[:_MOST_DECODED])):
        digits = re.sub(r"[\s:]", "", run)
        try:
            yield bytes.fromhex(digits).decode()
        except (ValueError, UnicodeDecodeError):
            continue
