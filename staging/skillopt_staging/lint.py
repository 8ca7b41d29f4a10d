"""What a client would make of a SKILL.md: limits and fields, as warnings."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import msgspec

from skillopt_staging.front_matter import split_front_matter

MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_BODY_LINES = 500
MAX_BODY_TOKENS = 5000
# Claude Code cuts description and when_to_use, taken together, off here.
MAX_CLAUDE_LISTING = 1536
CHARACTERS_PER_TOKEN = 4

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_COMMON = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_EXTRA = {
    "claude": frozenset(
        {
            "when_to_use",
            "argument-hint",
            "disable-model-invocation",
            "user-invocable",
            "model",
            "effort",
            "context",
            "agent",
            "hooks",
        }
    )
}


class Warned(msgspec.Struct, frozen=True):
    """One thing a client may stumble over: a stable `code`, and a sentence for the user."""

    code: str
    message: str


# Codex lists all skills in about so many characters; what does not fit is not seen.
MAX_CODEX_LISTING = 8_000

_LINK = re.compile(r"\]\(\s*<?([^)\s>#]+)")
_PLACE = re.compile(r"(?<![\w/.-])((?:references|scripts|assets)/[\w./-]*\w)")


def lint_folder(text: str, names: Collection[str]) -> tuple[Warned, ...]:
    """Return what is wrong between a SKILL.md and the other files of its folder, by their paths in it."""
    found = []
    body = split_front_matter(text)[1]
    wanted = {link for link in _LINK.findall(body) if not re.match(r"[a-z][a-z0-9+.-]*:|/|\.\.", link)}
    wanted |= set(_PLACE.findall(body))
    missing = sorted(name for name in wanted if not _is_there(name, names))
    if missing:
        found.append(Warned("missing-file", f"it names {', '.join(missing)}, which is not in its folder"))
    deep = sorted(name for name in names if name.count("/") > 1)
    if deep:
        found.append(
            Warned("deep-file", f"{deep[0]} lies deeper than one folder, where clients may not look")
        )
    return tuple(found)


def lint_listing(skills: Mapping[str, str], *, client: str) -> tuple[Warned, ...]:
    """Return what is wrong with all skills a client lists together, given by name with their descriptions."""
    size = sum(len(name) + len(description) for name, description in skills.items())
    if client == "codex" and size > MAX_CODEX_LISTING:
        return (
            Warned(
                "listing",
                f"Codex lists skills in {MAX_CODEX_LISTING:,} characters; these {len(skills)} need {size:,}",
            ),
        )
    return ()


def _is_there(name: str, names: Collection[str]) -> bool:
    plain = name.removeprefix("./").rstrip("/")
    return any(known == plain or known.startswith(f"{plain}/") for known in names)


def lint(text: str, *, folder: str, client: str = "claude") -> tuple[Warned, ...]:
    """Return what is wrong with a SKILL.md that lies in `folder`, by the Agent Skills format and the client.

    Tokens are estimated as characters / 4. Limits: name 1-64 and equal to the folder's, description 1-1024,
    body under 500 lines and 5,000 tokens.
    """
    front, body = split_front_matter(text)
    if front is None:
        return (Warned("front-matter", "it does not start with front matter between two --- lines"),)
    fields = _decode(front)
    if isinstance(fields, Warned):
        return (fields, *_check_body(body))
    return (*_check_fields(fields, folder, client), *_check_body(body))


def _decode(front: str) -> dict[str, object] | Warned:
    import yaml

    # What YAML's own types are made of raises these for what they cannot hold.
    unreadable = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, RecursionError)

    class Loader(yaml.SafeLoader):
        """Takes no references: a few lines of those can name more values than any memory holds."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise yaml.YAMLError("it refers to another part of itself")
            return super().compose_node(parent, index)

    try:
        value = yaml.load(front, Loader=Loader)  # noqa: S506 - a safe loader
        str(value)  # of a number without end it raises here, and not where it is told
    except unreadable as error:
        reason = " ".join(str(error).split())
        return Warned("front-matter", f"the front matter is not YAML, quote values with colons: {reason}")
    if not isinstance(value, dict):
        return Warned("front-matter", "the front matter has no fields")
    return {str(key): item for key, item in value.items()}


def _check_fields(fields: dict[str, object], folder: str, client: str) -> list[Warned]:
    found = []
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not _NAME.match(name) or len(name) > MAX_NAME:
        found.append(Warned("name", "the name must be 1-64 lower-case letters, digits and single hyphens"))
    if name != folder:
        found.append(Warned("name-folder", f"the name {name!r} is not the folder's, {folder!r}"))
    if not isinstance(description, str) or not 1 <= len(description.strip()) <= MAX_DESCRIPTION:
        found.append(Warned("description", f"the description must have 1-{MAX_DESCRIPTION:,} characters"))
    if len(str(fields.get("compatibility", ""))) > MAX_COMPATIBILITY:
        found.append(Warned("compatibility", f"compatibility is over {MAX_COMPATIBILITY} characters"))
    listing = len(str(description or "")) + len(str(fields.get("when_to_use") or ""))
    if client == "claude" and listing > MAX_CLAUDE_LISTING:
        found.append(
            Warned("listing", f"description and when_to_use are over {MAX_CLAUDE_LISTING:,} characters")
        )
    unknown = sorted(fields.keys() - _COMMON - _EXTRA.get(client, frozenset()))
    if unknown:
        found.append(Warned("fields", f"{client} does not know {', '.join(unknown)}"))
    return found


def _check_body(body: str) -> list[Warned]:
    found = []
    if not body.strip():
        found.append(Warned("body", "the body is empty"))
    lines = len(body.splitlines())
    if lines >= MAX_BODY_LINES:
        found.append(Warned("body-lines", f"the body has {lines:,} lines; keep it under {MAX_BODY_LINES}"))
    tokens = len(body) // CHARACTERS_PER_TOKEN
    if tokens >= MAX_BODY_TOKENS:
        found.append(
            Warned("body-tokens", f"the body has about {tokens:,} tokens; keep it under {MAX_BODY_TOKENS:,}")
        )
    return found
