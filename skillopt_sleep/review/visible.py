"""Foreign text made safe to show: nothing in it can drive the terminal or hide from the reader."""

from __future__ import annotations

import re

# Control characters, then invisible and reordering ones: an instruction hidden from the reviewer would
# still be read by an agent. Emoji joiners are escaped too; a smiley in two halves harms nobody.
_CONTROLS = "\x00-\x1f"
_OTHERS = (
    "\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
_HIDDEN = re.compile(f"[{_CONTROLS}{_OTHERS}]")
# JSON escapes control characters anyway.
_HIDDEN_IN_JSON = re.compile(f"[{_OTHERS}]")
_PICTURES = {**{code: chr(0x2400 + code) for code in range(0x20)}, 0x7F: "\u2421"}


def show(text: str, *, tab: str = "→   ", newline: str = "\n") -> str:
    """Return `text` with every control, invisible or reordering character replaced by a visible sign.

    Control characters become their pictures (ESC is ␛), others their code (<U+202E>). The result has the
    same lines; joining the results of two pieces gives the result of the joined pieces.
    """
    return _HIDDEN.sub(lambda found: _sign(found.group(), tab, newline), text)


def show_line(text: str) -> str:
    """Return `text` as one line: runs of whitespace become one space, the rest as `show` does it."""
    return show(" ".join(text.split()))


def escape_json(text: str) -> str:
    """Return JSON that says the same, with every such character escaped: a terminal may be what reads it."""
    return _HIDDEN_IN_JSON.sub(_escape, text)


def hides(text: str) -> bool:
    """Tell whether the text has characters that a reader would not see (tabs and line ends aside)."""
    return any(found.group() not in "\t\n\r" for found in _HIDDEN.finditer(text))


def _escape(found: re.Match[str]) -> str:
    units = found.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _sign(char: str, tab: str, newline: str) -> str:
    if char == "\n":
        return newline
    if char == "\t":
        return tab
    picture = _PICTURES.get(ord(char))
    return picture or f"<U+{ord(char):04X}>"
