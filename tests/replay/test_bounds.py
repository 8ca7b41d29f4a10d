"""What a run may use holds while it runs, and ends it when it is passed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from skillopt_replay import disk, held_files, process
from skillopt_replay.bounds import Bounds
from skillopt_replay.disk import DiskWatch, written_since
from skillopt_replay.folders import RUN_PREFIX, clear_leftovers, remove_tree
from skillopt_replay.held_files import held_open
from skillopt_replay.sandbox.none import NoSandbox
from tests.replay.test_process import is_gone

ENV = {"PATH": os.environ["PATH"]}
linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="orphans fall to us on Linux only"
)


async def run_bounded(tmp_path, script: str, **bounds):
    argv = NoSandbox().wrap([sys.executable, "-I", "-c", script], writable=[], readable=[], cwd=tmp_path)
    return await process.run(argv, cwd=tmp_path, env=ENV, seconds=30, bounds=Bounds(**bounds))


async def test_a_run_within_its_bounds_ends_by_itself(tmp_path):
    finished = await run_bounded(
        tmp_path, "print(1)", processes=10, memory_bytes=1 << 30, disk_bytes=1 << 20, folders=(tmp_path,)
    )
    assert (finished.returncode, finished.stdout, finished.excess) == (0, "1\n", None)


async def test_too_many_processes_end_the_run_and_all_of_them(tmp_path):
    script = """
import os, time
for number in range(20):
    if os.fork() == 0:
        os.setsid()
        open(f"pid-{os.getpid()}", "w").close()
        time.sleep(60)
        os._exit(0)
time.sleep(60)
"""
    finished = await run_bounded(tmp_path, script, processes=10)
    assert finished.excess == "more than 10 processes"
    assert not finished.timed_out
    pids = [int(path.name.partition("-")[2]) for path in tmp_path.glob("pid-*")]
    assert len(pids) > 5
    assert all(is_gone(pid) for pid in pids)


async def test_too_much_memory_of_the_tree_ends_the_run(tmp_path):
    script = """
import os, time
os.fork()
held = bytearray(os.urandom(1) * (120 << 20))
time.sleep(60)
"""
    finished = await run_bounded(tmp_path, script, memory_bytes=200_000_000)
    assert finished.excess == "more than 0.2 GB of memory"
    assert finished.returncode < 0


async def test_memory_that_processes_share_counts_once(tmp_path):
    script = """
import os, time
held = bytearray(b"x" * (60 << 20))
for _ in range(4):
    if os.fork() == 0:
        time.sleep(1.5)
        os._exit(0)
time.sleep(1.5)
"""
    finished = await run_bounded(tmp_path, script, memory_bytes=200_000_000)
    assert finished.excess is None


async def test_too_much_written_to_disk_ends_the_run(tmp_path):
    script = """
import time
for number in range(30):
    open(f"file-{number}", "wb").write(b"x" * 1_000_000)
time.sleep(60)
"""
    finished = await run_bounded(tmp_path, script, disk_bytes=20_000_000, folders=(tmp_path,))
    assert finished.excess == "more than 0.0 GB written to disk"


async def test_files_and_folders_take_room_however_empty_they_are(tmp_path):
    script = """
import os, time
for number in range(2_000):
    os.close(os.open(f"file-{number}", os.O_CREAT | os.O_WRONLY))
    os.mkdir(f"folder-{number}")
time.sleep(60)
"""
    finished = await run_bounded(tmp_path, script, disk_bytes=3_000_000, folders=(tmp_path,))
    assert finished.excess == "more than 0.0 GB written to disk"


async def test_while_files_without_end_are_counted_the_other_limits_hold(tmp_path, monkeypatch):
    let_go = threading.Event()
    monkeypatch.setattr("skillopt_replay.disk.written_since", lambda *_args, **_options: let_go.wait(30))
    try:
        finished = await asyncio.wait_for(
            run_bounded(
                tmp_path,
                "import subprocess, time\ntime.sleep(1)\n"
                "for _ in range(5): subprocess.Popen(['sleep', '60'])\ntime.sleep(60)",
                processes=4,
                disk_bytes=1 << 30,
                folders=(tmp_path,),
            ),
            25,
        )
    finally:
        let_go.set()
    assert finished.excess == "more than 4 processes"


def test_looks_that_take_long_are_not_so_seldom_that_what_is_left_is_used_up_unseen(tmp_path, monkeypatch):
    free = 100_000_000
    monkeypatch.setattr("skillopt_replay.disk._find_free", lambda _folders: free)
    watch = DiskWatch(Bounds(disk_bytes=1_000_000, folders=(tmp_path,)))
    (tmp_path / "first").write_bytes(os.urandom(400_000))
    assert watch.look() is None
    watch._next = time.monotonic() + 3600
    free -= 500_000
    assert not watch.is_due, "there is room for that"
    free -= 200_000
    assert watch.is_due
    assert watch.look() is None, "others wrote it"
    watch._next = time.monotonic() + 3600
    assert not watch.is_due, "it is not looked for again"


def test_what_is_written_after_the_clock_was_set_back_is_seen_by_what_the_disk_has_lost(
    tmp_path, monkeypatch
):
    free = 100_000_000
    monkeypatch.setattr("skillopt_replay.disk._find_free", lambda _folders: free)
    watch = DiskWatch(Bounds(disk_bytes=1_000_000, folders=(tmp_path,)))
    (tmp_path / "large").write_bytes(os.urandom(2_000_000))
    free -= 2_000_000
    watch._since += 3600  # it looks as old as after the clock was set back by an hour
    assert watch.look() is None
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() - 3600)
    assert watch.look() == "more than 0.0 GB written to disk"


@linux_only
@pytest.mark.parametrize(
    "holds",
    ["pass", "libc.mmap(None, ctypes.c_size_t(10_000_000), 1, 1, file, ctypes.c_long(0)); os.close(file)"],
)
async def test_files_that_were_removed_and_are_still_used_count(tmp_path, holds):
    script = f"""
