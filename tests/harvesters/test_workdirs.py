"""One folder has one name, however a client spells it."""

from __future__ import annotations

import pytest

from skillopt_harvesters.workdirs import name_folder


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("c:\\work\\shop", "C:\\work\\shop"),
        ("C:/work/shop", "C:\\work\\shop"),
        ("c:\\work\\\\shop\\", "C:\\work\\shop"),
        ("\\\\?\\c:\\work", "C:\\work"),
        ("c:/", "C:\\"),
        ("C:\\", "C:\\"),
        ("\\\\host\\share\\shop\\", "\\\\host\\share\\shop"),
        ("//host/share", "//host/share"),
        ("/home/user/shop/", "/home/user/shop"),
        ("/home/user/a\\b", "/home/user/a\\b"),
        ("/", "/"),
        ("c:", "c:"),
        ("", ""),
        ("/home/\0user/", "/home/\ufffduser"),
    ],
)
def test_a_folder_has_one_name(written, name):
    assert name_folder(written) == name
    assert name_folder(name) == name


def test_sessions_of_one_windows_folder_are_of_one_project(transcript, read):
    projects = set()
    for folder in ("c:\\work\\shop", "C:\\work\\shop", "C:/work/shop/"):
        t = transcript(cwd=folder)
        t.user("one")
        projects.add(read(t).project)
    assert projects == {"C:\\work\\shop"}
