"""What is found on this machine, what is missing, and what to do about it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_sleep.clients import choose_sources, find_home, read_roots
from skillopt_sleep.config import load
from skillopt_sleep.errors import AppError, UsageError
from skillopt_sleep.findings import Finding, explained
from skillopt_sleep.found import find_agents, find_backends
from skillopt_sleep.found_sandboxes import find_sandboxes
from skillopt_sleep.paths import Paths
from skillopt_sleep.review.wording import count
from skillopt_sleep.settings import Harvest
from skillopt_sleep.survey import survey

if TYPE_CHECKING:
    from skillopt_harvesters.sources import Source

_ROOM = 500_000_000
_NAMED = 3


def examine(paths: Paths, env: Mapping[str, str]) -> list[Finding]:
    """Look at everything a night needs; starts no model and spends nothing."""
    return [
        _python(),
        _git(),
        explained("settings", lambda: _settings(paths)),
        explained("database", lambda: _database(paths)),
        _room(paths),
        *_transcripts(paths, env),
        *find_agents(env),
        *find_sandboxes(paths, env),
        _service(paths, env),
        _local_model(paths),
        *find_backends(paths, env),
    ]


def _python() -> Finding:
    return Finding(name="python", ok=True, detail=sys.version.split()[0], needed=True)


def _git() -> Finding:
    from skillopt_staging.plumbing import OLDEST_GIT

    hint = f"install git {'.'.join(map(str, OLDEST_GIT))} or newer"
    path = shutil.which("git")
    if not path:
        return Finding(name="git", ok=False, detail="not found", hint=hint, needed=True)
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    version = told.strip().removeprefix("git version ")
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    if numbers < OLDEST_GIT:
        return Finding(name="git", ok=False, detail=f"{version} is too old", hint=hint, needed=True)
    return Finding(name="git", ok=True, detail=version, needed=True)


def _settings(paths: Paths) -> str:
    load(paths.config)
    return str(paths.config) if paths.config.exists() else f"defaults ({paths.config} does not exist)"


def _database(paths: Paths) -> str:
    from skillopt_sleep.store.counts import count_sessions
    from skillopt_sleep.store.database import connect

    connection = connect(paths.database)
    try:
        known = count_sessions(connection)
    finally:
        connection.close()
    return f"{paths.database}, {count(sum(known.values()), 'session')}"


def _room(paths: Paths) -> Finding:
    folder = paths.data
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    return Finding(
        name="disk",
        ok=free > _ROOM,
        detail=f"{free / 1e9:.1f} GB free",
        hint="" if free > _ROOM else "a night needs half a GB for its clones",
        needed=True,
    )


def _transcripts(paths: Paths, env: Mapping[str, str]) -> Iterator[Finding]:
    try:
        settings = load(paths.config).harvest
    except UsageError:
        settings = Harvest()  # the settings have a finding of their own
    home = find_home(env)
    found = False
    left_out: list[str] = []
    for source in choose_sources(roots=read_roots(settings.roots, home), warn=left_out.append):
        finding = _of_client(
            source, env, home, is_read=not settings.clients or source.name in settings.clients
        )
        found = found or finding.ok
        yield finding
    for told in left_out:
        hint = "upgrade or uninstall the package it comes from"
        yield Finding(name="source", ok=False, detail=told, hint=hint)
    if not found:
        yield Finding(
            name="transcripts",
            ok=False,
            detail="none found",
            hint="use an agent for a while, or say where yours lie: skillopt-sleep config set harvest.roots"
            " CLIENT:PATH",
        )


def _of_client(source: Source, env: Mapping[str, str], home: Path, *, is_read: bool) -> Finding:
    seen = survey(source, env, home)
    name = f"{source.name} files"
    missing = f"; not there: {_name_some(seen.missing)}" if seen.missing else ""
    if not is_read:
        return Finding(name=name, ok=False, detail="not read, as harvest.clients says")
    if not seen.present:
        return Finding(name=name, ok=False, detail=f"no transcripts{missing}")
    more = "more than " if seen.is_more else ""
    detail = f"{more}{count(seen.files, 'file')} in {', '.join(seen.present)}{missing}"
    if seen.trouble:
        return Finding(name=name, ok=False, detail=detail, hint=_name_some(seen.trouble))
    return Finding(name=name, ok=seen.files > 0, detail=detail)


def _name_some(things: tuple[str, ...]) -> str:
    more = f", and {len(things) - _NAMED} more" if len(things) > _NAMED else ""
    return ", ".join(things[:_NAMED]) + more


def _service(paths: Paths, env: Mapping[str, str]) -> Finding:
    from skillopt_sleep.holder import find_holder
    from skillopt_sleep.service.managers import choose_manager
    from skillopt_sleep.service.record import read_record

    holder = find_holder(paths)
    runs = f"the daemon runs (pid {holder.pid})" if holder else "no daemon runs"
    try:
        installed = read_record(paths)
        if installed is None:
            hint = "" if holder else "skillopt-sleep install, or nights are worked by skillopt-sleep run only"
            return Finding(name="service", ok=holder is not None, detail=f"not installed; {runs}", hint=hint)
        gone = [file for file in installed.files if not Path(file).exists()]
        if gone:
            hint = "skillopt-sleep install writes it anew"
            return Finding(name="service", ok=False, detail=f"its file is gone: {gone[0]}", hint=hint)
        manager = choose_manager(paths, env, find_home(env))
        state = f"{installed.manager}, mode {installed.mode}: {manager.describe(installed.mode)}"
        advice = " ".join(manager.advise(installed.mode))
    except AppError as error:
        return Finding(name="service", ok=False, detail=error.message, hint=error.hint)
    ok = holder is not None or installed.mode == "timer"
    detail = state if installed.mode == "timer" else f"{state}; {runs}"
    hint = advice if ok else "skillopt-sleep start; skillopt-sleep logs may tell why it ended"
    return Finding(name="service", ok=ok, detail=detail, hint=hint)


def _local_model(paths: Paths) -> Finding:
    if importlib.util.find_spec("xllamacpp") is None:
        return Finding(
            name="local model",
            ok=False,
            detail="its runtime is not installed",
            hint="pip install 'skillopt-sleep[local]' (only for the demo and for working offline)",
        )
    models = sorted(path.name for path in paths.models.glob("*.gguf")) if paths.models.is_dir() else []
    detail = ", ".join(models) if models else "runtime installed; a model is fetched at first use"
    return Finding(name="local model", ok=True, detail=detail)
