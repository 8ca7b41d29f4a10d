"""Candidates that ask nobody: a rule that says what the failed checks want, in the words analysts are told.

A weak optimizer loses these words more often than it improves on them; a strong one wins the race against
them. It depends on the agent whether it follows a description or an instruction, so there is one of each. No
answer of a task is in them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from skillopt_replay.tasks import Task
from skillopt_sleep.training.forms import ALONE, BARE_JSON, tell_common
from skillopt_sleep.training.insights import Insight
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.traces import Trace

RIVALS = 2
REASON = "what the failed checks want, in their own words"
_ENDS = re.compile(r"the final answer must (begin|end) with ")


def _pattern_of(sentence: str) -> re.Pattern[str]:
    return re.compile(re.escape(sentence).replace(r"\{\}", "(.+)"))


_INSTRUCTIONS = (
    (_pattern_of(BARE_JSON), r"reply with raw JSON alone, without Markdown: \1"),
    (_pattern_of(ALONE), r"reply with \1: nothing before it, nothing after it, and no code fence"),
    (re.compile(r"the final answer must be (in .+)"), r"write the final answer \1"),
    (re.compile(rf"{_ENDS.pattern}(.+?) and end with (`.+)"), r"begin the answer with \2 and end it with \3"),
    (re.compile(rf"{_ENDS.pattern}(.+)"), r"\1 the answer with \2"),
)


def say_plainly(traces: Sequence[Trace], kin: Sequence[Task] = ()) -> list[Insight]:
    """Return the rules as insights of analysts, a candidate each.

    What they say holds for the passed runs, too, and for the `kin`, further tasks of the kind. None where no
    run failed, or no check has a form to tell in a line; one where both ways say the same.
    """
    failed = {trace.task.id: trace.task for trace in traces if not trace.passed}
    whole = [*(trace.task for trace in traces), *kin]
    told = [one for one in tell_common(list(failed.values()), whole) if len(one.splitlines()) == 1]
    if any(_pattern_of(BARE_JSON).fullmatch(sentence) for sentence in told):
        told = [sentence for sentence in told if not _ENDS.match(sentence)]  # a JSON text begins as it does
    ways = [told, [_instruct(sentence) for sentence in told]]
    rules = [" ".join(f"{one[0].upper()}{one[1:]}." for one in sentences) for sentences in ways]
    return [
        Insight(
            kind="failure",
            edits=(Edit(op="add", content=rule, support=len(failed)),),
            reasoning=REASON,
        )
        for rule in dict.fromkeys(rules)
        if rule
    ]


def _instruct(sentence: str) -> str:
    for pattern, instruction in _INSTRUCTIONS:
        found = pattern.fullmatch(sentence)
        if found:
            return found.expand(instruction)
    return sentence
