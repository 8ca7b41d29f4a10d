"""The files that lie beside a SKILL.md: references, scripts, data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

SKILL_FILE = "SKILL.md"
_MAX_PATH = 200
_LEAST_SHOWN = 200  # characters; of a file there is less room for only the name is shown
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?\Z", re.IGNORECASE)
_FORBIDDEN = set('\\:*?"<>|')


class PathRefused(ValueError):
    """The path may not name a file of a skill; the message says why."""


class SkillFile(msgspec.Struct, frozen=True, order=True):
    """A file of a skill. `path` is relative to the skill's folder, with forward slashes.

    A file that is no UTF-8 text has its bytes in `blob`, and no `text`.
    """

    path: str
    text: str
    executable: bool = False
    blob: bytes = b""

    @property
    def content(self) -> bytes:
        """What the file holds."""
        return self.blob or self.text.encode()


def arrange(files: Sequence[SkillFile]) -> tuple[SkillFile, ...]:
    """Return the files in the order of their paths.

    Raises PathRefused for a path that leaves the folder, that not every system can hold, or that comes twice.
    """
    taken: list[str] = []
    for file in files:
        check_path(file.path)
        clash = find_clash(file.path, taken)
        if clash:
            raise PathRefused(f"{file.path}: {clash} is in its way")
        taken.append(file.path)
    return tuple(sorted(files))


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


def render_files(files: Sequence[SkillFile], max_characters: int) -> str:
    """Return the text files, each between tags with its path, those in Markdown first.

    One that does not fit whole is cut, and says so; of one that there is no room for, or that is no text,
    only the size is told.
    """
    room = max_characters
    parts = []
    for file in sorted(
        files, key=lambda file: (not file.path.casefold().endswith((".md", ".txt")), file.path)
    ):
        text = file.text.strip()
        if file.blob:
            shown = f"[{len(file.blob)} bytes, no text]"
        elif len(text) <= room:
            shown = text
        elif room >= _LEAST_SHOWN:
            kept = text[:room].rpartition("\n")[0] or text[:room]
            shown = f"{kept}\n[cut: {len(text) - len(kept)} more characters]"
        else:
            shown = f"[left out: {len(text)} characters]"
        room -= min(len(text), max(room, 0))
        parts.append(f'<file path="{file.path}">\n{shown}\n</file>')
    return "\n\n".join(parts)
