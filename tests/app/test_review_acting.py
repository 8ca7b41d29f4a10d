"""Deciding in the review: editing, snoozing, testing again, taking files, and keys of one's own."""

from __future__ import annotations

import os
import stat
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from skillopt_sleep.cli import app as cli
from skillopt_sleep.cli.review import run_now
from skillopt_sleep.desk import StoreDesk
from skillopt_sleep.errors import AppError, UsageError
from skillopt_sleep.paths import HOME_VARIABLE, locate
from skillopt_sleep.records import FileChange
from skillopt_sleep.review.acting import resolve
from skillopt_sleep.review.app import ReviewApp
from skillopt_sleep.review.dialogs import Choose, Confirm, Help
from skillopt_sleep.review.diff_view import DiffView
from skillopt_sleep.review.editing import edit_text
from skillopt_sleep.review.keys import ACTIONS, list_keys, make_bindings, read_keys
from skillopt_sleep.review.queue import Queue
from skillopt_sleep.review.screenshot import settle
from skillopt_staging.proposals import State
from tests.app.test_review_app import screen_text, toasts
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT, NOW, MemoryDesk, proposal, samples

EDITED = COMMITS_TEXT.replace("never the past tense", "whatever happens")


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


def several() -> object:
    return replace(
        proposal(),
        files=(
            FileChange(name="scripts/check.sh", base_text=None, text="#!/bin/sh\nmake check\n"),
            FileChange(name="notes.md", base_text="one\ntwo\n", text="one\n2\n"),
        ),
    )


async def test_an_edited_text_is_shown_marked_and_applied_in_place_of_the_proposed_one():
    desk = MemoryDesk(samples())
    asked = []

    def edit(text, name):
        asked.append((text, name))
        return EDITED

    async with review(desk, edit=edit) as (app, press):
        seen = await press("e")
        assert asked == [(COMMITS_TEXT, "commit-messages")]
        assert "whatever happens" in seen
        assert "edited by you · not gated as it stands" in app.query_one("#detail").border_subtitle
        seen = await press("a")
        assert "Not gated as it stands: you edited it." in seen
        await press("y")
        assert desk.asked == [("apply", "n12-commit-messages", None, EDITED)]


async def test_a_part_of_an_edited_text_can_be_taken():
    desk = MemoryDesk(samples())
    async with review(desk, edit=lambda text, name: EDITED) as (_app, press):
        await press("e", "space", "a", "y")
    ((_, _, hunks, text),) = desk.asked
    assert hunks is None
    assert "whatever happens" in text
    assert "description: Write commit messages.\n" in text


async def test_editing_back_to_the_proposed_text_is_no_edit():
    texts = iter([EDITED, COMMITS_TEXT, COMMITS_TEXT])
    desk = MemoryDesk(samples())
    async with review(desk, edit=lambda text, name: next(texts)) as (app, press):
        await press("e")
        await press("e")
        assert "That is the proposed text again." in toasts(app)
        assert "edited by you" not in app.query_one("#detail").border_subtitle
        await press("e")
        assert "You changed nothing." in toasts(app)
        await press("a", "y")
    assert desk.asked == [("apply", "n12-commit-messages", None)]


async def test_an_editor_that_fails_leaves_the_text():
    def edit(text, name):
        raise AppError("vi ended with 1", hint="the text is as it was")

    async with review(MemoryDesk(samples()), edit=edit) as (app, press):
        await press("e")
        assert toasts(app) == ["vi ended with 1\nthe text is as it was"]
        assert "edited by you" not in app.query_one("#detail").border_subtitle


async def test_snooze_takes_it_off_and_undo_brings_it_back():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("s")
        assert desk.asked == [("snooze", "n12-commit-messages")]
        assert app.selected.skill == "run-the-tests"
        await press("z")
        assert desk.asked[-1] == ("undo", "n12-commit-messages")
        assert app.selected.state is State.PENDING


async def test_what_was_chosen_is_tested_again_tonight():
    desk = MemoryDesk(samples())
    async with review(desk) as (app, press):
        await press("space")
        seen = await press("t")
        assert isinstance(app.screen, Choose)
        assert "Not gated as it stands: only the whole was tested" in seen
        assert "Now (w)" not in seen
        await press("t")
        assert desk.asked == [("gate", "n12-commit-messages", (2,), None)]
        assert app.selected.skill == "run-the-tests"


async def test_or_at_once_in_a_night_of_its_own():
    nights = []
    desk = MemoryDesk(samples())
    async with review(desk, edit=lambda text, name: EDITED, run_now=nights.append) as (app, press):
        await press("e", "t", "escape")
        assert desk.asked == []
        await press("t", "n")
        assert not isinstance(app.screen, Choose), "n is no everywhere"
        assert desk.asked == []
        await press("t", "w")
        assert desk.asked == [("gate", "n12-commit-messages", None, EDITED)]
        assert nights == ["commit-messages"]


