"""Operating-system sandboxes around a run."""

from skillopt_replay.sandbox.choose import choose, probe_all
from skillopt_replay.sandbox.contract import SYSTEM_PATH, Probe, Sandbox, Toolchains

__all__ = ["SYSTEM_PATH", "Probe", "Sandbox", "Toolchains", "choose", "probe_all"]
