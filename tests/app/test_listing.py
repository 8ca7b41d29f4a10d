"""`sessions` and `tasks`: what the filters keep, what a preview shows, and in which zone."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

from skillopt_replay.tasks import Check, FileContains
from skillopt_sleep.cli.tasks import word
from tests.app.conftest import Sleeper
from tests.support.command import run_command
from tests.support.transcripts import write_session

NEW_YORK, KATHMANDU, ST_JOHNS = "America/New_York", "Asia/Kathmandu", "America/St_Johns"
_WORDS = {"text", "pattern", "heading", "name", "command", "path", "schema", "criterion", "reference"}


def run(*arguments: str, zone: str = "UTC") -> subprocess.CompletedProcess[str]:
    """Run the command in a zone."""
    return run_command(*arguments, env={"TZ": zone})


def listed(*arguments: str, zone: str = "UTC") -> list[str]:
    """Return the first prompts of what `sessions` lists."""
    done = run("sessions", "--json", *arguments, zone=zone)
    assert done.returncode in {0, 3}, done.stderr
    found = [session["prompts"][0] for session in json.loads(done.stdout)]
    assert done.returncode == (0 if found else 3)
    return found


def talk(sleeper: Sleeper, name: str, *times: str, cwd: str = "/w/shop") -> None:
    """Write a session whose records were made at these times (UTC)."""
    path = write_session(sleeper.projects / "-w", name, [(name, "done")] * len(times), cwd=cwd)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for number, record in enumerate(records):
        record["timestamp"] = times[number // 2]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(
    ("zone", "day", "kept"),
    [
        # The night of 8 March has no 02:30 in New York; the day ends 23 hours after it began.
        (NEW_YORK, "2026-03-08", ["5 March 8", "4 March 9"]),
        ("UTC", "2026-03-08", ["5 March 8"]),
        # 45 minutes off every hour.
        (KATHMANDU, "2026-03-08", ["5 March 8"]),
        (KATHMANDU, "2026-03-09", ["4 March 9"]),
        # 1 November has 25 hours in New York, and 05:00 on the 2nd is when it ends.
        (NEW_YORK, "2026-11-01", ["4:30 November 2"]),
        (ST_JOHNS, "2026-11-01", []),
        (ST_JOHNS, "2026-11-02", ["4:30 November 2"]),
    ],
)
def test_a_day_is_the_local_one_whatever_the_clocks_do_on_it(
    sleeper: Sleeper, zone: str, day: str, kept: list[str]
):
    talk(sleeper, "5 March 8", "2026-03-08T05:00:00.000Z")
    talk(sleeper, "4 March 9", "2026-03-09T03:59:59.999Z")
    talk(sleeper, "4:30 November 2", "2026-11-02T04:30:00.000Z")
    sleeper.sleep("harvest")
    assert listed("--since", day, "--until", day, zone=zone) == kept


def test_an_hour_that_comes_twice_is_searched_both_times(sleeper: Sleeper):
    for name, time in (("first", "05:30"), ("second", "06:30"), ("after", "07:30")):
        talk(sleeper, name, f"2026-11-01T{time}:00.000Z")
    sleeper.sleep("harvest")
    assert listed("--since", "2026-11-01T01:00", "--until", "2026-11-01T01:45", zone=NEW_YORK) == [
        "first",
        "second",
    ]
    assert listed("--since", "2026-11-01T01:00-05:00", zone=NEW_YORK) == ["second", "after"]
    shown = run("sessions", zone=NEW_YORK).stdout
    assert "2026-11-01 01:30 -0400" in shown
    assert "2026-11-01 01:30 -0500" in shown
    assert '"started": "2026-11-01T05:30:00.000Z"' in run("sessions", "--json", zone=NEW_YORK).stdout


def test_a_session_over_several_days_belongs_to_each(sleeper: Sleeper):
    talk(sleeper, "long", "2026-01-05T10:00:00.000Z", "2026-01-07T10:00:00.000Z")
    sleeper.sleep("harvest")
    for day, kept in (("04", []), ("05", ["long"]), ("06", ["long"]), ("07", ["long"]), ("08", [])):
        assert listed("--since", f"2026-01-{day}", "--until", f"2026-01-{day}") == kept


def test_sessions_are_kept_by_project_client_kind_and_number(sleeper: Sleeper, tmp_path: Path):
    for number, cwd in enumerate(
        ["/w/shop", "/w/shop/api", "/w/shopping", "C:\\Users\\Sam\\shop", str(tmp_path)]
    ):
        talk(sleeper, f"in {cwd}", f"2026-01-0{number + 1}T10:00:00.000Z", cwd=cwd)
    sleeper.sleep("harvest")
    assert listed("--project", "/w/shop/") == ["in /w/shop", "in /w/shop/api"]
    assert listed("--project", "c:/users/sam") == ["in C:\\Users\\Sam\\shop"]
    assert listed("--project", ".") == [f"in {tmp_path}"]
    assert listed("--project", "/w/shop", "--limit", "1") == ["in /w/shop/api"]
    assert listed("--client", "claude", "--kind", "human", "--limit", "2") == [
        "in C:\\Users\\Sam\\shop",
        f"in {tmp_path}",
    ]
    assert listed("--kind", "replay") == []
    ids = run("sessions", "--ids", "--project", "/w").stdout.split()
    assert ids == [s["id"] for s in json.loads(run("sessions", "--json", "--project", "/w").stdout)]
    assert json.loads(run("sessions", "--ids", "--json", "--limit", "1").stdout) == [
        json.loads(run("sessions", "--json", "--limit", "1").stdout)[0]["id"]
    ]
    assert run("sessions", "--ids", "--kind", "replay").stderr == "no session fits\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sessions", "--since", "soon"], "'soon' is not a time"),
        (["sessions", "--since", "2026-01-02", "--until", "2026-01-01"], "nothing lies between"),
        (["sessions", "--client", "cluade"], "did you mean claude?"),
        (["sessions", "--kind", "robot"], "known are human, headless, subagent, replay"),
        (["sessions", "--limit", "0"], "Invalid value for '--limit'"),
        (["sessions", "--show", "x"], "there is no session 'x'"),
        (["sessions", "--show", "x", "--limit", "2"], "of the filters, only --client goes with it"),
        (["tasks", "--show", "x"], "there is no task 'x'"),
        (["tasks", "--show", "x", "--skill", "y"], "no filter goes with it"),
        (["tasks", "--until", "2026-13-01"], "is not a time"),
    ],
)
def test_what_cannot_be_meant_is_refused(sleeper: Sleeper, arguments: list[str], said: str):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_nothing_harvested_and_nothing_fitting_are_told_apart(sleeper: Sleeper):
    advice = r"no sessions yet; to read them, and to see where .*:\n  .* harvest\n  .* doctor\n"
    assert re.fullmatch(advice, run("sessions").stderr)
    assert run("sessions", "--json").stdout == "[]\n"
    assert "no recurring tasks yet" in run("tasks").stderr
    sleeper.work()
    sleeper.sleep("harvest")
    assert run("sessions", "--until", "2001-01-01").stderr == "no session fits\n"
    done = run("tasks", "--skill", "nothing")
    assert (done.returncode, done.stderr) == (3, "no task fits\n")


# --- previews ------------------------------------------------------------------------------------


def show(command: str, name: str, zone: str = "UTC") -> tuple[str, dict[str, Any]]:
    text, data = run(command, "--show", name, zone=zone), run(command, "--show", name, "--json", zone=zone)
    assert (text.returncode, data.returncode) == (0, 0), text.stderr
    return text.stdout, json.loads(data.stdout)


def test_a_preview_shows_all_that_is_kept_of_a_session_and_nothing_secret(sleeper: Sleeper):
    recorded = next((Path(__file__).parents[1] / "data/transcripts/claude/2.1.332").rglob("9561625f*.jsonl"))
    kept = sleeper.projects / "-p" / recorded.name
    kept.parent.mkdir(parents=True)
    secret = "sk-ant-api03-" + "aB3" * 30 + "-AAAAAAAA"
    words = "Write greet.py with a greet function"
    kept.write_text(recorded.read_text().replace(words, f"{words}, my key is {secret}\\u001b[31m"))
    sleeper.sleep("harvest")
    text, data = show("sessions", "9561")
    assert "  > Write greet.py with a greet function, my key is [redacted" in text
    assert secret[:20] not in text + json.dumps(data)
    assert "\x1b" not in text
    assert "correction" in text
    assert "  tool    Bash, exit 0\n          $ python3 greet.py\n" in text
    assert "file /home/user/project/greet.py" in text
    assert "  < Fixed: it now prints Hello, world!" in text
    assert "tokens    8600 in, 348 out" in text
    assert "its transcript is gone" not in text
    assert (data["id"], len(data["turns"]), data["transcript_gone"]) == (recorded.stem, 3, False)
    assert {call["name"] for turn in data["turns"] for call in turn["tool_calls"]} == {
        "Write",
        "Bash",
        "Read",
        "Edit",
    }
    kept.unlink()
    text, data = show("sessions", recorded.stem)
    assert "its transcript is gone; this is the snapshot" in text
    assert data["transcript_gone"] is True


def test_a_preview_of_a_task_shows_its_checks_whose_words_they_rest_on_and_where_it_was_asked(
    sleeper: Sleeper,
):
    sleeper.work()
    sleeper.sleep("harvest")
    corrected = next(t for t in json.loads(run("tasks", "--json").stdout) if t["failed_before"])
    text, data = show("tasks", corrected["id"][:8], zone=KATHMANDU)
    assert data["id"] == corrected["id"]
    assert [check["origin"]["quote"] for check in data["checks"]]
    assert f"task      {corrected['id']}: {corrected['title']}" in text
    assert f"  > {corrected['prompt']}" in text
    assert "check     contains 'uv add'" in text
    assert "          > No, use `uv add`, not `pip install`" in text
    (session,) = corrected["sessions"]
    assert "            turn 2 of " in text
    assert f"          {session}  2026-01-04 15:45 +0545  claude\n" in text
    assert "asked     once, and the agent was corrected" in text


def test_a_task_that_only_a_judge_can_check_is_listed_and_shown_with_the_users_words(sleeper: Sleeper):
    for day in range(3):
        turns = [(f"Write the release note of part {day}", "One paragraph.")]
        turns += [("No, bullets instead of prose", "- a")] if day == 1 else []
        write_session(sleeper.projects / "-w", f"note {day}", turns, cwd=sleeper.project, day=day)
    sleeper.sleep("harvest")
    assert "  check: rubric 'No, bullets instead of prose'" in sleeper.sleep("tasks")
    task = json.loads(run("tasks", "--json").stdout)[0]
    text, data = show("tasks", task["id"])
    assert "check     rubric 'No, bullets instead of prose'" in text
    assert {name: data[name] for name in task} == task


def test_every_kind_of_check_can_be_told_in_a_few_words():
    kinds = get_args(Check)
    made = [kind(**{name: "x" for name in kind.__struct_fields__ if name in _WORDS}) for kind in kinds]
    assert all(word(check).endswith("'x'") for check in made)
    assert word(FileContains(path="Makefile")) == "file 'Makefile'"


def test_tasks_are_kept_by_the_sessions_that_asked_for_them_and_stay_the_same(
    sleeper: Sleeper, tmp_path: Path
):
    sleeper.work(days=10)
    sleeper.sleep("harvest")
    every = json.loads(run("tasks", "--json").stdout)
    assert len(every) == 10
    third = json.loads(run("tasks", "--json", "--since", "2026-01-04", "--until", "2026-01-04").stdout)
    assert third == [every[3]]
    assert json.loads(run("tasks", "--json", "--project", str(sleeper.project)).stdout) == every
    assert json.loads(run("tasks", "--json", "--project", str(tmp_path / "other")).stdout) == []
    assert (
        json.loads(run("tasks", "--json", "--client", "claude", "--skill", every[0]["skill"]).stdout) == every
    )


def test_a_turn_nobody_asked_for_is_not_listed_as_a_prompt(sleeper: Sleeper) -> None:
    path = write_session(
        sleeper.projects / "-w", "alone", [("", "I go on."), ("and now the tests", "Done.")], cwd="/w"
    )
    first, *rest = path.read_text().splitlines()
    assert json.loads(first)["type"] == "user"
    path.write_text("\n".join([*rest, ""]))
    assert run("harvest").returncode == 0
    [session] = json.loads(run("sessions", "--json").stdout)
    assert session["prompts"] == ["and now the tests"]
    assert session["tokens"]["output"] > 0


def test_shell_lines_and_pictures_are_no_prompts(sleeper: Sleeper) -> None:
    turns = [("<bash-input>ls</bash-input>", ""), ("PICTURE", "A cat.")]
    turns += [("<command-name>/review</command-name><command-args>a.py</command-args>", "Fine.")]
    path = write_session(sleeper.projects / "-w", "lines", turns, cwd="/w")
    path.write_text(path.read_text().replace('"PICTURE"', '[{"type": "image", "source": {}}]'))
    assert run("harvest").returncode == 0
    [session] = json.loads(run("sessions", "--json").stdout)
    assert session["prompts"] == ["/review a.py"]
    assert "1 prompt:" in run("sessions").stdout


def test_several_clients_may_be_named_with_commas_between(sleeper: Sleeper) -> None:
    sleeper.work(days=2)
    assert run("harvest", "--client", "codex,claude").returncode == 0
    assert len(json.loads(run("sessions", "--json", "--client", "claude,codex").stdout)) == 2
    assert run("sessions", "--client", "codex,pi").returncode == 3
    done = run("harvest", "--client", "claude,codx")
    assert (done.returncode, "did you mean codex?" in done.stderr) == (2, True)
    done = run("config", "set", "harvest.clients", "nope")
    assert (done.returncode, "known are claude, codex, copilot" in done.stderr) == (2, True)


def test_the_columns_of_a_listing_stand_below_one_another(sleeper: Sleeper) -> None:
    for name in ("019a1b2c-0000-7000-8000-00000000000a", "019a1b2c-0001-7000-8000-00000000000b"):
        path = write_session(sleeper.projects / "-w", name, [("do it", "done")], cwd="/w")
        path.rename(path.with_name(f"{name}.jsonl"))
    write_session(sleeper.projects / "-w", "other", [("do that", "done")], cwd="/w")
    assert run("harvest").returncode == 0
    lines = run("sessions").stdout.splitlines()
    assert len({line.index("1 prompt") for line in lines}) == 1
    assert len(lines) == 3


def test_one_of_a_thing_is_told_in_the_singular(sleeper: Sleeper) -> None:
    path = write_session(sleeper.projects / "-w", "one", [("do it", "done")], cwd="/w")
    path.write_text(path.read_text() + "broken\n" + '{"type":"strange","uuid":"x"}\n')
    done = run("harvest")
    assert "1 line is not a readable record" in done.stdout
    assert "1 record of an unknown type was skipped: strange" in done.stdout
    assert "1 sessions" not in done.stderr


def test_a_harvest_without_news_says_so(sleeper: Sleeper) -> None:
    write_session(sleeper.projects / "-w", "one", [("do it", "done")], cwd="/w")
    assert "1 session" in run("harvest").stderr
    again = run("harvest")
    assert again.stderr.endswith("harvest nothing new\n"), "nothing is counted that was not there"
    assert "(1 seen, 0 B, " in again.stdout
