"""What the user is told to type works when it is pasted."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from skillopt_sleep.cli import app
from skillopt_sleep.cli.frame import say_error
from skillopt_sleep.cli.markdown import print_markdown
from skillopt_sleep.errors import UsageError
from skillopt_sleep.invocation import call, spell_out, split_commands
from skillopt_sleep.night.report import NightReport, to_markdown
from skillopt_sleep.review.plain import render_plain
from skillopt_sleep.review.wording import say_nothing_recurs
from tests.support.proposals import proposal, task


def make_program(folder: Path) -> Path:
    """Write a program of our name that tells its home and its arguments."""
    folder.mkdir(parents=True)
    program = folder / "skillopt-sleep"
    program.write_text('#!/bin/sh\necho "$SKILLOPT_SLEEP_HOME|$*"\n')
    program.chmod(0o755)
    return program


def paste(line: str) -> str:
    env = {"PATH": os.environ["PATH"]}
    return subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=True).stdout


def test_a_told_command_reaches_the_same_program_and_the_same_home(tmp_path: Path, monkeypatch):
    program = make_program(tmp_path / "my tools")
    home = tmp_path / "my home"
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [str(program), "review"])
    assert paste(call("review --plain")) == f"{home}|review --plain\n"
    monkeypatch.chdir(tmp_path)
    assert call("run").endswith(" 'my tools/skillopt-sleep' run")
    assert paste(call("run", home=tmp_path)) == f"{tmp_path}|run\n"


def test_on_the_path_and_without_a_home_the_name_alone_does(tmp_path: Path, monkeypatch):
    program = make_program(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.delenv("SKILLOPT_SLEEP_HOME")
    assert call("run") == "skillopt-sleep run"


def test_started_as_a_module_it_is_called_as_one(monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", ["/lib/skillopt_sleep/__main__.py"])
    assert call("run").endswith(f"{shlex.quote(sys.executable)} -m skillopt_sleep run")


def test_only_commands_in_a_text_are_spelled_out(monkeypatch):
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", "/h")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert spell_out("see skillopt-sleep logs") == "see SKILLOPT_SLEEP_HOME=/h skillopt-sleep logs"
    for text in ("pip install 'skillopt-sleep[local]'", "a/skillopt-sleep run", "skillopt-sleep.service x"):
        assert spell_out(text) == text
    said, commands = split_commands("set a model: skillopt-sleep config set a b; skillopt-sleep run")
    assert (said, len(commands), commands[1]) == ("set a model:", 2, call("run"))


def test_a_hint_ends_with_its_commands_on_lines_of_their_own(capsys):
    say_error(UsageError("no", hint="say so: skillopt-sleep run"))
    assert capsys.readouterr().err.splitlines()[1:] == ["  hint: say so:", f"    {call('run')}"]


def test_a_command_in_a_report_is_never_wrapped(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    long = "SKILLOPT_SLEEP_HOME=/tmp/" + "x" * 60 + "/demo .venv/bin/skillopt-sleep review"
    print_markdown(f"These are words enough to be wrapped at forty columns.\n\n```sh\n{long}\n```\n")
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines if "skillopt-sleep" in line] == [long]
    assert max(len(line) for line in lines if "SKILLOPT" not in line) <= 40


def make_report(**changes: object) -> NightReport:
    plain = {"night": "", "state": "planned", "target": "", "optimizer": "", "sandbox": "", "tasks": 0}
    plain |= {"skills": (), "skipped": (), "notes": (), "rollouts": 0, "tokens": 0, "cost_usd": 0.0}
    return msgspec.convert({**plain, "seconds": 0.0, **changes}, NightReport)


def test_a_report_sets_out_the_commands_of_its_notes_and_steps():
    report = make_report(
        notes=("hint: set a model: skillopt-sleep run",), next_steps=("1 waits: `skillopt-sleep review`.",)
    )
    text = to_markdown(report, "sleep-there {}".format)
    assert f"- hint: set a model:\n\n```sh\n{call('run')}\n```\n" in text
    assert "1 waits:\n\n```sh\nsleep-there review\n```\n" in text
    assert "promise" not in text, "nothing is there that could be gated"


def test_the_plain_review_offers_commands_that_can_be_pasted():
    lines = render_plain([proposal()]).splitlines()
    assert lines[lines.index("Later:") + 1] == f"  {call('snooze n12-commit-messages')}"


def test_when_all_is_decided_the_plain_review_says_how_to_see_it():
    text = render_plain([], decided=2)
    assert "2 proposals are decided or snoozed" in text
    assert f"  {call('review --plain --all')}\n" in text


def test_tasks_that_an_early_verdict_left_out_are_told_as_such():
    tasks = (task("One", (0,), (1,)), task("Two", (), ()), task("Three", (), ()))
    text = render_plain([proposal(tasks=tasks)])
    assert "  not run: 2 more tasks; the evidence sufficed after 14\n" in text
    assert "no run, then no run" not in text


@pytest.mark.parametrize("command", [("apply", "x"), ("revert", "x")])
def test_an_unknown_proposal_leads_to_the_list_of_all(command):
    done = CliRunner().invoke(app, list(command))
    assert done.exit_code == 2
    assert f"    {call('review --plain --all')}\n" in done.stderr


def test_sessions_that_are_not_mined_are_named_with_what_is_needed():
    said = say_nothing_recurs({"headless": 3, "subagent": 1})
    assert "4 sessions are headless or of sub-agents, which are not mined" in said
    assert "sessions of a person are needed" in said
    assert "(1 session is headless" in say_nothing_recurs({"human": 2, "headless": 1})
    assert "harvest more sessions" in say_nothing_recurs({"human": 2})
