"""What a run says of a step."""

from __future__ import annotations

from skillopt_sleep.training.records import Edit, EditResult
from skillopt_sleep.training.step_files import tell_step
from skillopt_sleep.training.step_parts import Plan
from skillopt_sleep.training.words import say_number


def tell(action, applied, *results, problems=()):
    said = []
    record = {
        "rollout_lost": 0,
        "rollout_hard": 0.5,
        "rollout_n": 4,
        "n_patches": 1,
        "n_edits_merged": 1,
        "edit_apply_summary": {"total": len(results), "applied": applied},
        "action": action,
        "problems": problems,
    }
    tell_step(said.append, Plan(step=1, epoch=1, step_in_epoch=1, batches=()), 2, record, results)
    return [line.removeprefix("step 1/2 (epoch 1) ") for line in said]


def test_an_edit_that_was_dropped_is_told_with_the_reason():
    edit = Edit(op="replace", target="Not there.", content="Say\n  yes. " + "x" * 100)
    lines = tell("skip_no_patches", 0, EditResult(edit=edit, applied=False, detail="the target is not there"))
    assert lines[1] == "reflect: 1 patch, 1 edit merged"
    assert lines[2] == "update: 0 of 1 selected edit applied"
    assert lines[3].startswith('update: dropped "Say yes. xxx')
    assert lines[3].endswith('…": the target is not there')
    assert len(lines[3]) < 130
    assert lines[4] == "gate: skip_no_patches: no edit is left to try"


def test_an_edit_that_was_applied_is_not_told_again():
    lines = tell(
        "accept", 1, EditResult(edit=Edit(op="add", content="Yes."), applied=True, detail="at the end")
    )
    assert not any("dropped" in line for line in lines)
    assert lines[-1] == "gate: accept"


def test_a_number_has_its_noun_and_its_thousands():
    assert [say_number(n, "patch", "patches") for n in (0, 1, 2)] == ["0 patches", "1 patch", "2 patches"]
    assert say_number(1234567, "token") == "1,234,567 tokens"
