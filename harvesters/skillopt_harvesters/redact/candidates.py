"""A value behind a name, which may be the secret that the name promises."""

from __future__ import annotations

import re
from typing import NamedTuple

from skillopt_harvesters.redact.joints import Joint
from skillopt_harvesters.redact.literals import Value
from skillopt_harvesters.redact.names import Strength

ENVIRONMENT = re.compile(r"[A-Z][A-Z0-9_]*\Z")
# Joints that leave no doubt that the value belongs to the name.
FIRM = frozenset(["pair", "attribute", "line", "block", "element", "option"])
_LINE_START = re.compile(
    r"(?:\A|\n|\\n)[ \t+>$#-]{0,16}(?:export |set |setx |declare -x |ENV |ARG |- )?[\"']?\Z"
)
_KEY = re.compile(r"\b(?:name|key):[ \t]?\Z")
_HEADING = re.compile(r"[ \t#*>`-]{0,16}(?:[A-Za-z]{1,20} ){0,3}")


class Candidate(NamedTuple):
    """A value that may be the secret of a name. `start` is where the name begins, `text` the value judged."""

    plain: str
    start: int
    name: str
    strength: Strength
    joint: Joint
    value: Value
    text: str

    @property
    def is_flag(self) -> bool:
        return self.name.startswith("-") or self.plain.startswith("-", max(0, self.start - 1))

    @property
    def is_first(self) -> bool:
        """Whether a quoted name is the first of its list: ("password", "x")."""
        before = self.plain[max(0, self.start - 3) : self.start]
        return "(" in before or "[" in before

    @property
    def starts_line(self) -> bool:
        """Whether this is a line of a shell or .env file: an upper-case name, a bare equals sign, a value."""
        return (
            self.joint.kind == "="
            and not self.joint.spaced
            and ENVIRONMENT.match(self.name) is not None
            and _LINE_START.search(self.plain, max(0, self.start - 40), self.start) is not None
        )


def is_offered(candidate: Candidate) -> bool:
    """Whether a joint of this kind gives a value to the name at all."""
    plain, start, joint, value = candidate.plain, candidate.start, candidate.joint, candidate.value
    kind = joint.kind
    if kind in {"=", ":"} and len(candidate.name) > 4:
        return True
    offered = True
    if candidate.name.lower() == "pass" and not joint.assigns and kind not in FIRM:
        # The verb.
        offered = candidate.is_flag
    elif kind in {"||", "??", "call"}:
        offered = value.quoted
    elif kind in {"comma", "fill", "send"}:
        strong = candidate.strength >= Strength.PASSWORD
        offered = value.quoted and (
            strong
            if kind != "comma"
            else joint.quoted_name and (strong or candidate.is_first or candidate.is_flag)
        )
    elif kind in {"pair", "attribute"}:
        # In YAML neither is quoted: {name: DB_PASSWORD, value: x}
        offered = (
            joint.quoted_name
            or plain.startswith("=", start - 1)
            or _KEY.search(plain, max(0, start - 8), start) is not None
        )
    elif kind == "element":
        offered = joint.quoted_name or plain[max(0, start - 1) : start] in {"<", ">", "/", ":"}
    elif kind == "block":
        offered = joint.quoted_name and value.quoted
    elif kind == "cell":
        # A row of a table begins with its sign.
        offered = plain[max(0, start - 300) : start].rpartition("\n")[2].lstrip().startswith("|")
    elif kind == "below":
        # A heading of a few words.
        offered = _HEADING.fullmatch(plain[max(0, start - 300) : start].rpartition("\n")[2]) is not None
    return offered
