"""The agents of the table are found and opened as the settings say, and so is a program of the user's own."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Outcome
from skillopt_replay.sandbox import probe_all
from skillopt_sleep.agents import BY_NAME
from skillopt_sleep.found import find_agents, find_backends
from skillopt_sleep.night.backends import open_backends
from skillopt_sleep.night.choosing import Choice, choose_optimizer
from skillopt_sleep.night.workbenches import open_workbench
from skillopt_sleep.paths import Paths, locate
from skillopt_sleep.settings import Optimizer, Replay, Settings, Target
from tests.replay.conftest import make_task  # noqa: F401 - a fixture

SERVER = "openai:http://127.0.0.1:9/v1#tiny"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return locate({"SKILLOPT_SLEEP_HOME": str(tmp_path / "state")})


def settings_for(**target) -> Settings:
    return Settings(
        target=Target(**target), optimizer=Optimizer(model=SERVER), replay=Replay(sandbox="none", usd=0.5)
    )


def make_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


async def test_a_program_of_the_users_own_runs_with_the_variables_named(paths, tmp_path, make_task):  # noqa: F811
    script = 'cat; echo " $MY_KEY [$OTHER_KEY] $SKILLOPT_MODEL $1"'
    program = make_program(tmp_path / "mine" / "my-agent", script)
    settings = settings_for(
        agent="command", command=(str(program), "--fast"), pass_env=("MY_KEY", "UNSET"), model="m"
    )
    env = {"PATH": "/usr/bin:/bin", "MY_KEY": "k", "OTHER_KEY": "secret"}
    (tmp_path / "skillopt-replay-1").mkdir()
    async with open_backends(settings, paths, env) as backends:
        assert backends.agent.identity.startswith("command my-agent ")
        assert any("command my-agent" in note and "not known" in note for note in backends.notes)
        rollout = await backends.agent.run(make_task(), None, tmp_path / "skillopt-replay-1", Limits())
    assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "Please greet Bob. k [] m --fast")


@pytest.mark.parametrize(
    ("reach", "network", "told"),
    [((), "model", True), ((), "any", False), (("https://service.invalid",), "model", False)],
)
async def test_a_program_that_names_no_service_has_no_network_and_the_report_says_so(
    paths,
    tmp_path,
    make_task,  # noqa: F811
    reach,
    network,
    told,
):
    if not any(probe.works for probe in probe_all(network)):
        pytest.skip("no sandbox works here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' 2>/dev/null && echo reached || echo refused"
        settings = Settings(
            target=Target(
                agent="command",
                command=(str(make_program(tmp_path / "mine" / "my-agent", script)),),
                reach=reach,
            ),
            optimizer=Optimizer(model=SERVER),
            replay=Replay(network=network),
        )
        (tmp_path / "skillopt-replay-1").mkdir()
        async with open_backends(settings, paths, {"PATH": "/usr/bin:/bin"}) as backends:
            assert any("target.reach" in note for note in backends.notes) is told
            rollout = await backends.agent.run(make_task(), None, tmp_path / "skillopt-replay-1", Limits())
    assert rollout.answer == ("reached" if network == "any" else "refused")


async def test_toolchains_come_to_runs_and_checks_and_private_ones_to_none(paths, tmp_path, private_home):
    tools = tmp_path / "tools/bin"
    tools.mkdir(parents=True)
    command = (str(make_program(tmp_path / "mine" / "my-agent", "true")),)
    settings = Settings(
        target=Target(agent="command", command=command),
        optimizer=Optimizer(model=SERVER),
        replay=Replay(sandbox="none", toolchains=(str(tools),)),
    )

    async def unasked(spec):
        raise AssertionError(spec)

    env = {"PATH": "/usr/bin:/bin", "HOME": str(private_home)}
    bench = await open_workbench("command", settings, paths, env, unasked)
    assert bench.toolchains.folders == (tools,)
    for private in (private_home, paths.data):
        private.mkdir(exist_ok=True)
        replay = msgspec.structs.replace(settings.replay, toolchains=(str(private),))
        with pytest.raises(ReplayError):
            await open_workbench(
                "command", msgspec.structs.replace(settings, replay=replay), paths, env, unasked
            )


@pytest.mark.parametrize(
    ("target", "error", "words"),
    [
        ({}, Unavailable, "no command is named"),
        ({"command": ("absent-agent",)}, Unavailable, "is not there"),
        ({"command": ("sh",), "reach": ("example.com",)}, ReplayError, "is no address"),
    ],
)
async def test_a_command_that_cannot_run_is_told_before_the_night(paths, target, error, words):
    with pytest.raises(error, match=words):
        async with open_backends(settings_for(agent="command", **target), paths, {"PATH": "/usr/bin:/bin"}):
            pass


async def test_copilot_is_opened_with_the_projects_cache_and_the_users_prices(paths, tmp_path):
    make_program(tmp_path / "bin" / "copilot", "echo 1.0.102")
    env = {
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:9/v1",
        "COPILOT_MODEL": "qwen",
        "SKILLOPT_SLEEP_HOME": str(tmp_path / "state"),
    }
    settings = settings_for(agent="copilot")
    async with open_backends(settings, paths, env) as backends:
        assert backends.agent.identity == "copilot 1.0.102 provider/qwen via 127.0.0.1:9/v1"
        assert backends.agent.estimate.cost_usd is None
        assert "COPILOT_PROVIDER_BASE_URL" in backends.remedies["rollout"]
    priced = msgspec.structs.replace(settings, prices={"qwen": (1.0, 2.0)})
    async with open_backends(priced, paths, env) as backends:
        assert backends.agent.estimate.cost_usd == 0.5
    assert (tmp_path / "state" / "cache" / "copilot").is_dir()


@pytest.mark.parametrize(
    ("config", "model", "cost"),
    [
        ("", "gpt-5", 0.5),
        ("", "gpt-unheard-of", None),
        ('openai_base_url = "http://127.0.0.1:9"', "gpt-5", None),
    ],
    ids=["a listed price", "no price", "the list does not hold elsewhere"],
)
async def test_codex_is_opened_with_the_price_that_holds(paths, tmp_path, config, model, cost):
    make_program(tmp_path / "bin" / "codex", "echo codex-cli 0.171.0")
    (tmp_path / "config.toml").write_text(config)
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "CODEX_API_KEY": "k", "CODEX_HOME": str(tmp_path)}
    settings = settings_for(agent="codex", model=model)
    async with open_backends(settings, paths, env) as backends:
        place = " via 127.0.0.1:9" if config else ""
        assert backends.agent.identity == f"codex 0.171.0 {model}{place}"
        assert backends.agent.estimate.cost_usd == cost
        assert "CODEX_API_KEY" in backends.remedies["rollout"]
    priced = msgspec.structs.replace(settings, prices={model: (1.0, 2.0)})
    async with open_backends(priced, paths, env) as backends:
        assert backends.agent.estimate.cost_usd == 0.5


def test_the_check_up_tells_of_codex(paths, tmp_path):
    program = make_program(tmp_path / "bin" / "codex", "echo codex-cli 0.171.0")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    told = {finding.name: finding for finding in find_agents(env)}
    assert not told["codex"].ok
    assert "codex login" in told["codex"].hint
    told = {finding.name: finding for finding in find_agents({**env, "CODEX_API_KEY": "k"})}
    assert told["codex"].ok
    assert "sign-in by CODEX_API_KEY" in told["codex"].detail
    program.write_text("#!/bin/sh\necho codex-cli 0.104.0\n")
    told = {finding.name: finding for finding in find_agents({**env, "CODEX_API_KEY": "k"})}
    assert not told["codex"].ok
    assert "older than 0.142" in told["codex"].detail


def test_a_program_of_the_users_own_writes_no_edits():
    auto = Settings(target=Target(agent="command"))
    picked = choose_optimizer(auto, "command", {})
    assert picked == Choice(
        agent="local", why="your own program is no chat model, and no other client is signed in"
    )


def test_the_check_up_tells_of_copilot_and_of_the_command(paths, tmp_path):
    make_program(tmp_path / "bin" / "copilot", "echo 1.0.102")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "SKILLOPT_SLEEP_HOME": str(tmp_path / "state")}
    told = {finding.name: finding for finding in find_agents(env)}
    assert not told["copilot"].ok
    assert "1.0.102" in told["copilot"].detail
    assert "COPILOT_GITHUB_TOKEN" in told["copilot"].hint
    signed_in = {finding.name: finding for finding in find_agents({**env, "GH_TOKEN": "gho_fake"})}
    assert signed_in["copilot"].ok
    assert "sign-in by GH_TOKEN" in signed_in["copilot"].detail
    assert "gho_fake" not in signed_in["copilot"].detail

    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(
        f'[target]\nagent = "command"\ncommand = ["sh"]\n[optimizer]\nmodel = "{SERVER}"\n'
    )
    assert (
        next(iter(find_backends(paths, env))).detail
        == f"a night would replay with {Path('/bin/sh').resolve().name}"
    )
    paths.config.write_text('[target]\nagent = "command"\n')
    missing = next(iter(find_backends(paths, env)))
    assert not missing.ok
    assert "target.command" in missing.hint


@pytest.mark.parametrize("name", list(BY_NAME))
def test_an_agent_that_is_named_but_cannot_run_is_told_by_the_check_up(paths, tmp_path, name: str):
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text(f'[target]\nagent = "{name}"\n[optimizer]\nmodel = "{SERVER}"\n')
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    missing = next(iter(find_backends(paths, env)))
    assert (missing.ok, missing.detail) == (False, f"{BY_NAME[name].title} is not on the PATH")
    version = {"claude_code": "2.1.332 (Claude Code)", "codex": "codex-cli 0.171.0", "copilot": "1.0.102"}
    make_program(tmp_path / "bin" / BY_NAME[name].client, f"echo '{version[name]}'")
    unknown = next(iter(find_backends(paths, env)))
    assert (unknown.ok, unknown.detail) == (False, f"{BY_NAME[name].title} is not signed in")
    assert unknown.hint


def test_where_no_client_writes_edits_the_check_up_names_two_ways_out(paths, tmp_path, monkeypatch):
    def refuse() -> None:
        raise Unavailable("no runtime", hint="install it")

    monkeypatch.setattr("skillopt_replay.models.serving.require_runtime", refuse)
    paths.config.parent.mkdir(parents=True, exist_ok=True)
    paths.config.write_text('[target]\nagent = "command"\ncommand = ["sh"]\n')
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    optimizer = list(find_backends(paths, env))[1]
    assert optimizer.detail.startswith("no runtime: your own program is no chat model")
    assert optimizer.hint.startswith("install it, or name another: ")
    assert "optimizer.model" in optimizer.hint


def test_every_agent_is_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text()
    for name in (*BY_NAME, "command", "chat", "auto"):
        assert f"| `{name}` |" in page


@pytest.mark.parametrize(
    ("model", "prices", "known"),
    [
        ("gpt-5", {}, True),
        ("", {}, False),
        ("a-model", {}, False),
        ("a-model", {"a-model": (1.0, 2.0)}, True),
    ],
)
async def test_codex_with_a_key_is_bound_in_dollars_where_the_price_is_known(
    paths, tmp_path, model, prices, known
):
    make_program(tmp_path / "bin" / "codex", "echo codex-cli 0.171.0")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "CODEX_API_KEY": "sk-fake"}
    settings = msgspec.structs.replace(settings_for(agent="codex", model=model), prices=prices)
    async with open_backends(settings, paths, env) as backends:
        assert backends.agent.identity == f"codex 0.171.0 {model or 'default'}"
        assert backends.agent.estimate.cost_usd == (0.5 if known else None)
        assert any("codex" in note and "not known" in note for note in backends.notes) is not known
        assert "codex login" in backends.remedies["rollout"]


async def test_codex_with_an_account_has_no_price_by_the_token(paths, tmp_path):
    make_program(tmp_path / "bin" / "codex", "echo codex-cli 0.171.0")
    home = tmp_path / "users"
    home.mkdir()
    (home / "auth.json").write_text('{"tokens": {"access_token": "a.b.c", "refresh_token": "r"}}')
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "CODEX_HOME": str(home)}
    async with open_backends(settings_for(agent="codex", model="gpt-5"), paths, env) as backends:
        assert backends.agent.estimate.cost_usd is None


async def test_auto_takes_codex_for_both_parts_when_it_is_what_is_signed_in(paths, tmp_path):
    make_program(tmp_path / "bin" / "codex", "echo codex-cli 0.171.0")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "CODEX_API_KEY": "sk-fake"}
    async with open_backends(Settings(replay=Replay(sandbox="none")), paths, env) as backends:
        assert backends.agent.identity == "codex 0.171.0 default"
        assert backends.optimizer.identity == "codex 0.171.0 default"
        assert any("as target: it is installed and signed in" in note for note in backends.notes)


async def test_runs_without_the_projects_settings_are_another_agents(paths, tmp_path):
    make_program(tmp_path / "bin" / "claude", "echo '2.1.332 (Claude Code)'")
    env = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-fake"}
    seen = []
    for chosen in ("project", ""):
        settings = settings_for(agent="claude_code", settings=chosen)
        async with open_backends(settings, paths, env) as backends:
            seen.append(backends.agent.identity)
    assert seen == ["claude-code 2.1.332 default", "claude-code 2.1.332 default without project settings"]
