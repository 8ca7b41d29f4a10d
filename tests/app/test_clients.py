"""Which clients are read, where, and what the check-up says of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skillopt_harvesters.sources import SOURCES
from skillopt_sleep.cli import app
from skillopt_sleep.clients import check_clients, choose_sources, read_roots
from skillopt_sleep.errors import UsageError
from skillopt_sleep.survey import survey
from tests.app.conftest import Sleeper
from tests.support.transcripts import write_session


def test_further_roots_come_after_the_clients_own_and_each_once(tmp_path: Path):
    (own,) = SOURCES["claude"].roots({"CLAUDE_CONFIG_DIR": str(tmp_path)}, tmp_path)
    roots = read_roots([f"claude:{own}", "claude:~/more", "claude:/mnt/a:b"], Path("/home/sam"))
    assert roots == {"claude": (own, Path("/home/sam/more"), Path("/mnt/a:b"))}
    (source,) = choose_sources(["claude"], roots)
    assert source.name == "claude"
    assert source.roots({"CLAUDE_CONFIG_DIR": str(tmp_path)}, tmp_path) == (
        own,
        Path("/home/sam/more"),
        Path("/mnt/a:b"),
    )
    assert [source.name for source in choose_sources()] == list(SOURCES)


def test_a_client_that_is_not_known_is_answered_with_the_nearest_or_with_all():
    assert check_clients(["claude", "claude"]) == ("claude",)
    assert check_clients(["gone"], also=["gone"]) == ("gone",)
    with pytest.raises(UsageError) as caught:
        check_clients(["cluade"])
    assert caught.value.hint == "did you mean claude?"
    with pytest.raises(UsageError) as caught:
        check_clients(["xyz"])
    assert set(SOURCES) <= set(caught.value.hint.removeprefix("known are ").split(", "))


def test_counting_stops_at_a_bound_and_names_what_cannot_be_read(tmp_path: Path):
    root = tmp_path / ".claude" / "projects"
    for name in "abc":
        write_session(root / "-p", name, [("Ask", "done")], cwd="/p")
    (root / "-p" / "loop.jsonl").symlink_to("loop.jsonl")
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    seen = survey(SOURCES["claude"], env, tmp_path)
    assert (seen.files, seen.is_more, seen.present, seen.missing) == (3, False, (str(root),), ())
    assert ["loop.jsonl" in trouble for trouble in seen.trouble] == [True]
    seen = survey(SOURCES["claude"], env, tmp_path, bound=2)
    assert (seen.files, seen.is_more) == (2, True)


def test_the_check_up_says_per_client_what_is_found(sleeper: Sleeper, tmp_path: Path):
    def findings() -> dict[str, dict]:
        done = CliRunner().invoke(app, ["doctor", "--json"])
        return {finding["name"]: finding for finding in json.loads(done.stdout)}

    found = findings()
    assert {f"{name} files" for name in SOURCES} <= set(found)
    assert found["claude files"]["detail"] == f"no transcripts; not there: {sleeper.projects}"
    assert "harvest.roots" in found["transcripts"]["hint"]
    sleeper.work(days=2)
    sleeper.set(harvest_roots=f"claude:{tmp_path / 'later'}")
    found = findings()
    assert "transcripts" not in found
    assert found["claude files"]["ok"]
    assert (
        found["claude files"]["detail"] == f"2 files in {sleeper.projects}; not there: {tmp_path / 'later'}"
    )
    (next(sleeper.projects.iterdir()) / "loop.jsonl").symlink_to("loop.jsonl")
    assert "loop.jsonl" in findings()["claude files"]["hint"]


def test_only_the_chosen_clients_are_read_and_the_check_up_says_so(sleeper: Sleeper, monkeypatch):
    sleeper.work(days=2)

    class Other:
        name = "other"

        def __getattr__(self, name: str):
            return getattr(claude, name)

    claude = SOURCES["claude"]
    monkeypatch.setitem(SOURCES, "other", Other())
    sleeper.set(harvest_clients="other")
    assert "claude files   not read, as harvest.clients says" in CliRunner().invoke(app, ["doctor"]).stdout
    assert json.loads(sleeper.sleep("harvest", "--json"))["files_seen"] == 2  # by the other's reader
    monkeypatch.delitem(SOURCES, "other")
    sleeper.sleep("harvest", expect=2)  # the setting names a client that is not there any more
    assert CliRunner().invoke(app, ["config", "set", "harvest.clients", ""]).exit_code == 0
    assert json.loads(sleeper.sleep("harvest", "--json"))["files_seen"] == 2
