"""A picture of the review, drawn without a terminal."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from textual.pilot import Pilot

from skillopt_sleep.files import write_atomically
from skillopt_sleep.review.app import ReviewApp, read_clock
from skillopt_sleep.review.desk import Desk

_FONT_FACE = re.compile(r"@font-face\s*\{[^}]*\}\s*")
_FAMILY = re.compile(r"font-family:\s*(?:Fira Code|arial)[^;}]*")
_FONTS = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def save_screenshot(
    desk: Desk,
    path: Path,
    size: tuple[int, int] = (120, 36),
    *,
    keys: Sequence[str] = (),
    now: Callable[[], datetime] = read_clock,
) -> None:
    """Write an SVG of the review at `size` (columns, rows) after pressing `keys`; it loads nothing from afar.

    Must not be called from a running event loop.
    """
    write_atomically(path, asyncio.run(_draw(desk, size, keys, now)), mode=0o644)


async def _draw(desk: Desk, size: tuple[int, int], keys: Sequence[str], now: Callable[[], datetime]) -> str:
    app = ReviewApp(desk, now=now)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        return strip_fonts(app.export_screenshot(title=app.TITLE))


async def settle(pilot: Pilot[None]) -> None:
    """Wait until the review has shown all it was working on."""
    await pilot.pause()
    while isinstance(pilot.app, ReviewApp) and pilot.app.is_working:
        await pilot.pause(0.005)
    await pilot.pause()


def strip_fonts(svg: str) -> str:
    """Return the picture with its web fonts replaced by ones a reader's machine may have."""
    return _FAMILY.sub(_FONTS, _FONT_FACE.sub("", svg))
