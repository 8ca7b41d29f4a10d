"""doctor tells which sandbox holds here, what runs reach in it, and what to do where none does."""

from __future__ import annotations

import os

import pytest

from skillopt_replay.sandbox import advice, bubblewrap
from skillopt_replay.sandbox.bubblewrap import Bubblewrap
from skillopt_sleep.checkup import examine
from skillopt_sleep.config import set_value
from skillopt_sleep.paths import locate
from tests.replay.models.test_openai_compatible import find_free_port
from tests.support.chat_server import ChatModel

# Plays the parts of bwrap that are asked for: it fails at what the file beside it names.
FAKE = """#!/bin/sh
[ "$1" = --version ] && echo bubblewrap 0.11.0 && exit
for word in "$@"; do
  case "$word" in
    --info-fd) [ -e "$(dirname "$0")/no-network" ] && echo "bwrap: loopback: failed" >&2 && exit 1;;
  esac
done
[ -e "$(dirname "$0")/broken" ] && echo "bwrap: setting up uid map: Permission denied" >&2 && exit 1
exit 0
"""


@pytest.fixture
def bwrap(tmp_path, monkeypatch):
    program = tmp_path / "fake" / "bwrap"
    program.parent.mkdir()
    program.write_text(FAKE)
    program.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find", lambda network: [Bubblewrap(program, network=network)])
    monkeypatch.setattr(advice, "_switch", lambda _name: None)
    return program


def look():
    (found,) = [one for one in examine(locate(os.environ), os.environ) if one.name == "sandbox"]
    return found


def test_a_sandbox_that_works_says_what_runs_reach():
    working = [sandbox for sandbox in bubblewrap.find() if sandbox.probe().works]
    if not working:
        pytest.skip("no sandbox works here")
    found = look()
    assert found.ok
    told = f"{working[0].name} at {working[0].binary}; runs reach their model's service and nothing else"
    assert found.detail == told


def test_a_network_that_cannot_be_kept_to_the_model_is_explained(bwrap):
    (bwrap.parent / "no-network").touch()
    found = look()
    assert not found.ok
    assert "runs cannot be kept to the network of their model" in found.detail
    assert 'replay.network = "any"' in found.hint


def test_the_whole_network_is_had_by_asking_and_said(bwrap):
    (bwrap.parent / "no-network").touch()
    set_value(locate(os.environ).config, "replay.network", "any")
    found = look()
    assert found.ok
    assert found.detail.endswith("runs reach the whole network and this machine's loopback, as configured")


def test_user_namespaces_that_are_forbidden_are_explained(bwrap, monkeypatch):
    (bwrap.parent / "broken").touch()
    assert "does not let programs make user namespaces" in look().hint
    monkeypatch.setattr(advice, "_switch", lambda name: "1" if "apparmor" in name else None)
    assert "AppArmor" in look().hint
    assert 'replay.sandbox = "none"' in look().hint


@pytest.fixture
def clients(tmp_path, monkeypatch):
    """A Codex whose own sandbox works while the file `holds` lies beside it, and a Copilot."""
    folder = tmp_path / "clients"
    folder.mkdir()
    codex = folder / "codex"
    codex.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && echo codex-cli 0.171.0 && exit\n'
        f'[ "$1" = sandbox ] && [ -e {folder}/holds ] && echo x > inside && exit\n'
        f'[ "$1" = sandbox ] && [ -e {folder}/leaks ] && echo x > inside && cat ../outside/secret && exit\n'
        f'[ "$1" = sandbox ] && [ -e {folder}/rooted ] && touch inside && echo the kernel listens && exit\n'
        "echo 'error: no Landlock here' >&2; exit 1\n"
    )
    copilot = folder / "copilot"
    copilot.write_text("#!/bin/sh\necho GitHub Copilot CLI 1.0.102\n")
    for program in (codex, copilot):
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_a_program_of_ones_own_that_no_sandbox_takes_is_no_target(tmp_path):
    agent = tmp_path / "my-agent"
    agent.write_text("#!/bin/sh\n")
    agent.chmod(0o755)
    set_value(locate().config, "target.agent", "command")
    set_value(locate().config, "target.command", f'["{agent}"]')
    set_value(locate().config, "replay.sandbox", "client")
    found = {one.name: one for one in examine(locate(), os.environ)}
    assert not found["sandbox"].ok
    assert "a program of your own has none" in found["sandbox"].detail
    assert not found["target"].ok
    assert found["target"].needed, "run says the same"
    assert found["target"].detail == "a program of your own has no sandbox of its own"
    set_value(locate().config, "replay.sandbox", "none")
    assert next(one for one in examine(locate(), os.environ) if one.name == "target").ok


