"""The guards of this suite catch what they are there for."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.breaks_out
def test_a_write_outside_the_folder_is_refused_and_noted(guard):
    target = Path(__file__).parent / "stray.txt"
    with pytest.raises(PermissionError, match="outside the test's folders"):
        target.write_text("stray")
    assert not target.exists()
    assert "stray.txt" in Path(guard.report).read_text()


@pytest.mark.breaks_out
def test_a_connection_beyond_loopback_is_refused(guard):
    with socket.socket() as sock, pytest.raises(PermissionError, match="beyond loopback"):
        sock.connect(("192.0.2.1", 9))


@pytest.mark.breaks_out
def test_children_are_watched_too(guard):
    code = "import pathlib; pathlib.Path('/var/tmp/skillopt-stray').write_text('x')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "outside the test's folders" in result.stderr
    assert not Path("/var/tmp/skillopt-stray").exists()


def test_the_home_of_a_test_is_its_own(private_home, tmp_path):
    assert Path.home() == private_home
    assert private_home.is_relative_to(tmp_path)
