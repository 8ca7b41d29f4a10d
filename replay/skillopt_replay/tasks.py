"""The Task: something the user asked for, and how to tell whether it went well."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec


class Origin(msgspec.Struct, frozen=True):
    """The user's own words that a check or rule rests on.

    `turn` counts the turns of the session from 0; `quote` is redacted text the user typed.
    """

    session: str
    turn: int
    quote: str


class _Check(msgspec.Struct, frozen=True, kw_only=True):
    """Common to all checks: `negate` inverts the result, `origin` says whose words it rests on.

    `met_before` says whether the recorded attempt that those words were about would have passed the check;
    None when the transcript cannot tell. It is no part of what the check is, nor of what a replay does.
    """

    negate: bool = False
    origin: Origin | None = None
    met_before: bool | None = None


class Exact(_Check, frozen=True, kw_only=True, tag="exact"):
    """The final answer, outer whitespace removed, equals `text`."""

    text: str
    ignore_case: bool = False


class Contains(_Check, frozen=True, kw_only=True, tag="contains"):
    """The final answer contains `text`; runs of whitespace count as one space."""

    text: str
    ignore_case: bool = True


class Matches(_Check, frozen=True, kw_only=True, tag="regex"):
    """The final answer matches the regular expression `pattern` somewhere."""

    pattern: str


class SectionPresent(_Check, frozen=True, kw_only=True, tag="section"):
    """The final answer has a Markdown heading with the text `heading` (case ignored)."""

    heading: str


class ToolCalled(_Check, frozen=True, kw_only=True, tag="tool"):
    """The agent called the tool `name` at least once."""

    name: str


class CommandMatched(_Check, frozen=True, kw_only=True, tag="command"):
    """Some command line the agent ran contains the words of `command`, in order and adjacent."""

    command: str


class FileContains(_Check, frozen=True, kw_only=True, tag="file"):
    """After the run the workspace file `path` exists and contains `text`."""

    path: str
    text: str = ""


class CommandSucceeds(_Check, frozen=True, kw_only=True, tag="run"):
    """`command` (run by the shell in the workspace, after the agent has gone) exits 0."""

    command: str
    timeout_s: float = 120.0


class JsonSchema(_Check, frozen=True, kw_only=True, tag="json_schema"):
    """The final answer is JSON, or ends with some, that satisfies the JSON Schema `schema`, given as JSON.

    With `path` it is that workspace file instead of the answer.
    """

    schema: str
    path: str = ""


class Rubric(_Check, frozen=True, kw_only=True, tag="rubric"):
    """A model judge finds that the run meets `criterion`. Asked only when the checks in code hold."""

    criterion: str


class Pairwise(_Check, frozen=True, kw_only=True, tag="pairwise"):
    """A model judge, asked in both orders, does not prefer the answer `reference` by `criterion`.

    Asked only when the checks in code hold.
    """

    criterion: str
    reference: str


Check: TypeAlias = (
    Exact
    | Contains
    | Matches
    | SectionPresent
    | ToolCalled
    | CommandMatched
    | FileContains
    | CommandSucceeds
    | JsonSchema
    | Rubric
    | Pairwise
)


def is_judged(check: Check) -> bool:
    """Return whether a model has to judge it, because no code can."""
    return isinstance(check, Rubric | Pairwise)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One ask of the user, ready to be replayed.

    `family` is shared by all wordings of the same recurring ask. `sessions` are the ids of the sessions
    it was asked in, `occurrences` how often. `commit` is the project's state to replay at (None: no git
    or unknown). `group` names what must not be torn apart by a split: tasks that share a session have
    the same group. `corrections` are the user's words when the agent got this family wrong.
    `failed_before`: the recorded attempt was corrected, refused or interrupted.
    `started` is the ISO 8601 UTC time of the first occurrence. `project` is the folder it was asked in,
    `root` the project that folder belongs to: only tasks of one root (None: unknown, or all projects are
    one) are ever learned from or judged together. `template.format(*values)` is the prompt, or the
    beginning of a long one. `skill_origin` says why it belongs to its skill: loaded, fits or new.
    """

    id: str
    family: str
    title: str
    prompt: str
    sessions: tuple[str, ...]
    occurrences: int
    client: str
    skill: str
    group: str
    checks: tuple[Check, ...]
    project: str | None = None
    commit: str | None = None
    started: str | None = None
    corrections: tuple[Origin, ...] = ()
    failed_before: bool = False
    split: str = ""
    root: str | None = None
    template: str = ""
    values: tuple[str, ...] = ()
    skill_origin: str = "new"


def needs_judge(tasks: Iterable[Task]) -> bool:
    """Return whether any of the tasks has a check that a model must judge."""
    return any(is_judged(check) for task in tasks for check in task.checks)
