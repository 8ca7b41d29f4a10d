"""What was lost with a record that cannot be read: perhaps the prompt of the answer that follows."""

from __future__ import annotations

import re
from enum import IntEnum

# A record tells what it is near its beginning, however long it is.
_OPENING = 4096
_OTHERS = re.compile(
    rb'"type":\s?"(?:assistant|system|progress|attachment|summary|file-history|queue-operation|last-prompt)'
    rb'|"role":\s?"assistant"|"tool_result"|"toolUseResult"|"isSidechain":\s?true|"isMeta":\s?true'
    rb'|"(?:text|content)":\s?"(?:Base directory for this skill: |Caveat: The messages below'
    rb"|Stop hook feedback:|This session is being continued from )"
)
_PROMPT = re.compile(rb'"role":\s?"user",\s?"content":\s?(?:"[^"<]|\[\{"type":\s?"text")')
_RECORD = re.compile(rb'"parentUuid"|"sessionId"|"message"')


class Loss(IntEnum):
    """Whether a prompt was lost: no, perhaps (then what follows tells), or for certain."""

    NONE = 0
    PERHAPS = 1
    PROMPT = 2


def judge_loss(line: bytes) -> Loss:
    """Return what was lost with a line, by how it begins."""
    opening = line[:_OPENING]
    if _OTHERS.search(opening):
        return Loss.NONE
    if _PROMPT.search(opening):
        return Loss.PROMPT
    is_hole = not opening.strip(b"\0")
    return Loss.PERHAPS if is_hole or _RECORD.search(opening) else Loss.NONE
