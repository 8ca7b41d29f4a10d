"""A guide to this program for the agents themselves: a skill in the client's own folder.

Claude Code also takes it as the command /skillopt-sleep. It is ours, so nights never learn for it.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt_sleep.errors import AppError, NeedsDecision, NothingToDo
from skillopt_sleep.files import write_atomically
from skillopt_sleep.paths import HOME_VARIABLE, make_private
from skillopt_sleep.service.definition import find_program
from skillopt_sleep.service.record import digest
from skillopt_staging.targets import user_target

NAME = "skillopt-sleep"
CLIENTS = ("claude", "codex", "copilot")
_MARK = "<!-- Written by skillopt-sleep plugin install; skillopt-sleep plugin uninstall removes it. -->"
_SEAL = re.compile(r"<!-- As it was written: ([0-9a-f]{32}) -->\n")
_TEXT = f"""---
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
    """What became of one client's guide: `state` is installed, upgraded, unchanged or removed.

    `kept` is where a version lies that the user had edited, "" when they had not.
    """

    client: str
    path: str
    state: str
    kept: str = ""


def write_guide(env: Mapping[str, str]) -> str:
    """Return the guide, with the commands as an agent's shell has to write them."""
    text = _TEXT.replace(f"`{NAME} ", f"`{_name_command(env)} ")
    # By what it says of itself, an edited guide is told from one that another version of this program wrote.
    return text.replace(f"{_MARK}\n", f"{_MARK}\n<!-- As it was written: {digest(text.encode())} -->\n")


def _name_command(env: Mapping[str, str]) -> str:
    found = shutil.which(NAME, path=env.get("PATH"))
    # What an activated environment puts on PATH, only its own shells have.
    own = sys.prefix != sys.base_prefix and found and Path(found).parent.parent == Path(sys.prefix)
    program = NAME if found and not own else shlex.join(find_program(()))
    home = env.get(HOME_VARIABLE)
    named = f"{HOME_VARIABLE}={shlex.quote(str(Path(home).expanduser().absolute()))} " if home else ""
    return named + program


def plug_in(client: str, env: Mapping[str, str], home: Path, data: Path) -> Plugged:
    """Write the guide, or see that it is there. A version that the user edited is kept in `data`.

    Raises NeedsDecision when another skill has its place.
    """
    path = user_target(NAME, client, env=env, home=home)
    before = _read(path)
    if before is not None and _MARK not in before:
        raise NeedsDecision(f"{path} is not ours, so it stays", hint="move it away, then try again")
    guide = write_guide(env)
    if before == guide:
        return Plugged(client=client, path=str(path), state="unchanged")
    kept = _keep_edited(before or "", client, data)
    # Written down before they are made: one that is not empty or not there costs nothing later.
    if missing := [str(folder) for folder in path.parents if not folder.exists()]:
        _note_folders(data, path, missing)
    _write(path, guide)
    return Plugged(client=client, path=str(path), state="upgraded" if before else "installed", kept=kept)


def plug_out(client: str, env: Mapping[str, str], home: Path, data: Path) -> Plugged:
    """Remove the guide; a version that the user edited is kept in `data`. Raises NothingToDo without one."""
    path = user_target(NAME, client, env=env, home=home)
    text = _read(path)
    if text is None or _MARK not in text:
        raise NothingToDo(f"no guide of ours lies at {path}")
    kept = _keep_edited(text, client, data)
    try:
        path.unlink()
    except OSError as error:
        raise AppError(f"cannot remove {path}: {error.strerror or error}") from error
    for folder in dict.fromkeys((str(path.parent), *_note_folders(data, path, None))):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    return Plugged(client=client, path=str(path), state="removed", kept=kept)


def list_guides(env: Mapping[str, str], home: Path) -> list[Path]:
    """Return the guides of ours that lie in clients' folders."""
    places = dict.fromkeys(user_target(NAME, client, env=env, home=home) for client in CLIENTS)
    return [path for path in places if _is_ours(path)]


def remove_guides(env: Mapping[str, str], home: Path, data: Path) -> list[Plugged]:
    """Remove them all, as `plug_out` does."""
    removed = []
    for client in CLIENTS:
        with contextlib.suppress(NothingToDo):
            removed.append(plug_out(client, env, home, data))
    return removed


def _keep_edited(text: str, client: str, data: Path) -> str:
    """Copy a guide of ours that somebody edited into the data folder; return the copy, "" without one."""
    seal = _SEAL.search(text)
    written = seal[1] if seal else digest(_TEXT.encode())
    if not text or digest(_SEAL.sub("", text).encode()) == written:
        return ""
    copy = make_private(data) / f"guide-edited-{digest(text.encode())[:8]}-{client}.md"
    _write(copy, text)
    return str(copy)


def _note_folders(data: Path, path: Path, made: list[str] | None) -> list[str]:
    """Note the folders made for a guide, deepest first; None forgets them. Return those noted before."""
    record = data / "guides.json"
    noted: dict[str, list[str]] = {}
    with contextlib.suppress(FileNotFoundError, msgspec.DecodeError):
        noted = msgspec.json.decode(record.read_bytes(), type=dict[str, list[str]])
    before = noted.pop(str(path), [])
    if made is not None:
        noted[str(path)] = list(dict.fromkeys((*made, *before)))
    if noted:
        _write(record, msgspec.json.encode(noted).decode())
    else:
        record.unlink(missing_ok=True)
    return before


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text)
    except OSError as error:
        raise AppError(f"cannot write {path}: {error.strerror or error}") from error


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
