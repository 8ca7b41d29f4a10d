"""pi's records, decoded: only the keys that are read.

A file is a tree: every entry names the one before it, and another entry after the same one begins a branch.
Before version 2 (until December 2025) entries had no ids.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from skillopt_harvesters.sources.loose import NULL

# What can be stored: a number a client would write, not what a damaged file may hold.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]

# Entries that say nothing that is read, but have their place in the tree.
KNOWN = frozenset(
    """session message model_change thinking_level_change compaction branch_summary usage custom
    custom_message label session_info context_edit active_tools_change leaf""".split()
)
# Roles whose words are the client's or an extension's, and never the user's.
CLIENT_ROLES = frozenset({"system", "custom", "hookMessage", "branchSummary", "compactionSummary"})


class Usage(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Tokens of one model call; `output` includes the reasoning."""

    input: Count | None = None
    output: Count | None = None
    cache_read: Count | None = None
    cache_write: Count | None = None


class Block(msgspec.Struct, frozen=True, gc=False):
    """A content block: text, or a tool call; images and thinking are not read."""

    type: str | None = None
    text: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = NULL


class Message(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """A message of any role, with the keys that only some roles have."""

    role: str | None = None
    content: str | list[Block | str] | None = None
    timestamp: str | int | float | None = None
    # assistant
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    response_id: str | None = None
    # toolResult
    tool_call_id: str | None = None
    is_error: bool | None = None
    nested_calls: msgspec.Raw = NULL
    # bashExecution
    command: str | None = None
    # system
    sections: msgspec.Raw = NULL

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks, whatever shape it has."""
        content = [self.content] if isinstance(self.content, str) else self.content or []
        return [Block(type="text", text=item) if isinstance(item, str) else item for item in content]

    @property
    def has_image(self) -> bool:
        """Whether there is a picture in it."""
        return any(block.type == "image" for block in self.blocks)

    @property
    def text(self) -> str:
        """The text of all blocks."""
        return "\n".join(block.text for block in self.blocks if block.type == "text" and block.text)


class Entry(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """One line of a session."""

    type: str | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | int | float | None = None
    cwd: str | None = None
    model_id: str | None = None
    message: Message | None = None
    usage: Usage | None = None


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """The arguments of the tools that matter."""

    command: str | None = None
    path: str | None = None
    file_path: str | None = None


class NestedCall(msgspec.Struct, frozen=True, gc=False):
    """A call that a tool made to another tool."""

    name: str | None = None
    arguments: msgspec.Raw = NULL
    status: str | None = None
    error: str | None = None


class NestedCalls(msgspec.Struct, frozen=True, gc=False):
    """The calls a tool made."""

    calls: list[NestedCall] | None = None


class Sections(msgspec.Struct, frozen=True, gc=False):
    """The parts of the system prompt."""

    skills: str | None = None
