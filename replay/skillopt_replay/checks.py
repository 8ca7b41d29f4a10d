"""Scores a rollout by its task's checks, once the agent is gone."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay import process
from skillopt_replay.bounds import Bounds
from skillopt_replay.commands import contains_command
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import PRIVATE_PREFIX, make_folder, resolve
from skillopt_replay.patterns import PatternFailed, search
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import CheckResult, make_score
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.launching import find_failure
from skillopt_replay.schemas import SchemaFailed, satisfies
from skillopt_replay.tasks import (
    CommandMatched,
    CommandSucceeds,
    Contains,
    Exact,
    FileContains,
    JsonSchema,
    Matches,
    Pairwise,
    Rubric,
    SectionPresent,
    ToolCalled,
    is_judged,
)
from skillopt_replay.trash import discard
from skillopt_replay.workspace import root_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from skillopt_replay.rollouts import Rollout, Score
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.tasks import Check

MAX_FILE_BYTES = 20_000_000
_BOUNDS = Bounds(
    processes=Limits().processes, memory_bytes=Limits().memory_bytes, disk_bytes=Limits().disk_bytes
)
WAITS = CheckResult(passed=False, detail="waits for the judge", pending=True)
NOT_ASKED = CheckResult(passed=False, detail="no judge was asked: a check in code failed")
# Each is matched with one line, and in one way: an answer can be made to be read for ever.
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\Z")


def needs_files(checks: Sequence[Check]) -> bool:
    """Return whether a check looks at the workspace, so that there has to be one."""
    return any(
        isinstance(check, FileContains | CommandSucceeds) or (isinstance(check, JsonSchema) and check.path)
        for check in checks
    )


async def evaluate(
    checks: Sequence[Check],
    rollout: Rollout,
    workspace: Path,
    sandbox: Sandbox,
    toolchains: Toolchains = Toolchains(),  # noqa: B008 - frozen
) -> Score:
    """Return the score: hard is 1.0 when every check passed, soft the share that did.

    The cheap checks come first in time, results stay in the task's order. Commands run one after the
    other in the same sandbox as the agent did, without the network. A check that cannot be decided (a
    broken pattern, a working directory that is gone) does not pass, negated or not. What a model has to
    judge stays pending, unless a check in code has failed already. Raises ValueError without checks, and
    ReplayError when the sandbox fails.
    """
    if not checks:
        raise ValueError("a task without checks cannot be scored")
    results: dict[int, CheckResult] = {}
    for index in sorted(range(len(checks)), key=lambda i: isinstance(checks[i], CommandSucceeds)):
        if not is_judged(checks[index]):
            results[index] = await _evaluate_one(checks[index], rollout, workspace, sandbox, toolchains)
    holds = all(result.passed for result in results.values())
    judged = WAITS if holds else NOT_ASKED
    return make_score([results.get(index, judged) for index in range(len(checks))])


async def _evaluate_one(
    check: Check, rollout: Rollout, workspace: Path, sandbox: Sandbox, toolchains: Toolchains
) -> CheckResult:
    if isinstance(check, FileContains):
        holds, detail = _check_file(check, workspace)
    elif isinstance(check, CommandSucceeds):
        closed = _say_closed(workspace)
        if closed:
            return CheckResult(passed=False, detail=closed)
        holds, detail = await _check_command(check, workspace, sandbox, toolchains)
    elif isinstance(check, JsonSchema):
        try:
            holds, detail = await _check_schema(check, rollout, workspace)
        except SchemaFailed as error:
            return CheckResult(passed=False, detail=error.message)
    elif isinstance(check, Matches):
        try:
            holds = await search(check.pattern, rollout.answer)
        except PatternFailed as error:
            return CheckResult(passed=False, detail=error.message)
        detail = f"the answer {'matches' if holds else 'does not match'} {_short(check.pattern)}"
    elif isinstance(check, Rubric | Pairwise):
        raise TypeError(f"{type(check).__name__} is for a judge")
    else:
        # Apart, as a long answer takes long, and other runs are to be kept to their limits meanwhile.
        holds, detail = await asyncio.to_thread(check_text, check, rollout)
    return CheckResult(passed=holds is not check.negate, detail=detail)


def check_text(
    check: Exact | Contains | SectionPresent | ToolCalled | CommandMatched, rollout: Rollout
) -> tuple[bool, str]:
    """Return whether the check holds before negation, and one line that says why. No I/O."""
    answer = rollout.answer
    if isinstance(check, Exact):
        holds = _fold(answer.strip(), check.ignore_case) == _fold(check.text.strip(), check.ignore_case)
        return holds, f"the answer {'is' if holds else 'is not'} {_short(check.text)}"
    if isinstance(check, Contains):
        wanted = " ".join(_fold(check.text, check.ignore_case).split())
        holds = wanted in " ".join(_fold(answer, check.ignore_case).split())
        return holds, f"the answer {'contains' if holds else 'does not contain'} {_short(check.text)}"
    if isinstance(check, SectionPresent):
        holds = _fold(check.heading.strip(), fold=True) in _headings(answer)
        return holds, f"the answer has {'a' if holds else 'no'} section {_short(check.heading)}"
    if isinstance(check, ToolCalled):
        holds = any(call.name == check.name for call in rollout.calls)
        return holds, f"the tool {check.name} was {'called' if holds else 'not called'}"
    holds = any(call.command and contains_command(call.command, check.command) for call in rollout.calls)
    return holds, f"{_short(check.command)} was {'run' if holds else 'not run'}"


def _headings(answer: str) -> set[str]:
    found: list[str] = []
    fence = before = ""
    for whole in answer.split("\n"):
        line = whole.rstrip("\r")
        mark = _FENCE.match(line)
        above, before = before, ""
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip("`~ \t"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            found.append(heading[1].rstrip(" \t").rstrip("#"))
        elif above and _UNDERLINE.match(line):
            found.append(above)
        elif line and not line[0].isspace():
            before = line
    return {_fold(text.strip(" \t*_"), fold=True) for text in found} - {""}


async def _check_schema(check: JsonSchema, rollout: Rollout, workspace: Path) -> tuple[bool, str]:
    if not check.path:
        return await satisfies(check.schema, rollout.answer, "the answer")
    data = _read_file(check.path, workspace)
    if isinstance(data, str):
        return False, data
    return await satisfies(check.schema, data.decode("utf-8", "replace"), check.path)


def _check_file(check: FileContains, workspace: Path) -> tuple[bool, str]:
    data = _read_file(check.path, workspace)
    if isinstance(data, str):
        return False, data
    holds = check.text.encode() in data.replace(b"\r\n", b"\n")
    return holds, f"{check.path} exists" + (
        f" and {'contains' if holds else 'does not contain'} {_short(check.text)}" if check.text else ""
    )


def _read_file(name: str, workspace: Path) -> bytes | str:
    """Return the head of a workspace file, or one line that says why it cannot be read."""
    try:
        path = resolve(workspace / name)
        if not path.is_relative_to(resolve(root_of(workspace))):
            return f"{name} leads out of the workspace"
        # Not to wait for ever on a pipe the agent left in place of the file.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        return f"{name}: {error.strerror}"
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return f"{name} is no regular file"
    with os.fdopen(handle, "rb") as file:
        return file.read(MAX_FILE_BYTES)


def _say_closed(workspace: Path) -> str | None:
    """Return one line that says why nothing can be run in the working directory, None where it can."""
    try:
        path = resolve(workspace)
    except OSError:
        return "the run made the working directory a link that leads nowhere"
    if not path.is_relative_to(resolve(root_of(workspace))):
        return "the run made the working directory a link out of the workspace"
    # Those of Path raise errors in a folder that is closed to us.
    if not os.path.isdir(path):  # noqa: PTH112
        return "the run left no working directory"
    return None if os.access(path, os.X_OK) else "the run closed the working directory"


async def _check_command(
    check: CommandSucceeds, workspace: Path, sandbox: Sandbox, toolchains: Toolchains
) -> tuple[bool, str]:
    root = root_of(workspace)
    home = make_folder(root.parent, PRIVATE_PREFIX)
    env = {
        "PATH": toolchains.path,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = sandbox.wrap(
        ["/bin/sh", "-c", check.command],
        writable=[root, home],
        readable=toolchains.folders,
        cwd=workspace,
        network=False,
    )
    try:
        finished = await process.run(
            argv,
            cwd=workspace,
            env=env,
            seconds=check.timeout_s,
            keep_bytes=20_000,
            bounds=msgspec.structs.replace(_BOUNDS, folders=(root, home)),
        )
    finally:
        # What a run's tests leave there may take long, in which other runs are to be kept to their limits.
        await discard(home)
    broken = find_failure(finished.stderr) if finished.returncode != 0 else None
    # The command can write such a line too; then the sandbox still works.
    if broken and not sandbox.probe().works:
        raise ReplayError(f"the sandbox failed: {broken[:300]}")
    if finished.excess:
        return False, f"{_short(check.command)} took {finished.excess}"
    if finished.timed_out:
        return False, f"{_short(check.command)} took more than {check.timeout_s:g} s"
    detail = f"{_short(check.command)} exits {finished.returncode}"
    last = (finished.stderr.strip() or finished.stdout.strip()).splitlines()[-1:]
    if finished.returncode != 0 and last:
        detail += f": {_short(last[0])}"
    return finished.returncode == 0, detail


def _fold(text: str, fold: bool) -> str:  # noqa: FBT001 - private
    return text.casefold() if fold else text


def _short(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= limit else line[: limit - 1] + "…")
