"""What every client must do in the same way: the real program, a scripted model, and each way a run can go.

A client's test module takes the suite in by deriving from `RealSuite`:

    PROGRAM = os.environ.get("SKILLOPT_TEST_X", "")  # read at import: the tests' own environment is emptied
    pytestmark = marks_for(PROGRAM, "SKILLOPT_TEST_X")

    class TestX(RealSuite):
        tools = Names(shell=..., write=..., skill=...)
        instructions = "AGENTS.md"
        refused_key = ...

        def open_agent(self, url, sandbox, home, monkeypatch): ...
        def open_refusing_agent(self, url, sandbox, home, monkeypatch): ...

`url` is the model's address without a path, `home` a folder that stands for the user's home. The agents' own
retries should be few, so that the failures come soon.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest

from skillopt_replay.agents import endings
from skillopt_replay.agents.presence import find_absent
from skillopt_replay.launchpad import Launchpad
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.protocols import Agent, Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Fault, Outcome, Rollout
from skillopt_replay.sandbox import Sandbox
from skillopt_replay.sandbox.reach import read_endpoint
from skillopt_replay.skills import new_skill
from skillopt_replay.tasks import CommandMatched, CommandSucceeds, Contains, FileContains, ToolCalled
from tests.conftest import git
from tests.support.scripted_model_server import MockModelServer

_SUBREAPER = 36  # Linux's number for it
DESCRIPTION, BODY, RULE = "HERON-DESC-41", "HERON-BODY-42", "HERON-RULE-43"
SKILL = new_skill("heron-greet", f"Use when greeting somebody. {DESCRIPTION}", f"{BODY}: say HERON.")


def marks_for(program: str, variable: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a module that drives `program`, which `variable` names."""
    return [
        pytest.mark.real_cli,
        pytest.mark.skipif(
            not Path(program or "/nonexistent").is_file(),
            reason=f"{variable} names no program: `make clients` fetches it (needs npm)",
        ),
    ]


@dataclass(frozen=True)
class Names:
    """What the client calls its tools: for commands, for writing a file, and for loading a skill."""

    shell: str
    write: str
    skill: str


def play(words: str, *steps: dict[str, Any], **when: Any) -> dict[str, Any]:
    """Return the model's part for prompts that contain `words`."""
    return {"name": words, "when": {"user_contains": words, **when}, "steps": list(steps)}


def do(*actions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"do": list(actions), **more}


def error(status: int, kind: str, message: str) -> dict[str, Any]:
    return {"status": status, "error": {"type": kind, "message": message}}


# The first two make it behave like a model that follows skills.
PLAYS = [
    {**play("greet", do({"say": "HERON hello Bob"}), any_contains=BODY), "name": "obey"},
    {**play("greet", do({"skill": SKILL.name}), any_contains=DESCRIPTION), "name": "load"},
    {**play("greet", do({"say": "hello Bob"})), "name": "plain"},
    play(
        "create hello",
        do({"say": "I write."}, {"write": {"path": "hello.txt", "content": "hi\n"}}),
        do({"shell": "cat hello.txt && exit 3"}),
        do({"say": "Created."}),
    ),
    play("for ever", do({"shell": "echo again"})),
    play("be silent", do({"say": ""})),
    play("be unknown", error(404, "model_not_found", "The model `x` does not exist or you have no access.")),
    play(
        "be too fast",
        {
            **error(429, "rate_limit_error", "Rate limit reached for requests"),
            "headers": {"retry-after": "0"},
        },
    ),
    play("be broken", error(500, "api_error", "Internal server error")),
    play("be cut", do({"say": "A long answer that never comes to its end, because it is cut."}, cut=True)),
    play("be kept waiting", do({"say": "A long answer whose end never comes."}, hang_s=60)),
    play("be left alone", do({"shell": "echo begun"}), do({"say": "Late."}, delay_s=60)),
    play("give up", do({"say": "I can't help with that."})),
    play("dawdle", do({"shell": "echo begun; tail -f /dev/null"}), do({"say": "Done."})),
]
HELPERS = [
    play("loop inside", do({"shell": "echo inside"})),
    play(
        "delegate it",
        do({"subagent": {"description": "in", "prompt": "Please loop inside", "type": "general-purpose"}}),
        do({"say": "Delegated."}),
    ),
]


_HOLDS = (CommandMatched(command="git push", negate=True),)


