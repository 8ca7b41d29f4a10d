"""One candidate is made without the optimizer: a rule of the words it is told."""

from __future__ import annotations

import json

import msgspec
import pytest

from skillopt_replay.rollouts import Usage
from skillopt_replay.skills import new_skill
from skillopt_replay.tasks import Contains, Exact, JsonSchema, Matches
from skillopt_sleep.errors import UsageError
from skillopt_sleep.training import Trainer, make_task
from skillopt_sleep.training.forecast import forecast
from skillopt_sleep.training.plain import REASON, RIVALS, say_plainly
from skillopt_sleep.training.reading import read
from skillopt_sleep.training.traces import Trace
from tests.support.school import School, Teacher
from tests.training.test_traces import make_trace

LOUD = Matches(pattern=r"\A[^a-z]*\Z")
RULE = "The final answer must be in UPPER CASE throughout, every letter of it."


def make_traces(*checks, passed=0):
    rollout = make_trace(LOUD).rollout
    won = make_trace(LOUD, hard=1.0).rollout
    return [
        Trace(make_task(f"t{n}", f"Ask {n}.", check), won if n < passed else rollout)
        for n, check in enumerate(checks)
    ]


def rules(*checks, **more):
    return [insight.edits[0].content for insight in say_plainly(make_traces(*checks, **more))]


def test_the_rules_are_what_the_failed_checks_want_as_a_description_and_as_an_instruction():
    assert rules(*[LOUD] * 3) == [
        RULE,
        "Write the final answer in UPPER CASE throughout, every letter of it.",
    ]
    told = say_plainly(make_traces(*[LOUD] * 4, passed=1))
    assert [(edit.op, edit.support) for insight in told for edit in insight.edits] == [("add", 3)] * 2
    assert {insight.reasoning for insight in told} == {REASON}


@pytest.mark.parametrize(
    ("pattern", "instruction"),
    [
        (r"\bDONE\Z", "End the answer with `DONE`."),
        (
            r"\A<a>",
            "Begin the answer with `<a>`, with no code fence (```) and no other text around it.",
        ),
        (
            r"\A<a>.*</a>\Z",
            "Begin the answer with `<a>` and end it with `</a>`, with no code fence (```) and no other text"
            " around it.",
        ),
    ],
)
def test_how_an_answer_begins_and_ends_is_an_instruction(pattern, instruction):
    assert rules(*[Matches(pattern=pattern)] * 3)[1] == instruction


def test_of_a_json_answer_the_braces_are_not_told_apart():
    schema = JsonSchema(schema=json.dumps({"properties": {"item": {"type": "string"}}}))
    braces = Matches(pattern=r"(?s)\A\s*\{.*\}\s*\Z")
    rollout = make_trace(braces, schema).rollout
    told = say_plainly([Trace(make_task(f"t{n}", f"Ask {n}.", braces, schema), rollout) for n in range(3)])
    assert [insight.edits[0].content for insight in told] == [
        'The whole answer must be {"item": <text>} and nothing else: raw JSON, without Markdown.',
        'Reply with raw JSON alone, without Markdown: {"item": <text>}.',
    ]


def test_where_both_ways_say_the_same_there_is_one_rule():
    assert rules(*[Matches(pattern=r"(\S+\s+){4}\S")] * 3) == [
        r"The final answer must match the regular expression `(\S+\s+){4}\S`."
    ]


def test_there_is_none_where_nothing_failed_or_nothing_can_be_told():
    assert rules(*[LOUD] * 3, passed=3) == []
    assert rules(*[Contains(text="x")] * 3) == []
    assert rules() == []


def test_the_answer_of_all_that_failed_is_no_form_where_others_want_another():
    refund, bug = (Matches(pattern=rf"\A{label}\Z") for label in ("refund", "bug"))
    assert rules(bug, refund, refund, refund, passed=1) == []
    traces = make_traces(refund, refund, refund)
    assert say_plainly(traces, [make_task("other", "Ask.", bug)]) == []
    assert "refund" in say_plainly(traces)[0].edits[0].content


