"""Evidence is one agent's and one model's; with another it starts anew on tasks that are fresh again."""

from __future__ import annotations

import msgspec

from skillopt_gate.eprocess import start
from skillopt_replay.rollouts import Outcome, Rollout
from skillopt_sleep.night.carrying import grow
from skillopt_sleep.night.identity import find_answering, is_of, name_identity
from skillopt_sleep.night.measure import Conditions, measure
from skillopt_sleep.night.planned import NOTHING_FRESH
from skillopt_sleep.night.renewal import renew
from skillopt_sleep.settings import Gate, Settings
from skillopt_sleep.store.candidates import Carried
from tests.app.conftest import Sleeper
from tests.app.night_samples import CANDIDATE, ScriptedRoller, make_tasks
from tests.app.test_night import judged
from tests.app.test_plan import plan
from tests.support.chat_server import ChatModel

TASKS = make_tasks(12)
AGENT = "claude-code 2.1.0 default"


def run_of(model: str) -> Rollout:
    return Rollout(task="t", skill="", agent=AGENT, model=model, outcome=Outcome.FINISHED, answer="")


def test_the_model_that_answered_stands_in_the_identity_once():
    named = name_identity(AGENT, "sonnet-5")
    assert named == "claude-code 2.1.0 default [sonnet-5]"
    assert name_identity("claude-code 2.1.0 sonnet-5", "sonnet-5") == "claude-code 2.1.0 sonnet-5"
    assert name_identity("chat openai:host#m", "m") == "chat openai:host#m"
    assert name_identity("chat local:coder-1.5b@cc324af0", "coder-1.5b") == "chat local:coder-1.5b@cc324af0"
    assert name_identity("chat openai:host#m-4-mini", "m-4") == "chat openai:host#m-4-mini [m-4]"
    assert name_identity(AGENT, "") == AGENT
    assert is_of(named, AGENT)
    assert is_of(AGENT, AGENT)
    assert not is_of(named, "claude-code 2.1.1 default")
    assert not is_of("claude-code 2.1.0 default-2", AGENT)


def test_the_model_that_answered_most_speaks_for_the_night():
    assert find_answering([run_of("b"), run_of("a"), run_of("b"), run_of("")]) == "b"
    assert find_answering([run_of("b"), run_of("a")]) == "a"
    assert find_answering([run_of("")]) == ""


class Renamed(ScriptedRoller):
    """Answers as `model`, or as what `model` says of the task."""

    def __init__(self, passes, model) -> None:
        super().__init__(passes)
        self.model = model

    async def __call__(self, task, skill, repeat):
        name = self.model if isinstance(self.model, str) else self.model(task.id, skill is not None)
        return msgspec.structs.replace(await super().__call__(task, skill, repeat), model=name)


async def gate(roller, tasks, **options):
    from skillopt_gate.verdicts import Policy

    return await measure(
        tasks,
        None,
        CANDIDATE,
        roller,
        policy=Policy(),
        identity=AGENT,
        conditions=Conditions(concurrency=4),
        **options,
    )


async def test_a_changed_default_restarts_the_evidence_and_brings_counted_tasks_back():
    first = await gate(Renamed(lambda task, skilled: skilled, "old"), TASKS[:5])
    assert first.evidence.identity == f"{AGENT} [old]"
    same = await gate(
        Renamed(lambda task, skilled: skilled, "old"),
        TASKS[5:7],
        evidence=first.evidence,
        renewed=TASKS[:5],
    )
    assert (same.restarted, same.verdict.nights, same.verdict.n_all) == (False, 2, 7)
    changed = await gate(
        Renamed(lambda task, skilled: skilled, "new"),
        TASKS[5:7],
        evidence=first.evidence,
        renewed=TASKS[:5],
    )
    assert (changed.restarted, changed.verdict.nights, changed.verdict.n_all) == (True, 1, 7)
    assert changed.evidence.identity == f"{AGENT} [new]"
    assert {task.task for task in changed.tasks} == {task.id for task in TASKS[:7]}


