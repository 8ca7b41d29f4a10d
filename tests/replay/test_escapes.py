"""What a hostile run tries: to write, read, reach, outlive or leave something where it may not.

Everything outside that it could hit is planted: temporary folders, sockets and servers of the test's own.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from skillopt_replay import process
from skillopt_replay.baseline import show_changes
from skillopt_replay.bounds import Bounds
from skillopt_replay.checks import evaluate
from skillopt_replay.errors import ReplayError
from skillopt_replay.launchpad import Launchpad
from skillopt_replay.sandbox import SYSTEM_PATH, Endpoint, Toolchains, bubblewrap, keep_from_runs
from skillopt_replay.sandbox.folders import show_program
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.setup import Setup, prepare_with
from skillopt_replay.tasks import CommandSucceeds, FileContains
from skillopt_replay.templates import Templates
from skillopt_replay.workspace import prepare

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is for Linux")

SECRET = "the-planted-secret"
PYTHON = "/usr/bin/python3"
BEAT = f"beat-{os.getpid()}"  # found among the processes of the machine, where others may run tests as well
needs_python = pytest.mark.skipif(not Path(PYTHON).exists(), reason="the system has no Python of its own")


class Service:
    """A server on the loopback that answers with a word and counts who came."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.visits = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                self.visits += 1
                connection.sendall(self.word.encode())

    def close(self) -> None:
        # Closing alone does not wake the thread that waits in accept.
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def service():
    opened = []

    def start(word: str) -> Service:
        opened.append(Service(word))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture
