"""Starts bwrap with what it has to be handed open: a filter of system calls, and files to lay out."""

from __future__ import annotations

import os

from skillopt_replay.launcher import tree
from skillopt_replay.launcher.devices import hold_devices
from skillopt_replay.launcher.families import open_filter


def start_handing(
    program: list[str],
    env: dict[str, str],
    files: list[str],
    options: tuple[str, ...] = (),
    handed: tuple[int, ...] = (),
) -> int:
    """Start bwrap with these options before its others, and return its process id.

    `files` are copied to the same places in the sandbox, without those that are gone. `handed` are the
    descriptors that `options` name; they are closed here. Run by root, we see the devices as bwrap does from
    now on. Raises OSError when that cannot be.
    """
    sieve = open_filter()
    if sieve is not None:
        options += ("--seccomp", str(sieve))
        handed += (sieve,)
    for path in files:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        # For bwrap a mount costs ten times as much: with each it reads the list of all there are.
        options += ("--file", str(descriptor), path)
        handed += (descriptor,)
    hold_devices()
    child = tree.start_bound([program[0], *options, *program[1:]], env, handed)
    for descriptor in handed:
        os.close(descriptor)
    return child
