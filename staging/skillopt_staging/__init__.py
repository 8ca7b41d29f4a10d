"""Verdicts to git branches, and back out again: stage, apply, reject, revert.

Names are loaded when they are first used: importing the package starts neither git nor anything heavy.
`apply`, `hunks`, `merge` and `lint` are modules, each with a function of its own name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillopt_staging.apply import preview, revert
    from skillopt_staging.branches import branch_name, discard, read, read_note, stage, trailers
    from skillopt_staging.errors import Busy, Conflict, NeedsDecision, NoRepository, StagingError
    from skillopt_staging.front_matter import same_front_matter
    from skillopt_staging.hunks import Hunk, take, unified
    from skillopt_staging.plans import Plan
    from skillopt_staging.plumbing import check_git
    from skillopt_staging.proposals import Applied, Staged, State
    from skillopt_staging.targets import Target, find_repository, project_target, user_target, vault_path
    from skillopt_staging.vault import Vault

_HOMES = {
    "apply": ("preview", "revert"),
    "branches": ("branch_name", "discard", "read", "read_note", "stage", "trailers"),
    "errors": ("Busy", "Conflict", "NeedsDecision", "NoRepository", "StagingError"),
    "front_matter": ("same_front_matter",),
    "hunks": ("Hunk", "take", "unified"),
    "plans": ("Plan",),
    "plumbing": ("check_git",),
    "proposals": ("Applied", "Staged", "State"),
    "targets": ("Target", "find_repository", "project_target", "user_target", "vault_path"),
    "vault": ("Vault",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Applied",
    "Busy",
    "Conflict",
    "Hunk",
    "NeedsDecision",
    "NoRepository",
    "Plan",
    "Staged",
    "StagingError",
    "State",
    "Target",
    "Vault",
    "branch_name",
    "check_git",
    "discard",
    "find_repository",
    "preview",
    "project_target",
    "read",
    "read_note",
    "revert",
    "same_front_matter",
    "stage",
    "take",
    "trailers",
    "unified",
    "user_target",
    "vault_path",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
