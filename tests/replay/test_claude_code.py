"""The agent drives a `claude` program, good or misbehaving, and tells what became of the run."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Awaitable
from pathlib import Path

import psutil
import pytest

from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.claude_code import ClaudeCode
from skillopt_replay.errors import Unavailable
from skillopt_replay.folders import RUN_PREFIX, make_folder
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Fault, Outcome, Rollout
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.skill_files import SkillFile
from skillopt_replay.skills import Skill, new_skill
from tests.support.cutting import cut_off

SKILL = new_skill("heron-greet", "Use when greeting somebody.", "Say HERON.")

FINISHED, LIMIT, FAILED = Outcome.FINISHED, Outcome.LIMIT, Outcome.INFRASTRUCTURE

SPEAK = """
def emit(**event):
    print(json.dumps(event), flush=True)
def reply(*blocks):
    usage = {{"input_tokens": 9}}
    message = {{"id": os.urandom(4).hex(), "model": "m", "content": list(blocks), "usage": usage}}
    emit(type="assistant", message=message)
def result(**changes):
    event = {{"type": "result", "subtype": "success", "is_error": False, "result": "Hello Bob"}}
    event.update(stop_reason="end_turn", total_cost_usd=0.01)
    event.update(modelUsage={{"m": {{"inputTokens": 100, "outputTokens": 5}}}})
    emit(**{{**event, **changes}})
emit(type="system", subtype="init", model="m")
{script}
"""

# Notes what it was given, then does what its instructions say.
FAKE = (
    """#!{python} -IS
import json, os, sys, time
from pathlib import Path
if "--version" in sys.argv:
    print("2.1.332 (Claude Code)"); sys.exit()
notes = Path({notes!r})
def files_of(folder):
    return {{str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}}
