"""The launcher's command line: `[--parent PID] [MODE] OPTION... -- PROGRAM ...`.

The options are `--reach HOST:PORT` and `--show FILE`, as often as needed, `--gate PLACE` and `--alone`.

`--inside`: PROGRAM is bwrap with a network of its own, in which the launcher listens in place of the named
services and passes on what comes to them; with `--alone` only from the program that bwrap starts, and not
from what that starts. `--filter`: PROGRAM is bwrap, kept to the usual kinds of sockets,
as with `--inside`. With both, each FILE is copied to the same place in the sandbox. `--proxy`: as `--inside`,
by an HTTP proxy, where there are no network namespaces; "@proxy" in the arguments becomes its port. With
`--gate` what passes something on asks at PLACE before it does so with a request. Ends as the program did, or
with 125 when the run's surroundings could not be laid out; then the program was never started.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import sys

from skillopt_replay.launcher import tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

FAILED = 125


def main(arguments: list[str]) -> NoReturn:
    """Run the program and end as it ended."""
    options, program = _split(arguments)
    parent = int(options.get("--parent", ["0"])[0])
    reach = [_endpoint(text) for text in options.get("--reach", [])]
    tree.guard(parent)
    for place in options.get("--gate", []):
        from skillopt_replay.launcher import gate

        gate.lead_to(place)
    try:
        if "--inside" in options:
            from skillopt_replay.launcher.inside import start_inside

            show, is_alone = options.get("--show", []), "--alone" in options
            child = start_inside(program, reach, show, is_alone=is_alone)
        elif "--filter" in options:
            from skillopt_replay.launcher.handing import start_handing

            child = start_handing(program, dict(os.environ), options.get("--show", []))
        elif "--proxy" in options:
            from skillopt_replay.launcher.proxy import start_behind_proxy

            child = start_behind_proxy(program, reach)
        else:
            child = tree.start(program, dict(os.environ))
        status = tree.wait_for(child)
    except OSError as error:
        sys.stderr.write(f"sandbox: the surroundings of the run cannot be laid out: {error}\n")
        sys.stderr.flush()
        tree.end_descendants()
        os._exit(FAILED)
    tree.end_descendants()
    sys.stderr.flush()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        _signal.signal(number, _signal.SIG_DFL) if number not in (_signal.SIGKILL, _signal.SIGSTOP) else None
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _split(arguments: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    options: dict[str, list[str]] = {}
    end = arguments.index("--")
    given, program = arguments[:end], arguments[end + 1 :]
    while given:
        name = given.pop(0)
        values = options.setdefault(name, [])
        if name in ("--parent", "--reach", "--show", "--gate"):
            values.append(given.pop(0))
    return options, program


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
