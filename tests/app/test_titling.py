"""A model may better the titles when the settings say so; what it may not do, and what happens without it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from skillopt_replay.protocols import Completion, Message
from skillopt_replay.rollouts import Fault, Usage
from skillopt_sleep.night.planned import Place, SkillPlan
from skillopt_sleep.night.titling import find_titles
from skillopt_sleep.settings import Ceilings
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.nights import begin_night
from skillopt_sleep.store.titles import read_titles, save_titles
from tests.app.conftest import Sleeper
from tests.app.night_samples import make_task, make_tasks
from tests.support.chat_server import ChatModel

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Titler:
    """Answers every question with what it was given, and remembers the questions."""

    identity = "titler"
    estimate = Usage(100, 20, cost_usd=0.5)

    def __init__(
        self,
        text: str = '{"title": "packages by uv"}',
        error: str | None = None,
        fault: Fault | None = None,
    ) -> None:
        self.text, self.error, self.fault = text, error, fault
        self.asked: list[str] = []

    async def complete(self, messages: Sequence[Message], **_: object) -> Completion:
        self.asked.append(messages[-1].content)
        usage = Usage(10, 2, cost_usd=0.5)
        return Completion(text=self.text, model="m", usage=usage, error=self.error, fault=self.fault)


@pytest.fixture
def connection(tmp_path: Path):
    connection = connect(tmp_path / "state" / "state.db")
    yield connection
    connection.close()


def make_ledger(connection, **ceilings) -> SqliteLedger:
    return SqliteLedger(connection, begin_night(connection, {}, {}).id, Ceilings(**ceilings))


def make_plan(title: str, *train) -> SkillPlan:
    held_out = (make_task(99),)
    place = Place(scope="user", live="/h/SKILL.md", text="")
    return SkillPlan(
        skill="add-packages",
        title=title,
        client="claude",
        place=place,
        train=train or tuple(make_tasks(3)),
        gate=held_out,
    )


async def test_a_title_is_asked_for_once_and_paid_from_the_ledger(connection):
    ledger, model = make_ledger(connection), Titler()
    plans = [make_plan("Add a package"), make_plan("Add a package")]
    assert (await find_titles(model, ledger, plans)).found == {"Add a package": "Packages by uv"}
    assert (await find_titles(model, ledger, plans)).found == {"Add a package": "Packages by uv"}
    assert len(model.asked) == 1
    assert (ledger.count("titler"), ledger.spend().usd) == (1, 0.5)
    assert (await find_titles(model, ledger, plans, known=["Add a package"])).found == {}


async def test_the_model_reads_redacted_prompts_of_train_tasks_alone(connection):
    model = Titler()
    leaky = msgspec.structs.replace(make_task(1), prompt=f"Add a package with the token {TOKEN}")
    await find_titles(model, make_ledger(connection), [make_plan("Add a package", leaky, make_task(2))])
    (asked,) = model.asked
    assert "package number 2" in asked
    assert TOKEN not in asked
    assert "package number 99" not in asked


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("", "no connection", "no connection"),
        ("no JSON", None, "no JSON object"),
        ('{"title": "  "}', None, "no title"),
        ('{"title": 7}', None, "no title"),
        (json.dumps({"title": "a\u202eb"}), None, "no title"),
        ('{"title":' * 5000, None, "no JSON object"),
    ],
)
async def test_without_a_usable_answer_the_plain_title_stays_and_that_is_said(connection, text, error, why):
    titles = await find_titles(Titler(text, error), make_ledger(connection), [make_plan("Add a package")])
    assert titles.found == {}
    (note,) = titles.notes
    assert "'Add a package' stays plain" in note
    assert why in note


async def test_a_title_is_one_short_line_without_secrets(connection):
    model = Titler(json.dumps({"title": f"packages\n with {TOKEN} " + "long " * 40}))
    titles = await find_titles(model, make_ledger(connection), [make_plan("Add a package")])
    (title,) = titles.found.values()
    assert title.startswith("Packages with ")
    assert TOKEN not in title
    assert len(title) <= 80


async def test_a_ceiling_ends_the_asking_and_is_told(connection):
    plans = [make_plan(title) for title in ("One", "Two", "Three")]
    titles = await find_titles(Titler(), make_ledger(connection, usd=0.6), plans)
    assert list(titles.found) == ["One"]
    (note,) = titles.notes
    assert "from 'Two' on" in note


async def test_a_service_that_refuses_ends_the_asking_and_not_the_night(connection):
    plans = [make_plan(title) for title in ("One", "Two")]
    model = Titler("", "HTTP 401", Fault.SIGN_IN)
    titles = await find_titles(model, make_ledger(connection), plans)
    assert titles.found == {}
    (note,) = titles.notes
    assert "from 'One' on: the titler is refused (sign-in): HTTP 401" in note
    assert len(model.asked) == 1


def test_a_later_title_takes_the_place_of_an_earlier_one(connection):
    save_titles(connection, {"Plain": "First"})
    save_titles(connection, {"Plain": "Second"})
    assert read_titles(connection) == {"Plain": "Second"}


def test_a_night_betters_titles_in_lists_and_reports_and_nothing_that_is_learned(
    sleeper: Sleeper, model: ChatModel
):
    sleeper.work()
    sleeper.sleep("harvest")
    plain = {task["id"]: task for task in json.loads(sleeper.sleep("tasks", "--json"))}
    sleeper.set(mine_titles="model")
    report = sleeper.night()
    assert [skill["title"] for skill in report["skills"]] == [model.title]
    assert sum(request.is_titler for request in model.requests) == 1
    assert all(model.title not in request.key for request in model.task_requests + model.optimizer_requests)
    told = {task["id"]: task for task in json.loads(sleeper.sleep("tasks", "--json"))}
    assert {task["title"] for task in told.values()} == {model.title}
    kept = ("family", "prompt", "skill", "template", "checks")
    assert {i: [t[k] for k in kept] for i, t in told.items()} == {
        i: [t[k] for k in kept] for i, t in plain.items()
    }


def test_nobody_is_asked_for_titles_unless_told_to(sleeper: Sleeper, model: ChatModel):
    sleeper.work()
    sleeper.night()
    assert not any(request.is_titler for request in model.requests)