def outside(tmp_path, private_home):
    """What a run must not get at: a home with sign-ins, hidden checks, another project."""
    for name in (
        "home/.ssh/id_ed25519", "home/.git-credentials", "home/.claude/.credentials.json",
        "home/.netrc", "checks/answer.txt", "other/project/file.txt",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    (tmp_path / "runs" / "workspace").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def escape(confined, outside):
    """Runs a script confined, started as an executor starts its runs."""
    pad = Launchpad()

    async def run(script: str, *, reach=(), seconds: float = 20.0, bounds: Bounds | None = None, **more):
        workspace = outside / "runs" / "workspace"
        argv = confined.wrap(
            ["/bin/bash", "-c", script],
            writable=[workspace],
            readable=more.pop("readable", []),
            cwd=workspace,
            reach=reach,
        )
        env = {"PATH": SYSTEM_PATH, "HOME": str(workspace), "OUT": str(outside), **more}
        with pad.used():
            return await process.run(argv, cwd=workspace, env=env, seconds=seconds, bounds=bounds or Bounds())

    yield run
    pad.close()


@pytest.mark.parametrize(
    "place", ["$OUT/stray", "$OUT/home/.bashrc", "$OUT/checks/answer.txt", "$OUT/runs/stray", "../stray"]
)
async def test_writing_outside(escape, outside, place):
    before = sorted(str(path) for path in outside.rglob("*"))
    await escape(f"mkdir -p $(dirname {place}); echo {SECRET}-x > {place}; echo x > /tmp/stray-$$; ls /tmp")
    assert sorted(str(path) for path in outside.rglob("*")) == before
    assert (outside / "checks/answer.txt").read_text() == SECRET
    assert not list(Path("/tmp").glob("stray-*"))


@pytest.mark.parametrize(
    "script",
    [
        "cat $OUT/home/.ssh/id_ed25519 $OUT/home/.git-credentials $OUT/home/.claude/.credentials.json",
        "cat ~/.git-credentials ~/.netrc /root/.ssh/* /home/*/.ssh/* /etc/shadow /etc/gshadow",
        "cat $OUT/checks/answer.txt ../../checks/answer.txt",
        "grep -r the-planted / --include='*' -s --exclude-dir=proc --exclude-dir=usr --exclude-dir=opt",
        "for p in /proc/[0-9]*; do cat $p/root$OUT/checks/answer.txt $p/cwd/../../checks/answer.txt; done",
        "ln -s $OUT/home h && cat h/.netrc; ln $OUT/home/.netrc hard && cat hard",
        "cat /proc/self/root$OUT/home/.netrc /proc/self/cwd/../../home/.netrc",
        "mkdir m; mount --bind $OUT m; mount -t tmpfs x m; umount -l /tmp; umount /proc; cat m/*/*",
        "unshare -Urm sh -c 'mount --bind / /mnt; cat /mnt/$OUT/home/.netrc'; chroot / cat $OUT/home/.netrc",
        "cat /proc/1/environ /proc/*/environ | tr '\\0' '\\n' | grep -i -e SECRET -e TOKEN",
        "mknod disk b 254 0 && cat disk; mknod mem c 1 1 && head -c 100 mem; ls /dev/vd* /dev/sd* /dev/mem",
    ],
)
async def test_reading_what_is_the_users(escape, outside, monkeypatch, script):
    monkeypatch.setenv("OUR_TOKEN", SECRET)
    finished = await escape(script)
    assert SECRET not in finished.stdout
    assert SECRET not in finished.stderr
    assert not any(path.is_block_device() or path.is_char_device() for path in outside.rglob("*"))


async def test_reaching_another_port_the_internet_or_a_name(escape, service):
    model, mail = service("model"), service("private")
    script = f"""
        go() {{ timeout 5 bash -c "exec 3<>/dev/tcp/$1/$2 && cat <&3"; }}
        go 127.0.0.1 {model.port}; go localhost {model.port}
        go 127.0.0.1 {mail.port}; go ::1 {mail.port}; go localhost {mail.port}; go 127.1.2.3 {mail.port}
        go 192.0.2.2 80; go 198.51.100.7 443; go 169.254.169.254 80; go example.com 443
        [ -x /sbin/ip ] && ip link add dummy0 type dummy
        cat /proc/net/route /proc/net/dev | grep -c -e eth -e en
    """
    finished = await escape(script, reach=[Endpoint("127.0.0.1", model.port)])
    assert finished.stdout.split() == ["modelmodel0"], finished.stderr
    assert (model.visits, mail.visits) == (2, 0)


async def test_what_listens_inside_leads_to_its_own_service_only(escape, service):
    first, second = service("first"), service("second")
    reach = [Endpoint("127.0.0.1", first.port), Endpoint("localhost", second.port), Endpoint("model.invalid")]
    script = f"""
        for p in {first.port} {second.port}; do exec 3<>/dev/tcp/127.0.0.1/$p; cat <&3; echo; done
        grep -c invalid /etc/hosts; echo '127.0.64.9 evil' >> /etc/hosts
        timeout 5 bash -c 'exec 3<>/dev/tcp/model.invalid/443; cat <&3'
        timeout 5 bash -c 'exec 3<>/dev/tcp/model.invalid/80'
    """
    finished = await escape(script, reach=reach)
    assert finished.stdout.split() == ["first", "second", "1"]
    assert "model.invalid:443 cannot be reached" in finished.stderr


async def test_a_run_without_any_service_has_no_network_at_all(escape, service):
    mail = service("private")
    finished = await escape(f"exec 3<>/dev/tcp/127.0.0.1/{mail.port} && cat <&3", reach=())
    assert finished.stdout == ""
    assert mail.visits == 0


@needs_python
@pytest.mark.parametrize("reaches", [True, False], ids=["a-run", "a-check"])
async def test_sockets_that_no_network_of_its_own_holds(escape, service, reaches):
    """Those of virtual machines (40) lead to the host; io_uring (425) opens sockets without such calls."""
    script = f"""{PYTHON} - <<'END'
import ctypes, socket
for family in (40, 38, 17, 31, 1, 2, 10, 16):
    try:
        socket.socket(family, socket.SOCK_STREAM if family not in (16, 38, 17) else socket.SOCK_RAW).close()
        print(family, "opened")
    except OSError as error:
        print(family, error.errno)
libc = ctypes.CDLL(None, use_errno=True)
print("io_uring", libc.syscall(425, 8, 0), ctypes.get_errno())
END"""
    reach = (Endpoint("127.0.0.1", service("x").port),) if reaches else ()
    finished = await escape(script, reach=reach)
    assert finished.stdout.splitlines() == [
        *(f"{family} 97" for family in (40, 38, 17, 31)),
        *(f"{family} opened" for family in (1, 2, 10, 16)),
        "io_uring -1 38",
    ], finished.stderr


@needs_python
async def test_sockets_of_ssh_gpg_and_desktop_agents(escape, outside, monkeypatch, private_home):
    agents = {
        "path": str(outside / "home/.ssh/agent.sock"),
        "gpg": str(outside / "home/.gnupg-S.gpg-agent"),
        "abstract": f"\0skillopt-test-{os.getpid()}",
    }
    servers = []
    for name in agents.values():
        server = socket.socket(socket.AF_UNIX)
        monkeypatch.chdir(outside)
        server.bind(name if name.startswith("\0") else os.path.relpath(name))
        server.listen()
        servers.append(server)
    monkeypatch.setenv("SSH_AUTH_SOCK", agents["path"])
    code = f"""
import os, socket
for name in {list(agents.values())!r}:
    try:
        socket.socket(socket.AF_UNIX).connect(name)
        print("ESCAPED")
    except OSError as error:
        print(error.strerror)
print(os.environ.get("SSH_AUTH_SOCK"))
"""
    (outside / "runs/workspace/try.py").write_text(code)
    finished = await escape(f"{PYTHON} try.py")
    assert "ESCAPED" not in finished.stdout
    assert finished.stdout.split("\n")[3] == "None", finished
    for server in servers:
        server.close()


async def test_the_users_git_and_its_credentials(escape, outside, private_home):
    (private_home / ".gitconfig").write_text(
        f"[credential]\n\thelper = !touch {outside}/helper-ran; echo password={SECRET}\n"
    )
    script = (
        "git config --global --list; git config --system --list; printf 'protocol=https\\nhost=x\\n\\n'"
        " | GIT_TERMINAL_PROMPT=0 git credential fill; ls ~/.git-credentials"
    )
    finished = await escape(script)
    assert SECRET not in finished.stdout + finished.stderr
    assert not (outside / "helper-ran").exists()


@pytest.mark.parametrize(
    "start",
    [
        "({loop}) &",
        "nohup bash -c '{loop}' > /dev/null 2>&1 &",
        "setsid bash -c '{loop}' > /dev/null 2>&1 < /dev/null &",
        "(setsid bash -c '(setsid bash -c \"{loop}\" &)' > /dev/null 2>&1 < /dev/null &)",
        "trap '' TERM HUP INT; ({loop}) & disown",
    ],
    ids=["background", "nohup", "setsid", "double fork", "deaf to signals"],
)
@pytest.mark.parametrize("end", ["by itself", "out of time"])
async def test_outliving_the_run(escape, outside, start, end):
    loop = f"while :; do echo > {BEAT}; sleep 0.05; done"
    waits, seconds = ("sleep 0.4", 20.0) if end == "by itself" else ("sleep 60", 1.0)
    finished = await escape(
        f"{start.format(loop=loop)}\n{waits}", seconds=seconds, reach=[Endpoint("model.invalid")]
    )
    assert finished.timed_out is (end == "out of time")
    beat = outside / "runs/workspace" / BEAT
    last = beat.stat().st_mtime_ns
    threading.Event().wait(0.3)
    assert beat.stat().st_mtime_ns == last
    assert not [p for p in psutil.process_iter(["cmdline"]) if BEAT in " ".join(p.info["cmdline"] or ())]


async def test_outliving_us_when_we_are_killed(confined, outside):
    workspace = outside / "runs" / "workspace"
    ours = f"""
import asyncio, pathlib, sys
from skillopt_replay import process
from skillopt_replay.sandbox import Endpoint, SYSTEM_PATH
from skillopt_replay.sandbox.bubblewrap import Bubblewrap
here = pathlib.Path({str(workspace)!r})
argv = Bubblewrap(pathlib.Path({str(confined.binary)!r})).wrap(
    ["/bin/bash", "-c", "(setsid bash -c 'while :; do echo > {BEAT}; sleep 0.05; done' &) ; sleep 60"],
    writable=[here], readable=[], cwd=here, reach=REACH)
asyncio.run(process.run(argv, cwd=here, env={{"PATH": SYSTEM_PATH}}, seconds=60))
"""
    beat = workspace / BEAT
    for reach in ("()", '[Endpoint("model.invalid")]', "None"):
        beat.unlink(missing_ok=True)
        parent = subprocess.Popen([sys.executable, "-c", ours.replace("REACH", reach)])
        deadline = time.monotonic() + 20
        while not beat.exists():
            assert time.monotonic() < deadline, "the run never began"
            time.sleep(0.02)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + 10
        while [p for p in psutil.process_iter(["cmdline"]) if BEAT in " ".join(p.info["cmdline"] or ())]:
            assert time.monotonic() < deadline, reach
            time.sleep(0.02)


@needs_python
async def test_touching_our_own_process(escape, outside):
    victim = subprocess.Popen([sys.executable, "-I", "-c", "import time; time.sleep(60)"])
    code = f"""
import ctypes, os, signal
for pid in ({victim.pid}, {os.getpid()}):
    for name, action in (
        ("signal", lambda: os.kill(pid, signal.SIGKILL)),
        ("memory", lambda: open(f"/proc/{{pid}}/mem", "r+b")),
        ("trace", lambda: ctypes.CDLL(None).ptrace(16, pid, 0, 0) == 0 or 1 / 0),
        ("namespace", lambda: ctypes.CDLL(None).setns(os.open(f"/proc/{{pid}}/ns/mnt", 0), 0) == 0 or 1 / 0),
        ("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19)),
    ):
        try:
            action()
            print("ESCAPED", name, pid)
        except (OSError, ZeroDivisionError):
            pass
print("tried")
"""
    (outside / "runs/workspace/try.py").write_text(code)
    finished = await escape(f"{PYTHON} try.py", reach=[Endpoint("model.invalid")])
    assert finished.stdout == "tried\n", finished.stderr
    assert victim.poll() is None
    victim.kill()
    victim.wait()


@needs_python
async def test_taking_the_first_process_over(escape, outside):
    """It is bwrap, started outside: made to fork, it leaves a link to its file on the machine."""
    code = """
import ctypes, os, time
library = ctypes.CDLL(None, use_errno=True)
for call in (library.ptrace, library.process_vm_readv, library.process_vm_writev):
    call.restype = ctypes.c_long
child = os.fork()
if not child:
    time.sleep(60)
held = ctypes.create_string_buffer(16)
class Part(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]
part = Part(ctypes.addressof(held), 16)
one = ctypes.byref(part)
for pid in (1, child):
    for call in (library.process_vm_readv, library.process_vm_writev):
        print(call(pid, one, 1, one, 1, 0), end=" ")
    print(library.ptrace(16, pid, None, None), end=" ")
    print(library.ptrace(0x4206, pid, None, None))
os.kill(child, 9)
"""
    (outside / "runs/workspace/try.py").write_text(code)
    for reach in ((), [Endpoint("model.invalid")]):
        finished = await escape(f"{PYTHON} try.py", reach=reach)
        assert finished.stdout.splitlines() == ["-1 -1 -1 -1", "16 16 0 -1"], finished


async def test_what_belongs_to_the_machine_though_it_is_seen_inside(escape, confined):
    """The sandbox's own program, by the first process's link to it; to root also devices and /proc."""
    script = """
        for f in /proc/[0-9]*/exe /dev/null /dev/zero /dev/full /dev/*random /dev/tty /proc/meminfo; do
            chmod $(stat -L -c %a $f) $f && echo MODE $f; touch -c $f && echo TIME $f
        done
        echo x > /dev/null && head -c 3 /dev/zero | tr '\\0' 0; head -c 3 /dev/urandom | wc -c
    """
    for reach in ((), [Endpoint("model.invalid")]):
        before = confined.binary.stat()
        finished = await escape(script, reach=reach)
        assert finished.stdout.split() == ["0003"], finished.stderr
        after = confined.binary.stat()
        assert (after.st_mode, after.st_ctime_ns) == (before.st_mode, before.st_ctime_ns)


@needs_python
async def test_the_keys_of_the_users_session(escape, outside):
    number = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine)
    if number is None:
        pytest.skip("the numbers of the key calls are not known here")
    code = f"""
import ctypes
library = ctypes.CDLL(None)
library.syscall.restype = ctypes.c_long
key = library.syscall({number[1]}, 10, -3, b"user", b"skillopt-test-key", 0)
held = ctypes.create_string_buffer(100)
print(key > 0 and library.syscall({number[1]}, 11, key, held, 100) > 0 and held.value)
"""
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    kept = library.syscall(number[0], b"user", b"skillopt-test-key", SECRET.encode(), len(SECRET), -3)
    if kept < 0:
        pytest.skip("this system keeps no keys")
    try:
        (outside / "runs/workspace/try.py").write_text(code)
        finished = await escape(f"{PYTHON} try.py", reach=[Endpoint("model.invalid")])
        assert finished.stdout == "False\n"
    finally:
        library.syscall(number[1], 3, kept)