async def test_going_back_to_an_earlier_model_goes_on_with_its_evidence_and_is_no_new_try():
    def run(model: str):
        return Renamed(lambda task, skilled: skilled, model)

    carried = waiting_with("", ())
    carried = msgspec.structs.replace(carried, evidence=None, wealth=())
    for model, tasks in (("old", TASKS[:4]), ("new", TASKS[6:9]), ("old", TASKS[4:6] + TASKS[:4])):
        roller = run(model)
        measured = await gate(roller, tasks, evidence=carried.evidence, aside=carried.aside)
        carried = grow(carried, measured)
    assert measured.evidence.identity == f"{AGENT} [old]"
    assert (measured.verdict.nights, measured.verdict.n_all) == (2, 6), "what it had counted counts once"
    assert {task for task, _, _ in roller.runs} == {task.id for task in TASKS[4:6]}, "nothing is paid twice"
    assert [one.identity for one in carried.aside] == [f"{AGENT} [new]"]


async def test_a_run_of_another_model_than_most_is_missing_data():
    def who(task: str, skilled: bool) -> str:
        return "fallback" if task.endswith("03") and skilled else "main"

    measured = await gate(Renamed(lambda task, skilled: skilled, who), TASKS)
    assert measured.verdict.missing == ("add-packages-03",)
    assert any("answered by fallback instead of main" in note for note, _ in measured.notes)


# --- the plan --------------------------------------------------------------------------------------


def waiting_with(identity: str, seen: tuple[str, ...]) -> Carried:
    evidence = msgspec.structs.replace(start(identity), seen=seen, nights=1)
    return Carried(
        id="c",
        place="/live/add-packages",
        skill=CANDIDATE,
        base="",
        edits=(),
        evidence=evidence,
        wealth=(1.0,),
        tasks=(),
    )


def plan_with(identity: str):
    settings = Settings(gate=Gate(tasks=40))
    tasks = make_tasks(24)
    held_out = tuple(t.id for t in plan(tasks, settings=settings).skills[0].gate)
    return plan(tasks, settings=settings, waiting=lambda live: waiting_with(identity, held_out)), held_out


def test_counted_tasks_are_planned_again_for_another_agent_or_model_only():
    made, held_out = plan_with(f"{AGENT} [old]")
    (skill,) = made.skills
    assert (skill.gate, {t.id for t in skill.renewed}) == ((), set(held_out))

    for same in (
        renew(made, agent=AGENT),
        renew(made, agent=AGENT, answering=f"{AGENT} [old]"),
        renew(made, agent=AGENT, answering="chat somebody"),
        renew(made, agent=None),
    ):
        assert (same.skills, [s.reason for s in same.skipped]) == ((), [NOTHING_FRESH])
    for other in (
        renew(made, agent="claude-code 2.2.0 default"),
        renew(made, agent=AGENT, answering=f"{AGENT} [new]"),
    ):
        assert {t.id for t in other.skills[0].gate} == set(held_out)


def test_a_night_after_the_model_was_changed_measures_on_the_tasks_it_knows(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work(days=10)
    first = judged(sleeper.night())
    assert first["decision"] == "not enough evidence yet"
    sleeper.night(expect=3)
    sleeper.set(target_model=model.spec.replace("#scripted", "#other"))
    model.answers_as = "other"
    report = sleeper.night()
    assert (judged(report)["nights"], judged(report)["n"]) == (1, first["n"])
    assert report["skills"][0]["restarted"]


def test_a_service_that_swaps_the_model_behind_a_name_restarts_the_evidence(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work(days=10)
    first = judged(sleeper.night())
    model.answers_as = "swapped"
    sleeper.work(first=10, days=3, corrected=())
    verdict = judged(sleeper.night())
    assert verdict["nights"] == 1
    assert verdict["n_all"] > 3, "what the old model had counted is fresh again"
    assert verdict["n_all"] <= first["n"] + 3
