"""Nothing is staged without the gate: the only way there is what the gate itself ruled about that text."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec
import pytest

from skillopt_gate.decide import judge
from skillopt_gate.verdicts import Decision, Pair, Policy
from skillopt_replay.skills import new_skill
from skillopt_sleep.night import ruling, stage
from skillopt_sleep.night.planned import Place, SkillPlan
from skillopt_sleep.night.ruling import NotRuled, Ruling, ask_gate, digest, require
from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.proposals import read_proposals
from tests.app.conftest import Sleeper
from tests.app.night_samples import CANDIDATE, make_tasks
from tests.conftest import git
from tests.support.chat_server import ChatModel

APP = Path(stage.__file__).parents[1]
WON = [Pair(task=f"t{n}", incumbent=(0.0,), candidate=(1.0,)) for n in range(8)]
LOST = [Pair(task=f"t{n}", incumbent=(1.0,), candidate=(1.0,)) for n in range(8)]


def rule(pairs=WON, candidate=CANDIDATE, incumbent=None) -> Ruling:
    return ask_gate(incumbent, candidate, pairs, None, Policy(), identity="scripted")


def proposals():
    connection = connect(locate().database)
    try:
        return read_proposals(connection)
    finally:
        connection.close()


def branches(sleeper: Sleeper) -> str:
    return git(sleeper.project, "branch", "--list", "skillopt/*").strip()


def test_every_staged_text_was_judged_by_the_gate_on_pairs_of_its_own(
    sleeper: Sleeper, model: ChatModel, monkeypatch
):
    asked: list[tuple[int, str]] = []
    real_judge, real_ask = judge, ask_gate

    def watch_judge(pairs, *arguments, **options):
        verdict, evidence = real_judge(pairs, *arguments, **options)
        asked.append((len(pairs), verdict.decision.value))
        return verdict, evidence

    digests: list[str] = []

    def watch_ask(incumbent, candidate, *arguments, **options):
        made = real_ask(incumbent, candidate, *arguments, **options)
        digests.append(made.candidate)
        return made

    monkeypatch.setattr(ruling, "judge", watch_judge)
    monkeypatch.setattr("skillopt_sleep.night.measure.ask_gate", watch_ask)
    sleeper.work()
    report = sleeper.night()
    (proposal,) = proposals()
    assert report["proposals"] == [proposal.id]
    assert digest(proposal.text) in digests
    (judged,) = asked
    assert judged[1] == "accept"
    assert judged[0] >= 5, "the gate saw the held-out tasks"


@pytest.mark.parametrize("answer", [Decision.REJECT, Decision.NOT_ENOUGH])
def test_what_the_gate_does_not_accept_leaves_no_branch_whatever_the_runs_say(
    sleeper: Sleeper, monkeypatch, answer: Decision
):
    def refuse(*arguments, **options):
        verdict, evidence = judge(*arguments, **options)
        return msgspec.structs.replace(verdict, decision=answer), evidence

    monkeypatch.setattr(ruling, "judge", refuse)
    sleeper.work()
    report = sleeper.night()
    assert report["proposals"] == []
    assert (branches(sleeper), proposals()) == ("", [])


def test_a_gate_that_cannot_be_asked_stages_nothing(sleeper: Sleeper, monkeypatch):
    monkeypatch.setattr("skillopt_sleep.night.measure.ask_gate", None)
    sleeper.work()
    with pytest.raises(AssertionError, match=r"this is a bug|TypeError"):
        sleeper.night()
    assert (branches(sleeper), proposals()) == ("", [])


def test_a_ruling_can_be_had_from_the_gate_and_from_nowhere_else():
    made = rule()
    fields = {name: getattr(made, name) for name in ("verdict", "evidence", "policy")}
    with pytest.raises(TypeError, match="ask_gate"):
        Ruling(key=object(), **fields, candidate=made.candidate, base="", identity="scripted")


def test_a_ruling_holds_for_its_own_text_against_its_own_base_alone():
    made = rule()
    require(made, text=CANDIDATE.text, base_text="")
    with pytest.raises(NotRuled, match="another text than the one to be staged"):
        require(made, text=CANDIDATE.text + "\n- And delete the tests.\n", base_text="")
    with pytest.raises(NotRuled, match="would replace"):
        require(made, text=CANDIDATE.text, base_text="what somebody wrote meanwhile")
    with pytest.raises(NotRuled, match="did not accept"):
        require(rule(LOST), text=CANDIDATE.text, base_text="")
    with pytest.raises(NotRuled, match="did not rule"):
        require(made.verdict, text=CANDIDATE.text, base_text="")  # type: ignore[arg-type]


def test_staging_asks_for_the_ruling_before_it_touches_anything(tmp_path: Path):
    place = Place(scope="user", live=str(tmp_path / "SKILL.md"), text="")
    tasks = make_tasks(2)
    plan = SkillPlan(
        skill="add-packages", title="", client="claude", place=place, train=(tasks[0],), gate=(tasks[1],)
    )
    other = new_skill("add-packages", "Use when asked to add a package", "- Use `rm -rf`.")
    with pytest.raises(NotRuled):
        stage.stage_candidate(None, locate(), plan, other.text, None, rule())  # type: ignore[arg-type]
    assert not locate().vault.exists()


# --- the code itself has no other way -------------------------------------------------------------


def find_callers(name: str) -> set[str]:
    """Return the modules of the app that call a function of this name."""
    found = set()
    for path in APP.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func
                said = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
                if said == name:
                    found.add(str(path.relative_to(APP)))
    return found


def test_a_night_asks_the_gate_in_one_place_and_rulings_are_made_there():
    # The training core has a gate of its own to go on by, and stages nothing.
    assert find_callers("judge") == {"night/ruling.py", "training/gating.py"}
    assert find_callers("Ruling") == {"night/ruling.py"}
    assert find_callers("ask_gate") == {"night/measure.py"}


def test_branches_are_written_for_what_was_ruled_or_was_a_proposal_before():
    assert find_callers("stage") == {"proposing.py"}
    assert find_callers("write_branch") == {"night/stage.py"}
    assert find_callers("restage") == {"deciding.py", "memorising.py"}
    tree = ast.parse((APP / "night/stage.py").read_text(encoding="utf-8"))
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    first = next(node for node in function.body if not isinstance(node.value, ast.Constant))
    assert isinstance(first.value, ast.Call)
    assert first.value.func.id == "require", "the ruling is asked for before anything else"


# --- what refuses a document before anything runs is asked on every night ------------------------------


@pytest.mark.parametrize("asked", ["find_objections", "find_leaked"])
def test_a_night_runs_no_held_out_task_with_a_document_that_is_refused(
    sleeper: Sleeper, model: ChatModel, monkeypatch, asked: str
):
    shown: list[tuple] = []

    def refuse(*arguments, **options):
        shown.append(arguments)
        return ["nobody should read this"]

    monkeypatch.setattr(f"skillopt_sleep.night.bench.{asked}", refuse)
    sleeper.work()
    report = sleeper.night()
    (verdict,) = report["verdicts"]
    assert verdict["reason"] == "rejected: nobody should read this"
    assert (branches(sleeper), proposals()) == ("", [])
    assert all(model.is_training(request) for request in model.task_requests)
    if asked == "find_leaked":
        _, _, held_out, train, hidden = shown[0]
        assert held_out
        assert train
        assert hidden, "tasks that do not run tonight are no less secret"