async def test_what_is_to_be_known_is_asked_for_before_and_a_conflict_ends_it():
    desk = MemoryDesk(samples())
    desk.warnings = ["The file has edits of yours that are not committed."]
    async with review(desk) as (app, press):
        assert "! The file has edits of yours" in await press("a")
        await press("n")
        desk.conflict = True
        await press("a")
        assert not isinstance(app.screen, Confirm)
        assert toasts(app) == ["the file was changed in the same place\ntake hunk 2"]
    assert desk.asked == []


async def test_a_whole_file_is_left_out_with_one_key():
    desk = MemoryDesk([several()])
    async with review(desk, size=(120, 60)) as (app, press):
        seen = await press()
        assert "hunk 3 of 4 · scripts/check.sh" in seen
        assert "hunk 4 of 4 · notes.md" in seen
        await press("f")
        assert app.query_one(DiffView).left_out == {1, 2}
        await press("f", "n", "n", "f")
        assert app.query_one(DiffView).left_out == {3}
        await press("a", "y")
        assert desk.asked == [("apply", "n12-commit-messages", (1, 2, 4))]


async def test_everything_is_left_out_and_taken_in_with_one_key():
    async with review(MemoryDesk(samples())) as (app, press):
        view = app.query_one(DiffView)
        await press("A")
        assert view.left_out == {1, 2}
        await press("space", "A", "A")
        assert view.left_out == frozenset()


def test_hunks_of_other_files_keep_their_numbers_when_the_skill_is_edited():
    made = several()
    assert resolve(made, None, (1, 3)) == ((1, 3), None)
    longer = EDITED.replace("Wrap lines at 72 characters.", "Wrap lines at 70 characters.")
    hunks, text = resolve(made, longer, (1, 4))
    assert (hunks, text is not None) == ((1, 2, 4), True)
    assert resolve(proposal(), EDITED, (2,))[0] is None


async def test_the_diff_is_side_by_side_where_there_is_room_and_as_the_user_wants_it():
    async with review(MemoryDesk(samples()), size=(170, 40)) as (app, press):
        view = app.query_one(DiffView)
        assert view.is_split
        (line,) = [line for line in (await press()).split("\n") if "past tense (" in line]
        assert line.index("past tense (") < line.index("Use the imperative")
        seen = await press("|")
        assert (view.split, view.is_split) == ("unified", False)
        assert not any("past tense (" in line and "Use the imperative" in line for line in seen.split("\n"))
        await press("|")
        assert view.is_split
    async with review(MemoryDesk(samples()), size=(100, 40), layout="split") as (app, press):
        assert app.query_one(DiffView).is_split


async def test_braces_show_more_and_fewer_lines_around_the_same_hunks():
    base = "".join(f"line {number}\n" for number in range(1, 60))
    text = base.replace("line 20\n", "new 20\n").replace("line 40\n", "new 40\n")
    async with review(MemoryDesk([proposal(base_text=base, text=text, edits=())]), size=(120, 60)) as (
        app,
        press,
    ):
        seen = await press()
        assert ("line 17" in seen, "line 16" in seen) == (True, False)
        seen = await press("}", "}")
        assert ("line 15" in seen, "line 14" in seen) == (True, False)
        assert "hunk 2 of 2" in seen
        seen = await press(*"{" * 9)
        assert "line 19" not in seen
        assert "new 20" in seen
        seen = await press(*"}" * 40)
        assert seen.count("line 30 ") == seen.count("line 30")
        assert all(seen.count(f" line {number} ") <= 1 for number in range(1, 60))


async def test_w_shows_what_the_current_hunk_rests_on():
    async with review(MemoryDesk(samples()), size=(120, 60)) as (_app, press):
        seen = await press("n", "w")
        assert "Hunk 2 of 2: body" in seen
        first = seen.index("“I can see WHAT you changed, tell me why”")
        assert first < seen.index("Verdict")
        assert "Tasks, run with all hunks together: 4 fixed, 1 broken, 2 same, 1 not run." in seen


async def test_keys_are_the_users_to_choose_and_the_help_tells_them():
    desk = MemoryDesk(samples())
    async with review(desk, keys=read_keys(["apply:x", "undo:U,f9"])) as (app, press):
        await press("a")
        assert not isinstance(app.screen, Confirm)
        await press("x", "y")
        assert desk.asked == [("apply", "n12-commit-messages", None)]
        await press("f9")
        assert desk.asked[-1][0] == "undo"
        seen = await press("question_mark")
        assert isinstance(app.screen, Help)
        assert "x         apply the chosen hunks" in seen