@needs_python
async def test_the_users_own_keys_by_their_numbers(escape, outside):
    """They are no secret: there are 2**31 numbers, which a run has time to try."""
    calls = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine)
    if calls is None:
        pytest.skip("the numbers of the key calls are not known here")
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    kept = library.syscall(calls[0], b"user", b"skillopt-test-user-key", SECRET.encode(), len(SECRET), -4)
    ring = library.syscall(calls[1], 0, -4, 0)
    if kept < 0 or ring < 0:
        pytest.skip("this system keeps no keys")
    code = f"""
import ctypes
library = ctypes.CDLL(None)
library.syscall.restype = ctypes.c_long
held = ctypes.create_string_buffer(100)
print(library.syscall({calls[1]}, 8, {ring}, -3), end=" ")
print(library.syscall({calls[1]}, 11, {kept}, held, 100), held.value)
"""
    try:
        (outside / "runs/workspace/try.py").write_text(code)
        finished = await escape(f"{PYTHON} try.py", reach=[Endpoint("model.invalid")])
        assert finished.stdout == "-1 -1 b''\n", finished
    finally:
        library.syscall(calls[1], 9, kept, -4)


@needs_python
async def test_sockets_in_folders_that_a_run_is_shown(escape, outside):
    shown = outside / "program"
    (shown / "var").mkdir(parents=True)
    (shown / "link").symlink_to("var")
    (outside / "runs/workspace/try.py").write_text(f"""
import socket
for name in ("direct", "linked", "with space", "renamed", "twice", "relative"):
    try:
        socket.socket(socket.AF_UNIX).connect(f"{shown}/var/{{name}}")
        print("ESCAPED", name)
    except OSError as error:
        print(error.strerror)
""")
    with contextlib.ExitStack() as opened:
        for name in ("var/direct", "link/linked", "var/with space", "var/renamed.tmp", "var/once"):
            server = opened.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(shown / name))
            server.listen()
        (shown / "var/renamed.tmp").rename(shown / "var/renamed")
        (shown / "var/twice").hardlink_to(shown / "var/once")
        relative = "import socket; s = socket.socket(socket.AF_UNIX); s.bind('relative'); s.listen(); input()"
        service = opened.enter_context(
            subprocess.Popen([sys.executable, "-c", relative], cwd=shown / "var", stdin=subprocess.PIPE)
        )
        opened.callback(service.kill)
        while not (shown / "var/relative").exists():
            time.sleep(0.01)
        for reach in ((), [Endpoint("model.invalid")]):
            finished = await escape(f"{PYTHON} try.py", reach=reach, readable=[shown])
            assert finished.stdout.splitlines() == ["Connection refused"] * 6, finished
    # What nobody listens on any more is no reason not to start.
    finished = await escape("echo started", readable=[shown])
    assert finished.stdout == "started\n"


