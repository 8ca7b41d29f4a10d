"""What becomes of an analyst's reply."""

from __future__ import annotations

import json

import pytest

from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.skills import new_skill
from skillopt_replay.tasks import Contains, Exact
from skillopt_sleep.training import make_task
from skillopt_sleep.training.analyst_prompts import EXAMPLE, Brief, Minibatch
from skillopt_sleep.training.analysts import cut, reflect
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.insights import Insight
from skillopt_sleep.training.merging import merge
from skillopt_sleep.training.records import Edit
from skillopt_sleep.training.traces import Trace
from tests.support.school import Teacher
from tests.training.test_traces import make_trace

SKILL = new_skill("sums", "Use for sums.", "# Sums\n\nFor columns.\n\n- Add from the left.")


def edit(op="add", content="Carry the one.", target=""):
    return {"op": op, "target": target, "content": content, "support": 9}


FAILED = make_trace(Exact(text="4")).rollout


async def ask(*replies, skill=SKILL, kind="failure", traces=(), **brief):
    answers = iter([{"reasoning": "", "patterns": [], "edits": list(edits)} for edits in replies])
    schemas = []

    class Analyst(Teacher):
        async def complete(self, messages, *, schema=None, **more):
            schemas.append(schema)
            return await super().complete(messages, schema=schema, **more)

    teacher = Analyst(answers={"analyst": lambda _m: next(answers)})
    traces = tuple(traces) or (make_trace(Exact(text="4"), hard=float(kind == "success")),) * 2
    optimizer = Optimizer(teacher, MemoryLedger(), workers=1)
    told = Brief(**{"skill": skill, "budget": 4, **brief})
    insight = await reflect(optimizer, told, Minibatch(kind, traces))
    return insight, teacher, schemas


async def test_an_edit_cannot_claim_more_tasks_than_were_shown():
    insight, _, _ = await ask([edit()])
    assert [(e.content, e.support, e.source) for e in insight.edits] == [("Carry the one.", 1, "failure")]


async def test_a_missed_place_is_told_with_the_lines_it_could_be_and_repaired():
    insight, teacher, _ = await ask(
        [edit("replace", target="Add from the right")], [edit("replace", target="Add from the left.")]
    )
    assert "- Add from the left." in teacher.asked[1][1][-1].content
    assert insight.edits[0].target == "Add from the left."


async def test_a_rule_whose_place_is_not_found_twice_is_added_at_the_end():
    insight, _, _ = await ask(*[[edit("insert_after", target="Multiply.")]] * 2)
    assert [(e.op, e.target) for e in insight.edits] == [("add", "")]
    assert "not in the skill" in insight.problem


EMPTY = new_skill("sums", "Use for sums.", "# Sums")


async def test_of_an_empty_skill_there_is_only_to_add():
    _, _, (schema, *_) = await ask([edit()], skill=EMPTY, skill_aware=True)
    assert schema["properties"]["edits"]["items"]["properties"]["op"] == {"enum": ["add"]}
    _, _, (schema, *_) = await ask([edit()])
    assert "replace" in json.dumps(schema)


async def test_while_the_skill_says_nothing_only_rules_are_asked_for():
    insight, teacher, (schema,) = await ask([{"rule": "Carry the one."}], skill=EMPTY)
    assert list(schema["properties"]["edits"]["items"]["properties"]) == ["rule"]
    assert [(e.op, e.content, e.support) for e in insight.edits] == [("add", "Carry the one.", 1)]
    asked = teacher.asked[0][1][1].content
    assert "What it answered:" in asked
    assert "Write 1 to 4 rules" in asked


async def test_a_first_rule_that_cannot_be_used_costs_that_rule_only():
    insight, teacher, _ = await ask([{"rule": " "}, {"rule": "Carry the one."}], skill=EMPTY)
    assert [e.content for e in insight.edits] == ["Carry the one."]
    assert len(teacher.asked) == 1
    insight, teacher, _ = await ask([{"rule": " "}], [{"rule": "Carry the one."}], skill=EMPTY)
    assert [e.content for e in insight.edits] == ["Carry the one."]
    assert "says nothing" in teacher.asked[1][1][-1].content


LISTED = new_skill("sums", "Use for sums.", "# Sums\n\n## Rules\n\n- Add from the left.\n- Carry the one.")


async def test_of_a_short_list_of_rules_a_new_one_is_added_and_an_old_one_named_by_its_number():
    given = [{"instead_of": 0, "rule": "Check it."}, {"instead_of": 1, "rule": "Add from the right."}]
    insight, teacher, (schema,) = await ask(given, skill=LISTED)
    assert schema["properties"]["edits"]["items"]["properties"]["instead_of"] == {"enum": [0, 1, 2]}
    assert "1. Add from the left.\n2. Carry the one." in teacher.asked[0][1][1].content
    assert [(e.op, e.target, e.content) for e in insight.edits] == [
        ("add", "", "Check it."),
        ("replace", "Add from the left.", "Add from the right."),
    ]


async def test_an_empty_rule_in_the_place_of_another_takes_it_out():
    insight, _, _ = await ask([{"instead_of": 2, "rule": " "}], skill=LISTED)
    assert [(e.op, e.target) for e in insight.edits] == [("delete", "Carry the one.")]


