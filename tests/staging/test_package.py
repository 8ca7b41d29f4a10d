"""The package is light to import and gives every name it promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import skillopt_staging


def test_importing_the_package_and_its_records_starts_nothing_heavy():
    code = (
        "import sys, skillopt_staging\n"
        "from skillopt_staging import Staged, stage, revert, Vault, StagingError\n"
        "import skillopt_staging.apply, skillopt_staging.lint\n"
        "sys.exit(', '.join(sorted({'git', 'filelock', 'yaml'} & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_promised_name_is_there():
    for name in skillopt_staging.__all__:
        assert getattr(skillopt_staging, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = skillopt_staging.nothing


def test_a_machine_without_git_is_told_to_install_it(tmp_path, repository):
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from skillopt_staging import StagingError, find_repository\n"
        "try:\n    find_repository(Path(sys.argv[1]))\n"
        "except StagingError as error:\n    sys.stdout.write(f'{error.message}: {error.hint}')"
    )
    import os

    done = subprocess.run(
        [sys.executable, "-c", code, str(repository)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": str(tmp_path)},
    )
    assert done.stdout == "git cannot be started: install git 2.25 or newer"
