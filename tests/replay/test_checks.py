"""Checks say whether a run went well, and cannot be fooled from inside the workspace."""

from __future__ import annotations

import asyncio
import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay import folders
from skillopt_replay.checks import check_text, evaluate, needs_files
from skillopt_replay.errors import ReplayError
from skillopt_replay.patterns import PatternFailed, search
from skillopt_replay.rollouts import Outcome, Rollout, RolloutCall
from skillopt_replay.sandbox.bubblewrap import Bubblewrap
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.tasks import (
    CommandMatched,
    CommandSucceeds,
    Contains,
    Exact,
    FileContains,
    JsonSchema,
    Matches,
    SectionPresent,
    ToolCalled,
)

CALLS = (RolloutCall("Bash", "cd web && npm test"), RolloutCall("Read"))


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "runs" / "skillopt-replay-x"
    path.mkdir(parents=True)
    return path


async def test_what_a_check_leaves_behind_is_removed_while_others_are_at_work(
    make_rollout, workspace, monkeypatch
):
    rmtree, longest, is_done = folders._try_to_remove, 0.0, False

    def take_long(path):
        time.sleep(1.0)
        return rmtree(path)

    async def work() -> None:
        nonlocal longest
        while not is_done:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    monkeypatch.setattr(folders, "_try_to_remove", take_long)
    working = asyncio.ensure_future(work())
    check = CommandSucceeds(command='touch "$TMPDIR/much"')
    score = await evaluate([check], make_rollout(), workspace, NoSandbox())
    is_done = True
    await working
    assert score.hard == 1.0
    assert longest < 0.8
    assert [path.name for path in workspace.parent.iterdir()] == [workspace.name]


@pytest.mark.parametrize("left", ["nothing", "a file", "a link out", "a circle", "no way in"])
async def test_where_no_command_can_be_run_none_passes_negated_or_not(
    left, make_rollout, workspace, tmp_path, confined
):
    inside = workspace / "inside"
    if left == "a file":
        inside.touch()
    elif left == "a link out":
        inside.symlink_to(tmp_path)
    elif left == "a circle":
        inside.symlink_to("inside")
    elif left == "no way in":
        inside.mkdir(mode=0)
        if os.access(inside, os.X_OK):
            pytest.skip("root gets in everywhere")
    for negate in (False, True):
        check = CommandSucceeds(command="exit 1", negate=negate)
        for sandbox in (confined, NoSandbox()):
            result = await score_one(check, make_rollout(), inside, sandbox)
            assert not result.passed
            assert "working directory" in result.detail


async def score_one(check, rollout, workspace, sandbox=None):
    score = await evaluate([check], rollout, workspace, sandbox or NoSandbox())
    assert score.hard == score.soft == (1.0 if score.results[0].passed else 0.0)
    return score.results[0]


@pytest.mark.parametrize(
    ("check", "answer", "holds"),
    [
        (Exact(text="done"), " done\n", True),
        (Exact(text="done"), "Done", False),
        (Exact(text="done", ignore_case=True), "DONE", True),
        (Contains(text="two  words"), "here are Two\n words.", True),
        (Contains(text="Two words", ignore_case=False), "two words", False),
        (Contains(text="absent"), "present", False),
        (Matches(pattern=r"^- \d+$"), "list\n- 12\n", True),
        (Matches(pattern=r"\d"), "none", False),
        (SectionPresent(heading="Test plan"), "text\n\n## Test Plan ##\n- x", True),
        (SectionPresent(heading="Test plan"), "Test plan\n---------\n", True),
        (SectionPresent(heading="Test plan"), "### **Test plan**", True),
        (SectionPresent(heading="Test plan"), "# Test plan\r\nx", True),
        (SectionPresent(heading="Test plan"), "````\n```\nTest plan\n===\n", False),
        (SectionPresent(heading="Test plan"), "Test plan\n\n---\n", False),
        (SectionPresent(heading="Test plan"), "see the test plan", False),
        (SectionPresent(heading="Test plan"), "```\n# Test plan\n```\n", False),
        (SectionPresent(heading="Test plan"), "```\ncode\n```\n# Test plan\n", True),
        (ToolCalled(name="Read"), "", True),
        (ToolCalled(name="Write"), "", False),
        (CommandMatched(command="npm test"), "", True),
        (CommandMatched(command="npm run"), "", False),
    ],
)
async def test_a_check_and_its_negation_are_opposites(check, answer, holds, make_rollout, workspace):
    rollout = make_rollout(answer, calls=CALLS)
    assert (await score_one(check, rollout, workspace)).passed is holds
    opposite = type(check)(**{**{f: getattr(check, f) for f in check.__struct_fields__}, "negate": True})
    assert (await score_one(opposite, rollout, workspace)).passed is not holds


