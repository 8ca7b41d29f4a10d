"""Small facts read off records: who wrote this, did that command end, whose folder is it."""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters.sources.claude import records

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
# Who starts the client for a person; programs are `sdk-...`.
PEOPLE = frozenset({"cli", "claude-desktop", "claude-vscode"})


class End(msgspec.Struct, frozen=True, array_like=True):
    """How a call ended, if it is a command line's that tells its exit code."""

    exit_code: int | None = None
    error: str | None = None


def read_end(record: records.Record, block: records.Block) -> End:
    """Return what a result says of the end of its call."""
    if not block.is_error:
        return End(0 if has_ended_well(record.tool_use_result) else None)
    text = records.join_text(block.content)
    code = _EXIT_CODE.match(text)
    return End(int(code[1]) if code else None, text)


def is_from_client(origin: msgspec.Raw) -> bool:
    """Newer clients say who wrote a message; only `human` is a person."""
    value = records.decode_any(origin)
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind is not None and kind != "human"


def is_clients_own(record: records.Record) -> bool:
    """Tell whether the client wrote what a user's record says, and shows it to the model alone."""
    return bool(
        record.is_compact_summary
        or record.is_visible_in_transcript_only
        or record.prompt_source == "system"
        or (record.origin is not records.NULL and is_from_client(record.origin))
    )


def is_refused(record: records.Record) -> bool:
    """Whether the client itself says, beside the result, that the user refused a call."""
    return (
        record.tool_use_result == "User rejected tool use"
        or records.decode_any(record.tool_denial_kind) == "user-rejected"
        or isinstance(records.decode_any(record.user_feedback), str)
        or is_declined(record)
    )


def is_declined(record: records.Record) -> bool:
    """Whether the user refused a call where an app or an editor asked, whatever that told the agent."""
    if record.permission_decision is records.NULL:
        return False
    decision = records.decode_any(record.permission_decision)
    return isinstance(decision, dict) and decision.get("source") == "user_reject"


def has_ended_well(outcome: object) -> bool:
    """Whether a command line ran to its end and well: not stopped, not sent to the background.

    Of commands such as `grep` the client explains an exit code that is not 0, and calls it no error.
    """
    if not isinstance(outcome, records.ToolOutcome):
        return True
    return not (outcome.interrupted or outcome.background_task_id or outcome.return_code_interpretation)


def strings_in(raw: msgspec.Raw) -> list[str]:
    """Return the strings of a list; empty when it is none."""
    if raw is records.NULL:
        return []
    value = records.decode_any(raw) if records.opening_of(raw) == b"[" else None
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def ends_work(record: records.Record) -> bool:
    """Tell whether the agent waits for a prompt behind a record: it has answered, or was interrupted."""
    blocks = record.message.blocks if record.message else []
    kinds = {block.type for block in blocks}
    if record.type == "assistant":
        return "text" in kinds and "tool_use" not in kinds
    return any((block.text or "").lstrip().startswith("[Request interrupted by user") for block in blocks)
