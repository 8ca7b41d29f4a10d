"""Any program runs tasks: it gets what is promised, and its output and exit status mean what is promised."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.command import CommandAgent, find_program
from skillopt_replay.agents.command_stream import CommandReader
from skillopt_replay.agents.traces import MAX_CALLS, MAX_NAME
from skillopt_replay.errors import CeilingReached, Unavailable
from skillopt_replay.folders import RUN_PREFIX, make_folder
from skillopt_replay.ledger import MemoryLedger
from skillopt_replay.protocols import Limits
from skillopt_replay.replay import replay
from skillopt_replay.rollouts import Called, Fault, Outcome, Rollout, Said, Usage
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.skills import new_skill
from skillopt_replay.tasks import CommandMatched, Contains

SKILL = new_skill("heron-greet", "Use when greeting somebody.", "Say HERON.")
DOCS = Path(__file__).parents[2] / "docs" / "agents.md"

FINISHED, LIMIT, FAILED = Outcome.FINISHED, Outcome.LIMIT, Outcome.INFRASTRUCTURE


@pytest.fixture
def workspace(tmp_path):
    return make_folder(tmp_path / "runs", RUN_PREFIX)


@pytest.fixture
def make_agent(tmp_path):
    def make(script: str, *arguments: str, sandbox=None, **options) -> CommandAgent:
        path = tmp_path / "program" / "my-agent"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return CommandAgent(find_program([str(path), *arguments], {}), sandbox or NoSandbox(), **options)

    return make


async def test_it_gets_the_prompt_the_skill_and_nothing_of_the_users_but_what_is_passed(
    make_agent, make_task, workspace, tmp_path, monkeypatch
):
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    script = 'echo "$@"; pwd; cat; env | sort; cat "$SKILLOPT_SKILL_DIR/SKILL.md"'
    agent = make_agent(script, "--careful", "x y", model="my-model", passed={"MY_KEY": "k", "HOME": "/mine"})
    rollout = await agent.run(make_task(prompt="Greet\nBöb.\n"), SKILL, workspace, Limits())
    assert (rollout.outcome, rollout.error, rollout.fault) == (FINISHED, None, None)
    lines = rollout.answer.splitlines()
    assert lines[:4] == ["--careful x y", str(workspace), "Greet", "Böb."]
    assert SKILL.text.strip() in rollout.answer
    env = dict(line.split("=", 1) for line in lines if re.match(r"[A-Z_]+=", line))
    assert env["SKILLOPT_TASK_ID"] == "task-1"
    assert env["SKILLOPT_MODEL"] == "my-model"
    assert env["MY_KEY"] == "k"
    assert "secret" not in rollout.answer
    for name in ("HOME", "TMPDIR", "SKILLOPT_SKILL_DIR"):
        assert Path(env[name]).is_relative_to(workspace.parent)
        assert not Path(env[name]).exists()
    assert (rollout.skill, rollout.skill_loaded) == (SKILL.digest, None)
    assert [path.name for path in workspace.parent.iterdir()] == [workspace.name]


async def test_keys_among_its_arguments_are_kept_nowhere(make_agent, make_task, tmp_path):
    arguments = [
        "--api-key", "plain-words-one", "--token=plain-words-two", "OTHER_PASSWORD=plain-words-three",
        "-H", "Authorization: Bearer plain-words-four", "--header=X-Api-Key: plain-words-five",
        "https://me:plain-words-six@example.com/v1", "--auth-token", "--careful", "--max-tokens", "200000000",
        "--key-file", "/etc/my-agent/key", "--model", "plain-words-model",
    ]  # fmt: skip
    agent = make_agent(
        'echo "$@"; cat; for word; do echo "no such option: $word" >&2; done; exit 3', *arguments
    )
    rollout = await replay(
        make_task(), None, agent, root=tmp_path / "runs", sandbox=NoSandbox(), limits=Limits()
    )
    kept = repr(rollout)
    for number in ("one", "two", "three", "four", "five", "six"):
        assert f"plain-words-{number}" not in kept
    for word in ("--careful", "200000000", "/etc/my-agent/key", "plain-words-model"):
        assert word in kept


async def test_without_a_skill_there_is_no_folder_of_one(make_agent, make_task, workspace):
    rollout = await make_agent('echo "[$SKILLOPT_SKILL_DIR]"').run(make_task(), None, workspace, Limits())
    assert rollout.answer == "[]"


@pytest.mark.parametrize(
    ("script", "outcome", "fault", "words"),
    [
        ("echo done", FINISHED, None, ""),
        ("true", FINISHED, None, ""),
        ("echo half; echo 'no such rule' >&2; exit 3", LIMIT, None, "my-agent ended with 3: no such rule"),
        ("exit 1", LIMIT, None, "nothing on the error channel"),
        ("echo 'try at noon' >&2; exit 75", FAILED, Fault.CLIENT, "asked to be tried later: try at noon"),
        ("echo 'HTTP 429 Too Many Requests' >&2; exit 75", FAILED, Fault.RATE, "429"),
        ("no-such-program", FAILED, Fault.CLIENT, "ended with 127"),
        ("kill -9 $$", FAILED, Fault.CLIENT, "no result"),
        ("exit 139", FAILED, Fault.CLIENT, "ended with 139"),
        ("sleep 60", LIMIT, None, "stopped after 1.5 s"),
    ],
)
async def test_every_way_to_end_has_its_outcome(
    make_agent, make_task, workspace, script, outcome, fault, words
):
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=1.5))
    assert (rollout.outcome, rollout.fault) == (outcome, fault), rollout.error
    assert words in (rollout.error or "")


async def test_a_program_that_gave_up_has_failed_its_task_and_says_why(make_agent, make_task, tmp_path):
    agent = make_agent("echo HERON; echo 'no such rule' >&2; exit 3")
    rollout = await replay(
        make_task(), None, agent, root=tmp_path / "runs", sandbox=NoSandbox(), limits=Limits()
    )
    assert rollout.score is not None
    assert rollout.score.hard == 0.0
    assert rollout.score.results[0].detail == "not reached: my-agent ended with 3: no such rule"


async def test_the_example_in_the_documentation_is_an_agent(make_task, repository, tmp_path):
    example = re.findall(r"^```python\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)[-1]
    assert len([line for line in example.splitlines() if line]) <= 16
    path = tmp_path / "example.py"
    path.write_text(example)
    agent = CommandAgent(find_program([sys.executable, str(path)], {}), NoSandbox())
    assert re.fullmatch(r"command example\.py [0-9a-f]{12} default", agent.identity)
    task = make_task(
        project=str(repository), checks=(Contains(text="HERON"), CommandMatched(command="git log"))
    )
    arms = [
        await replay(task, skill, agent, root=tmp_path / "runs", sandbox=NoSandbox(), limits=Limits())
        for skill in (None, SKILL)
    ]
    assert [arm.outcome for arm in arms] == [FINISHED, FINISHED], [arm.error for arm in arms]
    assert [arm.score.soft for arm in arms if arm.score] == [0.5, 1.0]
    assert [arm.skill_loaded for arm in arms] == [None, True]
    assert arms[1].calls[0].exit_code == 0
    assert arms[1].calls[0].output.strip() in arms[1].answer
    assert arms[1].model == "none"
    assert arms[1].usage.tokens > 0


async def test_confined_it_cannot_change_the_skill_or_see_what_lies_beside_it(
    confined, make_agent, make_task, workspace, tmp_path
):
    agent = make_agent(
        'echo changed > "$SKILLOPT_SKILL_DIR/SKILL.md"; cat "$SKILLOPT_SKILL_DIR/SKILL.md" > seen.md\n'
        f"cat {tmp_path}/program/secret; echo x > {tmp_path}/program/mine; echo it ran",
        sandbox=confined,
    )
    (tmp_path / "secret").write_text("hush")
    rollout = await agent.run(make_task(), SKILL, workspace, Limits(seconds=20))
    assert rollout.outcome is FINISHED, rollout.error
    assert rollout.answer.splitlines()[-1] == "it ran"
    assert "hush" not in rollout.answer
    assert (workspace / "seen.md").read_text() == SKILL.text
    assert not (tmp_path / "program" / "mine").exists()


def test_programs_that_cannot_be_had_are_explained(tmp_path):
    (tmp_path / "file").write_text("")
    for command, words in (
        ([], "no command is named"),
        ([""], "no command is named"),
        (["bin/agent"], "path from nowhere"),
        (["./agent"], "path from nowhere"),
        (["no-such-agent"], "is not there"),
        ([str(tmp_path / "file")], "may not be run"),
        ([str(tmp_path)], "may not be run"),
    ):
        with pytest.raises(Unavailable, match=words) as caught:
            find_program(command, {"PATH": str(tmp_path)})
        assert caught.value.hint


async def test_a_script_that_is_changed_between_two_runs_is_run_no_more(make_task, workspace, tmp_path):
    script = tmp_path / "agent.sh"
    script.write_text("echo one\n")
    agent = CommandAgent(find_program(["/bin/sh", str(script)], {}), NoSandbox())
    assert (await agent.run(make_task(), None, workspace, Limits())).answer.strip() == "one"
    script.write_text("echo more\n")
    rollout = await agent.run(make_task(), None, workspace, Limits())
    assert (rollout.outcome, rollout.fault, rollout.answer) == (FAILED, Fault.REPLACED, "")
    script.unlink()
    assert (await agent.run(make_task(), None, workspace, Limits())).fault is Fault.REPLACED


def test_another_program_script_or_option_is_another_agent(tmp_path):
    agent, script = tmp_path / "agent", tmp_path / "script"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    script.write_text("1")
    env = {"PATH": str(tmp_path)}

    def digest(*arguments: str) -> str:
        return find_program(["agent", *arguments], env).digest

    seen = {digest(), digest("--fast"), digest(str(script))}
    script.write_text("2")
    seen.add(digest(str(script)))
    agent.write_text("#!/bin/sh\ntrue\n")
    seen.add(digest())
    assert len(seen) == 5
    assert digest() == digest()


OPENING = b'{"skillopt": 1, "model": "m0"}\n'


def read(*events: object, first: bytes = OPENING, limits: Limits | None = None):
    reader = CommandReader()
    reader.feed(first + b"".join(json.dumps(e).encode() + b"\n" for e in events))
    if limits:
        reader.over(limits)
    return reader.finish()


def test_events_are_told_in_their_order():
    reading = read(
        {"type": "say", "text": "I look."},
        {"type": "call", "id": "1", "name": "shell", "command": "npm test"},
        {"type": "call_end", "id": "1", "exit_code": 1, "error": "1 failed", "output": "x"},
        {"type": "call", "id": "2", "name": "edit", "arguments": {"path": "a"}},
        {"type": "usage", "input_tokens": 10, "output_tokens": 2, "cost_usd": 0.5, "model": "m1"},
        {"type": "usage", "cache_read_tokens": 7, "cost_usd": 0.25},
        {"type": "denied", "name": "web"},
        {"type": "skill_loaded"},
        {"type": "answer", "text": "Done."},
        {"type": "say", "text": "Bye."},
    )
    assert (reading.outcome, reading.answer, reading.model) == (None, "Done.", "m1")
    assert reading.steps == (Said("I look."), Called(0), Called(1), Said("Done."), Said("Bye."))
    tested, edited = reading.calls
    assert (tested.command, tested.exit_code, tested.error, tested.output) == ("npm test", 1, "1 failed", "x")
    assert json.loads(edited.arguments) == {"path": "a"}
    assert reading.usage == Usage(10, 2, 7, 0, 0.75)
    assert (reading.denied, reading.skill_loaded, reading.skipped) == (("web",), True, 0)


@pytest.mark.parametrize("unknown", ["cache_read_tokens", "cache_write_tokens", "output_tokens", "model"])
def test_what_an_agent_does_not_know_of_a_call_to_its_model_does_not_hide_the_rest(unknown):
    spent = {"type": "usage", "input_tokens": 600, "cost_usd": 0.4, unknown: None}
    call = {"type": "call", "id": "1", "name": "shell"}
    reading = read(spent, call, limits=Limits(usd=0.3))
    assert (reading.usage, reading.skipped, reading.lost) == (Usage(600, cost_usd=0.4), 0, 0)
    assert reading.outcome is LIMIT


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": -1, "output_tokens": -1, "cost_usd": -1},
        {"input_tokens": 600.5, "cost_usd": 0.4},
        {"input_tokens": 600, "cost_usd": "0.40 $"},
        {"usage": {"input_tokens": 600}},
    ],
)
async def test_a_call_to_the_model_that_is_told_without_its_tokens_is_not_free(
    make_agent, make_task, workspace, told
):
    event = json.dumps({"type": "usage", **told})
    call = {"type": "call", "id": "1", "name": "shell"}
    assert read(json.loads(event), call, limits=Limits(turns=1)).outcome is LIMIT
    known = {"type": "usage", "input_tokens": 500, "cost_usd": 0.25}
    alone = f"""printf '%s\\n' '{{"skillopt": 1}}' '{event}'"""
    rollout = await make_agent(alone).run(make_task(), None, workspace, Limits())
    assert rollout.untold
    beside = f"{alone} '{json.dumps(known)}'"
    rollout = await make_agent(beside).run(make_task(), None, workspace, Limits())
    assert (rollout.untold, rollout.usage) == (False, Usage(1000, cost_usd=0.5))
    dollars = f"""{alone} '{json.dumps({"type": "usage", "cost_usd": 0.25})}'"""
    rollout = await make_agent(dollars).run(make_task(), None, workspace, Limits())
    assert (rollout.untold, rollout.usage) == (False, Usage(cost_usd=0.5)), "what was told is not forgotten"


def test_what_was_said_last_is_the_answer_when_there_is_no_other():
    assert read({"type": "say", "text": "One."}, {"type": "say", "text": " "}).answer == "One."
    assert read({"type": "say", "text": "One."}, {"type": "answer", "text": ""}).answer == ""


async def test_a_program_that_writes_without_end_has_failed_its_task(
    make_agent, make_task, workspace, monkeypatch
):
    from skillopt_replay.agents import harness

    monkeypatch.setattr(harness, "_FLOOD_BYTES", 5_000_000)
    rollout = await make_agent("yes").run(make_task(), None, workspace, Limits(seconds=30))
    assert (rollout.outcome, rollout.error) == (Outcome.LIMIT, "stopped: output without end")


def test_what_an_agent_tells_without_end_is_not_kept_without_end():
    denied = [{"type": "denied", "name": f"{number}{'x' * 10_000}"} for number in range(3 * MAX_CALLS)]
    reading = read(*denied, {"type": "usage", "model": "m" * 10_000})
    assert len(reading.denied) == MAX_CALLS
    assert max(map(len, (*reading.denied, reading.model))) <= MAX_NAME


async def test_tools_that_were_refused_are_named_as_far_as_a_person_reads(make_agent, make_task, workspace):
    told = "".join(f'{{"type": "denied", "name": "tool-{number:03}"}}\\n' for number in range(200))
    agent = make_agent(f"""printf '{{"skillopt": 1}}\\n{told}{{"type": "answer", "text": "x"}}\\n'""")
    rollout = await agent.run(make_task(), None, workspace, Limits())
    (note,) = rollout.notes
    assert note.startswith("tools refused: tool-000, tool-001, ")
    assert note.endswith("tool-019, 180 more")


async def test_an_agent_whose_model_refused_has_failed_its_task(make_agent, make_task, workspace):
    told = '{"skillopt": 1}\\n{"type": "error", "text": "it declined", "fault": "refusal"}\\n'
    rollout = await make_agent(f"printf '{told}'").run(make_task(), None, workspace, Limits())
    assert (rollout.outcome, rollout.fault) == (LIMIT, None)
    assert rollout.error == "the model refused: it declined"


@pytest.mark.parametrize(
    ("event", "outcome", "fault"),
    [
        ({"type": "error", "text": "no key", "fault": "sign-in"}, FAILED, Fault.SIGN_IN),
        ({"type": "error", "text": "I give up"}, LIMIT, None),
    ],
)
def test_an_error_tells_whose_it_is(event, outcome, fault):
    reading = read(event)
    assert (reading.outcome, reading.fault, reading.error) == (outcome, fault, event["text"])


def test_an_agent_that_tells_its_usage_is_held_to_its_limits():
    call = {"type": "call", "id": "1", "name": "shell", "command": "ls"}
    spent = {"type": "usage", "input_tokens": 600, "cost_usd": 0.4}
    assert read(spent, call, limits=Limits(tokens=500)).outcome is LIMIT
    assert read(spent, call, limits=Limits(turns=1)).outcome is LIMIT
    assert "$0.4" in (read(spent, call, limits=Limits(usd=0.3)).error or "")
    assert read(spent, call, limits=Limits(tokens=700)).outcome is None
    assert read(spent, limits=Limits(tokens=500)).outcome is None, "it may have been the last"


@pytest.mark.parametrize("limits", [Limits(tokens=500), Limits(usd=0.3), Limits(turns=1)])
def test_an_agent_that_tells_its_usage_and_no_tools_is_held_to_its_limits(limits):
    spent = {"type": "usage", "input_tokens": 600, "cost_usd": 0.4}
    assert read(spent, {"type": "say", "text": "Done."}, limits=limits).outcome is None
    assert read(spent, spent, limits=limits).outcome is LIMIT


def test_calls_told_without_their_tokens_count_as_the_largest_while_the_run_goes_on():
    spent, call = (
        {"type": "usage", "input_tokens": 600, "cost_usd": 0.4},
        {"type": "call", "id": "1", "name": "x"},
    )
    assert read(spent, {"type": "usage"}, call, limits=Limits(tokens=1200)).outcome is LIMIT
    assert read(spent, {"type": "usage"}, call, limits=Limits(usd=0.8)).outcome is LIMIT
    assert read(spent, {"type": "usage"}, call, limits=Limits(tokens=1201, usd=0.81)).outcome is None
    dollars = {"type": "usage", "cost_usd": 0.4}
    assert read(dollars, {"type": "usage"}, call, limits=Limits(usd=0.4)).outcome is LIMIT


async def test_an_agent_over_its_limit_is_stopped(make_agent, make_task, workspace):
    script = (
        """echo '{"skillopt": 1}'\n"""
        "while true; do\n"
        """echo '{"type":"usage","input_tokens":1000}'; echo '{"type":"call","id":"1","name":"x"}'\n"""
        "sleep 0.1\n"
        "done"
    )
    rollout = await make_agent(script).run(make_task(), None, workspace, Limits(seconds=50, tokens=2500))
    assert rollout.outcome is LIMIT
    assert "tokens" in (rollout.error or "")
    assert rollout.seconds < 40


async def test_runs_of_an_agent_that_tells_dollars_are_reserved_all_they_may_spend(
    make_agent, make_task, workspace
):
    def tell(cost: float, seconds: float = 0.0) -> str:
        spent = json.dumps({"type": "usage", "input_tokens": 9, "cost_usd": cost})
        return f"""printf '%s\\n' '{{"skillopt": 1}}' '{spent}'; sleep {seconds}"""

    ledger = MemoryLedger(max_usd=2.0)
    cheap = f"""if [ -e cheap ]; then {tell(1.0, 0.5)}; else touch cheap; {tell(0.05)}; fi"""
    agent = make_agent(cheap)
    task, limits = make_task(), Limits(usd=1.0)

    async def pay(key: str) -> None:
        with contextlib.suppress(CeilingReached):
            await ledger.once(
                "rollout", key, agent.estimate, lambda: agent.run(task, None, workspace, limits), Rollout
            )

    assert agent.estimate.cost_usd is None, "it may be free"
    await pay("first")
    await asyncio.gather(*map(pay, "abcd"))
    assert (ledger.spent.cost_usd or 0.0) <= 2.0


async def test_a_first_run_that_told_dollars_and_is_cut_off_counts_with_its_bound(
    make_agent, make_task, workspace
):
    spent = json.dumps({"type": "usage", "input_tokens": 9, "cost_usd": 0.25})
    agent = make_agent(f"""printf '%s\\n' '{{"skillopt": 1}}' '{spent}'; touch told; sleep 60""")
    ledger, limits = MemoryLedger(), Limits(usd=1.0, tokens=500)
    run = asyncio.create_task(
        ledger.once(
            "rollout",
            "key",
            agent.estimate,
            lambda: agent.run(make_task(), None, workspace, limits),
            Rollout,
        )
    )
    while not (workspace / "told").exists():
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    run.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await run
    assert ledger.spent == Usage(500, cost_usd=1.0)


async def test_an_agent_that_tells_no_dollars_or_none_is_reserved_none(make_agent, make_task, workspace):
    for cost in ("null", "0"):
        event = f"""{{"type": "usage", "input_tokens": 9, "cost_usd": {cost}}}"""
        agent = make_agent(f"""printf '%s\\n' '{{"skillopt": 1}}' '{event}'""")
        await agent.run(make_task(), None, workspace, Limits(usd=1.0))
        assert agent.estimate.cost_usd is None


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": 1}\nmore',
        '{"skillopt": 2}\n{"type": "say", "text": "x"}',
        '{"skillopt": "1"}\nx',
        "{not json}\nx",
        "plain",
        '"skillopt": 1\n',
        "",
    ],
)
def test_any_other_first_line_begins_a_plain_answer(text):
    reader = CommandReader()
    for byte in text.encode():
        reader.feed(bytes([byte]))
    reading = reader.finish()
    assert (reading.answer, reading.skill_loaded, reading.skipped) == (text.strip(), None, 0)


def test_a_plain_answer_is_kept_to_its_bound():
    reader = CommandReader(max_bytes=100)
    reader.feed(b"x" * 80)
    reader.feed(b"y" * 80)
    reader.feed(b"z" * 1_000_000)
    assert reader.finish().answer == "x" * 80 + "y" * 20


def test_lines_that_are_no_events_are_counted():
    reader = CommandReader(max_bytes=200)
    reader.feed(OPENING + b'no json\n{"type":"new"}\n{"type":"say"}\n[]\n')
    reader.feed(b'{"type":"say","text":"' + b"x" * 300 + b'"}\n{"type":"say","text":"ok"}')
    reading = reader.finish()
    assert (reading.answer, reading.skipped) == ("ok", 5)


KINDS = ["say", "answer", "call", "call_end", "denied", "skill_loaded", "usage", "error", "new"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3)
    ),
    max_leaves=6,
)
NAMES = ["text", "id", "name", "command", "arguments", "exit_code", "error", "output", "cost_usd", "fault"]
EVENTS = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
)


@given(st.lists(EVENTS | VALUES, max_size=10), st.lists(st.integers(1, 50), max_size=20), st.booleans())
def test_no_output_breaks_the_reader_and_its_pieces_do_not_matter(events, sizes, opened):
    data = (OPENING if opened else b"") + "".join(json.dumps(e) + "\n" for e in events).encode()
    whole, pieces = CommandReader(), CommandReader()
    whole.feed(data)
    at = 0
    for size in sizes:
        pieces.feed(data[at : at + size])
        at += size
    pieces.feed(data[at:])
    assert whole.finish() == pieces.finish()


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(data):
    reader = CommandReader(max_bytes=100)
    reader.feed(data)
    assert reader.finish().outcome in (None, *Outcome)
