"""One minibatch, one question; what cannot be used is told back once."""

from __future__ import annotations

import json

import pytest
from skillopt_sleep.training.reflect import reflect

from skillopt_replay.errors import CeilingReached
from skillopt_replay.protocols import Completion
from skillopt_replay.rollouts import CheckResult, Outcome, Rollout, Score
from skillopt_replay.skills import new_skill
from skillopt_sleep.training.evidence import collect_failures
from skillopt_sleep.training.provenance import collect_sources
from skillopt_sleep.training.records import TrainingConfig

SKILL = new_skill("house-sql", "Use for SQL.", "## Rules\n\n- Use SQLite.\n- Name all columns.")


async def ask(world, *replies, skill=None, tasks=None, ledger=None, variant=0):
    score = Score(0.0, 0.0, (CheckResult(False, "no"),))
    common = {"skill": "", "agent": "a", "model": "m", "outcome": Outcome.FINISHED, "answer": "SELECT 1"}
    runs = [(t, Rollout(task=t.id, score=score, **common)) for t in tasks or [world.make_task(1)]]
    model = world.ScriptedOptimizer(*replies)
    reflection = await reflect(
        model,
        ledger or world.PlainLedger(),
        skill,
        collect_failures(runs),
        TrainingConfig(),
        sources=collect_sources(runs),
        variant=variant,
    )
    return reflection, model.asked


async def test_the_schema_allows_only_what_can_be_applied(world):
    _, (new,) = await ask(world, world.reply(world.RULE))
    assert list(new.schema["properties"]["edits"]["items"]["properties"]) == ["rule", "because"]
    because = new.schema["properties"]["edits"]["items"]["properties"]["because"]
    assert because["items"] == {"enum": ["c1"]}
    _, (known, *_) = await ask(world, world.reply(world.RULE), skill=SKILL)
    assert list(known.schema["properties"]["edits"]["items"]["properties"])[:2] == ["op", "target"]
    assert "- Use SQLite." in known.text


async def test_a_good_reply_is_asked_for_once(world):
    reflection, asked = await ask(world, world.reply(world.RULE))
    assert [e.content for e in reflection.edits] == [world.RULE]
    assert reflection.edits[0].sessions == ("session-1",)
    assert (reflection.problem, len(asked)) == ("", 1)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("I would add a rule about deleted rows.", "no whole JSON object"),
        ('{"reasoning": "x", "edits": [{"rule": "Put', "no whole JSON object"),
        ({"reasoning": "x", "edits": []}, "is empty"),
        ({"edits": "none"}, 'no list "edits"'),
        (
            {"edits": [7, {"rule": " "}, {"op": "merge", "rule": "x"}, {"op": "replace", "rule": "x"}]},
            "edit 4",
        ),
    ],
)
async def test_a_malformed_reply_is_repaired_once(world, bad, why):
    reflection, asked = await ask(world, bad, world.reply(world.RULE))
    assert [e.content for e in reflection.edits] == [world.RULE]
    assert why in asked[1].text
    assert asked[1].messages[-2].role == "assistant"
    reflection, asked = await ask(world, bad)
    assert (reflection.edits, len(asked)) == ((), 2)
    assert why in reflection.problem


async def test_json_is_found_within_prose_and_fences(world):
    text = f"Sure {{ok}}:\n```json\n{json.dumps(world.reply(world.RULE))}\n```"
    reflection, asked = await ask(world, text)
    assert (len(reflection.edits), len(asked)) == (1, 1)


async def test_one_unusable_edit_costs_that_edit_only(world):
    mixed = world.reply(world.RULE)
    mixed["edits"].append({"rule": ""})
    reflection, asked = await ask(world, mixed)
    assert len(reflection.edits) == 1
    assert reflection.problem == 'edit 2: "rule" is empty'
    assert len(asked) == 1


async def test_a_missed_target_is_told_back_once(world):
    missed = world.reply(world.RULE, op="replace", target="Use MySQL.")
    fixed = world.reply(world.RULE, op="replace", target="Use SQLite.")
    reflection, asked = await ask(world, missed, fixed, skill=SKILL)
    assert 'replace "Use MySQL.": the target is not in the skill' in asked[1].text
    assert reflection.edits[0].target == "Use SQLite."
    reflection, asked = await ask(world, missed, skill=SKILL)
    assert len(asked) == 2


async def test_malformed_then_missed_are_each_told_once(world):
    missed = world.reply(world.RULE, op="delete", target="Use MySQL.")
    fixed = world.reply(world.RULE, op="delete", target="Use SQLite.")
    reflection, asked = await ask(world, "no", missed, fixed, skill=SKILL)
    assert len(asked) == 3
    assert reflection.edits[0].op == "delete"


async def test_a_reply_with_nothing_that_may_stand_is_told_back_once(world):
    leak = world.reply("Write a query number 1 please, and nothing else at all.")
    reflection, asked = await ask(
        world, leak, world.reply(world.RULE), tasks=[world.make_task(1, prompt=leak["edits"][0]["rule"])]
    )
    assert "copied from the prompt of a train task" in asked[1].text
    assert [e.content for e in reflection.edits] == [world.RULE]


async def test_a_worse_second_reply_does_not_cost_the_first(world):
    missed = world.reply("Name no column is_deleted.", world.RULE, op="replace", target="Use MySQL.")
    reflection, _ = await ask(world, missed, "sorry", skill=SKILL)
    assert len(reflection.edits) == 2


async def test_bullets_in_one_addition_count_as_edits_of_their_own(world):
    reflection, _ = await ask(world, world.reply(f"## Rules\n- {world.RULE}\n- Keep is_deleted."))
    assert [e.content for e in reflection.edits] == [world.RULE, "Keep is_deleted."]


async def test_without_the_users_words_nothing_is_asked(world):
    task = world.make_task(1, corrections=(), checks=(world.Exact(text="42"),))
    reflection, asked = await ask(world, world.reply(world.RULE), tasks=[task])
    assert (reflection.edits, asked) == ((), [])
    assert "words the user typed" in reflection.problem


async def test_an_optimizer_that_fails_is_missing_data(world):
    failed = Completion(text="", model="scripted", error="connection refused")
    reflection, asked = await ask(world, failed)
    assert (reflection.reached, len(asked)) == (False, 1)
    assert "connection refused" in reflection.problem


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
