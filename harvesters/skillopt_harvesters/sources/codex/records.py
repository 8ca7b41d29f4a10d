"""Codex's records: the keys that are read, by kind of record.

Since September 2025 a line is `{timestamp, type, payload}`. Before, it was the payload of a `response_item`
alone, after a first line with the session's id. A record's *kind* is its type and its payload's type, as in
`event_msg/user_message`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

# The value of a key that is not there; compared by identity.
NULL = msgspec.Raw(b"null")

# What can be stored: a number a client would write, not what a damaged file may hold.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Status = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**32)]


class Git(msgspec.Struct, frozen=True, gc=False):
    """The state of the repository when the session began."""

    commit_hash: str | None = None
    branch: str | None = None


class Meta(msgspec.Struct, frozen=True, gc=False):
    """What a session is: `session_meta`, or the first line of an old file.

    A fork with a `history_base` points to the history it goes on from; any other fork repeats it. An agent's
    own records may be said to begin with an `ordinal`.
    """

    id: str | None = None
    timestamp: str | int | float | None = None
    cwd: str | None = None
    originator: str | None = None
    cli_version: str | None = None
    source: msgspec.Raw = NULL
    thread_source: str | None = None
    parent_thread_id: str | None = None
    forked_from_id: str | None = None
    history_base: msgspec.Raw = NULL
    subagent_history_start_ordinal: Count | None = None
    git: Git | None = None


class Context(msgspec.Struct, frozen=True, gc=False):
    """`turn_context`: written before each request to the model, in newer versions once a turn."""

    turn_id: str | None = None
    cwd: str | None = None
    model: str | None = None


class Part(msgspec.Struct, frozen=True, gc=False):
    """A part of a message or of a tool's output."""

    type: str | None = None
    text: str | None = None


class Kinds(msgspec.Struct, frozen=True, gc=False):
    """What newer versions say of a message: its turn, and a word on each part: `user.text`, `skills.…`."""

    turn_id: str | None = None
    content_item_kinds: list[str] | None = None


class Message(msgspec.Struct, frozen=True, gc=False):
    """`response_item/message`: what the model was given or answered."""

    role: str | None = None
    content: list[Part] | None = None
    internal_chat_message_metadata_passthrough: Kinds | None = None


class AgentTask(msgspec.Struct, frozen=True, gc=False):
    """`response_item/agent_message`: one agent writes to another."""

    author: str | None = None
    recipient: str | None = None


class Call(msgspec.Struct, frozen=True, gc=False):
    """A tool call of any type."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = NULL
    input: msgspec.Raw = NULL
    action: msgspec.Raw = NULL


class Output(msgspec.Struct, frozen=True, gc=False):
    """What a tool answered."""

    call_id: str | None = None
    output: msgspec.Raw = NULL


class ToolEnd(msgspec.Struct, frozen=True, gc=False):
    """How a tool ended, told beside its output: an event of its own, or an item of the newest versions."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    command: msgspec.Raw = NULL
    source: str | None = None
    status: str | None = None
    exit_code: Status | None = None
    success: bool | None = None
    aggregated_output: msgspec.Raw = NULL
    stderr: str | None = None
    changes: msgspec.Raw = NULL
    result: msgspec.Raw = NULL
    error: msgspec.Raw = NULL
    tool: str | None = None


class Target(msgspec.Struct, frozen=True, gc=False):
    """What is to be reviewed; only `custom` has the user's words."""

    type: str | None = None
    instructions: str | None = None


class Item(ToolEnd, frozen=True, gc=False):
    """What was completed: a message, the end of a tool, a review that begins or ends."""

    content: list[Part] | None = None
    target: Target | None = None


class Completed(msgspec.Struct, frozen=True, gc=False):
    """`event_msg/item_completed`. An item of another thread is an agent's that works for this one."""

    thread_id: str | None = None
    turn_id: str | None = None
    item: Item | None = None


class UserMessage(msgspec.Struct, frozen=True, gc=False):
    """`event_msg/user_message`."""

    message: str | None = None
    kind: str | None = None
    images: list[msgspec.Raw] | None = None
    local_images: list[msgspec.Raw] | None = None


class AgentMessage(msgspec.Struct, frozen=True, gc=False):
    """`event_msg/agent_message`."""

    message: str | None = None


class Attribution(msgspec.Struct, frozen=True, gc=False):
    """Who set the agent to work: `user`, `exec`, and perhaps others; or the turn of another agent."""

    turn_trigger: str | None = None
    parent_turn_id: str | None = None


