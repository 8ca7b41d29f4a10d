"""Rounds of staging, editing, applying and reverting in the same few lines, foretold to the byte."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from skillopt_staging.apply import apply, revert
from skillopt_staging.branches import read, stage
from skillopt_staging.errors import Conflict
from skillopt_staging.hunks import Kind, hunks
from skillopt_staging.proposals import Applied, Staged
from skillopt_staging.rebasing import rebase
from skillopt_staging.vault import Vault
from tests.support.slots import COUNT, Slots, change, changes, gaps, make, merge_values, styles

PATH = "skills/x/SKILL.md"
Values = list[tuple[str, ...]]


class Edit(NamedTuple):
    """What the user does to the file by hand."""

    kinds: list[str]
    style: tuple[str, bool, bool] | None
    mode: int


class Round(NamedTuple):
    """A proposal, and what comes between it, its applying and a revert; `undo` counts back from the last."""

    kinds: list[str]
    own_style: bool
    edit: Edit | None
    carry_over: bool
    how: str
    later: Edit | None
    undo: int | None


class Done(NamedTuple):
    """What was applied, with the text as it was before and after."""

    staged: Staged
    applied: Applied
    before: Slots
    after: Slots


edits = st.builds(
    Edit, changes, st.one_of(st.none(), st.none(), styles), st.sampled_from([0o644, 0o755, 0o600])
)
rounds = st.builds(
    Round,
    changes,
    st.booleans(),
    st.one_of(edits, st.none()),
    st.booleans(),
    st.sampled_from(["whole", "part", "part", "edited"]),
    st.one_of(st.none(), edits),
    st.sampled_from([0, 0, 0, 1, None]),
)


class World:
    """The live file with its repository, and what it must hold: `now`, with the mode `mode`."""

    def __init__(self, root: Path, start: Slots, *, in_vault: bool, linked: bool) -> None:
        self.now, self.mode = start, 0o644
        self.file = root / "project" / PATH
        self.file.parent.mkdir(parents=True)
        self.real = self.file.with_name("real.md") if linked else self.file
        self.real.write_bytes(start.write())
        self.linked = linked
        if linked:
            self.file.symlink_to("real.md")
        self.in_vault = in_vault
        self.done: list[Done] = []
        self.count = 0
        if in_vault:
            self.repository, self.path = root / "vault", "home/x/SKILL.md"
            Vault(self.repository).mirror(self.file, self.path)
        else:
            self.repository, self.path = root / "project", PATH
            for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
                subprocess.run(["git", "-C", str(self.repository), *arguments], check=True)

    def check(self) -> None:
        assert self.file.read_bytes() == self.now.write()
        assert self.file.stat().st_mode & 0o777 == self.mode
        assert self.file.is_symlink() == self.linked
        assert {entry.name for entry in self.file.parent.iterdir()} == {"SKILL.md", self.real.name}

    def edit(self, edit: Edit | None) -> None:
        if edit is None:
            return
        self.count += 1
        self.now = self.now.fill(change(self.now.values(), edit.kinds, f"user {self.count}"))
        if edit.style:
            self.now = self.now.restyle(edit.style)
        self.mode = edit.mode
        self.real.write_bytes(self.now.write())
        self.real.chmod(edit.mode)

    def live_through(self, one: Round) -> None:
        self.count += 1
        base = self.now
        text = base.fill(change(base.values(), one.kinds, f"ours {self.count}"))
        if not one.own_style:
            text = text.restyle(("\n", False, True))
        if text.write() == base.write():
            return
        if self.in_vault:
            Vault(self.repository).mirror(self.file, self.path)
        staged = stage(
            self.repository,
            branch=f"skillopt/{self.count}",
            path=self.path,
            text=text.write().decode(),
            message="x",
            note="{}",
            live=self.file,
        )
        self.check()
        self.edit(one.edit)
        old, wanted = base.values(), text.values()
        if one.carry_over:
            staged = rebase(staged, message="again", note="{}").staged
            merged = merge_values(old, self.now.values(), wanted)
            # What is live already, or past help, stays as it was staged.
            if merged is not None and self.now.fill(merged) != self.now:
                old, wanted = self.now.values(), merged
            self.check()
        self.apply(one, staged, old, wanted)
        self.edit(one.later)
        if one.undo is not None and one.undo < len(self.done):
            self.revert(self.done.pop(-1 - one.undo))

    def apply(self, one: Round, staged: Staged, old: Values, wanted: Values) -> None:
        chosen, text = None, None
        if one.how == "part" and one.own_style:
            first = hunks(*read(staged))[0]
            chosen = [first.index]
            changed = {line.text.strip("\r\ufeff") for line in first.lines if line.kind is not Kind.SAME}
            touched = [bool(changed.intersection(was + new)) for was, new in zip(old, wanted, strict=True)]
            wanted = [new if hit else was for was, new, hit in zip(old, wanted, touched, strict=True)]
        if one.how == "edited":
            wanted = change(wanted, ["add"] + ["keep"] * (COUNT - 1), f"edited {self.count}")
            text = self.now.fill(wanted).restyle(("\n", False, True)).write().decode()
        before = self.now
        expected = merge_values(old, before.values(), wanted)
        if expected is None:
            with pytest.raises(Conflict):
                apply(staged, hunks=chosen, text=text)
            self.check()
            return
        applied = apply(staged, hunks=chosen, text=text)
        self.now = before.fill(expected)
        self.check()
        self.done.append(Done(staged, applied, before, self.now))

    def revert(self, one: Done) -> None:
        if self.now == one.after:
            expected = one.before
        elif self.now == one.before:
            expected = self.now
        else:
            values = merge_values(one.after.values(), self.now.values(), one.before.values())
            if values is None:
                with pytest.raises(Conflict):
                    revert(one.staged, one.applied)
                self.check()
                return
            expected = self.now.fill(values)
        revert(one.staged, one.applied)
        self.now = expected
        self.check()


@pytest.mark.parametrize("in_vault", [False, True], ids=["project", "vault"])
@given(sizes=gaps, style=styles, linked=st.booleans(), script=st.lists(rounds, min_size=2, max_size=3))
# A failure is told as it is: to shrink it would take git minutes.
@settings(max_examples=12, phases=[Phase.explicit, Phase.generate])
def test_no_byte_of_the_users_is_lost_and_revert_restores(in_vault, sizes, style, linked, script):
    root = Path(tempfile.mkdtemp(prefix="rounds-"))
    try:
        world = World(root, make(sizes, style), in_vault=in_vault, linked=linked and in_vault)
        for one in script:
            world.live_through(one)
    finally:
        shutil.rmtree(root)
