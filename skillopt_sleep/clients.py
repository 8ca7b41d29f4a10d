"""The clients whose transcripts are read, and the folders these lie in."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, cast

from skillopt_sleep.errors import UsageError

if TYPE_CHECKING:
    from skillopt_harvesters.sources import Source


def check_clients(names: Iterable[str], *, also: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names, each once; several may stand in one text, with commas between.

    Raises UsageError for one that cannot be read and is not in `also`.
    """
    from skillopt_harvesters.sources import load_sources

    chosen = tuple(dict.fromkeys(part.strip() for name in names for part in name.split(",")))
    known = sorted({*load_sources(), *also})
    for name in chosen:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(
                f"there is no client {name!r}",
                hint=f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}",
            )
    return chosen


def check_root(text: str) -> tuple[str, str]:
    """Return a root written as CLIENT:PATH as its two parts. Raises UsageError."""
    client, colon, path = text.partition(":")
    if not colon or not client or not path:
        raise UsageError(f"{text!r} is not CLIENT:PATH, for example claude:/mnt/other/.claude/projects")
    check_clients((client,))
    if path != "~" and not path.startswith("~/") and not _is_absolute(path):
        raise UsageError(f"{text!r}: the path must be absolute, or begin with ~/")
    return client, path


def read_roots(texts: Iterable[str], home: Path) -> dict[str, tuple[Path, ...]]:
    """Return roots written as CLIENT:PATH by their client. Raises UsageError."""
    roots: dict[str, tuple[Path, ...]] = {}
    for client, path in map(check_root, texts):
        folder = home / path[2:] if path.startswith("~") else Path(path)
        roots[client] = (*roots.get(client, ()), folder)
    return roots


def find_home(env: Mapping[str, str]) -> Path:
    """Return the user's home."""
    return Path(env.get("HOME") or Path.home())


def choose_sources(
    clients: Collection[str] = (),
    roots: Mapping[str, Iterable[Path]] | None = None,
    *,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Source]:
    """Yield the sources of `clients` (empty: of all), each with its further `roots`.

    `warn` is told of the sources of other distributions that had to be left out.
    """
    from skillopt_harvesters.sources import load_sources

    for name, source in load_sources(warn).items():
        if not clients or name in clients:
            further = tuple((roots or {}).get(name, ()))
            yield cast("Source", _Rooted(source, further)) if further else source


class _Rooted:
    """A source that looks in further places; everything else is the source's own."""

    def __init__(self, source: Source, further: tuple[Path, ...]) -> None:
        self._source = source
        self._further = further

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((*self._source.roots(env, home), *self._further)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
