"""A run that is killed goes on to the same end, wherever it was, and pays for nothing twice."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skillopt_replay.skill_files import SkillFile
from skillopt_replay.skills import Skill, new_skill
from skillopt_sleep.training import Trainer
from skillopt_sleep.training.reading import make
from tests.support.school import SEARCH, School, Teacher, rule, search_here

ROOT = Path(__file__).parents[2]
VALUES = {
    "train": {"num_epochs": 2, "batch_size": 4, "accumulation": 1},
    "optimizer": {"learning_rate": 1, "min_learning_rate": 1},
    "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
    "evaluation": {"gate_mode": "strict"},
    "env": {"workers": 2},
}


def in_reference(family):
    return {"file": "references/trees.md", "content": rule(family)}


def remind(messages):
    """Return what a teacher finds, and a reminder for what it saw fail."""
    told = Teacher().analyst(messages)
    notes = [f"Read questions about a {pattern['type'].split()[-1]} twice." for pattern in told["patterns"]]
    return {**told, "appendix_notes": notes}


def number_rules(messages):
    """Return what a teacher finds as rules, the last of them in the place of the first one there is."""
    told = Teacher().analyst(messages)
    edits = [{"rule": edit["content"], "instead_of": 0} for edit in told["edits"]]
    if "The rules so far:" in messages[1].content:
        edits[-1:] = [{**edit, "instead_of": 1} for edit in edits[-1:]]
    return {"reasoning": "a rule is missing", "edits": edits}


@dataclass(frozen=True)
class Run:
    """What a run is made of: configuration, what teacher and school are told, and the first skill."""

    config: object
    teacher: dict = field(default_factory=dict)
    skill: object = None
    school: dict = field(default_factory=dict)


def configure(**sections):
    return make({**VALUES, **{name: {**VALUES.get(name, {}), **own} for name, own in sections.items()}})


FOLDER = Skill(
    "school",
    new_skill("school", "Use at school.", "# School").text,
    (
        SkillFile("references/trees.md", "# Trees\n\n## Rules\n\n- Trees are green.\n"),
        SkillFile("scripts/count.sh", "#!/bin/sh\necho 1\n", executable=True),
    ),
)
RUNS = {
    "plain": Run(configure()),
    "folder": Run(configure(), {"write": in_reference}, FOLDER),
    "words": Run(
        configure(
            train={"candidates": 2, "keep": 2},
            optimizer={"learning_rate": 2, "lr_control_mode": "autonomous"},
            gradient={"plain": True, "minibatches": 1},
            evaluation={"gate_mode": "race"},
        ),
        {"answers": {"analyst": number_rules}},
        school={"loud": True},
    ),
    "promoted": Run(
        configure(
            train={"batch_size": 8},
            optimizer={"slow_update_gate_with_selection": False, "lr_control_mode": "autonomous"},
        ),
        school={"heeds": "Always read"},
    ),
    "everything": Run(
        configure(
            train={"candidates": 2, "samples": 2, "accumulation": 2, "batch_size": 2},
            optimizer={
                "learning_rate": 3,
                "min_learning_rate": 2,
                "use_skill_aware_reflection": True,
                "skill_aware_consolidate_threshold": 1,
            },
            evaluation={"attribute_edits": True},
        ),
        {"answers": {"analyst": remind}},
        school={"flaky": ("apple",)},
    ),
}
CONFIG = RUNS["plain"].config
_UNLIKE = re.compile(r'"(timing|wall_time_s)": (\{[^}]*\}|[\d.]+),?')


def read_tree(folder):
    """Return the text of every file but the ledger and the lock, without what took how long."""
    return {
        f"{path.relative_to(folder)} {path.stat().st_mode & 0o100}": _UNLIKE.sub("", path.read_text())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(("calls.db", "run.lock"))
    }


@pytest.fixture(autouse=True)
def searches(monkeypatch):
    monkeypatch.setattr(SEARCH, search_here)


@pytest.fixture(scope="module")
def finish(tmp_path_factory):
    """Returns the files of a run that nothing interrupted, and how many calls it paid for."""

    @functools.cache
    def run(kind):
        folder = tmp_path_factory.mktemp("whole") / "run"
        asyncio.run(train(kind, folder))
        return read_tree(folder), count_paid(folder)

    return run


@pytest.fixture
def whole(finish):
    return finish("plain")


async def train(kind, folder):
    run = RUNS[kind]
    trainer = Trainer(School(**run.school), Teacher(**run.teacher), run.config, out=folder)
    await trainer.train(run.skill)


def count_paid(folder):
    with sqlite3.connect(folder / "calls.db") as connection:
        (count,) = connection.execute("SELECT count(*) FROM calls WHERE state = 'done'").fetchone()
    connection.close()
    return count


class Doomed:
    """Runs that kill themselves, started by one process; what they complain of lies in `said`."""

    def __init__(self, folder):
        self.said = folder / "said.txt"
        self.starter = None

    def run(self, folder, stage, number, kind):
        """Return how it ended, as `doomed_run` writes it."""
        if self.starter is None:
            # Not before a test began: it takes over the home and the guards of the first one.
            with self.said.open("w") as errors:
                self.starter = subprocess.Popen(
                    [sys.executable, "-m", "tests.support.doomed_run"],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        self.starter.stdin.write(json.dumps([str(folder), stage, number, kind]) + "\n")
        self.starter.stdin.flush()
        return self.starter.stdout.readline()

    def end(self):
        if self.starter is not None:
            self.starter.communicate(timeout=60)


@pytest.fixture(scope="module")
def doomed(tmp_path_factory):
    runs = Doomed(tmp_path_factory.mktemp("doomed"))
    yield runs
    runs.end()


@pytest.fixture
def kill_at(doomed):
    def kill(folder, stage, number, kind="plain"):
        assert doomed.run(folder, stage, number, kind) == "-9\n", doomed.said.read_text()

    return kill


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        ("selection", 3),  # the baseline
        ("rollout", 2),
        ("analyst", 1),
        ("analyst", 5),
        ("merge", 1),
        ("ranking", 1),
        ("selection", 20),  # the gate of the first step
        ("slow_rollout", 3),
        ("slow_update", 1),
        ("meta_skill", 1),
        ("test", 5),
        *(("write", number) for number in (1, 2, 5, 8, 9, 10, 11, 12, 25, 40, 50)),
    ],
)
def test_a_killed_run_goes_on_to_the_same_end(tmp_path, whole, kill_at, stage, number):
    files, paid = whole
    folder = tmp_path / "run"
    kill_at(folder, stage, number)
    asyncio.run(train("plain", folder))
    assert read_tree(folder) == files
    assert count_paid(folder) == paid


@pytest.mark.parametrize(
    ("kind", "stage", "number"),
    [
        *(("folder", "write", number) for number in (2, 3, 8, 9, 12, 40)),
        ("folder", "merge", 1),
        *(("words", "analyst", number) for number in (2, 5)),
        *(("words", "rollout", number) for number in (3, 9, 20)),
        ("words", "lr_autonomous", 3),
        *(("words", "write", number) for number in (3, 6, 12, 20)),
        ("promoted", "lr_autonomous", 2),
        ("promoted", "selection", 25),
        ("everything", "analyst", 3),
        ("everything", "appendix_consolidate", 1),
        ("everything", "rollout", 25),
        ("everything", "selection", 60),
        *(("everything", "write", number) for number in (4, 15, 30, 40, 50)),
        *(("promoted", "write", number) for number in (11, 12, 13, 30, 31, 32, 33, 34, 35, 36)),
    ],
)
def test_other_kinds_of_runs_go_on_to_the_same_end_as_well(tmp_path, finish, kill_at, kind, stage, number):
    files, paid = finish(kind)
    folder = tmp_path / "run"
    kill_at(folder, stage, number, kind)
    asyncio.run(train(kind, folder))
    assert read_tree(folder) == files
    assert count_paid(folder) == paid


def test_what_was_paid_for_before_the_kill_is_not_asked_again(tmp_path, whole, kill_at):
    folder = tmp_path / "run"
    kill_at(folder, "merge", 1)
    before = count_paid(folder)
    school, teacher = School(), Teacher()
    asyncio.run(Trainer(school, teacher, CONFIG, out=folder).train())
    assert len(school.rolled) + len(teacher.asked) == whole[1] - before


async def test_a_damaged_state_is_told_and_not_trained_over(tmp_path):
    from skillopt_sleep.training.contract import TrainingError

    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "runtime_state.json").write_text('{"step": 1')
    with pytest.raises(TrainingError, match="damaged"):
        await Trainer(School(), Teacher(), CONFIG, out=folder).train()
    assert json.loads(json.dumps((folder / "runtime_state.json").read_text())) == '{"step": 1'


def test_the_run_with_words_has_words_that_win_and_rules_named_by_number(finish):
    files, _ = finish("words")
    assert any("UPPER CASE" in text for name, text in files.items() if "kept.json" in name)
    assert any('"op": "replace"' in text for name, text in files.items() if "merged_patch.json" in name)
