"""Which services a run may talk to, and the way to them."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import closing

import pytest

from skillopt_replay import process
from skillopt_replay.agents.clients import say_address
from skillopt_replay.errors import ReplayError, Unavailable
from skillopt_replay.launcher.inside import plan
from skillopt_replay.launcher.upstream import dial, find_proxy, strip_proxies
from skillopt_replay.lent import find_secrets
from skillopt_replay.masking import mask
from skillopt_replay.models.places import strip_login
from skillopt_replay.sandbox import SYSTEM_PATH, Endpoint, bubblewrap, choose, reach_of, read_endpoint
from skillopt_replay.sandbox.bubblewrap import Bubblewrap


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://api.example.com/v1", Endpoint("api.example.com", 443)),
        ("http://127.0.0.1:8080", Endpoint("127.0.0.1", 8080)),
        ("http://[::1]:1234/x", Endpoint("::1", 1234)),
        ("http://user:secret@Host.Local./v1", Endpoint("host.local", 80)),
    ],
)
def test_an_address_leads_to_a_host_and_a_port(url, endpoint):
    assert read_endpoint(url) == endpoint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://x",
        "https://",
        "https://x:99999",
        "https://a b/",
        "https://a\n10.0.0.1 b",
        "https://[x/",
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ReplayError, match="no address"):
        read_endpoint(url)


MISWRITTEN = [
    "https://me:p#the-password@gw.example/v1", "https://me:p/the-password@gw.example/v1",
    "https://me:p?the-password@gw.example/v1", "https:/me:p-the-password@gw.example/v1",
    "http//me:p-the-password@gw.example/v1", "me:p-the-password@gw.example/v1",
    "https://me:p-the-password@gw.example:x/v1", "https://me:[the-password@gw.example/v1",
]  # fmt: skip


@pytest.mark.parametrize("url", MISWRITTEN)
def test_an_address_that_cannot_be_read_is_refused_and_named_without_its_password(url):
    with pytest.raises(ReplayError, match=r"gw\.example") as raised:
        read_endpoint(url)
    assert "the-password" not in f"{raised.value}{say_address(url)}{strip_login(url)}"
    assert "the-password" not in mask(url, find_secrets({"ANTHROPIC_BASE_URL": url}))


@pytest.mark.parametrize(
    "url", ["https://gw.example:8443/models/a@latest", "https://gw.example/a:b@c", "gw.example:80"]
)
def test_what_looks_like_a_login_in_a_path_is_told(url):
    assert say_address(url) == f" via {url.removeprefix('https://')}"
    assert strip_login(url) == url
    assert find_secrets({"ANTHROPIC_BASE_URL": url}) == ()


def test_a_client_reaches_its_own_services_unless_its_model_is_elsewhere():
    assert reach_of("claude_code", None) == (Endpoint("api.anthropic.com", 443),)
    assert reach_of("claude_code", "http://127.0.0.1:9") == (Endpoint("127.0.0.1", 9),)
    assert Endpoint("chatgpt.com", 443) in reach_of("codex")


def test_each_service_has_an_address_of_its_own_inside():
    reach = [("a.example", 443), ("a.example", 80), ("b.example", 443), ("localhost", 9), ("10.1.2.3", 443)]
    places, hosts = plan([*reach, ("a.example", 443)])
    assert [(address, port) for address, port, _ in places] == [
        ("127.0.64.1", 443), ("127.0.64.1", 80), ("127.0.64.2", 443), ("127.0.0.1", 9), ("::1", 9),
        ("10.1.2.3", 443),
    ]  # fmt: skip
    assert "127.0.64.1 a.example\n" in hosts
    assert "10.1.2.3" not in hosts


@pytest.mark.parametrize(
    ("env", "proxy"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ({"https_proxy": "http://p:2", "HTTPS_PROXY": "http://p:1"}, "http://p:2"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other, .example.com"}, None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "ample.com"}, "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, None),
        ({"HTTP_PROXY": "http://p:1"}, None),
    ],
)
def test_the_users_proxy_is_found_as_usual(env, proxy):
    assert find_proxy(env, "api.example.com", 443) == proxy
    assert find_proxy(env, "127.0.0.1", 443) is None
    assert not [name for name in strip_proxies(env) if "proxy" in name.lower()]


@pytest.fixture
def proxy(monkeypatch):
    """A proxy that notes the request and says what it is told to."""
    heads: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                heads.append(connection.recv(4096).decode())
                connection.sendall(
                    b"HTTP/1.1 200 fine\r\n\r\n" if "good" in heads[0] else b"HTTP/1.1 407 no\r\n\r\n"
                )
                connection.sendall(connection.recv(100).upper())

        threading.Thread(target=serve, daemon=True).start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:pass%40word@127.0.0.1:{server.getsockname()[1]}")
        yield heads


def test_a_proxy_is_asked_for_the_service_and_told_who_asks(proxy):
    with closing(dial(("good.example", 443))) as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"HELLO"
    assert proxy[0].startswith("CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n")
    assert "Proxy-Authorization: Basic bWU6cGFzc0B3b3Jk\r\n" in proxy[0]


def test_a_proxy_that_refuses_is_an_error_in_its_words(proxy):
    with pytest.raises(OSError, match=r"the proxy said HTTP/1\.1 407 no"):
        dial(("bad.example", 443))


@pytest.mark.parametrize("login", ["me:p#hunter2", "me:hunter2/x", "me:hun[ter2"])
def test_a_proxy_that_cannot_be_read_is_an_error_without_its_password(login, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://{login}@127.0.0.1:9")
    with pytest.raises(OSError, match="the proxy's URL cannot be read") as caught:
        dial(("good.example", 443))
    assert "hun" not in str(caught.value)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="network namespaces are for Linux")
async def test_many_runs_at_once_each_get_their_network(confined, tmp_path):
    import asyncio

    async def one():
        argv = confined.wrap(
            ["true"], writable=[], readable=[], cwd=tmp_path.parents[-1], reach=[Endpoint("127.0.0.1", 4567)]
        )
        return await process.run(argv, cwd=tmp_path, env={"PATH": SYSTEM_PATH}, seconds=30)

    ended = await asyncio.gather(*(one() for _ in range(12)))
    assert [(finished.returncode, finished.stderr) for finished in ended] == [(0, "")] * 12


@pytest.fixture
def unfiltered(confined, tmp_path):
    """A bwrap that works, but not with a network of its own."""
    program = tmp_path / "bwrap"
    program.write_text(
        "#!/bin/bash\n"
        'for a in "$@"; do [ "$a" = --info-fd ] || continue\n'
        'echo "bwrap: loopback: Failed RTM_NEWADDR" >&2; exit 1; done\n'
        f'exec {confined.binary} "$@"\n'
    )
    program.chmod(0o755)
    return program


def test_where_the_network_cannot_be_kept_to_the_model_nothing_runs(unfiltered, monkeypatch):
    monkeypatch.setattr(bubblewrap, "find", lambda network: [Bubblewrap(unfiltered, network=network)])
    probe = Bubblewrap(unfiltered).probe()
    assert not probe.works
    assert probe.detail == (
        "runs cannot be kept to the network of their model: bwrap: loopback: Failed RTM_NEWADDR"
    )
    assert 'replay.network = "any"' in probe.hint
    with pytest.raises(Unavailable, match="cannot be kept to the network"):
        choose("auto")
    assert choose("auto", "any").probe().detail.endswith("as configured")
    assert not choose("auto", "any").filters


def test_a_bwrap_that_is_setuid_root_is_explained(unfiltered):
    unfiltered.chmod(0o4755)
    assert "setuid root" in Bubblewrap(unfiltered).probe().hint