plugin = Path(sys.argv[sys.argv.index("--plugin-dir") + 1]) if "--plugin-dir" in sys.argv else None
config = Path(os.environ["CLAUDE_CONFIG_DIR"])
notes.write_text(json.dumps({{
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "prompt": sys.stdin.read(),
    "plugin": files_of(plugin) if plugin else None,
    "config": {{p.name: [p.read_text(), oct(p.stat().st_mode & 0o777)] for p in config.iterdir()}},
}}))
"""
    + SPEAK
)


@pytest.fixture
def workspace(tmp_path):
    return make_folder(tmp_path / "runs", RUN_PREFIX)


@pytest.fixture
def make_agent(tmp_path):
    def make(script: str, sandbox=None, env: dict[str, str] | None = None, **options) -> ClaudeCode:
        program = tmp_path / "program" / "claude"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            FAKE.format(python=sys.executable, notes=str(tmp_path / "notes.json"), script=script)
        )
        program.chmod(0o755)
        cli = find_claude(env or {"ANTHROPIC_API_KEY": "sk-fake"}, program)
        assert cli is not None
        return ClaudeCode(cli, sandbox or NoSandbox(), **options)

    return make


def notes_of(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "notes.json").read_text())


async def test_a_run_without_a_skill(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("reply({'type': 'text', 'text': 'Hello Bob'}); result()")
    rollout = await agent.run(make_task(prompt="--help me,\nplease"), None, workspace, Limits())
    assert (rollout.outcome, rollout.answer, rollout.error) == (Outcome.FINISHED, "Hello Bob", None)
    assert (rollout.agent, rollout.model) == ("claude-code 2.1.332 default", "m")
    assert (rollout.usage.tokens, rollout.usage.cost_usd) == (105, 0.01)
    assert rollout.skill == ""
    assert rollout.skill_loaded is rollout.score is None
    noted = notes_of(tmp_path)
    assert noted["prompt"] == "--help me,\nplease"
    assert noted["plugin"] is None
    assert noted["cwd"] == str(workspace)
    assert [p.name for p in workspace.parent.iterdir()] == [workspace.name]


async def test_a_program_that_was_replaced_runs_no_more_in_the_name_of_the_one_that_was_found(
    make_agent, make_task, workspace, tmp_path
):
    agent = make_agent("result()")
    assert (await agent.run(make_task(), None, workspace, Limits())).outcome is FINISHED
    program = tmp_path / "program" / "claude"
    newer = program.with_name("newer")
    newer.write_text(program.read_text().replace("2.1.332", "2.1.333"))
    newer.chmod(0o755)
    newer.replace(program)
    (tmp_path / "notes.json").unlink()
    rollout = await agent.run(make_task(), None, workspace, Limits())
    assert (rollout.outcome, rollout.fault, rollout.usage.cost_usd) == (FAILED, Fault.REPLACED, 0.0)
    assert rollout.error == f"{program} was replaced or removed while its runs were under way"
    assert not (tmp_path / "notes.json").exists()
    assert [p.name for p in workspace.parent.iterdir()] == [workspace.name]
    assert make_agent("result()").identity == agent.identity, "found anew, it may run again"


async def test_the_skill_is_the_only_difference_between_the_arms(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("result()", model="opus")
    limits = Limits(turns=7, usd=0.25)
    await agent.run(make_task(), None, workspace, limits)
    without = notes_of(tmp_path)
    rollout = await agent.run(make_task(), SKILL, workspace, limits)
    with_skill = notes_of(tmp_path)
    assert with_skill["plugin"]["skills/heron-greet/SKILL.md"] == SKILL.text
    assert json.loads(with_skill["plugin"][".claude-plugin/plugin.json"])["name"] == "learned"
    assert with_skill["argv"][: len(without["argv"])] == without["argv"]
    assert with_skill["argv"][len(without["argv"]) :][0] == "--plugin-dir"
    assert {"--max-turns 7", "--max-budget-usd 0.250000", "--model opus"} <= {
        f"{a} {b}" for a, b in zip(without["argv"], without["argv"][1:], strict=False)
    }
    assert rollout.skill == SKILL.digest
    assert rollout.skill_loaded is False


async def test_how_hard_to_think_is_told_and_part_of_who_ran(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("result()", effort="high")
    await agent.run(make_task(), None, workspace, Limits())
    argv = notes_of(tmp_path)["argv"]
    assert argv[argv.index("--effort") + 1] == "high"
    assert agent.identity.endswith("default at high effort")
    assert "effort" not in make_agent("result()").identity


async def test_the_whole_folder_of_a_skill_is_offered(make_agent, make_task, workspace, tmp_path):
    files = (SkillFile("references/a.md", "# A\n"), SkillFile("scripts/b.sh", "echo b\n", executable=True))
    skill = Skill(SKILL.name, SKILL.text, files)
    rollout = await make_agent("result()").run(make_task(), skill, workspace, Limits())
    offered = notes_of(tmp_path)["plugin"]
    assert offered["skills/heron-greet/references/a.md"] == "# A\n"
    assert offered["skills/heron-greet/scripts/b.sh"] == "echo b\n"
    assert rollout.skill == skill.digest != SKILL.digest


async def test_nothing_of_the_users_comes_along_but_the_credential(
    make_agent, make_task, workspace, tmp_path, monkeypatch
):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "secret")
    agent = make_agent("result()")
    await agent.run(make_task(), None, workspace, Limits())
    noted = notes_of(tmp_path)
    env = noted["env"]
    assert "secret" not in env.values()
    assert env["ANTHROPIC_API_KEY"] == "sk-fake"
    assert env["CLAUDE_CODE_ENTRYPOINT"] == "skillopt-sleep-replay"
    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == env["DISABLE_AUTOUPDATER"] == "1"
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"):
        assert Path(env[name]).is_relative_to(workspace.parent)
        assert not Path(env[name]).exists()
    assert noted["config"] == {}


async def test_a_credential_file_is_private_and_gone_afterwards(make_agent, make_task, workspace, tmp_path):
    config = tmp_path / "user-config"
    config.mkdir()
    account = {"accessToken": "a", "refreshToken": "r"}
    (config / ".credentials.json").write_text(json.dumps({"claudeAiOauth": account}))
    (config / "settings.json").write_text("{}")
    agent = make_agent("result()", env={"CLAUDE_CONFIG_DIR": str(config)})
    await agent.run(make_task(), None, workspace, Limits())
    noted = notes_of(tmp_path)
    assert noted["config"] == {".credentials.json": ['{"claudeAiOauth":{"accessToken":"a"}}', "0o600"]}
    assert not {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"} & set(noted["env"])


def test_nobody_signed_in_is_told_before_anything_runs(make_agent):
    with pytest.raises(Unavailable, match="not signed in") as caught:
        make_agent("result()", env={"HOME": "/nonexistent"})
    assert "claude setup-token" in caught.value.hint


async def test_calls_and_the_loaded_skill_are_reported(make_agent, make_task, workspace):
    script = (
        "reply({'type': 'tool_use', 'id': 's', 'name': 'Skill', 'input': {'skill': 'learned:heron-greet'}})\n"
        "block = {'type': 'tool_result', 'tool_use_id': 's', 'content': 'ok'}\n"
        "emit(type='user', message={'content': [block]})\n"
        "reply({'type': 'tool_use', 'id': 'b', 'name': 'Bash', 'input': {'command': 'npm test'}})\n"
        "result(permission_denials=[{'tool_name': 'WebFetch'}])"
    )
    rollout = await make_agent(script).run(make_task(), SKILL, workspace, Limits())
    assert rollout.skill_loaded is True
    assert [(call.name, call.command) for call in rollout.calls] == [("Skill", None), ("Bash", "npm test")]
    assert rollout.notes == ("tools refused: WebFetch",)


@pytest.mark.parametrize(
    ("script", "outcome", "words"),
    [
        (
            "result(is_error=True, api_error_status=401, result='Invalid API key')",
            FAILED,
            "Invalid API key (status 401)",
        ),
        ("result(subtype='error_max_turns', is_error=True, errors=['turns'])", LIMIT, ""),
        ("result(subtype='error_max_budget_usd', is_error=True, errors=['budget'])", LIMIT, ""),
        ("result(stop_reason=None)", FAILED, "cut in the middle"),
        ("sys.exit('segmentation fault')", FAILED, "no result: segmentation fault"),
        ("print('garbage'); sys.exit(0)", FAILED, "ended with 0 and no result"),
        ("os.kill(os.getpid(), 11)", FAILED, "ended with -11"),
        ("result(); sys.exit(3)", FINISHED, ""),
        ("result(); os.kill(os.getpid(), 9)", FAILED, "ended with -9 and a result that may be another's"),
        ("result(); sys.exit(137)", FAILED, "ended with 137 and a result that may be another's"),
    ],
)
async def test_every_way_to_end_has_its_outcome(make_agent, make_task, workspace, script, outcome, words):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=20))
    assert rollout.outcome is outcome
    assert words in (rollout.error or "")
    assert rollout.score is None


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("reply({'type': 'text', 'text': 'half'}); time.sleep(60)", LIMIT),
        ("time.sleep(60)", FAILED),
        ("reply(); emit(type='system', subtype='api_retry', error='rate_limit'); time.sleep(60)", FAILED),
        ("result(); time.sleep(60)", FINISHED),
    ],
    ids=["working", "no reply ever", "waiting for the service", "done but hanging"],
)
async def test_the_time_limit_blames_the_run_only_when_it_was_working(
    make_agent, make_task, workspace, script, outcome
):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=1.0))
    assert rollout.outcome is outcome
    assert rollout.seconds < 6


ASKING = (
    """#!/usr/bin/python3 -IS
