"""The user's own words in a message: everything the client put in or around them is taken off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.calls import digest_of
from skillopt_harvesters.sources.codex.records import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

# Elements the client puts into the user's messages, each with a closing tag. `external_…` and `codex_…` are
# whole families of them.
_INJECTED = """
environment_context user_instructions (?-i:INSTRUCTIONS) permissions(?=\\sinstructions>) skills_instructions
skill turn_aborted user_shell_command user_action subagent_notification goal_context hook_prompt
extension_context collaboration_mode multi_agent_role multi_agent_mode model_switch personality_spec
realtime_conversation heartbeat(?=>\\s*<automation_id>) external_\\w{1,60} codex_\\w{1,60}
"""
_CLOSING = re.compile(r"</(?P<tag>\w{1,80})(?:\s[^<>]{0,80})?>")
_TAG = re.compile(rf"\s*<(?P<tag>{'|'.join(_INJECTED.split())})(?:\s[^<>]*)?>", re.IGNORECASE)
_ANY_TAG = re.compile(r"\s*<(?P<tag>[A-Za-z][\w-]{0,60})(?:\s[^<>]*)?>")
_CLIENT_SPEAKS = re.compile(
    r"\s*(?:# AGENTS\.md instructions\b"
    r"|Another language model started to solve this problem and produced a summary"
    r"|You were originally given instructions from a user over one or more turns\."
    r"|The following is the Codex agent history"
    r"|You are now a newly spawned child agent\."
    r"|Side conversation boundary\.\r?\n"
    r"|The server restarted and interrupted the previous turn\. Continue the unfinished work\b"
    # What the desktop starts by the clock, with the words its user once set.
    r"|Automation: [^\n]*\r?\nAutomation ID: [^\n]*\r?\nAutomation memory: "
    r"|Warning: (?:apply_patch was requested via|The maximum number of unified exec processes"
    r"|Your account was flagged))"
)
_IMAGE = re.compile(r"\s*</?image(?:\s[^<>]*)?>\s*")
_IMAGE_AT_END = re.compile(r"<image(?:\s[^<>]*)?>\s*</image>")
_LONGEST_IMAGE = 8192
_REQUEST = re.compile(r"^## My request for Codex:?[ \t]*$", re.MULTILINE)
_FRAMED = re.compile(r"\s*# \S")
_PLAN = re.compile(
    r"\s*(?:PLEASE IMPLEMENT THIS PLAN:"
    r"|A previous agent produced the plan below to accomplish the user's task\."
    r"|Read the approved plan at [^\n]{1,4096}[/\\]approved-plan\.md and implement it\.\s*\Z)"
)
_GO_AHEAD = "Implement the plan."
_INPUT = re.compile(r"^#{1,4} User Input[ \t]*\n\s*```(?:text)?[ \t]*\n", re.MULTILINE)
_INPUT_END = re.compile(r"\n?```[ \t]*$", re.MULTILINE)
_TYPED_AFTER = re.compile(r"typed after `(?P<name>/[\w:.-]{1,80})`")
_PROMPT_FILE = "/prompts:"
# What the client says for `/init`, in the same words since its first versions.
_INIT = re.compile(
    r"Generate a file named AGENTS\.md that serves as a contributor guide for this repository\.\r?\n"
    r".{1,4000}\bArchitecture Overview, or Agent-Specific Instructions\.",
    re.DOTALL,
)
# How the client tells what the user set with `/goal`; a long goal is left out.
_GOAL_SET = re.compile(r'\s*User set the goal: (?:(?P<goal>"[^"\\]*(?:\\.[^"\\]*)*")|\[objective omitted)')
_GOAL_SOURCE = re.compile(r'\ssource="user_goal"')
_TEMPLATE = 200
_FOLDER = re.compile(
    r"<cwd>(?P<new>[^<\n]{1,4096})</cwd>|^Current working directory: (?P<old>.{1,4096})$", re.M
)
_SKILL = re.compile(r"<name>\s*(?P<name>[\w:.-]{1,100})\s*</name>")
_MAX_SKILLS = 100


class Words(msgspec.Struct, kw_only=True):
    """What a message tells: what a person did in it, and what the client added for the model.

    `tagged` says that nothing is known of the element the text consists of, which may be the client's;
    `shell` is a line the user gave to the shell, and `goal` what the user set as one.
    """

    prompt: str = ""
    command: str | None = None
    image: bool = False
    interrupted: bool = False
    tagged: bool = False
    skills: list[str] = []
    folder: str | None = None
    shell: str = ""
    goal: str = ""

    @property
    def is_act(self) -> bool:
        """Whether this opens a turn."""
        return bool(self.prompt or self.command or self.image)


def split_parts(message: Message) -> tuple[list[str], list[str]]:
    """Return (the user's texts, the client's) of a message's parts, as far as newer versions tell whose."""
    parts = message.content or []
    told = message.internal_chat_message_metadata_passthrough
    kinds = (told.content_item_kinds if told else None) or []
    if len(kinds) != len(parts):
        return [part.text for part in parts if part.text], []
    own: list[str] = []
    notes: list[str] = []
    for part, kind in zip(parts, kinds, strict=True):
        if part.text:
            (own if kind == "unknown" or kind.startswith("user.") else notes).append(part.text)
    return own, notes