def test_an_unknown_action_in_the_keys_is_told():
    with pytest.raises(UsageError, match="no action 'aply'"):
        read_keys(["aply:x"])


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["apply:t"], "t would do two things: gate, and apply"),
        (["apply:x", "undo:x"], "x would do two things: undo, and apply"),
        (["apply:question_mark"], r"\? would do two things: help, and apply"),
        (["apply:j"], "j would do two things: apply, and the lists: next, previous"),
    ],
)
def test_a_key_that_would_do_two_things_is_told(keys: list[str], said: str):
    with pytest.raises(UsageError, match=said):
        read_keys(keys)
    assert read_keys(["apply:t", "gate:a"]) == {"apply": "t", "gate": "a"}, "changed round, each does one"


def test_every_action_is_in_the_help_and_no_key_does_two_things():
    told = [says for _, rows in list_keys({}) for _, says in rows]
    assert {action.says for action in ACTIONS} <= set(told)
    keys = [key for binding in make_bindings() for key in binding.key.split(",")]
    assert len(keys) == len(set(keys))
    assert len({action.name for action in ACTIONS}) == len(ACTIONS)


async def test_every_action_of_the_palette_can_be_called():
    async with review(MemoryDesk(samples()), edit=lambda text, name: text) as (app, press):
        for action in ACTIONS:
            if action.name in {"quit", "palette"}:
                continue
            await app.run_action(action.call)
            await press()
            while len(app.screen_stack) > 1:
                await press("escape")


def test_the_editor_of_the_user_gets_the_text_and_gives_it_back(tmp_path):
    program = tmp_path / "my editor"
    program.write_text(f"#!/bin/sh\ncp \"$2\" '{tmp_path}/seen'\nprintf 'mine\\n' >>\"$2\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = {"EDITOR": f"'{program}' --wait"}
    assert edit_text("text\r\nmore\n", "x", env) == "text\r\nmore\nmine\n"
    assert (tmp_path / "seen").read_bytes() == b"text\r\nmore\n"
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("editor", "said"), [("/nowhere/vi", "cannot start"), ("false", "ended with 1"), ("'", "cannot start")]
)
def test_an_editor_that_does_not_work_is_told(editor, said):
    with pytest.raises(AppError, match=said):
        edit_text("text\n", "x", {"VISUAL": editor, "PATH": os.environ["PATH"]})


def test_a_part_is_what_the_text_had_before_where_it_was_not_taken():
    _, text = resolve(proposal(), COMMITS_TEXT, (1,))
    assert text != COMMITS_TEXT
    assert text is not None
    assert "whenever work is committed" in text
    assert COMMITS_BASE.partition("## Examples")[2] in text


async def test_a_click_on_a_hunks_line_leaves_it_out_and_one_inside_makes_it_the_current_one():
    app = ReviewApp(MemoryDesk(samples()), now=lambda: NOW)
    async with app.run_test(size=(120, 50)) as pilot:
        await settle(pilot)
        view = app.query_one(DiffView)
        await pilot.click(view, offset=(10, view._starts[2] + 4))
        await settle(pilot)
        assert (view.current, view.left_out) == (2, frozenset())
        await pilot.click(view, offset=(10, view._starts[2]))
        await settle(pilot)
        assert view.left_out == {2}


def test_a_night_at_once_takes_no_modules_from_the_project_it_is_asked_for_in(
    private_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    project = tmp_path / "hostile"
    project.mkdir()
    for name in ("typer", "msgspec", "skillopt_sleep"):
        (project / f"{name}.py").write_text(f"open({str(tmp_path / 'SPRUNG')!r}, 'w'); raise SystemExit(0)")
    monkeypatch.chdir(project)
    monkeypatch.setenv(HOME_VARIABLE, "own")
    with pytest.raises(AppError, match="the night ended with"):
        run_now("no-such-skill")
    assert not (tmp_path / "SPRUNG").exists()
    assert (project / "own/state.db").exists(), capfd.readouterr()


@pytest.mark.parametrize("options", [(), ("--memory",)])
async def test_one_that_was_applied_elsewhere_meanwhile_is_told_and_shown_so(options, staged):
    async with review(StoreDesk(locate(), by="review")) as (app, press):
        assert "1 waiting" in app.query_one(Queue).border_subtitle
        CliRunner().invoke(cli, ["apply", staged.id, *options])
        await press("a")
        assert "is already applied" in " ".join(toasts(app))
        assert app.query_one(Queue).border_subtitle == "0 waiting · 1 decided"
        assert app.selected.state is State.APPLIED
