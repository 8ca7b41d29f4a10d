"""Units, property lists and tasks: what they say, and that any path comes through them unharmed."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from skillopt_sleep.errors import AppError
from skillopt_sleep.service.definition import MARK, MODES, Service, find_program
from skillopt_sleep.service.launchd_plist import write_plist
from skillopt_sleep.service.systemd_units import quote, write_units
from skillopt_sleep.service.task_xml import NAMESPACE, write_task

SCHEMAS = Path(__file__).parents[1] / "data" / "schemas"
_PLIST = etree.DTD(SCHEMAS / "plist.dtd")

AWKWARD = (
    "plain",
    "two words",
    "100%",
    "a&b",
    "<x>",
    "$HOME",
    'say "hi"',
    "it's",
    "Füße 日本",
    "back\\slash",
    "#;",
)


def make(folder: Path, mode: str = "daemon", program: Path | None = None) -> Service:
    return Service(
        command=(str(program or folder / "skillopt-sleep"), "daemon", f"--x={folder.name}"),
        environment={"PATH": f"{folder}:/bin", "CODEX_HOME": str(folder / ".codex")},
        folder=folder,
        log=folder / "log",
        mode=mode,
    )


# --- systemd -------------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", AWKWARD)
def test_systemd_itself_finds_nothing_wrong_with_the_units(tmp_path: Path, name: str, mode: str):
    folder = tmp_path / name
    folder.mkdir()
    program = folder / "skillopt-sleep"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "run").mkdir(mode=0o700)
    units = tmp_path / "units"
    units.mkdir()
    for unit, text in write_units(make(folder, mode), version=252).items():
        (units / unit).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *sorted(map(str, units.iterdir()))],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
        check=False,
    )
    ours = [line for line in done.stderr.splitlines() if "skillopt" in line]
    assert (done.returncode, ours) == (0, [])


def read_words(text: str) -> list[str]:
    """Read words as systemd does: quotes, backslashes, doubled per cent signs."""
    words, word, inside, at = [], "", False, 0
    while at < len(text):
        if text[at] == '"':
            inside = not inside
        elif text[at] == "\\":
            at += 1
            word += {"n": "\n", "t": "\t", "r": "\r"}.get(text[at], text[at])
        elif text[at] == "%":
            assert text[at + 1] == "%", "a specifier that was not meant"
            at += 1
            word += "%"
        elif text[at] == " " and not inside:
            words.append(word)
            word = ""
        else:
            word += text[at]
        at += 1
    assert not inside
    return [*words, word]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1))
def test_any_text_comes_through_the_quoting_of_systemd(words: list[str]):
    assert read_words(" ".join(map(quote, words))) == words
    assert "\n" not in quote(words[0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", AWKWARD)
def test_a_unit_names_the_program_the_folder_and_the_environment_as_they_are(name: str, mode: str):
    folder = Path("/home/somebody", name)
    service = make(folder, mode)
    lines = write_units(service, version=252)["skillopt-sleep.service"].splitlines()
    values = [line.partition("=")[::2] for line in lines]
    (started,) = (value for key, value in values if key == "ExecStart")
    assert started[0] == ":", "dollars are no variables"
    words = tuple(read_words(started[1:]))
    assert words[-3:] == service.command
    if len(words) > 3:
        assert set(name) & set("\"'\\"), "a shell only where systemd refuses the name"
        assert words[:-3] == ("/bin/sh", "-c", 'exec "$0" "$@"')
    told = [read_words(value)[0].partition("=")[::2] for key, value in values if key == "Environment"]
    assert dict(told) == service.environment
    assert ("WorkingDirectory", str(folder).replace("%", "%%")) in values


@pytest.mark.parametrize("text", ["a\x00b", "\x1b[31m", "\x7f"], ids=["null", "escape", "delete"])
def test_what_no_unit_can_hold_is_refused(text: str):
    with pytest.raises(AppError, match="control characters"):
        quote(text)
    with pytest.raises(AppError):
        write_units(make(Path("/home/line\nbreak")), version=252)


def test_the_daemon_is_watched_and_started_again_and_a_timer_catches_up():
    daemon = write_units(make(Path("/x")), version=254)["skillopt-sleep.service"]
    assert {"Type=notify", "Restart=on-failure", "KillMode=mixed", "UMask=0077"} <= set(daemon.splitlines())
    assert re.search(r"^WatchdogSec=\d+$", daemon, re.MULTILINE)
    assert "RestartSteps" in daemon
    assert "RestartSteps" not in write_units(make(Path("/x")), version=253)["skillopt-sleep.service"]
    timed = write_units(make(Path("/x"), "timer"), version=252)
    assert "Persistent=true" in timed["skillopt-sleep.timer"]
    assert "Type=oneshot" in timed["skillopt-sleep.service"]
    assert "[Install]" not in timed["skillopt-sleep.service"], "only its timer starts it"


# --- launchd -------------------------------------------------------------------------------------

# What launchd.plist documents, as far as we use it.
_KEYS = {
    "Label": str,
    "ProgramArguments": list,
    "EnvironmentVariables": dict,
    "WorkingDirectory": str,
    "StandardOutPath": str,
    "StandardErrorPath": str,
    "ProcessType": str,
    "LowPriorityIO": bool,
    "Nice": int,
    "Umask": int,
    "ExitTimeOut": int,
    "ThrottleInterval": int,
    "RunAtLoad": bool,
    "KeepAlive": dict,
    "StartInterval": int,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", AWKWARD)
def test_a_property_list_has_documented_keys_of_their_types_and_the_paths_as_they_are(name: str, mode: str):
    service = make(Path("/Users/somebody", name), mode)
    data = write_plist(service)
    assert MARK.encode() in data
    assert _PLIST.validate(etree.fromstring(data)), _PLIST.error_log
    agent = plistlib.loads(data, fmt=plistlib.FMT_XML)
    assert {key: type(value) for key, value in agent.items()} == {key: _KEYS[key] for key in agent}
    assert tuple(agent["ProgramArguments"]) == service.command
    assert agent["EnvironmentVariables"] == service.environment
    assert agent["ProcessType"] in {"Background", "Standard", "Adaptive", "Interactive"}
    assert agent["Umask"] == 0o077
    assert agent["RunAtLoad"], "an interval does not begin by itself after the machine was off"
    assert ("KeepAlive" in agent, "StartInterval" in agent) == (mode == "daemon", mode == "timer")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("<true/>", "<yes/>"), ("<key>Label</key>", ""), ("<true/>", "<true>1</true>"), ("integer>", "number>")],
    ids=["a value", "a value without a key", "a truth with text", "a type"],
)
def test_the_definition_of_property_lists_finds_what_is_wrong(right: str, wrong: str):
    text = write_plist(make(Path("/x"))).decode()
    assert right in text
    assert not _PLIST.validate(etree.fromstring(text.replace(right, wrong).encode()))


# --- Task Scheduler ------------------------------------------------------------------------------

_TASK = etree.XMLSchema(etree.parse(SCHEMAS / "task.xsd"))


def find_faults(data: bytes) -> str:
    _TASK.validate(etree.fromstring(data))
    return "; ".join(error.message for error in _TASK.error_log)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", AWKWARD)
def test_a_task_follows_the_schema_and_has_the_paths_as_they_are(name: str, mode: str):
    service = make(Path("/Users/somebody", name), mode)
    data = write_task(service, r"HOME\Jörg & Söhne")
    assert data[:2] in {b"\xff\xfe", b"\xfe\xff"}, "schtasks takes UTF-16 with its mark"
    root = ET.fromstring(data)
    assert root.attrib == {"version": "1.2"}
    assert not find_faults(data)
    space = {"t": NAMESPACE}
    assert root.findtext(".//t:Command", namespaces=space) == service.command[0]
    assert root.findtext(".//t:WorkingDirectory", namespaces=space) == str(service.folder)
    assert root.findtext(".//t:UserId", namespaces=space) == r"HOME\Jörg & Söhne"
    assert (root.find(".//t:Repetition", space) is None) == (mode == "daemon")


_FAULTS = {
    "a truth": ("<Hidden>true<", "<Hidden>yes<"),
    "a policy": ("IgnoreNew", "Ignore"),
    "a span": ("PT30M", "30 minutes"),
    "too short a span": ("PT30M", "PT30S"),
    "a priority": ("<Priority>8<", "<Priority>11<"),
    "a logon": ("InteractiveToken", "Interactive"),
    "a reference": ('Context="Author"', 'Context="Nobody"'),
    "a version": ('version="1.2"', 'version="1.9"'),
    "a name": ("<WakeToRun>false</WakeToRun>", "<WakeUp>false</WakeUp>"),
    "nothing to do": ("<Command>/x/skillopt-sleep</Command>", ""),
    "no user": ("<UserId>me</UserId>\n      <LogonType>", "<UserId></UserId>\n      <LogonType>"),
}


@pytest.mark.parametrize("name", _FAULTS)
def test_the_schema_of_tasks_finds_what_is_wrong(name: str):
    text = write_task(make(Path("/x"), "timer"), "me").decode("utf-16").partition("?>")[2]
    assert not find_faults(text.encode())
    right, wrong = _FAULTS[name]
    assert right in text
    assert find_faults(text.replace(right, wrong).encode())


def test_the_schema_of_tasks_knows_the_order_of_a_trigger():
    root = etree.fromstring(write_task(make(Path("/x"), "timer"), "me"))
    (trigger,) = root.iter(f"{{{NAMESPACE}}}LogonTrigger")
    assert _TASK.validate(root)
    trigger.append(trigger[0])
    assert not _TASK.validate(root)


@pytest.mark.parametrize("count", ["0", "256", "x"])
def test_a_task_is_restarted_so_often_as_the_schema_lets_it(count: str):
    text = write_task(make(Path("/x")), "me").decode("utf-16").partition("?>")[2]
    assert find_faults(text.replace("<Count>99<", f"<Count>{count}<").encode())


# --- the command ---------------------------------------------------------------------------------


def test_the_script_of_this_installation_is_preferred_to_its_python(tmp_path: Path):
    python = tmp_path / "python3"
    assert find_program(["daemon"], python=str(python)) == (str(python), "-m", "skillopt_sleep", "daemon")
    (tmp_path / "skillopt-sleep").write_text("")
    assert find_program(["daemon"], python=str(python)) == (str(tmp_path / "skillopt-sleep"), "daemon")
