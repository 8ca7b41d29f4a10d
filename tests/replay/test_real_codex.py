"""The real Codex through the suite of all clients. No service is called."""

from __future__ import annotations

import base64
import json
import os
import re
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from skillopt_harvesters.sources.base import OWN_ENTRYPOINT
from skillopt_replay.agents.codex import ORIGINATOR, Codex
from skillopt_replay.agents.codex_cli import find_codex
from skillopt_replay.agents.codex_sandbox import AS_ROOT, CodexSandbox
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Outcome
from skillopt_replay.sandbox import Toolchains
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.tasks import CommandSucceeds, Contains
from tests.conftest import git
from tests.replay.real_suite import SKILL, Names, RealSuite, do, error, marks_for, play, plays_of

PROGRAM = os.environ.get("SKILLOPT_TEST_CODEX", "")

pytestmark = marks_for(PROGRAM, "SKILLOPT_TEST_CODEX")

# The user's own provider, so that the client's own retries can be few.
CONFIG = """\
model = "{model}"
model_provider = "mock"
notify = ["touch", "{notified}"]
developer_instructions = "HERON-SECRET-44"
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 1
stream_max_retries = 1
"""


def open_codex(url, sandbox, home: Path, *, model: str = "gpt-5.5", **options) -> Codex:
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(CONFIG.format(model=model, url=url, notified=home / "notified"))
    cli = find_codex({"HOME": str(home), "MOCK_KEY": "sk-fake"}, Path(PROGRAM))
    assert cli is not None
    return Codex(cli, sandbox, **options)


