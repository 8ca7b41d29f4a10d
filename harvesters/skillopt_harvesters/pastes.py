"""Long prompts: mostly something pasted, with a short ask before or behind it."""

from __future__ import annotations

import re

from skillopt_harvesters.fences import find_fenced
from skillopt_harvesters.folding import fold_marks
from skillopt_harvesters.replies import speakers_of
from skillopt_harvesters.typed import typed_part

# A longer prompt holds something pasted.
MAX_ASK = 16_000
_MAX_PART = 600
_MAX_LINES = 5
_CUT = "\n[…]\n"
# A line that ends so says what to do with the paste right beside it.
_LEADS = (":", "：", "?", "？")
_EDGE = re.compile(r"^[ \t]*(?:```.*|~~~.*)?$")
# What prose holds little of.
_CODE = re.compile(r"[{}\[\]<>()=;|\\/_$#*+]")
_MAX_CODE = 0.05


def ask_of(prompt: str) -> str:
    """Return what a prompt asks for: of a long one the words around what was pasted, "" without any."""
    if len(prompt) <= MAX_ASK or find_fenced(prompt) is not None:
        return prompt
    lines = prompt.strip().split("\n")
    head = _read_edge(lines)
    tail = "\n".join(reversed(_read_edge(lines[::-1]).split("\n")))
    return "\n\n".join(part for part in dict.fromkeys((head, tail)) if _is_said(part))


def shorten(prompt: str) -> str:
    """Return a prompt without the middle of what was pasted, at most `MAX_ASK` characters."""
    if len(prompt) <= MAX_ASK:
        return prompt
    half = (MAX_ASK - len(_CUT)) // 2
    return f"{prompt[:half]}{_CUT}{prompt[-half:]}"


def _read_edge(lines: list[str]) -> str:
    """Return the first lines up to a gap; "" when there is none near: then they are the paste itself."""
    first = lines[0].rstrip()
    if len(first) <= _MAX_PART and first.endswith(_LEADS):
        return first
    found: list[str] = []
    for line in lines[: _MAX_LINES + 1]:
        if _EDGE.match(line) or (found and not typed_part(line)):
            part = "\n".join(found)
            return part if len(part) <= _MAX_PART else ""
        found.append(line)
    return ""


def _is_said(part: str) -> bool:
    """Whether somebody said this: it is typed, in a language that is known, and no code."""
    said = fold_marks(typed_part(part))
    return bool(said and speakers_of(said)) and len(_CODE.findall(said)) <= _MAX_CODE * len(said) + 1
