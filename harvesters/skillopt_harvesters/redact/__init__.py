"""Secrets out of text, before anything is stored or sent.

A text goes through stages, each a scan from left to right that yields the spans to hide. Scans are linear:
a pattern either fails within a bounded number of characters or takes what it has read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.redact import signs
from skillopt_harvesters.redact.assignments import find_assigned
from skillopt_harvesters.redact.blocks import find_key_blocks
from skillopt_harvesters.redact.chance import looks_random
from skillopt_harvesters.redact.escapes import unescape
from skillopt_harvesters.redact.marks import CUT_MARK, MARK_END, without_invisible
from skillopt_harvesters.redact.people import find_emails
from skillopt_harvesters.redact.places import find_in_places
from skillopt_harvesters.redact.programs import find_arguments
from skillopt_harvesters.redact.runs import find_in_runs
from skillopt_harvesters.redact.tables import find_in_tables
from skillopt_harvesters.redact.urls import find_in_urls
from skillopt_harvesters.redact.view import View, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillopt_harvesters.redact.view import Edit

__all__ = ["looks_random", "redact", "redact_ends", "redact_path", "redact_tail", "redact_within"]


def _find_escaped(view: View, *, depth: int = 1) -> Iterator[Edit]:
    """Find what would be found if no sign were escaped as in URLs or HTML, and those escapes not either."""
    read = unescape(view.text)
    if read is None:
        return
    told, named = signs.find_signs(read.text)
    inner = View.of(read.text, named)
    edits = [edit for sign, stage in _STAGES if told & sign & ~signs.ESCAPE for edit in stage(inner)]
    if told & signs.ESCAPE and depth < _DEEPEST:
        edits += _find_escaped(inner, depth=depth + 1)
    for start, end, kind in in_order(edits):
        # From the end of the character before: an escape is hidden whole.
        yield (read.find_source(start), read.find_source(end), kind)


# The specific kinds come first, so that the mark says what it was.
_STAGES: tuple[tuple[int, Callable[[View], Iterator[Edit]]], ...] = (
    (signs.ARMOUR, find_key_blocks),
    (signs.RUN, find_in_runs),
    (signs.NAME, find_assigned),
    (signs.URL, find_in_urls),
    (signs.ARGUMENT, find_arguments),
    (signs.PLACE, find_in_places),
    (signs.NAME, find_in_tables),
    (signs.EMAIL, find_emails),
    (signs.ESCAPE, _find_escaped),
)
_HARMLESS_IN_PATHS = frozenset({"random", "email"})
_SHORTEST = 6
_MARGIN = 8192
_ROUNDS = 10
_DEEPEST = 3


def redact(text: str) -> str:
    """Return the text with every secret replaced by `[redacted:kind]`.

    Works on decoded strings, and on JSON, URL and HTML escapes inside them. Redacting twice changes nothing
    more. Hashes, UUIDs, paths, code and prose stay. Time is linear in the length of the text.
    """
    return text if len(text) < _SHORTEST else _redact(text)


def redact_path(path: str) -> str:
    """Redact the path of a folder, or another name that must stay as it is when it is harmless.

    E-mail addresses and what only looks random stay: folders are named by both.
    """
    return path if len(path) < _SHORTEST else _redact(path, passing=_HARMLESS_IN_PATHS)


def _redact(text: str, *, passing: frozenset[str] = frozenset()) -> str:
    """Take a text through the stages that may find something in it."""
    told, named = signs.find_signs(text)
    if not told:
        return text
    view = View.of(text, named) if text.isascii() else View.of(without_invisible(text))
    # A mark ends words that ran on before, so a second look may see more. Clean text takes one round.
    for _ in range(_ROUNDS):
        before = view.text
        for sign, stage in _STAGES:
            if not told & sign:
                continue
            edits = [edit for edit in stage(view) if edit[2] not in passing]
            if edits:
                view, told = view.edited(edits), signs.ALL
        if view.text is before:
            break
        if not view.text.isascii():
            view = View.of(without_invisible(view.text))
    return view.text


def redact_within(text: str, limit: int) -> str:
    """Redact, then cut to `limit` characters. No half of a secret or of a mark stays at the cut."""
    if len(text) < limit + _MARGIN:
        redacted = redact(text)
    else:
        # What the window's end cuts in two may be no longer known as a secret: it is left out.
        redacted = redact(text[: limit + _MARGIN])[:-_MARGIN] + "…"
    if len(redacted) <= limit:
        return redacted
    kept = redacted[: limit - 1]
    return CUT_MARK.sub("", kept) + "…"


def redact_ends(text: str, limit: int) -> str:
    """Redact, then keep `limit` characters of the beginning and the end, the first three quarters."""
    if len(text) <= limit:
        text = redact(text)
    if len(text) <= limit:
        return text
    tail = limit // 4
    return redact_within(text, limit - tail) + redact_tail(text, tail)


def redact_tail(text: str, limit: int) -> str:
    """Redact, then keep the last `limit` characters. No half of a secret or of a mark stays at the cut."""
    is_whole = len(text) < limit + _MARGIN
    redacted = redact(text) if is_whole else redact(text[-limit - _MARGIN :])[_MARGIN:]
    return redacted if len(redacted) <= limit else MARK_END.sub("", redacted[-limit:])