def test_what_takes_several_lines_is_no_rule():
    assert rules(*[Exact(text=f"- {word}\n- {word}s") for word in ("ant", "bee", "cat")]) == []


def test_no_answer_is_in_them():
    towns = ("Oslo", "Bergen", "Tromso", "Bodo")
    described, instructed = rules(*[Exact(text=town) for town in towns])
    assert instructed == (
        "Reply with one word alone, with a capital letter: nothing before it, nothing after it, and no code"
        " fence."
    )
    assert not any(town in described for town in towns)


class Loud(School):
    """Tasks that want a loud answer; the pupil shouts when a rule says so."""

    def load(self, split):
        return [
            msgspec.structs.replace(task, checks=(Matches(pattern=r"\A[^a-z]*\Z"),))
            for task in super().load(split)
        ]

    async def rollout(self, task, skill, sample):
        rollout = await super().rollout(task, skill, sample)
        loud = "UPPER CASE" in skill.body
        return msgspec.structs.replace(rollout, answer="I KNOW." if loud else "I do not know.")


async def train(tmp_path, **answers):
    settings = ["train.num_epochs=1", "gradient.plain=true", "evaluation.eval_test=false"]
    teacher = Teacher(answers=answers)
    trainer = Trainer(Loud(), teacher, read(None, settings), out=tmp_path / "run")
    return await trainer.train(new_skill("loud", "Use when asked.", "# Loud"))


async def test_it_wins_the_race_against_an_optimizer_that_says_nothing_of_use(tmp_path):
    summary = await train(tmp_path)
    assert "UPPER CASE throughout" in summary.best.body
    (kept,) = json.loads((tmp_path / "run" / "steps" / "step_0001" / "kept.json").read_text())
    assert kept["reasoning"] == REASON


async def test_it_loses_to_nobody_s_cost_when_the_optimizer_is_as_good(tmp_path):
    better = {"op": "add", "target": "", "content": "UPPER CASE.", "support": 1}
    said = {"reasoning": "short", "patterns": [], "edits": [better]}
    summary = await train(tmp_path, analyst=lambda _messages: said)
    assert "UPPER CASE." in summary.best.body
    assert RULE not in summary.best.body


async def test_where_the_learning_rate_is_0_none_is_raced(tmp_path):
    school = Loud()
    settings = ["train.num_epochs=1", "gradient.plain=true", "optimizer.learning_rate=0"]
    summary = await Trainer(school, Teacher(), read(None, settings), out=tmp_path / "run").train()
    assert summary.best_step == 0
    assert len({skill for _, skill, _ in school.rolled}) == 1


async def test_where_the_optimizer_sets_the_rate_its_0_keeps_them_out(tmp_path):
    school = Loud()
    settings = ["train.num_epochs=1", "gradient.plain=true", "optimizer.lr_control_mode=autonomous"]
    teacher = Teacher(answers={"lr_autonomous": lambda _messages: {"learning_rate": 0}})
    summary = await Trainer(school, teacher, read(None, settings), out=tmp_path / "run").train()
    assert summary.best_step == 0
    assert len({skill for _, skill, _ in school.rolled}) == 1


def test_what_may_be_asked_about_them_is_in_the_forecast():
    splits = {split: School().load(split) for split in ("train", "val", "test")}

    def count(*settings):
        config = read(None, ["train.num_epochs=3", *settings])
        return forecast(config, splits, rollout=Usage(), question=Usage()).questions

    assert count("gradient.plain=true") >= count() + 3 * RIVALS * 2 * 2  # rate and size, each told back once


@pytest.mark.parametrize(
    "other", ["gradient.vouched=true", "optimizer.skill_update_mode=full_rewrite_minibatch"]
)
def test_where_every_rule_needs_a_source_or_whole_documents_are_written_it_is_refused(other):
    with pytest.raises(UsageError, match=r"gradient\.plain does not go with"):
        read(None, ["gradient.plain=true", other])
