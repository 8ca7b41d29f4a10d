"""The agent drives a `codex` program, good or misbehaving, and tells what became of the run."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import psutil
import pytest
import tomlkit

from skillopt_replay.agents.clients import Client
from skillopt_replay.agents.codex import ORIGINATOR, Codex
from skillopt_replay.agents.codex_cli import find_codex
from skillopt_replay.agents.codex_sandbox import CodexSandbox
from skillopt_replay.errors import Unavailable
from skillopt_replay.folders import RUN_PREFIX, make_folder
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Fault, Outcome, Usage
from skillopt_replay.sandbox import folders
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.skills import new_skill

SKILL = new_skill("heron-greet", "Use when greeting somebody.", "Say HERON.")

FINISHED, LIMIT, FAILED = Outcome.FINISHED, Outcome.LIMIT, Outcome.INFRASTRUCTURE

# Notes what it was given, then does what its instructions say.
FAKE = """#!{python} -IS
import json, os, sys, time
from pathlib import Path
if "--version" in sys.argv:
    print("codex-cli 0.171.0"); sys.exit()
notes = Path({notes!r})
home = Path(os.environ["CODEX_HOME"])
files = {{str(p.relative_to(home)): [p.read_text(), oct(p.stat().st_mode & 0o777)]
         for p in home.rglob("*") if p.is_file()}}
notes.write_text(json.dumps({{
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "prompt": sys.stdin.read(),
    "files": files, "profile": Path(os.environ["HOME"], ".profile").read_text(),
}}))
def emit(**event):
    print(json.dumps(event), flush=True)
def say(text):
    emit(type="item.completed", item={{"id": "m", "type": "agent_message", "text": text}})
def run(command, code=0, output=""):
    emit(type="item.completed", item={{"id": command, "type": "command_execution", "command": command,
         "aggregated_output": output, "exit_code": code, "status": "failed" if code else "completed"}})
def log(name, **fields):
    told = " ".join(f"{{key}}={{value}}" for key, value in fields.items())
    print(f'T  INFO codex_otel.trace_safe: event.name="codex.{{name}}" {{told}}', file=sys.stderr, flush=True)
def reply():
    log("api_request")
    log("sse_event", input_token_count=1000, output_token_count=40, model="gpt-5.5")
def done():
    say("Hello Bob")
    emit(type="turn.completed", usage={{"input_tokens": 1000, "output_tokens": 40}})
def fail(words):
    emit(type="turn.failed", error={{"message": words}})
