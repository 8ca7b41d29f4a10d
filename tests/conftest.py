"""A private home for every test, and guards that fail it when it leaves."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.configuration import set_hypothesis_home_dir

# Shells start background jobs with Ctrl-C ignored, which children inherit; tests send it to theirs.
for _name, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_name) == signal.SIG_IGN:
        signal.signal(_name, _handler)

_GUARDS = Path(__file__).parent / "guards"
_spec = importlib.util.spec_from_file_location("skillopt_test_guard", _GUARDS / "sitecustomize.py")
assert _spec
assert _spec.loader
_guard_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_guard_module)

settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)
settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let each worker load another part of the tests first.

    To rewrite the asserts of a module takes longer than to load it with what another worker made of them.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    if not worker or session.config.args != session.config.getini("testpaths"):
        return
    here = Path(__file__).parent
    first, step = int(worker.removeprefix("gw")), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in sorted(here.rglob("test_*.py"))[first::step]:
        name = ".".join(path.relative_to(here.parent).with_suffix("").parts)
        # Whatever is wrong with it is told when its tests are collected.
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def pytest_collection_finish() -> None:
    """Keep what was made of the tests, and nothing of what they load."""
    sys.dont_write_bytecode = True


# What a test may inherit: enough to start programs, nothing that says who or where the user is.
_KEEP = {"PATH", "LANG", "LC_ALL", "TERM", "TZ", "CI", "SYSTEMROOT", "PYTEST_CURRENT_TEST"}


@pytest.fixture(scope="session")
def session_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.getbasetemp()
    set_hypothesis_home_dir(str(root / "hypothesis"))
    return root


@pytest.fixture(scope="session")
def guard(session_root: Path):
    report = session_root / "breaches.txt"
    report.write_text("")
    installed = _guard_module.install([str(session_root)], str(report))
    installed.active = False
    return installed


@pytest.fixture(autouse=True)
def private_home(tmp_path: Path, guard, session_root: Path, monkeypatch: pytest.MonkeyPatch, request):
    """HOME, XDG, TMPDIR and the clients' variables point into tmp_path; nothing else is inherited."""
    home = tmp_path / "home"
    temp = tmp_path / "tmp"
    home.mkdir()
    temp.mkdir()
    for name in list(os.environ):
        if name not in _KEEP:
            monkeypatch.delenv(name)
    values = {
        "HOME": home,
        "TMPDIR": temp,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local/share",
        "XDG_STATE_HOME": home / ".local/state",
        "XDG_CACHE_HOME": home / ".cache",
        "CLAUDE_CONFIG_DIR": home / ".claude",
        "CODEX_HOME": home / ".codex",
        "COPILOT_HOME": home / ".copilot",
        "SKILLOPT_SLEEP_HOME": tmp_path / "state",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": home / ".gitconfig",
        "PYTHONPATH": _GUARDS,
        "PYTHONDONTWRITEBYTECODE": "1",
        "SKILLOPT_TEST_ALLOWED": session_root,
        "SKILLOPT_TEST_REPORT": guard.report,
    }
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@localhost\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    report = Path(guard.report)
    before = report.read_text()
    guard.active = True
    yield home
    guard.active = False
    breaches = report.read_text()[len(before) :]
    if breaches and request.node.get_closest_marker("breaks_out") is None:
        pytest.fail(f"the test left its folder or the machine:\n{breaches}", pytrace=False)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A real git repository with one commit."""
    path = tmp_path / "project"
    path.mkdir()
    git(path, "init", "-q")
    (path / "README.md").write_text("# Project\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "first")
    return path


def git(path: Path, *arguments: str) -> str:
    """Run git in `path` and return what it printed."""
    return subprocess.run(
        ["git", "-C", str(path), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()
