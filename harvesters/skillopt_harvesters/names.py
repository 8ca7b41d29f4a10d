"""Names for new skills: every family in every project has its own, since a name is a place on disk."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from skillopt_harvesters.digests import digest
from skillopt_harvesters.normalise import FENCED, STOP_WORDS, stem
from skillopt_replay.skills import MAX_NAME

_NAME_WORDS = 3
_NAMING_WORDINGS = 3
# The Agent Skills specification keeps these out of names.
_RESERVED = frozenset({"anthropic", "claude"})


class Names:
    """The names given so far, each to one family of one project."""

    def __init__(self) -> None:
        self._owners: dict[str, tuple[str, str | None]] = {}

    def reserve(self, name: str, family: str, root: str | None) -> bool:
        """Give the name to a family of a project; False when another has it."""
        return self._owners.setdefault(name, (family, root)) == (family, root)

    def find(self, name: str, family: str, root: str | None) -> str:
        """Return the name, made longer by the project or by a few digits when another family has it."""
        folder = _to_name(re.split(r"[/\\]", root)[-1]) if root else ""
        longer = f"{name[: MAX_NAME - 1 - len(folder[:20])]}-{folder[:20]}".strip("-") if folder else name
        mark = digest(family, root or "")[:4]
        for one in (name, longer, f"{name[: MAX_NAME - 5]}-{mark}"):
            if self.reserve(one, family, root):
                return one
        return f"task-{digest(family, root or '')}"


def name_skill(wordings: Sequence[Sequence[str]], family: str, title: str) -> str:
    """Return a legal skill name from the first telling words of a family's earliest ask.

    `wordings` are the skeletons of its pattern, earliest first. Words that the two after the earliest do not
    share are values rather than names. Later wordings have no say, so that the skill keeps its name
    while the family grows. Slash commands and templates are called by their title.
    """
    leader = wordings[0]
    if leader and (leader[0].startswith("/") or leader[0] == FENCED):
        words = title.split()
    else:
        others = {stem(token) for wording in wordings[1:_NAMING_WORDINGS] for token in wording}
        words = [token for token in leader if token[0] != "<" and token not in STOP_WORDS and len(token) > 1]
        shared = [token for token in words if stem(token) in others]
        words = shared if len(shared) > 1 else words
    return _to_name(" ".join(words[:_NAME_WORDS])) or f"task-{family[:8]}"


def _to_name(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    parts = [part for part in re.split(r"[^a-z0-9]+", plain.lower()) if part and part not in _RESERVED]
    return "-".join(parts)[:MAX_NAME].strip("-")
