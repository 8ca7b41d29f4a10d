"""The client is found behind its loader, unpacks itself once, and one sign-in is taken along."""

from __future__ import annotations

import json
import platform
import sys
import threading
from pathlib import Path

import pytest

from skillopt_replay.agents.copilot_cli import find_copilot, find_credentials, locate, unpack
from skillopt_replay.errors import Unavailable

PROVIDER = {"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1", "COPILOT_MODEL": "gpt-5.4"}


def make_program(path: Path, script: str = "echo 'GitHub Copilot CLI 1.0.102.'") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_client_on_the_path_is_found_with_its_version(tmp_path):
    program = make_program(tmp_path / "real" / "copilot")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "copilot").symlink_to(program)
    env = {"PATH": str(tmp_path / "bin"), "GH_TOKEN": "gho_fake"}
    cli = find_copilot(env, cache=tmp_path / "cache")
    assert cli is not None
    assert (cli.binary, cli.version, cli.signed_in) == (program, "1.0.102", True)


def test_no_client_is_told_as_none(tmp_path):
    assert find_copilot({"PATH": str(tmp_path)}, cache=tmp_path / "cache") is None
    assert find_copilot({"PATH": str(tmp_path)}, tmp_path / "absent", cache=tmp_path / "cache") is None


@pytest.mark.parametrize("layout", ["beside", "inside"])
def test_the_native_program_is_taken_in_place_of_the_npm_loader_and_need_not_be_started(tmp_path, layout):
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64", "AMD64": "x64"}[platform.machine()]
    package = f"copilot-{'darwin' if sys.platform == 'darwin' else 'linux'}-{machine}"
    modules = tmp_path / "lib" / "node_modules" / "@github"
    loader = make_program(modules / "copilot" / "npm-loader.js")
    place = modules if layout == "beside" else modules / "copilot" / "node_modules" / "@github"
    native = make_program(place / package / "copilot", "exit 1")
    (native.parent / "package.json").write_text(
        json.dumps({"name": f"@github/{package}", "version": "1.0.99"})
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "copilot").symlink_to(loader)
    env = {"PATH": str(tmp_path / "bin")}
    assert locate(env) == native
    cli = find_copilot(env, cache=tmp_path / "cache")
    assert cli is not None
    assert cli.version == "1.0.99"
    assert not (tmp_path / "cache").exists()
    native.unlink()
    assert locate(env) == loader


@pytest.mark.parametrize("package", ["", "[]", '{"name": "other", "version": "9.9.9"}', '{"name": 3}'])
def test_a_package_file_of_something_else_tells_no_version(tmp_path, package):
    program = make_program(tmp_path / "copilot")
    (tmp_path / "package.json").write_text(package)
    cli = find_copilot({}, program, cache=tmp_path / "cache")
    assert cli is not None
    assert cli.version == "1.0.102"


@pytest.mark.parametrize("script", ["exit 1", "echo hello", "echo 'cannot run' >&2; exit 126"])
def test_a_program_that_tells_no_version_is_explained(tmp_path, script):
    make_program(tmp_path / "copilot", script)
    with pytest.raises(Unavailable, match="does not tell a version") as caught:
        find_copilot({"PATH": f"{tmp_path}:/usr/bin:/bin"}, cache=tmp_path / "cache")
    assert "install" in caught.value.hint


def test_the_first_token_in_the_clients_own_order_is_taken_under_a_name_that_git_does_not_heed():
    env = {
        "GITHUB_TOKEN": "gho_third",
        "GH_TOKEN": "gho_second",
        "COPILOT_GITHUB_TOKEN": "github_pat_first",
        "GH_HOST": "mine.ghe.com",
        "HTTPS_PROXY": "http://127.0.0.1:2",
        "AWS_SECRET_ACCESS_KEY": "no",
    }
    found = find_credentials(env)
    assert found is not None
    assert dict(found.env) == {
        "COPILOT_GITHUB_TOKEN": "github_pat_first",
        "GH_HOST": "mine.ghe.com",
        "HTTPS_PROXY": "http://127.0.0.1:2",
    }
    assert "first" not in repr(found)
    del env["COPILOT_GITHUB_TOKEN"]
    second = find_credentials(env)
    assert second is not None
    assert second.source == "GH_TOKEN"
    assert dict(second.env)["COPILOT_GITHUB_TOKEN"] == "gho_second"


