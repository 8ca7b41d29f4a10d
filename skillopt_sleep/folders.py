"""Whether a project that a transcript names lies in a folder that somebody asked for.

Transcripts may come from another system: a Windows path recorded there is compared as Windows does, on any
machine.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
import unicodedata

import msgspec

_WINDOWS = re.compile(r"(?:\\\\\?\\)?[A-Za-z]:(?:[\\/]|\Z)|\\\\[^\\/]")


class Folder(msgspec.Struct, frozen=True):
    """A folder by all the names it is known under, each as `_normalise` writes them."""

    names: tuple[str, ...]

    def holds(self, recorded: str | None) -> bool:
        """Tell whether a recorded path is the folder or lies below it. An unknown one does not."""
        if not recorded:
            return False
        path = _normalise(recorded)
        return any(path == name or path.startswith(_with_end(name)) for name in self.names)


def find_folder(text: str) -> Folder:
    """Return the folder meant by what was typed: relative to the working directory, `~` expanded.

    Links are followed, and the name as typed counts as well: clients record either.
    """
    if _WINDOWS.match(text) and os.name != "nt":
        return Folder((_normalise(text),))
    typed = os.path.abspath(os.path.expanduser(text))  # noqa: PTH100, PTH111 - Path keeps no ".." as typed
    return Folder(tuple(dict.fromkeys((_normalise(typed), _normalise(os.path.realpath(typed))))))


def _normalise(path: str) -> str:
    # macOS hands out the same name composed or decomposed.
    path = unicodedata.normalize("NFC", path)
    if _WINDOWS.match(path):
        return ntpath.normcase(ntpath.normpath(path.removeprefix("\\\\?\\")))
    plain = posixpath.normpath(path)
    return plain[1:] if plain.startswith("//") else plain


def _with_end(name: str) -> str:
    return name if name.endswith(("/", "\\")) else name + ("\\" if _WINDOWS.match(name) else "/")
