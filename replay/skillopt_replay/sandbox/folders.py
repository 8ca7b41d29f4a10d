"""What of a machine may be shown to a run, and what never."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.errors import ReplayError

if TYPE_CHECKING:
    from collections.abc import Iterable

_kept: set[Path] = set()
# Folders in which people keep single programs beside others that are no business of a run.
_SHARED = ("bin", ".bin", "sbin", "scripts", "Downloads", "Desktop", "versions")


def show_program(binary: Path) -> Path:
    """Return what has to be readable to run a program: its folder, or itself where the folder holds more.

    A program lying in the home folder itself, in ~/bin or the like, must not lay the others open.
    """
    program = binary.resolve()
    folder, found = program.parent, homes()
    shared = folder.name in _SHARED and any(folder.is_relative_to(home) for home in found)
    return program if shared or _opens_home(folder, found) else folder


def refuse_homes(paths: Iterable[Path]) -> None:
    """Raise ReplayError when one of the folders, links resolved, is a home, or holds one."""
    found = homes()
    for path in paths:
        if _opens_home(path, found):
            raise ReplayError(
                f"{path} holds the home folder, so no run may be given it",
                hint="name the folder that is needed in it",
            )


def keep_from_runs(folders: Iterable[Path]) -> None:
    """Have no run of this process see these folders from now on, wherever they lie.

    Not all that is private lies in a home: in /opt and /usr, which runs see, people keep projects, and
    services have their homes.
    """
    _kept.update(folders)


def find_kept(shown: Iterable[Path]) -> set[Path]:
    """Return the folders that are kept from runs, homes among them, links resolved, in what is shown."""
    inside = tuple(os.path.join(place, "") for place in shown)  # noqa: PTH118 - for every run
    found = {path.resolve() for path in (*_kept, *homes())}
    return {path for path in found if str(path).startswith(inside) and path.is_dir()}


def homes() -> set[Path]:
    """Return the user's home folders: the one in the environment, and the one of the account."""
    found: set[Path] = set()
    with contextlib.suppress(RuntimeError):
        found.add(Path.home().resolve())
    # A user without an account, as containers have them, or a system without such accounts.
    with contextlib.suppress(KeyError, ImportError):
        import pwd

        found.add(Path(pwd.getpwuid(os.getuid()).pw_dir).resolve())
    return {home for home in found if home != Path(home.anchor)}


def _opens_home(folder: Path, found: Iterable[Path]) -> bool:
    return folder == Path(folder.anchor) or any(home.is_relative_to(folder) for home in found)
