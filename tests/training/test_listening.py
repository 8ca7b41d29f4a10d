"""One minibatch, one question about what the user said; what cannot be used is told back once."""

from __future__ import annotations

import json

import pytest

from skillopt_replay.errors import CeilingReached
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, Score
from skillopt_replay.skills import new_skill
from skillopt_sleep.training.analyst_prompts import Brief, Minibatch
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.listening import listen
from skillopt_sleep.training.traces import Trace
from skillopt_sleep.training.vouching import Witness

BLANK = new_skill("house-sql", "Use for SQL.", "# House sql")
SKILL = new_skill("house-sql", "Use for SQL.", "## Rules\n\n- Use SQLite.\n- Name all columns.")


def fail(task, sample=0, hard=0.0):
    common = {"skill": "", "agent": "a", "model": "m", "outcome": Outcome.FINISHED, "answer": "SELECT 1"}
    score = Score(hard, hard, (CheckResult(bool(hard), "no"),))
    return Trace(task, Rollout(task=task.id, score=score, **common), sample)


async def ask(world, *replies, skill=BLANK, traces=None, ledger=None, kind="failure", **brief):
    traces = traces or [fail(world.make_task(1))]
    model = world.ScriptedOptimizer(*replies)
    optimizer = Optimizer(model, ledger or world.PlainLedger(), workers=1, attempts=1)
    told = Brief(skill=skill, budget=4, temperature=0.3, **brief)
    batch = Minibatch(kind, tuple(traces))
    insight = await listen(optimizer, told, batch, Witness(trace.task for trace in traces))
    return insight, model.asked


async def test_the_schema_allows_only_what_can_be_applied(world):
    _, (new,) = await ask(world, world.reply(world.RULE))
    assert list(new.schema["properties"]["edits"]["items"]["properties"]) == ["rule", "because"]
    because = new.schema["properties"]["edits"]["items"]["properties"]["because"]
    assert because["items"] == {"enum": ["c1"]}
    _, (known, *_) = await ask(world, world.reply(world.RULE), skill=SKILL)
    assert list(known.schema["properties"]["edits"]["items"]["properties"])[:2] == ["op", "target"]
    assert "- Use SQLite." in known.text


async def test_a_good_reply_is_asked_for_once(world):
    insight, asked = await ask(world, world.reply(world.RULE))
    assert [e.content for e in insight.edits] == [world.RULE]
    assert insight.edits[0].sessions == ("session-1",)
    assert (insight.problem, len(asked)) == ("", 1)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I would add a rule about deleted rows.", "no whole JSON object"),
        ('{"reasoning": "x", "edits": [{"rule": "Put', "no whole JSON object"),
        ({"reasoning": "x", "edits": []}, "is empty"),
        ({"edits": "none"}, "is not a list"),
        (
            {"edits": [7, {"rule": " "}, {"op": "merge", "rule": "x"}, {"op": "replace", "rule": "x"}]},
            "edit 4",
        ),
    ],
    ids=["prose", "cut off", "empty", "no list", "no edit"],
)
async def test_a_malformed_reply_is_repaired_once(world, bad, why):
    insight, asked = await ask(world, bad, world.reply(world.RULE))
    assert [e.content for e in insight.edits] == [world.RULE]
    assert why in asked[1].text
    assert asked[1].messages[-2].role == "assistant"
    insight, asked = await ask(world, bad)
    assert (insight.edits, len(asked)) == ((), 2)
    assert why in insight.problem


async def test_json_is_found_within_prose_and_fences(world):
    text = f"Sure {{ok}}:\n```json\n{json.dumps(world.reply(world.RULE))}\n```"
    insight, asked = await ask(world, text)
    assert (len(insight.edits), len(asked)) == (1, 1)


async def test_one_unusable_edit_costs_that_edit_only(world):
    mixed = world.reply(world.RULE)
    mixed["edits"].append({"rule": ""})
    insight, asked = await ask(world, mixed)
    assert (len(insight.edits), len(asked)) == (1, 1)
    assert insight.problem == "edit 2: it says nothing"


