"""What a run can do inside the sandbox, and above all what it cannot."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import pytest

from skillopt_replay import process
from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.sandbox import (
    SYSTEM_PATH,
    Probe,
    Toolchains,
    advice,
    bubblewrap,
    choose,
    probe_all,
    view,
)
from skillopt_replay.sandbox.bubblewrap import Bubblewrap
from skillopt_replay.sandbox.none import NoSandbox

linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is for Linux")


@pytest.fixture
def rooms(tmp_path):
    """A workspace, and beside it what a run must not reach."""
    for name in ("workspace", "checks", "home"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "checks" / "answer.txt").write_text("the answer")
    (tmp_path / "home" / "secret.txt").write_text("the secret")
    return tmp_path


async def run_confined(
    sandbox, rooms: Path, script: str, *, network: bool = True, seconds: float = 20.0, **more
):
    argv = sandbox.wrap(
        ["/bin/sh", "-c", script],
        writable=[rooms / "workspace"],
        readable=more.pop("readable", []),
        cwd=rooms / "workspace",
        network=network,
    )
    env = {"PATH": SYSTEM_PATH, "HOME": str(rooms / "workspace"), **more}
    return await process.run(argv, cwd=rooms / "workspace", env=env, seconds=seconds)


async def test_a_run_works_in_its_workspace(confined, rooms):
    finished = await run_confined(confined, rooms, "pwd; echo text > made.txt; git init -q . && ls -A")
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == [str(rooms / "workspace"), ".git", "made.txt"]
    assert (rooms / "workspace" / "made.txt").read_text() == "text\n"


@pytest.mark.parametrize("place", ["/usr/stray", "/etc/stray", "/opt/stray", "/stray"])
async def test_the_system_cannot_be_written_to(confined, rooms, place):
    finished = await run_confined(confined, rooms, f"echo x > {place}")
    assert finished.returncode != 0
    assert not Path(place).exists()


@linux_only
async def test_the_system_s_own_settings_are_there_as_they_are_and_cannot_be_changed(confined, rooms):
    script = "cat /etc/passwd; for f in passwd ld.so.cache; do echo x > /etc/$f || rm /etc/$f; done"
    finished = await run_confined(confined, rooms, script)
    assert finished.stdout == Path("/etc/passwd").read_text()
    assert finished.returncode != 0
    assert finished.stderr.count("Read-only file system") == 4, finished.stderr


@linux_only
async def test_what_changes_of_the_system_s_settings_is_seen_by_the_next_run(rooms, monkeypatch):
    files, folder = rooms / "etc", rooms / "etc" / "few"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / name).write_text(f"{name} at first\n")
    for number in range(view.FEW + 1):
        (files / f"many/{number}").parent.mkdir(exist_ok=True)
        (files / f"many/{number}").write_text("")
    (files / "large").write_bytes(bytes(view.SMALL + 1))
    names = [str(files / name) for name in ("few", "many", "large", "gone")]
    monkeypatch.setattr(bubblewrap, "_ETC", names)
    monkeypatch.setattr(bubblewrap, "_EMPTY", {})  # or the new /tmp would cover them, as it covers no /etc
    sandbox = choose("auto")
    look = f"cd {files}; cat few/*; ls few many | wc -l; wc -c < large; ls"
    first = await run_confined(sandbox, rooms, look)
    assert first.stdout.split() == [*"one at first two at first 18 1048577 few large many".split()]
    (folder / "one").write_text("one now\n")
    (folder / "two").unlink()
    second = await run_confined(sandbox, rooms, look)
    assert second.stdout.split() == [*"one now 17 1048577 few large many".split()]


@linux_only
async def test_the_machine_s_own_keys_are_not_among_its_certificates(rooms, monkeypatch):
    keys = rooms / "ssl" / "private"
    keys.mkdir(parents=True)
    (keys / "host.key").write_text("the secret")
    (rooms / "ssl" / "cert.pem").write_text("a certificate")
    monkeypatch.setattr(bubblewrap, "_ETC", [str(rooms / "ssl")])
    monkeypatch.setattr(bubblewrap, "_KEYS", (str(keys), str(rooms / "none")))
    finished = await run_confined(choose("auto"), rooms, f"cat {rooms}/ssl/cert.pem {keys}/*")
    assert finished.stdout == "a certificate", finished.stderr
    assert "the secret" not in finished.stderr


async def test_no_setting_of_the_kernel_can_be_written_to_not_even_by_root(confined, rooms):
    script = (
        "for place in /proc/[a-z]*; do case $place in */self|*/thread-self) continue; esac;"
        " find $place -type f -writable -exec test -f {} \\; -print 2>/dev/null; done;"
        " cat /proc/sys/kernel/ostype"
    )
    finished = await run_confined(confined, rooms, script)
    assert finished.stdout.split() == ["Linux"], "asked for, never written"


@pytest.mark.parametrize("place", ["stray", "checks/stray", "home/secret.txt"])
async def test_what_is_written_beside_the_workspace_never_arrives(confined, rooms, place):
    await run_confined(confined, rooms, f"mkdir -p {rooms}/checks {rooms}/home; echo x > {rooms}/{place}")
    assert not (rooms / "stray").exists()
    assert not (rooms / "checks" / "stray").exists()
    assert (rooms / "home" / "secret.txt").read_text() == "the secret"


async def test_what_is_written_to_the_shared_temporary_folder_stays_inside(confined, rooms):
    name = f"/tmp/skillopt-test-{os.getpid()}"
    finished = await run_confined(confined, rooms, f"echo x > {name} && cat {name}")
    assert finished.stdout == "x\n"
    assert not Path(name).exists()


@pytest.mark.parametrize("path", ["checks/answer.txt", "home/secret.txt"])
async def test_the_hidden_checks_and_the_home_cannot_be_read(confined, rooms, path):
    finished = await run_confined(confined, rooms, f"cat {rooms / path}")
    assert finished.returncode != 0
    assert "the" not in finished.stdout
    assert "No such file" in finished.stderr


async def test_the_real_home_folders_are_empty(confined, rooms):
    finished = await run_confined(confined, rooms, "ls -A /root /home /run; ls /var /srv /mnt 2>&1 | head -3")
    listed = [line for line in finished.stdout.splitlines() if line and not line.endswith(":")]
    assert [line for line in listed if "No such file" not in line and line != "tmp"] == []


async def test_a_link_out_of_the_workspace_leads_nowhere(confined, rooms):
    (rooms / "workspace" / "link").symlink_to(rooms / "checks")
    (rooms / "workspace" / "file").symlink_to(rooms / "home" / "secret.txt")
    finished = await run_confined(confined, rooms, "cat link/answer.txt file; echo x > file; ls link/")
    assert finished.stdout == ""
    assert (rooms / "home" / "secret.txt").read_text() == "the secret"


async def test_a_link_made_inside_does_not_open_the_way_either(confined, rooms):
    finished = await run_confined(confined, rooms, f"ln -s {rooms}/checks out && cat out/answer.txt")
    assert finished.returncode != 0
    assert finished.stdout == ""


async def test_a_daemon_started_inside_ends_with_the_run(confined, rooms):
    loop = "while :; do date +%s%N > new; mv new beat; sleep 0.05; done"
    script = f"(setsid sh -c '{loop}' >/dev/null 2>&1 &) ; sleep 0.5; cat beat"
    finished = await run_confined(confined, rooms, script)
    assert finished.stdout.strip().isdigit()
    beat = rooms / "workspace" / "beat"
    last = beat.read_text()
    threading.Event().wait(0.4)
    assert beat.read_text() == last


async def test_a_daemon_started_inside_ends_when_the_run_is_out_of_time(confined, rooms):
    script = "trap '' TERM; while :; do date +%s%N > new; mv new beat; sleep 0.05; done"
    finished = await run_confined(confined, rooms, script, seconds=0.8)
    assert finished.timed_out
    beat = rooms / "workspace" / "beat"
    last = beat.read_text()
    threading.Event().wait(0.4)
    assert beat.read_text() == last


async def test_the_processes_of_the_machine_are_not_seen(confined, rooms):
    finished = await run_confined(confined, rooms, f"ls /proc | grep -c '^[0-9]'; kill -0 {os.getpid()}")
    assert int(finished.stdout.split()[0]) < 10
    assert finished.returncode != 0


async def test_a_readable_folder_inside_a_writable_one_stays_read_only(confined, rooms):
    inner = rooms / "workspace" / "plugin"
    inner.mkdir()
    (inner / "SKILL.md").write_text("skill")
    finished = await run_confined(
        confined, rooms, "cat plugin/SKILL.md; echo x > plugin/SKILL.md", readable=[inner]
    )
    assert finished.stdout == "skill"
    assert (inner / "SKILL.md").read_text() == "skill"


async def test_loopback_is_reached_with_the_network_and_not_without(confined, rooms):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"
        online = await run_confined(confined, rooms, f"bash -c '{script}'")
        assert online.stdout == "reached\n", online.stderr
        if not confined.offline:
            pytest.skip("the network cannot be cut off on this machine")
        offline = await run_confined(confined, rooms, f"bash -c '{script}'", network=False)
        assert offline.stdout == ""
        assert offline.returncode != 0


async def test_secrets_go_in_by_the_environment_and_never_on_the_command_line(confined, rooms):
    argv = confined.wrap(["true"], writable=[], readable=[], cwd=Path("/"))
    assert not {"--setenv", "--clearenv"} & set(argv)
    finished = await run_confined(confined, rooms, "env", TOKEN="sk-fake")
    assert "TOKEN=sk-fake" in finished.stdout.splitlines()


@linux_only
def test_auto_picks_bubblewrap_where_it_works(confined, monkeypatch):
    monkeypatch.setattr(bubblewrap, "find", lambda _network: [confined])
    assert choose("auto") is confined
    assert choose("bubblewrap") is confined
    assert confined.probe().works
    assert confined.name.startswith("bubblewrap ")


@linux_only
def test_auto_refuses_when_nothing_is_installed(monkeypatch):
    monkeypatch.setattr(bubblewrap, "find", lambda _network: [])
    with pytest.raises(Unavailable, match="bubblewrap is not installed") as caught:
        choose("auto")
    assert "install" in caught.value.hint
    assert 'replay.sandbox = "none"' in caught.value.hint


@linux_only
@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("bwrap: setting up uid map: Permission denied", "user namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "container"),
        ("bwrap: something new", "bwrap --ro-bind / / true"),
    ],
)
def test_a_sandbox_that_does_not_start_is_explained_and_never_skipped(tmp_path, monkeypatch, message, hint):
    program = tmp_path / "bwrap"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.9.9 && exit\necho "{message}" >&2\nexit 1\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(advice, "_switch", lambda _name: None)
    broken = Bubblewrap(program)
    probe = broken.probe()
    assert (probe.name, probe.works, probe.detail) == ("bubblewrap 0.9.9", False, message)
    assert hint in probe.hint
    monkeypatch.setattr(bubblewrap, "find", lambda _network: [broken])
    assert probe_all() == [probe]
    with pytest.raises(Unavailable, match=r"bubblewrap 0\.9\.9: bwrap: "):
        choose("auto")


@pytest.mark.parametrize(
    ("switch", "value", "hint"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
        ("kernel/unprivileged_userns_clone", "0", "unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "max_user_namespaces"),
    ],
)
def test_the_switches_of_the_system_are_named(monkeypatch, switch, value, hint):
    monkeypatch.setattr(advice, "_switch", lambda name: value if name == switch else None)
    assert hint in advice.explain("bwrap: No permissions to create new namespace")


def test_no_sandbox_is_had_only_by_asking_for_it(tmp_path):
    sandbox = choose("none")
    assert isinstance(sandbox, NoSandbox)
    assert sandbox.wrap(["a", "b"], writable=[], readable=[], cwd=tmp_path)[-3:] == ["--", "a", "b"]
    assert not sandbox.offline
    with pytest.raises(ReplayError, match="unknown sandbox"):
        choose("docker")


def test_other_systems_are_told_that_there_is_none_yet(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(Unavailable, match="win32"):
        choose("auto")


class Own:
    name = "the client's own"
    offline = filters = True

    def __init__(self, *, works: bool):
        self._works = works

    def probe(self):
        return Probe(name=self.name, works=self._works, detail="tried", hint="mend it")


def test_a_clients_own_sandbox_is_had_by_name_or_where_the_systems_does_not_work(monkeypatch):
    own = Own(works=True)
    assert choose("client", own=own) is own
    monkeypatch.setattr(bubblewrap, "find", lambda network: [])
    assert choose("auto", own=own) is own
    with pytest.raises(Unavailable, match="not installed"):
        choose("bubblewrap", own=own)


@pytest.mark.parametrize(
    ("own", "said"),
    [(Own(works=False), "does not work here: tried"), ("it has none", "it has none"), (None, "no client")],
    ids=["broken", "none", "no client"],
)
def test_without_a_clients_own_that_works_it_is_refused(own, said, monkeypatch):
    with pytest.raises(Unavailable, match=said) as caught:
        choose("client", own=own)
    assert 'replay.sandbox = "none"' in caught.value.hint
    monkeypatch.setattr(bubblewrap, "find", lambda network: [])
    with pytest.raises(Unavailable, match="not installed") as caught:
        choose("auto", own=own)
    assert own is None or said in caught.value.message
    assert "apt install bubblewrap" in caught.value.hint


def test_toolchains_come_first_on_the_path(tmp_path):
    (tmp_path / "cargo" / "bin").mkdir(parents=True)
    (tmp_path / "local" / "bin").mkdir(parents=True)
    chains = Toolchains((tmp_path / "cargo", tmp_path / "local" / "bin", tmp_path / "gone"))
    assert chains.path == f"{tmp_path}/cargo/bin:{tmp_path}/local/bin:{SYSTEM_PATH}"


def test_a_bubblewrap_in_the_present_folder_is_not_taken_where_the_path_leads_there(tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text("#!/bin/sh\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    found = [sandbox.binary for sandbox in bubblewrap.find()]
    assert all(binary.is_absolute() and tmp_path not in binary.parents for binary in found)
