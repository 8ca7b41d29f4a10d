"""The proposed text in the user's own editor."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from skillopt_sleep.errors import AppError

_USUAL = "vi"


def edit_text(text: str, name: str, env: Mapping[str, str] | None = None) -> str:
    """Return the text as it is after $VISUAL or $EDITOR (else vi) has been at it, in this terminal.

    `name` is shown as the file's folder. Raises AppError when the editor cannot be started, ends with an
    error, or leaves something that is not UTF-8.
    """
    variables = os.environ if env is None else env
    editor = variables.get("VISUAL") or variables.get("EDITOR") or _USUAL
    with tempfile.TemporaryDirectory(prefix="skillopt-edit-") as folder:
        file = Path(folder, name, "SKILL.md")
        file.parent.mkdir()
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            done = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except (OSError, ValueError) as error:
            raise AppError(f"cannot start {editor}: {error}", hint="set EDITOR to your editor") from error
        if done.returncode:
            raise AppError(f"{editor} ended with {done.returncode}", hint="the text is as it was")
        try:
            return file.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise AppError(
                f"cannot read what {editor} left: {error}", hint="the text is as it was"
            ) from error
