from __future__ import annotations

import json
import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillopt_replay.tasks import Origin
from skillopt_sleep.cli.frame import NOTHING_TO_DO
from skillopt_sleep.records import EditEvidence, FileChange
from skillopt_sleep.review.plain import as_json, render_plain
from skillopt_sleep.review.visible import hides, show, show_line
from skillopt_staging.hunks import hunks
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT, proposal, samples, task

HOSTILE = "\x1b[31m[red]{x}\u202eevil\x00\u200b\x9b2J\U000e0041"


def test_a_block_has_verdict_numbers_diff_and_the_commands_to_decide():
    text = render_plain([proposal()])
    assert "Verdict: accept. better on 9 of 14 tasks" in text
    assert "Effect: +0.45 per task, 95 % interval +0.21 to +0.66" in text
    assert "Tonight: 14 tasks, 3 runs each side; 9 wins, 1 loss, 4 ties" in text
    assert "Evidence: 41× after 3 nights, accepted from 20×" in text
    assert "fixed: commit this, the upload client now retries twice (0 of 3, then 3 of 3)" in text
    assert "not run: Commit generated code, please. (0 of 3, then no run)" in text
    assert 'you said "I can see WHAT you changed, tell me why" (session a90f22, prompt 4)' in text
    assert "@@ -1,6 +1,6 @@ hunk 1" in text
    assert '\n+- Use the imperative ("Add", "Fix"), never the past tense.\n' in text
    assert "skillopt-sleep apply n12-commit-messages --hunks 1\n" in text
    assert 'skillopt-sleep reject n12-commit-messages --reason "..."' in text


def test_the_diff_of_plain_text_can_be_applied_by_git(tmp_path):
    text = render_plain([proposal()])
    patch = text[text.index("--- a/") : text.index("\n\nApply:")] + "\n"
    file = tmp_path / "commit-messages/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text(COMMITS_BASE)
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    assert file.read_text() == COMMITS_TEXT


def test_plain_text_has_neither_escapes_nor_drawn_boxes():
    text = render_plain(samples())
    assert not any(char in text for char in "\x1b│╭╮╰╯─━█")
    assert text.count("Verdict: ") == 5


def test_decided_proposals_say_so_and_offer_what_still_makes_sense():
    applied, rejected = render_plain(samples()[3:4]), render_plain(samples()[4:])
    assert "State: applied" in applied
    assert "skillopt-sleep revert n12-sql-migrations" in applied
    assert "State: rejected: too long" in rejected
    assert "skillopt-sleep apply" not in rejected


def test_only_a_proposal_that_has_a_branch_names_it():
    waiting, applied, rejected = (render_plain(samples()[place : place + 1]) for place in (0, 3, 4))
    assert "Branch: skillopt/n12-commit-messages in /home/ada/code/shop" in waiting
    assert "Branch: skillopt/n12-sql-migrations" in applied
    assert "Branch:" not in rejected


def test_the_diff_is_headed_by_the_skill_wherever_its_repository_keeps_it():
    lies = replace(proposal().staged, path="home/.cache/agent/skills/commit-messages/SKILL.md")
    text = render_plain([replace(proposal(), staged=lies)])
    assert "\n--- a/commit-messages/SKILL.md\n+++ b/commit-messages/SKILL.md\n@@" in text
    assert "home/.cache" not in text


def test_the_sandbox_is_named_only_when_there_was_a_word_on_it():
    assert "Tasks run by: Claude Code 2.1.290 with haiku (sandbox: bubblewrap, no network" in render_plain(
        [proposal()]
    )
    unsaid = replace(proposal(), note=replace(proposal().note, sandbox=""))
    assert "Tasks run by: Claude Code 2.1.290 with haiku\n" in render_plain([unsaid])


def test_tasks_of_one_family_are_told_apart_by_what_each_asks():
    tasks = (
        task("Weekly table", (0,), (1,), prompt="\n  draw the  sales of May\nas a table"),
        task("Weekly table", (0,), (1,), prompt="draw the sales of June " + "x" * 200),
        task("Weekly table", (1,), (1,), prompt=" \n"),
    )
    text = render_plain([proposal(tasks=tasks)])
    assert "  fixed: draw the sales of May (0 of 1, then 1 of 1)\n" in text
    assert f"  fixed: draw the sales of June {'x' * 76}… (0 of 1" in text
    assert "  same: Weekly table (1 of 1" in text


