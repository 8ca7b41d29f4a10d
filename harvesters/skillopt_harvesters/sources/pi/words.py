"""The user's own words in a user message: what the client put before them is taken off."""

from __future__ import annotations

import re

import msgspec

_SKILL = re.compile(r'<skill name="(?P<name>[^"\n]{1,200})" location="[^"\n]{0,4096}">\n')
_SKILL_END = "\n</skill>"
_FILE = re.compile(r'<file name="[^"\n]{1,4096}">')
_FILE_END = "</file>\n"
_COMMAND = re.compile(r"/skill:(?P<name>\S{1,200})(?:\s+(?P<arguments>.*))?\Z", re.DOTALL)
# What the client says of pictures it changed or left out, in lines behind the prompt.
_NOTE = re.compile(
    r"\[Image(?:: original \d+x\d+, displayed at \d+x\d+\. "
    r"Multiply coordinates by [\d.]+ to map to original image\."
    r"| converted from \S+ to \S+\.| omitted: could not be (?:converted|resized) [^]]+)\]"
)


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What a person typed: a prompt, or a command with its arguments. `skill` is one that was loaded."""

    prompt: str = ""
    command: str | None = None
    skill: str | None = None


def find_words(text: str) -> Words:
    """Return the words in a message.

    A skill's text stands before the arguments it was called with, and the text of files before the prompt
    they were attached to. Both may hold anything, also what they end with: the last such end counts, so that
    none of their text is taken for the user's.
    """
    text = _drop_notes(text)
    skill = _SKILL.match(text)
    if skill:
        _, end, rest = text.rpartition(_SKILL_END)
        name = skill["name"]
        return Words(prompt=rest.strip() if end else "", command=f"/skill:{name}", skill=name)
    if _FILE.match(text):
        text = text.rpartition(_FILE_END)[2]
    command = _COMMAND.match(text)
    if command:
        return Words(prompt=(command["arguments"] or "").strip(), command=f"/skill:{command['name']}")
    return Words(prompt=text.strip())


def _drop_notes(text: str) -> str:
    if not text.endswith("]"):
        return text
    lines = text.split("\n")
    while lines and _NOTE.fullmatch(lines[-1]):
        lines.pop()
    return "\n".join(lines)
