"""The local model as a child process, with a stand-in for the runtime; and once with the real one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.models import serving
from skillopt_replay.models.local import LocalModel
from skillopt_replay.models.openai_compatible import OpenAICompatible
from skillopt_replay.models.serving import ServerSettings, count_cores, require_runtime
from skillopt_replay.protocols import Message
from skillopt_replay.rollouts import Fault

# Read at import: the tests' own environment is emptied.
REAL_MODEL = os.environ.get("SKILLOPT_TEST_MODEL", "")
SHA = "ab" * 32


def ask(text):
    return [Message("user", text)]


@pytest.fixture
def model_file(tmp_path) -> Path:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF rest")
    return path


def local(path, **settings):
    return LocalModel(path, name="tiny", sha256=SHA, settings=ServerSettings(**settings))


async def gone(pid: int) -> bool:
    for _ in range(100):
        if not psutil.pid_exists(pid):
            return True
        with suppress(psutil.Error):
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        await asyncio.sleep(0.05)
    return False


async def test_it_starts_answers_and_leaves_nothing_behind(fake_runtime, model_file):
    async with local(model_file, slots=2, context_per_slot=100, threads=1) as model:
        assert model.identity == "local:tiny@abababab"
        done = await model.complete(ask("hello"), temperature=0.7, max_tokens=9)
        told = json.loads(done.text)
    assert done.error is None
    assert done.usage.cost_usd == 0.0
    assert (done.usage.input_tokens, done.usage.output_tokens) == (5, 2)
    assert (told["slots"], told["context"], told["threads"], told["poll"]) == (2, 200, 1, 0)
    assert (told["alias"], told["hosts"]) == (["tiny"], ["127.0.0.1"])
    assert (told["body"]["seed"], told["body"]["max_tokens"], told["body"]["cache_prompt"]) == (0, 9, True)
    assert await gone(told["pid"])


async def test_a_project_that_it_is_started_in_lends_it_no_modules(
    fake_runtime, model_file, tmp_path, monkeypatch
):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("argparse", "json", "xllamacpp"):
        (project / f"{name}.py").write_text(f"open({str(tmp_path / 'SPRUNG')!r}, 'w'); raise SystemExit(3)")
    monkeypatch.chdir(project)
    async with local(model_file) as model:
        assert (await model.complete(ask("hello"))).error is None
    assert not (tmp_path / "SPRUNG").exists()


async def test_the_server_never_spins_and_sees_no_secrets(fake_runtime, model_file, monkeypatch):
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-1")
    monkeypatch.setenv("GITHUB_TOKEN", "gh-1")
    async with local(model_file) as model:
        env = json.loads((await model.complete(ask("x"))).text)["env"]
    assert env["OMP_WAIT_POLICY"] == "PASSIVE"
    assert "sk-1" not in env.values()
    assert "gh-1" not in env.values()


async def test_another_user_of_the_machine_cannot_use_the_server(fake_runtime, model_file):
    import httpx2

    async with local(model_file) as model:
        url = model._client._service.url
        async with httpx2.AsyncClient(trust_env=False) as client:
            reply = await client.post(url, json={"messages": [{"role": "user", "content": "x"}]})
        command = " ".join(psutil.Process(model._server._process.pid).cmdline())
        key = model._server.key
    assert reply.status_code == 401
    assert key not in command


async def test_a_server_of_our_own_that_is_gone_is_nothing_for_the_user_to_start(fake_runtime, model_file):
    async with local(model_file) as model:
        await model._client.close()
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            model._client = OpenAICompatible(f"http://127.0.0.1:{taken.getsockname()[1]}", "tiny")
            done = await model.complete(ask("x"))
    assert done.error
    assert done.fault is Fault.NETWORK


async def test_a_server_that_dies_is_started_again_twice_and_then_given_up(fake_runtime, model_file):
    async with local(model_file) as model:
        for _ in range(2):
            assert (await model.complete(ask("die"))).error
            assert (await model.complete(ask("still there?"))).error is None
        assert (await model.complete(ask("die"))).error
        last = await model.complete(ask("still there?"))
    assert "ended again" in last.error
    assert "out of memory" in last.error


async def test_a_file_that_is_no_model_says_what_the_runtime_said(fake_runtime, tmp_path):
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"nope")
    with pytest.raises(Unavailable, match="code 7: error loading model: bad magic"):
        await local(path).start()


async def test_a_model_that_does_not_load_in_time_is_ended(fake_runtime, tmp_path, monkeypatch):
    path = tmp_path / "slow.gguf"
    path.write_bytes(b"GGUF slow")
    monkeypatch.setattr(serving, "STOP_S", 0.1)
    model = local(path, ready_s=0.5)
    with pytest.raises(Unavailable, match="did not load the model in time"):
        await model.start()
    assert not model._server.alive


async def test_a_missing_file_and_missing_memory_are_said_before_a_start(
    fake_runtime, model_file, monkeypatch
):
    with pytest.raises(Unavailable, match="No such file"):
        await local(model_file.with_name("none.gguf")).start()
    memory = type("Memory", (), {"available": 1000})
    monkeypatch.setattr(serving.psutil, "virtual_memory", lambda: memory)
    with pytest.raises(Unavailable, match="of memory"):
        await local(model_file).start()


async def test_no_more_requests_than_slots_are_in_flight(fake_runtime, model_file, monkeypatch):
    async with local(model_file, slots=2) as model:
        running, most = 0, 0
        inner = model._client.complete

        async def watch(*args, **options):
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                return await inner(*args, **options)
            finally:
                running -= 1

        monkeypatch.setattr(model._client, "complete", watch)
        replies = await asyncio.gather(*(model.complete(ask(str(i))) for i in range(7)))
    assert most == 2
    assert all(r.error is None for r in replies)


async def test_before_the_start_and_after_the_end_a_call_is_an_error(fake_runtime, model_file):
    model = local(model_file)
    assert "not started" in (await model.complete(ask("x"))).error
    await model.start()
    await model.close()
    await model.close()
    assert "closed" in (await model.complete(ask("x"))).error


async def test_the_server_dies_with_a_parent_that_was_killed(fake_runtime, model_file, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio
        from pathlib import Path
        from skillopt_replay.models.local import LocalModel

        async def main():
            model = LocalModel(Path({str(model_file)!r}), name="tiny", sha256="00" * 32)
            await model.start()
            print(model._server._process.pid, flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """)
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    try:
        pid = int(await asyncio.to_thread(parent.stdout.readline))
        assert psutil.pid_exists(pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        parent.stdout.close()
    assert await gone(pid)


def test_without_the_runtime_the_extra_to_install_is_named(monkeypatch):
    monkeypatch.setattr(serving.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(Unavailable) as caught:
        require_runtime()
    assert "skillopt-sleep[local]" in caught.value.hint


def test_no_more_threads_than_cores_are_used():
    assert 1 <= count_cores() <= (os.cpu_count() or 1)


@pytest.mark.local_model
@pytest.mark.skipif(
    not Path(REAL_MODEL or "/nonexistent").is_file(), reason="SKILLOPT_TEST_MODEL names no file"
)
async def test_a_real_model_answers_to_a_schema_and_repeats_itself():
    schema = {
        "type": "object",
        "properties": {"colour": {"enum": ["red", "green"]}, "n": {"type": "integer"}},
        "required": ["colour", "n"],
        "additionalProperties": False,
    }
    async with local(Path(REAL_MODEL), slots=2, context_per_slot=512, reuse_prefix=False) as model:
        question = ask("Which colour is grass, and how much is 2 plus 3?")
        started = time.monotonic()
        first = await model.complete(question, schema=schema, max_tokens=40)
        again = await model.complete(question, schema=schema, max_tokens=40)
    assert time.monotonic() - started < 120
    assert first.error is None
    assert first.value is not None
    assert first.value["colour"] in {"red", "green"}
    assert again.text == first.text
    assert first.usage.output_tokens > 0
