"""Events of Copilot, decoded: only the keys that are read, wrong types tolerated.

The CLI's `events.jsonl` and the VS Code extension's transcripts are lines of the same envelope.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from skillopt_harvesters.sources.loose import NULL

# Numbers outside of these are no counts and no exit codes, whatever wrote them.
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
ExitCode = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**32)]

# Events that say nothing about the conversation, told by the first bytes and not decoded, unless another one
# may be on their line. Hooks repeat the arguments and results of tools; after a compaction `model.*` repeats
# all messages.
OPENING = b'{"type":"'
NOISE = tuple(
    OPENING + name
    for name in (
        b"hook.",
        b"model.",
        b"assistant.turn_",
        b"assistant.reasoning",
        b"assistant.fusion_",
        b"permission.requested",
        b"permission.message",
        b"session.binary_asset",
        b"session.compaction_",
        b"session.fusion_",
        b"session.usage_checkpoint",
        b"session.usage_info",
        b"session.truncation",
        b"session.info",
        b"session.warning",
        b"session.plan_changed",
        b"session.mode_",
        b"session.auto_",
        b"skill.context_",
        b"subagent.",
        b"system.notification",
        b"tool.execution_p",
        b"tool.shell_output",
    )
)
_READ = (
    "session.start session.resume session.context_changed session.model_change session.import_legacy "
    "session.shutdown session.usage_record session.error user.message system.message assistant.message "
    "assistant.usage tool.user_requested tool.execution_start tool.execution_complete skill.invoked "
    "skill.invoked_ref permission.completed abort"
)
_IGNORED = (
    "agent.interrupted assistant.idle assistant.intent assistant.message_delta assistant.message_start "
    "assistant.server_tool_progress assistant.streaming_delta assistant.tool_call_delta assistant.turn_retry "
    "auto_mode_switch.completed auto_mode_switch.requested capabilities.changed command.completed "
    "command.execute command.queued commands.changed elicitation.completed elicitation.requested "
    "exit_plan_mode.completed exit_plan_mode.requested external_tool.completed external_tool.requested "
    "human_response.recorded mcp.headers_refresh_completed mcp.headers_refresh_required "
    "mcp.oauth_completed mcp.oauth_recovery_completed mcp.oauth_required mcp.prompts.list_changed "
    "mcp.resources.list_changed mcp.tools.list_changed mcp_app.tool_call_complete pending_messages.modified "
    "permission.assentDetected permission.carriedForward permission.contextualAuthorization "
    "prompt_cache_break sampling.completed sampling.requested sandbox.decision session.auto_mode_resolved "
    "session.auto_tier_recommendation session.auto_tier_switch_failed session.autopilot_objective_changed "
    "session.autopilot_stopped session.background_tasks_changed session.completion_receipt "
    "session.context_cleared session.custom_agents_updated session.custom_notification "
    "session.extensions_loaded session.handoff session.idle session.indexed_search session.info "
    "session.managed_plugin_progress session.managed_settings_enforced session.managed_settings_resolved "
    "session.mcp_server_needs_reconnect session.mcp_server_removed session.mcp_server_status_changed "
    "session.mcp_server_tools_loaded session.mcp_servers_loaded session.memory_changed session.mode_changed "
    "session.mode_notice_delivered session.model_deselected session.permission_recovery "
    "session.permissions_changed session.plan_changed session.quota_observation "
    "session.remote_steerable_changed session.request_body_compression_disabled session.schedule_cancelled "
    "session.schedule_created session.schedule_rearmed session.session_limits_changed session.skills_loaded "
    "session.snapshot_rewind session.task_complete session.title_changed session.todos_changed "
    "session.tools_updated session.warning session.workspace_file_changed session_limits_exhausted.completed "
    "session_limits_exhausted.requested skill.context_delivered skill.context_delivered_ref "
    "subagent.completed subagent.configured subagent.deselected subagent.failed subagent.selected "
    "subagent.started tool_search.activated ui.ephemeral_query user_input.completed user_input.requested "
    "workflow.run_settled workflow.run_started workflow.run_updated"
)
READ = frozenset(_READ.split())
KNOWN = READ | frozenset(_IGNORED.split())
_KNOWN_FAMILIES = (
    *(prefix[len(OPENING) :].decode() for prefix in NOISE),
    "session.canvas.",
    "session.extensions.",
)


def is_known(name: str) -> bool:
    """Tell whether an event type is one the clients are known to write."""
    return name in KNOWN or name.startswith(_KNOWN_FAMILIES)


class Context(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Where the agent works."""

    cwd: str | None = None
    branch: str | None = None
    head_commit: str | None = None


class ToolRequest(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A tool call in a message; the arguments are an object or a string that holds one."""

    tool_call_id: str | None = None
    name: str | None = None
    arguments: msgspec.Raw = NULL


class ShellExecution(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """How a command line ended."""

    exit_code: ExitCode | None = None


class FileEdit(msgspec.Struct, frozen=True, gc=False):
    """A file a tool wrote."""

    path: str | None = None


class Usage(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Tokens of one model call."""

    api_call_id: str | None = None
    model: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class Data(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """The payload of an event of any type."""

    copilot_version: str | None = None
    selected_model: str | None = None
    new_model: str | None = None
    context: Context | None = None
    cwd: str | None = None
    branch: str | None = None
    head_commit: str | None = None
    detached_from_spawning_parent_session_id: str | None = None
    role: str | None = None
    content: str | None = None
    transformed_content: str | None = None
    source: str | None = None
    agent_mode: str | None = None
    is_autopilot_continuation: bool | None = None
    message_id: str | None = None
    api_call_id: str | None = None
    chunk_count: Count | None = None
    model: str | None = None
    output_tokens: Count | None = None
    tool_requests: list[ToolRequest] | None = None
    parent_tool_call_id: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    arguments: msgspec.Raw = NULL
    success: bool | None = None
    result: msgspec.Raw = NULL
    error: msgspec.Raw = NULL
    shell_execution: ShellExecution | None = None
    file_edits: list[FileEdit] | None = None
    name: str | None = None
    trigger: str | None = None
    reason: str | None = None
    usage: Usage | None = None
    model_metrics: msgspec.Raw = NULL
    legacy_session: msgspec.Raw = NULL
    input_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class Event(msgspec.Struct, frozen=True, rename="camel", kw_only=True, gc=False):
    """One line."""

    type: str | None = None
    data: Data | None = None
    id: str | None = None
    timestamp: str | int | float | None = None
    agent_id: str | None = None
    ephemeral: bool | None = None


class ToolResult(msgspec.Struct, frozen=True, gc=False):
    """What a tool gave back, and why it failed."""

    content: str | None = None
    message: str | None = None
    code: str | None = None
    kind: str | None = None
    feedback: str | None = None


class ToolInput(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The arguments of the tools that matter: a command line, a file, a patch, a skill."""

    command: str | None = None
    path: str | None = None
    file_path: str | None = None
    skill: str | None = None
    input: str | None = None
