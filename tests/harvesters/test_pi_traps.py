"""What sessions of pi hold besides the user's words, and trees, copies and look-alikes."""

from __future__ import annotations

import json

import pytest

from skillopt_harvesters import (
    SOURCES,
    Kind,
    MemoryClaims,
    Resume,
    Signal,
    harvest,
    mark_corrections,
    read_file,
)
from skillopt_harvesters.sources.pi.words import find_words
from tests.support.pi_session import TOKENS, PiSession

PI = SOURCES["pi"]
SKILL = (
    '<skill name="greet" location="/s/greet/SKILL.md">\nReferences are relative to /s/greet.\n\n{}\n</skill>'
)
RESIZED = (
    "[Image: original 3000x2000, displayed at 2000x1333."
    " Multiply coordinates by 1.50 to map to original image.]"
)
OMITTED = "[Image omitted: could not be resized below the inline image size limit.]"


@pytest.fixture
def read(tmp_path):
    """Write a session and read it back."""

    def read_back(session: PiSession, claims=None, name: str = ""):
        path = session.write(tmp_path / "sessions", name)
        return read_file(PI, path, claims=claims)[0].session

    return read_back


def turns_of(session):
    return [(turn.prompt, turn.abandoned) for turn in session.turns]


@pytest.mark.parametrize(
    ("text", "command", "prompt", "skill"),
    [
        ("fix it", None, "fix it", None),
        (SKILL.format("Do this.") + "\n\nBob", "/skill:greet", "Bob", "greet"),
        (SKILL.format("Do this."), "/skill:greet", "", "greet"),
        (
            SKILL.format("End with\n</skill>\n\nnot with the body.") + "\n\nBob",
            "/skill:greet",
            "Bob",
            "greet",
        ),
        (SKILL.format("torn")[:60], "/skill:greet", "", "greet"),
        ("/skill:greet Bob and\nAlice", "/skill:greet", "Bob and\nAlice", None),
        ('<file name="/a/b.py">\nprint()\n</file>\nfix this', None, "fix this", None),
        ('<file name="/a">\n1\n</file>\n<file name="/b.png"></file>\nlook', None, "look", None),
        ('<file name="/a">\nholds </file>\n itself\n</file>\nfix', None, "fix", None),
        (f"look\n\n{RESIZED}", None, "look", None),
        (f"look\n\n[Image converted from image/bmp to image/png.]\n{RESIZED}", None, "look", None),
        (f"look\n\n{OMITTED}\n{OMITTED}", None, "look", None),
        (SKILL.format("Do this.") + f"\n\nBob\n\n{RESIZED}", "/skill:greet", "Bob", "greet"),
        (f"\n\n{RESIZED}", None, "", None),
        (f"what is\n{RESIZED} for?", None, f"what is\n{RESIZED} for?", None),
        ("fix [Image: this]", None, "fix [Image: this]", None),
        ("what does <skill> mean?", None, "what does <skill> mean?", None),
        ("/etc/hosts is broken", None, "/etc/hosts is broken", None),
    ],
)
def test_the_users_words_are_told_from_what_the_client_put_before_them(text, command, prompt, skill):
    words = find_words(text)
    assert (words.command, words.prompt, words.skill) == (command, prompt, skill)


def test_what_extensions_and_the_client_say_is_no_prompt(read):
    s = PiSession()
    s.message("system", "", sections={"skills": "<name>a</name><name>b</name>", "tools": "x"})
    s.user("the only prompt")
    s.message("custom", "reminder", customType="x", display=True)
    s.message("hookMessage", "hook")
    s.add("custom_message", customType="x", content="injected", display=False)
    s.add("custom", customType="x", data={"role": "user", "content": "state"})
    s.agent("the answer")
    s.add("compaction", summary="they said X", firstKeptEntryId="x", tokensBefore=9)
    s.message("compactionSummary", None, summary="they said X")
    s.message("branchSummary", None, summary="they tried Y")
    s.add("context_edit", targetId="x", replacement=None)
    s.add("label", targetId="x", label="here")
    session = read(s)
    assert session.prompts == ("the only prompt",)
    assert session.turns[0].answer == "the answer"
    assert (session.kind, session.skipped, session.skills_offered) == (Kind.HUMAN, 0, ("a", "b"))


