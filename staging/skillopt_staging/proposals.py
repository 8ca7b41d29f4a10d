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
    RETIRED = "retired"


class Part(msgspec.Struct, frozen=True):
    """A further file of the skill that the proposal changes, in the repository and live."""

    path: str
    live: str


class Staged(msgspec.Struct, frozen=True, kw_only=True):
    """Where a proposal lies: `repository` holds `branch` at `commit`, whose one parent is `base`.

    `path` is the SKILL.md inside the repository; `live` the absolute path apply writes to. For a
    project's skill these are the same file; for a user's skill `repository` is the vault.
    `base` is "" when the repository had no commit yet. `texts` is the tree in `repository` that holds, byte
    for byte, `base` (what the change starts from, absent if there was no file) and `text` (the proposal);
    without it both are read from the commits.
    """

    repository: str
    branch: str
    commit: str
    base: str
    path: str
    live: str
    texts: str = ""
    parts: tuple[Part, ...] = ()


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What apply or revert did to one further file; the fields are those of Applied."""

    live: str
    before: str
    after: str
    backup: str
    written: str
    folders: int = 0


class Applied(msgspec.Struct, frozen=True, kw_only=True):
    """What apply or revert changed: the live file, its bytes' SHA-256 before and after ("" = absent).

    `backup` is the blob id in `repository` of the bytes before, for revert; "" when there was no file.
    `written` is the blob of the bytes after; "" when the file was removed. `folders` counts the folders
    that had to be made for the file. `complete` is False when only some hunks were taken or the merge
    changed the text: then what is live is not exactly what the gate saw.
    """

    live: str
    before: str
    after: str
    backup: str
    complete: bool
    written: str = ""
    folders: int = 0
    parts: tuple[Written, ...] = ()