import ctypes, os, time
libc = ctypes.CDLL(None)
for number in range(3):
    file = os.open("gone", os.O_CREAT | os.O_RDWR)
    for _ in range(10):
        os.write(file, bytes(1_000_000))
    os.unlink("gone")
    {holds}
time.sleep(60)
"""
    finished = await run_bounded(tmp_path, script, disk_bytes=20_000_000, folders=(tmp_path,))
    assert finished.excess == "more than 0.0 GB written to disk"
    seen = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert seen <= 10_000_000, "by itself, what can be seen would have been allowed"


@linux_only
@pytest.mark.parametrize(
    ("holds", "is_hidden"),
    [
        ("libc.mmap(None, ctypes.c_size_t(1), 1, 1, file, ctypes.c_long(0)); os.close(file)", True),
        ("socket.send_fds(near, [b'x'], [file]); os.close(file)", True),
        ("pass", False),
    ],
    ids=["mapped in part", "on its way", "open"],
)
async def test_what_a_removed_file_takes_and_nothing_tells_is_seen_by_what_the_disk_has_lost(
    tmp_path, holds, is_hidden, monkeypatch
):
    script = f"""
import ctypes, os, socket, time
libc = ctypes.CDLL(None)
near, far = socket.socketpair()
file = os.open("gone", os.O_CREAT | os.O_RDWR)
os.write(file, bytes(10_000_000))
os.unlink("gone")
{holds}
print(flush=True)
time.sleep(60)
"""
    free = iter([100_000_000, 85_000_000, 100_000_000, 95_000_000, 100_000_000, 85_000_000])
    monkeypatch.setattr(disk, "_find_free", lambda _: next(free))
    with subprocess.Popen([sys.executable, "-Ic", script], cwd=tmp_path, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout.read(1) == b"\n"
            few = Bounds(disk_bytes=12_000_000, folders=(tmp_path,))
            found = [DiskWatch(few).look(pids) for pids in ([running.pid], [running.pid], [os.getpid()])]
        finally:
            running.kill()
    assert found == ["more than 0.0 GB written to disk" if is_hidden else None, None, None]


@linux_only
async def test_files_that_a_confined_run_has_removed_and_still_uses_count(confined, tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    script = (
        "for n in 3 4 5; do eval exec $n'>gone'; rm gone; head -c 10000000 /dev/zero >&$n; done; sleep 60"
    )
    argv = confined.wrap(["/bin/bash", "-c", script], writable=[room], readable=[], cwd=room)
    bounds = Bounds(disk_bytes=20_000_000, folders=(room,))
    finished = await process.run(argv, cwd=room, env=ENV, seconds=30, bounds=bounds)
    assert finished.excess == "more than 0.0 GB written to disk", finished.stderr
    assert list(room.iterdir()) == []


@linux_only
def test_of_what_is_open_only_removed_files_beside_the_folders_count_and_each_once(tmp_path):
    with (tmp_path / "kept").open("wb") as kept, (tmp_path / "gone").open("wb") as gone:
        for file in (kept, gone):
            file.write(os.urandom(100_000))
            file.flush()
        assert held_open([os.getpid()], [tmp_path]) < 100_000
        (tmp_path / "gone").unlink()
        again = os.dup(gone.fileno())
        assert 100_000 <= held_open([os.getpid()], [tmp_path]) < 200_000
        assert held_open([os.getpid()], [Path("/proc")]) == 0
        assert held_open([], [tmp_path]) == 0
        os.close(again)


@linux_only
def test_what_a_thread_has_open_by_itself_counts_and_what_threads_share_is_looked_at_once(
    tmp_path, monkeypatch
):
    script = """
