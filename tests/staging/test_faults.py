"""Killed at any point, or out of space: the live file is old or new, and trying again ends well."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from skillopt_staging.apply import apply, revert
from skillopt_staging.branches import read_note, stage
from skillopt_staging.errors import StagingError
from skillopt_staging.proposals import Staged
from skillopt_staging.vault import Vault

PATH = ".claude/skills/tidy-tests/SKILL.md"

# Forks once per point, so that git and Python start only once. Each fork dies by SIGKILL right before its
# n-th step that writes anything; the last fork gets through.
KILLER = """
import json, os, pathlib, shutil, signal, sys
import msgspec
from skillopt_staging import apply as applying, branches, files, plumbing
from skillopt_staging.proposals import Staged

work, action, arguments = pathlib.Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
plumbing._load()
WRITING = {"hash-object", "mktree", "commit-tree", "update-ref", "notes"}

def die_before(owner, name, state, counts=lambda *arguments: True):
    real = getattr(owner, name)
    def wrapped(*arguments, **options):
        state["left"] -= counts(*arguments)
        if state["left"] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **options)
    setattr(owner, name, wrapped)

def act(folder):
    values = {key: value.replace("@", str(folder)) for key, value in arguments.items()}
    if action == "apply":
        applying.apply(msgspec.convert(values, Staged))
    else:
        values |= {name: pathlib.Path(values[name]) for name in ("repository", "live")}
        branches.stage(**values)

results, status, point = [], 9, 0
while status:
    point += 1
    folder = work / str(point)
    shutil.copytree(work / "origin", folder, symlinks=True)
    child = os.fork()
    if child == 0:
        state = {"left": point}
        die_before(plumbing, "run_git", state, lambda folder, command, *rest: command in WRITING)
        for name in ("replace", "fsync", "open"):
            die_before(os, name, state)
        try:
            act(folder)
        except BaseException as error:
            sys.stderr.write(repr(error))
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    results.append({"folder": str(folder), "status": status})
sys.stdout.write(json.dumps(results))
"""


def kill_everywhere(work, action, arguments):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(work), action, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    # 9 is death by SIGKILL.
    assert [result["status"] for result in results] == [9] * (len(results) - 1) + [0], done.stderr
    assert len(results) > 8
    return [Path(result["folder"]) for result in results]


@pytest.mark.parametrize("place", ["project", "vault"])
def test_apply_killed_anywhere_leaves_old_or_new_and_can_be_repeated(place, tmp_path, git):
    origin = tmp_path / "work/origin"
    live = origin / PATH
    live.parent.mkdir(parents=True)
    live.write_text("old text\n")
    if place == "project":
        git(origin, "init", "-q")
        root, path = origin, PATH
    else:
        root, path = origin / "vault", "home/SKILL.md"
        Vault(root).mirror(live, path)
    staged = stage(root, branch="skillopt/x", path=path, text="new text\n", message="x", note="{}", live=live)
    values = msgspec.structs.asdict(staged)
    assert values.pop("parts") == ()
    portable = {key: value.replace(str(origin), "@") for key, value in values.items()}
    seen = []
    for folder in kill_everywhere(tmp_path / "work", "apply", portable):
        copy = Staged(**{key: value.replace("@", str(folder)) for key, value in portable.items()})
        file = folder / PATH
        seen.append(file.read_text())
        applied = apply(copy)
        assert file.read_text() == "new text\n"
        assert [entry.name for entry in file.parent.iterdir()] == ["SKILL.md"]
        if place == "vault":
            assert git(copy.repository, "show", f"main:{path}") == "new text"
        revert(copy, applied)
        assert file.read_text() == "old text\n"
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {"old text\n", "new text\n"}


def test_stage_killed_anywhere_can_be_repeated(tmp_path, git):
    origin = tmp_path / "work/origin"
    origin.mkdir(parents=True)
    git(origin, "init", "-q")
    git(origin, "commit", "-q", "--allow-empty", "-m", "first")
    values = {
        "repository": "@", "branch": "skillopt/x", "path": PATH, "text": "new text\n", "message": "x",
        "note": '{"n": 1}', "live": f"@/{PATH}",
    }  # fmt: skip
    for folder in kill_everywhere(tmp_path / "work", "stage", values):
        assert git(folder, "status", "--porcelain") == ""
        staged = stage(**values | {"repository": folder, "live": folder / PATH})
        assert read_note(staged) == '{"n": 1}'
        assert git(folder, "rev-list", "--count", "HEAD..skillopt/x") == "1"


# A file limit gives the same refusal as a full disk, in the middle of the write.
FULL = """
import resource, sys
import msgspec
from skillopt_staging.apply import apply
from skillopt_staging.errors import StagingError
from skillopt_staging.proposals import Staged
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
try:
    apply(msgspec.json.decode(sys.argv[1], type=Staged))
except StagingError as error:
    sys.stdout.write(error.message)
"""


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_the_live_file_and_no_rest(there, repository, propose, photograph):
    live = repository / PATH
    if there:
        live.parent.mkdir(parents=True)
        live.write_text("old text\n")
    # Repeats itself, so that git can still store it while the file itself is too long.
    staged = propose("the same line again\n" * 5000)
    before = photograph(repository)
    done = subprocess.run(
        [sys.executable, "-c", FULL, msgspec.json.encode(staged).decode()],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"cannot write {live}: File too large"
    assert photograph(repository) == before
    assert apply(staged).complete


NOISE = random.Random(1)
LONG = "old text\n" + "".join(f"{NOISE.random()}\n" for _ in range(3000))


@pytest.mark.parametrize(
    ("changed", "message"),
    [(LONG + "edited\n", "cannot merge in"), (LONG.replace("\n", "\r\n"), "git hash-object failed")],
    ids=["merge", "backup"],
)
def test_a_disk_too_full_for_what_comes_first_leaves_the_live_file(changed, message, repository, propose):
    live = repository / PATH
    live.parent.mkdir(parents=True)
    live.write_text(LONG)
    staged = propose(LONG.replace("old", "new"))
    live.write_bytes(changed.encode())
    done = subprocess.run(
        [sys.executable, "-c", FULL, msgspec.json.encode(staged).decode()],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(message)
    assert live.read_bytes() == changed.encode()


def test_a_file_in_the_way_of_the_folder_gives_a_plain_error(repository, propose):
    live = repository / "in the way/SKILL.md"
    staged = propose(live=live, path="x/SKILL.md")
    live.parent.write_text("a file")
    with pytest.raises(StagingError, match="cannot read"):
        apply(staged)