def test_a_picture_alone_is_a_turn_without_words(read):
    s = PiSession()
    s.message("user", [{"type": "image", "data": "aGk=", "mimeType": "image/png"}])
    s.agent("a cat")
    session = read(s)
    assert [(turn.prompt, turn.answer) for turn in session.turns] == [("", "a cat")]
    assert session.prompts == ()


def test_how_tools_ended_is_read_from_their_words(read):
    s = PiSession()
    s.user("work")
    s.call("bash", "ok\n", command="pytest -q")
    s.call("bash", "boom\n\n\nCommand exited with code 139", error=True, command="make")
    s.call("bash", "Command timed out after 3 seconds", error=True, command="sleep 9")
    s.call("powershell", "Command exited with code 2", error=True, command="dir")
    s.call("edit", "no match", error=True, path="src/a.py")
    s.call("write", "done", path="/abs/b.py")
    s.call("fetch", "Command exited with code 7", error=True, command="x")
    session = read(s)
    calls = session.turns[0].tool_calls
    assert [(call.name, call.exit_code) for call in calls] == [
        ("bash", 0),
        ("bash", 139),
        ("bash", None),
        ("powershell", 2),
        ("edit", None),
        ("write", None),
        ("fetch", None),
    ]
    assert [call.files for call in calls if call.files] == [("/home/user/project/src/a.py",), ("/abs/b.py",)]
    assert calls[6].command is None
    assert set(session.turns[0].signals) == {Signal.ERROR, Signal.VERIFIED}


def test_an_aborted_call_interrupts_the_turn_it_belongs_to(read):
    s = PiSession()
    s.user("run it")
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "sleep 9"}}
    s.agent(call, stop="toolUse")
    s.user("never mind")
    s.result("c1", "bash", "Command aborted", error=True)
    s.agent("fine")
    session = read(s)
    assert Signal.INTERRUPTION in session.turns[0].signals
    assert Signal.INTERRUPTION not in session.turns[1].signals
    assert session.turns[0].tool_calls[0].error == "Command aborted"


def test_calls_inside_a_script_are_calls(read):
    s = PiSession()
    s.user("script it")
    s.agent({"type": "toolCall", "id": "c1", "name": "codemode", "arguments": {"code": "x"}}, stop="toolUse")
    nested = {
        "complete": True,
        "calls": [
            {"id": "1", "name": "bash", "arguments": {"command": "ls"}, "status": "ok"},
            {
                "id": "2",
                "name": "bash",
                "arguments": {"command": "make"},
                "status": "error",
                "error": "Command exited with code 2",
            },
            {"id": "3", "name": "write", "arguments": {"path": "a"}, "status": "unfinished"},
        ],
    }
    s.result("c1", "codemode", "done", nestedCalls=nested)
    calls = read(s).turns[0].tool_calls
    assert [(call.name, call.command, call.exit_code) for call in calls] == [
        ("codemode", None, None),
        ("bash", "ls", 0),
        ("bash", "make", 2),
        ("write", None, None),
    ]


def test_a_skill_is_loaded_by_reading_its_file(read):
    s = PiSession()
    s.user("greet Bob")
    s.call("read", "---", path="/home/user/.pi/agent/skills/greet/SKILL.md")
    s.call("read", "text", path="/home/user/project/README.md")
    assert read(s).turns[0].skills == ("greet",)


