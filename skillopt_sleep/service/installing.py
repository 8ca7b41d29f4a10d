"""Installing the service, again and again if need be, and removing it without a trace."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from skillopt_sleep import __version__
from skillopt_sleep.errors import AppError, NeedsDecision, NothingToDo
from skillopt_sleep.files import write_atomically
from skillopt_sleep.holder import find_holder
from skillopt_sleep.paths import Paths, make_private
from skillopt_sleep.service.definition import MARK, TIMER, Manager, Service, find_program
from skillopt_sleep.service.environment import Captured, capture
from skillopt_sleep.service.record import Installed, digest, find_record, read_record, write_record

_UTF16 = b"\xff\xfe"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation did: `state` is installed, upgraded or unchanged; `files` by what they hold."""

    state: str
    manager: str
    mode: str
    running: str
    files: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    tools: Mapping[str, str | None]
    withheld: tuple[str, ...]
    advice: tuple[str, ...]


def make_service(paths: Paths, captured: Captured, mode: str, manager: str) -> Service:
    """Return the service as it is to run here. Windows hands tasks no environment, so a file brings it."""
    arguments = ["daemon", "--once"] if mode == TIMER else ["daemon"]
    if manager == "Task Scheduler":
        arguments += ["--environment", str(environment_file(paths))]
    return Service(
        command=find_program(arguments),
        environment=captured.environment,
        folder=paths.data,
        log=paths.log,
        mode=mode,
    )


def environment_file(paths: Paths) -> Path:
    """Return where the environment lies for managers that hand over none."""
    return paths.data / "service-environment.json"


def install(paths: Paths, env: Mapping[str, str], manager: Manager, mode: str) -> Outcome:
    """Install, upgrade, or see that all is in place; then the service runs.

    Raises NeedsDecision when a file that is not ours lies where ours belongs, and AppError when the manager
    refuses; what was done until then is on record, and doing it again goes on.
    """
    captured = capture(env)
    service = make_service(paths, captured, mode, manager.name)
    files = manager.write(service)
    if manager.name == "Task Scheduler":
        files[environment_file(paths)] = msgspec.json.encode(captured.environment)
    before = read_record(paths)
    holder = None if before else find_holder(paths)
    if holder is not None:
        raise NeedsDecision(
            f"a daemon that no service started runs already (pid {holder.pid})",
            hint="end it, then install again",
        )
    own = set(before.files) if before else set()
    for file in files:
        _require_ours(file, own)
    for folder in (paths.data, paths.log):
        make_private(folder)
    changed = [file for file, content in files.items() if _read(file) != content]
    left = sorted(own - {str(file) for file in files})
    if before and (before.mode != mode or left):
        manager.disable(before.mode)
        changed = list(files)
    folders = [*(before.folders if before else ()), *_list_missing(files)]
    record = Installed(
        manager=manager.name,
        mode=mode,
        files=tuple(map(str, files)),
        folders=tuple(dict.fromkeys(folders)),
        version=__version__,
        digests={str(file): digest(content) for file, content in files.items()},
    )
    kept = [copy for file in (*changed, *map(Path, left)) if (copy := _keep_edited(paths, before, file))]
    write_record(paths, msgspec.structs.replace(record, files=(*record.files, *left)))
    for file in changed:
        _write(file, files[file])
    for name in left:
        Path(name).unlink(missing_ok=True)
    write_record(paths, record)
    manager.enable(mode, changed=bool(changed))
    return Outcome(
        state="unchanged" if before and not changed else "upgraded" if before else "installed",
        manager=manager.name,
        mode=mode,
        running=manager.describe(mode),
        files=record.files,
        command=service.command,
        environment=captured.environment,
        tools=captured.tools,
        withheld=captured.withheld,
        advice=(
            *(f"you had edited it, and your version is kept: {copy}" for copy in kept),
            *manager.advise(mode),
        ),
    )


def uninstall(paths: Paths, manager: Manager) -> tuple[Installed, list[Path]]:
    """Stop the service and remove what was installed, and nothing else.

    Return it, and the copies of files that were edited since. Raises NothingToDo without any.
    """
    installed = read_record(paths)
    if installed is None:
        raise NothingToDo("no service is installed", hint="skillopt-sleep install installs one")
    kept = [copy for name in installed.files if (copy := _keep_edited(paths, installed, Path(name)))]
    manager.disable(installed.mode)
    for name in installed.files:
        try:
            Path(name).unlink(missing_ok=True)
        except OSError as error:
            raise AppError(f"cannot remove {name}: {error.strerror}") from error
    manager.forget()
    for name in sorted(installed.folders, key=len, reverse=True):
        # It stays when something of somebody else's has come into it.
        with contextlib.suppress(OSError):
            Path(name).rmdir()
    with contextlib.suppress(OSError):
        (paths.log / "launchd.log").unlink()
    find_record(paths).unlink(missing_ok=True)
    return installed, kept


def require_installed(paths: Paths) -> Installed:
    """Return what is installed. Raises NothingToDo."""
    installed = read_record(paths)
    if installed is None:
        raise NothingToDo(
            "no service is installed",
            hint="skillopt-sleep install installs one; skillopt-sleep daemon works without",
        )
    return installed


def _require_ours(file: Path, own: set[str]) -> None:
    content = _read(file)
    if content is None or str(file) in own:
        return
    text = content.decode("utf-16" if content.startswith(_UTF16) else "utf-8", "replace")
    if MARK not in text:
        raise NeedsDecision(f"{file} is not ours, so it stays", hint="move it away, then install again")


def _keep_edited(paths: Paths, installed: Installed | None, file: Path) -> Path | None:
    """Copy a file of ours that somebody edited into the data folder; return the copy."""
    written = installed.digests.get(str(file)) if installed else None
    content = _read(file)
    if written is None or content is None or digest(content) == written:
        return None
    copy = paths.data / f"service-edited-{digest(content)[:8]}-{file.name}"
    _write(copy, content)
    return copy


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise AppError(f"cannot read {file}: {error.strerror}") from error


def _write(file: Path, content: bytes) -> None:
    try:
        write_atomically(file, content)
    except OSError as error:
        raise AppError(f"cannot write {file}: {error.strerror or error}") from error


def _list_missing(files: Mapping[Path, bytes]) -> list[str]:
    missing = []
    for file in files:
        for folder in file.parents:
            if folder.exists():
                break
            missing.append(str(folder))
    return missing
