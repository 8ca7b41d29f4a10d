"""The watcher notices what happens to folders, and is quiet while nothing does."""

from __future__ import annotations

import ctypes
import errno
import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from skillopt_sleep.cli.watch import ended_by_signals
from skillopt_sleep.watching import Batch, Root, Timing, Watcher
from skillopt_sleep.watching.places import find_remote, make_plan

SOON = Timing(quiet_s=0.05, longest_s=0.5)
LONG_S = 30.0
linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


class Seen:
    """Batches of a watcher, taken by a thread of its own as the daemon would."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self._queue: queue.Queue[Batch | None] = queue.Queue()
        self.look: Callable[[Batch], None] = lambda _: None
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        for batch in self.watcher.batches():
            self.look(batch)
            self._queue.put(batch)
        self._queue.put(None)

    def next(self) -> Batch | None:
        return self._queue.get(timeout=LONG_S)

    def until(self, path: Path | str) -> Batch:
        """Take batches until one that names the path."""
        while (batch := self.next()) is not None:
            if batch.path == str(path):
                return batch
        raise AssertionError("the watcher ended")

    def nothing_for(self, seconds: float) -> bool:
        try:
            batch = self._queue.get(timeout=seconds)
        except queue.Empty:
            return True
        raise AssertionError(f"there was {batch}")


def as_root(path: Path) -> Root:
    """Return a root in which all JSONL files matter."""

    def files() -> Iterator[tuple[Path, object]]:
        for file in [path] if path.is_file() else sorted(path.rglob("*.jsonl")):
            yield file, (file.stat().st_size, file.stat().st_mtime_ns)

    return Root(path, files)


@contextmanager
def watching(*roots: Path, timing: Timing = SOON, **options) -> Iterator[Seen]:
    with Watcher(lambda: map(as_root, roots), timing=timing, **options) as watcher:
        seen = Seen(watcher)
        seen.thread.start()
        try:
            first = seen.next()
            assert first is not None
            assert first.reason == "start"
            yield seen
        finally:
            watcher.stop()
            seen.thread.join(LONG_S)
            assert not seen.thread.is_alive()


def test_a_file_that_grows_is_noticed(tmp_path: Path):
    path = tmp_path / "r" / "deep" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("1\n")
    with watching(tmp_path / "r") as seen:
        with path.open("a") as file:
            file.write("2\n")
        assert seen.until(path).reason == "change"
        (path.parent / "b").mkdir()
        new = path.parent / "b" / "c.jsonl"
        new.write_text("1\n")
        seen.until(new)
        with new.open("a") as file:
            file.write("2\n")
        seen.until(new)
        path.unlink()
        seen.until(path)


def test_many_changes_make_one_batch_and_a_steady_stream_is_not_waited_out(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text("")
    with watching(tmp_path, timing=Timing(quiet_s=0.3, longest_s=60)) as seen:
        for _ in range(50):
            with path.open("a") as file:
                file.write("x\n")
        assert seen.until(path).changes >= 1
        assert seen.nothing_for(0.5)
    with watching(tmp_path, timing=Timing(quiet_s=60, longest_s=0.3)) as seen:
        path.write_text("x")
        assert seen.until(path).reason == "change"


def test_reading_the_files_is_no_change(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text("x")
    with watching(tmp_path) as seen:
        for _ in range(3):
            assert path.read_text() == "x"
            assert [p.name for p in tmp_path.iterdir() if p.name == path.name] == [path.name]
        (tmp_path / "store.db-shm").write_text("what a reader of a database leaves")
        assert seen.nothing_for(0.6)


def test_what_changes_while_one_looks_leads_to_another_look(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text("")
    with watching(tmp_path) as seen:
        looks: list[str] = []

        def look(batch: Batch) -> None:
            looks.append(batch.path)
            if len(looks) == 1:
                path.write_text("during the look")

        seen.look = look
        path.write_text("before")
        assert seen.until(path)
        assert seen.until(path)


def test_a_missing_root_is_noticed_when_it_appears_however_deep(tmp_path: Path):
    root = tmp_path / "home" / ".agent" / "sessions" / "2026"
    with watching(root) as seen:
        (tmp_path / "home" / "unrelated.txt").write_text("x")
        assert seen.nothing_for(0.4)
        root.mkdir(parents=True)
        assert seen.next() is not None
        write_until_noticed(seen, root / "a.jsonl")


def test_a_root_that_is_deleted_and_made_again_is_watched_again(tmp_path: Path):
    root = tmp_path / ".agent" / "sessions"
    path = root / "a.jsonl"
    with watching(root) as seen:
        for _ in range(3):
            root.mkdir(parents=True)
            path.write_text("x")
            seen.next()
            write_until_noticed(seen, path)
            shutil.rmtree(root.parent)
            seen.next()


def test_a_root_that_was_moved_away_and_replaced_is_watched_where_it_is_now(tmp_path: Path):
    root = tmp_path / "sessions"
    root.mkdir()
    with watching(root) as seen:
        root.rename(tmp_path / "old")
        seen.next()
        root.mkdir()
        seen.next()
        write_until_noticed(seen, root / "a.jsonl")


def test_a_root_that_is_a_link_is_watched_and_so_is_what_it_is_turned_to(tmp_path: Path):
    first, second, root = tmp_path / "first", tmp_path / "second", tmp_path / "sessions"
    for folder in (first, second):
        folder.mkdir()
    root.symlink_to(first)
    with watching(root) as seen:
        write_until_noticed(seen, first / "a.jsonl")
        root.unlink()
        root.symlink_to(second)
        seen.next()
        write_until_noticed(seen, second / "b.jsonl")


def test_a_link_that_leads_nowhere_yet_is_followed_once_it_does(tmp_path: Path):
    root = tmp_path / "sessions"
    root.symlink_to(tmp_path / "later" / "on")
    with watching(root) as seen:
        (tmp_path / "later" / "on").mkdir(parents=True)
        seen.next()
        write_until_noticed(seen, tmp_path / "later" / "on" / "a.jsonl")


def test_folders_that_links_inside_a_root_lead_to_are_watched(tmp_path: Path):
    root, elsewhere, later = tmp_path / "sessions", tmp_path / "elsewhere", tmp_path / "later"
    for folder in (root, elsewhere, later):
        folder.mkdir()
    (root / "link").symlink_to(elsewhere)
    (root / "loop").symlink_to(root)
    with watching(root) as seen:
        write_until_noticed(seen, elsewhere / "a.jsonl")
        (root / "new").symlink_to(later)
        seen.next()
        write_until_noticed(seen, later / "b.jsonl")


def write_until_noticed(seen: Seen, path: Path) -> None:
    """Write to a file that is, or very soon will be, watched."""
    while True:
        with path.open("a") as file:
            file.write("x")
        batch = seen.next()
        assert batch is not None
        if batch.path == str(path):
            return


def test_looks_in_vain_are_made_less_often(tmp_path: Path):
    path = tmp_path / "noise.log"
    with watching(tmp_path, timing=Timing(quiet_s=0.05, longest_s=600)) as seen:
        for _ in range(20):
            seen.watcher.tell_news(found=False)
        path.write_text("x")
        assert seen.nothing_for(0.5)
        seen.watcher.tell_news(found=True)
        path.write_text("x")
        seen.watcher.ask_again(0)
        assert seen.next() is not None
        path.write_text("x")
        seen.until(path)


def test_one_can_ask_for_a_look_though_nothing_changes(tmp_path: Path):
    with watching(tmp_path) as seen:
        seen.watcher.ask_again(0.01)
        batch = seen.next()
        assert batch is not None
        assert (batch.reason, batch.changes) == ("again", 0)


def test_everything_is_looked_at_now_and_then_and_the_watches_are_renewed(tmp_path: Path):
    with watching(tmp_path, timing=Timing(sweep_s=0.2)) as seen:
        for _ in range(3):
            batch = seen.next()
            assert batch is not None
            assert batch.reason == "sweep"


def test_polling_needs_no_watches_and_reports_only_what_changed(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "watchdog.observers", None)
    monkeypatch.delitem(sys.modules, "skillopt_sleep.watching.observing", raising=False)
    path = tmp_path / "r" / "a.jsonl"
    with watching(tmp_path / "r", timing=Timing(poll_s=0.05), poll=True) as seen:
        assert seen.nothing_for(0.3)
        path.parent.mkdir()
        for change in (path.touch, lambda: path.write_text("x"), path.unlink):
            change()
            batch = seen.next()
            assert batch is not None
            assert batch.reason == "poll"
        assert seen.nothing_for(0.3)


def test_what_a_poll_passes_over_does_not_hide_a_change(tmp_path: Path):
    far, near = tmp_path / "far", tmp_path / "near"
    near.mkdir()
    for number in range(300):
        (far / str(number)).mkdir(parents=True)
    with watching(far, near, timing=Timing(quiet_s=0.5, longest_s=5, poll_s=0.02)) as seen:
        for _ in range(3):
            write_until_noticed(seen, near / "a.jsonl")


def test_a_folder_that_holds_much_else_is_looked_at_instead(tmp_path: Path):
    crowd, rich = tmp_path / "crowd", tmp_path / "rich"
    for number in range(300):
        (crowd / str(number)).mkdir(parents=True)
        (rich / str(number)).mkdir(parents=True)
        (rich / str(number) / "a.jsonl").touch()
    plan = make_plan(map(as_root, [crowd, rich]))
    assert (plan.trees, plan.crowded) == ((str(rich),), (str(crowd),))
    with watching(crowd, timing=Timing(quiet_s=0.01, poll_s=0.1)) as seen:
        (crowd / "noise.txt").write_text("x")
        assert seen.nothing_for(0.4)
        (crowd / "7" / "a.jsonl").write_text("x")
        assert seen.next().reason == "poll"


def test_a_root_may_be_a_single_file_that_other_files_lie_beside(tmp_path: Path):
    path = tmp_path / "sessions.db"
    with watching(path) as seen:
        path.write_text("x")
        seen.until(path)
        for other in (tmp_path / "other.db", tmp_path / "sessions.db-shm"):
            other.write_text("x")
        assert seen.nothing_for(0.4)
        write_until_noticed(seen, tmp_path / "sessions.db-wal")
        write_until_noticed(seen, path)


@linux
@pytest.mark.parametrize(("left", "reason"), [(0, "max_user_watches"), (3, "max_user_watches")])
def test_without_watches_left_one_polls_and_says_so_once(tmp_path: Path, monkeypatch, left: int, reason: str):
    """The kernel refuses further watches, also for folders of whose failure the library says nothing."""
    from watchdog.observers import inotify_c

    for name in "abcdef":
        (tmp_path / "r" / name).mkdir(parents=True)
    granted = inotify_c.inotify_add_watch
    given: list[int] = []

    def add_watch(descriptor: int, path: bytes, mask: int) -> int:
        if len(given) >= left:
            ctypes.set_errno(errno.ENOSPC)
            return -1
        given.append(granted(descriptor, path, mask))
        return given[-1]

    monkeypatch.setattr(inotify_c, "inotify_add_watch", add_watch)
    told: list[str] = []
    timing = Timing(poll_s=0.05, sweep_s=0.2)
    with watching(tmp_path / "r", timing=timing, notice=told.append) as seen:
        reasons = set()
        while reasons != {"poll", "sweep"}:
            with (tmp_path / "r" / "a" / "b.jsonl").open("a") as file:
                file.write("x")
            reasons.add(seen.next().reason)
        monkeypatch.setattr(inotify_c, "inotify_add_watch", granted)
        path = tmp_path / "r" / "f" / "a.jsonl"
        write_until_noticed(seen, path)
    assert len(told) == 1
    assert reason in told[0]
    assert "looking every 0.05 s" in told[0]


@linux
def test_without_room_for_another_watcher_one_polls(tmp_path: Path, monkeypatch):
    from watchdog.observers import inotify_c

    def refuse() -> int:
        ctypes.set_errno(errno.EMFILE)
        return -1

    monkeypatch.setattr(inotify_c, "inotify_init", refuse)
    told: list[str] = []
    with watching(tmp_path, timing=Timing(poll_s=0.05), notice=told.append) as seen:
        (tmp_path / "a.jsonl").write_text("x")
        assert seen.next().reason == "poll"
    assert "max_user_instances" in told[0]


def test_a_network_file_system_is_polled_and_the_rest_is_watched(tmp_path: Path, monkeypatch):
    far, near = tmp_path / "far", tmp_path / "near"
    for folder in (far / "sessions", near):
        folder.mkdir(parents=True)

    def mounts(all: bool) -> list:  # noqa: A002
        assert all
        kinds = [("/", "ext4"), (str(far), "nfs4")]
        return [type("Part", (), {"mountpoint": point, "fstype": kind}) for point, kind in kinds]

    monkeypatch.setattr(psutil, "disk_partitions", mounts)
    plan = make_plan(map(as_root, [far / "sessions", near]))
    assert plan.remote == ((str(far / "sessions"), "nfs4"),)
    assert plan.trees == (str(near),)
    told: list[str] = []
    timing = Timing(quiet_s=0.01, poll_s=0.1)
    with watching(far / "sessions", near, timing=timing, notice=told.append) as seen:
        assert seen.nothing_for(0.4)
        (far / "sessions" / "a.jsonl").write_text("x")
        assert seen.next().reason == "poll"
        write_until_noticed(seen, near / "a.jsonl")
    assert len(told) == 1
    assert "sessions lies on nfs4" in told[0]


@pytest.mark.parametrize(
    ("mounts", "system"),
    [
        ({"/": "ext4"}, ""),
        ({"/": "nfs"}, "nfs"),
        ({"/": "nfs", "/home": "ext4"}, ""),
        ({"/": "ext4", "/home": "fuse.sshfs"}, "fuse.sshfs"),
        ({"/": "ext4", "/home": "fuse.gocryptfs"}, ""),
        ({"/": "ext4", "/home": "fuseblk"}, ""),
        ({"/": "ext4", "/home/sam": "9p", "/home/sammy": "xfs"}, "9p"),
        ({}, ""),
    ],
)
def test_the_nearest_mount_decides(mounts: dict[str, str], system: str):
    assert find_remote("/home/sam/.claude", mounts) == system


def test_no_folder_is_watched_twice(tmp_path: Path):
    outer, inner = tmp_path / "r", tmp_path / "r" / "inner"
    inner.mkdir(parents=True)
    plan = make_plan(map(as_root, [inner, outer, outer, tmp_path / "r" / "missing"]))
    assert plan.trees == (str(outer),)
    doors = {door.folder: door.names for door in plan.doors}
    assert str(outer) not in doors
    assert doors[str(tmp_path)] == ("r",)


def test_a_watcher_that_is_stopped_leaves_no_thread_and_no_descriptor(tmp_path: Path):
    process = psutil.Process()
    with watching(tmp_path):
        pass
    threads, files = threading.active_count(), process.num_fds() if sys.platform != "win32" else 0
    for _ in range(5):
        with watching(tmp_path, tmp_path / "missing"):
            pass
    assert threading.active_count() == threads
    assert process.num_fds() == files


def test_an_interrupt_that_python_drops_ends_the_watch_all_the_same(tmp_path: Path):
    watcher = Watcher(lambda: [as_root(tmp_path)], timing=SOON)
    looks = 0
    with ended_by_signals(watcher), watcher:
        for _ in watcher.batches():
            looks += 1
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    assert looks == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_watch_that_waits_ends_at_a_signal_without_being_interrupted(
    tmp_path: Path, number: signal.Signals
):
    before = signal.getsignal(number)
    watcher = Watcher(lambda: [as_root(tmp_path)], timing=SOON)
    looks = 0
    sender = threading.Timer(0.3, os.kill, (os.getpid(), number))
    with ended_by_signals(watcher), watcher:
        sender.start()
        for _ in watcher.batches():
            looks += 1
    sender.join()
    assert looks == 1
    assert signal.getsignal(number) == before
