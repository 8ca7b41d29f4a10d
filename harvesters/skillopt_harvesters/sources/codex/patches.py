"""What a tool call does: the command line in its arguments, and the files its patch touches."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

SHELL_TOOLS = frozenset(
    {"shell", "shell_command", "exec_command", "container.exec", "local_shell", "unified_exec"}
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "pwsh", "powershell", "cmd"})
_SHELL_FLAG = re.compile(r"-\w*c|-Command|-EncodedCommand|/[cC]", re.ASCII)
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (?P<path>.{1,4096})$", re.MULTILINE)
_BEGIN_PATCH = "*** Begin Patch"
SKILL_FILE = "SKILL.md"
_CALL_IN_SCRIPT = re.compile(r"\btools\.(?P<tool>exec_command|shell_command|apply_patch)\(\s*")
_CMD_KEY = re.compile(r"""\{[^{}"'`]{0,200}?\b(?:cmd|command)\s*:\s*""")
_STRING = json.JSONDecoder(strict=False)
_MAX_CALLS = 64
_MAX_FILES = 200
_MAX_PATH = 4096
_SKILL_FILE = re.compile(r"(?P<name>[\w.-]{1,100})[/\\]SKILL\.md\b")
_READS = re.compile(r"\b(?:cat|head|tail|less|more|bat|nl|type|Get-Content|gc|sed\s+-n)\b")
_NEXT_COMMAND = re.compile(r"[|;&<>\n]")
_SIMPLE_COMMAND = 1000


def find_command(name: str, arguments: Any) -> str | None:
    """Return the command line in the arguments of a shell tool; None when it is no shell tool's.

    A list of words that only starts a shell is the line the shell was given.
    """
    if not isinstance(arguments, dict) or name.removeprefix("functions.") not in SHELL_TOOLS:
        return None
    for key in ("cmd", "command"):
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return join_words(value)
    return None


def join_words(words: list[Any]) -> str | None:
    """Return a command given as a list of words as one line."""
    if not words or not all(isinstance(word, str) for word in words):
        return None
    starts_shell = len(words) >= 3 and _SHELL_FLAG.fullmatch(words[-2])
    if starts_shell and _program_of(words[0][:_MAX_PATH]) in _SHELLS:
        return str(words[-1])
    return shlex.join(words)


@lru_cache(maxsize=64)
def _program_of(path: str) -> str:
    return PureWindowsPath(path).name.lower().removesuffix(".exe")


def find_files(text: str, folder: str) -> list[str]:
    """Return the files a patch names, in order, each once; relative ones below `folder`."""
    if _BEGIN_PATCH not in text:
        return []
    found: dict[str, None] = {}
    for match in _PATCHED.finditer(text):
        found[resolve(match["path"].strip(), folder)] = None
        if len(found) >= _MAX_FILES:
            break
    return list(found)


def resolve(path: str, folder: str) -> str:
    """Return a path below the folder it is relative to; as it is when the folder is not known."""
    if not folder or PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
        return path
    pure = PureWindowsPath(folder) if PureWindowsPath(folder).drive else PurePosixPath(folder)
    return str(pure / path)


def read_script(script: str, folder: str) -> tuple[list[str], list[str]]:
    """Return (command lines, files) of the tool calls a script makes, as far as they stand there plainly.

    A command that the script puts together while it runs is not found.
    """
    commands: list[str] = []
    files: dict[str, None] = {}
    for number, match in enumerate(_CALL_IN_SCRIPT.finditer(script)):
        if number >= _MAX_CALLS:
            break
        argument = _read_literal(script, match.end())
        if match["tool"] == "apply_patch":
            patch = argument if isinstance(argument, str) else None
            if isinstance(argument, dict):
                patch = next((value for value in argument.values() if isinstance(value, str)), None)
            files.update(dict.fromkeys(find_files(patch or "", folder)))
        else:
            command = find_command(match["tool"], argument)
            if command:
                commands.append(command)
    return commands, list(files)


def _read_literal(script: str, start: int) -> Any:
    """Return the JSON value at a place, or the `cmd` of an object whose keys are not quoted."""
    try:
        return _STRING.raw_decode(script, start)[0]
    except (ValueError, RecursionError):
        pass
    key = _CMD_KEY.match(script, start)
    if key is None:
        return None
    quote = script[key.end() : key.end() + 1]
    if quote == '"':
        try:
            return {"cmd": _STRING.raw_decode(script, key.end())[0]}
        except (ValueError, RecursionError):
            return None
    end = script.find(quote, key.end() + 1) if quote in {"'", "`"} else -1
    text = script[key.end() + 1 : end] if end >= 0 else ""
    return {"cmd": text} if text and "\\" not in text and "${" not in text else None


def find_skill(command: str, offered: dict[str, None]) -> str | None:
    """Return the skill whose instructions a command prints; skills are loaded that way."""
    if SKILL_FILE not in command:
        return None
    for match in itertools.islice(_SKILL_FILE.finditer(command), _MAX_CALLS):
        before = _NEXT_COMMAND.split(command[max(0, match.start() - _SIMPLE_COMMAND) : match.start()])[-1]
        is_skill = "skills/" in before.replace("\\", "/") or match["name"] in offered
        if is_skill and _READS.search(before):
            return match["name"]
    return None
