"""The same text proposed again is no new try: what was measured stands, or goes on where it was."""

from __future__ import annotations

import msgspec
import pytest

from skillopt_gate.decide import judge
from skillopt_gate.eprocess import start
from skillopt_gate.verdicts import Decision, Pair, Policy
from skillopt_sleep.night import ruling
from skillopt_sleep.night.carrying import carry
from skillopt_sleep.night.planned import Place, SkillPlan
from skillopt_sleep.night.retries import recall
from skillopt_sleep.paths import locate
from skillopt_sleep.store.candidates import Carried, retire, save_carried
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.rulings import Ruled, save_ruling
from skillopt_sleep.training.records import Candidate
from tests.app.conftest import Sleeper
from tests.app.night_samples import CANDIDATE, make_tasks
from tests.app.test_night import judged
from tests.support.chat_server import ChatModel

AGENT = "chat#m"


@pytest.fixture
def database(private_home):
    connection = connect(locate().database)
    yield connection
    connection.close()


def propose(text: str = CANDIDATE.text, base_text: str = "") -> Carried:
    place = Place(scope="user", live="/somewhere/SKILL.md", text=base_text)
    one, two = make_tasks(2)
    plan = SkillPlan(skill="add-packages", title="", client="claude", place=place, train=(one,), gate=(two,))
    skill = msgspec.structs.replace(CANDIDATE, text=text)
    learned = Candidate(skill=skill, edits=(), reasoning="", base_hard=0.0, train_hard=1.0, train_soft=1.0)
    return carry(plan, learned, rivals=1)


def rule(database, candidate: Carried, decision: Decision, *, night="n1", identity=AGENT, number=1, **policy):
    verdict, _ = judge(
        [Pair(task="t", incumbent=(0.0,), candidate=(1.0,))], None, Policy(), identity=identity
    )
    save_ruling(
        database,
        Ruled(
            night=night,
            skill="add-packages",
            place=candidate.place,
            candidate=candidate.id,
            digest="",
            base=candidate.base,
            identity=identity,
            policy=Policy(**policy),
            verdict=msgspec.structs.replace(verdict, decision=decision, reason="rejected: it was tried"),
            number=number,
        ),
    )


def ask(database, candidate: Carried, *, night="n2", agent=AGENT, mode="evidence"):
    return recall(database, candidate, night=night, agent=agent, mode=mode)


def test_a_text_never_measured_begins_without_evidence(database):
    assert ask(database, propose()).carried == propose()


@pytest.mark.parametrize("decision", [Decision.REJECT, Decision.ACCEPT])
def test_a_verdict_stands_when_the_same_text_is_proposed_again(database, decision):
    rule(database, propose(), decision)
    known = ask(database, propose())
    assert known.carried is None
    assert known.told == "night n1 measured this very text before: rejected: it was tried"


def test_blanks_and_line_breaks_make_no_other_text(database):
    rule(database, propose(), Decision.REJECT)
    spaced = propose(CANDIDATE.text.replace("- Use", "\n-  Use") + "\n\n")
    assert ask(database, spaced).carried is None
    assert ask(database, propose(CANDIDATE.text.replace("uv", "uvx"))).carried is not None


def test_a_candidate_that_was_passed_over_goes_on_with_its_evidence(database):
    candidate = propose()
    evidence = msgspec.structs.replace(start(AGENT), nights=3, seen=("a", "b"), ties=2)
    save_carried(database, msgspec.structs.replace(candidate, evidence=evidence, wealth=(0.9,), rivals=2))
    retire(database, candidate.id, "passed over")
    rule(database, candidate, Decision.NOT_ENOUGH)
    again = ask(database, candidate).carried
    assert again is not None
    assert (again.evidence, again.wealth, again.rivals) == (evidence, (0.9,), 2)


def test_another_base_agent_or_mode_asks_another_question(database):
    rule(database, propose(), Decision.REJECT)
    assert ask(database, propose(base_text=CANDIDATE.text + "\n- More.\n")).carried is not None
    assert ask(database, propose(), agent="chat#other").carried is not None
    assert ask(database, propose(), mode="one-night").carried is not None


def test_what_this_very_night_ruled_or_what_never_ran_holds_nobody_back(database):
    rule(database, propose(), Decision.REJECT, night="n2")
    assert ask(database, propose()).carried is not None, "the night goes on after a crash"
    rule(database, propose(), Decision.REJECT, night="n1", number=None)
    assert ask(database, propose()).carried is not None, "no task was looked at"


def test_a_night_does_not_measure_a_text_again_that_was_turned_down(
    sleeper: Sleeper, model: ChatModel, database, monkeypatch
):
    def refuse(*arguments, **options):
        verdict, evidence = judge(*arguments, **options)
        return msgspec.structs.replace(verdict, decision=Decision.REJECT), evidence

    sleeper.work()
    with monkeypatch.context() as patch:
        patch.setattr(ruling, "judge", refuse)
        first = sleeper.night()
    assert judged(first)["wins"] == judged(first)["n"]
    known = {request.key for request in model.task_requests}
    for _ in range(2):
        # Other edits can end in the same text; that these were turned down must not be what saves it.
        database.execute("delete from rejected_edits")
        again = sleeper.night()
        assert (again["verdicts"], again["proposals"]) == ([], [])
        note = again["skills"][0]["note"]
        assert note.startswith(f"night {first['night']} measured this very text before: ")
    asked = [request for request in model.task_requests if request.key not in known]
    assert not [request for request in asked if not model.is_training(request)], "no held-out task ran"
