"""Opening models by what the user calls them."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from contextlib import asynccontextmanager
from pathlib import Path

import filelock
import pytest

from skillopt_replay.errors import Unavailable
from skillopt_replay.models import registry
from skillopt_replay.models.catalogue import DEFAULT, Page, find_entry
from skillopt_replay.models.places import is_loopback, locate
from skillopt_replay.models.registry import check_model, list_forms, open_model, register
from skillopt_replay.protocols import Message

OK = (200, {"choices": [{"message": {"content": "ok"}}]}, {})


async def open_and_ask(spec, cache, env=None, **options):
    async with open_model(spec, env=env or {}, cache_dir=cache, **options) as model:
        return model.identity, await model.complete([Message("user", "x")])


async def test_a_server_is_opened_by_its_address_and_model(chat_server, tmp_path):
    server = chat_server(OK)
    identity, done = await open_and_ask(f"openai:{server.url}/v1#qwen", tmp_path)
    assert done.text == "ok"
    assert server.requests[0]["model"] == "qwen"
    assert identity.endswith("#qwen")


async def test_the_key_of_a_far_service_is_not_sent_to_a_server_on_this_machine(chat_server, tmp_path):
    server = chat_server(OK)
    await open_and_ask(f"openai:{server.url}#q", tmp_path, {"OPENAI_API_KEY": "sk-far"})
    assert "authorization" not in server.headers[0]


async def test_a_named_key_is_sent_wherever_the_user_says(chat_server, tmp_path):
    server = chat_server(OK)
    await open_and_ask(f"openai:{server.url}#q", tmp_path, {"MY_KEY": "sk-near"}, key_name="MY_KEY")
    assert server.headers[0]["authorization"] == "Bearer sk-near"


async def test_a_key_never_leaves_the_machine_unencrypted(tmp_path):
    with pytest.raises(Unavailable, match="unencrypted"):
        await open_and_ask("openai:http://192.0.2.1/v1#q", tmp_path, {"OPENAI_API_KEY": "sk"})


async def test_a_key_that_is_not_set_is_said(tmp_path):
    with pytest.raises(Unavailable, match="MY_KEY is not set"):
        await open_and_ask("openai:https://192.0.2.1/v1#q", tmp_path, key_name="MY_KEY")


@pytest.mark.parametrize("spec", ["gpt", "", "olama:x", "locall"])
async def test_an_unknown_kind_is_answered_with_the_known_ones(spec, tmp_path):
    with pytest.raises(Unavailable) as caught:
        await open_and_ask(spec, tmp_path)
    assert all(form in caught.value.hint for form in list_forms())
    assert len(list_forms()) >= 3


@pytest.mark.parametrize("spec", ["openai:", "openai:http://h/v1", "openai:#m", "openai:http://h/v1#"])
async def test_a_server_without_address_or_model_is_refused(spec, tmp_path):
    with pytest.raises(Unavailable, match="does not name a server and a model"):
        await open_and_ask(spec, tmp_path)


async def test_a_new_kind_can_be_added(tmp_path, monkeypatch, chat_server):
    monkeypatch.setattr(registry, "_OPENERS", dict(registry._OPENERS))
    seen = []

    @register("mine", "mine:WORD")
    @asynccontextmanager
    async def _open(opening):
        seen.append(opening.rest)
        async with open_model(
            f"openai:{chat_server(OK).url}#z", env={}, cache_dir=opening.cache_dir
        ) as model:
            yield model

    assert (await open_and_ask("mine:word", tmp_path))[1].text == "ok"
    assert seen == ["word"]


async def test_claude_without_the_program_says_how_to_install_it(tmp_path):
    with pytest.raises(Unavailable, match="not installed"):
        await open_and_ask("claude:haiku", tmp_path, {"PATH": str(tmp_path)})


async def test_a_users_own_file_is_served_under_its_name(fake_runtime, tmp_path):
    path = tmp_path / "own model.gguf"
    path.write_bytes(b"GGUF own")
    before = set(tmp_path.iterdir())
    identity, done = await open_and_ask(f"local:{path}", tmp_path / "cache")
    assert identity == f"local:own model@{hashlib.sha256(b'GGUF own').hexdigest()[:8]}"
    assert done.error is None
    assert set(tmp_path.iterdir()) - before == {tmp_path / "cache"}


async def test_a_known_model_is_fetched_first_and_then_served(
    fake_runtime, tmp_path, monkeypatch, file_server
):
    content = b"GGUF" + bytes(100_000)
    shape = find_entry(DEFAULT)
    changes = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    small = type(shape)(**{**{f: getattr(shape, f) for f in shape.__struct_fields__}, **changes})
    monkeypatch.setattr("skillopt_replay.models.catalogue.ENTRIES", (small,))
    server = file_server(content)
    told = []
    identity, done = await open_and_ask(
        "local",
        tmp_path / "cache",
        sources=(Page(server.url),),
        progress=lambda done, total: told.append((done, total)),
    )
    assert done.error is None
    assert identity.startswith(f"local:{DEFAULT}@")
    assert told[-1] == (len(content), len(content))
    server.status = 500
    await open_and_ask("local:" + DEFAULT, tmp_path / "cache", sources=())
    assert len(server.asked) == 1


async def test_cancelling_stops_the_download_in_its_thread(fake_runtime, tmp_path, file_server):
    server = file_server(bytes(find_entry("smollm2-135m").size))
    server.gate = threading.Event()
    started = threading.Event()
    task = asyncio.create_task(
        open_and_ask(
            "local:smollm2-135m", tmp_path, sources=(Page(server.url),), progress=lambda *_: started.set()
        )
    )
    assert await asyncio.to_thread(started.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    server.gate.set()
    # The thread lets go of the download as soon as it looks up.
    lock = filelock.FileLock(tmp_path / f"{find_entry('smollm2-135m').file}.lock")
    await asyncio.to_thread(lock.acquire, timeout=30)
    lock.release()
    assert not (tmp_path / find_entry("smollm2-135m").file).exists()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("/none/m.gguf", "cannot be read"),
        ("words.gguf", "not a GGUF file"),
        ("~/none.gguf", "cannot be read"),
    ],
)
def test_a_path_that_is_no_model_is_refused(tmp_path, name, problem):
    Path("words.gguf").write_text("hello")
    with pytest.raises(Unavailable, match=problem):
        locate(name, tmp_path, lambda *_: None)


def test_names_mean_catalogue_entries_and_none_means_the_default(tmp_path):
    assert locate("", tmp_path, lambda *_: None) == find_entry(DEFAULT)
    assert locate("smollm2-135m", tmp_path, lambda *_: None) == find_entry("smollm2-135m")


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://localhost:1", True),
        ("http://127.0.0.9/v1", True),
        ("http://[::1]:3", True),
        ("https://localhost.example", False),
        ("http://10.0.0.1", False),
        ("nonsense", False),
    ],
)
def test_only_this_machine_is_near(url, near):
    assert is_loopback(url) is near


@pytest.mark.parametrize(
    "spec",
    [
        "opnai:https://me:pass-word@gateway.invalid/v1#m",
        "openai:https://me:pass-word@gateway.invalid/v1",
        "openai:https://me:pass/w@o#rd-word@gateway.invalid/v1#",
        "azure:https://me:pass-word@gateway.invalid#",
        "openai:https://me:pass-word@[gateway.invalid/v1#m",
        "openai:https://me:pass-word@gateway.invalid:99999/v1#m",
        "anthropic:https://me:pass-word@gateway.invalid:port#m",
        "openai:https://me:pass-word@gate\x01way.invalid/v1#m",
    ],
)
async def test_a_mistyped_model_is_told_without_the_login_in_it_before_anything_is_asked(spec, tmp_path):
    env = {"OPENAI_API_KEY": "sk-mine", "ANTHROPIC_API_KEY": "sk-mine", "AZURE_OPENAI_API_KEY": "sk-mine"}
    with pytest.raises(Unavailable) as told:
        check_model(spec, env=env)
    with pytest.raises(Unavailable) as again:
        async with open_model(spec, env=env, cache_dir=tmp_path):
            pass
    for error in (told.value, again.value):
        assert "gate" in error.message
        assert "word" not in f"{error.message} {error.hint}"
