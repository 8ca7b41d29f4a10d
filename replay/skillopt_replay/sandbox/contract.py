"""What a sandbox is, and what a run may reach inside one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.sandbox.reach import Endpoint

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a sandbox works on this machine: `detail` is one line, `hint` says what to do when not."""

    name: str
    works: bool
    detail: str
    hint: str = ""


class Toolchains(msgspec.Struct, frozen=True):
    """Folders outside the system's own that runs and checks may read, as `open_toolchains` lets through."""

    folders: tuple[Path, ...] = ()

    @property
    def path(self) -> str:
        """The PATH of a run: the folders' programs first, then the system's."""
        programs = [f if f.name == "bin" else f / "bin" for f in self.folders]
        return ":".join([*(str(p) for p in programs if p.is_dir()), SYSTEM_PATH])


class Sandbox(Protocol):
    """Turns a command line into one that runs confined.

    The environment is given to the started process, never put on the command line, where every user of
    the machine could read the secrets in it.
    """

    @property
    def name(self) -> str:
        """The sandbox with its version, as reported to the user."""
        ...

    @property
    def offline(self) -> bool:
        """Whether `network=False` is kept."""
        ...

    @property
    def filters(self) -> bool:
        """Whether `reach` is kept: a run gets to those services and to no other."""
        ...

    @property
    def stamps(self) -> bool:
        """Whether nothing inside can change a file without the file's times telling."""
        ...

    @property
    def memory(self) -> Path | None:
        """A folder that each run has for itself, in memory and bounded; None where there is none."""
        ...

    def wrap(
        self,
        argv: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        cwd: Path,
        network: bool = True,
        reach: Sequence[Endpoint] | None = None,
    ) -> list[str]:
        """Return the command line that runs `argv` in `cwd`, able to write to `writable` only.

        Of the machine it sees the system's programs and libraries, `readable` and `writable`; of the network
        the services in `reach` (None: all of it), or nothing with `network` False. Raises ReplayError when
        `readable` or `writable` would lay open the user's home.
        """
        ...

    def probe(self) -> Probe:
        """Start something in the sandbox and say whether it works, and if not why."""
        ...
