"""The other ways to change a skill: rewriting it, making it shorter, and reminders in its appendix."""

from __future__ import annotations

import re

from skillopt_replay.skills import new_skill
from skillopt_sleep.training.asking import Optimizer
from skillopt_sleep.training.regions import write_region
from skillopt_sleep.training.run_ledger import RunLedger
from tests.support.school import FAMILIES, Teacher, rule
from tests.training.test_trainer import read, run

KEPT = write_region(
    new_skill("school", "Use at school.", "# School"), "slow_update", "Be kind to trees.", max_tokens=100
)


def families_in(text):
    return [family for family in FAMILIES if family in text]


def suggest(messages):
    told = Teacher().analyst(messages)
    suggestions = [
        {"type": "add_rule", "title": "", "motivation": "it fails", "instruction": edit["content"]}
        for edit in told["edits"]
    ]
    return {"reasoning": "", "patterns": [], "revise_suggestions": suggestions}


def by_suggestions(messages):
    suggested = messages[1].content.rpartition("The suggestions:")[2]
    known = messages[1].content.partition("The suggestions:")[0]
    rules = [rule(f) for f in families_in(suggested) if rule(f) not in known]
    body = re.search(
        r"The skill as it is:\n\n(.*?)\n\n(?:The sugg|What was)", messages[1].content, re.DOTALL
    )[1]
    body = re.sub(r"<!-- SLOW.*END -->", "", body, flags=re.DOTALL)
    return {"reasoning": "", "change_summary": ["rules"], "new_skill": "\n\n".join([body.strip(), *rules])}


async def test_suggestions_are_worked_in_and_a_dropped_region_is_put_back(tmp_path):
    summary, _, teacher = await run(
        tmp_path,
        teacher=Teacher(answers={"analyst": suggest, "rewrite": by_suggestions}),
        skill=KEPT,
        optimizer={"skill_update_mode": "rewrite", "learning_rate": 4, "use_slow_update": False},
    )
    assert summary.best_test.hard == 1.0
    assert "<!-- SLOW_UPDATE_START -->\nBe kind to trees.\n<!-- SLOW_UPDATE_END -->" in summary.best.text
    assert read(tmp_path, "history.json")[0]["rewrite_change_summary"] == ["rules"]
    assert "rewrite" in [stage for stage, _ in teacher.asked]


async def test_a_rewrite_that_fails_changes_nothing_and_says_why(tmp_path):
    torn = {"reasoning": "", "change_summary": [], "new_skill": "# School\n\n```\nopen"}
    summary, _, _ = await run(
        tmp_path,
        teacher=Teacher(answers={"analyst": suggest, "rewrite": lambda _m: torn}),
        optimizer={"skill_update_mode": "rewrite"},
    )
    record = read(tmp_path, "history.json")[0]
    assert record["action"] == "skip_no_rewrite"
    assert any("may not stand" in problem for problem in record["problems"])
    assert summary.total_accepts == 0


async def test_whole_documents_of_minibatches_are_merged_to_one(tmp_path):
    def document(messages):
        shown = messages[1].content
        failed = set(re.findall(r"\[t\d+\] Failed.*?about a (\w+)\?", shown, re.DOTALL))
        body = shown.partition("\n\n[t1]")[0].partition("is:\n\n")[2]
        text = "\n\n".join([body, *(rule(f) for f in sorted(failed) if rule(f) not in body)])
        return {"reasoning": "", "patterns": [], "skill_candidates": [{"new_skill": text}]}

    def join(messages):
        return {
            "reasoning": "",
            "change_summary": [],
            "new_skill": "\n\n".join(
                ["# School", *(rule(f) for f in FAMILIES if rule(f) in messages[1].content)]
            ),
        }

    summary, _, _ = await run(
        tmp_path,
        teacher=Teacher(answers={"analyst": document, "rewrite": join}),
        optimizer={"skill_update_mode": "full_rewrite"},
    )
    assert summary.best_test.hard == 1.0
    assert read(tmp_path, "history.json")[0]["n_failure_patches"] > 0


async def test_a_full_skill_is_made_shorter_to_take_the_rule(tmp_path):
    wordy = new_skill("school", "Use at school.", "# School\n\n" + "Trees are tall and very green. " * 20)

    def shorten(_messages):
        return {
            "reasoning": "",
            "change_summary": [],
            "new_skill": "# School\n\nTrees are tall and green, all year long, in every park of the town.",
        }

    summary, _, teacher = await run(
        tmp_path,
        teacher=Teacher(answers={"rewrite": shorten}),
        skill=wordy,
        optimizer={"max_skill_tokens": 180, "min_skill_tokens": 50, "learning_rate": 4},
    )
    assert summary.best_test.hard == 1.0
    assert len(summary.best.text) / 4 <= 180


async def test_reminders_go_into_the_appendix_only_through_the_gate(tmp_path):
    def analyst(messages):
        told = Teacher().analyst(messages)
        return {**told, "appendix_notes": ["Read the question twice."]}

    summary, _, teacher = await run(
        tmp_path,
        teacher=Teacher(answers={"analyst": analyst}),
        optimizer={"use_skill_aware_reflection": True, "use_slow_update": False},
    )
    asked = [messages[0].content for stage, messages in teacher.asked if stage == "analyst"]
    assert all("lapse" in system for system in asked)
    result = read(tmp_path, "appendix/epoch_01/slow_result.json")
    assert (result["action"], "Read the question twice." in result["appendix_content"]) == ("reject", True)
    assert "Read the question twice." not in summary.best.text
    assert "Read the question twice." in (tmp_path / "run/appendix/epoch_01/candidate_skill.md").read_text()


async def test_a_question_with_a_malformed_reply_is_repaired_once_and_paid_once(tmp_path):
    replies = iter(["not JSON", {"edits": [], "reasoning": ""}])
    teacher = Teacher(answers={"merge": lambda _m: next(replies)})
    ledger = RunLedger(tmp_path / "calls.db")
    optimizer = Optimizer(teacher, ledger, workers=1)
    from skillopt_sleep.training.merging import make_schema

    for _ in range(2):
        reply = await optimizer.ask(
            "merge", [], make_schema(new_skill("school", "Use at school.", "# School"))
        )
        assert reply.value["edits"] == []
    assert len(teacher.asked) == 2
    assert "could not be used" in teacher.asked[1][1][-1].content
    assert optimizer.uses["merge"].calls == 4
    ledger.close()