import ctypes, os, threading, time
def keep(number):
    if number == 0:
        ctypes.CDLL(None).unshare(0x400)
    file = os.open(f"gone-{number}", os.O_CREAT | os.O_RDWR)
    os.write(file, bytes(1_000_000))
    os.unlink(f"gone-{number}")
    opened.wait(20)
    time.sleep(60)
opened = threading.Barrier(10)
for number in range(9):
    threading.Thread(target=keep, args=(number,), daemon=True).start()
opened.wait(20)
print(flush=True)
time.sleep(60)
"""
    looked_into = []
    list_names = held_files._names
    monkeypatch.setattr(held_files, "_names", lambda folder: looked_into.append(folder) or list_names(folder))
    with subprocess.Popen([sys.executable, "-Ic", script], cwd=tmp_path, stdout=subprocess.PIPE) as running:
        try:
            assert running.stdout.read(1) == b"\n"
            held = held_open([running.pid], [tmp_path])
            tells = held_files._share_files(running.pid, running.pid)
        finally:
            running.kill()
    assert 9_000_000 <= held < 10_000_000
    tables = [folder for folder in looked_into if folder.endswith("/fd")]
    assert len(tables) == (2 if tells else 10)


@linux_only
@pytest.mark.parametrize("mode", [0o000, 0o400, 0o300])
def test_a_folder_that_stays_closed_to_us_is_counted_and_stays_closed(tmp_path, mode):
    outside, inside = tmp_path / "outside", tmp_path / "runs"
    for folder in (outside, inside / "shut" / "deep" / "shut"):
        folder.mkdir(parents=True)
        (folder / "large").write_bytes(os.urandom(300_000))
    (inside / "link").symlink_to(outside)
    for folder in (inside / "shut" / "deep" / "shut", inside / "shut", outside):
        folder.chmod(mode)
    # Root gets in everywhere, unless it has given that up.
    script = """
import ctypes, os, pathlib, sys
if len(sys.argv) == 2:
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"])
from skillopt_replay.bounds import Bounds
from skillopt_replay.disk import DiskWatch
watch = DiskWatch(Bounds(disk_bytes=200_000, folders=(pathlib.Path(sys.argv[1]),)))
watch._since = 0
print(watch.look(), "|", watch.look())
"""
    try:
        told = subprocess.run(
            [sys.executable, "-c", script, str(inside)], capture_output=True, text=True, check=True
        ).stdout
        assert told == "None | more than 0.0 GB written to disk\n"
        assert {(inside / "shut").stat().st_mode & 0o777, outside.stat().st_mode & 0o777} == {mode}
        if os.getuid() == 0:
            assert (inside / "shut/deep/shut").stat().st_mode & 0o777 == mode
    finally:
        for folder in (outside, inside / "shut", inside / "shut" / "deep" / "shut"):
            folder.chmod(0o700)


@linux_only
async def test_no_single_file_grows_beyond_the_bound_not_even_a_hole(tmp_path):
    script = """
import contextlib
import os
handle = os.open("huge", os.O_CREAT | os.O_WRONLY)
try:
    os.ftruncate(handle, 1 << 40)
except OSError as error:
    print(error.strerror)
"""
    finished = await run_bounded(tmp_path, script, disk_bytes=1 << 20)
    assert finished.stdout == "File too large\n"
    assert (tmp_path / "huge").stat().st_size == 0


class Entries(list):
    """What was in a folder before something was done to it."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@linux_only
def test_a_folder_that_becomes_a_link_while_we_look_leads_us_nowhere(tmp_path, monkeypatch):
    outside, inside = tmp_path / "outside", tmp_path / "runs"
    (outside / "deep").mkdir(parents=True)
    for place in (outside, outside / "deep"):
        (place / "large").write_bytes(os.urandom(300_000))
    for name in ("one/deep", "two/deep", "three/deep"):
        (inside / name).mkdir(parents=True)
    scan = os.scandir

    def scan_and_swap(folder):
        found = Entries(scan(folder))
        for name in ("one", "two", "three"):
            if not (inside / name).is_symlink():
                (inside / name).rename(inside / f"{name}-gone")
                (inside / name).symlink_to(outside)
        return found

    monkeypatch.setattr(os, "scandir", scan_and_swap)
    watch = DiskWatch(Bounds(disk_bytes=200_000, folders=(inside,)))
    watch._since = 0
    assert watch.look() is None
    assert written_since([inside], 0, 1 << 40) < 200_000


