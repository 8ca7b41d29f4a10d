"""What a tool's output says about how the call ended. The client keeps no flag for it, only the text."""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters.fitting import to_whole
from skillopt_harvesters.sources.codex.decode import decode_any, to_parts
from skillopt_harvesters.sources.codex.records import NULL

# How the output of a command that ended well begins, or ends, as JSON.
_ENDED_WELL = re.compile(
    rb'"(?:Chunk ID: [^\\"]{0,40}\\n)?(?:Wall time: [^\\"]{0,40}\\n)?'
    rb"(?:Exit code: 0|Process exited with code 0)\\n"
)
_ENDING_WELL = re.compile(rb'\\"metadata\\":\{\\"exit_code\\":0[,}][^{}]{0,80}\}?\}"\Z')
# All of these stand before the output proper, which may say anything.
_HEADER = 1024
_LONG = 8192
_EXIT_CODE = re.compile(
    r"\A(?:[^\n]*\n){0,4}?(?:Exit code: |Process exited with code )(?P<code>-?\d{1,10})$", re.M
)
_RUNNING = re.compile(r"\A(?:[^\n]*\n){0,4}?Process running with session ID (?P<id>\w{1,40})$", re.M)
_BODY = "\nOutput:\n"
_HEADED = re.compile(r"\A(?:Chunk ID: |Exit code: |Wall time:? |Script (?:completed|failed))")
_METADATA = re.compile(r'"metadata":\s*\{[^{}]*"exit_code":\s*(?P<code>-?\d{1,10})\b[^{}]*\}\s*\}?\s*\Z')
_REFUSED = re.compile(
    r"\A\s*(?:(?:exec command|patch|command) rejected by user\.?"
    r"|user (?:rejected|cancelled) MCP tool call\.?"
    r"|exec_command failed\b.*Rejected\(\\?\"rejected by user\\?\"\)[^\n]{0,40})\s*\Z",
    re.DOTALL,
)
_ABORTED = re.compile(
    r"\A\s*(?:Wall time:? [\d.]+ seconds\s+)?(?:aborted|aborted by user)(?: after [\d.]+ ?s)?\s*\Z"
)
_FAILED = re.compile(
    r"\A\s*(?:exec_command failed|write_stdin failed|apply_patch verification failed|patch rejected"
    r"|Script (?:failed|error)|execution error|failed to (?:parse|spawn|handle|read|apply)"
    r"|unsupported (?:custom tool )?call|tool call error|err: |command timed out"
    r"|This action was rejected due to)"
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended. `error` is the tool's text when it failed; `process` still runs under that id."""

    exit_code: int | None = None
    error: str | None = None
    refused: bool = False
    interrupted: bool = False
    process: str | None = None


_WELL = Outcome(exit_code=0)


def read_output(raw: msgspec.Raw) -> Outcome:
    """Return the outcome an output tells, in any of the shapes it has had."""
    if has_ended_well(raw):
        return _WELL
    text, success = _read_text(raw)
    if is_refusal(text):
        return Outcome(error=text, refused=True)
    if len(text) <= _LONG and _ABORTED.match(text):
        return Outcome(error=text, interrupted=True)
    metadata = _METADATA.search(text, max(0, len(text) - 400)) if text.startswith("{") else None
    if metadata:
        code = _to_status(metadata["code"])
        return Outcome(exit_code=code, error=_read_json_output(text) or f"exit code {code}" if code else None)
    if _HEADED.match(text):
        return _read_headed(text)
    failed = success is False or _FAILED.match(text)
    return Outcome(error=(text or "failed") if failed else None)


def is_refusal(text: str) -> bool:
    """Tell whether the client says, instead of what a tool printed, that the user refused the call."""
    return len(text) <= _LONG and _REFUSED.match(text) is not None


def has_ended_well(raw: msgspec.Raw) -> bool:
    """Tell, of nearly all outputs of commands that did, that the command ended well, and nothing else."""
    view = memoryview(raw)
    if _ENDED_WELL.match(view):
        return True
    return bytes(view[1:2]) == b"{" and _ENDING_WELL.search(view, max(0, len(view) - 200)) is not None


def _read_headed(text: str) -> Outcome:
    """Return what the lines before the output proper tell."""
    head, found, _ = text[:_HEADER].partition(_BODY)
    header = head + "\n" if found else head
    output = text[len(head) + len(_BODY) :] if found else ""
    exited = _EXIT_CODE.match(header)
    if exited:
        code = _to_status(exited["code"])
        return Outcome(exit_code=code, error=output or f"exit code {code}" if code else None)
    running = _RUNNING.match(header)
    failed = text.startswith("Script failed")
    return Outcome(error=(output or text) if failed else None, process=running["id"] if running else None)


def _read_text(raw: msgspec.Raw) -> tuple[str, bool | None]:
    """Return the text of an output and whether it says of itself that it succeeded."""
    if raw is NULL:
        return "", None
    opening = bytes(memoryview(raw)[:1])
    if opening == b'"':
        value = decode_any(raw)
        return (value if isinstance(value, str) else ""), None
    if opening == b"[":
        return "".join(part.text or "" for part in to_parts(decode_any(raw))), None
    value = decode_any(raw)
    if not isinstance(value, dict):
        return "", None
    success = value.get("success")
    content = next((value[key] for key in ("content", "output", "body") if key in value), "")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    metadata = value.get("metadata")
    code = to_whole(metadata.get("exit_code")) if isinstance(metadata, dict) else None
    if code is not None and isinstance(content, str):
        content = f"Exit code: {code}\nOutput:\n{content}"
    return (content if isinstance(content, str) else ""), success if isinstance(success, bool) else None


def _read_json_output(text: str) -> str:
    value = decode_any(msgspec.Raw(text.encode("utf-8", "replace")))
    output = value.get("output") if isinstance(value, dict) else None
    return output if isinstance(output, str) else ""


def _to_status(digits: str) -> int | None:
    code = int(digits)
    return code if -(2**31) <= code < 2**32 else None
