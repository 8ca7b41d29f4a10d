"""The Proposal: one branch, one commit, one skill, and what was done with it."""

from __future__ import annotations

from enum import Enum

import msgspec


class State(str, Enum):
    PENDING = "pending"
    SNOOZED = "snoozed"
    APPLIED = "applied"
    REJECTED = "rejected"
    REVERTED = "reverted"


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """Where a proposal lies: `repository` holds `branch` at `commit`, whose one parent is `base`.

    `path` is the SKILL.md inside the repository; `live` the absolute path apply writes to. For a
    project's skill these are the same file; for a user's skill `repository` is the vault.
    `base` is "" when the repository had no commit yet.
    """

    repository: str
    branch: str
    commit: str
    base: str
    path: str
    live: str


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What apply or revert changed: the live file, its bytes' digests before and after ("" = absent).

    `backup` is the blob id in `repository` of the text before, for revert; "" when there was no file.
    `complete` is False when only some hunks were taken or the merge changed the text: then what is live
    is not exactly what the gate saw.
    """

    live: str
    before: str
    after: str
    backup: str
    complete: bool
