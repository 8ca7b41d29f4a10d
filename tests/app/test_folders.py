"""A folder holds what lies below it, as the system that wrote the path would say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_sleep.folders import find_folder

PARTS = st.text(
    st.characters(blacklist_characters="/\\:\0", blacklist_categories=["Cs"]), min_size=1, max_size=5
)
NAMES = PARTS.filter(lambda part: part.strip(". ") == part)


@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=4))
def test_a_folder_holds_itself_and_all_below_and_nothing_above(above: list[str], below: list[str]):
    folder, deeper = "/" + "/".join(["r", *above]), "/" + "/".join(["r", *above, *below])
    assert find_folder(folder).holds(deeper)
    assert find_folder(folder + "/").holds(deeper + "/")
    assert find_folder(deeper).holds(folder) is (not below)
    assert not find_folder(folder).holds(folder + "x")
    windows, lower = "C:\\" + "\\".join(above), "c:\\" + "\\".join([*above, *below]).lower()
    if lower == lower.upper().lower():
        assert find_folder(windows).holds(lower)
        assert find_folder(windows).holds(lower.replace("\\", "/"))


@pytest.mark.parametrize(
    ("folder", "recorded", "is_held"),
    [
        ("C:\\Users\\Sam\\shop", "c:\\users\\sam\\shop\\api", True),
        ("c:/users/sam/shop/", "C:\\Users\\Sam\\shop", True),
        ("C:\\Users\\Sam\\shop", "C:\\Users\\Sam\\shopping", False),
        ("C:\\Users\\Sam\\shop", "\\\\?\\C:\\Users\\Sam\\shop", True),
        ("C:\\", "c:\\anything", True),
        ("C:", "D:\\anything", False),
        ("\\\\server\\share", "\\\\SERVER\\share\\x", True),
        ("/", "/home/sam", True),
        ("/", "C:\\home", False),
        ("/home/sam/../kim", "/home/kim/x", True),
        ("/home/sam", "/home/Sam", False),
        ("/srv/caf\u00e9", "/srv/cafe\u0301/x", True),
        ("/home/sam", None, False),
        ("/home/sam", "", False),
    ],
)
def test_paths_are_compared_as_their_own_system_does(folder: str, recorded: str | None, is_held: bool):
    assert find_folder(folder).holds(recorded) is is_held


def test_what_was_typed_may_be_relative_lie_in_the_home_or_be_a_link(tmp_path: Path, private_home: Path):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    os.chdir(real)
    assert find_folder(".").holds(str(real / "deep"))
    assert find_folder("../other").holds(str(tmp_path / "other"))
    assert find_folder("~/code").holds(str(private_home / "code" / "x"))
    assert find_folder(str(tmp_path / "link")).holds(str(real))
    assert find_folder(str(tmp_path / "link")).holds(str(tmp_path / "link" / "deep"))
