"""Sources of other distributions: each registers an object or a class under an entry point."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillopt_harvesters.sources.base import Source

GROUP = "skillopt_sleep.sources"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_METHODS = ("roots", "discover", "stat", "recognise", "read")


def add_plugins(
    sources: Mapping[str, Source], *, warn: Callable[[str], None] | None = None
) -> dict[str, Source]:
    """Return the given sources and those that are registered beside them.

    One that cannot be loaded, does not fit `Source`, or has a name that is taken is told to `warn` and left
    out.
    """
    found = dict(sources)
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        source, problem = _load(point)
        if source is not None and source.name in found:
            problem = f"the name {source.name!r} is taken"
        if problem or source is None:
            if warn:
                warn(f"the source {point.name!r} ({_describe(point)}) is left out: {problem}")
            continue
        found[source.name] = source
    return found


def _load(point: EntryPoint) -> tuple[Source | None, str]:
    try:
        loaded: Any = point.load()
        source = loaded() if isinstance(loaded, type) else loaded
        name, rewrites = source.name, source.rewrites
        missing = [method for method in _METHODS if not callable(getattr(source, method, None))]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code must not cost the harvest
        return None, f"{type(error).__name__}: {error}"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return None, f"its name {name!r} is none (small letters, digits, - and _)"
    if not isinstance(rewrites, bool):
        return None, "`rewrites` is neither True nor False"
    if missing:
        return None, f"it has no {', '.join(missing)}"
    return cast("Source", source), ""


def _describe(point: EntryPoint) -> str:
    distribution = point.dist
    return f"{distribution.name} {distribution.version}" if distribution else point.value
