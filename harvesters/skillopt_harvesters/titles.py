"""What families are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from skillopt_harvesters.fences import find_fenced
from skillopt_harvesters.normalise import STOP_WORDS, strip_polite
from skillopt_harvesters.templates import QUOTES, STOP_STEMS, find_shared, find_stems

Titler = Callable[[str, Sequence[str]], str]
"""May give a family a better title: its title and some of its prompts (redacted) in, a title out."""

_GAP = "…"
_LENGTH = 80
_COMMAND = re.compile(r"(?<![\w/])/[a-z][\w:.-]*\w", re.IGNORECASE)


def make_title(prompts: Sequence[str]) -> str:
    """Return a short title: the most typical wording, with an ellipsis for what the others do not share."""
    fenced = find_fenced(prompts[0])
    if fenced is not None:
        return clip_title(_title_template(fenced.template))
    prompts = [strip_polite(prompt) or prompt for prompt in prompts]
    if prompts[0].startswith("/"):
        return prompts[0].split()[0]
    shared = find_shared(prompts)

    def share(prompt: str) -> float:
        telling = [one for one in find_stems(prompt) if one not in STOP_STEMS]
        return sum(one in shared for one in telling) / max(len(telling), 1)

    typical = max(prompts, key=share).splitlines()[0]
    kept: list[str] = []
    for token in typical.split():
        stems = find_stems(token)
        stays = shared if token[0] in QUOTES else shared | STOP_STEMS
        if stems and stays.issuperset(stems):
            kept.append(token)
        elif not kept or kept[-1] != _GAP:
            kept.append(_GAP)
    if sum(one in shared for one in find_stems(" ".join(kept))) < 2:
        kept = typical.split()
    while len(kept) > 1 and (kept[-1] == _GAP or kept[-1].casefold() in STOP_WORDS):
        kept.pop()
    title = " ".join(kept[1:] if kept[0] == _GAP and len(kept) > 1 else kept)
    return clip_title(title)


def _title_template(template: str) -> str:
    """Return the command a template says it belongs to, else its first sentence that is no heading."""
    command = _COMMAND.search(template)
    if command:
        return command[0]
    lines = [line.strip() for line in template.splitlines()]
    said = [line for line in lines if line and line[0] not in "#`~-<" and "user input" not in line.lower()]
    return said[0] if said else next((line.lstrip("# ") for line in lines if line.strip("#`~ ")), "Template")


def clip_title(title: str) -> str:
    """Return the title in one line of at most 80 characters, with a capital."""
    title = " ".join(title.split())
    return title[:1].upper() + title[1:_LENGTH].rstrip()
