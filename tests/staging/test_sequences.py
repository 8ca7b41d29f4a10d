"""Any sequence of staging, editing, applying, carrying over and reverting loses no line of the user's."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from skillopt_staging.apply import apply, revert
from skillopt_staging.branches import discard, stage
from skillopt_staging.errors import StagingError
from skillopt_staging.hunks import hunks
from skillopt_staging.proposals import Applied, Staged
from skillopt_staging.rebasing import rebase
from skillopt_staging.vault import Vault

PATH = "skills/x/SKILL.md"


class Open(NamedTuple):
    """A proposal, with the lines it brings and the lines of the user's it takes."""

    staged: Staged
    brings: frozenset[str]
    takes: frozenset[str]


class Live(NamedTuple):
    """One that was applied; `before` is what was live then, `edits` how often the user had edited."""

    open: Open
    applied: Applied
    before: bytes
    after: bytes


class Sequences(RuleBasedStateMachine):
    """The model: what the user wrote and did not delete is live, but for what applied proposals take."""

    waiting: Bundle[Open] = Bundle("waiting")
    live: Bundle[Live] = Bundle("live")
    in_vault = False

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="sequences-"))
        self.file = self.root / "project" / PATH
        self.file.parent.mkdir(parents=True)
        self.theirs = [f"user {number}" for number in range(12)]
        self.file.write_text("".join(f"{line}\n" for line in self.theirs))
        self.alive = set(self.theirs)
        self.taken: dict[str, int] = {}
        self.brought: dict[str, int] = {}
        self.count = 0
        if self.in_vault:
            self.repository, self.path = self.root / "vault", "home/x/SKILL.md"
            Vault(self.repository).mirror(self.file, self.path)
        else:
            self.repository, self.path = self.root / "project", PATH
            self._git("init", "-q")
            self._git("add", ".")
            self._git("commit", "-qm", "first")

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.repository), *arguments], check=True, capture_output=True)

    def _lines(self) -> list[str]:
        return self.file.read_text().splitlines()

    def _name(self, whose: str) -> str:
        self.count += 1
        return f"{whose} {self.count + 100}"

    @rule(at=st.integers(0, 30), delete=st.booleans())
    def edit(self, at, delete):
        lines = self._lines()
        at = min(at, len(lines))
        if delete and at < len(lines) and len(lines) > 3:
            self.alive.discard(lines[at])
            del lines[at]
        else:
            new = self._name("user")
            self.alive.add(new)
            lines.insert(at, new)
        self.file.write_text("".join(f"{line}\n" for line in lines))

    @rule()
    def commit_everything(self):
        if not self.in_vault:
            self._git("add", ".")
            self._git("commit", "-q", "--allow-empty", "-m", "more")

    @rule(
        target=waiting, places=st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=3)
    )
    def stage_one(self, places):
        base = self._lines()
        lines = list(base)
        brings, takes = set(), set()
        for at, replaces in places:
            place = min(at, len(lines))
            new = self._name("ours")
            if replaces and place < len(lines) and lines[place].startswith("user"):
                takes.add(lines[place])
                lines[place] = new
            else:
                lines.insert(place, new)
            brings.add(new)
        if self.in_vault:
            Vault(self.repository).mirror(self.file, self.path)
        staged = stage(
            self.repository,
            branch=f"skillopt/{self.count}",
            path=self.path,
            text="".join(f"{line}\n" for line in lines),
            message="x",
            note="{}",
            live=self.file,
        )
        return Open(staged, frozenset(brings), frozenset(takes))

    @rule(target=live, one=consumes(waiting), part=st.booleans())
    def apply_one(self, one, part):
        before = self.file.read_bytes()
        chosen = None
        if part:
            from skillopt_staging.branches import read

            chosen = [hunk.index for hunk in hunks(*read(one.staged))][:1]
        try:
            applied = apply(one.staged, hunks=chosen)
        except StagingError:
            assert self.file.read_bytes() == before
            applied = None
        after = self.file.read_bytes()
        gone = set(before.decode().splitlines()) - set(after.decode().splitlines())
        came = set(after.decode().splitlines()) - set(before.decode().splitlines())
        assert gone <= one.takes
        assert came <= one.brings
        made = Open(one.staged, frozenset(came), frozenset(gone))
        self._count(made, 1)
        return Live(made, applied, before, after)

    @rule(one=consumes(live))
    def revert_one(self, one):
        if one.applied is None:
            return
        before = self.file.read_bytes()
        try:
            revert(one.open.staged, one.applied)
        except StagingError:
            assert self.file.read_bytes() == before
            return
        self._count(one.open, -1)
        if before == one.after:
            assert self.file.read_bytes() == one.before

    @rule(target=waiting, one=consumes(waiting))
    def carry_over(self, one):
        before = self.file.read_bytes()
        moved = rebase(one.staged, message="again", note="{}").staged
        assert self.file.read_bytes() == before
        return one._replace(staged=moved)

    @rule(one=consumes(waiting))
    def reject_one(self, one):
        before = self.file.read_bytes()
        discard(one.staged)
        assert self.file.read_bytes() == before

    def _count(self, one: Open, step: int) -> None:
        for lines, counted in ((one.takes, self.taken), (one.brings, self.brought)):
            for line in lines:
                counted[line] = counted.get(line, 0) + step

    @invariant()
    def no_line_of_the_users_is_lost(self):
        lines = self._lines()
        taken = {line for line, times in self.taken.items() if times > 0}
        assert self.alive - taken <= set(lines)
        assert len(lines) == len(set(lines))

    @invariant()
    def nothing_stays_of_what_is_not_applied(self):
        brought = {line for line, times in self.brought.items() if times > 0}
        assert {line for line in self._lines() if line.startswith("ours")} <= brought


class SequencesInTheVault(Sequences):
    in_vault = True


# A sequence that fails is told as it is: to shrink it would take git many minutes.
_SETTINGS = settings(
    max_examples=10, stateful_step_count=14, deadline=None, phases=[Phase.explicit, Phase.generate]
)
TestInAProject = Sequences.TestCase
TestInAProject.settings = _SETTINGS
TestInTheVault = SequencesInTheVault.TestCase
TestInTheVault.settings = _SETTINGS
