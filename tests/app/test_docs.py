"""What the documents say can be typed, and leads somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import typer

from skillopt_replay.tasks import Check, Pairwise, Rubric
from skillopt_sleep.cli import app
from skillopt_sleep.config import get_value
from skillopt_sleep.settings import Settings
from skillopt_sleep.training import Config

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not {".venv", ".cache", "data", "node_modules", "transcripts"} & set(page.relative_to(ROOT).parts)
)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_NAME = "skillopt-sleep"


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def list_commands(text: str) -> Iterator[str]:
    """Yield what stands behind the program's name in code, inline or in a block."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
            continue
        pieces = [line.split(" #")[0]] if inside else _CODE.findall(line)
        for piece in pieces:
            _, found, rest = piece.partition(f"{_NAME} ")
            if found and not piece.partition(_NAME)[0].rstrip("$ ").endswith(("/", "install", "git", "cd")):
                yield rest.strip()


def list_rows(text: str) -> Iterator[str]:
    """Yield the commands of the first table of commands.md, one by one."""
    table = text.partition("| command | does |")[2].partition("\n\n")[0]
    for row in table.splitlines():
        if not row.startswith("| `"):
            continue
        group = ""
        for written in _CODE.findall(row.split("|")[1]):
            first = written.split()[0]
            group = first if first in {"config", "gate"} else group
            yield written if not group or first == group else f"{group} {written}"


class Wrong(Exception):
    """A command line that the program would not take."""


def parse(line: str) -> None:
    """Parse a command line as the program does, without running anything. Raises Wrong.

    A command alone stands for itself, whatever arguments it needs.
    """
    words = [word.strip("[]") for word in shlex.split(re.sub(r"\s*\|.*", "", line))]
    command: Any = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        name, *words = words
        if name not in command.commands:
            raise Wrong(f"there is no command {name!r}")
        command = command.commands[name]
    if words and words != ["--help"]:
        try:
            command.make_context(command.name, words)
        except Exception as error:
            raise Wrong(str(error)) from error


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_line_on_the_page_can_be_typed(page: Path):
    for line in list_commands(page.read_text(encoding="utf-8")):
        parse(line)


def test_the_page_of_commands_lists_every_command_and_no_other():
    listed = list(list_rows((ROOT / "docs" / "commands.md").read_text(encoding="utf-8")))
    for line in listed:
        parse(line)
    command: Any = typer.main.get_command(app)
    known = set()
    for word, sub in command.commands.items():
        known |= {f"{word} {inner}" for inner in sub.commands} if hasattr(sub, "commands") else {word}
    depth = {word.split()[0]: len(word.split()) for word in known}
    assert {" ".join(line.split()[: depth.get(line.split()[0], 1)]) for line in listed} == known


def test_a_command_that_is_not_there_would_be_noticed():
    for line in ("dream", "run --fast", "config got x", "status now", "config get --json", "reject a"):
        with pytest.raises(Wrong):
            parse(line)
    parse("apply ID... [--hunks 1,3]")
    assert list(list_commands("`skillopt-sleep run`\n```\n$ skillopt-sleep tasks  # all\n```")) == [
        "run",
        "tasks",
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_on_the_page_leads_somewhere(page: Path):
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{name(page)}: {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", goal.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{name(page)}: {target}"


TRAINING = ROOT / "docs" / "training.md"


@pytest.mark.parametrize("page", [page for page in PAGES if page != TRAINING], ids=name)
def test_every_setting_on_the_page_exists(page: Path, tmp_path: Path):
    sections = "|".join(Settings.__struct_fields__)
    for key in re.findall(rf"`(?:{sections})\.[a-z_]+", page.read_text(encoding="utf-8")):
        get_value(tmp_path / "config.toml", key.strip("`"))


def test_every_setting_of_a_training_run_on_its_page_exists():
    sections = {field.name: field.type for field in msgspec.structs.fields(Config)}
    pattern = rf"\b({'|'.join(sections)})\.([a-z_]+)"
    spans = _CODE.findall(TRAINING.read_text(encoding="utf-8"))
    found = [pair for span in spans for pair in re.findall(pattern, span)]
    assert len(found) > 20
    for section, key in found:
        assert key in {field.name for field in msgspec.structs.fields(sections[section])}, key


def test_the_checks_on_the_page_of_training_are_those_a_task_may_have():
    section = TRAINING.read_text(encoding="utf-8").partition("## Checks\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section.partition("|---|")[2], re.MULTILINE))
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(Check) if kind not in {Pairwise, Rubric}}
    assert rows.keys() == kinds.keys()
    for tag, kind in kinds.items():
        fields = set(kind.__struct_fields__) - {"negate", "origin", "met_before"}
        assert all(re.search(rf"`\"?{field}\b", rows[tag]) for field in fields), tag


def test_the_exit_codes_in_help_and_on_the_page_are_the_same():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    table = set(re.findall(r"^\| (\d+) \|", page, re.MULTILINE))
    epilog = typer.main.get_command(app).epilog or ""
    assert set(re.findall(r"\b(\d+)\b", epilog)) == table
