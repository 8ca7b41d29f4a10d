"""Draws the pictures that `tests/app/test_review_snapshots.py` compares with.

Run `python -m tests.support.draw_snapshots` after a change that is meant to show, and look at what git says
has changed.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from skillopt_sleep.review.app import ReviewApp
from skillopt_sleep.review.screenshot import settle
from tests.support.proposals import NOW, MemoryDesk, samples

FOLDER = Path(__file__).parents[1] / "data" / "snapshots"
# (columns, rows) and the keys pressed before the picture.
PICTURES: dict[str, tuple[tuple[int, int], tuple[str, ...]]] = {
    "diff": ((120, 40), ("n", "space")),
    "side-by-side": ((170, 40), ("n",)),
    "narrow": ((64, 30), ("enter",)),
    "evidence": ((120, 60), ("n", "w")),
    "tasks": ((120, 36), ("3", "j")),
    "help": ((120, 40), ("question_mark",)),
}


async def draw(name: str) -> str:
    """Return the review as text, line by line, as it is after the picture's keys."""
    size, keys = PICTURES[name]
    app = ReviewApp(MemoryDesk(samples()), now=lambda: NOW)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        for key in keys:
            await pilot.press(key)
            await settle(pilot)
        strips = app.screen._compositor.render_strips()
        return "".join(f"{strip.text.rstrip()}\n" for strip in strips)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.txt").write_text(asyncio.run(draw(name)), encoding="utf-8")


if __name__ == "__main__":
    main()