async def test_a_missed_target_is_told_back_once(world):
    missed = world.reply(world.RULE, op="replace", target="Use MySQL.")
    fixed = world.reply(world.RULE, op="replace", target="Use SQLite.")
    insight, asked = await ask(world, missed, fixed, skill=SKILL)
    assert 'replace "Use MySQL.": the target is not in the skill' in asked[1].text
    assert insight.edits[0].target == "Use SQLite."
    _, asked = await ask(world, missed, skill=SKILL)
    assert len(asked) == 2


async def test_a_reply_with_nothing_that_may_stand_is_told_back_once(world):
    leak = world.reply("Write a query number 1 please, and nothing else at all.")
    traces = [fail(world.make_task(1, prompt=leak["edits"][0]["rule"]))]
    insight, asked = await ask(world, leak, world.reply(world.RULE), traces=traces)
    assert "copied from the prompt of a train task" in asked[1].text
    assert [e.content for e in insight.edits] == [world.RULE]
    insight, _ = await ask(world, leak, traces=traces)
    assert [result.detail for result in insight.dropped] == ["copied from the prompt of a train task"]


async def test_a_worse_second_reply_does_not_cost_the_first(world):
    missed = world.reply("Name no column is_deleted.", world.RULE, op="replace", target="Use MySQL.")
    insight, _ = await ask(world, missed, "sorry", skill=SKILL)
    assert len(insight.edits) == 2


async def test_bullets_in_one_addition_count_as_edits_of_their_own(world):
    insight, _ = await ask(world, world.reply(f"## Rules\n- {world.RULE}\n- Keep is_deleted."))
    assert [e.content for e in insight.edits] == [world.RULE, "Keep is_deleted."]


async def test_without_the_users_words_nothing_is_asked(world):
    task = world.make_task(1, corrections=(), checks=(world.Exact(text="42"),))
    insight, asked = await ask(world, world.reply(world.RULE), traces=[fail(task)])
    assert (insight.edits, asked) == ((), [])
    assert "words the user typed" in insight.problem


async def test_good_and_bad_runs_of_one_task_are_shown_side_by_side_with_the_users_words(world):
    task = world.make_task(1)
    _, (asked,) = await ask(
        world, world.reply(world.RULE), traces=[fail(task), fail(task, 1, hard=1.0)], kind="contrast"
    )
    assert "[t1] Failed" in asked.text
    assert "[t2] Passed (run 2)" in asked.text
    assert "once it failed, once it passed" in asked.text
    assert f"[c1] What the user said about it:\n> {world.CORRECTION.quote}" in asked.text


async def test_a_reminder_rests_on_the_users_words_as_an_edit_does(world):
    value = {
        "reasoning": "The rule is there.",
        "edits": [],
        "appendix_notes": [
            {"note": "Do put is_deleted = 0 into every WHERE.", "because": ["c1"]},
            {"note": "Be of good cheer.", "because": ["c9"]},
        ],
    }
    insight, asked = await ask(world, value, skill=SKILL, skill_aware=True)
    assert insight.notes == ("Do put is_deleted = 0 into every WHERE.",)
    assert [edit.sessions for edit in insight.noted] == [("session-1",)]
    assert len(asked) == 1
    assert asked[0].schema["properties"]["edits"]["minItems"] == 0


async def test_an_optimizer_that_fails_is_missing_data(world):
    failed = Completion(text="", model="scripted", error="connection refused")
    insight, asked = await ask(world, failed)
    assert (insight.reached, len(asked)) == (False, 1)
    assert "connection refused" in insight.problem


async def test_the_first_variant_is_asked_cold_and_the_same_question_is_paid_once(world):
    ledger = world.PlainLedger()
    for _ in range(2):
        _, asked = await ask(world, world.reply(world.RULE), ledger=ledger)
    assert asked == []
    _, (warm,) = await ask(world, world.reply(world.RULE), ledger=ledger, variant=1)
    assert (warm.temperature, warm.seed) == (0.3, 43)


async def test_a_ceiling_reaches_the_caller(world):
    with pytest.raises(CeilingReached):
        await ask(world, world.reply(world.RULE), ledger=world.PlainLedger(ceiling=0))
