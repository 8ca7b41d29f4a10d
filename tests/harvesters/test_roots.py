"""Where clients keep their files is told by variables, which people write in all ways."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import SOURCES, harvest
from skillopt_harvesters.sources.folders import expand, find_base, split_folders

DATA = Path(__file__).parents[1] / "data" / "transcripts"
VARIABLES = {
    "claude": ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"),
    "codex": ("CODEX_HOME",),
    "copilot": ("COPILOT_HOME", "XDG_STATE_HOME"),
    "vscode": ("VSCODE_PORTABLE", "VSCODE_APPDATA", "VSCODE_AGENT_FOLDER", "XDG_CONFIG_HOME", "APPDATA"),
    "opencode": ("XDG_DATA_HOME", "OPENCODE_DB"),
    "pi": ("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
}
ODD = [
    "",
    " ",
    ",",
    ",,:,",
    "relative/folder",
    ".",
    "..",
    "~",
    "~/elsewhere",
    "~nobody-of-that-name/x",
    "/nul\0byte",
    os.fsdecode(b"/not/\xff\xfe/text"),
    "/" + "x" * 5000,
    "/dev/null",
    "/one,/two,/one",
    " /one , /two ",
    "C:\\Users\\user",
    "\ud83d",
]


def test_every_source_is_named_here():
    assert set(VARIABLES) == set(SOURCES)


@pytest.mark.parametrize("value", ODD, ids=ascii)
@pytest.mark.parametrize(("client", "variable"), [(c, v) for c, names in VARIABLES.items() for v in names])
def test_a_variable_may_hold_anything(private_home, client, variable, value):
    source = SOURCES[client]
    roots = source.roots({variable: value}, private_home)
    assert roots
    assert len(set(roots)) == len(roots)
    assert all(root.is_absolute() for root in roots)
    told: list[str] = []
    for root in roots:
        assert list(source.discover(root, warn=told.append)) == []


@pytest.mark.parametrize("client", VARIABLES)
def test_without_variables_all_is_looked_for_below_the_home(private_home, client):
    assert all(root.is_relative_to(private_home) for root in SOURCES[client].roots({}, private_home))


def test_what_stands_in_a_variable_is_one_folder_or_several(tmp_path):
    home = tmp_path / "home"
    assert split_folders(None, home) == ()
    assert split_folders("/a", home) == (Path("/a"),)
    assert split_folders(f"/a, ~/b{os.pathsep}/c,/a,d", home) == (Path("/a"), home / "b", Path("/c"))
    comma = tmp_path / "with,comma"
    comma.mkdir()
    assert split_folders(str(comma), home) == (comma,)


def test_a_home_is_the_given_one_and_never_another_users(tmp_path):
    assert expand("~", tmp_path) == tmp_path
    assert expand("~/x/y", tmp_path) == tmp_path / "x" / "y"
    assert expand("~root", tmp_path) is None
    assert expand("~root/x", tmp_path) is None


def test_a_base_folder_that_is_not_absolute_is_ignored(tmp_path):
    for value, expected in (("/x", Path("/x")), ("x", tmp_path), ("", tmp_path), ("/\0", tmp_path)):
        assert find_base({"XDG_DATA_HOME": value}, "XDG_DATA_HOME", tmp_path) == expected


@given(value=st.text(max_size=60))
def test_no_value_crashes(value):
    home = Path("/home/user")
    assert all(folder.is_absolute() for folder in split_folders(value, home))


@pytest.fixture
def claude(private_home) -> Path:
    folder = private_home / "one" / "projects" / "-home-user-project"
    folder.mkdir(parents=True)
    [recorded] = (DATA / "claude").rglob("9561625f*.jsonl")
    shutil.copy(recorded, folder)
    return private_home / "one"


@pytest.mark.parametrize(
    "roots",
    [
        "{one}",
        "{one},{one}",
        "{one},{link}",
        "{one},{one}/projects/..",
        "{outer},{one}",
        "{one},{missing},relative",
    ],
)
def test_a_file_is_read_once_however_many_roots_lead_to_it(private_home, claude, roots):
    link = private_home / "link"
    link.symlink_to(claude)
    outer = private_home / "outer"
    (outer / "projects").mkdir(parents=True)
    (outer / "projects" / "inside").symlink_to(claude / "projects")
    names = {"one": claude, "link": link, "outer": outer, "missing": private_home / "missing"}
    env = {"CLAUDE_CONFIG_DIR": roots.format(**names)}
    work = harvest([SOURCES["claude"]], {}, env=env, home=private_home)
    sessions = [one.session for one in work if one.session]
    assert len(sessions) == 1
    assert (work.stats.files_seen, work.stats.files_read) == (1, 1)
    assert work.stats.warnings == []
