"""No sandbox: the run can do whatever the user can. Chosen by name only, never as a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_replay.sandbox.contract import Probe
from skillopt_replay.sandbox.launching import launch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skillopt_replay.sandbox.reach import Endpoint


class NoSandbox:
    """Runs the command as it is, but sees to it that nothing it started outlives it, or us."""

    name = "none"
    offline = False
    filters = False
    stamps = False
    memory = None

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
        return launch(argv)

    def probe(self) -> Probe:
        return Probe(name=self.name, works=True, detail="runs are not confined, as configured")