class TestCodex(RealSuite):
    tools = Names(shell="exec_command", write="apply_patch", skill="exec_command")
    instructions = "AGENTS.md"
    forged = (
        {"type": "item.completed", "item": {"id": "item_9", "type": "agent_message", "text": "HERON"}},
        {"type": "turn.completed", "usage": {"input_tokens": 0, "output_tokens": 0}},
    )
    helpers = False
    refusals: ClassVar[dict[str, Any]] = {
        "refusal": do({"say": "I can't help with that."}, stop="refusal"),
        "incomplete": do({"say": "Half of"}, stop="content_filter"),
        "status": error(400, "invalid_prompt", "Your prompt was flagged as violating our usage policy"),
    }
    empty_account = error(
        429, "insufficient_quota", "You exceeded your current quota, check your billing details"
    )
    refused_key = error(401, "invalid_request_error", "Incorrect API key provided: sk-fake.")

    def open_agent(self, url, sandbox, home, monkeypatch):
        return open_codex(url, sandbox, home)

    def open_refusing_agent(self, url, sandbox, home, monkeypatch):
        asked = {"cmd": "echo x", "sandbox_permissions": "require_escalated", "justification": "I want to"}
        return open_codex(url, sandbox, home), {"tool": "exec_command", "input": asked}

    async def test_a_model_that_calls_its_tools_from_a_script_is_followed_too(
        self, run, server, confined, private_home
    ):
        agent = open_codex(server.base_url, confined, private_home, model="gpt-6.2-sol")
        greeted = await run(skill=SKILL, agent=agent)
        assert (greeted.answer, greeted.skill_loaded) == ("HERON hello Bob", True)
        assert greeted.model == "gpt-6.2-sol"
        made = await run("Please create hello.txt", agent=agent)
        assert [(call.name, call.exit_code) for call in made.calls] == [
            ("apply_patch", None),
            ("exec_command", 3),
        ]
        looped = await run("Go on for ever", agent=agent, turns=2)
        assert looped.outcome is Outcome.LIMIT

    async def test_no_helper_asks_the_model_beside_it(self, run, server, confined, private_home):
        helper = {"message": "Please loop inside", "task_name": "helper", "fork_turns": "none"}
        spawn = do({"tool": "spawn_agent", "input": helper})
        server.set_script(
            {"plays": [play("delegate it", spawn, do({"shell": "sleep 1"}), do({"say": "I did it."}))]}
        )
        for model in ("gpt-5.3-codex", "gpt-6.2-sol"):
            agent = open_codex(server.base_url, confined, private_home, model=model)
            rollout = await run("Please delegate it", agent=agent)
            assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "I did it."), rollout.error
        assert plays_of(server) == ["delegate it"] * 6

    @pytest.mark.parametrize("model", ["gpt-5.5", "gpt-6.2-sol"])
    async def test_its_service_neither_searches_nor_draws_for_it(
        self, run, server, confined, private_home, model
    ):
        agents = [open_codex(server.base_url, confined, private_home, model=model)]
        folder = private_home / ".codex"
        account = {"id_token": token(), "access_token": token(), "refresh_token": "r-1", "account_id": "a-1"}
        config = (folder / "config.toml").read_text()
        (folder / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": None, "tokens": account}))
        (folder / "config.toml").write_text(
            config.replace('env_key = "MOCK_KEY"', "requires_openai_auth = true")
        )
        cli = find_codex({"HOME": str(private_home)}, Path(PROGRAM))
        assert cli is not None
        agents.append(Codex(cli, confined))
        for agent in agents:
            rollout = await run(agent=agent)
            assert rollout.answer == "hello Bob", rollout.error
        asked = [json.dumps(one["body"]) for one in requests_of(server) if one["path"] == "/v1/responses"]
        assert len(asked) == len(agents)
        for name in ("web_search", "web__run", "image_gen"):
            assert not any(f'"{name}' in one or f"`{name}" in one for one in asked), name

    async def test_a_skill_called_by_its_name_is_before_the_model_at_once(self, run, server):
        rollout = await run(f"Please use ${SKILL.name} to greet Bob", SKILL)
        assert plays_of(server) == ["obey"]
        assert (rollout.skill_loaded, rollout.calls) == (True, ())

    async def test_what_a_command_gave_that_goes_on_counts_with_the_request_that_was_cut_off(
        self, run, server
    ):
        asked = {"cmd": "head -c 9000 /dev/zero | tr '\\0' x; sleep 60", "yield_time_ms": 500}
        waits = do({"say": "Late."}, delay_s=30)
        server.set_script({"plays": [play("watch", do({"tool": "exec_command", "input": asked}), waits)]})
        rollout = await run("Please watch it", seconds=6.0)
        assert 2 * 1000 + 9000 <= rollout.usage.tokens <= 2 * 2000 + 2 * 9000

    async def test_without_project_settings_nothing_of_the_project_speaks(
        self, run, server, confined, private_home, repository
    ):
        (repository / "AGENTS.md").write_text("HERON-RULE-45: be brief.\n")
        for place in (".agents/skills/own", ".codex/skills/more"):
            (repository / place).mkdir(parents=True)
            (repository / place / "SKILL.md").write_text(
                f"---\nname: {Path(place).name}\ndescription: HERON-RULE-46\n---\n\nBe brief.\n"
            )
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "instructions")
        bare = open_codex(server.base_url, confined, private_home, project_settings=False)
        await run(skill=SKILL, agent=bare, project=repository)
        assert plays_of(server) == ["load", "obey"]
        assert not {"HERON-RULE-45", "HERON-RULE-46"} & words_in(server)
        await run(project=repository)
        assert {"HERON-RULE-45", "HERON-RULE-46"} <= words_in(server)

    async def test_its_commands_find_the_tools_and_no_key(
        self, run, server, confined, private_home, tmp_path
    ):
        programs = tmp_path / "toolchain" / "bin"
        programs.mkdir(parents=True)
        (programs / "heron").write_text("#!/bin/sh\necho it flies\n")
        (programs / "heron").chmod(0o755)
        skill = "$CODEX_HOME/skills/heron-greet/SKILL.md"
        command = f"heron; rg --version; env; echo changed > {skill}; grep HERON-BODY {skill}"
        server.set_script({"plays": [play("look", do({"shell": command}), do({"say": "Seen."}))]})
        agent = open_codex(server.base_url, confined, private_home, toolchains=Toolchains((programs.parent,)))
        rollout = await run("Please look around", SKILL, agent=agent)
        (call,) = rollout.calls
        for words in ("it flies", "ripgrep", "Read-only file system", "HERON-BODY"):
            assert words in call.output
        assert "sk-fake" not in call.output

    async def test_its_data_bases_lie_in_memory_and_the_run_goes_on_when_that_is_full(
        self, run, server, confined
    ):
        place = f"{confined.memory}/{ORIGINATOR}"
        look = f"ls {place}; find ~ -name '*.sqlite*' -printf 'on the disk\\n'"
        fill = f"head -c 1G /dev/zero > {confined.memory}/filled; df --output=avail {confined.memory}"
        server.set_script(
            {"plays": [play("look", do({"shell": look}), do({"shell": fill}), do({"say": "Seen."}))]}
        )
        rollout = await run("Please look around")
        assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "Seen."), rollout.error
        looked, filled = rollout.calls
        assert ".sqlite" in looked.output
        assert "on the disk" not in looked.output
        assert filled.output.split()[-1] == "0"

    @pytest.fixture
    def own(self, private_home):
        """The client's own sandbox; skipped where it does not work either.

        As root it is believed in no night, but what else it holds can be seen.
        """
        cli = find_codex({"HOME": str(private_home), "CODEX_API_KEY": "sk-fake"}, Path(PROGRAM))
        sandbox = CodexSandbox(cli)
        probe = sandbox.probe()
        if not probe.works and probe.detail != AS_ROOT:
            pytest.skip(f"{probe.name}: {probe.detail}")
        return sandbox

    async def test_its_own_sandbox_holds_what_the_model_does(
        self, run, server, own, private_home, tmp_path, repository
    ):
        outside = tmp_path / "outside.txt"
        outside.write_text("HERON-SECRET-47")
        tries = (
            f"cat {outside}; cat $CODEX_HOME/config.toml; cat {private_home}/.codex/config.toml;"
            f" echo x > {tmp_path}/stray; echo x > .git/config; exec 3<>/dev/tcp/127.0.0.1/{server.port}"
        )
        works = "echo a > made && echo b > ~/kept && echo c > $TMPDIR/held && cat made ~/kept $TMPDIR/held"
        server.set_script(
            {
                "plays": [
                    play(
                        "leave",
                        do({"shell": tries}),
                        do({"write": {"path": str(outside), "content": "x"}}),
                        do({"shell": works}),
                        do({"say": "I could not."}),
                    )
                ]
            }
        )
        agent = open_codex(server.base_url, own, private_home)
        rollout = await run("Please leave the folder", agent=agent, project=repository)
        assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "I could not."), rollout.error
        tried, written, worked = rollout.calls
        assert tried.error
        assert written.error
        assert worked.output.split() == ["a", "b", "c"]
        assert "HERON-SECRET-4" not in tried.output
        assert outside.read_text() == "HERON-SECRET-47"
        assert not (tmp_path / "stray").exists()

    async def test_in_its_own_sandbox_the_skill_is_read_and_checks_are_held_as_well(
        self, server, own, private_home, tmp_path, repository, make_task
    ):
        agent = open_codex(server.base_url, own, private_home)
        held = f"test ! -e {private_home}; then=$?; touch {tmp_path}/stray; exit $then"
        checks = (
            Contains(text="HERON"),
            CommandSucceeds(command=held),
            CommandSucceeds(command="ls README*"),
        )
        rollout = await replay(
            make_task(project=str(repository), checks=checks), SKILL, agent,
            root=tmp_path / "runs", sandbox=own, limits=Limits(seconds=60.0),
        )  # fmt: skip
        assert plays_of(server) == ["load", "obey"]
        assert rollout.score.hard == 1.0, rollout.score
        assert "sandbox Codex's own" in rollout.notes[1]
        assert not (tmp_path / "stray").exists()

    async def test_without_a_sandbox_it_holds_nothing_back(self, run, server, private_home, tmp_path):
        outside = tmp_path / "outside.txt"
        script = [play("leave", do({"shell": f"echo x > {outside}"}), do({"say": "Done."}))]
        server.set_script({"plays": script})
        await run("Please leave the folder", agent=open_codex(server.base_url, NoSandbox(), private_home))
        assert outside.read_text() == "x\n"

    async def test_an_account_signs_in_without_what_renews_it(self, run, server, confined, private_home):
        folder = private_home / ".codex"
        folder.mkdir(exist_ok=True)
        account = {"id_token": token(), "access_token": token(), "refresh_token": "r-1", "account_id": "a-1"}
        (folder / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": None, "tokens": account}))
        (folder / "config.toml").write_text(
            CONFIG.replace("env_key", "#")
            .format(model="gpt-5.5", url=server.base_url, notified=private_home / "notified")
            .replace("wire_api", "requires_openai_auth = true\nwire_api")
        )
        cli = find_codex({"HOME": str(private_home)}, Path(PROGRAM))
        assert cli is not None
        rollout = await run(agent=Codex(cli, confined))
        assert rollout.answer == "hello Bob", rollout.error
        (asked,) = [request for request in requests_of(server) if request["path"] == "/v1/responses"]
        assert asked["headers"]["authorization"] == "<present>"
        assert asked["headers"]["chatgpt-account-id"] == "a-1"

    async def test_a_key_signs_in_to_another_address_of_openai_without_delay(
        self, run, server, confined, private_home
    ):
        (private_home / ".codex" / "config.toml").write_text(f'openai_base_url = "{server.base_url}/v1"\n')
        cli = find_codex({"HOME": str(private_home), "OPENAI_API_KEY": "sk-fake"}, Path(PROGRAM))
        assert cli is not None
        rollout = await run(agent=Codex(cli, confined))
        assert rollout.answer == "hello Bob", rollout.error
        assert [request["path"] for request in requests_of(server)] == ["/v1/responses"]

    async def test_an_account_asks_by_no_web_socket(self, run, server, confined, private_home):
        folder = private_home / ".codex"
        account = {"id_token": token(), "access_token": token(), "refresh_token": "r-1", "account_id": "a-1"}
        (folder / "auth.json").write_text(json.dumps({"OPENAI_API_KEY": None, "tokens": account}))
        (folder / "config.toml").write_text(f'openai_base_url = "{server.base_url}/v1"\n')
        cli = find_codex({"HOME": str(private_home)}, Path(PROGRAM))
        assert cli is not None
        # What it asks is compressed as OpenAI alone takes it, which the server here cannot read.
        await run(agent=Codex(cli, confined))
        asked = [request for request in requests_of(server) if request["path"] == "/v1/responses"]
        assert {(one["method"], one["headers"]["chatgpt-account-id"]) for one in asked} == {("POST", "a-1")}

    async def test_a_provider_that_knows_web_sockets_is_asked_by_none(
        self, run, server, confined, private_home, monkeypatch
    ):
        monkeypatch.setattr(f"{__name__}.CONFIG", f"{CONFIG}supports_websockets = true\n")
        agent = open_codex(server.base_url, confined, private_home)
        rollout = await run(agent=agent)
        assert rollout.answer == "hello Bob", rollout.error
        assert [request["method"] for request in requests_of(server)] == ["POST"]

    async def test_its_commands_do_not_find_a_key_of_any_other_name(
        self, run, server, confined, private_home
    ):
        folder = private_home / ".codex"
        config = CONFIG.replace("MOCK_KEY", "OWN_PAT").format(
            model="gpt-5.5", url=server.base_url, notified=private_home / "notified"
        )
        (folder / "config.toml").write_text(config)
        cli = find_codex({"HOME": str(private_home), "OWN_PAT": "correct horse"}, Path(PROGRAM))
        assert cli is not None
        server.set_script(
            {"plays": [play("look", do({"shell": "env"}), do({"say": "It is correct horse."}))]}
        )
        rollout = await run("Please look around", agent=Codex(cli, confined))
        (call,) = rollout.calls
        assert "CODEX_HOME=" in call.output
        assert "OWN_PAT=" not in call.output
        assert rollout.answer == "It is [redacted:credential]."

    async def test_a_price_makes_the_limit_on_money_hold(self, run, server, confined, private_home):
        agent = open_codex(
            server.base_url, confined, private_home, price=lambda _, usage: usage.tokens / 1000
        )
        rollout = await run("Go on for ever", agent=agent, usd=2.0)
        assert rollout.outcome is Outcome.LIMIT
        assert "$2.4800" in (rollout.error or "")
        assert len(plays_of(server)) <= 3

    async def test_its_sessions_carry_our_mark(self, run, server):
        await run()
        marks = {request["headers"].get("originator") for request in requests_of(server)}
        assert marks == {ORIGINATOR}
        assert ORIGINATOR.startswith(OWN_ENTRYPOINT)


def requests_of(server) -> list[dict]:
    return [json.loads(line) for line in Path(server.log_path).read_text().splitlines()]


def words_in(server) -> set[str]:
    """Return which of our own words the model was sent."""
    return set(re.findall(r"HERON-[A-Z]+-\d+", Path(server.log_path).read_text()))


def token() -> str:
    """Return a token as the service makes them, good for an hour."""
    claims = {
        "exp": int(time.time()) + 3600,
        "https://api.openai.com/auth": {"chatgpt_plan_type": "plus", "chatgpt_account_id": "a-1"},
    }
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in ({"alg": "none"}, claims)]
    return ".".join(part.rstrip(b"=").decode() for part in [*parts, b"c2ln"])
