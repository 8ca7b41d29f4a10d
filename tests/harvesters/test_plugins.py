"""Sources of other distributions, really installed: found, checked, and never the harvest's end."""

from __future__ import annotations

import importlib
import json
import sys
import textwrap
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, harvest, load_sources

GOOD = '''
from pathlib import Path

from skillopt_harvesters.records import Kind, Session, Turn
from skillopt_harvesters.sources import Reading
from skillopt_harvesters.sources.base import stat_file
from skillopt_harvesters.walk import walk_files


class Notes:
    """One session a file, a line a prompt."""

    name = "notes"
    rewrites = False

    def roots(self, env, home):
        return (home / "notes",)

    def discover(self, root, *, warn=None):
        return walk_files(root, (".note",), warn=warn)

    def stat(self, path):
        return stat_file(path)

    def recognise(self, head):
        return head.startswith(b"note")

    def read(self, file, path, *, claims, resume=None):
        lines = file.read().decode().splitlines()[1:]
        if "boom" in lines:
            raise KeyError("boom")
        turns = tuple(Turn(prompt=line) for line in lines)
        session = Session(
            id=path.stem, client=self.name, client_version="1", kind=Kind.HUMAN, path=str(path), turns=turns
        )
        yield Reading(session=session, offset=file.tell())
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install a distribution with one module and its entry points into a folder on the path."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))

    def put(distribution: str, source: str, **points: str) -> None:
        module = distribution.replace("-", "_")
        monkeypatch.delitem(sys.modules, module, raising=False)
        (site / f"{module}.py").write_text(textwrap.dedent(source))
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
        lines = "".join(f"{name} = {module}:{thing}\n" for name, thing in points.items())
        (info / "entry_points.txt").write_text(f"[skillopt_sleep.sources]\n{lines}")
        importlib.invalidate_caches()

    return put


def load() -> tuple[set[str], list[str]]:
    told: list[str] = []
    return set(load_sources(told.append)) - set(SOURCES), told


def test_without_others_there_are_our_own():
    assert load() == (set(), [])
    assert load_sources() == SOURCES


@pytest.mark.parametrize("thing", ["Notes", "MADE"])
def test_a_class_or_an_object_that_fits_is_a_source(install, private_home: Path, thing: str):
    install("acme-notes", GOOD + "\nMADE = Notes()\n", acme=thing)
    assert load() == ({"notes"}, [])
    folder = private_home / "notes"
    folder.mkdir()
    (folder / "one.note").write_text("note\ndo this\ndo that\n")
    (folder / "other.note").write_text("no\n")
    (folder / "two.note").write_text("note\nboom\n")
    run = harvest(load_sources().values(), {}, env={}, home=private_home)
    [read] = [one.session for one in run if one.session]
    assert (read.client, read.prompts) == ("notes", ("do this", "do that"))
    assert run.stats.warnings == [f"{folder / 'two.note'}: the reader of notes failed: KeyError: 'boom'"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name\nX = 1", "No module named 'nothing_of_this_name'"),
        ("1 / 0\nX = 1", "ZeroDivisionError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("X = 1 +", "SyntaxError"),
        ("Y = 1", "has no attribute 'X'"),
        ("X = 5", "'int' object has no attribute 'name'"),
        (GOOD + "\nclass X(Notes):\n    read = None\n", "it has no read"),
        (GOOD + "\nclass X(Notes):\n    name = 'Not A Name/'\n", "its name 'Not A Name/' is none"),
        (GOOD + "\nclass X(Notes):\n    name = 3\n", "its name 3 is none"),
        (GOOD + "\nclass X(Notes):\n    rewrites = 'no'\n", "neither True nor False"),
        (GOOD + "\nclass X(Notes):\n    def __init__(self, needed): ...\n", "missing 1 required positional"),
        (GOOD + "\nclass X(Notes):\n    name = 'claude'\n", "the name 'claude' is taken"),
    ],
)
def test_one_that_does_not_fit_costs_a_warning(install, source: str, reason: str):
    install("acme-broken", source, x="X")
    found, told = load()
    assert found == set()
    assert len(told) == 1
    assert told[0].startswith("the source 'x' (acme-broken 1.2) is left out: ")
    assert reason in told[0]


def test_two_with_one_name_are_the_first_and_a_warning(install):
    install("acme-one", GOOD, a="Notes")
    install("acme-two", GOOD, b="Notes")
    found, told = load()
    assert found == {"notes"}
    assert told == ["the source 'b' (acme-two 1.2) is left out: the name 'notes' is taken"]


@pytest.mark.parametrize("method", ["roots", "discover", "stat", "recognise"])
def test_a_source_that_fails_does_not_end_the_harvest(install, transcript, private_home: Path, method: str):
    t = transcript()
    t.user("do it")
    t.write()
    (private_home / "notes").mkdir()
    (private_home / "notes" / "one.note").write_text("note\n")
    install(
        "acme-fails",
        GOOD + f"\ndef fail(*a, **k):\n    raise ValueError('no')\nNotes.{method} = fail\n",
        a="Notes",
    )
    run = harvest(load_sources().values(), {}, env={}, home=private_home)
    assert [one.session.prompts for one in run if one.session] == [("do it",)]
    assert len(run.stats.warnings) == 1
    assert "the reader of notes failed: ValueError: no" in run.stats.warnings[0]


def test_the_commands_use_them_and_tell_of_what_is_wrong(install, private_home: Path):
    from typer.testing import CliRunner

    from skillopt_sleep.cli import app

    install("acme-notes", GOOD, acme="Notes")
    install("acme-broken", "import nothing_of_this_name", x="X")
    (private_home / "notes").mkdir()
    (private_home / "notes" / "one.note").write_text("note\ndo this\n")
    done = CliRunner().invoke(app, ["harvest", "--json"])
    report = json.loads(done.stdout)
    assert (report["sessions"], report["turns"]) == (1, 1)
    assert report["warnings"][0].startswith("the source 'x' (acme-broken 1.2) is left out: ModuleNotFound")
    listed = json.loads(CliRunner().invoke(app, ["sessions", "--json"]).stdout)
    assert [session["client"] for session in listed] == ["notes"]
    told = CliRunner().invoke(app, ["doctor"]).stdout
    assert str(private_home / "notes") in told
    assert "acme-broken 1.2" in told
