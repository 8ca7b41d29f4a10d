"""Real repositories, and a way to see that nothing of the user's was touched in them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from skillopt_staging.branches import stage

PATH = ".claude/skills/tidy-tests/SKILL.md"
BASE = (
    "---\nname: tidy-tests\ndescription: How to run the tests here.\n---\n\n"
    "# Tests\n\nRun them all.\n\n## Before\n\nInstall first.\n\n## After\n\nLook at the log.\n"
)
BETTER = BASE.replace("Run them all.\n", "Run them all with make test.\n")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(private_home):
    """Let git skip its fsyncs: no test here cuts the power, and a busy disk makes them slow."""
    with (private_home / ".gitconfig").open("a") as config:
        config.write("[core]\n\tfsync = none\n")


@pytest.fixture
def git():
    """Run git in a folder and return what it printed."""

    def run(folder, *arguments, **options):
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, **options
        )
        return done.stdout.rstrip("\n")

    return run


@pytest.fixture
def skill(repository, git) -> Path:
    """The live file of a project that has one committed skill."""
    live = repository / PATH
    live.parent.mkdir(parents=True)
    live.write_text(BASE)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "a skill")
    return live


@pytest.fixture
def propose(repository):
    """Stage a text for the project's skill."""

    def run(text=BETTER, *, branch="skillopt/2026-01-02-tidy-tests", root=repository, path=PATH, **changes):
        values = {"message": "Sharpen tidy-tests", "note": '{"wins": 7}', "live": root / path} | changes
        return stage(root, branch=branch, path=path, text=text, **values)

    return run


@pytest.fixture
def photograph(git):
    """Return everything of a repository that staging may not change, as comparable values."""

    def take(root: Path, *, ours=("skillopt/",)):
        folder = Path(git(root, "rev-parse", "--absolute-git-dir"))
        common = Path(os.path.normpath(root / git(root, "rev-parse", "--git-common-dir")))
        index = folder / "index"
        logs = common / "logs"
        refs = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return {
            "index": index.read_bytes() if index.exists() else None,
            "index stat": index.stat().st_mtime_ns if index.exists() else None,
            "head": (folder / "HEAD").read_bytes(),
            "config": (common / "config").read_bytes(),
            "stash": git(root, "stash", "list") if (common / "refs/stash").exists() else "",
            "refs": [
                ref
                for ref in refs
                if not ref.startswith(("refs/skillopt/", "refs/notes/skillopt"))
                and not any(ref.startswith(f"refs/heads/{name}") for name in ours)
            ],
            "reflogs": {
                str(log.relative_to(logs)): log.read_bytes()
                for log in sorted(logs.rglob("*"))
                if log.is_file() and "skillopt" not in str(log.relative_to(logs))
            },
            "git folder": sorted(
                entry.name
                for entry in folder.iterdir()
                if entry.name != "skillopt.lock" and entry.name != "logs"
            ),
            "files": fingerprint(root),
        }

    return take


def fingerprint(root: Path) -> dict[str, str]:
    """Return mode and content of every file outside of .git."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*files, *folders]:
            path = Path(folder, name)
            status = path.lstat()
            if path.is_symlink():
                content = str(path.readlink())
            elif path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest() + str(status.st_mtime_ns)
            else:
                content = "folder"
            found[str(path.relative_to(root))] = f"{status.st_mode:o} {content}"
    return found
