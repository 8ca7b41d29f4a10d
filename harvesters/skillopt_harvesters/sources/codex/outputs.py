"""What a tool's output says about how the call ended. The client keeps no flag for it, only the text."""

from __future__ import annotations

import re

import msgspec

from skillopt_harvesters.sources.codex.decode import decode_any, read_parts
from skillopt_harvesters.sources.codex.records import NULL

# All of these stand before the output proper, which may say anything.
_HEADER = 1024
_EXIT_CODE = re.compile(r"\A(?:[^\n]*\n){0,4}?(?:Exit code: |Process exited with code )(?P<code>-?\d{1,10})$", re.M)
_RUNNING = re.compile(r"\A(?:[^\n]*\n){0,4}?Process running with session ID (?P<id>\w{1,40})$", re.M)
_BODY = re.compile(r"^Output:\n", re.M)
_HEADED = re.compile(r"\A(?:Chunk ID: |Exit code: |Wall time:? |Script (?:completed|failed))")
_METADATA = re.compile(r'"metadata":\s*\{[^{}]*"exit_code":\s*(?P<code>-?\d{1,10})\b[^{}]*\}\s*\}?\s*\Z')
_REFUSED = re.compile(
    r"\A\s*(?:(?:exec command|patch|command) rejected by user\.?"
    r"|user (?:rejected|cancelled) MCP tool call\.?"
    r"|exec_command failed\b[^\n]{0,4096}Rejected\(\\?\"rejected by user\\?\"\)[^\n]{0,40})\s*\Z"
)
_ABORTED = re.compile(
    r"\A\s*(?:Wall time:? [\d.]+ seconds\s+)?(?:aborted|aborted by user)(?: after [\d.]+ ?s)?\s*\Z"
)
_FAILED = re.compile(
    r"\A\s*(?:exec_command failed|write_stdin failed|apply_patch verification failed|patch rejected"
    r"|Script (?:failed|error)|execution error|failed to (?:parse|spawn|handle|read|apply)"
    r"|unsupported (?:custom tool )?call|tool call error|err: |command timed out)"
)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended. `error` is the tool's text when it failed; `process` still runs under that id."""

    exit_code: int | None = None
    error: str | None = None
    refused: bool = False
    interrupted: bool = False
    process: str | None = None


def read_output(raw: msgspec.Raw) -> Outcome:
    """Return the outcome an output tells, in any of the shapes it has had."""
    text, success = _read_text(raw)
    if len(text) <= 8192:
        if _REFUSED.match(text):
            return Outcome(error=text, refused=True)
        if _ABORTED.match(text):
            return Outcome(error=text, interrupted=True)
    if text.startswith("{"):
        metadata = _METADATA.search(text, max(0, len(text) - 400))
        if metadata:
            code = _to_status(metadata["code"])
            return Outcome(exit_code=code, error=_read_json_error(text) if code else None)
    if _HEADED.match(text):
        header = text[:_HEADER]
        body = _BODY.search(header)
        if body:
            header = header[: body.start()]
        exited = _EXIT_CODE.match(header)
        if exited:
            code = _to_status(exited["code"])
            return Outcome(exit_code=code, error=_tail(text, body) if code else None)
        running = _RUNNING.match(header)
        if running:
            return Outcome(process=running["id"])
        if text.startswith("Script failed"):
            return Outcome(error=_tail(text, body))
        return Outcome()
    if success is False or _FAILED.match(text):
        return Outcome(error=text or "failed")
    return Outcome()


def _read_text(raw: msgspec.Raw) -> tuple[str, bool | None]:
    """Return the text of an output and whether it says of itself that it succeeded."""
    if raw is NULL:
        return "", None
    opening = bytes(memoryview(raw)[:1])
    if opening == b'"':
        value = decode_any(raw)
        return (value if isinstance(value, str) else ""), None
    if opening == b"[":
        return "".join(part.text or "" for part in read_parts(raw)), None
    value = decode_any(raw)
    if not isinstance(value, dict):
        return "", None
    success = value.get("success")
    content = next((value[key] for key in ("content", "output", "body") if key in value), "")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(text for text in texts if isinstance(text, str))
    metadata = value.get("metadata")
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    if isinstance(code, int) and isinstance(content, str):
        content = f"Exit code: {code}\nOutput:\n{content}"
    return (content if isinstance(content, str) else ""), success if isinstance(success, bool) else None


def _read_json_error(text: str) -> str:
    value = decode_any(msgspec.Raw(text.encode("utf-8", "replace")))
    output = value.get("output") if isinstance(value, dict) else None
    return output if isinstance(output, str) and output else text[-400:]


def _tail(text: str, body: re.Match[str] | None) -> str:
    return (text[body.end() :] if body else "").strip() or text


def _to_status(digits: str) -> int | None:
    code = int(digits)
    return code if -(2**31) <= code < 2**32 else None
