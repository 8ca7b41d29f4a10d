"""No sandbox: the run can do whatever the user can. Chosen by name only, never as a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_replay.sandbox.contract import Probe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class NoSandbox:
    """Runs the command as it is."""

    name = "none"
    offline = False

    def wrap(
        self,
        argv: Sequence[str],
        *,
        writable: Sequence[Path],
        readable: Sequence[Path],
        cwd: Path,
        network: bool = True,
    ) -> list[str]:
        return list(argv)

    def probe(self) -> Probe:
        return Probe(name=self.name, works=True, detail="runs are not confined, as configured")