class RealSuite:
    tools: ClassVar[Names]
    instructions: ClassVar[str]  # the project's own file of instructions that the client reads
    refused_key: ClassVar[dict[str, Any]]  # the service's reply to a key that is not valid
    refusals: ClassVar[dict[str, dict[str, Any]]]  # the ways its service tells that it declines
    empty_account: ClassVar[dict[str, Any]]  # its reply when the account has nothing left
    helpers: ClassVar[bool] = True
    crash: ClassVar[str] = "kill -9 $PPID"  # a command that kills the client
    forged: ClassVar[tuple[dict[str, Any], ...]]  # what the client says when all went well and cost nothing

    def open_agent(self, url: str, sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
        """Return the agent, its model at `url`."""
        raise NotImplementedError

    def open_refusing_agent(
        self, url: str, sandbox: Sandbox, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> tuple[Agent, dict[str, Any]]:
        """Return an agent that is allowed little, and what the model does that it then refuses."""
        raise NotImplementedError

    @pytest.fixture
    def server(self, tmp_path: Path):
        plays = [
            *PLAYS,
            play("be refused", self.refused_key),
            play("crash", do({"shell": self.crash}), do({"say": "Still here."})),
        ]
        running = MockModelServer({"plays": plays}, str(tmp_path / "requests.jsonl")).start()
        yield running
        running.stop()

    @pytest.fixture
    def agent(self, server, confined, private_home, monkeypatch) -> Agent:
        return self.open_agent(server.base_url, confined, private_home, monkeypatch)

    @pytest.fixture
    def run(self, agent, confined, make_task, tmp_path, private_home):
        """Replay a task as an executor does; whatever came of it, nothing of the run is left."""
        chosen = agent
        pad = Launchpad()

        async def run(
            prompt="Please greet Bob.", skill=None, *, agent=None, checks=None, project="", **limits
        ):
            before = files_of(private_home)
            task = make_task(prompt=prompt, project=str(project), **({"checks": checks} if checks else {}))
            with pad.used():
                rollout = await replay(
                    task,
                    skill,
                    agent or chosen,
                    root=tmp_path / "runs",
                    sandbox=confined,
                    limits=Limits(**{"seconds": 60.0, **limits}),
                )
            assert list((tmp_path / "runs").iterdir()) == []
            assert files_of(private_home) == before
            return rollout

        yield run
        pad.close()

    async def test_with_the_skill_the_answer_changes_because_the_skill_was_read(
        self, run, server, repository
    ):
        without = await run(project=repository)
        assert plays_of(server) == ["plain"]
        with_skill = await run(skill=SKILL, project=repository)
        assert plays_of(server) == ["plain", "load", "obey"]
        assert (without.answer, with_skill.answer) == ("hello Bob", "HERON hello Bob")
        assert (without.score.hard, with_skill.score.hard) == (0.0, 1.0)
        assert (without.skill_loaded, with_skill.skill_loaded) == (None, True)
        assert [call.name for call in with_skill.calls] == [self.tools.skill]
        assert with_skill.usage.input_tokens == 2400
        assert with_skill.usage.output_tokens == 80

    async def test_the_projects_own_skill_of_that_name_stays_out_of_both_arms(self, run, server, repository):
        for place in (".claude/skills", ".agents/skills", ".codex/skills", ".github/skills"):
            folder = repository / place / SKILL.name
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(SKILL.text)
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "own skill")
        rollout = await run(project=repository)
        assert plays_of(server) == ["plain"]
        assert rollout.answer == "hello Bob"

    async def test_the_projects_instructions_count_and_the_users_do_not(
        self, run, server, repository, private_home
    ):
        (repository / self.instructions).write_text(f"{RULE}: be brief.\n")
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "instructions")
        secret = "HERON-SECRET-44"
        for folder in (".claude", ".codex", ".copilot", ".agents"):
            skill = private_home / folder / "skills" / "own" / "SKILL.md"
            skill.parent.mkdir(parents=True)
            skill.write_text(f"---\nname: own\ndescription: {secret}\n---\n\n{secret}\n")
            (private_home / folder / self.instructions).write_text(secret)
        await run(project=repository)
        sent = Path(server.log_path).read_text()
        assert RULE in sent
        assert secret not in sent

    async def test_its_tools_work_in_the_workspace_and_are_checked(self, run, repository):
        checks = (
            FileContains(path="hello.txt", text="hi"),
            CommandSucceeds(command="grep -q hi hello.txt"),
            CommandMatched(command="cat hello.txt"),
            ToolCalled(name=self.tools.write),
            Contains(text="Created."),
        )
        rollout = await run("Please create hello.txt", project=repository, checks=checks)
        assert rollout.outcome is Outcome.FINISHED, rollout.error
        assert rollout.score.hard == 1.0, rollout.score
        assert [call.name for call in rollout.calls] == [self.tools.write, self.tools.shell]
        written, read = rollout.calls
        assert (written.error, read.exit_code) == (None, 3)
        assert "hi" in read.output
        assert read.error
        assert rollout.model
        assert not (repository / "hello.txt").exists()

    async def test_a_refused_tool_is_told_and_the_run_still_counts(
        self, run, server, confined, private_home, monkeypatch
    ):
        agent, action = self.open_refusing_agent(server.base_url, confined, private_home, monkeypatch)
        server.set_script({"plays": [play("be refused", do(action), do({"say": "I could not."}))]})
        rollout = await run("You will be refused a tool", agent=agent)
        assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "I could not."), rollout.error
        assert any(note.startswith("tools refused: ") for note in rollout.notes), rollout.notes

    @pytest.mark.parametrize(
        ("prompt", "faults"),
        [
            ("You will be refused", {Fault.SIGN_IN}),
            ("You will be unknown", {Fault.MODEL}),
            ("You will be too fast", {Fault.RATE}),
            ("You will be broken", {Fault.OVERLOAD}),
            ("You will be cut", {Fault.CUT, Fault.NETWORK}),
            ("You will be silent", {Fault.REPLY}),
        ],
        ids=["401", "unknown model", "429", "500", "cut stream", "empty answer"],
    )
    async def test_a_failure_of_the_service_is_missing_data(self, run, server, prompt, faults):
        rollout = await run(prompt)
        assert rollout.outcome is Outcome.INFRASTRUCTURE, rollout.answer
        assert rollout.fault in faults, rollout.error
        assert rollout.score is None
        assert rollout.error
        if rollout.fault.permanent:
            assert len(plays_of(server)) <= 2, "waiting does not help"

    async def test_a_refusal_is_a_failed_run_whatever_was_done_before(self, run, server):
        worked = do({"shell": "echo begun > begun"})
        for name, refused in self.refusals.items():
            server.set_script({"plays": [play("decline", worked, refused)]})
            rollout = await run("You will decline", checks=_HOLDS)
            assert (rollout.outcome, rollout.fault) == (Outcome.LIMIT, None), name
            assert "refused" in (rollout.error or ""), name
            assert rollout.score.hard == 0.0, "a refusal breaks no rule, and is no answer all the same"

    async def test_a_refusal_at_once_is_a_failed_run_and_not_an_empty_answer(self, run, server):
        for name, refused in self.refusals.items():
            server.set_script({"plays": [play("decline", refused)]})
            rollout = await run("You will decline", checks=_HOLDS)
            assert (rollout.outcome, rollout.score and rollout.score.hard) == (Outcome.LIMIT, 0.0), name

    async def test_a_refusal_in_the_models_own_words_is_an_answer_that_the_checks_decide(self, run):
        rollout = await run("You will give up")
        assert (rollout.outcome, rollout.score.hard) == (Outcome.FINISHED, 0.0), rollout.error

    async def test_an_account_that_is_empty_is_not_asked_for_long(self, run, server):
        server.set_script({"plays": [play("ask", self.empty_account)]})
        rollout = await run("Please ask the model")
        assert (rollout.outcome, rollout.fault) == (Outcome.INFRASTRUCTURE, Fault.MONEY), rollout.error
        assert len(plays_of(server)) <= 2, "waiting does not help"

    @pytest.mark.parametrize(
        "passing",
        [
            {**error(429, "rate_limit_error", "Slow down"), "headers": {"retry-after": "1"}},
            error(529, "overloaded_error", "Overloaded"),
            do({"say": "Only half of it is here when the line goes dead."}, cut=True),
        ],
        ids=["429 with retry-after", "529", "cut"],
    )
    async def test_what_passes_by_itself_costs_a_run_nothing_but_time(self, run, server, passing):
        once = play("greet", passing, max_uses=1)
        server.set_script({"plays": [{**once, "name": "once"}, play("greet", do({"say": "HERON at last"}))]})
        rollout = await run()
        assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "HERON at last"), rollout.error
        assert plays_of(server) == ["once", "greet"]
        if (passing.get("headers")) is not None:
            assert rollout.seconds > 1.0, "no sooner than it was asked to"

    @pytest.mark.parametrize(
        "lost",
        [{"drop": True}, error(504, "api_error", "Gateway Timeout")],
        ids=["dropped", "given up by a gateway"],
    )
    async def test_a_request_whose_reply_was_lost_counts_as_much_as_a_reply(self, run, server, lost):
        once = play("greet", lost, max_uses=1)
        server.set_script({"plays": [{**once, "name": "once"}, play("greet", do({"say": "HERON at last"}))]})
        rollout = await run()
        assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "HERON at last"), rollout.error
        assert plays_of(server) == ["once", "greet"]
        assert rollout.usage.tokens >= 2 * 1200

    async def test_a_service_that_went_away_costs_a_run_nothing(self, run, server):
        assert not await find_absent([read_endpoint(server.base_url)])
        server.stop()
        rollout = await run(seconds=20.0)
        assert (rollout.outcome, rollout.fault) == (Outcome.INFRASTRUCTURE, Fault.NETWORK), rollout.error
        assert (rollout.untold, rollout.usage.tokens, rollout.usage.cost_usd) == (False, 0, 0.0)

    async def test_a_reply_cut_after_work_was_done_is_missing_data(self, run, server):
        half = do({"say": "I have made it, and what I made is not all said."}, cut=True)
        server.set_script({"plays": [play("half", do({"shell": "echo made > made"}), half)]})
        rollout = await run("Please say half", checks=(CommandMatched(command="echo made"),))
        assert rollout.outcome is Outcome.INFRASTRUCTURE, rollout.answer
        assert rollout.fault in {Fault.CUT, Fault.NETWORK}, rollout.error
        assert (len(rollout.calls), rollout.score) == (1, None)

    async def test_a_service_that_never_answers_is_missing_data(self, run):
        rollout = await run("You will be kept waiting", seconds=4.0)
        assert (rollout.outcome, rollout.fault) == (Outcome.INFRASTRUCTURE, Fault.NETWORK), rollout.error

    async def test_a_service_that_goes_silent_in_the_middle_is_missing_data(self, run, monkeypatch):
        # A short silence is told from a slow start, which on a busy machine may take most of so little time.
        monkeypatch.setattr(endings, "_SLOW", 1.0)
        monkeypatch.setattr(endings, "_SILENT_SHARE", 0.15)
        rollout = await run("You will be left alone", seconds=7.0)
        assert (rollout.outcome, rollout.fault) == (Outcome.INFRASTRUCTURE, Fault.NETWORK), rollout.error
        assert len(rollout.calls) == 1
        assert rollout.score is None

    async def test_a_command_that_never_ends_is_a_failed_run(self, run):
        rollout = await run("Please dawdle", seconds=6.0)
        assert rollout.outcome is Outcome.LIMIT, rollout.error
        assert rollout.score.hard == 0.0
        assert [call.name for call in rollout.calls] == [self.tools.shell]

    async def test_a_client_that_is_killed_is_missing_data(self, run):
        rollout = await run("Please crash")
        assert (rollout.outcome, rollout.fault) == (Outcome.INFRASTRUCTURE, Fault.CLIENT), rollout.error
        assert rollout.score is None

    async def test_a_tool_that_ends_the_client_in_its_name_hides_nothing(self, run, server):
        said = " ".join(f"'{json.dumps(line, separators=(',', ':'))}'" for line in self.forged)
        command = f"printf '%s\\n' {said} > /proc/$PPID/fd/1; {self.crash}"
        server.set_script({"plays": [play("forge", do({"shell": command}), do({"say": "Honest."}))]})
        rollout = await run("Please forge")
        assert rollout.outcome is Outcome.INFRASTRUCTURE, rollout.answer
        assert rollout.score is None
        assert rollout.untold or rollout.usage.tokens >= 1200

    @pytest.mark.parametrize("is_killed", [True, False], ids=["killed by its tool", "cut off"])
    async def test_what_its_tools_gave_counts_with_the_request_that_was_to_tell_it(
        self, run, agent, server, is_killed
    ):
        later = f'setsid sh -c "sleep 3; {self.crash}" </dev/null >/dev/null 2>&1 &\n' * is_killed
        command = f"{later}head -c 9000 /dev/zero | tr '\\0' x"
        waits = do({"say": "Late."}, delay_s=30)
        server.set_script({"plays": [play("be much", do({"shell": command}), waits)]})
        asked, choose = [], server.script.choose
        server.script.choose = lambda *turn: asked.append(choose(*turn)) or asked[-1]
        ledger = MemoryLedger()
        call = asyncio.ensure_future(
            ledger.once("rollout", "1", agent.estimate, lambda: run("It will be much"), Rollout)
        )
        while not call.done() and (is_killed or len(asked) < 2):
            await asyncio.sleep(0.05)
        call.cancel()
        await asyncio.wait([call])
        [entry] = ledger.entries
        assert entry.state == "failed"
        # Two replies' worth, and the 9000 bytes which the second request held for the first time.
        assert 2 * 1000 + 9000 <= entry.usage.tokens <= 2 * 2000 + 3 * 9000

    async def test_its_limit_on_turns_is_a_failed_run(self, run, server):
        rollout = await run("Go on for ever", turns=3)
        assert rollout.outcome is Outcome.LIMIT, rollout.error
        assert "turns" in (rollout.error or "")
        assert rollout.score.hard == 0.0
        assert len(plays_of(server)) <= 4

    async def test_what_its_helpers_do_counts_as_well(self, run, server, has_helpers):
        server.set_script({"plays": HELPERS})
        rollout = await run("Please delegate it", turns=4)
        assert rollout.outcome is Outcome.LIMIT, rollout.error
        assert len(plays_of(server)) <= 7
        asked = len(plays_of(server))
        rollout = await run("Please delegate it", tokens=10_000)
        assert rollout.outcome is Outcome.LIMIT, rollout.error
        # The ninth call passes the limit; a model that answers at once gets some more before the end.
        assert len(plays_of(server)) - asked <= 13

    @pytest.fixture
    def has_helpers(self, monkeypatch):
        """Skips where the client offers the model none; what they wait for each other is shorter."""
        if not self.helpers:
            pytest.skip("it offers a model like this one no helpers")
        monkeypatch.setattr("skillopt_replay.agents.gate._LATER_SECONDS", 5.0)

    async def test_its_limit_on_tokens_is_passed_by_no_more_than_one_call(self, run, server):
        rollout = await run("Go on for ever", tokens=3000)
        assert rollout.outcome is Outcome.LIMIT, rollout.error
        assert "tokens" in (rollout.error or "")
        assert rollout.usage.tokens >= 3000
        # The third call passes the limit; a fourth may have been on its way.
        assert len(plays_of(server)) <= 4

    async def test_what_the_agent_leaves_running_ends_with_the_run(self, run, server, adopted):
        command = (
            "(setsid sh -c 'touch begun; exec tail -f /dev/null' >/dev/null 2>&1 &)\n"
            "until [ -e begun ]; do read -t 0.05 <> <(:) || true; done; echo it runs"
        )
        server.set_script({"plays": [play("leave", do({"shell": command}), do({"say": "Left."}))]})
        rollout = await run("Please leave something")
        assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "Left."), rollout.error
        assert "it runs" in rollout.calls[0].output
        deadline = time.monotonic() + 10
        while adopted() and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        assert adopted() == []

    @pytest.fixture
    def adopted(self):
        """Our new descendants that are alive: whoever loses its parent becomes a child of ours."""
        library = ctypes.CDLL(None)
        library.prctl(_SUBREAPER, 1, 0, 0, 0)
        before = {child.pid for child in psutil.Process().children(recursive=True)}

        def alive() -> list[str]:
            children = psutil.Process().children(recursive=True)
            found = [child for child in children if child.pid not in before and is_running(child)]
            return [str(child) for child in found if not is_helper(child)]

        yield alive
        library.prctl(_SUBREAPER, 0, 0, 0, 0)


def is_helper(process: psutil.Process) -> bool:
    """Whether it is the one that forks the launchers; they look alike, but are not our children."""
    try:
        return process.ppid() == os.getpid() and "--serve" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def is_running(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def plays_of(server: MockModelServer) -> list[str]:
    """Return which part the model played in each request so far."""
    path = Path(server.log_path)
    if not path.exists():
        return []
    return [name for line in path.read_text().splitlines() if (name := json.loads(line).get("play"))]


def files_of(folder: Path) -> list[str]:
    return sorted(
        os.path.relpath(Path(where, name), folder) for where, _, names in os.walk(folder) for name in names
    )
