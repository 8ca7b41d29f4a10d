"""A guide to this program for the agents themselves: a skill in the client's own folder.

Claude Code also takes it as the command /skillopt-sleep. It is ours, so nights never learn for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt_sleep.errors import AppError, NeedsDecision, NothingToDo
from skillopt_sleep.files import write_atomically
from skillopt_staging.targets import user_target

NAME = "skillopt-sleep"
CLIENTS = ("claude", "codex", "copilot")
_MARK = "<!-- Written by skillopt-sleep plugin install; skillopt-sleep plugin uninstall removes it. -->"
GUIDE = f"""---
name: {NAME}
description: Use when the user asks what was learned overnight, which proposed skills wait for review, when \
the next night is or why one was missed, or names SkillOpt-Sleep.
---

{_MARK}

# SkillOpt-Sleep

A program on this machine that learns skills from past sessions at night and proposes them as git branches.
You may look; deciding is the user's.

- `skillopt-sleep status` tells of the last night, the next one, missed ones and why, and what waits for
  review.
- `skillopt-sleep review --plain` shows the proposals with their diffs and verdicts. Sum them up; name each
  one's id, verdict, effect and cost.
- Only when the user says so, for a proposal they name: `skillopt-sleep apply ID`,
  `skillopt-sleep reject ID --reason "their words"`, `skillopt-sleep revert ID`.
- Only when the user asks for it: `skillopt-sleep night now`, `skip`, `pause --for 8h` or `resume`.
- Never edit a proposed skill by hand, and never apply one on your own account.

Exit code 3 means there is nothing to do, 4 that the user has to decide, 75 to try again later.
"""


class Plugged(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one client's guide: `state` is installed, upgraded, unchanged or removed."""

    client: str
    path: str
    state: str


def plug_in(client: str, env: Mapping[str, str], home: Path) -> Plugged:
    """Write the guide, or see that it is there. Raises NeedsDecision when another skill has its place."""
    path = user_target(NAME, client, env=env, home=home)
    before = _read(path)
    if before is not None and _MARK not in before:
        raise NeedsDecision(f"{path} is not ours, so it stays", hint="move it away, then try again")
    if before == GUIDE:
        return Plugged(client=client, path=str(path), state="unchanged")
    try:
        write_atomically(path, GUIDE)
    except OSError as error:
        raise AppError(f"cannot write {path}: {error.strerror or error}") from error
    return Plugged(client=client, path=str(path), state="upgraded" if before else "installed")


def plug_out(client: str, env: Mapping[str, str], home: Path) -> Plugged:
    """Remove the guide. Raises NothingToDo when there is none of ours."""
    path = user_target(NAME, client, env=env, home=home)
    text = _read(path)
    if text is None or _MARK not in text:
        raise NothingToDo(f"no guide of ours lies at {path}")
    try:
        path.unlink()
    except OSError as error:
        raise AppError(f"cannot remove {path}: {error.strerror or error}") from error
    with contextlib.suppress(OSError):
        path.parent.rmdir()
    return Plugged(client=client, path=str(path), state="removed")


def list_guides(env: Mapping[str, str], home: Path) -> list[Path]:
    """Return the guides of ours that lie in clients' folders."""
    places = dict.fromkeys(user_target(NAME, client, env=env, home=home) for client in CLIENTS)
    return [path for path in places if _is_ours(path)]


def remove_guides(env: Mapping[str, str], home: Path) -> list[Path]:
    """Remove them all; return what was removed."""
    removed = []
    for client in CLIENTS:
        with contextlib.suppress(NothingToDo):
            removed.append(Path(plug_out(client, env, home).path))
    return removed


def _is_ours(path: Path) -> bool:
    try:
        return _MARK in (_read(path) or "")
    except AppError:
        return False


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise AppError(f"cannot read {path}: {error}") from error
