"""A replay is a workspace, a run and a score, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from skillopt_replay.agents.chat import ChatAgent
from skillopt_replay.protocols import Agent, ChatModel, Completion, Limits
from skillopt_replay.replay import replay, replay_key
from skillopt_replay.rollouts import Fault, Outcome, Rollout, Usage
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.skills import new_skill
from skillopt_replay.tasks import CommandSucceeds, Contains, FileContains, Origin, Task
from skillopt_replay.templates import Templates

SKILL = new_skill("heron-greet", "Use when greeting somebody.", "Say HERON.")


class Worker:
    """An agent that does one thing in its workspace."""

    identity = "worker 1"
    estimate = Usage()
    needs_workspace = True
    secrets: tuple[str, ...] = ()

    def __init__(self, work, outcome: Outcome = Outcome.FINISHED) -> None:
        self.work = work
        self.outcome = outcome
        self.seen: list[Path] = []

    async def run(self, task, skill, workspace, limits) -> Rollout:
        self.seen.append(workspace)
        answer = self.work(workspace)
        if asyncio.iscoroutine(answer):
            answer = await answer
        return Rollout(
            task=task.id,
            skill=skill.digest if skill else "",
            agent=self.identity,
            model="none",
            outcome=self.outcome,
            answer=answer or "",
            notes=("worked",),
        )


class Echo:
    """A model that answers with what it was told."""

    identity = "echo"
    estimate = Usage(input_tokens=10)

    def __init__(self, error: str | None = None, fault: Fault | None = None) -> None:
        self.error = error
        self.fault = fault
        self.messages: list = []

    async def complete(
        self, messages, *, schema=None, max_tokens=2048, temperature=0.0, seed=None
    ) -> Completion:
        self.messages = list(messages)
        text = "" if self.error else messages[0].content
        return Completion(text=text, model="echo-1", error=self.error, fault=self.fault, usage=Usage(3))


@pytest.fixture
def play(tmp_path):
    async def run(task, agent, skill=None, **more) -> Rollout:
        options = {"root": tmp_path / "runs", "sandbox": NoSandbox(), "limits": Limits(), **more}
        return await replay(task, skill, agent, **options)

    return run


@pytest.fixture
async def lending(play, tmp_path):
    """Plays with workspaces that are copied and lent again."""
    templates = Templates(tmp_path / "runs", slots=1)

    async def run(task, agent, skill=None) -> Rollout:
        return await play(task, agent, skill, templates=templates)

    yield run
    assert await templates.close() == ()
    assert list((tmp_path / "runs").iterdir()) == []


async def test_rollouts_with_lent_workspaces_are_those_with_new_ones(play, lending, make_task, repository):
    def work(workspace: Path) -> str:
        assert (workspace / "README.md").read_text() == "# Project\n"
        (workspace / "README.md").write_text("HERON\n")
        return "HERON"

    checks = (FileContains(path="README.md", text="HERON"), CommandSucceeds(command="touch left; git status"))
    task = make_task(project=str(repository), checks=checks)
    for agent in (Worker(work), Worker(lambda _: "HERON"), Worker(work, Outcome.LIMIT)):
        wanted = await play(task, agent, SKILL)
        for _ in range(3):
            rollout = await lending(task, agent, SKILL)
            same = dict.fromkeys(("seconds",))
            assert msgspec.structs.replace(rollout, **same) == msgspec.structs.replace(wanted, **same)


async def test_what_a_check_leaves_comes_to_no_other_run(lending, make_task, repository):
    task = make_task(
        project=str(repository), checks=(CommandSucceeds(command="test ! -e left && touch left"),)
    )
    agent = Worker(lambda _: "done")
    for _ in range(3):
        rollout = await lending(task, agent)
        assert rollout.score is not None
        assert rollout.score.hard == 1.0, rollout.score
        assert rollout.diff == ""


async def test_what_the_agent_did_to_the_project_is_scored_and_thrown_away(
    play, make_task, repository, tmp_path
):
    agent: Agent = Worker(lambda workspace: (workspace / "README.md").write_text("HERON") and "HERON")
    checks = (
        Contains(text="heron"),
        FileContains(path="README.md", text="HERON"),
        CommandSucceeds(command="git diff --exit-code", negate=True),
    )
    rollout = await play(make_task(project=str(repository), checks=checks), agent, SKILL)
    assert rollout.score is not None
    assert (rollout.score.hard, rollout.score.soft) == (1.0, 1.0)
    assert rollout.skill == SKILL.digest
    assert rollout.notes[0].startswith("commit ")
    assert rollout.notes[1:] == (
        "sandbox none",
        "the run had the whole network",
        "checks ran with the network",
        "worked",
    )
    assert (repository / "README.md").read_text() == "# Project\n"
    assert list((tmp_path / "runs").iterdir()) == []


async def test_a_run_at_its_limit_scores_zero(play, make_task):
    rollout = await play(make_task(), Worker(lambda _: "HERON", Outcome.LIMIT))
    assert rollout.score is not None
    assert (rollout.score.hard, rollout.score.soft, len(rollout.score.results)) == (0.0, 0.0, 1)


async def test_a_failed_infrastructure_has_no_score(play, make_task):
    rollout = await play(make_task(), Worker(lambda _: "HERON", Outcome.INFRASTRUCTURE))
    assert (rollout.outcome, rollout.score) == (Outcome.INFRASTRUCTURE, None)


async def test_a_project_that_cannot_be_read_is_missing_data_and_runs_nothing(play, make_task, repository):
    head = (repository / ".git/refs/heads/main").read_text().strip()
    for path in (repository / ".git/objects").rglob("*"):
        if path.is_file() and path.parent.name + path.name != head:
            path.unlink()
    agent = Worker(lambda _: "HERON")
    rollout = await play(make_task(project=str(repository), commit=head), agent)
    assert (rollout.outcome, rollout.score, agent.seen) == (Outcome.INFRASTRUCTURE, None, [])
    assert "no workspace: git fetch" in (rollout.error or "")


async def test_a_sandbox_that_fails_the_checks_is_missing_data(play, make_task, tmp_path):
    from skillopt_replay.sandbox.bubblewrap import Bubblewrap

    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: broken' >&2\nexit 1\n")
    program.chmod(0o755)
    task = make_task(checks=(CommandSucceeds(command="true"),))
    rollout = await play(task, Worker(lambda _: ""), sandbox=Bubblewrap(program))
    assert (rollout.outcome, rollout.score) == (Outcome.INFRASTRUCTURE, None)
    assert "bwrap: broken" in (rollout.error or "")


async def test_a_task_without_checks_is_refused_before_anything_is_spent(play, make_task):
    agent = Worker(lambda _: "")
    with pytest.raises(ValueError, match="no checks"):
        await play(make_task(checks=()), agent)
    assert agent.seen == []


async def test_a_cancelled_replay_removes_its_workspace(play, make_task, tmp_path):
    began = asyncio.Event()

    async def work():
        began.set()
        await asyncio.sleep(60)

    running = asyncio.ensure_future(play(make_task(), Worker(lambda _: work())))
    await began.wait()
    assert list((tmp_path / "runs").iterdir()) != []
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert list((tmp_path / "runs").iterdir()) == []


async def test_read_only_remains_are_removed_too(play, make_task, tmp_path):
    def lock(workspace):
        (workspace / "locked").mkdir()
        (workspace / "locked" / "file").write_text("x")
        (workspace / "locked").chmod(0o500)
        return "HERON"

    rollout = await play(make_task(), Worker(lock))
    assert rollout.score is not None
    assert rollout.score.hard == 1.0
    assert list((tmp_path / "runs").iterdir()) == []


async def test_replays_run_side_by_side_without_meeting(play, make_task, repository):
    def work(workspace):
        assert not (workspace / "mine").exists()
        (workspace / "mine").write_text("x")
        return "HERON"

    agent = Worker(work)
    rollouts = await asyncio.gather(*(play(make_task(project=str(repository)), agent) for _ in range(4)))
    assert all(rollout.score and rollout.score.hard == 1.0 for rollout in rollouts)
    assert len(set(agent.seen)) == 4


async def test_a_chat_model_answers_without_a_clone(play, make_task, repository):
    model: ChatModel = Echo()
    task = make_task(project=str(repository))
    with_skill = await play(task, ChatAgent(model), SKILL)
    without = await play(task, ChatAgent(model))
    assert with_skill.score is not None
    assert without.score is not None
    assert (with_skill.score.hard, without.score.hard) == (1.0, 0.0)
    assert (with_skill.skill_loaded, without.skill_loaded) == (True, None)
    assert (with_skill.agent, with_skill.model) == ("chat echo", "echo-1")
    assert with_skill.notes == ()
    assert "description" not in with_skill.answer


async def test_a_chat_task_that_checks_files_gets_its_clone(play, make_task, repository):
    task = make_task(project=str(repository), checks=(FileContains(path="README.md"),))
    rollout = await play(task, ChatAgent(Echo()))
    assert rollout.score is not None
    assert rollout.score.hard == 1.0


async def test_a_chat_model_that_refuses_fails_its_task_whatever_the_checks_say(play, make_task):
    holds = (Contains(text="git push", negate=True),)
    rollout = await play(make_task(checks=holds), ChatAgent(Echo(fault=Fault.REFUSAL)), SKILL)
    assert (rollout.outcome, rollout.error, rollout.fault) == (Outcome.LIMIT, "the model refused", None)
    assert rollout.score.hard == 0.0


async def test_a_chat_model_that_fails_is_missing_data(play, make_task):
    rollout = await play(make_task(), ChatAgent(Echo("503 from the service")), SKILL)
    assert (rollout.outcome, rollout.score, rollout.error) == (
        Outcome.INFRASTRUCTURE,
        None,
        "503 from the service",
    )


def test_the_key_changes_with_what_can_change_the_result(make_task):
    task = make_task()
    key = replay_key(task, SKILL, "agent 1", 0)
    other = new_skill("heron-greet", "Use when greeting somebody.", "Say heron.")
    others = [
        replay_key(task, None, "agent 1", 0),
        replay_key(task, other, "agent 1", 0),
        replay_key(task, SKILL, "agent 2", 0),
        replay_key(task, SKILL, "agent 1", 1),
        *(
            replay_key(msgspec.structs.replace(task, **change), SKILL, "agent 1", 0)
            for change in (
                {"prompt": "x"},
                {"commit": "a" * 40},
                {"project": "/p"},
                {"checks": (Contains(text="other"),)},
                {"checks": (Contains(text="HERON", negate=True),)},
            )
        ),
    ]
    assert len({key, *others}) == len(others) + 1


def test_the_key_stays_with_what_cannot(make_task):
    task = make_task()
    origin = Origin("s", 0, "quote")
    same = msgspec.structs.replace(
        task,
        split="val",
        occurrences=9,
        sessions=("s1", "s2"),
        checks=(Contains(text="HERON", origin=origin, met_before=False),),
    )
    assert replay_key(task, SKILL, "a", 0) == replay_key(same, SKILL, "a", 0)


def test_rollouts_stored_before_checks_told_of_the_recorded_session_are_found_again():
    task = Task(
        id="1",
        family="f",
        title="t",
        prompt="p",
        sessions=("s",),
        occurrences=1,
        client="c",
        skill="k",
        group="g",
        checks=(Contains(text="b", negate=True), CommandSucceeds(command="pytest")),
    )
    assert (
        replay_key(task, None, "a", 0) == "3e49a170c5e9a0a9cfc8fc43a1315d47d69f10032a4c4f042374fdb9806c7cda"
    )
