"""The wings know only what the design lets them know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skillopt_harvesters.errors import HarvestError
from skillopt_replay.errors import ReplayError
from skillopt_sleep.errors import AppError, Explained
from skillopt_staging.errors import StagingError

ROOT = Path(__file__).parents[2]


def test_imports_follow_the_arrows_and_form_no_circle():
    result = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("error_type", [AppError, HarvestError, ReplayError, StagingError])
def test_every_wings_errors_explain_themselves(error_type):
    error = error_type("what happened", hint="what to do")
    assert isinstance(error, Explained)
    assert (str(error), error.hint) == ("what happened", "what to do")
