"""Files that grow, tear, move, are copied and go away, in any order: everything counts once, and stays."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import uuid
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harvesters.conftest import Transcript
from tests.harvesters.test_fork_families import Names, act_claude, count, expect_claude
from tests.support.indexes import Index


class Life:
    """One transcript on disk, of which more and more records are written."""

    def __init__(self, folder: Path, dice: random.Random, name: Names, day: int):
        self.dice = dice
        self.transcript = Transcript(folder, day=day)
        for _ in range(3):
            act_claude(dice, self.transcript, name)
        self.lines = [json.dumps(record).encode() + b"\n" for record in self.transcript.records]
        self.path = self.transcript.path
        self.written = 0
        self.begun = 0
        self.is_gone = False

    def grow(self, *, torn=False):
        self.written = min(len(self.lines), self.written + self.dice.randint(1, 8))
        data = b"".join(self.lines[self.begun : self.written])
        if torn and self.written < len(self.lines):
            following = self.lines[self.written]
            data += following[: self.dice.randint(1, len(following) - 2)]
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.write(data)

    def tear(self):
        self.grow(torn=True)

    def rename(self):
        self.path = self.path.rename(self.path.with_name(f"{uuid.uuid4()}.jsonl"))

    def move(self):
        folder = self.path.parent.parent / f"-elsewhere-{self.dice.randrange(3)}"
        folder.mkdir(exist_ok=True)
        self.path = self.path.rename(folder / self.path.name)

    def touch(self):
        os.utime(self.path, (self.dice.randint(1, 9), self.dice.randint(1, 9)))

    def copy(self):
        shutil.copy(self.path, self.path.with_name(f"{uuid.uuid4()}.jsonl"))

    def link(self):
        os.link(self.path, self.path.with_name(f"{uuid.uuid4()}.jsonl"))

    def replace(self):
        other = self.path.with_name("other")
        other.write_bytes(self.path.read_bytes())
        other.rename(self.path)

    def begin_anew(self):
        """Somebody empties it before a prompt, and the client goes on."""
        following = self.transcript.records[self.written :][:1]
        if following and isinstance(following[0]["message"]["content"], str):
            self.path.write_bytes(b"")
            self.begun = self.written

    def delete(self):
        self.path.unlink()
        self.is_gone = True

    def live(self):
        """Let one thing happen to the file."""
        if not self.written:
            self.grow()
        elif not self.is_gone:
            things = [self.grow, self.tear, self.rename, self.move, self.touch, self.copy, self.link]
            self.dice.choice([*things, self.replace, self.begin_anew, self.delete])()


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_whatever_happens_to_the_files_everything_counts_once(seed):
    dice, name = random.Random(seed), Names()
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / ".claude" / "projects" / "-home-user-project"
        folder.mkdir(parents=True)
        lives = [Life(folder, dice, name, day) for day in (1, 2, 3)]
        index = Index(Path(home) / "state.db", Path(home))
        for _ in range(14):
            dice.choice(lives).live()
            index.harvest()
        found = count(index.sessions.values())
        index.connection.close()
        for life in lives:
            del life.transcript.records[life.written :]
        assert found == expect_claude([life.transcript for life in lives])
