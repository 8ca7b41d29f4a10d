"""Draws docs/images/review.svg and evidence.svg: the review of what a demo has proposed.

    skillopt-sleep demo
    SKILLOPT_SLEEP_HOME=~/.cache/skillopt-sleep/demo python benchmarks/draw_review.py

The demo's model learns something else each time, so the pictures differ in their words.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timedelta
from pathlib import Path

from skillopt_sleep.desk import StoreDesk
from skillopt_sleep.paths import locate
from skillopt_sleep.review.screenshot import save_screenshot

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZE = (126, 36)
PICTURES: dict[str, tuple[str, ...]] = {"review.svg": (), "evidence.svg": ("2",)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=IMAGES, help="the folder to write into")
    folder = parser.parse_args().to
    desk = StoreDesk(locate())
    pending = desk.pending()
    if not pending:
        sys.exit(f"nothing waits for review in {locate().data}; run the demo first")
    now = datetime.fromisoformat(pending[0].created.replace("Z", "+00:00")) + timedelta(hours=1)
    for name, keys in PICTURES.items():
        save_screenshot(desk, folder / name, SIZE, keys=keys, now=lambda: now)
        print(folder / name)


if __name__ == "__main__":
    main()
