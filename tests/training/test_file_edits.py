"""References and scripts are edited like the skill itself, inside its folder and without breaking them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.skill_files import PathRefused, SkillFile, check_path
from skillopt_replay.skills import Skill, new_skill
from skillopt_sleep.training.edits import apply_edits
from skillopt_sleep.training.records import Edit

SCRIPT = "import sys\n\n\ndef run(name):\n    print(name)\n\n\nrun(sys.argv[1])\n"
DOCUMENT = new_skill("house-sql", "Use for SQL.", "# House SQL\n\n## Rules\n\n- Use SQLite.")
FOLDER = msgspec.structs.replace(
    DOCUMENT,
    files=(
        SkillFile("scripts/run.py", SCRIPT),
        SkillFile("references/dates.md", "# Dates\n\n## Rules\n\n- Write ISO dates.\n"),
        SkillFile("scripts/data.json", '{"a": 1}\n'),
        SkillFile("scripts/check.sh", "echo fine\n", executable=True),
        SkillFile("scripts/check", "#!/usr/bin/env python3\nprint(1)\n", executable=True),
        SkillFile("settings.toml", "a = 1\n"),
        SkillFile("logo.png", "", blob=b"\x89PNG\xff"),
    ),
)


def apply(path, op, content="", target="", folder=FOLDER, **more):
    one = Edit(op=op, content=content, target=target, file=path)
    limits = {"limit": 1, "max_tokens": 2000, "max_file_tokens": 200, **more}
    changed, (result,) = apply_edits(folder, [one], **limits)
    return changed, result


def text_of(folder, path):
    return folder.find(path).text


def test_a_reference_is_edited_as_markdown():
    changed, result = apply("references/dates.md", "replace", "Write no times.", "write ISO  dates.")
    assert text_of(changed, "references/dates.md") == "# Dates\n\n## Rules\n\n- Write no times.\n"
    assert (result.matched, result.exact) == ("Write ISO dates.", False)
    assert changed.text == FOLDER.text


def test_the_skill_itself_is_a_file_like_the_others():
    changed, _ = apply("SKILL.md", "add", "Be kind.")
    assert "- Use SQLite.\n- Be kind.\n" in changed.text
    assert changed.files == FOLDER.files


def test_a_script_keeps_its_indentation_and_is_matched_to_the_character():
    changed, _ = apply("scripts/run.py", "replace", "    print(name.upper())", "    print(name)")
    assert text_of(changed, "scripts/run.py") == SCRIPT.replace("print(name)", "print(name.upper())")
    changed, result = apply("scripts/run.py", "insert_after", '    """Say it."""', "def run(name):")
    assert '(name):\n    """Say it."""\n    print' in text_of(changed, "scripts/run.py")
    assert result.detail == "inserted after line 4"
    changed, _ = apply("scripts/run.py", "delete", target="run(sys.argv[1])")
    assert text_of(changed, "scripts/run.py").endswith("print(name)\n\n\n")
    _, missed = apply("scripts/run.py", "delete", target="IMPORT sys")
    assert (missed.miss, missed.detail) == (True, "the target is not in the file")
    _, missed = apply("scripts/run.py", "delete", target="name")
    assert missed.detail == "the target is in the file 2 times: quote more of it"


@pytest.mark.parametrize(
    ("path", "op", "content", "target", "why"),
    [
        ("scripts/run.py", "delete", "", "def run(name):", "could not be read any more"),
        ("scripts/data.json", "add", "{}", "", "could not be read any more"),
        ("scripts/check.sh", "add", "if true; then", "", "could not be read any more"),
        ("scripts/check", "add", "for (", "", "could not be read any more"),
        ("settings.toml", "add", "a = ", "", "could not be read any more"),
        ("logo.png", "add", "x", "", "is no text"),
        ("scripts/run.py", "add", "run(sys.argv[1])", "", "has these lines already"),
        ("scripts/run.py", "insert_after", "    print(name)", "def run(name):", "there already"),
        ("scripts/run.py", "replace", "import sys", "import sys", "changes nothing"),
        ("scripts/run.py", "add", "\u200b\n", "", "empty"),
        ("scripts/run.py", "add", "# " + "x" * 900, "", "over the size budget of 200"),
        ("references/dates.md", "add", "Be <!-- x --> kind.", "", "HTML comment"),
        ("scripts/none.py", "replace", "x", "y", "no such file"),
        ("../run.py", "add", "x", "", "below the skill's folder"),
        ("Scripts/RUN.py", "add", "x = 1", "", "scripts/run.py is in its way"),
        ("scripts", "add", "x", "", "is in its way"),
        ("scripts/run.py/x.md", "add", "x", "", "is in its way"),
    ],
)
def test_what_breaks_repeats_or_leaves_the_folder_is_refused(path, op, content, target, why):
    changed, result = apply(path, op, content, target)
    assert not result.applied
    assert why in result.detail
    assert changed == FOLDER


def test_an_addition_makes_a_file_and_the_last_deletion_takes_it_away():
    changed, _ = apply("scripts/new.sh", "add", "echo hi")
    assert text_of(changed, "scripts/new.sh") == "echo hi\n"
    assert [f.path for f in changed.files] == sorted(f.path for f in changed.files)
    gone, _ = apply("scripts/new.sh", "delete", target="echo hi", folder=changed)
    assert gone == FOLDER


def test_a_script_keeps_its_mode_and_a_new_one_with_an_interpreter_can_be_run():
    changed, _ = apply("scripts/check.sh", "add", "echo done")
    assert changed.find("scripts/check.sh").executable
    assert not apply("scripts/run.py", "add", "x = 1")[0].find("scripts/run.py").executable
    changed, _ = apply("scripts/new", "add", "#!/bin/sh\necho hi")
    assert changed.find("scripts/new").executable


def test_invisible_characters_never_reach_a_script():
    changed, _ = apply("scripts/new.sh", "add", "echo \u202ehi\u2066")
    assert text_of(changed, "scripts/new.sh") == "echo hi\n"


def test_the_learning_rate_counts_over_all_files():
    edits = [
        Edit(op="add", content="x = 1", file="scripts/run.py"),
        Edit(op="add", content=""),
        Edit(op="add", content="Be kind."),
        Edit(op="add", content="y = 1", file="scripts/run.py"),
    ]
    changed, results = apply_edits(FOLDER, edits, limit=2, max_tokens=2000, max_file_tokens=200)
    assert [r.applied for r in results] == [True, False, True, False]
    assert results[3].detail == "over the learning rate"
    unchanged, results = apply_edits(FOLDER, edits, limit=0, max_tokens=2000, max_file_tokens=200)
    assert unchanged == FOLDER
    with pytest.raises(ValueError, match="-1"):
        apply_edits(FOLDER, [], limit=-1, max_tokens=2000, max_file_tokens=200)


def test_a_file_that_was_broken_before_may_still_be_edited():
    broken = msgspec.structs.replace(FOLDER, files=(SkillFile("a.py", "def (\n"),))
    changed, result = apply("a.py", "add", "x = 1", folder=broken)
    assert result.applied
    assert text_of(changed, "a.py") == "def (\nx = 1\n"


@pytest.mark.parametrize(
    "path",
    ["", "/a", "a/", "a//b", "./a", "a/../b", "a\\b", "C:a", ".env", "a/.b", "~a", "a.", "con", "a/NUL.txt",
     "a\nb", "SKILL.md", "skill.MD", "skill.md/x", "a\u202eb", "x" * 201, " a"],
)  # fmt: skip
def test_a_path_that_leaves_the_folder_or_cannot_be_everywhere_is_refused(path):
    with pytest.raises(PathRefused):
        check_path(path)
    with pytest.raises(PathRefused):
        Skill("x", "x", (SkillFile(path, "x"),))


def test_a_folder_is_the_same_in_any_order_and_its_digest_tells_every_file():
    assert Skill(FOLDER.name, FOLDER.text, FOLDER.files[::-1]) == FOLDER
    other, _ = apply("scripts/run.py", "add", "x = 1")
    assert len({FOLDER.digest, other.digest, DOCUMENT.digest}) == 3
    assert msgspec.json.decode(msgspec.json.encode(FOLDER), type=Skill) == FOLDER


PATHS = st.sampled_from(
    ["SKILL.md", "scripts/run.py", "references/dates.md", "scripts/data.json", "n/new.txt", "../x"]
)
LINES = st.sampled_from(
    ["x = 1", "import sys", "- Write ISO dates.", "Be kind.", '{"a": 1}', "def", "", "print(name)"]
)


@given(
    st.lists(
        st.builds(
            Edit,
            op=st.sampled_from(["add", "insert_after", "replace", "delete"]),
            content=LINES,
            target=LINES,
            file=PATHS,
        ),
        max_size=6,
    ),
    st.integers(0, 4),
)
def test_whatever_the_edits_only_files_that_were_changed_are_others_than_before(edits, limit):
    changed, results = apply_edits(FOLDER, edits, limit=limit, max_tokens=2000, max_file_tokens=200)
    touched = {r.edit.file for r in results if r.applied}
    assert sum(r.applied for r in results) <= limit
    assert [r.edit for r in results] == edits
    for path in {f.path for f in (*FOLDER.files, *changed.files)} - touched:
        assert changed.find(path) == FOLDER.find(path)
    assert "SKILL.md" in touched or changed.text == FOLDER.text
    for file in changed.files:
        if file.path.endswith(".py"):
            compile(file.text, file.path, "exec")
