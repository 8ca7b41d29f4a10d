"""Messages and branch names are what git itself reads and allows."""

from __future__ import annotations

import pytest

from skillopt_staging.errors import StagingError
from skillopt_staging.messages import branch_name, trailers


def test_trailers_are_what_git_reads_back(repository, git):
    message = trailers(
        "Sharpen it\n\nBecause: of this.\n", {"Skillopt-Night": "n1", "Skillopt-Effect": "a\n  b"}
    )
    parsed = git(repository, "interpret-trailers", "--parse", input=message)
    assert parsed == "Skillopt-Night: n1\nSkillopt-Effect: a b"
    assert trailers("x", {}) == "x\n"


@pytest.mark.parametrize(("message", "mapping"), [(" \n", {}), ("x", {"no colon:": "1"}), ("x", {"": "1"})])
def test_trailers_git_would_not_read_are_refused(message, mapping):
    with pytest.raises(StagingError):
        trailers(message, mapping)


@pytest.mark.parametrize("skill", ["tidy-tests", "with space", "a..b", "x.lock", "größe", "~^:?*[\\", "-"])
def test_branch_names_are_legal_for_git(skill, repository, git):
    name = branch_name("2026-01-02", skill)
    assert name.startswith("skillopt/2026-01-02")
    assert git(repository, "check-ref-format", "--branch", name) == name
