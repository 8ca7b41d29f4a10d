"""Secrets that show by themselves: long runs without a space that are known tokens, random, or a payload."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from skillopt_harvesters.redact.chance import SHORTEST, looks_random
from skillopt_harvesters.redact.vendors import find_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillopt_harvesters.redact.view import Edit, View

# One class with a least count: the fastest scan there is. All else is looked for inside what it finds.
_RUN = re.compile(r"[A-Za-z0-9_+/=.~:%-]{20,}")
_PIECE = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_SEGMENT = re.compile(r"[A-Za-z0-9]{20,}")
_ESCAPED_PIECE = re.compile(r"(?:[A-Za-z0-9_+/-]|%2[BbFf]|%3[Dd]){20,}")
_SLASHED_PIECE = re.compile(r"(?<![A-Za-z0-9+_=-])[A-Za-z0-9+_=-]+(?:\\{1,3}/[A-Za-z0-9+_=-]*)+")
# Hex, times, and paths and names of words: most runs, and never more than that.
_DULL = re.compile(
    r"(?:[A-Z]?[a-z]{0,15}[0-9]{0,2}[/_.:-])*[A-Z]?[a-z]{0,15}[0-9]{0,2}"
    r"|[0-9a-f-]{20,49}|[0-9a-f-]{51,}|[0-9TZ:.+-]+"
)
_PAYLOAD = 200
_MIXED = (re.compile("[a-z]"), re.compile("[A-Z]"), re.compile("[0-9]"))

# Lines of a wrapped payload are as long as each other, and at least this long.
_LINE = 56
_LINE_BREAK = re.compile(r"(?:[\s\"'+,>|\\]|(?<=\\)[nr]){1,96}")
_LAST_LINE = re.compile(
    r"(?:\\{1,63}n|\r?\n|[\"',+]){1,8}[ \t>|]{0,40}(?=[A-Za-z]{0,99}(?:[0-9+/=_]|[a-z][A-Z]))"
    r"[A-Za-z0-9+/_-]{1,100}={0,2}(?=[\s\"'\\-]|\Z)"
)

_HASH_IN_PATH = re.compile(r"/[0-9a-f]{20,}(?:/|\Z)")
_HASH = re.compile(r"(?:sha(?:1|224|256|384|512)|md5)-([A-Za-z0-9+/_-]{20,}={0,2})\Z")
_HASH_BEFORE = re.compile(
    r"(?:(?:h1|sha(?:1|224|256|384|512)|md5)[:=-]"
    r"|(?:sha[0-9]*|hash|checksum|digest|integrity|etag|fingerprint)[\"']?\s{0,4}[:=]\s{0,4}(?:W/)?\\{0,63}[\"']?)\Z",
    re.IGNORECASE,
)
_DIGEST_LENGTHS = frozenset({22, 24, 27, 28, 32, 40, 43, 44, 52, 64, 86, 88})


def find_in_runs(view: View) -> Iterator[Edit]:
    """Find known tokens, random strings and base64 payloads, wrapped ones as a whole."""
    plain = view.plain
    if "\\/" in plain:
        runs = sorted(_with_slashes(plain))
    else:
        runs = [match.span() for match in _RUN.finditer(plain)]
    lines: list[tuple[int, int]] = []
    for start, end in runs:
        if lines and not _continues(plain, lines, start, end):
            yield from _close(plain, lines)
            lines = []
        if lines or end - start >= _LINE:
            lines.append((start, end))
        elif not _DULL.fullmatch(plain, start, end):
            yield from _find_in_run(plain, start, end)
    if lines:
        yield from _close(plain, lines)


def are_dull(word: str) -> bool:
    """Tell whether the runs in a word without backslashes give nothing away, whatever stands around it."""
    return all(
        match.end() - match.start() < _LINE and _DULL.fullmatch(match[0]) for match in _RUN.finditer(word)
    )


def _with_slashes(plain: str) -> Iterator[tuple[int, int]]:
    """Yield the runs, in one piece those with a backslash before every slash."""
    done = 0
    for match in _SLASHED_PIECE.finditer(plain):
        if len(match[0]) < SHORTEST:
            continue
        yield from (run.span() for run in _RUN.finditer(plain, done, match.start()))
        yield match.span()
        done = match.end()
    yield from (run.span() for run in _RUN.finditer(plain, done))


def _continues(plain: str, lines: list[tuple[int, int]], start: int, end: int) -> bool:
    before, width = lines[-1], lines[0][1] - lines[0][0]
    # In an escaped text the n of \n is read as the first letter of the line.
    return (
        abs(before[1] - before[0] - width) <= 2
        and end - start <= width + 2
        and _LINE_BREAK.fullmatch(plain, before[1], start) is not None
    )


def _close(plain: str, lines: list[tuple[int, int]]) -> Iterator[Edit]:
    start, end = lines[0][0], lines[-1][1]
    if len(lines) > 1 and any(looks_random(plain[s:e].strip("=")) for s, e in lines[:40]):
        last = _LAST_LINE.match(plain, end)
        yield (start, last.end() if last else end, "base64")
        return
    for line in lines:
        yield from _find_in_run(plain, *line)


def _find_in_run(plain: str, start: int, end: int) -> Iterator[Edit]:
    if _DULL.fullmatch(plain, start, end):
        return
    if end - start >= _PAYLOAD and _is_payload(plain, start, end):
        yield (start, end, "base64")
        return
    done = start
    for known in find_known(plain, start, end):
        yield from _find_random(plain, done, known[0])
        yield known
        done = known[1]
    yield from _find_random(plain, done, end)


def _is_payload(plain: str, start: int, end: int) -> bool:
    """Whether a long run is base64 from end to end; low entropy does not matter (images are full of AAAA)."""
    run = plain[start:end]
    match = _PIECE.fullmatch(run)
    return (
        match is not None
        and sum(map(run.count, "+/_-")) <= len(run) / 10
        and all(kind.search(run) for kind in _MIXED)
    )


def _find_random(plain: str, start: int, end: int) -> Iterator[Edit]:
    if end - start < SHORTEST:
        return
    if plain.startswith("base64,", max(0, start - 7)) and start >= 7:
        yield (start, end, "base64")
        return
    if plain.find("%", start, end) >= 0 and (edits := list(_find_escaped(plain, start, end))):
        yield from edits
        return
    if plain.find("\\", start, end) >= 0 and looks_random(plain[start:end].replace("\\", "")):
        yield (start, end, "random")
        return
    for match in _PIECE.finditer(plain, start, end):
        piece = match[0]
        if looks_random(piece) and not _HASH_IN_PATH.search(piece):
            found = [match.span()]
        else:
            # A random word in a path or behind a prefix.
            found = [
                segment.span()
                for segment in _SEGMENT.finditer(plain, *match.span())
                if len(segment[0]) < len(piece) and looks_random(segment[0])
            ]
        if found and not _is_hash(plain, match.start(), piece):
            for span in found:
                if not _is_hash(plain, span[0], plain[span[0] : span[1]]):
                    yield (*span, "base64" if span[1] - span[0] >= _PAYLOAD else "random")


def _find_escaped(plain: str, start: int, end: int) -> Iterator[Edit]:
    """Find random strings whose signs are escaped as in URLs."""
    for match in _ESCAPED_PIECE.finditer(plain, start, end):
        if "%" in match[0] and looks_random(unquote(match[0])):
            yield (*match.span(), "random")


def _is_hash(plain: str, start: int, piece: str) -> bool:
    """Whether the piece is a checksum in base64, by its length and by what stands before it."""
    named = _HASH.match(piece)
    if named:
        return len(named[1]) in _DIGEST_LENGTHS
    return len(piece) in _DIGEST_LENGTHS and _HASH_BEFORE.search(plain, max(0, start - 32), start) is not None
