"""The Skill: a SKILL.md document, kept as the text it is, and the files that lie beside it."""

from __future__ import annotations

import hashlib
import re

import msgspec
import yaml

from skillopt_replay.errors import ReplayError
from skillopt_replay.skill_files import SkillFile, arrange

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)


# What YAML's own types are made of raises these for what they cannot hold.
_UNREADABLE = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class _Loader(yaml.SafeLoader):
    """Takes no references: a few lines of those can name more values than any memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it refers to another part of itself")
        return super().compose_node(parent, index)


class SkillInvalid(ReplayError):
    """The document is no legal SKILL.md; the message says where."""


class Skill(msgspec.Struct, frozen=True):
    """A SKILL.md: `name` equals the folder it lives in, `text` is the whole file, byte for byte.

    `files` are its other files, in the order of their paths. Raises PathRefused for a path that leaves the
    folder, or that not every system can hold.
    """

    name: str
    text: str
    files: tuple[SkillFile, ...] = ()

    def __post_init__(self) -> None:
        if self.files:
            msgspec.structs.force_setattr(self, "files", arrange(self.files))

    @property
    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the text, or, where there are other files, of all of it."""
        content = msgspec.json.encode([self.text, self.files]) if self.files else self.text.encode()
        return hashlib.sha256(content).hexdigest()[:16]

    def find(self, path: str) -> SkillFile | None:
        """Return the file at this path beside SKILL.md, None when there is none."""
        return next((file for file in self.files if file.path == path), None)

    @property
    def body(self) -> str:
        """What the agent reads once the skill is loaded: the text after the front matter."""
        match = _FRONT.match(self.text)
        return self.text[match.end() :] if match else self.text

    @property
    def front_matter(self) -> dict[str, object]:
        """The decoded front matter. Raises SkillInvalid when it is not a YAML mapping."""
        match = _FRONT.match(self.text)
        if not match:
            raise SkillInvalid(f"skill {self.name}: no front matter", hint="it must start with a --- line")
        try:
            value = yaml.load(match.group(1), Loader=_Loader)  # noqa: S506 - a safe loader
            str(value)  # of a number without end it raises here, and not where it is told
        except _UNREADABLE as error:
            raise SkillInvalid(f"skill {self.name}: the front matter is not YAML: {error}") from error
        if not isinstance(value, dict):
            raise SkillInvalid(f"skill {self.name}: the front matter is not a mapping")
        return value

    @property
    def description(self) -> str:
        """When to use the skill: the one line an unprompted model sees."""
        return str(self.front_matter.get("description", ""))


def new_skill(name: str, description: str, body: str) -> Skill:
    """Return a skill with legal front matter. Raises SkillInvalid for an illegal name or description."""
    front = yaml.safe_dump(
        {"name": name, "description": description}, sort_keys=False, allow_unicode=True, width=10_000
    )
    skill = Skill(name, f"---\n{front}---\n\n{body.strip()}\n")
    problems = find_problems(skill)
    if problems:
        raise SkillInvalid(f"skill {name}: {'; '.join(problems)}")
    return skill


def find_problems(skill: Skill) -> list[str]:
    """Return what makes the document illegal by the Agent Skills specification; empty when legal."""
    try:
        front = skill.front_matter
    except SkillInvalid as error:
        return [error.message]
    problems = []
    if not NAME.match(skill.name) or len(skill.name) > MAX_NAME:
        problems.append("the name must be 1-64 lower-case letters, digits and single hyphens")
    if front.get("name") != skill.name:
        problems.append(f"the front matter's name {front.get('name')!r} is not the folder's {skill.name!r}")
    description = front.get("description")
    if not isinstance(description, str) or not 1 <= len(description.strip()) <= MAX_DESCRIPTION:
        problems.append("the description must have 1-1024 characters")
    if not skill.body.strip():
        problems.append("the body is empty")
    return problems