def test_every_model_call_is_counted_once(read):
    s = PiSession()
    s.user("one")
    entry = s.agent("answer")
    s.entries.append(entry)
    s.agent("failed", usage={"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0})
    s.add("compaction", summary="x", usage={"input": 100, "output": 10})
    s.add("branch_summary", summary="x", fromId="y", usage={"input": 100, "output": 10})
    s.add("usage", kind="cache_warm", usage={"cacheRead": 1000, "input": 0, "output": 0})
    session = read(s)
    assert (session.tokens.input, session.tokens.output) == (210, 25)
    assert (session.tokens.cache_read, session.tokens.cache_write) == (1003, 2)
    assert session.turns[0].tokens.output == 5


def test_a_number_no_client_writes_is_no_count(read):
    s = PiSession()
    s.user("one")
    s.agent("answer", usage={"input": 10**30, "output": -5, "cacheRead": "many", "cacheWrite": 4})
    session = read(s)
    assert (session.tokens.input, session.tokens.output, session.tokens.cache_write) == (0, 0, 4)


def test_what_the_user_left_by_going_back_is_abandoned(read):
    s = PiSession()
    s.user("start")
    fork = s.agent("ok")["id"]
    s.user("left")
    left = s.agent("went left")["id"]
    s.user("more left")
    s.agent("further left")
    s.leaf = fork
    s.user("right")
    s.agent("went right")
    assert turns_of(read(s)) == [("start", False), ("left", True), ("more left", True), ("right", False)]
    s.leaf = left
    s.user("left after all")
    assert turns_of(read(s)) == [
        ("start", False),
        ("left", False),
        ("more left", True),
        ("right", True),
        ("left after all", False),
    ]


def test_a_summary_of_the_branch_that_was_left_does_not_hide_the_going_back(read):
    s = PiSession()
    s.user("start")
    fork = s.agent("ok")["id"]
    s.user("left")
    leaf = s.agent("went left")["id"]
    s.leaf = fork
    s.add("branch_summary", fromId=leaf, summary="they went left")
    s.user("right")
    assert turns_of(read(s)) == [("start", False), ("left", True), ("right", False)]


def test_the_first_prompt_can_be_left_as_well(read):
    s = PiSession()
    s.add("model_change", provider="mock", modelId="mock")
    s.user("first try")
    s.agent("ok")
    s.leaf = None
    s.user("second try")
    s.agent("better")
    assert turns_of(read(s)) == [("first try", True), ("second try", False)]


def test_the_agent_that_goes_on_from_an_older_place_opens_a_turn_nobody_typed(read):
    s = PiSession()
    s.user("start")
    middle = s.call("bash", "ok", command="true")["id"]
    s.user("another way")
    s.agent("went it")
    s.leaf = middle
    s.agent("and on I go")
    session = read(s)
    assert [(turn.prompt, turn.typed, turn.abandoned) for turn in session.turns] == [
        ("start", True, False),
        ("another way", True, True),
        ("", False, False),
    ]


def test_a_session_without_ids_is_a_line(read):
    s = PiSession(version=1, provider="mock", modelId="mock")
    s.user("one")
    s.call("bash", "Command exited with code 1", error=True, command="false")
    s.user("two")
    s.agent("done")
    session = read(s)
    assert turns_of(session) == [("one", False), ("two", False)]
    assert session.turns[0].tool_calls[0].exit_code == 1
    assert (session.skipped, session.tokens.output) == (0, 10)


def test_a_fork_owns_only_what_is_new_in_it(read):
    claims = MemoryClaims()
    s = PiSession()
    s.user("one")
    s.agent("first answer")
    s.user("two")
    s.agent("second answer")
    old = read(s, claims)
    fork = PiSession(parentSession="/x/y.jsonl", timestamp="2026-11-01T10:00:04.500Z")
    fork.entries += s.entries[1:]
    fork.leaf = s.leaf
    fork.user("no, not like that")
    fork.agent("third answer")
    new = read(fork, claims)
    assert old.prompts == ("one", "two")
    assert new.prompts == ("no, not like that",)
    assert (new.before.prompt, new.tokens.output) == ("two", 5)
    assert Signal.CORRECTION in mark_corrections(new).turns[0].signals
    assert new.started > old.ended


def test_what_a_fork_has_of_another_session_is_not_paid_for_again(read):
    claims = MemoryClaims()
    warm = {"kind": "cache_warm", "usage": TOKENS}
    s = PiSession()
    s.add("usage", **warm)
    s.user("one")
    first = s.call("read", "text", path="/a")
    s.agent("done")
    old = read(s, claims)
    between = PiSession(parentSession="/x/y.jsonl", timestamp="2026-11-01T10:01:00.000Z")
    between.entries += s.entries[1:]
    between.leaf = first["id"]
    summary = between.add("branch_summary", fromId=s.leaf, summary="what was left", usage=TOKENS)
    between.user("two")
    between.agent("done")
    middle = read(between, claims)
    fork = PiSession(parentSession="/x/z.jsonl", timestamp="2026-11-01T10:02:00.000Z")
    last = s.entries.index(first)
    fork.entries += [*s.entries[1 : last + 1], summary]
    fork.leaf = summary["id"]
    fork.user("three")
    fork.agent("done")
    new = read(fork, claims)
    assert [session.prompts for session in (old, middle, new)] == [("one",), ("two",), ("three",)]
    assert [session.tokens.output for session in (old, middle, new)] == [15, 10, 5]


def test_a_copied_cost_before_the_first_prompt_is_the_old_sessions(read):
    claims = MemoryClaims()
    s = PiSession()
    s.add("usage", kind="cache_warm", usage=TOKENS)
    s.user("one")
    s.agent("done")
    read(s, claims)
    fork = PiSession(parentSession="/x/y.jsonl", timestamp="2026-11-01T10:01:00.000Z")
    fork.entries += s.entries[1:]
    fork.leaf = s.leaf
    fork.user("two")
    fork.agent("done")
    assert read(fork, claims).tokens.output == 5


def make_repeats() -> PiSession:
    s = PiSession()
    for _ in range(3):
        for made in (s.user("run the tests"), s.agent("ran them")):
            made["timestamp"] = "2026-11-01T10:00:00.000Z"
            made["message"]["timestamp"] = 1_795_000_000_000
    return s


def test_the_same_prompt_at_the_same_time_counts_each_time_its_id_is_another(read, tmp_path):
    s = make_repeats()
    assert read(s).prompts == ("run the tests",) * 3
    assert read(s).tokens.output == 15
    s.entries += s.entries[1:]
    assert read(s).prompts == ("run the tests",) * 3
    claims, resume = MemoryClaims(), None
    lines = s.write(tmp_path).read_bytes().splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        path = tmp_path / s.write(tmp_path).name
        path.write_bytes(b"".join(lines[:end]))
        [reading] = read_file(PI, path, claims=claims, resume=resume)
        resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    assert reading.session.prompts == ("run the tests",) * 3


def test_a_fork_of_repeats_owns_none_of_them(read):
    claims, s = MemoryClaims(), make_repeats()
    read(s, claims)
    fork = PiSession(parentSession="/x/y.jsonl")
    fork.entries += s.entries[1:]
    fork.leaf = s.leaf
    fork.user("go on")
    assert read(fork, claims).prompts == ("go on",)


def test_a_fork_is_known_when_the_client_gave_an_old_file_ids_meanwhile(read):
    claims = MemoryClaims()
    old = PiSession(version=1)
    old.user("one")
    old.call("bash", "ok", command="ls")
    old.agent("done")
    first = read(old, claims)
    fork = PiSession()
    for entry in old.entries[1:]:
        copy = {**entry, "id": f"{len(fork.entries):08x}", "parentId": fork.leaf}
        fork.leaf = copy["id"]
        fork.entries.append(copy)
    fork.user("two")
    second = read(fork, claims)
    assert (first.prompts, second.prompts) == (("one",), ("two",))


def test_two_calls_that_end_in_one_moment_are_two(read):
    s = PiSession()
    s.user("both")
    calls = [
        {"type": "toolCall", "id": name, "name": "bash", "arguments": {"command": name}}
        for name in ("a", "b")
    ]
    s.agent(*calls, stop="toolUse")
    for name in ("a", "b"):
        entry = s.result(name, "bash", "ok")
        entry["timestamp"] = s.entries[0]["timestamp"]
        entry["message"]["timestamp"] = 1
    assert [call.exit_code for call in read(s).turns[0].tool_calls] == [0, 0]


def test_our_own_replays_are_known_by_their_folder(read):
    s = PiSession(cwd="/tmp/skillopt-replay-x1/project")
    s.user("one")
    assert read(s).kind is Kind.REPLAY


def test_everything_stored_is_redacted(read):
    secret = "ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3"
    s = PiSession()
    s.user(f"push with {secret}")
    s.call("bash", f"{secret}\nCommand exited with code 1", error=True, command=f"curl -H {secret}")
    s.agent(f"I used {secret}")
    assert secret not in repr(read(s))


def test_unknown_kinds_are_counted_and_told_once(read):
    s = PiSession()
    s.user("one")
    s.add("brand_new", data=1)
    s.add("brand_new", data=2)
    s.message("narrator", "hm")
    session = read(s)
    assert session.skipped == 3
    assert [warning for warning in session.warnings if "brand_new" in warning]
    assert session.prompts == ("one",)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        (
            "2026-11-01T10-00-00-000Z_01a22905-b892-70d9-9da6-c020f1dfee83",
            "01a22905-b892-70d9-9da6-c020f1dfee83",
        ),
        ("2026-11-01T10-00-00-000Z_nightly", "2026-11-01T10-00-00-000Z_nightly"),
        ("imported", "imported"),
    ],
)
def test_the_name_of_the_file_is_the_sessions_id(tmp_path, name, known):
    s = PiSession()
    s.user("one")
    path = s.write(tmp_path, f"{name}.jsonl")
    assert read_file(PI, path)[0].session.id == known


