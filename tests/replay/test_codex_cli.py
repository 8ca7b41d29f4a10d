"""The client is found behind its wrapper; one sign-in and the route to its model are taken along."""

from __future__ import annotations

import base64
import json
import platform
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.agents.codex_cli import find_codex, find_credentials, locate
from skillopt_replay.agents.codex_route import find_addresses, read_route
from skillopt_replay.errors import Unavailable


def make_program(path: Path, script: str = "echo codex-cli 0.171.0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def make_token(expires: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).rstrip(b"=").decode()
    return f"e30.{claims}.c2ln"


def sign_in(folder: Path, expires: float, **changes) -> None:
    folder.mkdir(exist_ok=True)
    tokens = {"id_token": "i", "access_token": make_token(expires), "refresh_token": "r", "account_id": "a"}
    content = {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2020-01-01T00:00:00Z"}
    (folder / "auth.json").write_text(json.dumps({**content, **changes}))


def test_the_client_on_the_path_is_found_with_its_version(tmp_path):
    program = make_program(tmp_path / "real" / "codex")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(program)
    cli = find_codex({"PATH": str(tmp_path / "bin"), "CODEX_API_KEY": "sk-fake"})
    assert cli is not None
    assert (cli.binary, cli.version, cli.signed_in) == (program, "0.171.0", True)


def test_no_client_is_told_as_none(tmp_path):
    assert find_codex({"PATH": str(tmp_path)}) is None
    assert find_codex({"PATH": str(tmp_path)}, tmp_path / "absent") is None


@pytest.mark.parametrize("layout", ["beside", "inside", "own"])
def test_the_native_program_is_taken_in_place_of_the_npm_wrapper(tmp_path, layout):
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64", "AMD64": "x64"}[platform.machine()]
    system = "darwin" if sys.platform == "darwin" else "linux"
    triple = {"x64": "x86_64", "arm64": "aarch64"}[machine]
    triple += "-apple-darwin" if system == "darwin" else "-unknown-linux-musl"
    modules = tmp_path / "lib" / "node_modules" / "@openai"
    wrapper = make_program(modules / "codex" / "bin" / "codex.js")
    package = f"codex-{system}-{machine}"
    places = {
        "beside": modules / package / "vendor" / triple / "bin",
        "inside": modules / "codex" / "node_modules" / "@openai" / package / "vendor" / triple / "bin",
        "own": modules / "codex" / "vendor" / triple / "codex",
    }
    native = make_program(places[layout] / "codex")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "codex").symlink_to(wrapper)
    assert locate({"PATH": str(tmp_path / "bin")}) == native
    native.unlink()
    assert locate({"PATH": str(tmp_path / "bin")}) == wrapper


def test_a_program_that_tells_no_version_is_explained(tmp_path):
    make_program(tmp_path / "codex", "exit 1")
    with pytest.raises(Unavailable, match="does not tell a version") as caught:
        find_codex({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert "install" in caught.value.hint


def test_a_client_that_cannot_be_held_to_limits_is_refused_with_what_to_do(tmp_path):
    make_program(tmp_path / "codex", "echo codex-cli 0.104.0")
    with pytest.raises(Unavailable, match=r"older than 0\.142") as caught:
        find_codex({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert "update" in caught.value.hint


def test_the_clients_own_order_of_sign_ins_is_kept(tmp_path):
    env = {
        "CODEX_HOME": str(tmp_path / ".codex"),
        "CODEX_API_KEY": "sk-codex",
        "OPENAI_API_KEY": "sk-openai",
        "HTTPS_PROXY": "http://127.0.0.1:2",
        "AWS_SECRET_ACCESS_KEY": "no",
    }
    sign_in(tmp_path / ".codex", time.time() + 3600)
    found, hint = find_credentials(env)
    assert found is not None
    assert dict(found.env) == {"CODEX_API_KEY": "sk-codex", "HTTPS_PROXY": "http://127.0.0.1:2"}
    assert (found.file, hint) == (None, "")
    assert "sk-codex" not in repr(found)
    del env["CODEX_API_KEY"]
    found, _ = find_credentials(env)
    assert found is not None
    assert found.source == str(tmp_path / ".codex" / "auth.json")
    assert dict(found.env) == {"HTTPS_PROXY": "http://127.0.0.1:2"}
    (tmp_path / ".codex" / "auth.json").unlink()
    found, _ = find_credentials(env)
    assert found is not None
    assert dict(found.env)["CODEX_API_KEY"] == "sk-openai", "under the name the client reads"


def test_an_account_is_taken_without_what_renews_it(tmp_path):
    sign_in(tmp_path / ".codex", time.time() + 3600, extra="no")
    found, _ = find_credentials({"HOME": str(tmp_path)})
    assert found is not None
    assert found.file is not None
    kept = json.loads(found.file)
    assert sorted(kept) == ["OPENAI_API_KEY", "auth_mode", "last_refresh", "tokens"]
    assert kept["tokens"]["refresh_token"] == ""
    assert kept["tokens"]["account_id"] == "a"
    assert kept["last_refresh"] > "2020-01-02", "an old one would be renewed"
    assert not found.expired


def test_a_key_in_the_clients_file_is_taken_as_a_key(tmp_path):
    sign_in(tmp_path / ".codex", 0, OPENAI_API_KEY="sk-file", tokens=None)
    found, _ = find_credentials({"HOME": str(tmp_path)})
    assert found is not None
    assert (found.env, found.file) == ((("CODEX_API_KEY", "sk-file"),), None)


def test_a_sign_in_that_has_run_out_is_told_before_the_night(tmp_path):
    make_program(tmp_path / "codex")
    sign_in(tmp_path / ".codex", 1000)
    cli = find_codex({"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)})
    assert cli is not None
    assert not cli.signed_in
    assert "run out" in cli.hint


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"tokens": 3}', '{"tokens": {}}', '{"tokens": [1]}'])
def test_a_broken_credential_file_signs_nobody_in(tmp_path, content):
    (tmp_path / "auth.json").write_text(content)
    found, hint = find_credentials({"CODEX_HOME": str(tmp_path)})
    assert found is None
    assert "codex login" in hint
    assert find_credentials({})[0] is None


PROVIDER = """\
model = "house-model"
model_provider = "house"
sandbox_mode = "danger-full-access"
developer_instructions = "secret"
[model_providers.house]
name = "House"
base_url = "http://127.0.0.1:1/v1"
env_key = "HOUSE_KEY"
wire_api = "responses"
unheard_of = true
[model_providers.house.env_http_headers]
X-Team = "HOUSE_TEAM"
[model_providers.other]
base_url = "http://127.0.0.1:2"
[mcp_servers.x]
command = "secret"
"""


def test_the_route_to_the_users_own_provider_comes_along_and_nothing_else(tmp_path):
    (tmp_path / "config.toml").write_text(PROVIDER)
    env = {"CODEX_HOME": str(tmp_path), "HOUSE_KEY": "k", "HOUSE_TEAM": "t", "CODEX_API_KEY": "no"}
    found, _ = find_credentials(env)
    assert found is not None
    assert dict(found.env) == {"HOUSE_KEY": "k", "HOUSE_TEAM": "t"}
    provider = {
        "name": "House",
        "base_url": "http://127.0.0.1:1/v1",
        "env_key": "HOUSE_KEY",
        "wire_api": "responses",
        "env_http_headers": {"X-Team": "HOUSE_TEAM"},
    }
    assert found.route == {
        "model": "house-model",
        "model_provider": "house",
        "model_providers": {"house": provider},
    }
    del env["HOUSE_KEY"]
    found, hint = find_credentials(env)
    assert found is None
    assert "HOUSE_KEY" in hint


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('model_provider = "amazon-bedrock"', "means a run does not have"),
        ('model_provider = "x"\n[model_providers.x.auth]\ncommand = "get-key"', "from a command"),
        ("model = [", "cannot be read"),
    ],
)
def test_a_provider_that_runs_cannot_reach_is_told_with_what_to_do(tmp_path, config, words):
    (tmp_path / "config.toml").write_text(config)
    found, hint = find_credentials({"CODEX_HOME": str(tmp_path), "CODEX_API_KEY": "k"})
    assert found is None
    assert words in hint


def test_what_the_users_own_provider_is_sent_is_secret_whatever_its_variable_is_called(tmp_path):
    (tmp_path / "config.toml").write_text(
        'model_provider = "own"\n[model_providers.own]\nbase_url = "https://own.invalid/v1"\n'
        'env_key = "OWN_PAT"\nenv_http_headers = { "X-Team" = "TEAM_PW" }\n'
    )
    env = {"CODEX_HOME": str(tmp_path), "OWN_PAT": "correct horse", "TEAM_PW": "battery staple"}
    found, _ = find_credentials(env)
    assert found is not None
    assert found.keys == ("OWN_PAT", "TEAM_PW")
    assert set(found.secrets) == {"correct horse", "battery staple"}


def test_that_a_provider_knows_web_sockets_is_not_told_to_runs(tmp_path):
    (tmp_path / "config.toml").write_text(
        'model_provider = "own"\n[model_providers.own]\nbase_url = "https://own.invalid/v1"\n'
        "supports_websockets = true\nwebsocket_connect_timeout_ms = 9\n"
    )
    found, _ = find_credentials({"CODEX_HOME": str(tmp_path)})
    assert found is not None
    assert found.route["model_providers"] == {"own": {"base_url": "https://own.invalid/v1"}}


def test_a_model_on_this_machine_needs_no_sign_in(tmp_path):
    (tmp_path / "config.toml").write_text('model_provider = "ollama"\nmodel = "m"\n')
    found, _ = find_credentials({"CODEX_HOME": str(tmp_path)})
    assert found is not None
    assert (found.env, found.route) == ((), {"model": "m", "model_provider": "ollama"})


def test_a_profile_and_another_address_of_openai_are_followed(tmp_path):
    (tmp_path / "config.toml").write_text(
        'profile = "night"\nmodel = "day"\nopenai_base_url = "http://127.0.0.1:3"\n'
        '[profiles.night]\nmodel_provider = "openai"\n'
    )
    found, _ = find_credentials({"CODEX_HOME": str(tmp_path), "CODEX_API_KEY": "k"})
    assert found is not None
    assert found.route == {"openai_base_url": "http://127.0.0.1:3"}, (
        "the model is the user's choice, no route"
    )


@pytest.mark.parametrize(
    ("settings", "env", "urls"),
    [
        ({}, {}, ()),
        ({"openai_base_url": "http://127.0.0.1:3"}, {}, ("http://127.0.0.1:3",)),
        ({"model_provider": "ollama"}, {}, ("http://127.0.0.1:11434",)),
        ({"model_provider": "ollama"}, {"CODEX_OSS_PORT": "7"}, ("http://127.0.0.1:7",)),
        (
            {
                "model_provider": "x",
                "model_providers": {"x": {"base_url": "http://127.0.0.1:4"}},
                "openai_base_url": "http://127.0.0.1:3",
            },
            {},
            ("http://127.0.0.1:4",),
        ),
    ],
)
def test_where_a_route_leads_is_known(settings, env, urls):
    assert find_addresses(settings, env) == urls


@given(st.text())
def test_no_configuration_is_too_strange_to_read(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert read_route(path).provider
