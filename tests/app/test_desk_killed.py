"""A decision killed at any write leaves the old or the new file, and the record agrees with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_sleep.desk import StoreDesk
from skillopt_sleep.paths import locate
from skillopt_sleep.store.database import connect
from skillopt_staging.proposals import State
from tests.conftest import git
from tests.support.proposals import COMMITS_BASE, COMMITS_TEXT
from tests.support.staging import stage

# Forks once per point; each fork dies by SIGKILL right before its n-th step that writes anything, the last
# one gets through. Every fork works on a copy of its own, moved to the place of the original.
KILLER = """
import json, os, pathlib, shutil, signal, sys
from skillopt_sleep import applying, deciding, desk
from skillopt_sleep.store import intents, proposals
from skillopt_sleep.paths import locate
from skillopt_staging import apply, branches, files, plumbing

world, copies, action, name, arguments = sys.argv[1:]
plumbing._load()
WRITING = {"hash-object", "mktree", "commit-tree", "update-ref", "notes", "init", "symbolic-ref"}

def die_before(owner, name, state, counts=lambda *arguments: True):
    real = getattr(owner, name)
    def wrapped(*arguments, **options):
        state["left"] -= bool(counts(*arguments))
        if state["left"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    setattr(owner, name, wrapped)

results, status, point = [], 9, 0
while status:
    point += 1
    origin = pathlib.Path(copies, "origin")
    shutil.rmtree(world)
    shutil.copytree(origin, world, symlinks=True)
    child = os.fork()
    if child == 0:
        state = {"left": point}
        die_before(plumbing, "run_git", state, lambda folder, command, *rest: command in WRITING)
        for step in ("replace", "fsync", "open", "unlink", "rmdir"):
            die_before(os, step, state)
        for owner in (applying, deciding):
            for step in ("save_proposal", "save_intent"):
                die_before(owner, step, state)
        for step in ("record_applied", "record_reverted"):
            die_before(applying, step, state)
        die_before(proposals, "forget_intent", state)
        try:
            desk.StoreDesk(locate()).carry_out(action, name, *json.loads(arguments))
        except BaseException as error:
            sys.stderr.write(repr(error))
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    results.append(status)
    shutil.copytree(world, pathlib.Path(copies, str(point)), symlinks=True)
sys.stdout.write(json.dumps(results))
"""


@pytest.mark.parametrize("place", ["project", "vault"])
@pytest.mark.parametrize("action", ["apply", "revert", "reject"])
def test_a_decision_killed_anywhere_is_settled_by_whoever_looks_next(
    action, place, tmp_path, monkeypatch, private_home
):
    world = tmp_path / "world"
    root = world / "project"
    root.mkdir(parents=True)
    git(root, "init", "-q")
    with (private_home / ".gitconfig").open("a") as config:
        config.write("[core]\n\tfsync = none\n")
    monkeypatch.setenv("SKILLOPT_SLEEP_HOME", str(world / "state"))
    live = root / ".claude/skills/commit-messages/SKILL.md"
    live.parent.mkdir(parents=True)
    live.write_text(COMMITS_BASE)
    git(root, "add", ".")
    git(root, "commit", "-qm", "a skill")
    connection = connect(locate().database)
    made = stage(connection, live, repository=root if place == "project" else None)
    connection.close()
    arguments: list[object] = {"apply": [None], "revert": [], "reject": ["no"]}[action]
    if action == "revert":
        StoreDesk(locate()).carry_out("apply", made.id, None)
    copies = tmp_path / "copies"
    copies.mkdir()
    subprocess.run(["cp", "-a", str(world), str(copies / "origin")], check=True)
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(world), str(copies), action, made.id, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    statuses = json.loads(done.stdout)
    assert statuses == [9] * (len(statuses) - 1) + [0], done.stderr
    assert len(statuses) > 8
    old, new = (COMMITS_TEXT, COMMITS_BASE) if action == "revert" else (COMMITS_BASE, COMMITS_TEXT)
    ended = {"apply": State.APPLIED, "revert": State.REVERTED, "reject": State.REJECTED}[action]
    seen = set()
    for point in range(1, len(statuses) + 1):
        _put(copies / str(point), world)
        text = live.read_text()
        assert text in {old, new}
        desk = StoreDesk(locate())
        (settled,) = desk.proposals()
        seen.add((text == new, settled.state is ended))
        if action == "reject":
            assert text == old
        else:
            assert (settled.state is ended) == (text == new)
        assert [entry.name for entry in live.parent.iterdir() if ".skillopt-" not in entry.name] == [
            "SKILL.md"
        ]
        if settled.state is not ended:
            desk.carry_out(action, made.id, *arguments)
        (final,) = desk.proposals()
        assert final.state is ended
        if action == "apply":
            desk.carry_out("revert", made.id)
            assert live.read_text() == COMMITS_BASE
    assert len(seen) == 2


def _put(copy: Path, world: Path) -> None:
    world.rename(world.with_name(f"old-{copy.name}"))
    copy.rename(world)
