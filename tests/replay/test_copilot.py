"""The agent drives a `copilot` program, good or misbehaving, and tells what became of the run."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from skillopt_replay.agents.copilot import Copilot, prompt_of, reach_for
from skillopt_replay.agents.copilot_agents import names_servers
from skillopt_replay.agents.copilot_cli import find_copilot
from skillopt_replay.errors import Unavailable
from skillopt_replay.folders import RUN_PREFIX, make_folder
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Fault, Outcome, Usage
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.skills import new_skill

SKILL = new_skill("heron-greet", "Use when greeting somebody.", "Say HERON.")

FINISHED, LIMIT, FAILED = Outcome.FINISHED, Outcome.LIMIT, Outcome.INFRASTRUCTURE

# Notes what it was given, then does what its instructions say.
FAKE = """#!{python} -IS
import json, os, signal, sys, time
from pathlib import Path
if "--version" in sys.argv:
    print("GitHub Copilot CLI 1.0.102."); sys.exit()
notes = Path({notes!r})
home = Path(os.environ["HOME"])
notes.write_text(json.dumps({{
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "prompt": sys.stdin.read(),
    "home": {{str(p.relative_to(home)): p.read_text() for p in home.rglob("*") if p.is_file()}},
    "cache": sorted(p.name for p in Path(os.environ["COPILOT_CACHE_HOME"]).iterdir()),
}}))
def emit(type, **data):
    print(json.dumps({{"type": type, "data": data}}), flush=True)
def reply(text="", *calls):
    requests = [{{"toolCallId": c, "name": "bash", "arguments": {{}}}} for c in calls]
    emit("assistant.message", content=text, toolRequests=requests, model="m")
    emit("assistant.turn_end", turnId="0")