@pytest.mark.parametrize("end", ["x", "#", "\t", ""])
async def test_a_line_without_end_is_looked_through_for_headings_in_no_time(end, make_rollout, workspace):
    answer = f"# Test plan\n# {'#' * 200_000}{end}\nx{' ' * 200_000}{end}\n---"
    started = time.monotonic()
    assert (await score_one(SectionPresent(heading="Test plan"), make_rollout(answer), workspace)).passed
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "answer",
    ["x{spaces}", "# x{spaces}y", "# x{marks}y", "x\n{line}y", "{fences}", "{spaces}# x"],
)
def test_no_answer_can_be_made_to_be_read_for_ever(make_rollout, answer):
    many = 4_000
    fences = "".join(f"{'`' * number}\n" for number in range(300))
    text = answer.format(spaces=" " * many, marks=" #" * many, line="-" * many, fences=fences)
    started = time.process_time()
    check_text(SectionPresent(heading="Test plan"), make_rollout(text))
    assert time.process_time() - started < 1.0


async def test_the_share_of_passed_checks_is_the_soft_score(make_rollout, workspace):
    checks = [
        CommandSucceeds(command="true"),
        Contains(text="b"),
        CommandSucceeds(command="false"),
        Contains(text="a"),
    ]
    score = await evaluate(checks, make_rollout("a"), workspace, NoSandbox())
    assert (score.hard, score.soft) == (0.0, 0.5)
    assert [result.passed for result in score.results] == [True, False, False, True]


async def test_without_checks_there_is_no_score(make_rollout, workspace):
    with pytest.raises(ValueError, match="without checks"):
        await evaluate([], make_rollout("x"), workspace, NoSandbox())


@pytest.mark.parametrize("negate", [False, True])
async def test_a_broken_pattern_never_passes(negate, make_rollout, workspace):
    result = await score_one(Matches(pattern="(", negate=negate), make_rollout("("), workspace)
    assert not result.passed
    assert "not a regular expression" in result.detail


@pytest.mark.parametrize("check", [Matches(pattern="a"), JsonSchema(schema="{}")])
async def test_a_check_that_the_system_killed_is_no_failed_check(check, make_rollout, workspace, monkeypatch):
    for place in ("patterns._SEARCH", "schemas._VALIDATE"):
        monkeypatch.setattr(f"skillopt_replay.{place}", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ReplayError, match="killed by signal 9"):
        await evaluate([check], make_rollout("{}"), workspace, NoSandbox())


async def test_a_pattern_that_takes_for_ever_is_stopped():
    started = time.monotonic()
    with pytest.raises(PatternFailed, match="more than"):
        await search(r"(a+)+$", "a" * 60 + "b", seconds=0.5)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "text", ["naïve café\u2028x", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")]
)
async def test_patterns_see_the_text_as_it_is(text):
    assert await search(re.escape(text), f"before {text} after")


async def test_a_file_is_looked_for_in_the_workspace(make_rollout, workspace):
    (workspace / "src").mkdir()
    (workspace / "src" / "a.py").write_bytes(b"one\r\ntwo\r\n")
    rollout = make_rollout()
    assert (await score_one(FileContains(path="src/a.py"), rollout, workspace)).passed
    assert (await score_one(FileContains(path="src/a.py", text="one\ntwo"), rollout, workspace)).passed
    assert not (await score_one(FileContains(path="src/a.py", text="three"), rollout, workspace)).passed
    assert not (await score_one(FileContains(path="src/b.py"), rollout, workspace)).passed
    assert (await score_one(FileContains(path="src/b.py", negate=True), rollout, workspace)).passed
    assert not (await score_one(FileContains(path="src"), rollout, workspace)).passed


