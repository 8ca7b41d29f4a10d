"""Tool calls as Copilot writes them."""

from __future__ import annotations

import msgspec

from skillopt_harvesters.calls import MAX_COMMAND, MAX_ERROR, CallDraft, clip, digest_of
from skillopt_harvesters.sources.copilot import words
from skillopt_harvesters.sources.copilot.records import Data, ToolInput, ToolResult
from skillopt_harvesters.sources.loose import decode_as, decode_text, opening_of

SHELLS = frozenset({"bash", "powershell", "shell", "local_shell", "run_in_terminal"})
_WRITERS_TEXT = (
    "create edit str_replace insert str_replace_editor create_file replace_string_in_file "
    "multi_replace_string_in_file insert_edit_into_file edit_notebook_file create_new_jupyter_notebook"
)
_WRITERS = frozenset(_WRITERS_TEXT.split())
_PATCHERS = frozenset({"apply_patch"})
_FAILED = "failure"
_READERS = frozenset({"view", "read_file"})
# A plan that the user wants changed, with words, is no failure to the client.
PLANNER = "exit_plan_mode"


def read_input(arguments: msgspec.Raw) -> ToolInput:
    """Decode the arguments of a call: an object, a string that holds one, or a bare patch."""
    given = decode_as(arguments, ToolInput)
    if given is None and opening_of(arguments) == b'"':
        text = decode_text(arguments)
        given = decode_as(text.encode("utf-8", "replace"), ToolInput) if text.startswith("{") else None
        return given or ToolInput(input=text)
    return given or ToolInput()


def make_call(name: str, call_id: str, arguments: msgspec.Raw, source: str) -> CallDraft:
    """Return a call with its command line or the files it writes."""
    given_as = bytes(arguments)
    if given_as.startswith(b'"'):
        given_as = decode_text(arguments).encode("utf-8", "replace")
    call = CallDraft(name=name, id=call_id, digest=digest_of(given_as), source=source)
    if name in SHELLS:
        command = read_input(arguments).command
        call.command = command and clip(command, MAX_COMMAND)
    elif name in _WRITERS:
        given = read_input(arguments)
        path = given.path or given.file_path
        # One tool of old clients reads files as well as writing them, by its argument `command`.
        call.files = [clip(path, MAX_ERROR)] if path and given.command != "view" else []
    elif name in _PATCHERS:
        call.files = words.find_patched_files(read_input(arguments).input or "")
    return call


def find_skill(name: str, arguments: msgspec.Raw) -> str | None:
    """Return the skill a call loads, by its tool or by reading its instructions."""
    if name == "skill":
        return (read_input(arguments).skill or "").strip("/ ").partition(" ")[0] or None
    if name in _READERS:
        given = read_input(arguments)
        return words.find_skill(given.path or given.file_path or "")
    return None


def close_call(call: CallDraft, data: Data) -> str | None:
    """Note how a call ended. Returns the user's words when the user rejected it ("" without any)."""
    call.closed = True
    if data.file_edits:
        edited = [clip(edit.path, MAX_ERROR) for edit in data.file_edits if edit.path]
        call.files = list(dict.fromkeys(edited))[: words.MAX_FILES]
    if data.success is False:
        call.fail(clip(_find_error(data), MAX_ERROR))
        return find_refusal(data)
    if call.name == PLANNER:
        result = decode_as(data.result, ToolResult)
        return words.find_plan_refusal(result.content or "") if result else None
    if data.shell_execution is not None:
        call.exit_code = data.shell_execution.exit_code
    if call.exit_code or (call.name in SHELLS and call.exit_code is None):
        result = decode_as(data.result, ToolResult) or ToolResult(content=decode_text(data.result))
        output = result.content or ""
        if call.exit_code is None:
            call.exit_code = words.find_exit_code(output)
        if call.exit_code:
            # The tool succeeded in running a command that did not.
            call.fail(output)
    return None


def find_refusal(data: Data) -> str | None:
    """Return the user's words in the error of a call that the user rejected; None for any other end.

    A tool of another program may call its error whatever it likes, but not give it the client's code.
    """
    if data.success is not False:
        return None
    told = decode_as(data.error, ToolResult)
    return None if told and told.code == _FAILED else words.find_refusal(clip(_find_error(data), MAX_ERROR))


def _find_error(data: Data) -> str:
    error = decode_as(data.error, ToolResult) or ToolResult(message=decode_text(data.error))
    if error.message:
        return error.message
    result = decode_as(data.result, ToolResult)
    return (result.content if result else None) or error.code or ""
