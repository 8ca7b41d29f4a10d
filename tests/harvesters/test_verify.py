"""Commands that show whether work is right, and which of them may be run again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_harvesters.verify import as_replayable, is_verification


@pytest.mark.parametrize(
    "command",
    [
        "uv run --frozen pytest -q",
        "timeout 60 pytest -x",
        "CI=1 npm test",
        "/p/.venv/bin/python -m pytest",
        "make -j4 test",
        "cargo +nightly test -p core",
        "python manage.py test",
        "npx vitest run",
        "npm run format:check",
        "cargo fmt -- --check",
        "prettier --check src",
        "tox -e py312",
    ],
)
def test_checkers_are_known_behind_the_programs_that_run_them(command):
    assert is_verification(command)


@pytest.mark.parametrize(
    "command", ["npm ci", "npm install", "make clean", "pip install pytest", "cat test", "vitestx"]
)
def test_other_commands_verify_nothing(command):
    assert not is_verification(command)


@pytest.mark.parametrize(
    "command",
    [
        "npm run lint:fix",
        "npm run build:prod",
        "npm run test:watch",
        "make test deploy",
        "ruff check --fix .",
        "eslint . --fix",
        "jest -u",
        "jest --watchAll",
        "pytest --pdb",
        "pytest --snapshot-update",
        "mypy --install-types --non-interactive",
        "go test -exec sudo ./...",
        "tox -e py312",
        "pre-commit run -a",
        "playwright test --ui",
        "pytest --rootdir=/etc",
        "pytest --junitxml=/etc/x.xml",
        "pytest -c/etc/pytest.ini",
        "pytest @/etc/passwd",
        "LD_PRELOAD=x.so pytest",
        "env PATH=evil pytest",
        "PYTHONPATH=/elsewhere pytest",
        "make test DESTDIR=/",
        "/usr/bin/pytest",
        "pytest ~/x",
    ],
)
def test_what_changes_files_fetches_waits_or_reaches_out_is_never_run_again(command):
    assert is_verification(command)
    assert as_replayable(command, "/p") is None


@pytest.mark.parametrize(
    ("command", "replayable"),
    [
        ("CI=1 PYTHONPATH=src pytest -q", "CI=1 PYTHONPATH=src pytest -q"),
        ("/p/.venv/bin/python -m pytest", ".venv/bin/python -m pytest"),
        ("pytest --junitxml=/p/out/x.xml", "pytest --junitxml=out/x.xml"),
        ("timeout 60 pytest -x", "timeout 60 pytest -x"),
        ("pytest tests/test_update.py", "pytest tests/test_update.py"),
    ],
)
def test_plain_checkers_are_run_again_inside_the_project(command, replayable):
    assert as_replayable(command, "/p") == replayable


WORDS = st.sampled_from(
    [
        "pytest",
        "npm",
        "run",
        "test",
        "make",
        "cd /p",
        "&&",
        "--fix",
        "A=b",
        "/etc/x",
        "-x",
        "..",
        "$(x)",
        "'",
        "|",
        "é",
    ]
)


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=200))
def test_no_command_line_crashes_it_and_only_plain_words_come_back(command):
    is_verification(command)
    again = as_replayable(command, "/p")
    assert again is None or (set(again.split(" ")).isdisjoint({"|", ";", ".."}) and "/etc" not in again)
