"""What an edit may write into a skill: visible Markdown that keeps to itself."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from skillopt_sleep.training.anchors import Anchor
from skillopt_sleep.training.markdown import ITEM, Heading, find_headings, find_islands, split_lines

_DELIMITER = re.compile(r"^[ \t]*---[ \t]*$", re.MULTILINE)
# A link definition, a declaration and a processing instruction show nothing when rendered.
UNSEEN = re.compile(r"^[ \t]*(?:\[[^\]\n]+\]:|<[!?])", re.MULTILINE)
_STRUCTURE = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|\Z)|```|~~~|\||>)")
RULES = "Rules"


class EditRefused(Exception):
    """The edit is not applied; the message says why. The flags are those of EditResult."""

    def __init__(self, detail: str, *, miss: bool = False, over_size: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.miss = miss
        self.over_size = over_size


class Change(NamedTuple):
    """A body with an edit made in it: where it went, the span that went, and where the target was found."""

    body: str
    detail: str
    removed: tuple[int, int] = (0, 0)
    anchor: Anchor | None = None


def clean_content(content: str) -> str:
    """Return the content without invisible characters, outer blank lines and trailing spaces.

    Raises EditRefused for content that is empty, hides text from a reader, or could end the front matter or
    run into what follows it.
    """
    lines = drop_invisible(content).split("\n")
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    if "\n" not in text:
        text = text.strip()
    if not any(character.isalnum() for character in text):
        raise EditRefused("the content is empty")
    if "<!--" in text or "-->" in text:
        raise EditRefused("the content holds an HTML comment or a region marker")
    if _DELIMITER.search(text):
        raise EditRefused("the content holds a front matter delimiter")
    if UNSEEN.search(text):
        raise EditRefused("the content holds Markdown that a reader does not see")
    if not all(island.closed for island in find_islands(text)):
        raise EditRefused("the content holds a code block that is not closed")
    return text


def drop_invisible(text: str) -> str:
    """Return the text without invisible characters; every line ends with a line feed alone."""
    return "".join(c for c in text.replace("\r\n", "\n").replace("\r", "\n") if _visible(c))


def _visible(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def split_rules(content: str) -> list[str]:
    """Return the single-line rules that the content is made of; empty when it is a block of its own.

    A plain sentence is one rule, a bullet list one rule an item. A heading "Rules" above them is dropped.
    """
    lines = drop_rules_heading(content).split("\n")
    if any(_STRUCTURE.match(line) for line in lines):
        return []
    rules: list[str] = []
    after_blank = False
    for line in lines:
        item = ITEM.match(line)
        if not line.strip():
            after_blank = True
            continue
        if item and not item["indent"]:
            rules.append(item["text"])
        elif rules and not after_blank and not item:
            rules[-1] += " " + line.strip()
        elif not rules and not item:
            rules.append(line.strip())
        else:
            return []
        after_blank = False
    return rules


def drop_rules_heading(content: str) -> str:
    """Return the content without a first line that is a heading "Rules"; the skill has its own."""
    lines = split_lines(content)
    headings = find_headings(content)
    if headings and is_rules(headings[0]) and headings[0].line == lines[0] and len(lines) > 1:
        return content[lines[0].after :].strip("\n")
    return content


def is_rules(heading: Heading) -> bool:
    return heading.title.casefold().rstrip(":") == RULES.casefold()
