"""Where a skill of a project or of the user lives, for each client."""

from __future__ import annotations

import pytest

from skillopt_staging.errors import NoRepository, StagingError
from skillopt_staging.targets import (
    find_repository,
    find_shadows,
    prefers_user,
    project_target,
    user_target,
    vault_path,
)


def test_a_new_project_skill_goes_to_the_clients_first_place_at_the_top_level(repository):
    below = repository / "src/deep"
    below.mkdir(parents=True)
    target = project_target(below, "tidy-tests")
    assert target == (
        repository,
        ".claude/skills/tidy-tests/SKILL.md",
        repository / ".claude/skills/tidy-tests/SKILL.md",
    )
    assert project_target(below, "x", "codex").path == ".agents/skills/x/SKILL.md"
    assert project_target(below, "x", "copilot").path == ".github/skills/x/SKILL.md"


def test_an_existing_skill_is_found_in_any_place_the_client_reads(repository):
    file = repository / ".agents/skills/x/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    assert project_target(repository, "x", "copilot").live == file
    assert project_target(repository, "x", "claude").path == ".claude/skills/x/SKILL.md"


@pytest.mark.parametrize("link", ["file", "skill", "skills"])
def test_a_link_inside_the_repository_leads_to_the_real_file(link, repository):
    real = repository / "shared/x/SKILL.md"
    real.parent.mkdir(parents=True)
    real.write_text("x")
    name = repository / ".claude/skills/x/SKILL.md"
    place, goal = {
        "file": (name, real),
        "skill": (name.parent, real.parent),
        "skills": (name.parents[1], real.parents[1]),
    }[link]
    place.parent.mkdir(parents=True)
    place.symlink_to(goal)
    assert project_target(repository, "x") == (repository, "shared/x/SKILL.md", real)


def test_a_link_out_of_the_repository_is_refused(repository, tmp_path):
    (repository / ".claude").symlink_to(tmp_path)
    with pytest.raises(StagingError, match="outside of") as caught:
        project_target(repository, "x")
    assert caught.value.hint


def test_a_linked_worktree_is_its_own_place(repository, git, tmp_path):
    git(repository, "worktree", "add", "-q", str(tmp_path / "other"))
    assert find_repository(tmp_path / "other") == tmp_path / "other"
    assert project_target(tmp_path / "other", "x").repository == tmp_path / "other"


def test_folders_in_no_repository_have_none(tmp_path, repository):
    assert find_repository(tmp_path) is None
    assert find_repository(tmp_path / "gone") is None
    assert find_repository(repository / ".git") is None
    with pytest.raises(NoRepository):
        project_target(tmp_path, "x")


def test_a_bare_repository_is_its_git_folder(tmp_path, git):
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert find_repository(tmp_path / "bare.git" / "refs") == tmp_path / "bare.git"


def test_a_project_in_an_odd_folder_is_found(tmp_path, git):
    root = tmp_path / "ein Ordner\nmit $HOME"
    git(tmp_path, "init", "-q", str(root))
    assert find_repository(root) == root


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a\0b"])
def test_a_name_that_is_a_path_is_refused(name, repository):
    for ask in (lambda: project_target(repository, name), lambda: user_target(name)):
        with pytest.raises(StagingError, match="is no name for a skill"):
            ask()


def test_an_unknown_client_is_named(repository):
    with pytest.raises(StagingError, match="'emacs'") as caught:
        project_target(repository, "x", "emacs")
    assert "claude" in caught.value.hint


@pytest.mark.parametrize(
    ("client", "env", "expected"),
    [
        ("claude", {}, "home/.claude/skills/x/SKILL.md"),
        ("claude", {"CLAUDE_CONFIG_DIR": "moved"}, "moved/skills/x/SKILL.md"),
        ("claude", {"CLAUDE_CONFIG_DIR": ""}, "home/.claude/skills/x/SKILL.md"),
        ("codex", {"CODEX_HOME": "moved"}, "home/.agents/skills/x/SKILL.md"),
        ("copilot", {}, "home/.copilot/skills/x/SKILL.md"),
        ("copilot", {"COPILOT_HOME": "moved"}, "moved/skills/x/SKILL.md"),
    ],
)
def test_user_skills_follow_home_and_the_clients_variables(client, env, expected, tmp_path):
    env = {name: value and str(tmp_path / value) for name, value in env.items()}
    assert user_target("x", client, env=env, home=tmp_path / "home") == tmp_path / expected


def test_an_existing_user_skill_wins_over_the_first_place(tmp_path):
    file = tmp_path / ".codex/skills/x/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("x")
    assert user_target("x", "codex", env={}, home=tmp_path) == file


def test_the_environment_of_the_process_is_the_default(private_home):
    assert user_target("x") == private_home / ".claude/skills/x/SKILL.md"


def test_one_file_has_one_path_in_the_vault(tmp_path):
    home = tmp_path / "home"
    assert vault_path(home / ".agents/skills/x/SKILL.md", home=home) == "home/.agents/skills/x/SKILL.md"
    assert vault_path(tmp_path / "x/SKILL.md", home=home).startswith("elsewhere/")


def put(*files):
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")


def test_claude_reads_the_users_skill_before_the_projects_and_codex_the_other_way_round(repository, tmp_path):
    home = tmp_path / "someone"
    claude, project = home / ".claude/skills/x/SKILL.md", repository / ".claude/skills/x/SKILL.md"
    agents, shared = home / ".agents/skills/x/SKILL.md", repository / ".agents/skills/x/SKILL.md"
    put(claude, project, agents, shared)

    def shadows(live, client):
        return find_shadows(live, "x", client, project=repository, env={}, home=home)

    assert shadows(project, "claude") == [claude]
    assert shadows(claude, "claude") == []
    assert shadows(agents, "codex") == [shared]
    assert shadows(shared, "codex") == []
    assert (prefers_user("claude"), prefers_user("codex"), prefers_user("copilot")) == (True, False, False)


def test_one_file_under_two_names_shadows_nothing(repository, tmp_path):
    home = tmp_path / "someone"
    project = repository / ".claude/skills/x/SKILL.md"
    put(project)
    link = home / ".claude/skills/x"
    link.parent.mkdir(parents=True)
    link.symlink_to(project.parent)
    assert find_shadows(project, "x", "claude", project=repository, env={}, home=home) == []


def test_codex_takes_the_skill_nearest_to_where_it_works(repository):
    near, far = repository / "web/.agents/skills/x/SKILL.md", repository / ".agents/skills/x/SKILL.md"
    put(near, far)
    assert project_target(repository / "web", "x", "codex").live == near
    assert project_target(repository, "x", "codex").live == far
    near.unlink()
    assert project_target(repository / "web", "x", "codex").live == far
    far.unlink()
    assert project_target(repository / "web", "x", "codex").live == far
