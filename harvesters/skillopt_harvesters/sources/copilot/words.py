"""The user's own words in what Copilot records, and what its texts tell."""

from __future__ import annotations

import re

import msgspec

# Elements the clients put around a prompt.
_TAGS = (
    "current_datetime|reminder|system_reminder|system-reminder|system_notification|sql_tables|tagged_files"
    "|environment_info|workspace_info|context|editorContext|reminderInstructions|attachments|attachment"
    "|todoList|userMemory|skill-context|custom_instruction|session_context"
)
_LEADING = re.compile(rf"\s*<(?P<tag>{_TAGS})\b[^>]*>.*?</(?P=tag)>\s*", re.DOTALL)
_TRAILING = re.compile(rf"<(?P<tag>{_TAGS})\b[^>]*>(?:(?!<(?P=tag)\b).)*</(?P=tag)>\s*\Z", re.DOTALL)
# Behind one that a client wrote stands no blank: then somebody writes about the element.
_UNCLOSED = re.compile(rf"\s*<(?:{_TAGS})\b(?![^<>]*> )")
_REQUEST, _REQUEST_END = "<userRequest>", "</userRequest>"
# A command is one word; a path has a second slash, or is a folder everybody has.
_COMMAND = re.compile(r"/(?P<name>[A-Za-z][\w:-]*)(?![\w/.:-])\s*(?P<arguments>.*)\Z", re.DOTALL)
_MENTION = re.compile(r"@[\w.-]+\s+(?=/)")
_FOLDERS = frozenset(
    "bin boot dev etc home lib media mnt opt private proc root run sbin srv sys tmp usr var".split()
)
# What the client shows for commands that it has words of its own for, and how it tells the model of each.
_SHOWN = re.compile(
    r"(?:[^\n]{1,400}\n\n(?=Researching: ))?"
    r"(?P<label>Review|Security Review|Rubber duck|Diagnose|Fleet deployed|Researching)"
    r"(?:: (?P<arguments>.*))?\Z",
    re.DOTALL,
)
_TOLD = {
    "Review": ("/review", "via the /review command"),
    "Security Review": ("/security-review", "via the /security-review command"),
    "Rubber duck": ("/rubber-duck", "via the /rubber-duck command"),
    "Diagnose": ("/diagnose", "via the /diagnose command"),
    "Fleet deployed": ("/fleet", "You are now in fleet mode."),
    "Researching": ("/research", "RESEARCH ORCHESTRATOR"),
}
_NO_ARGUMENTS = frozenset(
    {"my code changes", "analyzing for vulnerabilities", "the current approach", "this session"}
)
# What it shows where nobody gave words, the sign in what the model is told, and the command if there was one.
_WORDLESS = (
    (re.compile(r"Summarizing \d+ changelogs?…\Z"), "Summarize the following changelogs", "/changelog"),
    (
        re.compile(r"Continue the work that was interrupted\.\Z"),
        "This session was interrupted while you were working.",
        None,
    ),
)
# The source of what the client shows for `/autopilot`; an objective that is taken up again is told again.
OBJECTIVE = "autopilot-objective"
_OBJECTIVE = re.compile(r"(?P<again>Resume autopilot|Autopilot) objective: (?P<text>.*)\Z", re.DOTALL)
_REJECTED = (
    "The user rejected this tool call",
    "The tool call required approval from the user, but the user rejected",
)
_FEEDBACK = re.compile(r"\bUser feedback:\s*(?P<text>.*)\Z", re.DOTALL)
# How the user's no to a plan is told, with these words where none were given.
_PLAN_REFUSED = re.compile(
    r"Plan not approved\. User feedback:\n\n(?P<text>.*?)"
    r"(?:\n\nPlease update the plan based on this feedback and try again\.)?\Z",
    re.DOTALL,
)
_NO_FEEDBACK = "User requested changes but did not provide specific feedback."
_EXIT_CODE = re.compile(r"<(?:shellId: \S+ completed|exited) with exit code (?P<code>-?\d{1,10})>\s*\Z")
_TAIL = 200
_OFFERED = re.compile(r"<available_skills>(?P<list>.*?)</available_skills>", re.DOTALL)
_SKILL_NAME = re.compile(r"<name>\s*(?P<name>[^<\s]{1,100})\s*</name>")
_UNATTENDED = "non-interactive mode"
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (?P<path>.+)$", re.MULTILINE)
_SKILL_FILE = re.compile(r"[/\\](?P<name>[^/\\]+)[/\\]SKILL\.md\Z")
MAX_FILES = 200


