"""A few pictures of the review, as text: what a change of the screen changes is seen in a diff."""

from __future__ import annotations

import re

import pytest

from tests.support.draw_snapshots import FOLDER, PICTURES, draw


def read(picture: str) -> list[str]:
    """Return the lines without borders and scrollbars, which are the library's to draw."""
    return [re.sub("[\u2500-\u259f]+", " ", line).strip() for line in picture.split("\n")]


@pytest.mark.parametrize("name", PICTURES)
async def test_the_screen_is_as_it_was_drawn(name):
    assert read(await draw(name)) == read((FOLDER / f"{name}.txt").read_text("utf-8"))