def spend(tokens, **attributes):
    attributes = {{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": tokens, **attributes}}
    with open(os.environ["COPILOT_OTEL_FILE_EXPORTER_PATH"], "a") as file:
        file.write(json.dumps({{"type": "span", "attributes": attributes}}) + "\\n")
def tool(call, name, text="", **arguments):
    emit("tool.execution_start", toolCallId=call, toolName=name, arguments=arguments)
    emit("tool.execution_complete", toolCallId=call, success=True, result={{"content": text}})
def result(code=0):
    print(json.dumps({{"type": "result", "sessionId": "s", "exitCode": code}}), flush=True)
    sys.exit(code)
def stopped(*_):
    emit("abort", reason="user_initiated")
    result(0)
signal.signal(signal.SIGTERM, stopped)
{script}
"""


@pytest.fixture
def workspace(tmp_path):
    return make_folder(tmp_path / "runs", RUN_PREFIX)


@pytest.fixture
def make_agent(tmp_path):
    def make(script: str, sandbox=None, env: dict[str, str] | None = None, **options) -> Copilot:
        program = tmp_path / "program" / "copilot"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            FAKE.format(python=sys.executable, notes=str(tmp_path / "notes.json"), script=script)
        )
        program.chmod(0o755)
        cache = tmp_path / "cache"
        cli = find_copilot(env or {"COPILOT_GITHUB_TOKEN": "github_pat_fake"}, program, cache=cache)
        assert cli is not None
        return Copilot(cli, sandbox or NoSandbox(), cache=cache, **options)

    return make


def notes_of(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "notes.json").read_text())


async def test_a_run_without_a_skill(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("spend(100, **{'github.copilot.nano_aiu': 2e9}); reply('Hello Bob'); result()")
    rollout = await agent.run(make_task(prompt="--help me,\nplease"), None, workspace, Limits())
    assert (rollout.outcome, rollout.answer, rollout.error) == (Outcome.FINISHED, "Hello Bob", None)
    assert (rollout.agent, rollout.model) == ("copilot 1.0.102 default", "m")
    assert rollout.usage == Usage(input_tokens=100, cost_usd=pytest.approx(0.02))
    assert rollout.skill == ""
    assert rollout.skill_loaded is rollout.score is None
    noted = notes_of(tmp_path)
    assert noted["prompt"] == "--help me,\nplease"
    assert noted["cwd"] == str(workspace)
    assert noted["home"].keys() == {".bash_profile", ".copilot/settings.json"}
    assert noted["cache"] == ["1.0.102.unpacked", "unpack.lock"]
    assert [p.name for p in workspace.parent.iterdir()] == [workspace.name]


async def test_how_hard_to_think_is_told_and_part_of_who_ran(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("reply('x'); result()", effort="high")
    await agent.run(make_task(), None, workspace, Limits())
    argv = notes_of(tmp_path)["argv"]
    assert argv[argv.index("--reasoning-effort") + 1] == "high"
    assert agent.identity.endswith("default at high effort")


async def test_the_skill_is_the_only_difference_between_the_arms(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("reply('x'); result()", model="gpt-5.4")
    await agent.run(make_task(), None, workspace, Limits())
    without = notes_of(tmp_path)
    rollout = await agent.run(make_task(), SKILL, workspace, Limits())
    with_skill = notes_of(tmp_path)
    assert with_skill["argv"] == without["argv"]
    assert with_skill["argv"][-2:] == ["--model", "gpt-5.4"]
    assert set(with_skill["home"]) - set(without["home"]) == {".copilot/skills/heron-greet/SKILL.md"}
    assert with_skill["home"][".copilot/skills/heron-greet/SKILL.md"] == SKILL.text
    assert rollout.skill == SKILL.digest
    assert rollout.skill_loaded is False


async def test_nothing_of_the_users_comes_along_but_the_credential(
    make_agent, make_task, workspace, tmp_path, monkeypatch
):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("COPILOT_PROVIDER_API_KEY", "secret")
    agent = make_agent("reply('x'); result()")
    await agent.run(make_task(), None, workspace, Limits())
    noted = notes_of(tmp_path)
    env = noted["env"]
    assert "secret" not in env.values()
    assert env["COPILOT_GITHUB_TOKEN"] == "github_pat_fake"
    assert env["COPILOT_AUTO_UPDATE"] == "false"
    assert "COPILOT_OFFLINE" not in env, "GitHub's own service needs the network"
    for name in ("HOME", "COPILOT_HOME", "TMPDIR", "COPILOT_OTEL_FILE_EXPORTER_PATH"):
        assert Path(env[name]).is_relative_to(workspace.parent)
        assert not Path(env[name]).exists()
    assert "--disable-builtin-mcps" in noted["argv"]
    secrets = next(a for a in noted["argv"] if a.startswith("--secret-env-vars="))
    assert "COPILOT_GITHUB_TOKEN" in secrets


async def test_a_provider_of_the_users_own_is_all_the_client_may_reach(
    make_agent, make_task, workspace, tmp_path, local_server
):
    place = f"127.0.0.1:{local_server}/v1"
    provider = {"COPILOT_PROVIDER_BASE_URL": f"http://{place}", "COPILOT_MODEL": "qwen"}
    agent = make_agent("reply('x'); result()", env=provider)
    assert agent.identity == f"copilot 1.0.102 provider/qwen via {place}"
    await agent.run(make_task(), None, workspace, Limits())
    env = notes_of(tmp_path)["env"]
    assert env["COPILOT_OFFLINE"] == "true"
    assert env["COPILOT_PROVIDER_BASE_URL"] == f"http://{place}"
    assert "COPILOT_GITHUB_TOKEN" not in env


def test_what_a_provider_costs_is_not_known_unless_there_is_a_price(make_agent):
    provider = {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1", "COPILOT_MODEL": "qwen"}
    guess = Usage(input_tokens=1000, cost_usd=1.0)
    assert make_agent("", estimate=guess).estimate == guess
    assert make_agent("", env=provider, estimate=guess).estimate.cost_usd is None
    priced = {"qwen": 0.5}
    agent = make_agent("", env=provider, estimate=guess, price=lambda model, _usage: priced.get(model))
    assert agent.estimate == guess


def test_nobody_signed_in_and_a_provider_without_a_model_are_told_before_anything_runs(make_agent):
    with pytest.raises(Unavailable, match="not signed in") as caught:
        make_agent("result()", env={"HOME": "/nonexistent"})
    assert "COPILOT_GITHUB_TOKEN" in caught.value.hint
    with pytest.raises(Unavailable, match="no model"):
        make_agent("result()", env={"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1"})


async def test_the_users_toolchains_are_on_the_path_of_a_login_shell(
    make_agent, make_task, workspace, tmp_path
):
    tools = tmp_path / "odd 'name'" / "bin"
    tools.mkdir(parents=True)
    agent = make_agent("reply('x'); result()", toolchains=Toolchains((tools,)))
    await agent.run(make_task(), None, workspace, Limits())
    noted = notes_of(tmp_path)
    (tmp_path / ".bash_profile").write_text(noted["home"][".bash_profile"])
    shell = await asyncio.create_subprocess_exec(
        "bash", "-lc", 'printf %s "$PATH"', env={"HOME": str(tmp_path)}, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await shell.communicate()
    assert printed.decode() == noted["env"]["PATH"]
    assert str(tools) in printed.decode()


async def test_calls_and_the_loaded_skill_are_reported(make_agent, make_task, workspace):
    script = (
        "reply('', 's'); tool('s', 'skill', skill='heron-greet'); tool('b', 'bash', command='npm test')\n"
        "emit('tool.execution_start', toolCallId='w', toolName='web_fetch', arguments={})\n"
        "emit('tool.execution_complete', toolCallId='w', success=False, "
        "error={'message': 'no', 'code': 'denied'})\n"
        "reply('Done.'); result()"
    )
    rollout = await make_agent(script).run(make_task(), SKILL, workspace, Limits())
    assert rollout.skill_loaded is True
    assert [(call.name, call.command) for call in rollout.calls] == [
        ("skill", None),
        ("bash", "npm test"),
        ("web_fetch", None),
    ]
    assert rollout.notes == ("tools refused: web_fetch",)


@pytest.mark.parametrize(
    ("script", "outcome", "words"),
    [
        (
            "emit('session.error', errorType='authentication', message='Authentication failed', "
            "statusCode=401); result(1)",
            FAILED,
            "Authentication failed (status 401)",
        ),
        (
            "emit('session.error', errorType='query', message='No response was returned.'); result(1)",
            FAILED,
            "",
        ),
        ("result()", FAILED, "said nothing and did nothing"),
        ("reply('x'); sys.exit('segmentation fault')", FAILED, "no result: segmentation fault"),
        ("print('garbage'); sys.exit(0)", FAILED, "ended with 0 and no result"),
        ("os.kill(os.getpid(), 11)", FAILED, "ended with -11"),
        ("reply('x'); stopped()", FAILED, "no result"),
        ("reply('x'); result(0)", FINISHED, ""),
    ],
)
async def test_every_way_to_end_has_its_outcome(make_agent, make_task, workspace, script, outcome, words):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=20))
    assert rollout.outcome is outcome
    assert words in (rollout.error or "")
    assert (rollout.fault is not None) == (outcome is FAILED)


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ("Error: No authentication information found.", Fault.SIGN_IN),
        ("Token could not be validated. network fetch failed: error sending request", Fault.NETWORK),
        ("error: unexpected argument '--no-ask-user' found", Fault.CLIENT),
    ],
)
async def test_what_it_says_before_it_has_begun_is_sorted(make_agent, make_task, workspace, message, fault):
    rollout = await make_agent(f"sys.exit({message!r})").run(make_task(), None, workspace, Limits())
    assert (rollout.outcome, rollout.fault) == (FAILED, fault)
    assert message in (rollout.error or "")


@pytest.mark.parametrize(
    ("script", "outcome", "fault"),
    [
        ("reply('half', 'b'); time.sleep(60)", LIMIT, None),
        ("time.sleep(60)", FAILED, Fault.NETWORK),
        ("reply('', 'b'); emit('model.call_failure', statusCode=429); time.sleep(60)", FAILED, Fault.RATE),
        ("reply('x'); signal.signal(15, signal.SIG_IGN); time.sleep(60)", LIMIT, None),
    ],
    ids=["working", "no reply ever", "waiting for the service", "deaf"],
)
async def test_the_time_limit_blames_the_run_only_when_it_was_working(
    make_agent, make_task, workspace, script, outcome, fault
):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=1.0))
    assert (rollout.outcome, rollout.fault) == (outcome, fault)


async def test_a_result_that_came_counts_though_the_client_hangs(make_agent, make_task, workspace):
    script = (
        "reply('Done.'); print(json.dumps({'type': 'result', 'exitCode': 0}), flush=True); time.sleep(60)"
    )
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=1.0))
    assert (rollout.outcome, rollout.answer) == (FINISHED, "Done.")


async def test_turns_tokens_and_money_stop_a_run_that_would_go_on(make_agent, make_task, workspace):
    script = (
        "for i in range(600):\n"
        "    spend(1000, **{'github.copilot.nano_aiu': 10e9}); reply('', str(i)); "
        "tool(str(i), 'bash', command='echo again'); time.sleep(0.1)"
    )
    agent = make_agent(script)
    for limits, word in (
        (Limits(turns=3), "3 turns"),
        (Limits(tokens=3000), "tokens"),
        (Limits(usd=0.3), "$0."),
    ):
        rollout = await agent.run(make_task(), None, workspace, limits)
        assert rollout.outcome is LIMIT
        assert word in (rollout.error or "")
        assert 2 <= len(rollout.calls) < 600


async def test_an_empty_account_stops_at_once(make_agent, make_task, workspace):
    script = "emit('model.call_failure', statusCode=429, errorCode='insufficient_quota')\ntime.sleep(60)"
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=50))
    assert (rollout.outcome, rollout.fault) == (FAILED, Fault.MONEY)
    assert rollout.seconds < 40


async def test_a_client_that_spawns_children_and_hangs_leaves_none_behind(
    make_agent, make_task, workspace, tmp_path
):
    script = (
        "import subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pids = [subprocess.Popen(['sleep', '60'], start_new_session=i % 2 == 0).pid for i in range(4)]\n"
        f"Path({str(tmp_path / 'pids')!r}).write_text(' '.join(map(str, pids)))\n"
        "reply('busy', 'b')\n"
        "time.sleep(60)"
    )
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=1.5))
    assert rollout.outcome is Outcome.LIMIT
    deadline = time.monotonic() + 5
    alive = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    while alive and time.monotonic() < deadline:
        alive = [
            p for p in alive if psutil.pid_exists(p) and psutil.Process(p).status() != psutil.STATUS_ZOMBIE
        ]
    assert alive == []


async def test_a_cancelled_run_removes_the_private_home(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("time.sleep(60)")
    running = asyncio.ensure_future(agent.run(make_task(), SKILL, workspace, Limits()))
    while not (tmp_path / "notes.json").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [p.name for p in workspace.parent.iterdir()] == [workspace.name]


async def test_a_client_that_is_gone_is_an_infrastructure_failure(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("result()")
    (tmp_path / "program" / "copilot").unlink()
    rollout = await agent.run(make_task(), None, workspace, Limits())
    assert (rollout.outcome, rollout.fault) == (Outcome.INFRASTRUCTURE, Fault.REPLACED)
    assert "replaced or removed" in (rollout.error or "")


async def test_confined_it_works_in_the_workspace_and_changes_neither_skill_nor_cache(
    confined, make_task, workspace, tmp_path
):
    program = tmp_path / "program" / "copilot"
    program.parent.mkdir()
    (program.parent / "beside").write_text("not for runs")
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo 1.0.102; exit; fi\n'
        "cat > prompt.txt\n"
        'skill="$COPILOT_HOME/skills/heron-greet/SKILL.md"\n'
        'echo changed > "$skill"; cp "$skill" seen.md; rm -rf "$COPILOT_HOME/skills"\n'
        'echo x > "$COPILOT_CACHE_HOME/x" && exit 8\n'
        f"ls {tmp_path} {tmp_path}/program > outside.txt 2>&1; ls {workspace.parent} > beside.txt\n"
        'echo x > "$COPILOT_HOME/x" && echo x > $TMPDIR/x || exit 9\n'
        """echo '{"type":"assistant.message","data":{"content":"ok"}}'\n"""
        """echo '{"type":"result","exitCode":0}'\n"""
    )
    program.chmod(0o755)
    cli = find_copilot({"GH_TOKEN": "gho_fake"}, program, cache=tmp_path / "cache")
    assert cli is not None
    agent = Copilot(cli, confined, cache=tmp_path / "cache")
    rollout = await agent.run(make_task(), SKILL, workspace, Limits(seconds=20))
    assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "ok"), rollout.error
    assert (workspace / "prompt.txt").read_text() == "Please greet Bob."
    assert (workspace / "seen.md").read_text() == SKILL.text
    assert not (tmp_path / "cache" / "x").exists()
    assert "beside" not in (workspace / "outside.txt").read_text().split()
    assert [path.name for path in workspace.parent.iterdir()] == [workspace.name]


def test_a_prompt_is_never_taken_for_a_command_of_the_client():
    assert prompt_of("Please /compact it") == "Please /compact it"
    assert prompt_of(" /compact the tables") == "Request:  /compact the tables"


def test_a_run_may_reach_its_provider_or_github_and_nothing_else():
    assert [str(e) for e in reach_for({"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:8000/v1"})] == [
        "127.0.0.1:8000"
    ]
    plain = [str(e) for e in reach_for({"COPILOT_GITHUB_TOKEN": "x"})]
    assert "api.github.com:443" in plain
    assert "api.githubcopilot.com:443" in plain
    own = [str(e) for e in reach_for({"GH_HOST": "github.com", "COPILOT_GH_HOST": "https://mine.ghe.com/"})]
    assert own == ["mine.ghe.com:443", "api.mine.ghe.com:443", "copilot-api.mine.ghe.com:443"]


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("---\nname: own\ntools: ['*']\n---\nSay C:\\\\hi!\n", False),
        ("---\nname: own\nmcp-servers:\n  gh: {}\n---\nHelp.\n", True),
        ("---\r\nname: own\r\n---\r\nHelp.\r\n", False),
        ('---\nname: own\n"\\x6dcp-servers": {}\n---\nHelp.\n', True),
        ("---\nname: own\n!!binary bWNwLXNlcnZlcnM=: {}\n---\nHelp.\n", True),
        ("x" * 1_000_001, True),
        (None, True),
    ],
)
@pytest.mark.parametrize("place", [".github/agents/deep", ".claude/agents"])
def test_an_agent_of_the_projects_that_may_name_servers_is_known(tmp_path, said, named, place):
    root = tmp_path / f"{RUN_PREFIX}1"
    (root / "sub" / place).mkdir(parents=True)
    agent = root / "sub" / place / "own.agent.md"
    if said is None:
        agent.symlink_to("elsewhere")
    else:
        agent.write_bytes(said.encode())
    assert names_servers(root / "sub") is named
    assert not names_servers(root)
