"""A small world to train in: tasks about SQL, an agent that follows rules, an optimizer with a script."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from skillopt_replay.errors import CeilingReached
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, RolloutCall, Score, Usage
from skillopt_replay.tasks import Contains, Exact, Origin, Task

CORRECTION = Origin("session-1", 1, "No! Every query must have is_deleted = 0 in its WHERE clause.")
RULE = "Put is_deleted = 0 in the WHERE clause of every query."


class ScriptedOptimizer:
    """Answers with the given replies in turn; a callable sees the messages. The last one is repeated."""

    identity = "scripted/1"
    estimate = Usage(input_tokens=100)

    def __init__(self, *replies):
        self.replies = replies
        self.asked = []

    async def complete(self, messages, *, schema=None, max_tokens=2048, temperature=0.0, seed=None):
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(
            SimpleNamespace(
                messages=messages,
                schema=schema,
                temperature=temperature,
                seed=seed,
                text=messages[-1].content,
            )
        )
        if callable(reply):
            reply = reply(messages)
        if isinstance(reply, Completion):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Completion(text=text, model="scripted")


class PlainLedger:
    """Keeps results by kind and key, pays each once, and stops at a number of calls."""

    def __init__(self, ceiling=None):
        self.results = {}
        self.started = 0
        self.ceiling = ceiling

    async def once(self, kind, key, estimate, make, result_type):
        if (kind, key) in self.results:
            return self.results[kind, key]
        if self.ceiling is not None and self.started >= self.ceiling:
            raise CeilingReached(f"{self.ceiling} calls")
        self.started += 1
        result = await make()
        assert isinstance(result, result_type)
        self.results[kind, key] = result
        return result


class RuleFollower:
    """An agent that does what the skill's rules say: a roller whose runs end in a shuffled order.

    `obeys` maps a word of the prompt to the rule text that makes such a task pass.
    """

    def __init__(self, obeys=None, *, delays=None, answer="SELECT 1", broken=(), calls=(), ledger=None):
        self.obeys = obeys or {}
        self.delays = delays
        self.answer = answer
        self.broken = broken
        self.calls = calls
        self.ledger = ledger
        self.rolled = []

    async def __call__(self, task, skill, repeat):
        async def run():
            if self.delays is not None:
                await asyncio.sleep(self.delays.random() / 500)
            self.rolled.append((task.id, skill.digest if skill else ""))
            return self._run(task, skill)

        if self.ledger is None:
            return await run()
        key = f"{task.id}/{skill.digest if skill else ''}/{repeat}"
        return await self.ledger.once("rollout", key, Usage(), run, Rollout)

    def _run(self, task, skill):
        common = {"task": task.id, "skill": skill.digest if skill else "", "agent": "fake/1", "model": "fake"}
        if task.id in self.broken:
            return Rollout(**common, outcome=Outcome.INFRASTRUCTURE, answer="", error="429 rate limit")
        rules = skill.body.casefold() if skill else ""
        passed = any(word in task.prompt and rule.casefold() in rules for word, rule in self.obeys.items())
        results = tuple(CheckResult(passed, "gold: SECRET-42") for _ in task.checks)
        return Rollout(
            **common,
            outcome=Outcome.FINISHED,
            answer=self.answer,
            calls=self.calls,
            score=Score(float(passed), float(passed), results),
        )


def make_task(number, *, prompt=None, corrections=(CORRECTION,), checks=None, **more):
    check = Contains(text="is_deleted = 0", origin=corrections[0] if corrections else None)
    return Task(
        id=f"task-{number}",
        family="sql",
        title="Write an SQL query",
        prompt=prompt or f"Write a query number {number} please.",
        sessions=(f"session-{number}",),
        occurrences=1,
        client="claude",
        skill="house-sql",
        group=f"group-{number}",
        checks=checks if checks is not None else (check,),
        corrections=tuple(corrections),
        **more,
    )


def reply(*contents, because=("c1",), **more):
    edits = [{"rule": content, "because": list(because), **more} for content in contents]
    return {"reasoning": "The user wants deleted rows left out.", "edits": edits}


@pytest.fixture
def world():
    """The fakes and makers of this folder, by name."""
    return SimpleNamespace(
        ScriptedOptimizer=ScriptedOptimizer,
        PlainLedger=PlainLedger,
        RuleFollower=RuleFollower,
        make_task=make_task,
        reply=reply,
        CORRECTION=CORRECTION,
        RULE=RULE,
        Exact=Exact,
        Call=RolloutCall,
    )
