"""Reads command lines as words, the way a shell would, and finds one command inside another."""

from __future__ import annotations

import re
import shlex

# Stands between two commands; no word of a command line can equal it.
BREAK = "\n"
_OPERATORS = frozenset("();<>|&")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_SHELL_OPTION = re.compile(r"-[a-z]*c\Z")
_MAX_DEPTH = 3
_PROMPT = re.compile(r"^\s*[$>#%]\s+")
_MAX_WRITTEN = 200


def split_words(line: str, depth: int = 0) -> list[str]:
    """Return the words of a command line, with BREAK wherever one command ends and another starts.

    Quotes are removed, redirections count as breaks, and the script given to `sh -c` is read as well. A
    line that no shell would accept is split at white space and operators.
    """
    lexer = shlex.shlex(_join_lines(line), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        raw = list(lexer)
    except ValueError:
        raw = re.findall(r"[();<>|&]+|[^\s();<>|&]+", line)
    words: list[str] = []
    for word in raw:
        if word and set(word) <= _OPERATORS:
            words.append(BREAK)
        elif depth < _MAX_DEPTH and _is_script(words, word):
            words += [BREAK, *split_words(word, depth + 1), BREAK]
        else:
            words.append(word)
    return words


def list_written(text: str) -> tuple[str, ...]:
    """Return the lines of a text as the command lines they would be, code marks and shell prompts removed.

    For agents that cannot run anything: what they write down counts as what they would run.
    """
    lines = (_PROMPT.sub("", line.replace("`", " ")).strip() for line in text.splitlines())
    return tuple(line for line in lines if line)[:_MAX_WRITTEN]


def contains_command(line: str, command: str) -> bool:
    """Return whether `line` runs the words of `command`, in order and adjacent, anywhere in it."""
    wanted = split_words(command)
    while wanted and wanted[-1] == BREAK:
        wanted.pop()
    while wanted and wanted[0] == BREAK:
        del wanted[0]
    if not wanted:
        return False
    words = split_words(line)
    return any(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1))


def _join_lines(line: str) -> str:
    """Make line ends the breaks they are to a shell, and continued lines one."""
    return line.replace("\\\n", " ").replace("\n", " ; ")


def _is_script(words: list[str], word: str) -> bool:
    return (
        len(words) >= 2
        and _SHELL_OPTION.match(words[-1]) is not None
        and words[-2].rpartition("/")[2] in _SHELLS
        and any(c.isspace() for c in word)
    )
