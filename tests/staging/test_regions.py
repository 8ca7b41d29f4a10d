"""A marked region of a memory file: ours inside, every byte outside the user's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_staging.apply import apply, revert
from skillopt_staging.errors import NeedsDecision, StagingError
from skillopt_staging.memory import lint_memory, project_memory, user_memory
from skillopt_staging.regions import find_changed_region, read_region, write_region

MINE = "# Mine\n\nRun make.\n"
REGION = "<!-- skillopt:begin tests -->\nRun them all.\n<!-- skillopt:end tests -->\n"


def test_a_new_region_goes_to_the_end_and_away_again():
    written = write_region(MINE, "tests", "Run them all.\n")
    assert written == MINE + "\n" + REGION
    assert read_region(written, "tests") == "Run them all.\n"
    assert read_region(written, "other") is None
    assert write_region("", "tests", "Run them all.") == REGION
    assert write_region(MINE, "tests", None) == MINE


def test_a_region_is_replaced_where_it_is():
    document = f"before\n{REGION}after"
    written = write_region(document, "tests", "One.\n\nTwo.\n")
    assert written == document.replace("Run them all.\n", "One.\n\nTwo.\n")
    assert write_region(document, "tests", None) == "before\nafter"


def test_two_regions_do_not_meet():
    both = write_region(write_region(MINE, "tests", "One."), "commits", "Two.")
    assert read_region(both, "tests") == "One.\n"
    assert read_region(write_region(both, "tests", None), "commits") == "Two.\n"


def test_line_ends_are_the_documents():
    written = write_region("mine\r\n", "tests", "one\ntwo\n")
    assert written.count("\n") == written.count("\r\n")
    assert read_region(written, "tests") == "one\r\ntwo\r\n"


@pytest.mark.parametrize(
    "document",
    [
        REGION.replace("<!-- skillopt:end tests -->\n", ""),
        REGION.replace("<!-- skillopt:begin tests -->\n", ""),
        REGION + REGION,
        "".join(reversed(REGION.splitlines(keepends=True))),
    ],
    ids=["no end", "no begin", "twice", "upside down"],
)
def test_broken_markers_are_the_users_to_mend(document):
    for act in (lambda: read_region(document, "tests"), lambda: write_region(document, "tests", "x")):
        with pytest.raises(NeedsDecision, match="broken"):
            act()


def test_markers_in_a_block_of_code_are_an_example():
    document = f"~~~\n{REGION}~~~\n"
    assert read_region(document, "tests") is None
    assert write_region(document, "tests", "x").startswith(document)


@pytest.mark.parametrize("text", ["<!-- skillopt:end tests -->", "a\n<!-- skillopt:begin other -->\nb"])
def test_a_text_with_a_marker_is_refused(text):
    with pytest.raises(StagingError, match="marker"):
        write_region(MINE, "tests", text)


@given(
    st.text(alphabet="ab#\r\n`~ \ufeffé", max_size=60),
    st.text(alphabet="xy\n é", max_size=30),
    st.text(alphabet="xy\n é", max_size=30),
)
def test_nothing_outside_changes_whatever_is_written_into_it(document, one, two):
    first = write_region(document, "tests", one)
    if read_region(first, "tests") is None:  # it was written into an open block of code
        return
    assert first.startswith(document)
    second = write_region(first, "tests", two)
    assert second.startswith(document)
    assert write_region(second, "tests", one) == first
    again = write_region(first, "tests", one)
    assert again == first
    if not document or document.endswith("\n"):
        assert write_region(first, "tests", None) == document


def test_a_region_is_staged_applied_and_reverted_around_what_the_user_writes(repository, git, propose):
    file = repository / "AGENTS.md"
    file.write_text(MINE)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "memory")
    target = project_memory(repository, "codex")
    assert target.live == file
    staged = propose(write_region(MINE, "tests", "Run them all."), path=target.path, live=target.live)
    file.write_text("# Mine and more\n\nRun make or not.\n")
    applied = apply(staged)
    assert file.read_text() == "# Mine and more\n\nRun make or not.\n\n" + REGION
    file.write_text(file.read_text().replace("or not", "always"))
    revert(staged, applied)
    assert file.read_text() == "# Mine and more\n\nRun make always.\n"


@pytest.mark.parametrize(
    ("client", "there", "expected"),
    [
        ("claude", (), "CLAUDE.md"),
        ("claude", ("AGENTS.md",), "AGENTS.md"),
        ("claude", ("AGENTS.md", "CLAUDE.md"), "CLAUDE.md"),
        ("codex", ("CLAUDE.md",), "AGENTS.md"),
        ("copilot", (), ".github/copilot-instructions.md"),
        ("copilot", ("AGENTS.md", "CLAUDE.md"), "AGENTS.md"),
    ],
)
def test_each_clients_own_memory_file_is_found(client, there, expected, repository):
    for name in there:
        (repository / name).write_text("x")
    assert project_memory(repository, client).path == expected


def test_a_memory_file_that_links_to_another_is_changed_where_it_is(repository, tmp_path):
    (repository / "AGENTS.md").write_text("x")
    (repository / "CLAUDE.md").symlink_to("AGENTS.md")
    assert project_memory(repository).path == "AGENTS.md"
    (repository / "CLAUDE.md").unlink()
    (tmp_path / "far.md").write_text("x")
    (repository / "CLAUDE.md").symlink_to(tmp_path / "far.md")
    with pytest.raises(StagingError, match="outside of"):
        project_memory(repository)


def test_the_users_own_memory_file_follows_the_clients_variable(tmp_path):
    assert user_memory("codex", env={}, home=tmp_path) == tmp_path / ".codex/AGENTS.md"
    assert user_memory("claude", env={"CLAUDE_CONFIG_DIR": "/c"}, home=tmp_path).as_posix() == "/c/CLAUDE.md"
    with pytest.raises(StagingError, match="known"):
        user_memory("robot")


def test_the_limits_of_each_client_are_told():
    assert lint_memory("x" * 9_000, client="claude") == ()
    assert [one.code for one in lint_memory("x" * 9_000, client="copilot")] == ["memory-pages"]
    assert lint_memory("x" * 9_000, client="codex") == ()
    assert [one.code for one in lint_memory("x" * 9_000, client="codex", others=(30_000,))] == [
        "memory-bytes"
    ]


def test_the_one_region_that_changed_is_found():
    one = write_region(MINE, "tests", "One.")
    assert find_changed_region(MINE, one) == "tests"
    assert find_changed_region(one, MINE) == "tests"
    assert find_changed_region(one, write_region(one, "tests", "Two.")) == "tests"
    assert find_changed_region(one, one) is None
    assert find_changed_region(one, one.replace("Run make", "Run it")) is None
    assert find_changed_region(MINE, write_region(one, "other", "Two.")) is None


def test_what_the_user_wrote_into_the_region_is_a_conflict(repository, git, propose):
    file = repository / "AGENTS.md"
    file.write_text(write_region(MINE, "tests", "One."))
    staged = propose(write_region(file.read_text(), "tests", "Two."), path="AGENTS.md", live=file)
    file.write_text(file.read_text().replace("One.", "Mine."))
    with pytest.raises(NeedsDecision):
        apply(staged)
    assert "Mine." in file.read_text()
