"""The client is found behind its links and wrappers, and one credential is taken along."""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

import pytest

from skillopt_replay.agents.claude_cli import find_claude, find_credentials, locate
from skillopt_replay.errors import Unavailable


def make_program(path: Path, script: str = "echo '2.1.332 (Claude Code)'") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_client_on_the_path_is_found_with_its_version(tmp_path):
    program = make_program(tmp_path / "real" / "claude")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(program)
    cli = find_claude({"PATH": str(tmp_path / "bin"), "ANTHROPIC_API_KEY": "sk-fake"})
    assert cli is not None
    assert (cli.binary, cli.version, cli.signed_in) == (program, "2.1.332", True)


def test_no_client_is_told_as_none(tmp_path):
    assert find_claude({"PATH": str(tmp_path)}) is None
    assert find_claude({"PATH": str(tmp_path)}, tmp_path / "absent") is None


@pytest.mark.parametrize("layout", ["beside", "inside"])
def test_the_native_program_is_taken_in_place_of_the_npm_wrapper(tmp_path, layout):
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64", "AMD64": "x64"}[platform.machine()]
    package = f"claude-code-{'darwin' if sys.platform == 'darwin' else 'linux'}-{machine}"
    modules = tmp_path / "lib" / "node_modules" / "@anthropic-ai"
    wrapper = make_program(modules / "claude-code" / "bin" / "claude.exe")
    place = modules if layout == "beside" else modules / "claude-code" / "node_modules" / "@anthropic-ai"
    native = make_program(place / package / "claude")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "claude").symlink_to(wrapper)
    assert locate({"PATH": str(tmp_path / "bin")}) == native
    native.unlink()
    assert locate({"PATH": str(tmp_path / "bin")}) == wrapper


@pytest.mark.parametrize("script", ["exit 1", "echo hello", "echo 'cannot run' >&2; exit 126"])
def test_a_program_that_tells_no_version_is_explained(tmp_path, script):
    make_program(tmp_path / "claude", script)
    with pytest.raises(Unavailable, match="does not tell a version") as caught:
        find_claude({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert "install" in caught.value.hint


def test_exactly_one_token_is_taken_and_the_route_with_it():
    env = {
        "ANTHROPIC_API_KEY": "sk-key",
        "ANTHROPIC_AUTH_TOKEN": "bearer",
        "CLAUDE_CODE_OAUTH_TOKEN": "oauth",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "HTTPS_PROXY": "http://127.0.0.1:2",
        "AWS_SECRET_ACCESS_KEY": "no",
    }
    found = find_credentials(env)
    assert found is not None
    assert dict(found.env) == {
        "ANTHROPIC_AUTH_TOKEN": "bearer",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "HTTPS_PROXY": "http://127.0.0.1:2",
    }
    assert "bearer" not in repr(found)
    del env["ANTHROPIC_AUTH_TOKEN"]
    assert find_credentials(env).source == "ANTHROPIC_API_KEY"  # type: ignore[union-attr]


def test_the_credential_file_is_taken_without_what_renews_it(tmp_path):
    account = {
        "accessToken": "a",
        "refreshToken": "r",
        "expiresAt": (time.time() + 3600) * 1000,
        "subscriptionType": "max",
    }
    (tmp_path / ".credentials.json").write_text(
        json.dumps({"claudeAiOauth": account, "mcpOAuth": {"x": "y"}})
    )
    found = find_credentials({"CLAUDE_CONFIG_DIR": str(tmp_path)})
    assert found is not None
    assert found.file is not None
    kept = json.loads(found.file)
    assert list(kept) == ["claudeAiOauth"]
    assert "refreshToken" not in kept["claudeAiOauth"]
    assert kept["claudeAiOauth"]["subscriptionType"] == "max"
    assert not found.expired


def test_a_sign_in_that_has_run_out_is_told_before_the_night(tmp_path):
    make_program(tmp_path / "claude")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text(
        json.dumps({"claudeAiOauth": {"accessToken": "a", "expiresAt": 1000}})
    )
    cli = find_claude({"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)})
    assert cli is not None
    assert not cli.signed_in
    assert "run out" in cli.hint


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"claudeAiOauth": 3}', '{"claudeAiOauth": {}}'])
def test_a_broken_credential_file_signs_nobody_in(tmp_path, content):
    (tmp_path / ".credentials.json").write_text(content)
    assert find_credentials({"CLAUDE_CONFIG_DIR": str(tmp_path)}) is None
    assert find_credentials({}) is None
