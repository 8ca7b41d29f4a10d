"""From what a user writes and has set to a model's server: address, key, price, and help when it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

import msgspec

from skillopt_replay.errors import KeyMissing, Unavailable
from skillopt_replay.models.places import is_loopback, strip_login, strip_logins
from skillopt_replay.models.presets import ANTHROPIC, PLAIN, Preset
from skillopt_replay.models.prices import FREE, Price, find_price
from skillopt_replay.rollouts import Fault

AZURE_VERSION_NAME = "AZURE_OPENAI_API_VERSION"
AZURE_VERSION = "2024-10-21"
_AZURE_TOKEN = "AZURE_OPENAI_AD_TOKEN"  # noqa: S105 - the variable's name
_SETTINGS = "optimizer.model or target.model"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is asked and how. `key_name` is the variable that holds the key, "" when none is sent."""

    preset: Preset
    base_url: str
    model: str
    url: str | None
    key: str | None
    key_name: str
    headers: tuple[tuple[str, str], ...] | None
    price: Price | None

    def __repr__(self) -> str:
        return f"Server(host={_host(self.base_url)!r}, model={self.model!r}, key_name={self.key_name!r})"


def locate_server(
    preset: Preset,
    rest: str,
    env: Mapping[str, str],
    *,
    key_name: str | None = None,
    price: Price | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Server:
    """Return the server that PRESET:rest names. Raises Unavailable with what to write or set.

    `key_name` names another variable for the key; `price` is the model's, else `prices` and the table tell.
    """
    base_url, model = _split(preset, rest, env)
    near = is_loopback(base_url)
    key, found = _find_key(preset, env, key_name, base_url=base_url, near=near)
    if key and not near and urlsplit(base_url).scheme != "https":
        raise Unavailable(
            f"a key would go to {strip_login(base_url)} unencrypted",
            hint="use https, or a server on this machine",
        )
    at_home = preset.base_url is not None and _host(base_url) == _host(preset.base_url)
    if price is None:
        price = find_price(model, preset.vendor if at_home else "", prices)
    if price is None and near:
        price = FREE
    return Server(
        # Only the maker's own service is known to take what its preset says.
        preset=PLAIN if preset.name == "openai" and not at_home else preset,
        base_url=base_url,
        model=model,
        url=_azure_url(base_url, model, env) if preset.name == "azure" else None,
        key=key,
        key_name=found if key else "",
        headers=(("api-key", key),) if preset.name == "azure" and key and found != _AZURE_TOKEN else None,
        price=price,
    )


def locate_anthropic(
    rest: str,
    env: Mapping[str, str],
    *,
    key_name: str | None = None,
    price: Price | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Server:
    """Return where the Messages API is asked for the model; see `locate_server`."""
    server = locate_server(ANTHROPIC, rest, env, key_name=key_name, price=price, prices=prices)
    headers: tuple[tuple[str, str], ...] = ()
    if server.key:
        bearer = server.key_name == "ANTHROPIC_AUTH_TOKEN"
        headers = (("authorization", f"Bearer {server.key}") if bearer else ("x-api-key", server.key),)
    return msgspec.structs.replace(server, headers=headers)


def describe_server(server: Server) -> str:
    """Return in a few words which model is asked where, with whose key, and what it costs."""
    key = f", key from {server.key_name}" if server.key_name else ""
    cost = ""
    if server.price is None:
        cost = ", price not known (set prices)"
    elif server.price != FREE:
        cost = f", ${server.price.input:g} in and ${server.price.output:g} out per million tokens"
    return f"{server.model} at {_host(server.base_url)}{key}{cost}"


def make_remedies(server: Server) -> dict[Fault, str]:
    """Return for the faults that last what the user can do, by variable and setting."""
    preset = server.preset
    key = f"check {server.key_name}" if server.key_name else f"set {' or '.join(preset.key_names) or 'a key'}"
    account = f"the account of {server.key_name}" if server.key_name else "the account"
    model = f"check the model in {_SETTINGS}"
    reach = f"is a server running at {strip_login(server.base_url)}?" if is_loopback(server.base_url) else ""
    if reach and preset.start:
        reach = f"{reach} {preset.start.replace('MODEL', server.model)}"
    remedies = {
        Fault.SIGN_IN: key,
        Fault.MONEY: f"{account} has to be topped up",
        Fault.MODEL: "; ".join(filter(None, [model, preset.remedy.replace("MODEL", server.model)])),
    }
    return {**remedies, Fault.NETWORK: reach, Fault.ABSENT: reach} if reach else remedies


def _split(preset: Preset, rest: str, env: Mapping[str, str]) -> tuple[str, str]:
    base_url, hash_, model = rest.strip().rpartition("#")
    if "://" in model:
        base_url, hash_, model = model, "#", ""
    if not hash_:
        base_url = env.get(preset.base_name, "").strip() if preset.base_name else ""
        base_url = _complete(base_url) if base_url else (preset.base_url or "")
        if not base_url:
            raise Unavailable(
                f"{preset.base_name} is not set", hint=f"set it, or write the address: {preset.form}"
            )
    if not model and preset.name == "llamacpp" and not hash_:
        # Its server serves one model, whatever it is called.
        model = "default"
    if not base_url or not model:
        raise Unavailable(
            f"'{preset.name}:{strip_logins(rest)}' does not name a server and a model",
            hint=f"write it as {preset.form}",
        )
    _require_address(base_url)
    return base_url, model


def _require_address(base_url: str) -> None:
    """Raise Unavailable for what nobody can split or connect to, such as a port that is no number."""
    try:
        usable = (
            base_url.isprintable() and urlsplit(base_url).port != -1
        )  # which raises what is wrong with it
    except ValueError:
        usable = False
    if not usable:
        raise Unavailable(
            f"{strip_login(base_url)!r} is not an address", hint="give it as http(s)://HOST[:PORT][/v1]"
        )


def _complete(address: str) -> str:
    """Return an address as OLLAMA_HOST may hold it (HOST, HOST:PORT, 0.0.0.0) as one to connect to."""
    if "://" in address:
        return address
    host, colon, port = address.rpartition(":") if address.rpartition(":")[2].isdigit() else (address, "", "")
    host = "127.0.0.1" if host in {"", "0.0.0.0"} else host  # noqa: S104 - what is bound, not bound here
    return f"http://{host}:{port if colon else '11434'}"


def _find_key(
    preset: Preset, env: Mapping[str, str], key_name: str | None, *, base_url: str, near: bool
) -> tuple[str | None, str]:
    if key_name is not None:
        key = _read_key(env, key_name)
        if not key:
            raise KeyMissing(f"{key_name} is not set", hint="it must hold the model server's key")
        return key, key_name
    if near and not preset.key_to_loopback:
        return None, ""
    found = next((name for name in preset.key_names if _read_key(env, name)), "")
    if not found and preset.needs_key and not near and preset.base_url in {None, base_url}:
        raise KeyMissing(f"{preset.key_names[0]} is not set", hint=f"set it to the key of {_host(base_url)}")
    return _read_key(env, found) or None, found


def _read_key(env: Mapping[str, str], name: str) -> str:
    """Return the key without the white space that files leave around it. Raises KeyMissing."""
    key = env.get(name, "").strip()
    if not key.isascii() or not key.isprintable():
        # Refused with words that hold it, if it came to be sent.
        raise KeyMissing(f"{name} holds what no key can be made of", hint="copy the key into it once more")
    return key


def _azure_url(base_url: str, deployment: str, env: Mapping[str, str]) -> str:
    """Return a deployment's address. Raises Unavailable when the endpoint is no http(s) address."""
    parts = urlsplit(base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.fragment:
        raise Unavailable(
            f"{strip_login(base_url)!r} is not an endpoint",
            hint="it looks like https://NAME.openai.azure.com",
        )
    version = env.get(AZURE_VERSION_NAME) or AZURE_VERSION
    path = f"/openai/deployments/{quote(deployment, safe='')}/chat/completions"
    return f"{parts.scheme}://{parts.netloc}{path}?api-version={quote(version, safe='')}"


def _host(url: str) -> str:
    return urlsplit(strip_login(url)).netloc
