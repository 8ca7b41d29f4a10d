"""The page that says which clients are read says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES
from tests.harvesters.test_roots import VARIABLES

ROOT = Path(__file__).parents[2]
ROWS = {
    match[1]: [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in (ROOT / "docs" / "clients.md").read_text().splitlines()
    if (match := re.match(r"\| [^|]*\(`(\w+)`\) \|", line))
}
# Windows and XDG base folders go without saying: VS Code's row speaks of its user folders.
UNSAID = {("vscode", "XDG_CONFIG_HOME"), ("vscode", "APPDATA")}


def test_every_client_has_a_row():
    assert set(ROWS) == set(SOURCES)


@pytest.mark.parametrize("client", SOURCES)
def test_the_row_names_the_variables_that_say_where_it_keeps_its_files(client):
    named = set(re.findall(r"\b[A-Z][A-Z_]{5,}\b", ROWS[client][1]))
    assert named == {name for name in VARIABLES[client] if (client, name) not in UNSAID}


@pytest.mark.parametrize("client", SOURCES)
def test_the_versions_seen_are_those_that_are_tested(client):
    recorded = {
        re.match(r"[\d.]+", folder.name)[0]
        for folder in (ROOT / "tests" / "data" / "transcripts" / client).glob("[0-9]*")
    }
    assert set(re.findall(r"\d+\.\d+\.\d+", ROWS[client][2])) == recorded
