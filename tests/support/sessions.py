"""Sessions built in memory, for what is told from their turns alone."""

from __future__ import annotations

from skillopt_harvesters import Kind, Session, Signal, ToolCall, Turn

STOPPED = (Signal.INTERRUPTION,)
REFUSED = (Signal.REFUSAL,)


def turn(prompt, answer="Done.", *, ran=(), tools=(), **more) -> Turn:
    """Make a turn; `ran` are (command line, exit code) pairs of the agent's shell, `tools` what it called."""
    calls = [ToolCall(name="Bash", command=command, exit_code=code) for command, code in ran]
    calls += [ToolCall(name=name) for name in tools]
    return Turn(prompt=prompt, answer=answer, tool_calls=tuple(calls), **more)


def shell(line) -> Turn:
    """Make a turn in which the user ran a command line of their own."""
    return turn(line, "", command="!")


def session(*turns, name="one", started="2026-03-01T10:00:00.000Z", ended="2026-03-01T10:05:00.000Z", **more):
    """Make a session of a person in the project /p."""
    return Session(
        id=name,
        client="claude",
        client_version="1",
        kind=Kind.HUMAN,
        path="x",
        project="/p",
        started=started,
        ended=ended,
        turns=tuple(turns),
        **more,
    )