def test_a_classic_token_is_passed_over_and_explained(tmp_path):
    program = make_program(tmp_path / "copilot")
    found = find_credentials({"GH_TOKEN": "ghp_classic", "GITHUB_TOKEN": "gho_good"})
    assert found is not None
    assert found.source == "GITHUB_TOKEN"
    cli = find_copilot({"GH_TOKEN": "ghp_classic"}, program, cache=tmp_path / "cache")
    assert cli is not None
    assert not cli.signed_in
    assert "GH_TOKEN is a classic one" in cli.hint


def test_a_provider_of_the_users_own_goes_before_a_token_and_needs_no_network_beside_it():
    env = {
        **PROVIDER,
        "COPILOT_PROVIDER_API_KEY": "sk-fake",
        "COPILOT_PROVIDER_BEARER_TOKEN": "bearer",
        "COPILOT_PROVIDER_TYPE": "azure",
        "COPILOT_GITHUB_TOKEN": "github_pat_x",
        "GH_HOST": "mine.ghe.com",
    }
    found = find_credentials(env)
    assert found is not None
    assert found.source == "COPILOT_PROVIDER_BEARER_TOKEN"
    assert dict(found.env) == {
        **PROVIDER,
        "COPILOT_PROVIDER_BEARER_TOKEN": "bearer",
        "COPILOT_PROVIDER_TYPE": "azure",
        "COPILOT_OFFLINE": "true",
    }


def test_a_local_provider_needs_no_key():
    found = find_credentials(PROVIDER)
    assert found is not None
    assert found.source == "COPILOT_PROVIDER_BASE_URL"


def test_a_key_that_a_command_prints_cannot_be_had_in_a_sandbox(tmp_path):
    program = make_program(tmp_path / "copilot")
    env = {**PROVIDER, "COPILOT_PROVIDER_API_KEY_COMMAND": "print-key"}
    cli = find_copilot(env, program, cache=tmp_path / "cache")
    assert cli is not None
    assert not cli.signed_in
    assert "COPILOT_PROVIDER_API_KEY_COMMAND cannot run" in cli.hint
    with_key = find_credentials({**env, "COPILOT_PROVIDER_API_KEY": "sk-fake"})
    assert with_key is not None
    assert "COPILOT_PROVIDER_API_KEY_COMMAND" not in dict(with_key.env)


def test_a_sign_in_of_the_clients_own_is_not_looked_for(tmp_path):
    (tmp_path / ".copilot").mkdir()
    (tmp_path / ".copilot" / "config.json").write_text('{"copilot_tokens": {"github.com:me": "gho_stored"}}')
    program = make_program(tmp_path / "copilot")
    cli = find_copilot({"HOME": str(tmp_path)}, program, cache=tmp_path / "cache")
    assert cli is not None
    assert not cli.signed_in
    assert "COPILOT_GITHUB_TOKEN" in cli.hint


UNPACKING = """\
echo started >> {log}
mkdir -p "$COPILOT_CACHE_HOME/pkg/linux-x64/1.0.102"
env > "$COPILOT_CACHE_HOME/pkg/linux-x64/1.0.102/env"
echo 1.0.102"""


def test_the_program_unpacks_itself_once_and_takes_the_place_of_older_ones(tmp_path):
    cache, log = tmp_path / "cache", tmp_path / "log"
    old = cache / "pkg" / "linux-x64" / "1.0.90"
    old.mkdir(parents=True)
    (cache / "1.0.90.unpacked").touch()
    program = make_program(tmp_path / "copilot", UNPACKING.format(log=log))
    threads = [threading.Thread(target=unpack, args=(program, "1.0.102", cache)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert log.read_text().split() == ["started"]
    assert not old.exists()
    written = (cache / "pkg/linux-x64/1.0.102/env").read_text()
    assert "COPILOT_AUTO_UPDATE=false" in written
    homes = [
        line.partition("=")[2] for line in written.splitlines() if line.startswith(("HOME=", "COPILOT_HOME="))
    ]
    assert len(homes) == 2
    assert all(Path(home).is_relative_to(cache) and not Path(home).exists() for home in homes)


def test_a_program_that_cannot_unpack_itself_is_tried_again(tmp_path):
    program = make_program(tmp_path / "copilot", "echo 'no space left' >&2; exit 1")
    for _ in range(2):
        with pytest.raises(Unavailable, match="no space left"):
            unpack(program, "1.0.102", tmp_path / "cache")
    make_program(program)
    unpack(program, "1.0.102", tmp_path / "cache")