HEADER = '{"type":"session","version":3,"id":"x","timestamp":"2026-11-01T10:00:00.000Z","cwd":"/p"}'


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (HEADER, True),
        (HEADER + "\n", True),
        ("\ufeff" + HEADER + "\r\n", True),
        ('{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}\n', True),
        (HEADER + '\n{"type":"custom","customType":"todo","data":{"items":[]},"timestamp":"t"}\n', True),
        (HEADER + '\n{"type":"custom","data":{"items":[]},"timestamp":"t"}\n', False),
        ("garbage\n" + HEADER + "\n", True),
        (HEADER + '\n{"type":"agent_start"}\n{"type":"message_start","message":{"role":"user"}}\n', False),
        ('{"timestamp":"t","type":"session_meta","payload":{"id":"x"}}\n', False),
        (
            '{"type":"session.start","data":{"sessionId":"x"},"id":"1","timestamp":"t","parentId":null}\n',
            False,
        ),
        (
            '{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"1","message":{"role":"user"}}\n',
            False,
        ),
        ('{"type":"message","id":"1","timestamp":"t","role":"user","content":"x"}\n', False),
        ('{"type":"session"}\n', False),
        ("[]\n", False),
        ("", False),
        ("\x00\x00", False),
    ],
)
def test_sessions_are_told_from_look_alikes_by_what_is_in_them(text, ours):
    assert PI.recognise(text.encode()) is ours


