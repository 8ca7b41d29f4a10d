"""What the agent did, how it ended, and what it cost: each call and each token once."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import Signal, Tokens, mark_corrections, read_file
from skillopt_harvesters.sources.codex.outputs import Outcome, read_output
from skillopt_harvesters.sources.codex.patches import find_skill, join_words, read_script
from tests.harvesters.rollouts import CODEX, Rollout, read_in_pieces, read_session

REFUSED = (
    'exec_command failed for `/bin/bash -lc "a\nb"`: '
    'CreateProcess { message: "Rejected(\\"rejected by user\\")" }'
)


@pytest.fixture
def rollout(tmp_path):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt("a prompt")
    return r


def outcome(output) -> Outcome:
    return read_output(msgspec.Raw(json.dumps(output).encode()))


@pytest.mark.parametrize(
    ("output", "code", "error"),
    [
        ('{"output":"","metadata":{"exit_code":0,"duration_seconds":0.0}}', 0, None),
        ('{"output":"no","metadata":{"exit_code":1,"duration_seconds":0.0}}', 1, "no"),
        ('{"output":"","metadata":{"exit_code":124,"duration_seconds":9.0}}', 124, "exit code 124"),
        ('{"metadata":{"exit_code":2},"output":"no"}', None, None),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nhello", 0, None),
        ("Exit code: 3\nWall time: 0 seconds\nTotal output lines: 9\nOutput:\nno", 3, "no"),
        ("Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx", 0, None),
        ("Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code -1\nOutput:\n", -1, "exit code -1"),
        ("Chunk ID: 1f\nWall time: 0.1 seconds\nProcess running with session ID 7\nOutput:\n", None, None),
        # What a command prints is not what the client says.
        ("Exit code: 0\nOutput:\nExit code: 1\nProcess exited with code 1\naborted by user", 0, None),
        ("Chunk ID: 1\nOutput:\nProcess exited with code 1", None, None),
        ("Process exited with code 1", None, None),
        ({"content": "fine", "success": True}, None, None),
        ({"content": "broken", "success": False}, None, "broken"),
        ({"content": [{"type": "input_text", "text": "broken"}], "success": False}, None, "broken"),
        ({"output": "no", "metadata": {"exit_code": 5}}, 5, "no"),
        ([{"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"}], None, None),
        (
            [
                {"type": "input_text", "text": "Script failed\nWall time 0.0 seconds\nOutput:\n"},
                {"type": "input_text", "text": "Script error:\nno"},
            ],
            None,
            "Script error:\nno",
        ),
        (
            "apply_patch verification failed: no such file",
            None,
            "apply_patch verification failed: no such file",
        ),
        ("unsupported call: x", None, "unsupported call: x"),
        ("Plan updated", None, None),
        (None, None, None),
        (7, None, None),
        ("Exit code: 99999999999\nOutput:\n", None, None),
    ],
)
def test_how_a_call_ended_is_read_from_every_shape_of_output(output, code, error):
    ended = outcome(output)
    assert (ended.exit_code, ended.error) == (code, error)
    assert (ended.refused, ended.interrupted) == (False, False)


@pytest.mark.parametrize(
    ("output", "refused", "interrupted"),
    [
        ("exec command rejected by user", True, False),
        ("patch rejected by user", True, False),
        (REFUSED, True, False),
        ('exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }', True, False),
        ("patch rejected: writing is blocked by sandbox; rejected by user approval settings", False, False),
        ('exec_command failed: CreateProcess { message: "Rejected(\\"blocked\\")" }', False, False),
        ("aborted by user after 3.0s", False, True),
        ("Wall time: 2.6 seconds\naborted by user", False, True),
        ("aborted", False, True),
    ],
)
def test_what_the_user_refused_or_stopped_is_told_from_what_failed(output, refused, interrupted):
    ended = outcome(output)
    assert (ended.refused, ended.interrupted) == (refused, interrupted)
    assert ended.error == output


def test_a_command_that_prints_a_refusal_is_none(rollout):
    rollout.call("cat log", "exec command rejected by user\naborted by user", code=1)
    assert rollout.read().turns[0].signals == (Signal.ERROR,)


def test_a_refused_call_and_what_the_user_says_then(rollout):
    rollout.call("npm install", REFUSED, code=None)
    rollout.prompt("no, use pnpm")
    session = mark_corrections(rollout.read())
    assert set(session.turns[0].signals) == {Signal.REFUSAL, Signal.ERROR}
    assert session.turns[1].signals == (Signal.CORRECTION,)


DECLINED = {"status": "declined", "exit_code": -1, "source": "agent"}


@pytest.mark.parametrize("text", ["exec command rejected by user", "This action was rejected due to risk."])
@pytest.mark.parametrize("told", ["item", "event", "item beside its output"])
def test_a_declined_command_is_a_refusal_when_it_was_the_user_who_did(rollout, told, text):
    call = rollout.call("npm i", text, code=None) if told.endswith("output") else "exec-1"
    if told == "event":
        rollout.event("exec_command_end", call_id=call, command=["npm", "i"], stderr=text, **DECLINED)
    else:
        ended = {"command": "npm i", "aggregated_output": text, **DECLINED}
        rollout.completed("CommandExecution", id=call, **ended)
    [turn] = rollout.read().turns
    [ended_call] = turn.tool_calls
    assert (ended_call.command, ended_call.error) == ("npm i", text)
    assert (Signal.REFUSAL in turn.signals) == text.endswith("user")


def test_a_refusal_survives_the_loss_of_the_record_with_its_call(rollout):
    rollout.item("function_call_output", call_id="lost", output=REFUSED)
    [turn] = rollout.read().turns
    assert (turn.signals, turn.tool_calls) == ((Signal.REFUSAL,), ())


def test_a_test_run_that_ended_well_verifies_the_turn(rollout):
    rollout.call("pytest -q", "1 failed", code=1)
    assert Signal.VERIFIED not in rollout.read().turns[0].signals
    rollout.call("pytest -q", "1 passed")
    assert Signal.VERIFIED in rollout.read().turns[0].signals


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["bash", "-lc", "ls -l"], "ls -l"),
        (["/bin/zsh", "-lc", "ls"], "ls"),
        (["/usr/bin/bash", "-c", "ls"], "ls"),
        (["C:\\Windows\\powershell.exe", "-NoProfile", "-Command", "dir"], "dir"),
        (["cmd", "/c", "dir"], "dir"),
        (["git", "commit", "-m", "two words"], "git commit -m 'two words'"),
        (["bash", "script.sh"], "bash script.sh"),
        ([], None),
        (["ls", 7], None),
    ],
)
def test_a_list_that_only_starts_a_shell_is_the_line_it_was_given(words, line):
    assert join_words(words) == line


def test_the_command_line_is_found_in_the_arguments_of_every_shell_tool(rollout):
    given = {
        "shell": {"command": ["bash", "-lc", "one"]},
        "shell_command": {"command": "two", "workdir": "/x"},
        "exec_command": {"cmd": "three"},
        "container.exec": {"cmd": ["bash", "-lc", "four"]},
        "functions.exec_command": {"cmd": "five"},
        "mcp__docker__run": {"command": "not a line of the shell"},
        "write_stdin": {"session_id": 1, "chars": "y"},
        "update_plan": {"plan": []},
    }
    for name, arguments in given.items():
        rollout.item("function_call", name=name, arguments=json.dumps(arguments), call_id=name)
    rollout.item("function_call", name="shell", arguments="{not json", call_id="broken")
    rollout.item("local_shell_call", id="l", action={"type": "exec", "command": ["ls", "-l"]})
    rollout.item("web_search_call", id="w", action={"type": "search", "query": "x"})
    calls = rollout.read().turns[0].tool_calls
    assert [call.command for call in calls] == [
        "one", "two", "three", "four", "five", None, None, None, None, "ls -l", None,
    ]  # fmt: skip
    assert [call.name for call in calls[-2:]] == ["local_shell", "web_search"]


def test_the_files_of_a_patch_are_told_however_it_was_applied(rollout):
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Move to: b.py\n"
        "*** Add File: /abs/c.py\n+*** Add File: no.py\n*** End Patch\n"
    )
    rollout.item("custom_tool_call", name="apply_patch", input=patch, call_id="c1")
    heredoc = {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{patch}EOF"]}
    rollout.item("function_call", name="shell", arguments=json.dumps(heredoc), call_id="c2")
    rollout.item(
        "function_call", name="shell", arguments=json.dumps({"command": ["apply_patch", patch]}), call_id="c3"
    )
    rollout.item(
        "custom_tool_call", name="apply_patch", input="*** Begin Patch\n*** Delete File: d.py", call_id="c4"
    )
    rollout.event(
        "patch_apply_end", call_id="c4", success=True, changes={"/home/user/project/d.py": {}, "e.py": {}}
    )
    rollout.item("custom_tool_call_output", call_id="c4", output="Exit code: 0\nOutput:\nDone")
    calls = rollout.read().turns[0].tool_calls
    whole = ("/home/user/project/a.py", "/home/user/project/b.py", "/abs/c.py")
    assert [call.files for call in calls] == [whole] * 3 + [
        ("/home/user/project/d.py", "/home/user/project/e.py")
    ]
    assert (calls[3].exit_code, calls[3].error) == (0, None)


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ('const r = await tools.exec_command({"cmd": "ls -l"}); text(r.output);', ["ls -l"]),
        ('await tools.exec_command({cmd: "a \\"b\\"", yield_time_ms: 1})', ['a "b"']),
        ("await tools.exec_command({cmd: 'ls'}); await tools.exec_command({ cmd: `pwd` })", ["ls", "pwd"]),
        ('await tools.shell_command({"command": "ls"})', ["ls"]),
        ("await tools.exec_command({cmd: `ls ${folder}`})", []),
        ("await tools.exec_command({cmd: command})", []),
        ("await tools.exec_command(", []),
        ("text('tools.exec_command')", []),
    ],
)
def test_of_a_script_the_commands_that_stand_in_it_plainly_are_told(script, commands):
    assert read_script(script, "/p") == (commands, [])


def test_the_files_a_script_patches_are_told():
    script = 'await tools.apply_patch("*** Begin Patch\\n*** Add File: a.py\\n+x\\n*** End Patch\\n");'
    assert read_script(script, "/p") == ([], ["/p/a.py"])
    assert read_script(script.replace('patch("', 'patch({"input": "').replace('\\n")', '\\n"})'), "/p")[
        1
    ] == ["/p/a.py"]


def test_the_calls_of_a_script_are_told_one_by_one_and_the_first_is_the_scripts(rollout):
    rollout.item("custom_tool_call", name="exec", input="await many()", call_id="s1")
    for number, code in enumerate((0, 1)):
        rollout.completed(
            "CommandExecution",
            id=f"exec-{number}",
            command=["/bin/bash", "-lc", f"make {number}"],
            status="completed",
            exit_code=code,
            aggregated_output="out",
        )
    rollout.completed("FileChange", id="exec-f", changes={"/p/a.py": {}}, status="completed")
    rollout.item(
        "custom_tool_call_output", call_id="s1", output=[{"type": "input_text", "text": "Script completed\n"}]
    )
    calls = rollout.read().turns[0].tool_calls
    assert [(call.name, call.command, call.exit_code, call.error, call.files) for call in calls] == [
        ("exec", "make 0", 0, None, ()),
        ("exec_command", "make 1", 1, "out", ()),
        ("apply_patch", None, None, None, ("/p/a.py",)),
    ]


def test_the_same_call_told_in_several_streams_is_one_call(rollout):
    call = rollout.call("make", "no", code=2)
    rollout.event(
        "exec_command_end", call_id=call, command=["bash", "-lc", "make"], exit_code=2, aggregated_output="no"
    )
    rollout.completed("CommandExecution", id=call, command=["bash", "-lc", "make"], exit_code=2)
    [told] = rollout.read().turns[0].tool_calls
    assert (told.command, told.exit_code, told.error) == ("make", 2, "no")


def test_a_call_that_only_its_end_tells_is_not_lost(rollout):
    rollout.completed(
        "CommandExecution", id="a", command=["bash", "-lc", "make"], exit_code=0, status="completed"
    )
    rollout.event(
        "exec_command_end", call_id="b", command=["bash", "-lc", "ls"], exit_code=1, aggregated_output="no"
    )
    rollout.event("mcp_tool_call_end", call_id="c", result={"Err": "gone"})
    rollout.completed("McpToolCall", id="d", tool="search", status="failed", error={"message": "bad"})
    calls = rollout.read().turns[0].tool_calls
    assert [(call.name, call.command, call.exit_code, call.error) for call in calls] == [
        ("exec_command", "make", 0, None),
        ("exec_command", "ls", 1, "no"),
        ("mcp", None, None, "gone"),
        ("search", None, None, "bad"),
    ]


def test_how_a_tool_of_another_server_ended_is_told_beside_its_output(rollout):
    for number, result in enumerate(({"Ok": {"content": []}}, {"Ok": {"content": "no", "isError": True}})):
        rollout.item("function_call", name="mcp__x__y", arguments="{}", call_id=f"m{number}")
        rollout.event("mcp_tool_call_end", call_id=f"m{number}", result=result)
        rollout.item("function_call_output", call_id=f"m{number}", output="text")
    assert [call.error for call in rollout.read().turns[0].tool_calls] == [None, "no"]


def test_a_process_in_the_background_ends_when_somebody_looks(rollout):
    running = "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 42\nOutput:\n"
    rollout.call("make test", running, code=None)
    assert rollout.read().turns[0].tool_calls[0].exit_code is None
    rollout.item("function_call", name="write_stdin", arguments='{"session_id":42,"chars":""}', call_id="w1")
    rollout.item(
        "function_call_output",
        call_id="w1",
        output="Chunk ID: 2\nWall time: 1.0 seconds\nProcess exited with code 2\nOutput:\nno",
    )
    first, second = rollout.read().turns[0].tool_calls
    assert (first.command, first.exit_code, first.error) == ("make test", 2, "no")
    assert (second.name, second.exit_code) == ("write_stdin", 2)


def test_what_ends_after_its_turn_belongs_to_no_other(rollout):
    rollout.item("custom_tool_call", name="exec", input="await slow()", call_id="s1")
    first = rollout.task
    for text in ("b", "c", "d"):
        rollout.begin()
        rollout.prompt(text)
        rollout.answer(text)
    rollout.task = first
    rollout.completed("CommandExecution", id="exec-1", command=["bash", "-lc", "sleep 9"], exit_code=-1)
    assert [len(turn.tool_calls) for turn in rollout.read().turns] == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("command", "skill"),
    [
        ("cat /home/u/.codex/skills/greet/SKILL.md", "greet"),
        ("sed -n '1,200p' '/p/.agents/skills/.system/make-pdf/SKILL.md'", "make-pdf"),
        ("cd /p && head -50 .agents/skills/greet/SKILL.md | grep x", "greet"),
        ("Get-Content C:\\u\\.codex\\skills\\greet\\SKILL.md", "greet"),
        ("cat r0/offered/SKILL.md", "offered"),
        ("cat other/SKILL.md", None),
        ("ls /home/u/.codex/skills/greet/SKILL.md", None),
        ("cat > skills/greet/SKILL.md", None),
        ("git diff skills/greet/SKILL.md; cat README", None),
    ],
)
def test_a_skill_is_loaded_when_its_instructions_are_printed(command, skill):
    assert find_skill(command, {"offered": None}) == skill


@pytest.mark.parametrize(
    "command",
    [
        "cat " * 4000 + "x/SKILL.md",
        "cat-" * 4000 + "x/SKILL.md",
        "cat ;x/SKILL.md " * 1000,
        "x/SKILL.md" * 1600,
    ],
    ids=range(4),
)
def test_no_command_takes_long(command):
    """It would take minutes to try every beginning with every end."""
    assert [find_skill(command, {}) for _ in range(20)] == [None] * 20


def test_names_of_any_length_are_not_kept_whole(tmp_path):
    r = Rollout(tmp_path, cwd="/" + "d" * 500_000)
    r.prompt("go")
    for number in range(10):
        long = f"{number}" + "x" * 500_000
        r.item("function_call", name=long, arguments="{}", call_id=long)
        r.item("function_call_output", call_id=long, output="Exit code: 1\nOutput:\nno")
        r.event("patch_apply_end", call_id=long, success=True, changes={long: {}, f"{long}y": {}})
        r.add("token_usage_record", {"response_id": long, "usage": {"input_tokens": 1}})
    [reading] = read_file(CODEX, r.write())
    [turn] = reading.session.turns
    assert {call.exit_code for call in turn.tool_calls} == {1}
    assert (len(turn.tool_calls), reading.session.tokens.input) == (10, 10)
    assert len(reading.state) < 200_000


def test_scripts_without_end_are_looked_for_among_the_latest_calls_only(rollout):
    for number in range(5000):
        rollout.item("custom_tool_call", name="exec", input="tools.exec_command(x)", call_id=f"c{number}")
    for number in range(20_000):
        rollout.completed("CommandExecution", id=f"exec-{number}", command=["ls"], exit_code=0)
    assert len(rollout.read().turns[0].tool_calls) == 5000


def test_a_skill_that_could_not_be_read_was_not_loaded(rollout):
    rollout.call("cat skills/one/SKILL.md", "no such file", code=1)
    rollout.call("cat skills/two/SKILL.md", "Do it.")
    assert rollout.read().turns[0].skills == ("two",)


def test_sums_count_once_however_often_they_are_told(rollout):
    rollout.event("token_count", info=None)
    rollout.spend(1000, 50, 200)
    rollout.count(rollout.spent, [1000, 50, 200])
    rollout.spend(500, 10)
    rollout.prompt("another")
    rollout.count(rollout.spent)
    rollout.spend(100, 1, 100)
    session = rollout.read()
    assert [turn.tokens for turn in session.turns] == [
        Tokens(input=1300, output=60, cache_read=200),
        Tokens(input=0, output=1, cache_read=100),
    ]
    assert session.tokens == Tokens(input=1300, output=61, cache_read=300)


def test_a_sum_counts_that_is_told_again_behind_a_record_of_it_that_was_torn(rollout):
    rollout.spend(1000, 50)
    rollout.spend(500, 10)
    rollout.lines[-1] = rollout.lines[-1][:-4]
    rollout.count(rollout.spent, [500, 10, 0])
    assert rollout.read().tokens == Tokens(input=1500, output=60)


def test_the_parts_add_up_to_what_the_client_calls_the_total(rollout):
    usage = {
        "input_tokens": 100,
        "cached_input_tokens": 40,
        "cache_write_input_tokens": 30,
        "output_tokens": 10,
    }
    rollout.event("token_count", info={"total_token_usage": {**usage, "total_tokens": 110}})
    assert rollout.read().tokens == Tokens(input=30, output=10, cache_read=40, cache_write=30)


def test_a_counter_that_starts_again_is_counted_on(rollout):
    rollout.spend(1000, 50)
    rollout.spent = [0, 0, 0]
    rollout.spend(200, 10)
    rollout.spend(100, 5)
    assert (rollout.read().tokens.input, rollout.read().tokens.output) == (1300, 65)
    rollout.count([0, 0, 0], [0, 0, 0])
    rollout.spent = [0, 0, 0]
    rollout.spend(7, 1)
    assert rollout.read().tokens.output == 66


def test_a_counter_that_starts_again_with_a_larger_call_is_counted_on(rollout):
    """A session of one call that is resumed: the next one holds all of it, and more."""
    rollout.spend(1000, 50)
    rollout.count(rollout.spent, [1000, 50, 0])
    rollout.spent = [0, 0, 0]
    rollout.spend(1500, 60)
    rollout.count(rollout.spent, [1500, 60, 0])
    rollout.spend(1600, 1)
    assert (rollout.read().tokens.input, rollout.read().tokens.output) == (4100, 111)


def test_an_older_sum_that_comes_late_counts_nothing(rollout):
    rollout.spend(1000, 50)
    rollout.spend(1000, 50)
    rollout.count([1500, 70, 0], [900, 40, 0])
    rollout.count([2500, 120, 0], [500, 20, 0])
    assert (rollout.read().tokens.input, rollout.read().tokens.output) == (2500, 120)


def test_a_counter_that_started_again_unnoticed_is_counted_from_what_is_seen_of_it(rollout):
    rollout.spend(1000, 50)
    for total in ([300, 20, 0], [300, 20, 0], [400, 30, 0], [600, 40, 0]):
        rollout.count(total, [10, 1, 0])
    assert rollout.read().tokens.output == 50 + 10 + 10


def test_calls_told_one_by_one_are_counted_and_the_sums_then_add_nothing(rollout):
    def record(name, read, written):
        usage = {"input_tokens": read, "cached_input_tokens": 0, "output_tokens": written}
        rollout.add("token_usage_record", {"response_id": name, "usage": usage})

    record("r1", 1000, 50)
    rollout.spend(1000, 50)
    # The request for a summary is in no sum.
    record("r2", 300, 20)
    rollout.count(rollout.spent)
    record("r3", 100, 5)
    record("r3", 100, 5)
    rollout.spend(100, 5)
    # A version that does not tell calls goes on.
    rollout.begin()
    rollout.prompt("more")
    rollout.spend(10, 1)
    session = rollout.read()
    assert [turn.tokens.output for turn in session.turns] == [75, 1]
    assert session.tokens.input == 1410


def test_numbers_no_client_would_write_are_not_believed(rollout):
    rollout.event("token_count", info={"total_token_usage": {"input_tokens": 10**30, "output_tokens": -5}})
    rollout.add(
        "token_usage_record", {"response_id": "r", "usage": {"input_tokens": 2**80, "output_tokens": 3}}
    )
    rollout.completed("CommandExecution", id="a", command=["x"], exit_code=2**70)
    rollout.event("thread_rolled_back", num_turns=-1)
    session = rollout.read()
    assert (session.tokens, session.turns[0].tool_calls[0].exit_code) == (Tokens(output=3), None)
    assert session.turns[0].abandoned is False


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9), st.booleans(), st.booleans()), max_size=12),
    st.lists(st.integers(0, 10_000), max_size=4),
)
def test_the_sum_of_the_turns_is_what_was_spent(tmp_path_factory, steps, cuts):
    """Whatever is repeated, wherever a prompt falls and wherever the reading was interrupted."""
    r = Rollout(tmp_path_factory.mktemp("tokens"))
    r.prompt("first")
    for read, written, repeat, ask in steps:
        r.spend(read, written, read // 2)
        if repeat:
            r.count(r.spent)
        if ask:
            r.prompt("next")
    path, whole = r.write(), r.data
    session = read_in_pieces(path, whole, [len(whole) * cut // 10_000 for cut in cuts]).session
    assert session == read_session(r.write())
    total = session.tokens
    assert [total.input + total.cache_read, total.output, total.cache_read] == r.spent


def test_very_many_calls_in_one_turn_are_read_in_linear_time(rollout):
    for number in range(6000):
        rollout.item("function_call", name="shell", arguments='{"command":["ls"]}', call_id=f"c{number}")
        rollout.item("function_call_output", call_id=f"c{number}", output="Exit code: 1\nOutput:\nno")
    session = rollout.read()
    assert len(session.turns[0].tool_calls) == 5000
    assert {call.exit_code for call in session.turns[0].tool_calls} == {1}