@pytest.mark.parametrize("path", ["link.txt", "../answer.txt", "{outside}"])
async def test_a_file_check_does_not_leave_the_workspace(path, make_rollout, workspace):
    outside = workspace.parent / "answer.txt"
    outside.write_text("42")
    (workspace / "link.txt").symlink_to(outside)
    check = FileContains(path=path.format(outside=outside), text="42")
    result = await score_one(check, make_rollout(), workspace)
    assert not result.passed
    assert "leads out" in result.detail


@pytest.mark.parametrize("check", [FileContains(path="out.txt"), JsonSchema(schema={}, path="out.txt")])
@pytest.mark.parametrize("link", ["loop", "loop/../link/secret", "loop/x"])
async def test_a_file_check_follows_no_links_in_a_circle(check, link, make_rollout, workspace, tmp_path):
    """Read as text `loop/../link` lies in the workspace, and what is read by that name does not."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("1")
    (workspace / "loop").symlink_to("loop")
    (workspace / "link").symlink_to(outside)
    (workspace / "out.txt").symlink_to(link)
    score = await evaluate([check], make_rollout(), workspace, NoSandbox())
    assert [result.passed for result in score.results] == [False]


async def test_a_pipe_in_place_of_a_file_does_not_hold_us(make_rollout, workspace):
    os.mkfifo(workspace / "out.txt")
    result = await score_one(FileContains(path="out.txt", text="x"), make_rollout(), workspace)
    assert not result.passed
    assert "no regular file" in result.detail


async def test_a_command_runs_in_the_workspace_and_its_failure_is_told(make_rollout, workspace):
    (workspace / "made.txt").write_text("x")
    assert (await score_one(CommandSucceeds(command="test -f made.txt"), make_rollout(), workspace)).passed
    result = await score_one(CommandSucceeds(command="echo wrong >&2; exit 3"), make_rollout(), workspace)
    assert not result.passed
    assert "exits 3: 'wrong'" in result.detail


async def test_a_command_has_its_own_time_limit(make_rollout, workspace):
    check = CommandSucceeds(command="sleep 30", timeout_s=0.3)
    result = await score_one(check, make_rollout(), workspace)
    assert not result.passed
    assert "more than 0.3 s" in result.detail


async def test_a_command_sees_neither_the_network_nor_other_folders(confined, make_rollout, workspace):
    (workspace.parent / "answer.txt").write_text("42")
    assert (await score_one(CommandSucceeds(command="touch ok"), make_rollout(), workspace, confined)).passed
    peek = CommandSucceeds(command="cat ../answer.txt")
    assert not (await score_one(peek, make_rollout(), workspace, confined)).passed
    if confined.offline:
        routes = CommandSucceeds(command="test $(wc -l < /proc/net/route) -le 1")
        assert (await score_one(routes, make_rollout(), workspace, confined)).passed
    assert [p.name for p in workspace.parent.iterdir() if p.name.startswith("skillopt-private-")] == []


async def test_a_sandbox_that_fails_is_no_failed_check(tmp_path, make_rollout, workspace):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: no more namespaces' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(ReplayError, match="no more namespaces"):
        await evaluate([CommandSucceeds(command="true")], make_rollout(), workspace, Bubblewrap(program))


def test_only_checks_on_files_need_a_workspace():
    assert needs_files([Contains(text="x"), FileContains(path="a")])
    assert needs_files([CommandSucceeds(command="true")])
    assert not needs_files([Contains(text="x"), CommandMatched(command="a"), Matches(pattern="x")])


@given(st.text(max_size=200), st.text(max_size=20))
def test_text_checks_take_any_answer(answer, wanted):
    rollout = Rollout(task="t", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer=answer)
    for check in (Exact(text=wanted), Contains(text=wanted), SectionPresent(heading=wanted)):
        holds, detail = check_text(check, rollout)
        assert isinstance(holds, bool)
        assert "\n" not in detail
    inside = Rollout(
        task="t", skill="", agent="a", model="m", outcome=Outcome.FINISHED, answer=answer + wanted
    )
    assert not wanted.strip() or check_text(Contains(text=wanted), inside)[0]