class Words(msgspec.Struct, frozen=True):
    """A prompt, or a slash command with the prompt as its arguments."""

    prompt: str = ""
    command: str | None = None


def find_words(content: str, told: str = "") -> Words:
    """Return what the user typed; empty when the client wrote all of it.

    `told` is what the model was given for it, where that is recorded.
    """
    text = strip_injected(content)
    shown = _SHOWN.match(text) if told else None
    if shown:
        command, sign = _TOLD[shown["label"]]
        # With these words a prompt begins that somebody types, too; then the model is given just that.
        if sign in told and sign not in text:
            typed = (shown["arguments"] or "").strip()
            return Words("" if typed in _NO_ARGUMENTS else typed, command)
    for pattern, sign, wordless in _WORDLESS:
        if pattern.match(text) and sign in told:
            return Words("", wordless)
    match = _COMMAND.match(text, _after_mention(text))
    if match and match["name"] not in _FOLDERS:
        return Words(match["arguments"].strip(), "/" + match["name"])
    return Words(text)


def find_objective(content: str) -> Words:
    """Return the objective a user set with `/autopilot`; the command alone goes on with an earlier one."""
    told = _OBJECTIVE.match(content)
    if told is None:
        return Words(content.strip(), "/autopilot")
    return Words("" if told["again"] != "Autopilot" else told["text"].strip(), "/autopilot")


def _after_mention(text: str) -> int:
    match = _MENTION.match(text)
    return match.end() if match else 0


def strip_injected(text: str) -> str:
    """Take the client's elements off both ends of a text."""
    if "<" in text:
        while True:
            leading = _LEADING.match(text)
            if not leading:
                break
            text = text[leading.end() :]
        if _UNCLOSED.match(text):
            return ""
        while text.rstrip().endswith(">"):
            trailing = _TRAILING.search(text)
            if not trailing:
                break
            text = text[: trailing.start()]
        text = text.strip()
        if text.startswith(_REQUEST) and text.endswith(_REQUEST_END):
            text = text[len(_REQUEST) : -len(_REQUEST_END)]
    return text.strip()


def find_refusal(error: str) -> str | None:
    """Return the user's words when the user rejected a tool call ("" without any), None when nobody did."""
    if not error.startswith(_REJECTED):
        return find_plan_refusal(error)
    feedback = _FEEDBACK.search(error)
    return feedback["text"].strip() if feedback else ""


def find_plan_refusal(told: str) -> str | None:
    """Return what the user wants changed in a plan ("" without words), None when it was not refused."""
    plan = _PLAN_REFUSED.match(told)
    if plan is None:
        return None
    return "" if plan["text"] == _NO_FEEDBACK else plan["text"].strip()


def find_exit_code(output: str) -> int | None:
    """Return the exit code the client adds to the output of a command line."""
    match = _EXIT_CODE.search(output[-_TAIL:])
    return int(match["code"]) if match else None


def find_offered_skills(prompt: str) -> list[str]:
    """Return the names of the skills a system prompt lists."""
    offered = _OFFERED.search(prompt)
    return _SKILL_NAME.findall(offered["list"]) if offered else []


def is_unattended(prompt: str) -> bool:
    """Tell from a system prompt that nobody could be asked: the client ran with a prompt as its argument."""
    return _UNATTENDED in prompt[:2000]


def find_patched_files(patch: str) -> list[str]:
    """Return the files a patch is for."""
    return [match["path"].strip() for match in _PATCHED.finditer(patch)][:MAX_FILES]


def find_skill(path: str) -> str | None:
    """Return the name of the skill whose instructions a path leads to."""
    match = _SKILL_FILE.search(path)
    return match["name"] if match else None
