"""The launcher's processes: all of them end when the program does, and when whoever started us dies."""

from __future__ import annotations

# The modules signal, socket, threading and contextlib take longer to load than all of ours, what they are
# made of next to nothing; every run waits for it.
import _signal  # type: ignore[import-not-found]
import ctypes
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINUX = sys.platform.startswith("linux")
_PDEATHSIG, _SUBREAPER = 1, 36
_ROUNDS = 200
_PATIENT_ROUNDS = 3
_JOIN_SESSION_KEYRING = 1
_KEYCTL = {"x86_64": 250, "aarch64": 219}


_libc: Any = None


def libc() -> Any:
    """Return the C library, for the calls Python has no name for."""
    global _libc  # noqa: PLW0603 - opened by the helper, it is there in everything that it forks
    if _libc is None:
        _libc = ctypes.CDLL(None, use_errno=True)
    return _libc


def guard(parent: int) -> None:
    """Take over orphans, and end the tree when the process `parent` (0: whoever started us) is gone."""
    parent = parent or os.getppid()

    def look(_number: int = 0, _frame: object = None) -> None:
        if os.getppid() != parent:
            end_descendants()
            os._exit(128 + int(_signal.SIGKILL))

    # Not ignored, which programs we start would inherit: the group is asked to end, and we wait for it.
    _signal.signal(_signal.SIGTERM, lambda _number, _frame: None)
    if LINUX:
        _signal.signal(_signal.SIGUSR2, look)
        libc().prctl(_SUBREAPER, 1, 0, 0, 0)
        libc().prctl(_PDEATHSIG, int(_signal.SIGUSR2), 0, 0, 0)
        look()
    else:
        import _thread

        def watch() -> None:
            while True:
                look()
                time.sleep(0.5)

        _thread.start_new_thread(watch, ())


def start(program: list[str], env: dict[str, str]) -> int:
    """Start the program, and return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        # Python ignores these two, and what is ignored stays so in the program.
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        if LINUX:
            _leave_keyring()
            libc().prctl(_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0)
        os.execvpe(program[0], program, env)  # noqa: S606 - starting it is the purpose
    except OSError as error:
        os.write(2, _say_missing(program[0], error))
    finally:
        os._exit(127)


def start_bound(program: list[str], env: dict[str, str], keep: tuple[int, ...]) -> int:
    """Start bwrap, which asks by itself to die with us, with the descriptors in `keep` open; see `start`.

    No copy of ourselves is made for it, which would cost more than all else that we do. If we are killed in
    the millisecond before it asks, it falls to the helper that forked us, which kills what is left.
    """
    _leave_keyring()
    for descriptor in keep:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - its only argument
    try:
        return os.posix_spawnp(program[0], program, env, setsigdef=(_signal.SIGPIPE, _signal.SIGXFSZ))
    except OSError as error:
        os.write(2, _say_missing(program[0], error))
        os._exit(127)


def wait_for(pid: int) -> int:
    """Reap what ends until `pid` has; return its status."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return status


def end_descendants() -> None:
    """Kill everything below us; what is orphaned by that becomes ours and is killed in the next round."""
    for number in range(_ROUNDS):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            if LINUX:
                return  # orphans fall to us, so without children nothing is left
        # A sandbox ends by itself in a moment. To look into /proc makes our own end expensive.
        below = descendants(os.getpid()) if number >= _PATIENT_ROUNDS or not LINUX else []
        if not below and not LINUX:
            return
        for pid in below:
            try:
                os.kill(pid, _signal.SIGKILL)
            except OSError:
                pass
        time.sleep(min(0.0005 * (number + 1), 0.005))


def descendants(root: int) -> list[int]:
    """Return the process ids of all that is below `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _parents() -> list[tuple[int, int]]:
    if not LINUX:
        lines = os.popen("/bin/ps -A -o pid=,ppid=").read().splitlines()  # noqa: S605 - no user input
        return [(int(pid), int(parent)) for pid, parent in (line.split() for line in lines)]
    pairs = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    # The name in parentheses may hold anything, parentheses included.
                    pairs.append((int(name), int(file.read().rpartition(b")")[2].split()[1])))
            except OSError:
                pass
    return pairs


def _say_missing(program: str, error: OSError) -> bytes:
    return f"launcher: {program} does not start: {error.strerror}\n".encode()


def _leave_keyring() -> None:
    """Start with an empty kernel keyring: the session's own may hold the user's keys and tickets."""
    number = _KEYCTL.get(os.uname().machine)
    if number is not None:
        libc().syscall(number, _JOIN_SESSION_KEYRING, None)
