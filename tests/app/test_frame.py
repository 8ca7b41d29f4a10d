"""What commands say when they fail."""

from __future__ import annotations

import pytest
import typer

from skillopt_replay.errors import ReplayError
from skillopt_sleep.cli.frame import explain


@pytest.mark.parametrize("kind", [ReplayError, RuntimeError])
def test_what_a_run_said_drives_no_terminal_when_an_error_tells_of_it(kind, capsys):
    @explain
    def fail():
        raise kind("refused: \x1b]52;c;ZXZpbA==\x07 first\n\tsecond \u202e")

    with pytest.raises(typer.Exit):
        fail()
    said = capsys.readouterr().err
    assert "\n\tsecond <U+202E>" in said
    assert "\x1b" not in said
    assert "refused: \u241b]52;c;" in said