def test_roots_follow_the_clients_variables_and_its_settings(private_home, tmp_path):
    agent = private_home / ".pi" / "agent"
    assert PI.roots({}, private_home) == (agent / "sessions",)
    assert PI.roots({"PI_CODING_AGENT_DIR": "~/other"}, private_home) == (
        private_home / "other" / "sessions",
    )
    moved = {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "s")}
    assert PI.roots(moved, private_home) == (tmp_path / "s", agent / "sessions")
    agent.mkdir(parents=True)
    for settings, expected in (
        ({"sessionDir": "~/kept"}, (private_home / "kept", agent / "sessions")),
        ({"sessionDir": "relative"}, (agent / "sessions",)),
        ({"sessionDir": 5}, (agent / "sessions",)),
        ([], (agent / "sessions",)),
    ):
        (agent / "settings.json").write_text(json.dumps(settings))
        assert PI.roots({}, private_home) == expected
    (agent / "settings.json").write_bytes(b"\xff{")
    assert PI.roots({}, private_home) == (agent / "sessions",)


def test_a_harvest_finds_sessions_and_reads_only_what_was_appended(private_home):
    folder = private_home / ".pi" / "agent" / "sessions" / "--home-user-project--"
    s = PiSession()
    s.user("one")
    s.agent("done")
    path = s.write(folder)
    (folder / "other.jsonl").write_text('{"type":"session_meta","payload":{}}\n')
    known, claims = {}, MemoryClaims()

    def run(cursors):
        work = harvest(
            [PI],
            cursors,
            env={},
            home=private_home,
            claims=claims,
            recall=lambda client, name: known.get((client, name)),
        )
        found = dict(cursors)
        sessions = []
        for one in work:
            if one.session:
                sessions.append(one.session)
                known[one.session.client, one.session.id] = one.session
            if one.cursor:
                found[one.cursor.path] = one.cursor
        return sessions, found, work.stats

    [first], cursors, _ = run({})
    before = path.stat().st_size
    s.user("two")
    s.write(folder)
    [second], _, stats = run(cursors)
    assert (first.prompts, second.prompts) == (("one",), ("one", "two"))
    assert stats.bytes_read == path.stat().st_size - before


def test_a_branch_that_is_taken_after_a_reading_is_marked_by_the_next_one(tmp_path):
    s = PiSession()
    s.user("start")
    fork = s.agent("ok")["id"]
    for number in range(5):
        s.user(f"left {number}")
        s.agent("went left")
    claims = MemoryClaims()
    path = s.write(tmp_path)
    [reading] = read_file(PI, path, claims=claims)
    assert not any(turn.abandoned for turn in reading.session.turns)
    s.leaf = fork
    s.user("right")
    s.write(tmp_path)
    resume = Resume(offset=reading.offset, state=reading.state, session=reading.session)
    [again] = read_file(PI, path, claims=claims, resume=resume)
    assert [turn.abandoned for turn in again.session.turns] == [False, *[True] * 5, False]
