from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from textual.widgets import Input, Static, TabbedContent

from skillopt_gate.verdicts import Decision
from skillopt_replay.tasks import Origin
from skillopt_sleep.errors import UsageError
from skillopt_sleep.records import EditEvidence
from skillopt_sleep.review.app import ReviewApp
from skillopt_sleep.review.dialogs import AskReason, Confirm, Help
from skillopt_sleep.review.diff_view import DiffView
from skillopt_sleep.review.queue import Queue
from skillopt_sleep.review.screenshot import settle
from skillopt_staging.proposals import State
from tests.support.proposals import COMMITS_BASE, NOW, MemoryDesk, proposal, samples, task, verdict

HOSTILE = "[red]no[/red] [@click=app.bell]x[/] \x1b[31m\u202eevil\x00"
SHOWN = "[red]no[/red] [@click=app.bell]x[/] ␛[31m<U+202E>evil␀"


def screen_text(app: ReviewApp) -> str:
    """What is on the screen, line by line."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


@asynccontextmanager
async def review(desk: MemoryDesk, size=(120, 36), **options):
    app = ReviewApp(desk, now=lambda: NOW, **options)
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)

        async def press(*keys: str) -> str:
            for key in keys:
                await pilot.press(key)
                await settle(pilot)
            return screen_text(app)

        yield app, press


def toasts(app: ReviewApp) -> list[str]:
    return [notification.message for notification in app._notifications]


async def test_the_queue_shows_skill_client_verdict_gain_cost_and_age():
    async with review(MemoryDesk(samples())) as (_app, press):
        seen = await press()
    assert "Proposals" in seen
    assert "3 waiting · 2 decided" in seen
    for text in ("commit-messages", "accept +0.45 [+0.21, +0.66]", "claude · $0.84 · 3 h"):
        assert text in seen
    assert "not yet +0.12 [−0.14, +0.37]" in seen
    assert "copilot · price unknown · 1 d" in seen
    assert "changelog  rejected" in seen


async def test_the_diff_shows_signs_numbers_and_whose_words_it_rests_on():
    async with review(MemoryDesk(samples())) as (_app, press):
        seen = await press()
    assert "✓ ACCEPT" in seen
    assert "claude · project · 3 nights" in seen
    assert "→ /home/ada/code/shop/.claude/skills/commit-messages/SKILL.md" in seen
    assert "[x] hunk 1 of 2 · front matter" in seen
    assert ' 12     - - Use the past tense ("Added", "Fixed").' in seen
    assert '     12 + - Use the imperative ("Add", "Fix"), never the past tense.' in seen
    assert "you said “I can see WHAT you changed, tell me why”  session a90f22, prompt 4" in seen


async def test_moving_the_selection_changes_the_diff():
    async with review(MemoryDesk(samples())) as (app, press):
        seen = await press("j")
        assert app.selected.skill == "run-the-tests"
        assert "Never edit a snapshot" in seen
        assert "never the past tense" not in seen
        assert "never the past tense" in await press("k")


async def test_apply_asks_first_and_names_the_file():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        seen = await press("a")
        assert isinstance(app.screen, Confirm)
        assert "all of it (2 hunks)" in seen
        assert "/home/ada/code/shop/.claude/skills/commit-messages/SKILL.md" in seen
        await press("n")
        assert desk.asked == []
        await press("a", "y")
        assert desk.asked == [("apply", "n12-commit-messages", None)]
        assert toasts(app) == ["SKILL.md of n12-commit-messages now has the change"]
        assert app.selected.skill == "run-the-tests"


async def test_space_leaves_a_hunk_out_and_apply_passes_the_chosen_ones():
    desk = MemoryDesk(samples())
    async with review(desk) as (_app, press):
        seen = await press("space")
        assert "[ ] hunk 1 of 2 · front matter · left out" in seen
        assert "1 of 2 hunks chosen" in seen
        seen = await press("a")
        assert "1 of 2 hunks" in seen
        assert "Not gated as it stands: only the whole was tested" in seen
        await press("enter")
        assert desk.asked == [("apply", "n12-commit-messages", (2,))]


async def test_a_choice_is_kept_while_looking_at_another_proposal():
    async with review(MemoryDesk(samples())) as (app, press):
        await press("n", "space", "j", "k")
        assert app.query_one(DiffView).left_out == {2}
        await press("n", "space")
        assert app.query_one(DiffView).left_out == frozenset()


async def test_a_proposal_with_every_hunk_left_out_is_not_applied():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("space", "n", "space", "a")
        assert not isinstance(app.screen, Confirm)
        assert "Every hunk is left out" in toasts(app)[0]
    assert desk.asked == []


async def test_n_and_shift_n_walk_through_the_hunks():
    base = "".join(f"line {number}\n" for number in range(200))
    text = base.replace("line 10\n", "").replace("line 90\n", "new\n").replace("line 150\n", "newer\n")
    async with review(MemoryDesk([proposal(base_text=base, text=text)])) as (app, press):
        view = app.query_one(DiffView)
        assert view.current == 1
        assert "hunk 3 of 3" in await press("n", "n")
        assert view.current == 3
        await press("n")
        assert view.current == 3
        await press("N")
        assert view.current == 2


async def test_scrolling_away_moves_the_current_hunk_along():
    base = "".join(f"line {number}\n" for number in range(400))
    text = "".join(f"line {number}{' new' * (number % 20 == 0)}\n" for number in range(400))
    async with review(MemoryDesk([proposal(base_text=base, text=text)])) as (app, press):
        await press("enter", "G")
        assert app.query_one(DiffView).current > 10
        await press("g")
        assert app.query_one(DiffView).current < 5


async def test_a_proposal_the_gate_did_not_accept_is_applied_only_after_a_warning():
    doubtful = proposal(judged=verdict(Decision.NOT_ENOUGH))
    async with review(MemoryDesk([doubtful])) as (_app, press):
        assert "The gate did not accept this: not enough evidence yet." in await press("a")


async def test_reject_asks_for_a_reason_and_passes_it():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("r")
        assert isinstance(app.screen, AskReason)
        assert "later nights are told why" in screen_text(app)
        assert "A reason is needed" in await press("enter")
        assert desk.asked == []
        await press(*"quite wrong".replace(" ", "_").replace("_", " ").split()[0], "space", *"wrong", "enter")
        assert desk.asked == [("reject", "n12-commit-messages", "quite wrong")]
        assert app.selected.skill == "run-the-tests"


async def test_stepping_back_from_a_rejection_decides_nothing():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("r", "x", "escape")
        assert app.screen.query(Queue)
    assert desk.asked == []


async def test_undo_takes_back_the_last_decision_made_here():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("a", "y", "u")
        assert desk.asked[-1] == ("undo", "n12-commit-messages")
        assert app.selected.skill == "commit-messages"
        assert app.selected.state is State.PENDING
        await press("u")
        assert toasts(app)[-1] == "There is no decision to undo."


async def test_undo_of_an_older_decision_asks_first():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("G")
        assert app.selected.skill == "changelog"
        await press("u")
        assert isinstance(app.screen, Confirm)
        await press("y")
    assert desk.asked == [("undo", "n12-changelog")]


async def test_a_decided_proposal_is_not_decided_twice():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("G", "a", "r", "space")
        assert toasts(app)[0] == "This one is rejected already; u takes that back."
    assert desk.asked == []


async def test_an_error_of_the_desk_is_shown_literally_and_the_review_goes_on():
    desk = MemoryDesk(samples())
    desk.refuse = True
    async with review(desk) as (app, press):
        seen = await press("a", "y")
        assert toasts(app) == ["the file [red]changed[/red] since\ncommit it first"]
        assert "the file [red]changed[/red] since" in seen
        assert app.selected.skill == "commit-messages"
        desk.refuse = False
        await press("a", "y")
        assert desk.kept[0].state is State.APPLIED


async def test_the_desk_is_asked_in_threads_of_its_own():
    import threading

    desk = MemoryDesk(samples())
    async with review(desk) as (_app, press):
        await press("a", "y")
    assert desk.threads
    assert threading.get_ident() not in desk.threads


async def test_the_evidence_starts_with_the_verdict_and_names_the_mode():
    async with review(MemoryDesk(samples()), size=(120, 60)) as (_app, press):
        seen = await press("2")
    assert "accept: better on 9 of 14 tasks it never saw" in seen
    assert "evidence over nights" in seen
    assert "+0.45 per task, 95 % interval [+0.21, +0.66]" in seen
    assert "14 tasks, 3 runs each side: 9 wins, 1 loss, 4 ties" in seen
    assert "41×, accepted from 20×" in seen
    assert "night 3" in seen
    assert "$0.84, 2.5 M tokens" in seen
    assert "“you committed with failing tests again, always make check first”" in seen
    assert "Claude Code 2.1.290 with haiku" in seen
    assert "bubblewrap, no network but the model" in seen


async def test_words_are_placed_by_prompts_counted_from_one():
    async with review(MemoryDesk(samples()), size=(120, 70)) as (_app, press):
        seen = await press("2")
    assert "session a90f22, prompt 4" in seen
    assert "turn 3" not in seen


async def test_a_rejected_proposal_names_no_branch():
    async with review(MemoryDesk(samples()), size=(120, 70)) as (_app, press):
        assert "skillopt/n12-commit-messages" in await press("2")
        seen = await press("escape", "G")
    assert "rejected: too long" in seen
    assert "repository" in seen
    assert "skillopt/n12-changelog" not in seen


async def test_a_one_night_verdict_shows_its_p_value_instead_of_the_bet():
    judged = verdict(mode="one-night", p_value=0.0107)
    async with review(MemoryDesk([proposal(judged=judged)]), size=(120, 60)) as (_app, press):
        seen = await press("2")
    assert "one night: an exact test" in seen
    assert "0.0107, accepted below 0.05" in seen
    assert "accepted from" not in seen


async def test_tasks_are_listed_with_broken_ones_first_and_answers_on_selection():
    async with review(MemoryDesk(samples())) as (_app, press):
        seen = await press("3")
        assert "✗ 1 broken   ✓ 4 fixed   = 2 same   – 1 not run" in seen
        assert seen.index("Amend with the missing file") < seen.index("commit this, the upload client")
        assert "0/3 → –    Commit generated code, please." in seen
        seen = await press("j")
        assert "Asked  commit this, the upload client now retries twice" in seen
        assert "Before  0/3 passed" in seen
        assert "Added retries to upload client" in seen
        assert "Retry uploads twice before giving up" in seen


async def test_hostile_text_is_shown_literally_everywhere():
    hostile = replace(
        proposal(
            name="evil",
            text=COMMITS_BASE.replace("Wrap lines at 72 characters.", HOSTILE),
            client="[b]c[/b]",
            judged=verdict(reason=HOSTILE),
            tasks=(task(HOSTILE, (0,), (1,), prompt=HOSTILE, before=HOSTILE, after=HOSTILE),),
            edits=(EditEvidence(op="add", content=HOSTILE, quotes=(Origin("s1", 0, HOSTILE),)),),
        ),
        skill="[red]evil[/red]",
    )
    desk = MemoryDesk([hostile])
    async with review(desk, size=(220, 60)) as (_app, press):
        diff = await press()
        assert "[red]evil[/red]" in diff
        assert "[b]c[/b]" in diff
        assert f"+ {SHOWN}" in diff
        assert f"you said “{SHOWN}”" in diff
        assert SHOWN in await press("2")
        assert (await press("3")).count(SHOWN) >= 4
        seen = await press("a")
        assert "Apply [red]evil[/red]?" in seen
        assert "characters that do not show" in seen
        for _ in range(2):
            assert "\x1b" not in seen
            assert "\u202e" not in seen
            seen = diff


async def test_very_long_and_right_to_left_lines_lose_nothing():
    words = " ".join(f"word{number}" for number in range(400))
    text = f"{words}\n{'x' * 3000}\nשלום עולם\n"
    async with review(MemoryDesk([proposal(base_text="", text=text, edits=())]), size=(100, 150)) as (
        _app,
        press,
    ):
        seen = await press()
    assert all(f"word{number}" in seen for number in range(400))
    assert seen.count("x") >= 3000
    assert "שלום עולם" in seen


@pytest.mark.parametrize("size", [(60, 20), (80, 24)])
async def test_narrow_terminals_stack_list_and_details(size):
    async with review(MemoryDesk(samples()), size=size) as (app, press):
        queue, detail = app.query_one(Queue), app.query_one("#detail")
        assert detail.region.y >= queue.region.bottom
        assert queue.region.width == detail.region.width == size[0]
        assert app.query_one(DiffView).region.height >= 2
        seen = await press()
        assert "✓ commit-messages  +0.45" in seen
        assert "[x] hunk 1 of 2" in seen
        for tab in ("2", "3", "question_mark"):
            await press(tab)
        assert isinstance(app.screen, Help)


async def test_a_small_terminal_shows_verdict_and_both_answers_without_scrolling():
    async with review(MemoryDesk(samples()), size=(60, 20)) as (_app, press):
        seen = await press("3")
        lines = [line.strip("│ ") for line in seen.split("\n")]
        top = lines.index("commit-messages  claude · project · 3 nights")
        assert lines[top + 1] == "→ /home/ada/code/shop/…/skills/commit-messages/SKILL.md"
        assert lines[top + 2] == "✓ ACCEPT  better on 9 of 14 tasks it never saw, worse"
        assert lines[top + 3] == "on 1; 41 times more likely than chance"
        assert "Before  3/3 passed" in seen
        assert "After  2/3 passed" in seen
        assert "Add missing file" in seen
        await press("enter", "end")
        assert "Asked  Amend with the missing file, please." in await press("end")


@pytest.mark.parametrize(
    ("tab", "shown"), [("1", "name: commit-messages"), ("2", "4 fixed"), ("3", "Amend with")]
)
async def test_the_lowest_terminals_show_something_of_every_tab(tab: str, shown: str):
    async with review(MemoryDesk(samples()), size=(40, 12)) as (_app, press):
        assert shown in await press("enter", tab)


@pytest.mark.parametrize(
    ("size", "scrolls"), [((80, 24), False), ((60, 10), True), ((40, 12), True), ((40, 9), True)]
)
async def test_the_keys_that_answer_a_question_are_seen_in_every_terminal(size, scrolls: bool):
    desk = MemoryDesk([proposal()])
    desk.warnings = [
        "It was changed since, elsewhere in the file; both are kept.",
        "It is used in 3 projects.",
    ]
    async with review(desk, size=size) as (_app, press):
        seen = await press("a")
        assert "Apply (y)" in seen
        assert "Cancel (n)" in seen or size[0] == 40
        assert ("↓ more" in seen) is scrolls
        if scrolls:
            assert "It is used in" in await press(*["down"] * 12)
        assert "Apply (y)" not in await press("n")


async def test_a_list_shrunk_beside_the_details_still_shows_which_proposal_they_are_of():
    async with review(MemoryDesk(samples()), size=(60, 20)) as (app, press):
        seen = await press("j", "j", "2")
        assert app.query_one(Queue).region.height == 3
        assert "… release-notes  +0.12" in seen
        assert "commit-messages" not in seen
        assert "✓ commit-messages" in await press("escape", "k", "k")


@pytest.mark.parametrize("width", [50, 60, 89, 90, 100, 120])
async def test_the_file_takes_one_line_at_any_width(width):
    far = "/home/ada/.cache/very/deep/folders/of/a/project/that/has/many/.claude/skills/notes/SKILL.md"
    deep = proposal("notes", state=State.REJECTED, reason="too long")
    deep = replace(deep, staged=replace(deep.staged, live=far))
    async with review(MemoryDesk([deep]), size=(width, 30)) as (_app, press):
        lines = [line.strip("│ ") for line in (await press()).split("\n")]
        (path,) = (line.split("→ ")[1] for line in lines if "→ " in line)
        assert path.startswith("/home/")
        assert path.endswith("/…/skills/notes/SKILL.md")
        assert any("rejected: too long" in line for line in lines)


async def test_the_file_is_shortened_anew_when_the_terminal_is_resized():
    app = ReviewApp(MemoryDesk(samples()), now=lambda: NOW)
    async with app.run_test(size=(60, 30)) as pilot:
        await settle(pilot)
        assert "…/skills/commit-messages/SKILL.md" in screen_text(app)
        await pilot.resize_terminal(130, 40)
        await settle(pilot)
        assert "→ /home/ada/code/shop/.claude/skills/commit-messages/SKILL.md" in screen_text(app)


async def test_rows_of_a_wide_list_stay_below_each_other_however_long_the_name():
    long = proposal("migrations-of-the-shop", state=State.APPLIED)
    longer = proposal("a-skill-with-a-name-that-is-longer-than-the-list", client="copilot", cost=None)
    async with review(MemoryDesk([longer, long])) as (app, press):
        seen = await press()
        rows = [line[:36] for line in seen.split("\n")]
        width = app.query_one(Queue).region.width
        assert [row.strip("│ ") for row in rows if "applied" in row] == ["applied"]
        entries = [row[1 : width - 1] for row in rows if row.startswith("│ ") and row.strip("│ ")]
        assert len(entries) >= 8
        assert all(entry[1] in "✓✗…" or entry.startswith("   ") for entry in entries)


async def test_a_widened_terminal_puts_them_side_by_side():
    app = ReviewApp(MemoryDesk(samples()), now=lambda: NOW)
    async with app.run_test(size=(60, 30)) as pilot:
        await settle(pilot)
        await pilot.resize_terminal(130, 40)
        await settle(pilot)
        assert app.query_one("#detail").region.x >= app.query_one(Queue).region.right
        assert "claude · $0.84 · 3 h" in screen_text(app)


async def test_an_empty_queue_says_what_to_do_next():
    async with review(MemoryDesk([])) as (_app, press):
        seen = await press("a", "r", "u", "space", "n", "2", "3", "enter")
    assert "Nothing is waiting for you." in seen
    assert "skillopt-sleep run" in seen
    assert "next night" not in seen


async def test_the_review_writes_commands_as_the_shell_that_started_it_takes_them(monkeypatch):
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", "/h")
    monkeypatch.setattr("skillopt_sleep.invocation.shutil.which", lambda name: f"/usr/bin/{name}")
    async with review(MemoryDesk([])) as (app, press):
        assert "SKILLOPT_SLEEP_HOME=/h skillopt-sleep run" in await press()
        app.show_error(UsageError("no", hint="look: skillopt-sleep status"))
        await press("R")
        assert "look: SKILLOPT_SLEEP_HOME=/h skillopt-sleep status" in toasts(app)[-1]


@pytest.mark.parametrize(("keys", "leaves"), [({}, "q"), ({"quit": "Q"}, "Q")])
async def test_ctrl_c_tells_the_key_that_leaves(keys, leaves):
    async with review(MemoryDesk(samples()), keys=keys) as (app, press):
        await press("ctrl+c")
        assert toasts(app) == [f"{leaves} leaves the review."]


async def test_without_colour_signs_boxes_and_badges_still_tell_everything(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with review(MemoryDesk(samples()), size=(120, 70)) as (app, press):
        seen = await press("n", "space")
        assert "▌ [ ] hunk 2 of 2 · body · left out" in seen
        assert "  [x] hunk 1 of 2" in seen
        colours = {
            colour
            for strip in app.screen._compositor.render_strips()
            for segment in strip.apply_filter(
                app._filters[-1], app.theme_variables and app.screen.background_colors[1]
            )
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour and colour.triplet
        }
    assert colours
    assert all(len(set(colour.triplet)) == 1 for colour in colours)


async def test_tabs_are_reached_by_number_and_bracket():
    async with review(MemoryDesk(samples())) as (app, press):
        tabs = app.query_one(TabbedContent)
        reached = []
        for key in ("2", "3", "1", "right_square_bracket", "left_square_bracket", "left_square_bracket"):
            await press(key)
            reached.append(tabs.active)
        assert reached == ["evidence", "tasks", "diff", "evidence", "diff", "tasks"]


async def test_a_number_goes_into_its_tab_so_that_the_next_key_scrolls_it():
    async with review(MemoryDesk(samples()), size=(120, 24)) as (app, press):
        await press("2", "down", "pagedown")
        evidence = app.query_one("#evidence-scroll")
        assert app.focused is evidence
        assert evidence.scroll_y > 1
        assert app.selected.skill == "commit-messages"
        assert app.query_one("#task-list").highlighted is None
        await press("3", "down")
        assert app.query_one("#task-list").highlighted == 1
        await press("1")
        assert isinstance(app.focused, DiffView)
        await press("escape", "down")
        assert app.selected.skill == "run-the-tests"


async def test_picking_hunks_from_the_list_stays_in_the_list():
    async with review(MemoryDesk(samples())) as (app, press):
        await press("n", "space")
        assert isinstance(app.focused, Queue)
        await press("2", "n")
        assert isinstance(app.focused, DiffView)


async def test_a_new_note_takes_the_place_of_the_one_before():
    async with review(MemoryDesk(samples())) as (app, press):
        await press("a", "y")
        seen = await press("u")
        assert toasts(app) == ["n12-commit-messages waits again"]
        assert "Undone" in seen
        assert "Applied" not in seen


async def test_enter_goes_into_the_details_and_escape_back_to_the_list():
    async with review(MemoryDesk(samples())) as (app, press):
        await press("enter")
        assert isinstance(app.focused, DiffView)
        await press("2")
        assert app.focused.id == "evidence-scroll"
        await press("escape")
        assert isinstance(app.focused, Queue)
        await press("tab")
        assert app.focused.id == "evidence-scroll"


async def test_the_command_palette_offers_the_decisions():
    async with review(MemoryDesk(samples())) as (app, press):
        names = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Decide: apply", "Decide: reject", "Decide: undo", "Hunks: pick", "Hunks: next-hunk"} <= names
        await press("ctrl+p")
        assert app.screen.query(Input)


async def test_q_quits():
    app = ReviewApp(MemoryDesk(samples()), now=lambda: NOW)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("q")
        await pilot.pause()
        assert not app.is_running


async def test_two_hundred_proposals_fill_the_queue():
    many = [proposal(f"skill-{number}") for number in range(200)]
    async with review(MemoryDesk(many)) as (app, press):
        assert app.query_one(Queue).option_count == 200
        await press("G")
        assert app.selected.skill == "skill-199"
        assert "skill-199" in str(app.query_one("#summary", Static).render())


@pytest.mark.parametrize("size", [(120, 36), (80, 24), (100, 24)])
async def test_the_first_line_names_the_mode_of_the_gate(size):
    strict, evidence = samples()[:2]
    verdict = replace(strict.note.verdict, mode="strict")
    strict = replace(strict, note=replace(strict.note, verdict=verdict))
    async with review(MemoryDesk([strict, evidence]), size=size) as (_app, press):
        seen = await press()
        assert "gate mode: strict" in seen.splitlines()[0]
        assert "gate mode: evidence" in (await press("down")).splitlines()[0]


async def test_without_a_proposal_the_first_line_names_the_configured_mode():
    app = ReviewApp(MemoryDesk([]), now=lambda: NOW, mode="one-night")
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        assert "gate mode: one-night" in screen_text(app).splitlines()[0]