def test_a_server_on_this_machine_that_does_not_answer_is_no_target(model: ChatModel):
    port = find_free_port()
    set_value(locate().config, "target.agent", "chat")
    set_value(locate().config, "target.model", f"vllm:http://127.0.0.1:{port}/v1#m")
    set_value(locate().config, "judge.model", f"ollama:http://127.0.0.1:{port}/v1#j")
    found = {one.name: one for one in examine(locate(), os.environ)}
    for name in ("target", "judge"):
        assert not found[name].ok
        assert f"nothing answers at http://127.0.0.1:{port}/v1: " in found[name].detail
    assert "`vllm serve m` starts one" in found["target"].hint
    assert found["optimizer"].detail == "missing as the target is"
    set_value(locate().config, "target.model", model.spec)
    assert next(one for one in examine(locate(), os.environ) if one.name == "target").ok
    assert model.requests == [], "it is not asked for anything"


def test_a_service_elsewhere_is_not_knocked_at(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    set_value(locate().config, "target.agent", "chat")
    set_value(locate().config, "target.model", "openai:gpt-5")
    monkeypatch.setattr("socket.create_connection", lambda *_, **__: pytest.fail("it was asked"))
    assert next(one for one in examine(locate(), os.environ) if one.name == "target").ok


def look_at_all():
    found = examine(locate(os.environ), os.environ)
    return {one.name: one for one in found if one.name.endswith("sandbox")}


def test_where_the_systems_does_not_work_each_clients_own_is_tried_and_told(bwrap, clients):
    (bwrap.parent / "broken").touch()
    (clients / "holds").touch()
    found = look_at_all()
    assert [(name, one.ok) for name, one in found.items()] == [
        ("sandbox", False),
        ("codex sandbox", True),
        ("copilot sandbox", False),
    ]
    assert found["codex sandbox"].detail.startswith("Codex's own (codex 0.171.0) at ")
    assert found["codex sandbox"].detail.endswith(", because the system's does not work")
    assert "holds its shell commands only, not its file tools" in found["copilot sandbox"].detail


def test_a_clients_own_that_does_not_start_or_does_not_hold_is_not_believed(bwrap, clients):
    set_value(locate(os.environ).config, "replay.sandbox", "client")
    assert "no Landlock here" in look_at_all()["codex sandbox"].detail
    (clients / "leaks").touch()
    leaky = look_at_all()["codex sandbox"]
    assert not leaky.ok
    assert "lets commands get at files outside" in leaky.detail
    (clients / "leaks").unlink()
    (clients / "rooted").touch()
    rooted = look_at_all()["codex sandbox"]
    assert not rooted.ok
    assert "for root it holds nothing" in rooted.detail
    assert "another user than root" in rooted.hint


def test_a_system_that_works_serves_every_agent_and_is_told_once(bwrap, clients):
    assert list(look_at_all()) == ["sandbox"]


def test_no_sandbox_is_no_finding_to_be_proud_of(bwrap):
    set_value(locate(os.environ).config, "replay.sandbox", "none")
    found = look()
    assert not found.ok
    assert "can read and change what you can" in found.detail
