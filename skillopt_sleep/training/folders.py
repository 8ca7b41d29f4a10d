"""A skill of several files: SKILL.md with the references and scripts that lie beside it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

import msgspec

from skillopt_replay.skills import Skill

SKILL_FILE = "SKILL.md"
_MAX_PATH = 200
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?\Z", re.IGNORECASE)
_FORBIDDEN = set('\\:*?"<>|')


class PathRefused(ValueError):
    """The path may not name a file of a skill; the message says why."""


class SkillFile(msgspec.Struct, frozen=True, order=True):
    """A text file of a skill. `path` is relative to the skill's folder, with forward slashes."""

    path: str
    text: str


class SkillFolder(msgspec.Struct, frozen=True):
    """A skill and its other files, in the order of their paths.

    Raises PathRefused for a path that leaves the folder or that not every system can hold.
    """

    skill: Skill
    files: tuple[SkillFile, ...] = ()

    def __post_init__(self) -> None:
        taken: list[str] = []
        for file in self.files:
            check_path(file.path)
            if find_clash(file.path, taken):
                raise PathRefused(f"{file.path}: {find_clash(file.path, taken)} is in its way")
            taken.append(file.path)
        if list(self.files) != sorted(self.files):
            msgspec.structs.force_setattr(self, "files", tuple(sorted(self.files)))

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of all files; that of the skill when there are no others."""
        if not self.files:
            return self.skill.digest
        return hashlib.sha256(msgspec.json.encode([self.skill, self.files])).hexdigest()[:16]

    def find(self, path: str) -> SkillFile | None:
        """Return the file at this path, None when there is none."""
        return next((file for file in self.files if file.path == path), None)


def check_path(path: str) -> None:
    """Raise PathRefused unless the path names a file below the skill's folder that is not SKILL.md.

    Hidden files, and names that some system cannot hold, are refused as well.
    """
    parts = path.split("/")
    if len(path) > _MAX_PATH:
        raise PathRefused(f"{path[:40]}...: longer than {_MAX_PATH} characters")
    if any(part in {"", ".", ".."} for part in parts):
        raise PathRefused(f"{path!r}: not a plain path below the skill's folder")
    if any(c in _FORBIDDEN or (unicodedata.category(c)[0] in "CZ" and c != " ") for c in path):
        raise PathRefused(f"{path!r}: has characters that a file name may not have")
    if any(part.startswith((".", "~", " ")) or part.endswith((".", " ")) for part in parts):
        raise PathRefused(f"{path!r}: hidden, or ends in a dot or space")
    if any(_RESERVED.match(part) for part in parts):
        raise PathRefused(f"{path!r}: a name that Windows keeps for devices")
    if fold_path(parts[0]) == fold_path(SKILL_FILE):
        raise PathRefused(f"{path!r}: the skill itself is no other file of it")


def find_clash(path: str, others: Iterable[str]) -> str:
    """Return which of the other paths cannot lie beside this one on every system, "" when all can."""
    plain = fold_path(path)
    for other in others:
        taken = fold_path(other)
        if taken == plain or taken.startswith(f"{plain}/") or plain.startswith(f"{taken}/"):
            return other
    return ""


def fold_path(path: str) -> str:
    """Return the path as systems compare it that ignore case and composition."""
    return unicodedata.normalize("NFC", path).casefold()
