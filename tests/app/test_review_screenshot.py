from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from skillopt_sleep.review.screenshot import save_screenshot
from tests.support.proposals import NOW, MemoryDesk, samples


def test_the_picture_shows_the_review_and_loads_nothing(tmp_path):
    path = tmp_path / "review.svg"
    save_screenshot(MemoryDesk(samples()), path, (100, 30), now=lambda: NOW)
    picture = path.read_text(encoding="utf-8")
    ElementTree.fromstring(picture)
    assert "commit-messages" in picture
    assert "@font-face" not in picture
    assert "url(" not in picture.replace("url(#", "")
    assert "cdnjs" not in picture
    assert [entry.name for entry in tmp_path.glob("*review.svg*")] == ["review.svg"]


def test_the_picture_is_taken_after_the_keys(tmp_path):
    path = tmp_path / "evidence.svg"
    save_screenshot(MemoryDesk(samples()), path, keys=["2"], now=lambda: NOW)
    assert "looking" in path.read_text(encoding="utf-8")