@pytest.mark.parametrize("name", ["system", "link"])
async def test_homes_projects_and_settings_that_lie_among_the_systems_own(
    confined, repository, make_task, tmp_path, monkeypatch, name
):
    system, shown = tmp_path / "system", tmp_path / name
    (tmp_path / "link").symlink_to("system")
    home, project = system / "service/home", system / "src/app"
    for path in (home / ".ssh/id_ed25519", system / "config/.credentials.json", system / "data/state.db"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    (system / "tool").write_text("of the system")
    project.parent.mkdir()
    repository.rename(project)
    (project / "part").mkdir()
    (project / ".env").write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(bubblewrap, "_SYSTEM", (*bubblewrap._SYSTEM, str(shown)))
    keep_from_runs([system / "config", system / "data"])
    sandbox = bubblewrap.Bubblewrap(confined.binary)
    runs = home / ".cache/runs"
    task = make_task(project=str(project / "part"))
    for setup in (None, Setup(command="true")):
        templates = Templates(runs, slots=1)
        if setup is None:
            made = await templates.take(task, setup, sandbox, Toolchains())
        else:
            made = await prepare_with(setup, task, runs, sandbox, Toolchains())
        script = (
            f"cd {shown} && grep -rs {SECRET} .; ls -A service/home src/app src/app/.git;"
            f" echo x > service/home/new; echo x > src/app/new; cat tool {made.root}/README.md;"
            f" cd {made.root} && echo mine > own && cat own"
        )
        argv = sandbox.wrap(
            ["/bin/sh", "-c", script], writable=[made.root], readable=[], cwd=made.root, reach=()
        )
        finished = await process.run(argv, cwd=made.root, env={"PATH": SYSTEM_PATH}, seconds=20)
        assert SECRET not in finished.stdout, finished
        assert "of the system# Project\nmine\n" in finished.stdout, finished
        assert not {"README.md", "part", ".env", "HEAD"} & set(finished.stdout.split()), finished
        assert finished.stderr.count("Read-only file system") == 2, finished
        await made.dispose()
        await templates.close()
    assert not (home / "new").exists()
    assert not (project / "new").exists()


async def test_leaving_programs_with_the_rights_of_their_owner(escape, outside, repository, make_task):
    await escape("cp /bin/sh shell; chmod 6755 shell; mknod null c 1 3; mkfifo pipe; chmod 777 .")
    workspace = await prepare(make_task(project=str(repository)), outside / "runs")
    assert workspace.root.stat().st_mode & 0o077 == 0, "nobody else gets to what a run leaves"
    (workspace.root / "shell").write_text("x")
    (workspace.root / "shell").chmod(0o6755)
    assert await workspace.dispose() == ()
    assert not workspace.root.exists()


async def test_filling_the_disk_or_the_memory(escape, outside):
    bounds = Bounds(
        processes=60, memory_bytes=300_000_000, disk_bytes=20_000_000, folders=(outside / "runs/workspace",)
    )
    finished = await escape("truncate -s 1T huge; ls -s huge; head -c 1G /dev/zero > large", bounds=bounds)
    assert (outside / "runs/workspace/large").stat().st_size <= 20_000_000
    finished = await escape("i=0; while :; do i=$((i+1)); head -c 5M /dev/zero > f$i; done", bounds=bounds)
    assert finished.excess is not None
    assert "disk" in finished.excess
    for path in (outside / "runs/workspace").iterdir():
        path.unlink()
    finished = await escape("while :; do sleep 61.7 & done 2>/dev/null", bounds=bounds)
    assert finished.excess == "more than 60 processes"
    assert not [p for p in psutil.process_iter(["cmdline"]) if "61.7" in (p.info["cmdline"] or ())]
    for place in ("/tmp", "/dev/shm", "/run", "/home"):
        finished = await escape(f"head -c 2G /dev/zero > {place}/x; stat -c %s {place}/x")
        assert int(finished.stdout) < 600_000_000, place


@pytest.fixture
def workspace(repository, outside, make_task):
    async def make():
        return await prepare(make_task(project=str(repository)), outside / "runs")

    return make


async def run_in(confined, workspace, script: str):
    argv = confined.wrap(
        ["/bin/bash", "-c", script], writable=[workspace.root], readable=[], cwd=workspace.path, reach=()
    )
    env = {"PATH": SYSTEM_PATH, "HOME": str(workspace.path), "OUT": str(workspace.root.parents[1])}
    return await process.run(argv, cwd=workspace.path, env=env, seconds=20)


async def test_a_link_out_that_is_made_before_a_check_or_the_diff_reads_it(
    confined, workspace, make_rollout, outside
):
    made = await workspace()
    script = (
        "ln -s $OUT/home/.netrc link; rm README.md; ln -s $OUT/home/.netrc README.md; ln -s $OUT/home folder;"
        " ln -s /proc/self/environ env; mkfifo pipe; ln -s ../../../checks up; truncate -s 1T huge"
    )
    assert (await run_in(confined, made, script)).returncode == 0
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert SECRET not in diff
    assert notes == ()
    names = ("link", "README.md", "folder/.netrc", "env", "pipe", "up/answer.txt", f"{outside}/home/.netrc")
    checks = [FileContains(path=name, text=SECRET) for name in names]
    score = await evaluate(checks, make_rollout(), made.path, confined)
    assert [result.passed for result in score.results] == [False] * len(names)
    found = await evaluate([FileContains(path="huge", text="x")], make_rollout(), made.path, confined)
    assert not found.results[0].passed


async def test_hooks_and_settings_of_the_repository_that_run_later_outside(
    confined, workspace, make_rollout, outside, repository
):
    made = await workspace()
    script = """
        trap=$PWD/.git/trap; printf '#!/bin/sh\\ntouch %s/SPRUNG\\ncat\\n' "$OUT" > $trap; chmod 755 $trap
        mkdir -p .git/hooks; for h in pre-commit post-checkout post-index-change reference-transaction; do
            cp $trap .git/hooks/$h; done
        for k in core.fsmonitor core.sshCommand core.pager core.editor diff.external filter.x.clean \\
            filter.x.smudge filter.x.process diff.x.textconv diff.x.command merge.x.driver \\
            credential.helper alias.diff alias.ls-files gpg.program uploadpack.packObjectsHook; do
            git config $k "!$trap"; git config --replace-all $k $trap; done
        git config core.hooksPath .git/hooks; git config core.worktree $OUT/other/project
        git config include.path ../more.conf; printf '[core]\\n\\tfsmonitor = %s\\n' $trap > more.conf
        printf '* filter=x diff=x merge=x\\n' > .gitattributes
        mkdir inner; git -C inner init -q; git -C inner config core.fsmonitor $trap; echo x > inner/file
        echo changed > README.md
    """
    await run_in(confined, made, script)
    diff, notes = await show_changes(made.baseline, made.hidden)
    assert notes == ()
    assert "+changed" in diff
    await evaluate(
        [FileContains(path="README.md"), CommandSucceeds(command="git status; git diff; git add -A")],
        make_rollout(), made.path, confined,
    )  # fmt: skip
    await prepare_again(workspace)
    assert await made.dispose() == ()
    assert not (outside / "SPRUNG").exists()
    status = ["git", "-C", str(repository), "status", "--porcelain"]
    assert subprocess.run(status, capture_output=True, check=True).stdout == b""


@pytest.mark.parametrize(
    "trap",
    [
        "git config core.fsmonitor .git/trap",
        "git config filter.x.clean .git/trap; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
        "rm -rf .git; echo gitdir: $OUT/other/project/.git > .git",
        "rm -rf .git; ln -s $OUT/other/project/.git .git",
        "rm -rf .git; mkfifo .git",
        "rm -rf .git",
    ],
)
async def test_a_set_up_that_changes_the_repository_git_is_run_in_later_outside(
    confined, outside, repository, make_task, trap
):
    other = outside / "other/project"
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", str(other), *command], check=True)
    index = (other / ".git/index").read_bytes()
    script = f"printf '#!/bin/sh\\ntouch {outside}/SPRUNG\\ncat\\n' > .git/trap; chmod 755 .git/trap; {trap}"
    setup = Setup(command=script.replace("$OUT", str(outside)) + "; echo made > made")
    kept = Templates(outside / "runs", slots=1)
    for _ in range(2):
        made = await kept.take(make_task(project=str(repository)), setup, confined, Toolchains())
        assert (made.path / "made").read_text() == "made\n"
        assert (made.path / ".git/config").is_file()
        assert not (made.path / ".git/trap").exists()
        await kept.give_back(made)
    await kept.close()
    assert not (outside / "SPRUNG").exists()
    assert (other / ".git/index").read_bytes() == index


async def prepare_again(workspace):
    await (await workspace()).dispose()


async def test_the_projects_own_repository_is_out_of_reach(confined, workspace, repository):
    made = await workspace()
    before = {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")}
    script = (
        f"git -C {repository} log; git push {repository} HEAD:refs/heads/evil; git fetch {repository};"
        f" echo {repository}/.git/objects > .git/objects/info/alternates; ls {repository}"
    )
    await run_in(confined, made, script)
    assert {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")} == before


async def test_a_check_runs_where_neither_skill_nor_agent_is_left(confined, workspace, make_rollout, outside):
    made = await workspace()
    (outside / "runs" / "skillopt-private-agent").mkdir()
    (outside / "runs" / "skillopt-private-agent" / "SKILL.md").write_text(SECRET)
    commands = (
        f"grep -rs {SECRET} {outside} $HOME /tmp",
        "ls ~/.claude ~/.agents ~/.codex ~/.copilot",
        f"ls {outside}/runs/skillopt-private-agent",
        "exec 3<>/dev/tcp/127.0.0.1/1",
    )
    checks = [CommandSucceeds(command=command) for command in commands]
    score = await evaluate(checks, make_rollout(), made.path, confined)
    assert [result.passed for result in score.results] == [False] * len(commands)


async def test_a_check_that_pretends_the_sandbox_failed_is_a_failed_check(confined, workspace, make_rollout):
    made = await workspace()
    for said in ("bwrap: no", "sandbox: no"):
        check = CommandSucceeds(command=f"echo '{said}' >&2; exit 1")
        score = await evaluate([check], make_rollout(), made.path, confined)
        assert score.hard == 0.0


@pytest.mark.parametrize("place", [".", "bin", "claude/versions"])
def test_a_program_in_the_home_folder_does_not_lay_the_home_open(confined, private_home, place, tmp_path):
    binary = private_home / place / "claude"
    binary.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy("/bin/true", binary)
    assert show_program(binary) == binary
    own = private_home / ".local/lib/node_modules/client/claude"
    own.parent.mkdir(parents=True)
    shutil.copy("/bin/true", own)
    assert show_program(own) == own.parent
    for folder in (private_home, private_home.parent, Path("/")):
        for bound in ({"readable": [folder], "writable": []}, {"readable": [], "writable": [folder]}):
            with pytest.raises(ReplayError, match="home folder"):
                confined.wrap(["true"], cwd=tmp_path, reach=(), **bound)


async def test_unconfined_runs_are_tidied_up_all_the_same(outside):
    """Without a sandbox nothing of the above holds, except that a run ends when it ends."""
    workspace = outside / "runs" / "workspace"
    script = f"(setsid bash -c 'while :; do echo > {BEAT}; sleep 0.05; done' > /dev/null 2>&1 &) ; sleep 0.5"
    argv = NoSandbox().wrap(["/bin/bash", "-c", script], writable=[], readable=[], cwd=workspace)
    await process.run(argv, cwd=workspace, env={"PATH": SYSTEM_PATH}, seconds=20)
    last = (workspace / BEAT).stat().st_mtime_ns
    threading.Event().wait(0.3)
    assert (workspace / BEAT).stat().st_mtime_ns == last
