"""Operating-system sandboxes around a run."""

from skillopt_replay.sandbox.choose import choose, probe_all
from skillopt_replay.sandbox.contract import SYSTEM_PATH, Probe, Sandbox, Toolchains
from skillopt_replay.sandbox.folders import keep_from_runs
from skillopt_replay.sandbox.reach import Endpoint, reach_of, read_endpoint
from skillopt_replay.sandbox.toolchains import list_moved, open_toolchains

__all__ = [
    "SYSTEM_PATH",
    "Endpoint",
    "Probe",
    "Sandbox",
    "Toolchains",
    "choose",
    "keep_from_runs",
    "list_moved",
    "open_toolchains",
    "probe_all",
    "reach_of",
    "read_endpoint",
]
