"""The filter of system calls, run as the kernel runs it: what it lets through and what it refuses."""

from __future__ import annotations

import struct

import pytest

from skillopt_replay.launcher.families import make_filter

ALLOWED, REFUSED = "allowed", "refused"
# Architectures with the numbers of socket, ioctl, add_key, request_key, keyctl, read, ptrace,
# process_vm_readv, process_vm_writev.
X86_64 = (0xC000003E, 41, 16, 248, 249, 250, 0, 101, 310, 311)
I386 = (0x40000003, 359, 54, 286, 287, 288, 3, 26, 347, 348)
AARCH64 = (0xC00000B7, 198, 29, 217, 218, 219, 63, 117, 270, 271)
ARM = (0x40000028, 281, 54, 309, 310, 311, 3, 26, 376, 377)
MACHINES = [("x86_64", X86_64), ("x86_64", I386), ("aarch64", AARCH64), ("aarch64", ARM)]
each = pytest.mark.parametrize(("machine", "numbers"), MACHINES, ids=["x86_64", "i386", "aarch64", "arm"])


def judge(program: bytes, architecture: int, number: int, *arguments: int) -> str:
    """Run the filter on a call, and return "allowed", or "refused" with the error."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("=HBBI", program))
    value = at = 0
    while True:
        code, yes, no, operand = steps[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif code == 0x54:
            value &= operand
        elif code == 0x15:
            at += yes if value == operand else no
        elif code == 0x35:
            at += yes if value >= operand else no
        else:
            assert code == 0x06
            return ALLOWED if operand == 0x7FFF0000 else f"{REFUSED} {operand & 0xFFFF}"


@each
def test_sockets_of_the_own_network_are_let_through_and_no_others(machine, numbers):
    program = make_filter(machine)
    assert program is not None
    for family in (1, 2, 10, 16):
        assert judge(program, numbers[0], numbers[1], family) == ALLOWED
    for family in (0, 17, 31, 38, 40, 1 << 31):
        assert judge(program, numbers[0], numbers[1], family) == f"{REFUSED} 97"
    assert judge(program, numbers[0], numbers[6], 40) == ALLOWED


@pytest.mark.parametrize(
    ("machine", "architecture", "perf_event_open"),
    [
        ("x86_64", X86_64[0], 298),
        ("x86_64", I386[0], 336),
        ("aarch64", AARCH64[0], 241),
        ("aarch64", ARM[0], 364),
    ],
)
def test_no_call_watches_what_runs_on_the_machines_processors(machine, architecture, perf_event_open):
    program = make_filter(machine)
    assert program is not None
    assert judge(program, architecture, perf_event_open, 0, -1 & 0xFFFFFFFF) == f"{REFUSED} 38"


@each
def test_no_call_gets_at_the_kernels_keys(machine, numbers):
    program = make_filter(machine)
    assert program is not None
    for call in numbers[3:6]:
        assert judge(program, numbers[0], call) == f"{REFUSED} 38"


@each
def test_the_first_process_is_not_taken_over_and_others_may_be_debugged(machine, numbers):
    program = make_filter(machine)
    assert program is not None
    architecture, trace, *memory = numbers[0], *numbers[7:]
    for request in (16, 0x4206):
        # The kernel does not look at the upper half.
        for first in (1, (7 << 32) | 1):
            assert judge(program, architecture, trace, request, first) == f"{REFUSED} 1"
            for call in memory:
                assert judge(program, architecture, call, first) == f"{REFUSED} 1"
        assert judge(program, architecture, trace, request, 2) == ALLOWED
    assert judge(program, architecture, trace, 0, 0) == ALLOWED
    for call in memory:
        assert judge(program, architecture, call, 2, 1) == ALLOWED


@each
def test_nothing_is_taken_of_what_another_process_has_open(machine, numbers):
    program = make_filter(machine)
    assert program is not None
    assert judge(program, numbers[0], 438, 3, 1) == f"{REFUSED} 38"


@each
def test_blocks_are_not_moved_from_file_to_file_and_terminals_are_asked(machine, numbers):
    program = make_filter(machine)
    assert program is not None
    # ext4 with both sizes of its argument, XFS, F2FS; the kernel does not look at the upper half.
    for request in (0xC028660F, 0xC024660F, 0xC0C0586D, 0xC020F509, (7 << 32) | 0xC028660F):
        assert judge(program, numbers[0], numbers[2], 3, request) == f"{REFUSED} 25"
    for request in (0x5401, 0x5413, 0x541B, 0x40049409, 0xC020660B, 0x40086602):
        assert judge(program, numbers[0], numbers[2], 3, request) == ALLOWED


def test_other_architectures_and_machines():
    program = make_filter("x86_64")
    assert program is not None
    assert judge(program, 0xC00000B7, 63) == f"{REFUSED} 38"
    assert judge(program, X86_64[0], 0x40000000 + 41, 40) == f"{REFUSED} 38"
    assert make_filter("riscv64") is None