emit(type="thread.started", thread_id="t")
emit(type="turn.started")
{script}
"""


@pytest.fixture
def workspace(tmp_path):
    return make_folder(tmp_path / "runs", RUN_PREFIX)


@pytest.fixture
def make_agent(tmp_path):
    def make(script: str, sandbox=None, env: dict[str, str] | None = None, **options) -> Codex:
        program = tmp_path / "program" / "codex"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            FAKE.format(python=sys.executable, notes=str(tmp_path / "notes.json"), script=script)
        )
        program.chmod(0o755)
        cli = find_codex(env or {"CODEX_API_KEY": "sk-fake"}, program)
        assert cli is not None
        return Codex(cli, sandbox or NoSandbox(), **options)

    return make


def notes_of(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "notes.json").read_text())


def test_its_own_sandbox_shows_nothing_that_is_kept_from_runs(tmp_path, monkeypatch):
    work = tmp_path / "work"
    (work / "inside").mkdir(parents=True)
    monkeypatch.setattr(folders, "_kept", {Path("/usr/lib"), Path("/usr/share"), work / "inside"})
    sandbox = CodexSandbox(Client(binary=tmp_path / "codex", version="0.171.0", credentials=None))
    given = sandbox.permissions(writable=[work], readable=[Path("/usr/share")])
    rules = given["permissions"]["replay"]["filesystem"]
    assert rules["/usr/lib"] == rules[str(work / "inside")] == "none"
    assert (rules["/usr/share"], rules[str(work)]) == ("read", "write")


async def test_a_run_without_a_skill(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("reply(); done()")
    rollout = await agent.run(make_task(prompt="--help me,\nplease"), None, workspace, Limits())
    assert (rollout.outcome, rollout.answer, rollout.error) == (Outcome.FINISHED, "Hello Bob", None)
    assert (rollout.agent, rollout.model) == ("codex 0.171.0 default", "gpt-5.5")
    assert (rollout.usage.tokens, rollout.usage.cost_usd) == (1040, None)
    assert rollout.skill_loaded is rollout.score is None
    noted = notes_of(tmp_path)
    assert noted["prompt"] == "--help me,\nplease"
    assert noted["argv"][0] == "exec"
    assert noted["argv"][-1] == "-"
    assert {"--json", "--ephemeral", "--skip-git-repo-check"} <= set(noted["argv"])
    assert noted["cwd"] == str(workspace)
    assert [p.name for p in workspace.parent.iterdir()] == [workspace.name]


async def test_the_skill_is_the_only_difference_between_the_arms(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("done()", model="gpt-5.5")
    await agent.run(make_task(), None, workspace, Limits())
    without = notes_of(tmp_path)
    rollout = await agent.run(make_task(), SKILL, workspace, Limits())
    with_skill = notes_of(tmp_path)
    assert with_skill["argv"] == without["argv"]
    assert with_skill["files"].pop("skills/heron-greet/SKILL.md")[0] == SKILL.text
    assert with_skill["files"] == without["files"]
    assert without["argv"][-3:-1] == ["--model", "gpt-5.5"]
    assert (rollout.skill, rollout.skill_loaded) == (SKILL.digest, False)


async def test_how_hard_to_think_is_told_and_part_of_who_ran(make_agent, make_task, workspace, tmp_path):
    agent = make_agent("done()", effort="high")
    await agent.run(make_task(), None, workspace, Limits())
    assert 'model_reasoning_effort = "high"' in notes_of(tmp_path)["files"]["config.toml"][0]
    assert agent.identity.endswith("default at high effort")


async def test_nothing_of_the_users_comes_along_but_the_sign_in(
    make_agent, make_task, workspace, tmp_path, monkeypatch
):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    agent = make_agent("done()")
    await agent.run(make_task(), None, workspace, Limits())
    noted = notes_of(tmp_path)
    env = noted["env"]
    assert "secret" not in env.values()
    assert env["CODEX_API_KEY"] == "sk-fake"
    assert env["CODEX_INTERNAL_ORIGINATOR_OVERRIDE"] == ORIGINATOR
    for name in ("HOME", "CODEX_HOME", "TMPDIR"):
        assert Path(env[name]).is_relative_to(workspace.parent)
        assert not Path(env[name]).exists()
    ((name, (config, mode)),) = noted["files"].items()
    assert (name, mode) == ("config.toml", "0o600")
    for line in (
        'approval_policy = "never"',
        "check_for_update_on_startup = false",
        "[analytics]\nenabled = false",
        "plugins = false",
        "apps = false",
        "multi_agent = false",
        "[features.multi_agent_v2]\nmax_concurrent_threads_per_session = 1",
        "[skills.bundled]\nenabled = false",
    ):
        assert line in config
    assert "project_doc_max_bytes" not in config
    assert noted["profile"].startswith("export PATH=")


async def test_the_sign_in_file_is_private_and_the_route_is_kept(
    make_agent, make_task, workspace, tmp_path, local_server
):
    route = f'base_url = "http://127.0.0.1:{local_server}/v1"'
    home = tmp_path / "user-codex"
    home.mkdir()
    tokens = {"access_token": "a", "refresh_token": "r", "id_token": "i"}
    (home / "auth.json").write_text(json.dumps({"tokens": tokens}))
    (home / "config.toml").write_text(f'openai_{route}\nsandbox_mode = "x"\n')
    agent = make_agent("done()", env={"CODEX_HOME": str(home)})
    await agent.run(make_task(), None, workspace, Limits())
    noted = notes_of(tmp_path)
    content, mode = noted["files"]["auth.json"]
    assert (json.loads(content)["tokens"]["refresh_token"], mode) == ("", "0o600")
    config = noted["files"]["config.toml"][0]
    assert route in config
    assert "sandbox_mode" not in config
    assert "CODEX_API_KEY" not in noted["env"]


@pytest.mark.parametrize("has_url", [False, True])
async def test_openais_service_has_a_name_under_which_no_web_sockets_are_tried(
    make_agent, make_task, workspace, tmp_path, local_server, has_url
):
    url = f"http://127.0.0.1:{local_server}/v1" if has_url else None
    home = tmp_path / "user-codex"
    home.mkdir()
    (home / "config.toml").write_text(f'openai_base_url = "{url}"\n' if url else "")
    (home / "auth.json").write_text(json.dumps({"tokens": {"access_token": "a", "id_token": "i"}}))
    for key in ({}, {"CODEX_API_KEY": "sk-fake"}):
        agent = make_agent("done()", env={"CODEX_HOME": str(home), **key})
        await agent.run(make_task(), None, workspace, Limits())
        config = tomlkit.loads(notes_of(tmp_path)["files"]["config.toml"][0]).unwrap()
        service = config["model_providers"][config["model_provider"]]
        assert "openai_base_url" not in config
        assert service.get("base_url") == url
        if url and key:
            assert service["env_key"] == "CODEX_API_KEY"
        else:
            assert (service["name"], service["requires_openai_auth"]) == ("OpenAI", True)


async def test_its_own_sandbox_is_on_only_when_it_is_the_one_given(
    make_agent, make_task, workspace, tmp_path
):
    class Confining:
        name, offline, memory = "confining", True, Path("/in-memory")

        def wrap(self, argv, **_):
            return list(argv)

    for sandbox in (Confining(), NoSandbox()):
        agent = make_agent("done()", sandbox=sandbox)
        await agent.run(make_task(), None, workspace, Limits())
        notes = notes_of(tmp_path)
        assert notes["argv"][4:6] == ["--sandbox", "danger-full-access"]
        places = tomlkit.loads(notes["files"]["config.toml"][0]).get("sqlite_home")
        assert places == (f"/in-memory/{ORIGINATOR}" if sandbox.memory else None)
    cli = Client(binary=tmp_path / "codex", version="0.171.0", credentials=None)
    await make_agent("done()", sandbox=CodexSandbox(cli)).run(make_task(), None, workspace, Limits())
    notes = notes_of(tmp_path)
    assert "--sandbox" not in notes["argv"]
    config = tomlkit.loads(notes["files"]["config.toml"][0])
    assert config["default_permissions"] == "replay"
    rules = config["permissions"]["replay"]["filesystem"]
    assert rules[":minimal"] == "read"
    assert rules[str(workspace)] == rules[notes["env"]["HOME"]] == rules[notes["env"]["TMPDIR"]] == "write"
    # What signs it in is neither shown nor in a folder that is.
    assert not any(Path(notes["env"]["CODEX_HOME"]).is_relative_to(path) for path in rules if path[0] == "/")


def test_nobody_signed_in_is_told_before_anything_runs(make_agent):
    with pytest.raises(Unavailable, match="not signed in") as caught:
        make_agent("done()", env={"HOME": "/nonexistent"})
    assert "codex login" in caught.value.hint


def test_the_identity_names_the_provider_and_the_model(make_agent, tmp_path):
    home = tmp_path / "user-codex"
    home.mkdir()
    (home / "config.toml").write_text(
        'model_provider = "house"\nmodel = "m1"\n[model_providers.house]\nbase_url = "http://127.0.0.1:9"\n'
    )
    env = {"CODEX_HOME": str(home)}
    assert make_agent("", env=env).identity == "codex 0.171.0 house/m1 via 127.0.0.1:9"
    assert make_agent("", env=env, model="m2").identity == "codex 0.171.0 house/m2 via 127.0.0.1:9"
    assert make_agent("").identity == "codex 0.171.0 default"


def test_what_a_run_may_cost_is_known_only_with_the_price_of_its_model(make_agent, tmp_path):
    estimate = Usage(input_tokens=1000, cost_usd=0.5)

    def price(model: str, _usage: Usage) -> float | None:
        return 0.1 if model == "gpt-5.5" else None

    assert make_agent("", estimate=estimate).estimate.cost_usd is None
    assert make_agent("", estimate=estimate, price=price).estimate.cost_usd is None
    assert make_agent("", estimate=estimate, price=price, model="gpt-5.5").estimate == estimate
    (tmp_path / "auth.json").write_text(json.dumps({"tokens": {"access_token": "a"}}))
    account = {"CODEX_HOME": str(tmp_path)}
    paid = make_agent("", env=account, estimate=estimate, price=price, model="gpt-5.5")
    assert paid.estimate.cost_usd is None, "an account does not pay by the token"


async def test_calls_refusals_and_the_loaded_skill_are_reported(make_agent, make_task, workspace):
    script = (
        f"run('cat /h/skills/heron-greet/SKILL.md', 0, {SKILL.text!r})\n"
        "run('npm test', 3, 'boom')\n"
        "log('sandbox_outcome', tool_name='exec_command', call_id='k', outcome='denied')\n"
        "done()"
    )
    rollout = await make_agent(script).run(make_task(), SKILL, workspace, Limits())
    assert rollout.skill_loaded is True
    commands = [(call.command, call.exit_code) for call in rollout.calls if call.command]
    assert commands == [("cat /h/skills/heron-greet/SKILL.md", 0), ("npm test", 3)]
    assert rollout.notes == ("tools refused: exec_command",)


@pytest.mark.parametrize(
    ("script", "outcome", "fault", "words"),
    [
        ("fail('unexpected status 401 Unauthorized: no')", FAILED, Fault.SIGN_IN, "401"),
        ("fail('exceeded retry limit, last status: 429 Too Many Requests')", FAILED, Fault.RATE, "429"),
        ("fail('ran out of room in the context window')", LIMIT, None, "context window"),
        ("emit(type='turn.completed', usage={})", FAILED, Fault.REPLY, "said nothing and did nothing"),
        ("sys.exit('segmentation fault')", FAILED, Fault.CLIENT, "no result: segmentation fault"),
        ("sys.exit(0)", FAILED, Fault.CLIENT, "ended with 0 and no result"),
        ("os.kill(os.getpid(), 11)", FAILED, Fault.CLIENT, "ended with -11"),
        ("done(); sys.exit(3)", FINISHED, None, ""),
        ("run('make'); emit(type='turn.completed', usage={})", FINISHED, None, ""),
    ],
)
async def test_every_way_to_end_has_its_outcome(
    make_agent, make_task, workspace, script, outcome, fault, words
):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=20))
    assert (rollout.outcome, rollout.fault) == (outcome, fault), rollout.error
    assert words in (rollout.error or "")
    assert rollout.score is None


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("say('half'); time.sleep(60)", LIMIT),
        ("time.sleep(60)", FAILED),
        (
            "say('half'); emit(type='error', message='Reconnecting... 1/5 (high demand)'); time.sleep(60)",
            FAILED,
        ),
        ("done(); time.sleep(60)", FINISHED),
    ],
    ids=["working", "no reply ever", "waiting for the service", "done but hanging"],
)
async def test_the_time_limit_blames_the_run_only_when_it_was_working(
    make_agent, make_task, workspace, script, outcome
):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=1.0))
    assert rollout.outcome is outcome


@pytest.mark.parametrize(
    ("limits", "words"),
    [({"turns": 3}, "3 turns"), ({"tokens": 2500}, "3120 tokens"), ({"usd": 0.3}, "$0.3120")],
)
async def test_a_run_without_end_is_stopped_by_each_limit(make_agent, make_task, workspace, limits, words):
    script = (
        "while True:\n"
        "    reply(); log('tool_call_received', call_id='k', tool_name='exec_command'); time.sleep(0.2)"
    )
    agent = make_agent(script, price=lambda _, usage: usage.tokens / 10_000)
    rollout = await agent.run(make_task(), None, workspace, Limits(seconds=60, **limits))
    assert rollout.outcome is Outcome.LIMIT
    assert words in (rollout.error or "")


async def test_a_key_that_is_refused_is_not_tried_for_ever(make_agent, make_task, workspace):
    refused = "Reconnecting... 1/5 (unexpected status 401 Unauthorized: no)"
    script = f"emit(type='error', message={refused!r}); time.sleep(60)"
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=60))
    assert (rollout.outcome, rollout.fault) == (FAILED, Fault.SIGN_IN)


async def test_a_client_that_spawns_children_and_hangs_leaves_none_behind(
    make_agent, make_task, workspace, tmp_path
):
    script = (
        "import signal, subprocess\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "pids = [subprocess.Popen(['sleep', '60'], start_new_session=i % 2 == 0).pid for i in range(4)]\n"
        f"Path({str(tmp_path / 'pids')!r}).write_text(' '.join(map(str, pids)))\n"
        "say('busy')\n"
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
    agent = make_agent("done()")
    (tmp_path / "program" / "codex").unlink()
    rollout = await agent.run(make_task(), None, workspace, Limits())
    assert rollout.outcome is Outcome.INFRASTRUCTURE
    assert "replaced or removed" in (rollout.error or "")