class Task(msgspec.Struct, frozen=True, gc=False):
    """The beginning, end or interruption of the agent's work."""

    turn_id: str | None = None
    started_at: int | float | None = None
    turn_attribution: Attribution | None = None
    last_agent_message: str | None = None
    error: msgspec.Raw = NULL
    reason: str | None = None


class Rollback(msgspec.Struct, frozen=True, gc=False):
    """The user went back behind his last prompts."""

    num_turns: Count | None = None


class Review(msgspec.Struct, frozen=True, gc=False):
    """The user asked for a review. Older versions say in `prompt` and `user_facing_hint` of what."""

    target: Target | None = None
    prompt: str | None = None
    user_facing_hint: str | None = None


class Compacted(msgspec.Struct, frozen=True, gc=False):
    """The history was replaced by a summary. The new history stands beside it: never a second occurrence."""

    message: str | None = None


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens; input includes what was read from and written to the cache, output the reasoning."""

    input_tokens: Count | None = None
    cached_input_tokens: Count | None = None
    cache_write_input_tokens: Count | None = None
    output_tokens: Count | None = None


class TokenInfo(msgspec.Struct, frozen=True, gc=False):
    """Tokens of the whole session and of the last call."""

    total_token_usage: Usage | None = None
    last_token_usage: Usage | None = None


class TokenCount(msgspec.Struct, frozen=True, gc=False):
    """`event_msg/token_count`; without `info` it tells the rate limits only."""

    info: TokenInfo | None = None


class UsageRecord(msgspec.Struct, frozen=True, gc=False):
    """`token_usage_record`: one model call, in the newest versions."""

    response_id: str | None = None
    usage: Usage | None = None


CALLS = (
    "response_item/function_call",
    "response_item/custom_tool_call",
    "response_item/local_shell_call",
    "response_item/web_search_call",
    "response_item/tool_search_call",
    "response_item/image_generation_call",
)
OUTPUTS = ("response_item/function_call_output", "response_item/custom_tool_call_output")

KINDS: dict[str, type[msgspec.Struct]] = {
    "session_meta": Meta,
    "turn_context": Context,
    "compacted": Compacted,
    "token_usage_record": UsageRecord,
    "response_item/message": Message,
    "response_item/agent_message": AgentTask,
    **dict.fromkeys(CALLS, Call),
    **dict.fromkeys(OUTPUTS, Output),
    "event_msg/user_message": UserMessage,
    "event_msg/agent_message": AgentMessage,
    "event_msg/item_completed": Completed,
    "event_msg/task_started": Task,
    "event_msg/task_complete": Task,
    "event_msg/turn_aborted": Task,
    "event_msg/error": Task,
    "event_msg/token_count": TokenCount,
    "event_msg/thread_rolled_back": Rollback,
    "event_msg/entered_review_mode": Review,
    "event_msg/exited_review_mode": Review,
    "event_msg/exec_command_end": ToolEnd,
    "event_msg/patch_apply_end": ToolEnd,
    "event_msg/mcp_tool_call_end": ToolEnd,
}

# Told elsewhere too, or of no use: skipped without a word.
_NOISE_EVENTS = """
agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break background_event context_compacted
guardian_assessment guardian_warning warning stream_error deprecation_notice thread_goal_updated
thread_goal_cleared thread_name_updated thread_settings_applied session_configured shutdown_complete turn_diff
plan_update plan_delta item_started hook_started hook_completed model_reroute model_verification
exec_command_begin exec_command_output_delta exec_approval_request terminal_interaction
apply_patch_approval_request patch_apply_begin patch_apply_updated mcp_tool_call_begin mcp_startup_update
mcp_startup_complete web_search_begin web_search_end view_image_tool_call image_generation_begin
image_generation_end dynamic_tool_call_request dynamic_tool_call_response collab_agent_spawn_begin
collab_agent_spawn_end collab_agent_interaction_begin collab_agent_interaction_end collab_waiting_begin
collab_waiting_end collab_close_begin collab_close_end collab_resume_begin collab_resume_end
sub_agent_activity elicitation_request request_user_input request_permissions safety_buffering
turn_moderation_metadata
"""
_NOISE_ITEMS = "reasoning ghost_snapshot compaction context_compaction compaction_trigger tool_search_output"
NOISE = frozenset(
    [f"event_msg/{name}" for name in _NOISE_EVENTS.split()]
    + [f"response_item/{name}" for name in [*_NOISE_ITEMS.split(), "additional_tools", "other"]]
    + [
        "world_state",
        "retained_context",
        "inter_agent_communication",
        "inter_agent_communication_metadata",
        "state",
    ]
    + ["dynamic_tools_updated", "security_risk_score"]
)
