"""Writing files so that a reader sees the old text or the new, never half."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def sync_tree(folder: Path) -> None:
    """Have the files of a folder written through to the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def write_atomically(path: Path, content: str | bytes, *, mode: int = 0o600) -> None:
    """Replace the file with a text (UTF-8) or bytes.

    On any error the old file is untouched and no temporary stays.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as temporary:
            temporary.write(content.encode() if isinstance(content, str) else content)
            temporary.flush()
            os.fsync(temporary.fileno())
        os.chmod(name, mode)  # noqa: PTH101 - the temporary is ours and has no Path yet
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