def test_only_what_was_written_since_counts_and_no_link_is_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    for folder in (outside, inside / "deep"):
        folder.mkdir(parents=True)
    (outside / "large").write_bytes(os.urandom(500_000))
    (inside / "old").write_bytes(os.urandom(300_000))
    time.sleep(0.1)
    since = time.time() - 0.05
    (inside / "deep" / "new").write_bytes(os.urandom(100_000))
    (inside / "link").symlink_to(outside)
    with (inside / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    os.utime(inside / "deep" / "new", (0, 0))
    assert 100_000 <= written_since([inside], since, 1 << 40) < 250_000
    assert written_since([tmp_path / "gone"], since, 1 << 40) == 0


@linux_only
def test_when_we_are_killed_the_run_ends_with_all_it_started(tmp_path):
    inner = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n"
        "    open('daemon', 'w').write(str(os.getpid())); time.sleep(60); os._exit(0)\n"
        "open('main', 'w').write(str(os.getpid())); time.sleep(60)\n"
    )
    outer = f"""
import asyncio, os, pathlib
from skillopt_replay import disk, held_files, process
from skillopt_replay.sandbox.none import NoSandbox
here = pathlib.Path({str(tmp_path)!r})
argv = NoSandbox().wrap([{sys.executable!r}, "-I", "-c", {inner!r}], writable=[], readable=[], cwd=here)
asyncio.run(process.run(argv, cwd=here, env={{"PATH": os.environ["PATH"]}}, seconds=60))
"""
    ours = subprocess.Popen([sys.executable, "-c", outer], cwd=tmp_path)
    deadline = time.monotonic() + 20
    while not all(
        (tmp_path / name).exists() and (tmp_path / name).read_text() for name in ("daemon", "main")
    ):
        assert time.monotonic() < deadline, "the run never began"
        time.sleep(0.02)
    os.kill(ours.pid, signal.SIGKILL)
    ours.wait()
    assert is_gone(int((tmp_path / "main").read_text()))
    assert is_gone(int((tmp_path / "daemon").read_text()))


@linux_only
async def test_a_daemon_of_an_unconfined_run_ends_with_it(tmp_path):
    script = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    open("daemon", "w").write(str(os.getpid()))
    time.sleep(60)
while not os.path.exists("daemon") or not open("daemon").read():
    time.sleep(0.01)
"""
    finished = await run_bounded(tmp_path, script)
    assert finished.returncode == 0, finished.stderr
    assert is_gone(int((tmp_path / "daemon").read_text()))


async def test_the_end_of_an_unconfined_program_is_told_as_it_was(tmp_path):
    sandbox = NoSandbox()
    for script, code in (("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9)):
        argv = sandbox.wrap(["/bin/sh", "-c", script], writable=[], readable=[], cwd=tmp_path)
        assert (await process.run(argv, cwd=tmp_path, env=ENV, seconds=10)).returncode == code
    argv = sandbox.wrap(["/nonexistent/program"], writable=[], readable=[], cwd=tmp_path)
    finished = await process.run(argv, cwd=tmp_path, env=ENV, seconds=10)
    assert (finished.returncode, "does not start" in finished.stderr) == (127, True)


@pytest.mark.parametrize("name", ["d", "d" * 200], ids=["short", "long"])
def test_folders_nested_too_deep_to_be_counted_are_an_excess(tmp_path, name):
    nest(tmp_path / "inside", name, 4_200)
    watch = DiskWatch(Bounds(disk_bytes=1 << 30, folders=(tmp_path,)))
    try:
        assert watch.look() == "folders nested deeper than a path can name"
    finally:
        remove_tree(tmp_path / "inside")
    assert not (tmp_path / "inside").exists()
    assert watch.look() is None


def test_what_a_run_nested_without_end_is_removed_with_the_leftovers_and_links_are_not_followed(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    runs = tmp_path / "runs"
    nest(runs / f"{RUN_PREFIX}x", "d", 1_500)
    (runs / f"{RUN_PREFIX}x" / "d" / "out").symlink_to(tmp_path / "outside")
    (runs / f"{RUN_PREFIX}x" / "d").chmod(0o500)
    assert clear_leftovers(runs, older_than=-1.0) == 1
    assert list(runs.iterdir()) == []
    assert (tmp_path / "outside" / "kept").read_text() == "kept"


def nest(root: Path, name: str, depth: int) -> None:
    """Make folders in folders, and a file in the last one."""
    root.mkdir(parents=True)
    code = "import os, sys\nos.chdir(sys.argv[1])\nfor _ in range(int(sys.argv[3])):\n"
    code += " os.mkdir(sys.argv[2])\n os.chdir(sys.argv[2])\nopen('f', 'w').write('x')"
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(root), name, str(depth)], check=True)
