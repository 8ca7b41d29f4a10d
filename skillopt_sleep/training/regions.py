"""The two regions of a skill that edits cannot reach: the slow update's guidance and the appendix of notes.

A skill may hold broken markers: one without the other, one pair inside another. Reading never minds; writing
puts them in order first, and what is written is always one pair of markers a region.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from skillopt_replay.skills import Skill, SkillInvalid, find_problems
from skillopt_sleep.training.contents import EditRefused, clean_content
from skillopt_sleep.training.inserts import newline_of, splice
from skillopt_sleep.training.markdown import Marker, find_code, find_islands, find_markers
from skillopt_sleep.training.words import count_tokens

Region = Literal["slow_update", "appendix"]

_REGIONS: tuple[Region, ...] = ("slow_update", "appendix")


class Parts(NamedTuple):
    """A body taken apart: the text outside of all regions, and the text of each region there is."""

    outside: str
    regions: dict[Region, str]


def read_region(body: str, region: Region) -> str:
    """Return the text of the region without its markers, "" when there is none."""
    return split_regions(body).regions.get(region, "")


def write_region(skill: Skill, region: Region, text: str, *, max_tokens: int) -> Skill:
    """Return the skill with the text in the region, in place of what was there; "" takes the region away.

    A new region goes to the end of the skill. Everything outside stays as it is, byte for byte, unless the
    skill's markers are broken: then they are put in order first. Raises EditRefused for text that is over
    `max_tokens` (with `over_size`), hides something or tears a code block, SkillInvalid for a skill that is
    not legal.
    """
    problems = find_problems(skill)
    if problems:
        raise SkillInvalid(f"skill {skill.name}: {'; '.join(problems)}")
    content = clean_content(text) if text.strip() else ""
    size = count_tokens(content)
    if size > max_tokens:
        raise EditRefused(f"the region would have {size} tokens, {max_tokens} allowed", over_size=True)
    body = mend_regions(skill.body)
    changed = _put(body, region, content)
    if read_region(changed, region).replace("\r\n", "\n") != content or not _is_sound(changed):
        raise EditRefused("the region cannot be written: a code block or comment of the skill is not closed")
    result = msgspec.structs.replace(skill, text=skill.text.removesuffix(skill.body) + changed)
    problems = find_problems(result)
    if problems:
        raise EditRefused(f"the skill would not be legal: {'; '.join(problems)}")
    return result


def split_regions(body: str) -> Parts:
    """Return the text outside of the regions, and that of each region.

    Of broken markers the first start and the first end after it count as a pair; the others are dropped.
    Text between two starts belongs to the later one. Markers shown in a code block are no markers.
    """
    markers = _find_own(body)
    if not markers:
        return Parts(body, {})
    paired = _pair(markers)
    outside: list[str] = []
    pieces: dict[Region, list[str]] = {}
    opened: list[Region] = []
    position = 0
    for marker in (*markers, None):
        piece = body[position : marker.start if marker else len(body)]
        (pieces.setdefault(opened[-1], []) if opened else outside).append(piece)
        if marker is None:
            break
        position = marker.end
        if marker in paired:
            region = _region_of(marker)
            opened = [*opened, region] if marker.opens else [one for one in opened if one != region]
            pieces.setdefault(region, [])
    newline = newline_of(body)
    regions = {
        region: (newline * 2).join(filter(None, (piece.strip("\r\n") for piece in pieces[region])))
        for region in _REGIONS
        if region in pieces
    }
    return Parts(_join(outside, newline), regions)


def mend_regions(body: str) -> str:
    """Return the body with one sound pair of markers a region, at the end; a sound body as it is.

    No text is lost but markers. Raises EditRefused when that cannot be, because a code block or comment is
    not closed.
    """
    if _is_sound(body):
        return body
    parts = split_regions(body)
    mended = parts.outside
    for region, text in parts.regions.items():
        mended = _put(mended, region, text)
    held = {region: text for region, text in parts.regions.items() if text}
    if not _is_sound(mended) or {r: t for r, t in split_regions(mended).regions.items() if t} != held:
        raise EditRefused("the region markers of the skill are broken beyond mending: put them right by hand")
    return mended


def _put(body: str, region: Region, text: str) -> str:
    """Return a sound body with the text in the region."""
    own = [marker for marker in _find_own(body) if _region_of(marker) == region]
    newline = newline_of(body)
    text = text.replace("\r\n", "\n").replace("\n", newline)
    if own and text:
        return body[: own[0].end] + newline + text + newline + body[own[1].start :]
    if own:
        return _join([body[: own[0].start], body[own[1].end :]], newline)
    if not text:
        return body
    name = region.upper()
    block = newline.join([f"<!-- {name}_START -->", text, f"<!-- {name}_END -->"])
    return splice(body, _find_end(body), block)


def _join(pieces: list[str], newline: str) -> str:
    """Return the pieces with one blank line where a region was, and none at the end."""
    joined = pieces[0]
    for piece in pieces[1:]:
        rest = piece.lstrip("\r\n")
        if not joined.strip():
            joined += rest
        elif rest.strip():
            joined = joined.rstrip("\r\n") + newline * 2 + rest
        else:
            joined = joined.rstrip("\r\n") + newline
    return joined


def _find_end(body: str) -> int:
    """Return the end of the body, before code or a comment that is open there."""
    return min(
        (i.start for i in find_islands(body) if not i.closed and i.kind != "protected"), default=len(body)
    )


def _is_sound(body: str) -> bool:
    """Say whether each region has at most one pair of markers, none inside another, a comment or code."""
    markers = _find_own(body)
    starts, ends = markers[::2], markers[1::2]
    if len(starts) != len(ends) or len({start.kind for start in starts}) != len(starts):
        return False
    pairs = zip(starts, ends, strict=True)
    if not all(start.opens and not end.opens and start.kind == end.kind for start, end in pairs):
        return False
    hidden = [island for island in find_islands(body) if island.kind != "protected" and not island.closed]
    return not any(island.overlaps(marker.start, marker.end) for island in hidden for marker in markers)


def _find_own(body: str) -> list[Marker]:
    """Return the markers that are not shown in a closed code block."""
    code = [island for island in find_code(body) if island.closed]
    return [m for m in find_markers(body) if not any(i.holds(m.start, m.end) for i in code)]


def _pair(markers: list[Marker]) -> set[Marker]:
    paired: set[Marker] = set()
    opened: dict[str, Marker] = {}
    for marker in markers:
        if marker.opens:
            opened.setdefault(marker.kind, marker)
        elif marker.kind in opened:
            paired |= {opened.pop(marker.kind), marker}
    return paired


def _region_of(marker: Marker) -> Region:
    return "slow_update" if marker.kind == "SLOW_UPDATE" else "appendix"
