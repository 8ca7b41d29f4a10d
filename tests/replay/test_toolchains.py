"""Toolchains are shown to runs; what is private never is, whatever it is called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt_replay import process
from skillopt_replay.errors import ReplayError
from skillopt_replay.sandbox import SYSTEM_PATH, open_toolchains


@pytest.fixture
def env(private_home):
    return {"HOME": str(private_home)}


def test_folders_are_found_in_the_home_and_by_their_path_with_links_resolved(env, private_home, tmp_path):
    (private_home / ".nvm/versions/node/v22/bin").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (private_home / "link").symlink_to(tmp_path / "elsewhere")
    found = open_toolchains(["~/.nvm/versions/node/v22", str(private_home / "link")], env)
    assert found.folders == (private_home / ".nvm/versions/node/v22", tmp_path / "elsewhere")
    assert found.path == f"{private_home}/.nvm/versions/node/v22/bin:{SYSTEM_PATH}"
    assert open_toolchains([], env).folders == ()


@pytest.mark.parametrize(
    "place",
    [
        "~/", "~/.", "/", "~/.ssh", "~/.claude", "~/.claude/plugins", "~/.codex/bin", "~/.copilot",
        "~/.config", "~/.config/gh", "~/.local/share", "~/.local", "~/.aws/sso", "~/through", "~/above",
        "/etc", "/etc/ssl", "/var", "/proc/self", "/dev/shm",
    ],
)  # fmt: skip
def test_no_home_no_keys_no_agents_settings_and_nothing_that_holds_them(env, private_home, place):
    for name in (
        ".ssh",
        ".claude/plugins",
        ".codex/bin",
        ".copilot",
        ".config/gh",
        ".local/share",
        ".aws/sso",
    ):
        (private_home / name).mkdir(parents=True, exist_ok=True)
    (private_home / "through").symlink_to(private_home / ".ssh")
    (private_home / "above").symlink_to(private_home.parent)
    with pytest.raises(ReplayError):
        open_toolchains([place], env)


@pytest.mark.parametrize("variable", ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"])
def test_an_agents_folder_that_was_moved_is_known(env, tmp_path, variable):
    moved = tmp_path / "moved"
    (moved / "bin").mkdir(parents=True)
    for place in (moved, moved / "bin", moved.parent):
        with pytest.raises(ReplayError, match=r"is private|holds the home"):
            open_toolchains([str(place)], {**env, variable: str(moved)})


def test_our_own_folders_are_private(env, tmp_path):
    ours = tmp_path / "state"
    (ours / "replays").mkdir(parents=True)
    with pytest.raises(ReplayError, match="is private"):
        open_toolchains([str(ours / "replays")], env, [ours])


@pytest.mark.parametrize(
    "name",
    ["credentials.toml", ".credentials.json", "auth.json", ".npmrc", "id_ed25519", "settings.xml", "a.KEY"],
)
def test_a_folder_with_a_sign_in_at_its_top_is_refused_and_its_programs_are_not(env, private_home, name):
    (private_home / ".cargo/bin").mkdir(parents=True)
    (private_home / ".cargo" / name).write_text("token")
    with pytest.raises(ReplayError, match="looks like a sign-in") as caught:
        open_toolchains(["~/.cargo"], env)
    assert "~/.cargo/bin" in caught.value.hint
    assert open_toolchains(["~/.cargo/bin"], env).folders == (private_home / ".cargo/bin",)


@pytest.mark.parametrize(
    ("given", "said"), [("~/absent", "is not there"), ("bin", "no place"), ("~/file", "no folder")]
)
def test_what_is_no_folder_is_told(env, private_home, given, said):
    (private_home / "file").touch()
    with pytest.raises(ReplayError, match=said):
        open_toolchains([given], env)


async def test_a_run_reads_a_toolchain_and_cannot_change_it(env, confined, private_home, tmp_path):
    tool = private_home / ".tools/bin/heron"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho it flies\n")
    tool.chmod(0o755)
    (private_home / ".netrc").write_text("secret")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    found = open_toolchains(["~/.tools/bin"], env)
    script = f"heron; echo x > {tool}; cat {private_home}/.netrc; ls -A {private_home}"
    argv = confined.wrap(
        ["/bin/sh", "-c", script], writable=[workspace], readable=found.folders, cwd=workspace, reach=()
    )
    finished = await process.run(argv, cwd=workspace, env={"PATH": found.path}, seconds=20)
    assert finished.stdout.split("\n") == ["it flies", ".tools", ""]
    assert "Read-only file system" in finished.stderr
    assert os.access(tool, os.X_OK)
    assert Path(tool).read_text().endswith("flies\n")
