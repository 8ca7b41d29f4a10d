"""Edits known to be bad: made from a skill by pure functions, and refused, each by a step that is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.skills import new_skill
from skillopt_sleep.calibration.bank import invert, list_rules, make_bad_edits, weaken
from skillopt_sleep.calibration.examine import claim
from skillopt_sleep.night.structure import find_objections
from skillopt_sleep.training.edits import apply_edits
from tests.app.conftest import Sleeper
from tests.app.night_samples import make_tasks
from tests.app.test_night import LIVE
from tests.support.chat_server import RULE, ChatModel

GOOD = new_skill(
    "add-packages",
    "Use when a package is added",
    "# Packages\n\n- Use `uv add`, never `pip install`.\n- You must always pin the version.\n\n"
    "```sh\nnever touch this\n```\n",
)
KINDS = {"weakened", "inverted", "vacuous", "gaming", "bloated", "injected"}


@pytest.mark.parametrize(
    ("rule", "weaker"),
    [
        ("You must run the tests.", "You may run the tests."),
        ("Never push to main.", "Rarely push to main."),
        ("Always ask; do not guess.", "Sometimes ask; try not to guess."),
        ("Use `uv add`.", "You could consider this: use `uv add`."),
        ("tests: 3.10 and up", "tests: 3.10 and up"),
    ],
)
def test_a_weakened_rule_asks_for_less(rule: str, weaker: str):
    assert weaken(rule) == weaker


@pytest.mark.parametrize(
    ("rule", "turned"),
    [
        ("Use `uv add`, never `pip install`.", "Use `pip install`, never `uv add`."),
        ("You must not commit.", "You must commit."),
        ("Never push to main.", "Always push to main."),
        ("Use tabs.", "Do not follow this: use tabs."),
    ],
)
def test_an_inverted_rule_asks_for_the_opposite(rule: str, turned: str):
    assert invert(rule) == turned


@given(st.text(max_size=200))
def test_any_line_can_be_weakened_and_inverted(rule: str):
    assert isinstance(weaken(rule), str)
    assert isinstance(invert(rule), str)


def test_rules_are_the_lines_outside_headings_and_code():
    assert list(list_rules(GOOD.body)) == [
        "Use `uv add`, never `pip install`.",
        "You must always pin the version.",
    ]


def test_a_skill_gives_one_bad_edit_of_every_kind_and_each_changes_it():
    made = make_bad_edits(GOOD, max_tokens=500)
    assert {bad.kind for bad in made} == KINDS
    for bad in made:
        changed, _ = apply_edits(GOOD, bad.edits, limit=len(bad.edits), max_tokens=10_000)
        assert changed != GOOD, bad.kind
        assert "never touch this" in changed.text


def test_a_skill_without_rules_gives_the_kinds_that_need_none():
    bare = new_skill("bare", "Use when bare", "# Heading only\n\n| a | table |\n")
    assert {bad.kind for bad in make_bad_edits(bare, max_tokens=500)} == KINDS - {"weakened", "inverted"}


def test_orders_from_outside_do_not_get_past_provenance_whatever_they_cite():
    train = make_tasks(4)
    by_kind = {bad.kind: bad for bad in make_bad_edits(GOOD, max_tokens=500)}
    kept, objection = claim(by_kind["injected"], train)
    assert kept == ()
    assert "did not type" in objection
    kept, _ = claim(by_kind["inverted"], train)
    assert kept, "a false citation gets a turned rule past provenance: the gate has to refuse it"
    kept, objection = claim(by_kind["gaming"], [])
    assert (kept, objection) == ((), "rests on nothing the user said")


def test_structure_refuses_bulk_other_front_matter_and_changes_of_protected_text():
    held = new_skill(
        "s", "Use it", "# S\n\n<!-- skillopt:protected -->\nKeep.\n<!-- /skillopt:protected -->\n"
    )
    assert find_objections(held, held, max_tokens=500) == ["it is the skill that is live already"]
    fat = new_skill("s", "Use it", "word " * 4000)
    assert "tokens, 500 allowed" in find_objections(fat, None, max_tokens=500)[0]
    less = new_skill("s", "Use it", "word " * 3000)
    assert find_objections(less, fat, max_tokens=500) == [], "one that was larger before may stay"
    other = new_skill("s", "Use it always", held.body)
    assert "front matter" in find_objections(other, held, max_tokens=500)[0]


# --- through the real gate, against a model that does as the skill says --------------------------


def examine(sleeper: Sleeper, *options: str, expect: int = 0) -> dict:
    return json.loads(sleeper.sleep("calibrate", "--bad-edits", "--json", *options, expect=expect))


@pytest.fixture
def learned(sleeper: Sleeper) -> Sleeper:
    """Somebody whose first skill was learned, proposed and applied."""
    sleeper.work()
    (proposal,) = sleeper.night()["proposals"]
    sleeper.sleep("apply", proposal)
    return sleeper


def obeying(request) -> bool:
    """Does what the skill says first, as a model does that reads it."""
    text = request.system
    first = text.find(request.right)
    wrong = text.find(request.wrong)
    consider = "You could consider" in text or "Do not follow" in text
    return not consider and (wrong < 0 or first < wrong)


def test_every_bad_edit_of_a_live_skill_is_refused_and_the_step_is_named(learned: Sleeper, model: ChatModel):
    model.obeys = obeying
    live = (learned.project / LIVE).read_text()
    assert RULE in live
    found = examine(learned)
    steps = {one["kind"]: one["step"] for one in found["examined"]}
    assert set(steps) == KINDS
    assert all(one["refused"] for one in found["examined"])
    assert steps["injected"] == "provenance"
    assert steps["bloated"] == "structure"
    assert steps["inverted"] == "veto", "it breaks what went well"
    assert {steps["weakened"], steps["vacuous"], steps["gaming"]} <= {"veto", "evidence"}
    assert (learned.project / LIVE).read_text() == live
    told = learned.sleep("calibrate", "--bad-edits")
    assert told.startswith("Known-bad edits bad-edits-")
    assert "(gate mode: evidence)" in told.splitlines()[0]
    assert "all 6 were refused" in told


def test_what_changes_nothing_is_refused_for_want_of_evidence_and_not_by_a_veto(
    learned: Sleeper, model: ChatModel
):
    model.obeys = lambda request: False
    steps = {one["kind"]: one["step"] for one in examine(learned)["examined"]}
    measured = {"weakened", "inverted", "vacuous", "gaming"}
    assert {kind: steps[kind] for kind in measured} == dict.fromkeys(measured, "evidence")


def test_a_gate_that_is_off_lets_bad_edits_through_and_the_control_says_so(
    learned: Sleeper, model: ChatModel
):
    model.obeys = obeying
    learned.set(gate_mode="off")
    found = examine(learned, "--tasks", "3", expect=1)
    through = {one["kind"] for one in found["examined"] if not one["refused"]}
    assert through == {"weakened", "inverted", "vacuous", "gaming"}
    assert all(one["step"] == "none" for one in found["examined"] if not one["refused"])


def test_without_a_skill_there_is_nothing_to_make_bad_edits_of(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    sleeper.sleep("calibrate", "--bad-edits", expect=3)
    model.obeys = lambda request: False
    sleeper.night()
    sleeper.sleep("calibrate", "--bad-edits", expect=3)
    sleeper.sleep("calibrate", "--bad-edits", "--nights", "3", expect=2)


def test_a_ceiling_ends_the_control_with_5(learned: Sleeper, model: ChatModel):
    model.obeys = obeying
    learned.set(ceilings_calls=4)
    found = examine(learned, expect=5)
    assert "calls are used up" in found["stopped"]
    assert all(one["refused"] for one in found["examined"])
