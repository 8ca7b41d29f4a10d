"""Workspaces made once for each state of a project, and copied for every run that starts from it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.baseline import Baseline, follow
from skillopt_replay.copying import copy_tree
from skillopt_replay.errors import ReplayError
from skillopt_replay.folders import PRIVATE_PREFIX, RUN_PREFIX, make_folder, remove_tree
from skillopt_replay.origins import Origins
from skillopt_replay.sandbox.folders import keep_from_runs
from skillopt_replay.setup import prepare_with
from skillopt_replay.snapshots import TICK_SECONDS, Snapshot, after_rename, is_untouched, take_snapshot
from skillopt_replay.trash import Trash
from skillopt_replay.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from skillopt_replay.sandbox.contract import Sandbox, Toolchains
    from skillopt_replay.setup import Setup
    from skillopt_replay.tasks import Task

MAX_KEPT = 8  # templates, the most recently used
MAX_BYTES = 8 << 30  # of all of them; a larger one is no template but made anew for each run

Key = tuple[object, ...]


@dataclass(eq=False)
class _Template:
    """`workspace` lies below `folder`, out of reach of every run; it is being copied `users` times now.

    `spoils`: the copy that came back last cannot be lent again.
    """

    key: Key
    folder: Path
    workspace: Workspace
    baseline: Baseline
    size: int
    users: int = 0
    spoils: bool = False


@dataclass(eq=False)
class _Copy:
    template: _Template
    workspace: Workspace
    snapshot: Snapshot


class Templates:
    """Lends workspaces below `root`, and takes them back.

    A copy that its run left untouched, as the file system says, is lent again under another name; every other
    one is removed. As many as `slots` lie ready. All of it belongs to this process and is gone after `close`;
    what a killed process leaves, `clear_leftovers` removes.
    """

    def __init__(self, root: Path, *, slots: int) -> None:
        self._root = root
        self._slots = slots
        self._store: Path | None = None
        self._origins = Origins()
        self._kept: dict[Key, _Template] = {}  # the most recently used last
        self._making: dict[Key, asyncio.Lock] = {}
        self._ready: list[_Copy] = []
        self._lent: dict[Path, _Copy] = {}
        self._spares: set[asyncio.Task[None]] = set()
        self._trash = Trash(root)

    async def take(
        self, task: Task, setup: Setup | None, sandbox: Sandbox, toolchains: Toolchains
    ) -> Workspace:
        """Return a workspace for the task as `prepare` makes it, set up. Raises ReplayError and OSError."""
        origin = await self._origins.find(task)
        keep_from_runs(origin.places)
        setup = setup if origin.source else None
        if not origin.is_fixed or (setup is not None and origin.commit is None):
            return await prepare_with(setup, task, self._root, sandbox, toolchains, origin)
        key = (origin.common, origin.inside, origin.commit, task.skill, setup)
        async with self._making.setdefault(key, asyncio.Lock()):
            template = self._kept.pop(key, None)
            if template is None:
                made = await prepare_with(setup, task, self._root, sandbox, toolchains, origin)
                try:
                    size = (await asyncio.to_thread(take_snapshot, made.root)).size
                except BaseException:
                    await made.dispose()
                    raise
                if size > MAX_BYTES or made.baseline is None:
                    return made
                template = self._keep(key, made, made.baseline, size)
            self._kept[key] = template
        try:
            copy = self._pick(template) or await self._copy(template)
        except (ReplayError, OSError):
            # The disk may be full, or somebody has removed it.
            await self._forget(template)
            return await prepare_with(setup, task, self._root, sandbox, toolchains, origin)
        self._lent[copy.workspace.root] = copy
        await self._trim()
        # Every arm and sample wants it: the next copy is made while this run works, if it will need one.
        if template.spoils and not self._has_ready(template) and not self._spares:
            spare = asyncio.ensure_future(self._make_spare(template))
            self._spares.add(spare)
            spare.add_done_callback(self._spares.discard)
        return msgspec.structs.replace(copy.workspace, notes=(origin.note, *copy.workspace.notes[1:]))

    async def is_untouched(self, workspace: Workspace) -> bool:
        """Return whether nothing in the workspace was changed since it was lent; False when in doubt."""
        copy = self._lent.get(workspace.root)
        return copy is not None and await asyncio.to_thread(is_untouched, workspace.root, copy.snapshot)

    async def give_back(self, workspace: Workspace, *, untouched: bool = False) -> tuple[str, ...]:
        """Take the workspace back, lend it again if it is `untouched`; return notes on what stays behind."""
        copy = self._lent.pop(workspace.root, None)
        if copy is not None:
            copy.template.spoils = not untouched
        if untouched and copy is not None and self._kept.get(copy.template.key) is copy.template:
            with contextlib.suppress(OSError):
                return await self._keep_ready(_rename(copy))
        return await self._throw(workspace)

    async def close(self) -> tuple[str, ...]:
        """Remove all of it; return notes on what stays behind."""
        for spare in self._spares:
            spare.cancel()
        await asyncio.gather(*self._spares, return_exceptions=True)
        copies = [*self._ready, *self._lent.values()]
        notes = await self._throw(*(copy.workspace for copy in copies))
        if self._store is not None:
            notes += await self._trash.throw(self._store)
        self._store = None
        for container in (self._ready, self._lent, self._kept, self._making):
            container.clear()
        return (*notes, *(await self._trash.close()))

    def _keep(self, key: Key, made: Workspace, baseline: Baseline, size: int) -> _Template:
        if self._store is None:
            self._store = make_folder(self._root, PRIVATE_PREFIX)
        folder = make_folder(self._store, "")
        root = made.root.rename(folder / "workspace")
        workspace = msgspec.structs.replace(made, root=root, path=root / made.path.relative_to(made.root))
        kept = baseline.folder.rename(folder / "baseline")
        baseline = msgspec.structs.replace(baseline, folder=kept, root=root)
        return _Template(key, folder, workspace, baseline, size)

    def _has_ready(self, template: _Template) -> bool:
        return any(copy.template is template for copy in self._ready)

    def _pick(self, template: _Template) -> _Copy | None:
        for copy in reversed(self._ready):
            if copy.template is template:
                self._ready.remove(copy)
                return copy
        return None

    async def _copy(self, template: _Template) -> _Copy:
        root = make_folder(self._root, RUN_PREFIX)
        template.users += 1
        baseline = None
        try:
            await copy_tree(template.workspace.root, root)
            baseline = await follow(template.baseline, root, template.workspace.commit)
            snapshot = await asyncio.to_thread(take_snapshot, root)
            # Nothing can be done to it that would leave the times as they are.
            await asyncio.sleep(min(max(snapshot.newest + TICK_SECONDS - time.time(), 0), TICK_SECONDS))
        except BaseException:
            for folder in (root, *([baseline.folder] if baseline else [])):
                with contextlib.suppress(OSError):
                    remove_tree(folder)
            raise
        finally:
            template.users -= 1
        workspace = msgspec.structs.replace(
            template.workspace,
            root=root,
            path=root / template.workspace.path.relative_to(template.workspace.root),
            baseline=baseline,
        )
        return _Copy(template, workspace, snapshot)

    async def _make_spare(self, template: _Template) -> None:
        # Whoever needs it next makes it, and says what was wrong.
        with contextlib.suppress(ReplayError, OSError):
            copy = await self._copy(template)
            if self._kept.get(template.key) is template:
                await self._keep_ready(copy)
            else:
                await self._throw(copy.workspace)

    async def _keep_ready(self, copy: _Copy) -> tuple[str, ...]:
        self._ready.append(copy)
        surplus = self._ready[: -self._slots]
        del self._ready[: -self._slots]
        return await self._throw(*(copy.workspace for copy in surplus))

    async def _trim(self) -> None:
        """Forget the least recently used templates beyond the limits, unless they are being copied."""
        for template in [*self._kept.values()][:-1]:
            total = sum(kept.size for kept in self._kept.values())
            if len(self._kept) <= MAX_KEPT and total <= MAX_BYTES:
                return
            if not template.users:
                await self._forget(template)

    async def _forget(self, template: _Template) -> None:
        if self._kept.get(template.key) is template:
            del self._kept[template.key]
            ready = [copy for copy in self._ready if copy.template is template]
            self._ready = [copy for copy in self._ready if copy.template is not template]
            await self._throw(*(copy.workspace for copy in ready))
            await self._trash.throw(template.folder)

    async def _throw(self, *workspaces: Workspace) -> tuple[str, ...]:
        folders = [workspace.root for workspace in workspaces]
        folders += [workspace.baseline.folder for workspace in workspaces if workspace.baseline]
        return await self._trash.throw(*folders)


def _rename(copy: _Copy) -> _Copy:
    """Return the copy under a new name, so that no two runs have worked in the same place."""
    old = copy.workspace.root
    root = old.rename(make_folder(old.parent, RUN_PREFIX))
    path = root / copy.workspace.path.relative_to(old)
    baseline = copy.workspace.baseline
    workspace = msgspec.structs.replace(
        copy.workspace,
        root=root,
        path=path,
        baseline=msgspec.structs.replace(baseline, root=root) if baseline else None,
    )
    return _Copy(copy.template, workspace, after_rename(root, copy.snapshot))
