"""A small school to train in: an agent that does what the rules of its skill say, an optimizer with a head.

Everything it does depends on what it is asked alone, never on when.
"""

from __future__ import annotations

import asyncio
import json
import random
import re

from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import Outcome, Rollout, RolloutCall, Usage
from skillopt_replay.tasks import Contains, Matches
from skillopt_sleep.training import make_task

FAMILIES = ("apple", "birch", "cedar", "dahlia")
SEARCH = "skillopt_replay.checks.search"


async def search_here(pattern, text):
    """Search as the checks do, but not in a process of its own, which only a hostile pattern needs."""
    return re.search(pattern, text, re.MULTILINE) is not None


def rule(family):
    return f"Answer every question about a {family} with the word {family.upper()}."


class School:
    """Tasks about trees; those of a family pass when the skill has the family's rule, or what it `heeds`.

    In a `loud` school an answer has to be in upper case as well, and is when a rule says so.
    """

    name = "school"
    estimate = Usage(input_tokens=10)

    def __init__(self, *, families=FAMILIES, size=8, lost=(), delays=None, flaky=(), heeds="", loud=False):
        self.identity = "pupil/1"
        self.loud = loud
        self.families, self.size, self.lost, self.delays, self.flaky = (
            families,
            size,
            set(lost),
            delays,
            flaky,
        )
        self.heeds = heeds
        self.rolled = []
        self.at_once = self.most_at_once = 0

    def load(self, split):
        return [
            make_task(
                f"{split}-{number}",
                f"Question {number} of {split} about a {self.families[number % len(self.families)]}?",
                *(Matches(pattern=r"\A[^a-z]*\Z"),) * self.loud,
                Contains(text=self.families[number % len(self.families)].upper()),
                family=self.families[number % len(self.families)],
            )
            for number in range(self.size)
        ]

    async def rollout(self, task, skill, sample):
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        if self.delays:
            await asyncio.sleep(self.delays.random() / 300)
        else:
            await asyncio.sleep(0)
        self.at_once -= 1
        self.rolled.append((task.id, skill.digest, sample))
        common = {"task": task.id, "skill": skill.digest, "agent": self.identity, "model": "pupil"}
        if task.id in self.lost:
            return Rollout(**common, outcome=Outcome.INFRASTRUCTURE, answer="", error="429 rate limit")
        text = "\n".join([skill.body, *(file.text for file in skill.files)])
        knows = rule(task.family).casefold() in text.casefold()
        knows = knows or bool(self.heeds and self.heeds in text)
        knows = knows or (task.family in self.flaky and sample % 2 == 1)
        answer = f"It is {task.family.upper()}." if knows else "I do not know."
        answer = answer.upper() if "UPPER CASE" in text else answer
        calls = (RolloutCall(name="shell", command=f"look up {task.family}", output="nothing"),)
        usage = Usage(input_tokens=5, output_tokens=2)
        return Rollout(**common, outcome=Outcome.FINISHED, answer=answer, calls=calls, usage=usage)


class Teacher:
    """Writes the rule of every family it sees fail, and answers each kind of question in its form."""

    identity = "teacher/1"
    estimate = Usage(input_tokens=10)

    def __init__(self, *, delays=None, write=None, answers=None):
        self.delays = delays
        self.write = write or rule
        self.answers = answers or {}
        self.asked = []

    async def complete(self, messages, *, schema=None, max_tokens=2048, temperature=0.0, seed=None):
        if self.delays:
            await asyncio.sleep(self.delays.random() / 300)
        stage = name_stage(schema)
        self.asked.append((stage, messages))
        if stage in self.answers:
            value = self.answers[stage](messages)
            if isinstance(value, Completion):
                return value
        else:
            value = getattr(self, stage)(messages)
        usage = Usage(input_tokens=20, output_tokens=10)
        if isinstance(value, str):
            return Completion(text=value, model="teacher", usage=usage)
        return Completion(text=json.dumps(value), model="teacher", value=value, usage=usage)

    def analyst(self, messages):
        shown = messages[-1].content if messages[-1].content.startswith("The skill") else messages[1].content
        failed = re.findall(r"\[t\d+\] Failed.*?about a (\w+)\?", shown, re.DOTALL)
        families = sorted(set(failed))
        edits = [
            {"op": "add", "target": "", "support": failed.count(family), **as_edit(self.write(family))}
            for family in families
        ]
        patterns = [
            {"type": f"no rule for {f}", "count": failed.count(f), "description": ""} for f in families
        ]
        return {"reasoning": "a rule is missing", "patterns": patterns, "edits": edits}

    def merge(self, messages):
        patches = json.loads(messages[1].content.rpartition("as JSON:\n")[2])
        merged = {}
        for edit in (edit for patch in patches for edit in patch):
            known = merged.setdefault(edit["content"], dict(edit, support=0))
            known["support"] += edit["support"]
        return {"reasoning": "put together", "edits": list(merged.values())}

    def ranking(self, messages):
        count = len(re.findall(r"^\d+: ", messages[1].content, re.MULTILINE))
        return {"reasoning": "the last ones first", "selected_indices": list(range(count))[::-1]}

    def lr_autonomous(self, messages):
        return {"reasoning": "one is enough", "learning_rate": 1, "confidence": 0.9, "risk_notes": []}

    def slow_update(self, messages):
        return {"reasoning": "hold on", "slow_update_content": "Always read the question to its end."}

    def meta_skill(self, messages):
        return {"reasoning": "so far", "meta_skill_content": "Rules that name the tree help."}

    def appendix_consolidate(self, messages):
        return {"appendix_notes": ["Read twice."]}


def as_edit(written):
    return {"content": written} if isinstance(written, str) else written


def name_stage(schema):
    """Return which question a schema belongs to."""
    keys = set(schema["properties"])
    edit = set(schema["properties"].get("edits", {}).get("items", {}).get("properties", ()))
    if edit in ({"rule"}, {"rule", "instead_of"}):
        return "analyst"
    for key, stage in (
        ("selected_indices", "ranking"),
        ("learning_rate", "lr_autonomous"),
        ("slow_update_content", "slow_update"),
        ("meta_skill_content", "meta_skill"),
        ("patterns", "analyst"),
        ("new_skill", "rewrite"),
        ("edits", "merge"),
        ("appendix_notes", "appendix_consolidate"),
    ):
        if key in keys:
            return stage
    raise AssertionError(keys)


def make_delays(seed):
    return random.Random(seed)