import json, os, socket, sys
if "--version" in sys.argv:
    print("2.1.332 (Claude Code)"); sys.exit()
service = ("127.0.0.1", int(os.environ["ANTHROPIC_BASE_URL"].rpartition(":")[2]))
def ask():
    with socket.create_connection(service) as connection:
        connection.sendall(b"x" * 8000 + b"\\n")
        connection.recv(100)
"""
    + SPEAK
)


@pytest.fixture
async def make_asking_agent(tmp_path, confined):
    """Make an agent whose client sends requests to a service, and tells what its script says of them."""

    async def answer(reader, writer):
        await reader.readline()
        writer.write(b"yes\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)

    def make(script: str) -> ClaudeCode:
        program = tmp_path / "program" / "claude"
        program.parent.mkdir()
        program.write_text(ASKING.format(script=script))
        program.chmod(0o755)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        cli = find_claude({"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": url}, program)
        assert cli is not None
        return ClaudeCode(cli, confined)

    async with server:
        yield make


@pytest.mark.parametrize(
    ("script", "tokens", "is_untold"),
    [
        ("ask(); reply(); result()", 105, False),
        ("ask(); reply(); ask(); ask(); result()", 105 + 2 * 105, False),
        ("ask(); reply(); ask(); os.kill(os.getpid(), 9)", 9 + 2 * 9, False),
        ("ask(); result()", 105, True),
        ("ask(); sys.exit(1)", 0, True),
        ("sys.exit(1)", 0, False),
    ],
    ids=[
        "all told",
        "two that were kept from us",
        "killed amid the first reply and another",
        "none told",
        "none told, crashed",
        "none asked",
    ],
)
async def test_a_request_that_went_out_is_never_free(
    make_asking_agent, make_task, workspace, script, tokens, is_untold
):
    rollout = await make_asking_agent(script).run(make_task(), None, workspace, Limits(seconds=20))
    assert (rollout.usage.tokens, rollout.untold) == (tokens, is_untold), rollout


@pytest.mark.parametrize(
    ("script", "tokens"),
    [("ask(); reply(); ask(); ", 9 + 2 * 9), ("ask(); reply(); ", 9 + 9), ("ask(); ", None), ("", 0)],
    ids=["one told in part and another", "one told in part", "none told", "none asked"],
)
async def test_a_run_that_is_cut_off_counts_with_what_it_told_and_what_was_under_way(
    make_asking_agent, make_task, workspace, script, tokens
):
    waiting = workspace / "waiting"
    agent = make_asking_agent(f"{script}open({str(waiting)!r}, 'x'); import time; time.sleep(60)")
    ledger = MemoryLedger()

    def run() -> Awaitable[Rollout]:
        return agent.run(make_task(), None, workspace, Limits(seconds=30))

    await cut_off(ledger.once("rollout", "1", agent.estimate, run, Rollout), waiting)
    [entry] = ledger.entries
    assert entry.state == "failed"
    assert entry.usage.tokens == (agent.estimate.tokens if tokens is None else tokens)
    assert (entry.usage.cost_usd == 0.0) is (tokens == 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
async def test_a_server_on_this_machine_that_never_was_there_is_not_waited_for(
    make_agent, make_task, workspace, tmp_path, monkeypatch, host
):
    # The port may have been that of another test's server.
    monkeypatch.setattr("skillopt_replay.agents.presence._found", set())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = f"{host}:{listener.getsockname()[1]}"
    env = {"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": f"http://{place}"}
    rollout = await make_agent("result()", env=env).run(make_task(), None, workspace, Limits())
    assert (rollout.outcome, rollout.fault, rollout.usage.cost_usd) == (FAILED, Fault.ABSENT, 0.0)
    assert rollout.error == f"nothing listens at {place}"
    assert not (tmp_path / "notes.json").exists(), "the client is not started"
    assert [p.name for p in workspace.parent.iterdir()] == [workspace.name]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_on_this_machine_that_was_there_may_be_about_to_come_back(
    make_agent, make_task, workspace, host
):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://{host}:{listener.getsockname()[1]}"
        agent = make_agent("result()", env={"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": url})
        assert (await agent.run(make_task(), None, workspace, Limits())).outcome is FINISHED
    assert (await agent.run(make_task(), None, workspace, Limits())).outcome is FINISHED


async def test_a_client_that_spawns_children_and_hangs_leaves_none_behind(
    make_agent, make_task, workspace, tmp_path
):
    script = (
        "import signal, subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pids = [subprocess.Popen(['sleep', '60'], start_new_session=i % 2 == 0).pid for i in range(4)]\n"
        f"Path({str(tmp_path / 'pids')!r}).write_text(' '.join(map(str, pids)))\n"
        "reply({'type': 'text', 'text': 'busy'})\n"
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


async def test_a_client_that_floods_its_output_is_stopped(make_agent, make_task, workspace, monkeypatch):
    from skillopt_replay.agents import harness

    monkeypatch.setattr(harness, "_FLOOD_BYTES", 20_000_000)
    script = "block = b'x' * 65536\nwhile True: sys.stdout.buffer.write(block)"
    rollout = await make_agent(script).run(
        make_task(), None, workspace, Limits(seconds=30, output_bytes=10_000)
    )
    assert rollout.outcome is Outcome.INFRASTRUCTURE
    assert "without end" in (rollout.error or "")


async def test_a_flood_while_a_tool_is_at_work_is_the_runs_own_doing(
    make_agent, make_task, workspace, monkeypatch
):
    from skillopt_replay.agents import harness

    monkeypatch.setattr(harness, "_FLOOD_BYTES", 20_000_000)
    call = "dict(type='tool_use', id='1', name='Bash', input=dict(command='yes > /proc/$PPID/fd/1'))"
    script = (
        f"emit(type='assistant', message=dict(id='m', model='m', content=[{call}]))\n"
        "block = b'x' * 65536\nwhile True: sys.stdout.buffer.write(block)"
    )
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=30))
    assert (rollout.outcome, rollout.error) == (Outcome.LIMIT, "stopped: output without end")


async def test_a_long_line_costs_only_itself(make_agent, make_task, workspace):
    script = "emit(type='user', message={'content': 'x' * 100_000}); result()"
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(output_bytes=10_000))
    assert rollout.outcome is Outcome.FINISHED
    assert "1 lines of the client's output could not be read" in rollout.notes


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
    (tmp_path / "program" / "claude").unlink()
    rollout = await agent.run(make_task(), None, workspace, Limits())
    assert rollout.outcome is Outcome.INFRASTRUCTURE
    assert "replaced or removed" in (rollout.error or "")


async def test_confined_it_works_in_the_workspace_and_cannot_change_the_skill(
    confined, make_task, workspace, tmp_path
):
    program = tmp_path / "program" / "claude"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo 2.1.332; exit; fi\n'
        "cat > prompt.txt\n"
        "for last; do :; done\n"
        'skill="$last/skills/heron-greet/SKILL.md"\n'
        'echo changed > "$skill"; cp "$skill" seen.md\n'
        f"ls {tmp_path} > outside.txt 2>&1; ls {workspace.parent} > beside.txt\n"
        "echo x > $HOME/x && echo x > $TMPDIR/x || exit 9\n"
        """echo '{"type":"result","subtype":"success","result":"ok","stop_reason":"end_turn"}'\n"""
    )
    program.chmod(0o755)
    cli = find_claude({"ANTHROPIC_API_KEY": "sk-fake"}, program)
    assert cli is not None
    rollout = await ClaudeCode(cli, confined).run(make_task(), SKILL, workspace, Limits(seconds=20))
    assert (rollout.outcome, rollout.answer) == (Outcome.FINISHED, "ok"), rollout.error
    assert (workspace / "prompt.txt").read_text() == "Please greet Bob."
    assert (workspace / "seen.md").read_text() == SKILL.text
    assert sorted((workspace / "outside.txt").read_text().split()) == ["program", "runs"]
    assert [path.name for path in workspace.parent.iterdir()] == [workspace.name]