@pytest.mark.parametrize("place", [7, -1, True, "1", None])
async def test_a_number_that_no_rule_has_replaces_none(place):
    insight, _, _ = await ask([{"instead_of": place, "rule": "Check it."}], skill=LISTED)
    assert [(e.op, e.target) for e in insight.edits] == [("add", "")]


async def test_what_is_no_text_replaces_no_rule():
    insight, teacher, _ = await ask(*[[{"instead_of": 1, "rule": ["Check it."]}]] * 2, skill=LISTED)
    assert insight.edits == ()
    assert "Expected `str`" in teacher.asked[1][1][-1].content


async def test_a_rule_that_may_not_stand_takes_no_other_s_place():
    tasks = [
        Trace(make_task(n, f"Add what Ann paid in {n} up.", Exact(text=f"{n} is due")), FAILED)
        for n in ("May", "June")
    ]
    given = [{"rule": "Say May is due."}, {"rule": "Carry the one."}]
    insight, teacher, _ = await ask(given, skill=EMPTY, traces=tasks, budget=1)
    assert [e.content for e in insight.edits] == ["Carry the one."]
    assert len(teacher.asked) == 1


@pytest.mark.parametrize(
    "raw",
    [
        '{"op": "add", "content": "Carry.", "support": 1e999}',
        '{"op": "add", "content": "Carry.", "support": NaN}',
    ],
)
async def test_a_number_beyond_all_numbers_is_a_fault_of_its_edit(raw):
    text = f'{{"reasoning": "", "edits": [{raw}, {{"op": "add", "content": "Check it."}}]}}'
    teacher = Teacher(answers={"analyst": lambda _m: text, "merge": lambda _m: text})
    optimizer = Optimizer(teacher, MemoryLedger(), workers=1)
    batch = Minibatch("failure", (make_trace(Exact(text="4")),))
    insight = await reflect(optimizer, Brief(skill=SKILL, budget=4), batch)
    assert [e.content for e in insight.edits] == ["Check it."]
    assert "edit 1" in insight.problem
    merged = await merge(optimizer, SKILL, [insight, insight_of("Add.")], batch_size=2)
    assert [e.content for e in merged.edits] == ["Check it."]


def insight_of(content):
    return Insight(kind="failure", edits=(Edit(op="add", content=content),))


async def test_of_a_model_that_repeats_itself_a_hundred_edits_are_read():
    edits = [edit(content=f"Rule {n} of them.") for n in range(3000)]
    insight, teacher, _ = await ask(edits, edits, budget=None)
    assert len(insight.edits) == 100
    assert "more than 100 edits" in teacher.asked[1][1][-1].content
    assert len(teacher.asked[1][1][-1].content) < 1000


@pytest.mark.parametrize(
    "body",
    [
        "# Sums\n\nFor columns.\n\n- Carry.",
        "# Sums\n\n" + "\n".join(f"- Rule {n}." for n in range(7)),
        "# Sums\n\n- Carry it.\n- Carry it. Then stop.",
        "# Sums\n\n- Carry it. <!-- why -->",
    ],
    ids=["text", "many", "one in another", "comment"],
)
async def test_of_a_longer_text_the_places_are_told_in_full(body):
    _, _, (schema,) = await ask([edit()], skill=new_skill("sums", "Use for sums.", body))
    assert "target" in schema["properties"]["edits"]["items"]["properties"]


async def test_the_example_is_no_edit():
    insight, _, _ = await ask([edit(content=EXAMPLE)], [edit(content=EXAMPLE), edit()])
    assert [e.content for e in insight.edits] == ["Carry the one."]


async def test_a_rule_that_repeats_one_task_is_told_back_and_left_out():
    tasks = [
        Trace(
            make_task(f"{n}", f"Write the command that runs the tests of the module {n}.", Exact(text="4")), r
        )
        for n, r in (("login", FAILED), ("cache", FAILED))
    ]
    copied = edit(content="Write the command that runs the tests of the module login: pytest login")
    shared = edit(content="To write the command that runs the tests of the module, use make.")
    insight, teacher, _ = await ask(*[[copied, shared]] * 2, traces=tasks)
    assert [e.content for e in insight.edits] == [shared["content"]]
    assert "about a single task" in teacher.asked[1][1][-1].content


async def test_the_answer_of_one_task_gets_into_no_rule():
    tasks = [
        Trace(make_task(f"{n}", f"Sum column {n}?", Exact(text=f"=SUM({n}:{n})")), FAILED) for n in ("B", "C")
    ]
    copied, general = edit(content="Write =SUM(B:B), not a sentence."), edit(content="Write =SUM(X:X) alone.")
    insight, teacher, _ = await ask(*[[copied, general]] * 2, traces=tasks)
    assert [e.content for e in insight.edits] == [general["content"]]
    assert "about a single task" in teacher.asked[1][1][-1].content


async def test_no_more_edits_than_the_learning_rate_in_force():
    insight, _, _ = await ask([edit(content=f"Rule {n}.") for n in range(9)])
    assert len(insight.edits) == 4


def test_minibatches_depend_on_the_seed_alone():
    base = make_trace(Contains(text="x"))
    traces = [Trace(make_task(f"{n}", "?", Contains(text="x")), base.rollout) for n in range(10)]
    batches = cut(traces, size=4, seed=3)
    assert [len(batch.traces) for batch in batches] == [4, 4, 2]
    assert batches == cut(traces, size=4, seed=3)
    assert batches != cut(traces, size=4, seed=4)
