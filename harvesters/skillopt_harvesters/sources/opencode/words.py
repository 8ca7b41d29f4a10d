"""What a person did: typed words, gave a command of the client's own, refused a tool."""

from __future__ import annotations

import re

import msgspec

# The client's own commands become these prompts; what was typed after the command stands in them.
_BUILT_IN = (
    (
        "/init",
        re.compile(r"Create or update `AGENTS\.md` for this repository\.\n"),
        "(honor these):\n",
        "\n\n## ",
    ),
    (
        "/init",
        re.compile(r"Please analyze this codebase and create an AGENTS\.md file containing:\n"),
        None,
        None,
    ),
    ("/review", re.compile(r"You are a code reviewer\. Your job is to review code changes"), "Input: ", "\n"),
)
_OLD_INIT = re.compile(r"\n[^\n]*improve it if it's located in [^\n]*(?:\n|\Z)(?P<arguments>.*)\Z", re.DOTALL)
_REFUSED = re.compile(
    r"(?:Error: )?The user rejected permission to use this specific tool call"
    r"(?: with the following feedback: (?P<words>.*)|\b.*)\Z",
    re.DOTALL,
)
_DISMISSED = re.compile(r"(?:Error: )?The user dismissed this question")
_RAN = "The following tool was executed by the user"


class Words(msgspec.Struct, frozen=True):
    """A prompt, or a command with its arguments."""

    prompt: str
    command: str | None = None


class Refusal(msgspec.Struct, frozen=True):
    """The user said no; `words` are the reason typed, if any."""

    words: str = ""


def find_words(text: str) -> Words:
    """Return what was typed: the words themselves, or the command whose template they are."""
    for command, opening, before, after in _BUILT_IN:
        if not opening.match(text):
            continue
        if before is None or after is None:
            match = _OLD_INIT.search(text)
            return Words(match["arguments"].strip() if match else "", command)
        rest = text.partition(before)[2]
        return Words(rest.partition(after)[0].strip(), command)
    return Words(text.strip())


def find_refusal(error: str) -> Refusal | None:
    """Return the user's refusal in a tool's error; None when the tool failed, or a rule forbade it."""
    match = _REFUSED.match(error)
    if match:
        return Refusal((match["words"] or "").strip())
    return Refusal() if _DISMISSED.match(error) else None


def announces_shell(text: str) -> bool:
    """Tell whether the client says that the user ran a line: the call comes in the next message."""
    return text.startswith(_RAN)