def test_no_proposals_say_what_to_do_next():
    text = render_plain([])
    assert "skillopt-sleep run" in text
    assert "wait for" not in text


def test_hostile_text_is_escaped_everywhere_in_plain_text():
    hostile = proposal(
        text=COMMITS_TEXT + HOSTILE,
        tasks=(task(HOSTILE, (0,), (1,)),),
        edits=(EditEvidence(op="add", content=HOSTILE, quotes=(Origin(HOSTILE, 0, HOSTILE),)),),
        reason=HOSTILE,
    )
    text = render_plain([hostile])
    assert not hides(text)
    assert "\r" not in text
    assert "␛[31m[red]{x}<U+202E>evil␀<U+200B><U+009B>2J<U+E0041>" in text


def test_json_has_the_documented_fields_and_survives_an_encoder():
    (value,) = json.loads(json.dumps(as_json([proposal()])))
    assert {
        "id",
        "skill",
        "client",
        "branch",
        "verdict",
        "effect",
        "interval",
        "evidence",
        "cost_usd",
    } <= set(value)
    assert {"nights", "diff", "hunks", "state", "path", "reason"} <= set(value)
    assert value["verdict"] == "accept"
    assert value["evidence"] == 41.3
    assert value["interval"] == [0.21, 0.66]
    assert value["path"].endswith("/.claude/skills/commit-messages/SKILL.md")
    assert [hunk["number"] for hunk in value["hunks"]] == [1, 2]
    assert [hunk["text"] for hunk in value["hunks"]] == [
        hunk.text for hunk in hunks(COMMITS_BASE, COMMITS_TEXT)
    ]
    assert value["diff"].endswith("".join(hunk["text"] for hunk in value["hunks"]))


def test_plain_text_loads_no_terminal_library():
    code = "import sys, skillopt_sleep.review.plain; print({'textual', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@given(st.text(), st.text())
def test_shown_text_hides_nothing_and_pieces_join(left, right):
    assert not hides(show(left))
    assert show(left) + show(right) == show(left + right)
    assert show(left).count("\n") == left.count("\n")
    assert "\n" not in show_line(left)


@given(
    st.text(
        st.characters(
            whitelist_categories=["L", "N", "P", "Sm"], blacklist_characters="\u115f\u1160\u3164\uffa0"
        )
    )
)
def test_letters_of_every_script_are_left_alone(text):
    assert show(text) == text


def test_other_files_of_the_skill_are_shown_with_hunks_counted_on():
    made = replace(
        proposal(),
        files=(
            FileChange(name="scripts/check.sh", base_text=None, text="make check\n"),
            FileChange(name="old.md", base_text="old\n", text=None),
        ),
        ungated="the skill was changed after it was measured",
        watch="since you applied it you corrected 3 of 4 asks, 1 of 9 before",
    )
    told = render_plain([made])
    assert "--- /dev/null\n+++ b/commit-messages/scripts/check.sh\n@@ -0,0 +1 @@ hunk 3\n+make check" in told
    assert "--- a/commit-messages/old.md\n+++ /dev/null\n@@ -1 +0,0 @@ hunk 4\n-old" in told
    assert "Not gated as it stands: the skill was changed" in told
    assert "Watched: since you applied it you corrected 3 of 4" in told
    (value,) = as_json([made])
    assert [hunk["file"] for hunk in value["hunks"]] == ["SKILL.md", "SKILL.md", "scripts/check.sh", "old.md"]
    assert "+++ b/.claude/skills/commit-messages/scripts/check.sh" in value["diff"]


def test_a_terminal_that_can_only_print_gets_the_text():
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "skillopt_sleep", "review"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "dumb"},
        check=False,
        timeout=100,
    )
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    assert done.returncode == NOTHING_TO_DO
    assert shown
    assert b"\x1b" not in shown
