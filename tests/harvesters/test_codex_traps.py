"""What rollouts hold besides the user's words, and in how many ways they tell them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters import Kind, Signal
from skillopt_harvesters.sources.codex.words import find_words
from tests.harvesters.rollouts import Rollout, read_in_pieces, read_session

INJECTED = [
    "<environment_context>\n  <cwd>/home/user/project</cwd>\n</environment_context>",
    "<user_instructions>\n\n# Rules\nBe brief.\n\n</user_instructions>",
    "# AGENTS.md instructions for /home/user/project\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
    "<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
    "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>",
    "<skill>\n<name>greet</name>\n<path>/x/skills/greet/SKILL.md</path>\nDo it.\n</skill>",
    "<user_action>\n  <context>User initiated a review task.</context>\n</user_action>",
    '<subagent_notification>{"agent_id":"x"}</subagent_notification>',
    '<hook_prompt hook_run_id="1">Retry</hook_prompt>',
    "<heartbeat>\n  <automation_id>daily</automation_id>\n  <instructions>check</instructions>\n</heartbeat>",
    "Automation: Daily scan\nAutomation ID: daily-scan\nAutomation memory: $CODEX_HOME/automations/daily-scan"
    "/memory.md\nLast run: never\n\nScan the last commits.",
    "<goal_context>\nreach the goal\n</goal_context>",
    "<external_tracker>ticket</external_tracker>",
    '<codex_internal_context source="goal">x</codex_internal_context>',
    '<codex_internal_context source="user_goal">\nUser set goal status: "paused".\n</codex_internal_context>',
    '<codex_internal_context source="goal">\nUser set the goal: "x"\n</codex_internal_context>',
    "Side conversation boundary.\n\nEverything before this boundary is inherited history.",
    "The server restarted and interrupted the previous turn. Continue the unfinished work.",
    "<permissions instructions>\nMay write.\n</permissions instructions>",
    "<environment_context>never closed",
    "Another language model started to solve this problem and produced a summary of its thinking process.",
    "The following is the Codex agent history whose request action you are assessing.",
    "Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead.",
]


@pytest.fixture
def rollout(tmp_path):
    """Make rollouts; each is dated an hour after the one before."""
    made: list[Rollout] = []

    def make(**meta) -> Rollout:
        made.append(Rollout(tmp_path, ms=1_794_996_000_000 + len(made) * 3_600_000, **meta))
        return made[-1]

    return make


@pytest.mark.parametrize("injected", INJECTED)
def test_a_text_the_client_put_in_is_dropped_and_its_neighbour_kept(rollout, injected):
    assert not find_words([injected]).is_act
    assert find_words([injected, "fix the tests"]).prompt == "fix the tests"
    assert find_words(["fix the tests", injected]).prompt == "fix the tests"
    r = rollout()
    r.given(injected)
    r.prompt("fix the tests")
    r.given(injected)
    r.answer("fixed")
    assert r.read().prompts == ("fix the tests",)


def test_words_behind_an_element_in_the_same_text_are_kept():
    assert find_words([INJECTED[0] + "\nfix it"]).prompt == "fix it"
    for text in ("what does <environment_context> mean?", "<skills>mine</skills>"):
        assert find_words([text]).prompt == text


def test_elements_of_the_users_own_are_his_words():
    text = "<instructions>Be brief.</instructions>\n<document>x</document>\nSum it up."
    assert find_words([text]).prompt == text
    text = "<heartbeat>60</heartbeat> is what it sends. Why?"
    assert find_words([text]).prompt == text
    text = "<permissions>rw</permissions> is what the file says. Why?"
    assert find_words([text]).prompt == text
    assert find_words(["<permissions instructions>x</permissions instructions> and so?"]).prompt == "and so?"


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("<skill></SKILL>" * 500_000, ""),
        ("<external_x></external_x>" * 300_000 + "x", "x"),
        ("<skill>" * 1_000_000, ""),
        ("<skill></x>" * 700_000, ""),
        ("<external_" + "x" * 8_000_000, None),
        ("<image></image>" * 500_000, ""),
        ("a" + "<image></image>" * 500_000, "a"),
        ("<image x" * 1_000_000 + "</image>", None),
        ("# Context\n" + "## My request for Codex:\n" * 300_000 + "x", "x"),
        ("## User Input\n```\n" * 400_000, "## User Input"),
        ("## User Input\n" * 500_000 + "x", None),
        ("\n" * 8_000_000 + "x", "x"),
        ("<user_shell_command>" + "<command>" * 800_000 + "</user_shell_command>", ""),
        ("<environment_context>" + "<cwd>" * 1_000_000 + "</environment_context>", ""),
        ("x" + "<" * 8_000_000, None),
        ("<a" + " " * 8_000_000, "<a"),
    ],
    ids=range(16),
)
def test_no_text_takes_long(text, prompt):
    """It would take hours to try every beginning with every end."""
    assert find_words([text]).prompt == (text if prompt is None else prompt)


def test_of_what_an_editor_sends_only_the_request_is_the_users():
    context = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n"
    assert find_words([context + "rename the class"]).prompt == "rename the class"
    selected = context.replace(
        "Active file: a.py", "Active selection of the file:\n## My request for Codex:\nno"
    )
    assert find_words([selected + "rename it"]).prompt == "rename it"
    files = "# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request for Codex:\nlook\n"
    image = '<image name=[Image #1] path="/tmp/a.png">\n</image>'
    words = find_words([files + image])
    assert (words.prompt, words.image) == ("look", True)
    assert find_words(["# Plan\n\n1. Do it"]).prompt == "# Plan\n\n1. Do it"


@pytest.mark.parametrize("events", [True, False])
def test_a_prompt_is_counted_once_whichever_streams_tell_it(rollout, events):
    r = rollout()
    r.prompt("write the parser", events=events)
    r.answer("written")
    r.prompt("write the parser", events=events)
    r.answer("written again")
    r.prompt("now the docs", events=events)
    assert r.read().prompts == ("write the parser", "write the parser", "now the docs")


def test_a_prompt_told_by_events_alone_or_before_the_history_is_counted_once(rollout):
    r = rollout()
    r.event("user_message", message="one", images=[])
    r.answer("1")
    r.event("user_message", message="two", images=[])
    r.given("two")
    r.answer("2")
    assert r.read().prompts == ("one", "two")


def test_prompts_given_one_after_the_other_are_told_apart(rollout):
    r = rollout()
    for stream in (r.given, lambda text: r.event("user_message", message=text)):
        for text in ("a", "b", "c", "a"):
            stream(text)
    r.answer("all four")
    assert r.read().prompts == ("a", "b", "c", "a")


def test_a_file_may_go_on_with_other_streams_than_it_began_with(rollout):
    r = rollout(cli_version="0.36.0")
    r.prompt("one", events=False)
    r.given("1", role="assistant")
    r.meta(cli_version="0.142.4")
    r.prompt("two")
    r.answer("2")
    r.begin()
    r.given("three", kinds=["user.text"])
    r.completed("UserMessage", content=[{"type": "text", "text": "three"}])
    r.completed("AgentMessage", content=[{"type": "Text", "text": "3"}])
    r.given("3", role="assistant")
    r.event("user_message", message="three")
    session = r.read()
    assert session.prompts == ("one", "two", "three")
    assert [turn.answer for turn in session.turns] == ["1", "2", "3"]
    assert session.client_version == "0.142.4"


def test_the_same_prompt_in_other_words_is_one_prompt(rollout):
    r = rollout()
    r.given("rename the class, please (a.py:1-3)")
    r.event("user_message", message="rename the class, please")
    r.answer("done")
    assert r.read().prompts == ("rename the class, please",)


def test_a_prompt_that_was_repeated_because_nothing_came_counts_each_time(rollout):
    r = rollout()
    for _ in range(2):
        r.begin()
        r.prompt("server trouble")
        r.end()
    session = r.read()
    assert session.prompts == ("server trouble", "server trouble")
    assert [turn.signals for turn in session.turns] == [(Signal.ERROR,)] * 2


@pytest.mark.parametrize("prompts", [1, 3])
def test_calls_that_a_server_numbers_anew_with_every_answer_are_calls_of_their_own(rollout, prompts):
    r = rollout()
    for code in range(3):
        if code < prompts:
            r.prompt(f"prompt {code}")
        r.item("function_call", name="exec_command", arguments='{"cmd":"make"}', call_id="0")
        r.lines.append(r.lines[-1])
        output = f"Chunk ID: 0a\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n"
        r.item("function_call_output", call_id="0", output=output)
    calls = [(call.command, call.exit_code) for turn in r.read().turns for call in turn.tool_calls]
    assert calls == [("make", 0), ("make", 1), ("make", 2)]


def test_a_call_whose_end_is_told_before_it_counts_once(rollout):
    r = rollout()
    r.prompt("run the tests")
    r.event(
        "exec_command_end", call_id="a", command=["bash", "-lc", "make"], exit_code=2, aggregated_output="no"
    )
    r.item("function_call", name="shell", arguments='{"command":["bash","-lc","make"]}', call_id="a")
    r.item("function_call_output", call_id="a", output="no")
    assert [(call.command, call.exit_code) for call in r.read().turns[0].tool_calls] == [("make", 2)]


def test_a_record_written_twice_counts_once(rollout):
    r = rollout()
    r.prompt("a prompt")
    r.call("make")
    r.spend(10, 5)
    r.answer("an answer")
    r.lines = [line for line in r.lines for _ in range(2)]
    session = r.read()
    assert session.prompts == ("a prompt",)
    assert len(session.turns[0].tool_calls) == 1
    assert session.tokens.output == 5


def test_an_unknown_element_is_the_clients_where_events_tell_the_users_words(rollout):
    r = rollout()
    r.prompt("first")
    r.given("<brand_new_context>\nwhatever\n</brand_new_context>")
    r.answer("ok")
    r.prompt("<b>bold</b>")
    assert r.read().prompts == ("first", "<b>bold</b>")
    r = rollout()
    r.prompt("<b>bold</b>", events=False)
    assert r.read().prompts == ("<b>bold</b>",)


def test_where_the_client_says_whose_a_text_is_that_decides(rollout):
    r = rollout()
    r.given("made up context", "write it", kinds=["brand.new_context", "user.text"])
    r.given("a reminder", kinds=["harness.reminder"])
    r.given(INJECTED[5], kinds=["skills.selected_skill_instructions"])
    r.given("for the model", role="developer")
    session = r.read()
    assert session.prompts == ("write it",)
    assert session.turns[0].skills == ("greet",)


def test_damage_to_a_record_that_repeats_another_is_told_however_the_file_grew(rollout):
    r = rollout()
    context = {"turn_id": r.begin(), "cwd": "/home/user/project", "model": "m", "sandbox": {"writes": True}}
    r.add("turn_context", context)
    grown = len(r.lines)
    r.add("turn_context", context)
    r.lines[-1] = r.lines[-1].replace(b'"sandbox":', b'"sandbox"F')
    r.prompt("first")
    lines = [line.rstrip(b"\n") + b"\n" for line in r.lines]
    whole, cut = b"".join(lines), len(b"".join(lines[:grown]))
    r.path.parent.mkdir(parents=True, exist_ok=True)
    skipped = [read_in_pieces(r.path, whole, cuts).session.skipped for cuts in ([], [cut])]
    assert skipped == [1, 1]


def test_a_sum_of_tokens_counts_that_a_broken_record_told_before(rollout):
    r = rollout()
    r.prompt("first")
    r.spend(1000, 50)
    r.answer("Done.")
    r.spend(500, 20)
    broken = r.lines[-1].replace(b'"info":', b'"info"F')
    assert broken != r.lines[-1]
    r.lines.insert(-1, broken)
    session = r.read()
    assert (session.tokens.input, session.tokens.output, session.skipped) == (1500, 70, 1)


def test_what_a_program_puts_into_the_history_between_turns_was_not_said(rollout):
    r = rollout()
    r.prompt("first")
    r.answer("Done.")
    outside = {"turn_id": "auto-compact-1", "content_item_kinds": ["unknown"]}
    r.given("put in", internal_chat_message_metadata_passthrough=outside)
    r.given("put in, too", role="assistant", internal_chat_message_metadata_passthrough=outside)
    own = {"turn_id": "auto-compact-1", "content_item_kinds": ["user.text"]}
    r.given("second", internal_chat_message_metadata_passthrough=own)
    session = r.read()
    assert session.prompts == ("first", "second")
    assert session.turns[0].answer == "Done."


def test_events_that_are_not_the_users_words_open_no_turn(rollout):
    r = rollout()
    r.event("user_message", message="rules", kind="user_instructions")
    r.event("user_message", message="folder", kind="environment_context")
    r.event("user_message", message="do it", kind="plain")
    assert r.read().prompts == ("do it",)


def test_an_image_alone_is_a_turn_without_words(rollout):
    r = rollout()
    r.prompt("look at things")
    r.answer("which?")
    r.given('<image name=[Image #1] path="a.png">', "</image>")
    r.event("user_message", message="", images=["data:image/png;base64,AAAA"])
    r.answer("a red square")
    session = r.read()
    assert session.prompts == ("look at things",)
    assert [turn.answer for turn in session.turns] == ["which?", "a red square"]


TEMPLATE = (
    "---\ndescription: Make a plan\n---\n\n## User Input\n\n```text\n{}\n```\n\nYou **MUST** read it.\n"
    "The text the user typed after `/speckit.specify` in the message is the feature.\n" + "1. Do.\n" * 60
)


def test_of_a_prompt_file_the_users_part_stands_in_the_fence(rollout):
    r = rollout()
    r.prompt(TEMPLATE.format("add a login page"))
    r.answer("ok")
    r.prompt(TEMPLATE.format("$ARGUMENTS"))
    assert [(turn.command, turn.prompt) for turn in r.read().turns] == [
        ("/speckit.specify", "add a login page"),
        ("/speckit.specify", ""),
    ]
    short = "## User Input\n\n```text\nx\n```"
    assert find_words([short]).prompt == short


def test_a_prompt_file_without_a_name_is_known_by_its_text(rollout):
    one = TEMPLATE.replace("after `/speckit.specify` ", "")
    other = one.replace("Make a plan", "Make tasks")
    commands = [find_words([file.format(text)]).command for file in (one, other) for text in ("x", "y")]
    assert commands[0] == commands[1] != commands[2] == commands[3]
    assert commands[0].startswith("/prompts:")
    # What the user typed names nothing.
    assert find_words([one.format("see: typed after `/other`")]).command == commands[0]


def test_a_plan_that_is_carried_out_in_a_new_session_is_a_go_ahead(rollout):
    r = rollout()
    told = "Read the approved plan at /home/user/.codex/attachments/6723/approved-plan.md and implement it."
    r.given(told)
    r.add("retained_context", {"type": "verified_answer"})
    session = r.read()
    assert session.prompts == ("Implement the plan.",)
    assert session.skipped == 0
    assert find_words(["Read the approved plan at docs/plan.md and implement it."]).prompt.startswith("Read")


def test_a_plan_the_user_agreed_to_is_the_agents_words():
    plan = "PLEASE IMPLEMENT THIS PLAN:\n# Plan\n1. never use tabs"
    assert find_words([plan]).prompt == "Implement the plan."


def test_what_was_piped_in_stays_with_the_prompt(rollout):
    r = rollout(source="exec", originator="codex_exec")
    r.prompt("remember this\n\n<stdin>\npiped\n</stdin>")
    session = r.read()
    assert session.prompts == ("remember this\n\n<stdin>\npiped\n</stdin>",)
    assert not session.turns[0].typed


def test_a_shell_line_of_the_user_is_a_turn_but_no_prompt(rollout):
    r = rollout()
    r.prompt("first")
    r.answer("ok")
    r.begin()
    output = "<command>\ngit status\n</command>\n<result>\nExit code: 0\n</result>\n"
    r.completed("CommandExecution", id="x", command=["bash", "-lc", "git status"], source="user_shell")
    r.given(f"<user_shell_command>\n{output}</user_shell_command>")
    r.end()
    session = r.read()
    assert session.prompts == ("first",)
    assert [(turn.command, turn.prompt, turn.signals) for turn in session.turns][1] == ("!", "git status", ())
    assert session.turns[1].tool_calls == ()


def test_a_compaction_repeats_no_prompt_and_its_summary_is_no_answer(rollout):
    r = rollout()
    r.prompt("write the parser")
    r.answer("written")
    r.given("the user wants a parser", role="assistant")
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "other words"}]}
    ]
    r.add("compacted", {"message": "Summary:\nthe user wants a parser", "replacement_history": history})
    r.event("context_compacted")
    r.event("agent_message", message="Compact task completed")
    session = r.read()
    assert session.prompts == ("write the parser",)
    assert session.turns[0].answer == "written"
    assert session.skipped == 0


@pytest.mark.parametrize("newest", [False, True])
def test_what_a_review_asks_its_agent_is_not_what_the_user_said(rollout, newest):
    r = rollout()
    r.prompt("write it")
    r.answer("written")
    target = {"type": "custom", "instructions": "only a.py"}
    if newest:
        r.begin()
        r.completed("EnteredReviewMode", target=target)
        r.event("task_started", turn_id="x", turn_attribution={"parent_turn_id": r.task})
        other = {"type": "UserMessage", "content": [{"type": "text", "text": "Review only a.py"}]}
        r.event("item_completed", thread_id="another", turn_id="x", item=other)
        r.completed("ExitedReviewMode", review_output=None)
    else:
        r.event("entered_review_mode", target=target, user_facing_hint="only a.py")
        r.event("entered_review_mode", target=target, user_facing_hint="only a.py")
        r.event("user_message", message="Review only a.py")
        r.event("user_message", message="Review only a.py")
        r.event("exited_review_mode", review_output=None)
    r.given("<user_action>\n  <action>review</action>\n</user_action>")
    r.answer("one finding")
    r.prompt("fix it")
    session = r.read()
    assert [(turn.command, turn.prompt) for turn in session.turns] == [
        (None, "write it"),
        ("/review", "only a.py"),
        (None, "fix it"),
    ]
    assert session.turns[1].answer == "one finding"


def test_a_review_whose_end_is_lost_swallows_no_prompt(rollout):
    r = rollout()
    r.event("entered_review_mode", prompt="Review the current changes", user_facing_hint="current changes")
    r.event("user_message", message="Review the current changes")
    r.prompt("and now fix it")
    assert r.read().prompts == ("/review", "and now fix it")


def test_going_back_marks_the_turns_behind_as_abandoned(rollout):
    r = rollout()
    for text in ("one", "two", "three", "four"):
        r.prompt(text)
        r.answer("ok")
    r.event("thread_rolled_back", num_turns=3)
    r.prompt("another way")
    assert [turn.abandoned for turn in r.read().turns] == [False, True, True, True, False]


def test_going_back_twice_goes_back_further(rollout):
    r = rollout()
    for text in ("one", "two", "three", "four", "five"):
        r.prompt(text)
        r.answer("ok")
    for _ in range(3):
        r.event("thread_rolled_back", num_turns=1)
    r.prompt("another way")
    assert [turn.abandoned for turn in r.read().turns] == [False, False, True, True, True, False]
    r.event("thread_rolled_back", num_turns=2**53)
    r.prompt("from the start")
    assert [turn.abandoned for turn in r.read().turns] == [True] * 6 + [False]


def test_going_back_very_often_takes_no_time(rollout):
    r = rollout()
    for number in range(2_000):
        r.prompt(f"prompt {number}")
        r.answer("ok")
    for _ in range(20_000):
        r.event("thread_rolled_back", num_turns=1)
    assert all(turn.abandoned for turn in r.read().turns)


def test_two_reviews_of_which_the_first_one_does_not_end_are_two(rollout):
    r = rollout()
    r.event("entered_review_mode", target={"type": "uncommittedChanges"})
    r.completed("EnteredReviewMode", target={"type": "uncommittedChanges"})
    r.event("entered_review_mode", target={"type": "custom", "instructions": "look at a.txt"})
    assert [(turn.command, turn.prompt) for turn in r.read().turns] == [
        ("/review", ""),
        ("/review", "look at a.txt"),
    ]


@pytest.mark.parametrize(
    ("reason", "interrupted"),
    [
        ("interrupted", True),
        ("replaced", True),
        (None, True),
        ("review_ended", False),
        ("budget_limited", False),
    ],
)
def test_a_turn_the_user_stopped_is_marked_and_no_other(rollout, reason, interrupted):
    r = rollout()
    r.begin()
    r.prompt("one")
    r.event("turn_aborted", turn_id=r.task, reason=reason)
    r.begin()
    r.prompt("no, two")
    session = r.read()
    assert [Signal.INTERRUPTION in turn.signals for turn in session.turns] == [interrupted, False]


def test_an_interruption_is_also_told_to_the_model(rollout):
    r = rollout()
    r.prompt("one", events=False)
    r.given(INJECTED[4])
    assert r.read().turns[0].signals == (Signal.INTERRUPTION,)


def test_the_end_of_a_turn_tells_errors_and_a_lost_answer(rollout):
    r = rollout()
    r.begin()
    r.prompt("one")
    r.end(error={"message": "high demand"})
    r.begin()
    r.prompt("two")
    r.end(last_agent_message="the answer")
    r.prompt("three")
    r.event("error", message="stream disconnected")
    session = r.read()
    assert [Signal.ERROR in turn.signals for turn in session.turns] == [True, False, True]
    assert session.turns[1].answer == "the answer"


@pytest.mark.parametrize(
    ("meta", "kind"),
    [
        ({}, Kind.HUMAN),
        ({"source": "vscode", "originator": "codex_vscode"}, Kind.HUMAN),
        ({"source": "vscode", "originator": "Codex Desktop"}, Kind.HUMAN),
        ({"source": "vscode", "originator": "JetBrains.IntelliJ IDEA"}, Kind.HUMAN),
        ({"source": ..., "originator": "codex_cli_rs"}, Kind.HUMAN),
        ({"source": ..., "originator": ...}, Kind.HUMAN),
        ({"source": "exec", "originator": "codex_exec"}, Kind.HEADLESS),
        ({"source": ..., "originator": "codex_exec"}, Kind.HEADLESS),
        ({"source": "vscode", "originator": "codex_sdk_ts"}, Kind.HEADLESS),
        ({"source": "mcp"}, Kind.HEADLESS),
        ({"source": "vscode", "originator": "somebodys-bot"}, Kind.HEADLESS),
        ({"source": {"custom": "bot"}}, Kind.HEADLESS),
        ({"thread_source": "user"}, Kind.HUMAN),
        ({"thread_source": "memory_consolidation"}, Kind.HEADLESS),
        ({"source": {"subagent": "review"}}, Kind.SUBAGENT),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p"}}}}, Kind.SUBAGENT),
        ({"source": {"subagent": {"other": "guardian"}}}, Kind.SUBAGENT),
        ({"thread_source": "subagent", "parent_thread_id": "p"}, Kind.SUBAGENT),
        ({"originator": "skillopt-sleep", "source": "exec"}, Kind.REPLAY),
        ({"thread_source": "skillopt-sleep-night-3", "source": "exec"}, Kind.REPLAY),
        ({"cwd": "/tmp/skillopt-replay-x1/project", "source": "exec"}, Kind.REPLAY),
        ({"cwd": "C:\\Temp\\skillopt-replay-x1\\project"}, Kind.REPLAY),
    ],
)
def test_the_first_record_says_who_spoke(rollout, meta, kind):
    r = rollout(**meta)
    r.prompt("a prompt")
    session = r.read()
    assert session.kind is kind
    assert session.prompts == ("a prompt",)
    assert session.turns[0].typed is (kind is Kind.HUMAN)
    assert session.parent == ("p" if "parent_thread_id" in str(meta) else None)
    known = any(name in str(meta) for name in ("exec", "sdk", "mcp"))
    strange = any("is not known" in warning for warning in session.warnings)
    assert strange == (kind is Kind.HEADLESS and not known)


def test_a_person_may_go_on_with_what_a_program_began_and_the_other_way_round(rollout):
    r = rollout(source="exec", originator="codex_exec")
    for trigger, text in (("exec", "one"), ("user", "two")):
        r.begin(turn_attribution={"turn_trigger": trigger})
        r.prompt(text)
    session = r.read()
    assert session.kind is Kind.HUMAN
    assert [turn.typed for turn in session.turns] == [False, True]
    r = rollout()
    for trigger, text in (("user", "one"), ("exec", "two"), (None, "three")):
        r.begin(turn_attribution={"turn_trigger": trigger})
        r.prompt(text)
    assert [turn.typed for turn in r.read().turns] == [True, False, True]


def test_where_the_record_that_says_who_spoke_is_lost_nothing_counts_as_typed(rollout):
    r = rollout()
    r.prompt("a prompt")
    del r.lines[0]
    session = r.read()
    assert (session.kind, session.prompts, session.turns[0].typed) == (Kind.HEADLESS, ("a prompt",), False)
    assert any("missing" in warning for warning in session.warnings)


def test_the_oldest_files_tell_the_folder_in_what_the_model_was_given(tmp_path):
    path = tmp_path / "rollout-2025-08-01T10-00-00-5973b6c0-94b8-487b-a530-2aeb6098ae0e.jsonl"
    bare = [
        {
            "id": "5973b6c0-94b8-487b-a530-2aeb6098ae0e",
            "timestamp": "2025-08-01T10:00:00.000Z",
            "instructions": None,
        },
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": INJECTED[0]}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "write it"}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "AAAA"},
        {
            "type": "local_shell_call",
            "call_id": "c1",
            "status": "completed",
            "action": {"type": "exec", "command": ["bash", "-lc", "make"]},
        },
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": '{"output":"x","metadata":{"exit_code":2}}',
        },
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in bare))
    session = read_session(path)
    assert (session.project, session.prompts, session.kind) == (
        "/home/user/project",
        ("write it",),
        Kind.HUMAN,
    )
    [call] = session.turns[0].tool_calls
    assert (call.name, call.command, call.exit_code, call.error) == ("local_shell", "make", 2, "x")
    assert (session.turns[0].typed, session.skipped) == (True, 0)


def test_the_skills_on_offer_are_listed_for_the_model(rollout):
    skills = (
        "## Skills\n### Available skills\n- greet: Greets. (file: r0/greet/SKILL.md)\n- pdf:make: Makes. "
    )
    skills += "(environment resource: x)\n- no skill: nothing\n### How to use skills\n- Discovery: The list\n"
    r = rollout()
    r.given(f"<skills_instructions>\n{skills}</skills_instructions>", role="developer")
    r.given(f"# AGENTS.md instructions for /p\n\n{skills.replace('greet', 'older')}")
    r.prompt("hello")
    session = r.read()
    assert session.skills_offered == ("greet", "pdf:make", "older")
    assert session.prompts == ("hello",)


def test_the_session_carries_what_its_first_records_say(rollout):
    r = rollout()
    r.add("turn_context", {"cwd": "/home/user/project/sub", "model": "gpt-5.5", "turn_id": "1"})
    r.add("turn_context", {"cwd": "/home/user/project/sub", "model": "gpt-6", "turn_id": "2"})
    r.prompt("x")
    session = r.read()
    assert (session.project, session.branch, session.commit) == ("/home/user/project", "main", "c0ffee")
    assert (session.model, session.client_version) == ("gpt-6", "0.142.4")
    assert session.started == "2026-11-18T10:00:00.000Z"
    assert session.ended == "2026-11-18T10:00:05.005Z"


def test_times_are_utc_and_may_run_backwards(rollout):
    r = rollout()
    r.prompt("x")
    for written in ("2026-11-18T09:30:00+02:00", 1795000000, "no time", None, "2026-11-18T23:00:00Z"):
        r.line(
            {"timestamp": written, "type": "event_msg", "payload": {"type": "agent_message", "message": "y"}}
        )
    session = r.read()
    assert (session.started, session.ended) == ("2026-11-18T07:30:00.000Z", "2026-11-18T23:00:00.000Z")


def test_everything_stored_is_redacted(rollout):
    secret = "ghp_" + "x9Yz8Wv7Ut6Sr5Qp4On3"
    r = rollout()
    r.prompt(f"push with {secret}")
    r.call(f"git push https://u:{secret}@host", f"failed {secret}", code=1)
    r.answer(f"I used {secret}")
    assert secret not in repr(r.read())


def test_unknown_types_and_broken_lines_cost_one_record_each(rollout):
    r = rollout()
    r.prompt("a prompt")
    r.add("brand_new", {"x": 1})
    r.event("brand_new_event")
    r.item("brand_new_item")
    for line in (
        b'{"timestamp":"x","type":"event_msg","payload"',
        b"[1,2]",
        b"null",
        b'"text"',
        b"42",
        b"{}",
    ):
        r.line(line)
    r.line({"type": "item.completed", "item": {"type": "agent_message", "text": "from another format"}})
    r.prompt("second")
    session = r.read()
    assert session.prompts == ("a prompt", "second")
    assert session.skipped == 3 + 6 + 1
    assert any("event_msg/brand_new_event" in warning for warning in session.warnings)


def test_a_record_written_with_blanks_is_found_behind_one_that_tells_nothing(rollout):
    r = rollout()
    r.add("world_state", {"full": True, "state": {}})
    whole = r.lines.pop()
    r.add("dynamic_tools_updated", {"tools": []})
    r.event("user_message", message="run the tests")
    r.lines[-1] = whole + json.dumps(json.loads(r.lines[-1])).encode()
    session = r.read()
    assert (session.prompts, session.skipped) == (("run the tests",), 0)


def test_a_record_glued_to_a_torn_one_is_found(rollout):
    r = rollout()
    r.add("world_state", {"full": True, "state": {"x": "y" * 100}})
    torn = r.lines.pop()[:80]
    r.event("user_message", message="a prompt")
    r.lines[-1] = torn + r.lines[-1]
    r.add("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "AAAA"})
    whole = r.lines.pop()
    r.event("user_message", message="another")
    r.lines[-1] = whole + r.lines[-1]
    session = r.read()
    assert (session.prompts, session.skipped) == (("a prompt", "another"), 1)


SHAPES = [None, 1, [], {}, "text", ["bare string"], [None, 3, {"type": "input_text", "text": None}], True]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_may_have_any_shape(rollout, shape):
    r = rollout(git=shape, source=shape if shape != "text" else "cli", cli_version=shape)
    r.item("message", role="user", content=shape)
    r.item("message", role="assistant", content=shape, internal_chat_message_metadata_passthrough=shape)
    r.item("function_call", name=shape, arguments=shape, call_id=shape)
    r.item("function_call", name="shell", arguments=json.dumps(shape), call_id="c")
    r.item("function_call_output", call_id="c", output=shape)
    r.item("custom_tool_call", name="exec", input=shape, call_id="d")
    r.item("local_shell_call", action=shape)
    r.event("user_message", message=shape, images=shape)
    r.event("agent_message", message=shape)
    r.event("token_count", info=shape)
    r.event("token_count", info={"total_token_usage": shape})
    r.event("task_started", turn_id=shape, turn_attribution=shape, started_at=shape)
    r.event("task_complete", turn_id=shape, error=shape, last_agent_message=shape)
    r.event("turn_aborted", turn_id=shape, reason=shape)
    r.event("item_completed", item=shape)
    for kind in ("UserMessage", "AgentMessage", "CommandExecution", "FileChange", "McpToolCall"):
        r.completed(kind, content=shape, command=shape, changes=shape, exit_code=shape, error=shape)
    r.event("patch_apply_end", call_id="x", changes=shape, success=shape)
    r.event("mcp_tool_call_end", call_id="y", result=shape)
    r.event("thread_rolled_back", num_turns=0 if shape in (1, True) else shape)
    r.event("entered_review_mode", target=shape, prompt=shape, user_facing_hint=shape)
    r.event("exited_review_mode")
    r.add("turn_context", {"cwd": shape, "model": shape, "turn_id": shape})
    r.add("compacted", {"message": shape})
    r.add("token_usage_record", {"usage": shape, "response_id": shape})
    for kind in ("session_meta", "response_item", "event_msg", "turn_context", "compacted"):
        r.add(kind, shape)
    r.prompt("a prompt")
    assert r.read().prompts[-1] == "a prompt"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    "type id role content message call_id name arguments input output item info turn_id source git usage"
    " reason num_turns target cwd model thread_id exit_code changes command".split()
)
TYPES = st.sampled_from(["response_item", "event_msg", "session_meta", "turn_context", "token_usage_record"])


@given(st.lists(st.tuples(TYPES, st.dictionaries(KEYS, JSON, max_size=6)), max_size=6))
def test_no_record_crashes_the_reader(tmp_path, records):
    r = Rollout(tmp_path)
    for kind, payload in records:
        r.add(kind, payload)
    assert r.read().client == "codex"


def test_what_the_client_took_over_from_another_programs_session_is_that_sessions(rollout):
    """As 0.171 writes it: all at once, and each turn named in a way of its own."""
    r = rollout()
    for number, (prompt, answer) in enumerate((("fix the tests", "Fixed."), ("and the docs", "Written.")), 1):
        task = f"external-import-turn-{number}"
        r.event("task_started", turn_id=task, started_at=1_794_000_000 + number)
        r.event("user_message", message=prompt, local_images=[], text_elements=[])
        r.given(prompt)
        r.answer(answer)
        r.answer("[external_agent_tool_call: Bash]\ncommand: ls\n[/external_agent_tool_call]")
        if number == 2:
            r.event("agent_message", message="<EXTERNAL SESSION IMPORTED>")
            r.count([0, 0, 0])
        r.event("task_complete", turn_id=task, last_agent_message=None)
    session = r.read()
    assert (session.turns, session.kind, session.skipped) == ((), Kind.HUMAN, 0)
    r.begin()
    r.prompt("no, use make check")
    r.answer("Used.")
    r.spend(100, 7)
    r.end()
    session = r.read()
    assert [(turn.prompt, turn.typed, turn.answer) for turn in session.turns] == [
        ("no, use make check", True, "Used.")
    ]
    assert session.before is not None
    assert session.before.prompt == "and the docs"
    assert (session.tokens.input, session.tokens.output) == (100, 7)


def test_what_the_desktop_starts_by_the_clock_is_no_persons_session(rollout):
    r = rollout(originator="Codex Desktop", source="vscode", thread_source="automation")
    r.begin()
    r.prompt("scan the last commits")
    r.answer("Nothing new.")
    r.end()
    session = r.read()
    assert (session.kind, session.warnings) == (Kind.HEADLESS, ())
    assert [turn.typed for turn in session.turns] == [False]
    r.begin(turn_attribution={"turn_trigger": "user"})
    r.prompt("look at the tests as well")
    session = r.read()
    assert (session.kind, session.turns[-1].typed) == (Kind.HUMAN, True)


def set_goal(rollout, said):
    rollout.given(f'<codex_internal_context source="user_goal">\n{said}\n</codex_internal_context>')


def test_a_goal_the_user_set_is_a_prompt_and_the_work_on_it_is_not_that_of_the_one_before(rollout):
    r = rollout()
    r.begin(turn_attribution={"turn_trigger": "user"})
    r.prompt("say hello")
    r.answer("hello")
    r.end(last_agent_message="hello")
    goal = 'make "all" tests pass\n\\d+ ü'
    set_goal(r, f'User set the goal: {json.dumps(goal, ensure_ascii=False)}\nUser set goal status: "active".')
    for number in range(3):
        r.begin(turn_attribution={"turn_trigger": "goal"})
        r.add("turn_context", {"turn_id": r.task, "cwd": "/home/user/project"})
        r.given('<codex_internal_context source="goal">\nContinue.\n</codex_internal_context>')
        r.call(f"make test-{number}", code=1)
        if number < 2:
            r.end()
    r.event("turn_aborted", turn_id=r.task, reason="interrupted")
    set_goal(r, "User cleared the goal.")
    session = r.read()
    hello, asked = session.turns
    assert (hello.prompt, hello.tool_calls, hello.signals) == ("say hello", (), ())
    assert (asked.command, asked.prompt) == ("/goal", goal)
    assert [call.command for call in asked.tool_calls] == ["make test-0", "make test-1", "make test-2"]
    assert Signal.INTERRUPTION in asked.signals


def test_a_goal_too_long_to_be_told_is_one_all_the_same(rollout):
    r = rollout()
    set_goal(r, "User set the goal: [objective omitted; exceeds the evidence limit].")
    r.answer("done")
    (turn,) = r.read().turns
    assert (turn.command, turn.prompt, turn.answer) == ("/goal", "", "done")


def test_a_conversation_beside_a_thread_is_a_persons(rollout):
    r = rollout(thread_source="tui_side_chat", source="vscode")
    r.given("Side conversation boundary.\n\nEverything before this boundary is inherited history.")
    r.prompt("what does this do?")
    r.answer("it waits")
    session = r.read()
    assert (session.kind, session.prompts, session.warnings) == (Kind.HUMAN, ("what does this do?",), ())


@pytest.mark.parametrize("more", ["", "\nBefore writing, check whether AGENTS.md already exists."])
def test_what_the_client_says_for_init_is_a_command(rollout, more):
    said = f"Generate a file named AGENTS.md that serves as a contributor guide for this repository.{more}"
    r = rollout()
    r.prompt(
        said
        + "\nYour goal is clear.\n\n- (Optional) Architecture Overview, or Agent-Specific Instructions.\n"
    )
    r.answer("written")
    r.prompt(said + " In German, please.")
    german = r.read().turns
    assert [(turn.command, bool(turn.prompt)) for turn in german] == [("/init", False), (None, True)]
