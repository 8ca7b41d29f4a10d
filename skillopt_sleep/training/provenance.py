"""Only what the user typed becomes a rule.

A transcript is untrusted input and a skill is a standing instruction: text that a tool, a web page or the
agent wrote must not turn into one because it passed through the optimizer. Each edit therefore names the
user's words it rests on, and none may carry text over from elsewhere. That is a filter for copies and for
claims without a source, not a proof of harmlessness: the gate and the user come after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from skillopt_replay.rollouts import Called, Rollout
from skillopt_replay.tasks import Task
from skillopt_sleep.training.citing import EXAMPLE
from skillopt_sleep.training.evidence import Failure, Quote, citable
from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.words import content_words, runs, words

COPY = 8  # words in a row that count as copied
_ECHO = 3  # words in a row that count when little ties the edit to the user's words; one more otherwise
_TIE = 3  # content words shared with a quote that stand in for a citation
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+|www\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+|(?:\d{1,3}\.){3}\d{1,3}|(?:[a-z0-9-]+\.)+[a-z]{2,}/\S*",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?<!\s)\s*(?:\(?\bfor example\b|\(?\be\.g\.|\bexamples?:).*\Z", re.IGNORECASE | re.DOTALL
)
_CODE = re.compile(r"`+([^`\n]+)`+|\"([^\"\n]+)\"")


class Sources(msgspec.Struct, frozen=True, kw_only=True):
    """All text of an epoch by who wrote it, as words between spaces: quotes, prompts, and agent and tools."""

    said: str
    prompts: str
    untyped: str

    def typed(self, run: str) -> bool:
        return run in self.said or run in self.prompts


def collect_sources(runs_of: Sequence[tuple[Task, Rollout]], skill: str = "") -> Sources:
    """Return the sources of the train tasks and their rollouts.

    What the `skill` in force says, which an agent that read it may repeat, counts as the user's. The example
    the optimizer is shown counts as untyped: a small model may hand it back as a rule.
    """
    quotes = [o.quote for task, _ in runs_of for o in task.corrections]
    quotes += [c.origin.quote for task, _ in runs_of for c in task.checks if c.origin is not None]
    quotes += [skill] if skill else []
    untyped = [EXAMPLE, *(text for _, rollout in runs_of for text in _list_untyped(rollout))]
    prompts = [task.prompt for task, _ in runs_of]
    return Sources(said=_join(quotes), prompts=_join(prompts), untyped=_join(untyped))


def _list_untyped(rollout: Rollout) -> Iterable[str]:
    yield rollout.answer
    yield rollout.diff
    for call in rollout.calls:
        yield from (call.command or "", call.arguments, call.output, call.error or "")
    for step in rollout.steps:
        if not isinstance(step, Called):
            yield step.text


def vouch(
    edits: Iterable[Edit], failures: Sequence[Failure], sources: Sources
) -> tuple[tuple[Edit, ...], tuple[EditResult, ...]]:
    """Return the edits that may stand, with quotes, sessions and support filled in, and those dropped.

    When it is only the example at the end of a rule that may not stand, the rule is kept without it.
    """
    kept: list[Edit] = []
    dropped: list[EditResult] = []
    known = citable(failures)
    for edit in edits:
        cited = _cite(edit, known)
        quotes = tuple(dict.fromkeys(quote for name in cited for quote in known[name]))
        objection = _object_to(edit, quotes, sources)
        sound = edit
        if objection:
            sound = msgspec.structs.replace(edit, content=_EXAMPLE.sub("", edit.content))
        if objection and (not words(sound.content) or _object_to(sound, quotes, sources)):
            dropped.append(EditResult(edit=edit, applied=False, detail=objection))
            continue
        sessions = tuple(dict.fromkeys(quote.origin.session for quote in quotes))
        because = tuple(dict.fromkeys(quote.id for quote in quotes))
        vouched = msgspec.structs.replace(sound, because=because, sessions=sessions)
        kept.append(msgspec.structs.replace(vouched, support=count_support(vouched, failures)))
    return tuple(kept), tuple(dropped)


def count_support(edit: Edit, failures: Sequence[Failure]) -> int:
    """Return how many of the failures stand behind what the edit cites."""
    cited = set(edit.because)
    return sum(failure.id in cited or any(q.id in cited for q in failure.quotes) for failure in failures)


def _cite(edit: Edit, known: Mapping[str, tuple[Quote, ...]]) -> tuple[str, ...]:
    """Return the ids the edit rests on: its own valid ones, else the quotes whose wording it takes up."""
    cited = tuple(dict.fromkeys(name for name in edit.because if name in known))
    if cited:
        return cited
    text = edit.content or edit.target
    fragments = [_spaced(words(span)) for span in _spans(text)]
    tied = []
    for name, quotes in known.items():
        said = " ".join(quote.origin.quote for quote in quotes)
        shares_span = any(fragment.strip() and fragment in _join([said]) for fragment in fragments)
        if shares_span or len(content_words(text) & content_words(said)) >= _TIE:
            tied.append(name)
    return tuple(tied)


def _object_to(edit: Edit, quotes: Sequence[Quote], sources: Sources) -> str:
    """Return why the edit may not stand, "" when it may. A delete brings no text: it needs a source only."""
    if not quotes:
        return "rests on nothing the user said"
    return find_borrowed(edit.content, sources) or _object_to_echo(edit, quotes, sources)


def find_borrowed(content: str, sources: Sources) -> str:
    """Return what of a text is taken over from elsewhere than the user's words, "" when nothing is."""
    for run in map(_spaced, sorted(runs(content, COPY))):
        if run in sources.untyped and not sources.typed(run):
            return "copied from text the user did not type"
        if run in sources.prompts and run not in sources.said:
            return "copied from the prompt of a train task"
    for match in _ADDRESS.finditer(content):
        address = match.group().rstrip(".,;:!?)`'\"")
        if not sources.typed(_spaced(words(address))):
            return f"names an address the user did not type: {address}"
    for span in _spans(content):
        quoted = _spaced(words(span))
        if len(words(span)) > 1 and quoted in sources.untyped and not sources.typed(quoted):
            return f"quotes text the user did not type: {span}"
    return ""


def _object_to_echo(edit: Edit, quotes: Sequence[Quote], sources: Sources) -> str:
    """Refuse a short copy of nothing but content words.

    When the edit has next to nothing in common with the words it cites, a shorter one is refused as well.
    """
    said = content_words(" ".join(quote.origin.quote for quote in quotes))
    tied = len(content_words(edit.content) & said) >= min(2, len(said)) > 0
    for length, carrying in ((_ECHO + 1, _ECHO + 1), *(() if tied else ((_ECHO, 2),))):
        for run in map(_spaced, sorted(runs(edit.content, length))):
            carries = len(content_words(run)) >= carrying
            if carries and run in sources.untyped and not sources.typed(run):
                return f"says what text the user did not type says: {run.strip()}"
    return ""


def _spans(text: str) -> list[str]:
    return [first or second for first, second in _CODE.findall(text)]


def _spaced(run: Sequence[str]) -> str:
    return f" {' '.join(run)} "


def _join(texts: Iterable[str]) -> str:
    """Return the texts as words between single spaces; no run of words reaches from one into the next."""
    return "\n".join(_spaced(words(text)) for text in texts)
