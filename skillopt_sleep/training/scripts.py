"""Edits of files that are no Markdown: scripts and data, by lines, without judging what they mean."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable
from functools import partial

import tomlkit
import yaml
from tomlkit.exceptions import ParseError

from skillopt_sleep.training.anchors import Anchor
from skillopt_sleep.training.contents import Change, EditRefused, drop_invisible
from skillopt_sleep.training.inserts import newline_of
from skillopt_sleep.training.records import Edit

_SHEBANG = re.compile(r"#!\s*(?:\S*/env\s+)?(?:\S*/)?([\w-]+)")
_LANGUAGES = {"python": ".py", "python3": ".py", "sh": ".sh", "bash": ".bash"}
_SHELL_SECONDS = 10.0


def edit_script(text: str, edit: Edit, *, suffix: str) -> Change:
    """Return the text of a script or data file with the edit made in it.

    `add` appends lines, `insert_after` puts them after the line on which the target ends; a target must be
    there exactly once, character for character. A file in Python, shell, JSON, YAML or TOML (by `suffix`, or
    else by its first line) that could be read before can be read after. Raises EditRefused.
    """
    newline = newline_of(text)
    content = _clean(edit) if edit.op != "delete" else ""
    content = content.replace("\n", newline)
    if edit.op == "add":
        if _has_lines(text, content):
            raise EditRefused("the file has these lines already")
        lead = newline if text and not text.endswith("\n") else ""
        change = Change(f"{text}{lead}{content}{newline}", "added at the end")
    else:
        change = _change_at(text, edit, content, newline)
    if change.body == text:
        raise EditRefused("the edit changes nothing")
    fault = _find_fault(change.body, suffix)
    if fault and not _find_fault(text, suffix):
        raise EditRefused(f"the file could not be read any more: {fault}", miss=True)
    return change


def _change_at(text: str, edit: Edit, content: str, newline: str) -> Change:
    anchor = _locate(text, edit.target, newline)
    start, end, _ = anchor
    if edit.op == "insert_after":
        feed = text.find("\n", max(end - 1, start))
        offset = len(text) if feed < 0 else feed + 1
        if text[offset:].startswith(content):
            raise EditRefused("the file has these lines there already")
        lead = "" if feed >= 0 else newline
        line = text.count("\n", 0, offset) or 1
        return Change(
            f"{text[:offset]}{lead}{content}{newline}{text[offset:]}",
            f"inserted after line {line}",
            anchor=anchor,
        )
    if edit.op == "replace":
        return Change(text[:start] + content + text[end:], "replaced", (start, end), anchor)
    whole = (start == 0 or text[start - 1] == "\n") and text[end:].startswith(newline)
    end += len(newline) if whole else 0
    return Change(text[:start] + text[end:], "deleted", (start, end), anchor)


def _clean(edit: Edit) -> str:
    content = drop_invisible(edit.content).strip("\n")
    if not content.strip():
        raise EditRefused("the content is empty")
    return content


def _locate(text: str, target: str, newline: str) -> Anchor:
    wanted = target.replace("\r\n", "\n").strip("\n").replace("\n", newline)
    if not wanted.strip():
        raise EditRefused("the target is empty", miss=True)
    found = [match.start() for match in re.finditer(f"(?={re.escape(wanted)})", text)]
    if len(found) != 1:
        detail = f"is in the file {len(found)} times: quote more of it" if found else "is not in the file"
        raise EditRefused(f"the target {detail}", miss=True)
    return Anchor(found[0], found[0] + len(wanted), exact=True)


def _has_lines(text: str, content: str) -> bool:
    """Say whether the text has the content as lines of its own."""
    lines, wanted = text.splitlines(), content.splitlines()
    return any(lines[i : i + len(wanted)] == wanted for i in range(len(lines) - len(wanted) + 1))


def _find_fault(text: str, suffix: str) -> str:
    """Return why a file of this kind cannot be read, "" when it can or when nothing is known of its kind."""
    read = _READERS.get(suffix or _find_language(text))
    if read is None:
        return ""
    try:
        read(text)
    except (SyntaxError, ValueError, yaml.YAMLError, ParseError, RecursionError, MemoryError) as error:
        return " ".join(str(error).split())[:200]
    return ""


def _find_language(text: str) -> str:
    """Return the suffix that a script without one would have, by the program its first line names."""
    named = _SHEBANG.match(text)
    return (
        {"python": ".py", "python3": ".py", "sh": ".sh", "bash": ".bash"}.get(named[1], "") if named else ""
    )


def _read_python(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ast.parse(text)


def _read_yaml(text: str) -> None:
    for _ in yaml.parse(text, Loader=yaml.SafeLoader):
        pass


def _read_shell(text: str, program: str) -> None:
    """Have the shell read the script without running it. Raises SyntaxError."""
    found = shutil.which(program)
    if found is None:
        return
    try:
        done = subprocess.run(
            [found, "-n"],
            input=text.encode(),
            env={"PATH": "/nonexistent", "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SHELL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SyntaxError(f"{program} did not read it: {error}") from error
    if done.returncode != 0:
        raise SyntaxError(done.stderr.decode("utf-8", "replace"))


_READERS: dict[str, Callable[[str], object]] = {
    ".py": _read_python,
    ".json": json.loads,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
    ".toml": tomlkit.parse,
    ".sh": partial(_read_shell, program="sh"),
    ".bash": partial(_read_shell, program="bash"),
}
