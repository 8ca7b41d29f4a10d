"""Watches a Python process of the test suite: no write outside its folders, no talk beyond loopback.

Python imports a module of this name at start when its folder is on PYTHONPATH, so that children the tests
start are watched as well. A breach raises inside the process and is noted in a file that fails the test.
"""

import os
import sys

_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ONE_PATH = {"os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "os.utime"}
_TWO_PATHS = {"os.rename", "os.link"}
# Links are looked for in each part of a path: where there are very many, each call would take a second.
_DEEP = 400
_ALWAYS = ("/dev/", "/proc/self/", "/proc/thread-self/")


class Breach(PermissionError):
    """A write or connection that no test may make."""


class Guard:
    def __init__(self, allowed, report):
        self.allowed = [os.path.realpath(folder) for folder in allowed]
        self.report = report
        self.active = True

    def hook(self, event, args):
        if not self.active:
            return
        if event == "open":
            path, _mode, flags = args
            if isinstance(flags, int) and flags & _WRITE_FLAGS:
                self.check_path(path, event)
        elif event in _ONE_PATH:
            self.check_path(args[0], event, args[1] if event in {"os.remove", "os.rmdir"} else None)
        elif event in _TWO_PATHS:
            self.check_path(args[0], event)
            self.check_path(args[1], event)
        elif event == "os.symlink":
            self.check_path(args[1], event)
        elif event == "sqlite3.connect":
            self.check_path(args[0], event)
        elif event in {"socket.connect", "socket.sendto"}:
            self.check_address(args[1], event)

    def check_path(self, path, event, dir_fd=None):
        if isinstance(path, int) or path in (None, "", ":memory:", b""):
            return
        if isinstance(dir_fd, int) and dir_fd >= 0:
            return
        text = os.fsdecode(path)
        if text.startswith("file:"):
            text = text[5:].partition("?")[0]
        if text.startswith(_ALWAYS) or text in {"/dev/null", "/dev/tty"}:
            return
        # The last part may be a link that the call acts on itself.
        parent = os.path.dirname(os.path.abspath(text))
        if parent.count(os.sep) < _DEEP:
            parent = os.path.realpath(parent)
        full = os.path.join(parent, os.path.basename(text))
        if any(full == folder or full.startswith(folder + os.sep) for folder in self.allowed):
            return
        if "__pycache__" in full:
            return
        self.fail(f"{event} outside the test's folders: {full}")

    def check_address(self, address, event):
        if not isinstance(address, tuple):
            return
        import ipaddress  # not in every process that a test starts

        host = str(address[0])
        try:
            local = host == "localhost" or self.is_loopback(ipaddress.ip_address(host.partition("%")[0]))
        except ValueError:
            local = False
        if not local:
            self.fail(f"{event} beyond loopback: {host}")

    @staticmethod
    def is_loopback(address):
        # Python 3.10 does not see it behind IPv6's way of writing an address of IPv4.
        return (getattr(address, "ipv4_mapped", None) or address).is_loopback

    def fail(self, message):
        self.active = False
        try:
            with open(self.report, "a", encoding="utf-8") as report:
                report.write(message + "\n")
        finally:
            self.active = True
        raise Breach(message)


def install(allowed, report):
    guard = Guard(allowed, report)
    sys.addaudithook(guard.hook)
    return guard


if os.environ.get("SKILLOPT_TEST_ALLOWED"):
    install(os.environ["SKILLOPT_TEST_ALLOWED"].split(os.pathsep), os.environ["SKILLOPT_TEST_REPORT"])
