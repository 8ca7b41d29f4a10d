"""Sessions, turns and tool calls, as every client's transcript is read into."""

from __future__ import annotations

from enum import Enum

import msgspec


class Kind(str, Enum):
    """Who spoke: a person, a program, another agent, or one of our own replays."""

    HUMAN = "human"
    HEADLESS = "headless"
    SUBAGENT = "subagent"
    REPLAY = "replay"


class Signal(str, Enum):
    """What a turn tells about how the one before, or this one, went."""

    CORRECTION = "correction"  # the user's prompt corrects the agent's last answer (`mark_corrections`)
    INTERRUPTION = "interruption"  # the user stopped the agent
    REFUSAL = "refusal"  # the user refused a tool call
    ERROR = "error"  # a tool call or the model ended in an error
    VERIFIED = "verified"  # a test or build command ended well
    UNREAD = "unread"  # the user's prompt was lost with a damaged record


class Tokens(msgspec.Struct, frozen=True):
    """Tokens as the client counted them, each model call once; what was cached is no part of the input."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def plus(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One tool call. `exit_code` and `error` are None when the client did not say.

    `error` and `command` are redacted; `error` is tool output, never the user's words.
    """

    name: str
    arguments_digest: str = ""
    command: str | None = None
    exit_code: int | None = None
    error: str | None = None
    files: tuple[str, ...] = ()


class Turn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """From one prompt of the user to the next.

    `prompt` holds the user's own words and nothing else (trust tier: user typed); `answer` the agent's last
    visible message (tier: agent); tool output is not kept. `command` is a slash command ("/name") with the
    prompt as its arguments; "!" is a shell line and "#" a note to memory the user typed. `refusals` are the
    user's words when refusing a tool call. All text is redacted. `typed` is False when a program or another
    agent sent the prompt; `abandoned` is True when the user rewound and took another way.
    """

    prompt: str
    answer: str = ""
    command: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    refusals: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    skills: tuple[str, ...] = ()
    tokens: Tokens = Tokens()
    started: str | None = None
    typed: bool = True
    abandoned: bool = False


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation. Times are ISO 8601 in UTC; `project` is the working directory it began in.

    A resumed or forked session copies the records of another one: those are that session's turns and not
    repeated here. `before` is the last of them, which the first turn answers to. `parent` is the session a
    sub-agent worked for, `rewound` the one whose end the user took back for this one, `model` the last one
    that answered. `skipped` counts the records that could not be used; `warnings` say why.
    """

    id: str
    client: str
    client_version: str
    kind: Kind
    path: str
    project: str | None = None
    branch: str | None = None
    commit: str | None = None
    model: str | None = None
    parent: str | None = None
    rewound: str | None = None
    started: str | None = None
    ended: str | None = None
    turns: tuple[Turn, ...] = ()
    before: Turn | None = None
    tokens: Tokens = Tokens()
    skills_offered: tuple[str, ...] = ()
    skipped: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def prompts(self) -> tuple[str, ...]:
        """What the agent was asked, in order: prompts and slash commands, without the user's shell lines.

        A picture alone is a turn without a prompt, as is what an agent does by itself.
        """
        return tuple(
            f"{turn.command or ''} {turn.prompt}".strip()
            for turn in self.turns
            if turn.command != "!" and (turn.prompt or turn.command)
        )