def find_words(parts: list[str], notes: Iterable[str] = ()) -> Words:
    """Return what the parts of one message tell. `notes` are parts that are known to be the client's.

    A part is dropped, or its beginning is, on its own: words may follow in the next part, or behind.
    """
    words = Words()
    for note in notes:
        _take_injected(note, words)
    typed: list[str] = []
    for part in parts:
        text = _take_injected(part, words)
        if text:
            command, text = _find_command(text)
            words.command = command or words.command
            if text:
                typed.append(text)
    words.prompt = "\n\n".join(typed) or words.goal
    if words.shell and not words.is_act:
        words.command, words.prompt = "!", words.shell
    words.tagged = len(typed) == 1 and words.command is None and _is_one_element(words.prompt)
    return words


def _take_injected(text: str, words: Words) -> str:
    """Return what is left when the client's words are taken off, and note what they say."""
    start = 0
    while True:
        if _CLIENT_SPEAKS.match(text, start):
            return ""
        opening = _TAG.match(text, start)
        if opening is None:
            break
        tag = opening["tag"].lower()
        closings = _CLOSING.finditer(text, opening.end())
        closing = next((one for one in closings if one["tag"].lower() == tag), None)
        if closing is None and text.startswith(" ", opening.end()):
            # Somebody who writes about the element.
            break
        body = text[opening.end() : closing.start() if closing else None]
        if tag == "codex_internal_context" and _GOAL_SOURCE.search(opening[0]):
            tag = "user_goal"
        _note(tag, body, words)
        if closing is None:
            return ""
        start = closing.end()
    text = _take_images(text[start:].strip(), words)
    if _FRAMED.match(text):
        request = None
        for request in _REQUEST.finditer(text):  # noqa: B007
            pass
        if request:
            text = _take_images(text[request.end() :].strip(), words)
    return _GO_AHEAD if _PLAN.match(text) else text


def _take_images(text: str, words: Words) -> str:
    """Return a text without the places of images around it."""
    start, end = 0, len(text)
    image = _IMAGE.match(text)
    while image:
        start = image.end()
        image = _IMAGE.match(text, start)
    while text.endswith("</image>", start, end):
        opening = text.rfind("<image", max(start, end - _LONGEST_IMAGE), end)
        if opening < 0 or not _IMAGE_AT_END.fullmatch(text, opening, end):
            break
        end = opening
        while end > start and text[end - 1].isspace():
            end -= 1
    words.image = words.image or (start, end) != (0, len(text))
    return text[start:end]


def _note(tag: str, body: str, words: Words) -> None:
    if tag == "turn_aborted":
        words.interrupted = True
    elif tag == "skill":
        skill = _SKILL.search(body, 0, 4096)
        if skill and len(words.skills) < _MAX_SKILLS:
            words.skills.append(skill["name"])
    elif tag == "user_shell_command":
        line = body.partition("<command>")[2].partition("</command>")
        words.shell = line[0].strip() if line[1] else ""
    elif tag == "user_goal":
        told = _GOAL_SET.match(body)
        if told:
            words.command, words.goal = "/goal", _unquote(told["goal"] or '""')
    elif tag == "environment_context":
        folder = _FOLDER.search(body)
        if folder:
            words.folder = (folder["new"] or folder["old"]).strip()


def _find_command(text: str) -> tuple[str | None, str]:
    """Return (command, words): a prompt file is expanded by the client, and a fence holds what was typed.

    The text seldom tells the file's name; then the rest of the text names the command.
    """
    asked = _INIT.match(text)
    if asked:
        return "/init", text[asked.end() :].strip()
    given = _INPUT.search(text)
    fence = _INPUT_END.search(text, given.end()) if given else None
    if given is None or fence is None:
        return None, text
    template = text[: given.end()] + text[fence.start() :]
    if len(template) < _TEMPLATE:
        return None, text
    name = _TYPED_AFTER.search(template)
    command = name["name"] if name else f"{_PROMPT_FILE}{digest_of(template.encode('utf-8', 'replace'))[:8]}"
    typed = text[given.end() : fence.start()].strip()
    return command, "" if typed == "$ARGUMENTS" else typed


def _unquote(text: str) -> str:
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text.strip('"')


def _is_one_element(text: str) -> bool:
    opening = _ANY_TAG.match(text)
    return opening is not None and text.rstrip().endswith(f"</{opening['tag']}>")
