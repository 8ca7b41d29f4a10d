"""Reads from Codex's configuration how its model is reached, and nothing else of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OPENAI = "openai"
_LOCAL = {"ollama": "http://127.0.0.1:11434", "lmstudio": "http://127.0.0.1:1234"}
_TOP = ("openai_base_url", "chatgpt_base_url")
# Not that it knows web sockets: requests there are too short to be counted before they go out.
_PROVIDER = (
    "name", "base_url", "wire_api", "env_key", "query_params", "http_headers", "env_http_headers",
    "experimental_bearer_token", "requires_openai_auth", "request_max_retries", "stream_max_retries",
    "stream_idle_timeout_ms",
)  # fmt: skip


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """The model provider and the settings that lead to it.

    `key` is the variable that signs in to it ("" when none does), `headers` are those its headers are made
    from. `trouble` says why it cannot be reached from a run, and what to do.
    """

    provider: str = OPENAI
    settings: dict[str, Any] = {}
    key: str = ""
    headers: tuple[str, ...] = ()
    signs_in_with_openai: bool = True
    trouble: str = ""


def read_route(path: Path) -> Route:
    """Return the route in the configuration file at `path`; the client's default when it has none."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        config = tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()
    except FileNotFoundError:
        return Route()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        return Route(trouble=f"{path} cannot be read: {error}")
    return _find_route(config)


def find_addresses(settings: Mapping[str, Any], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the URLs at which the route's model is reached; empty for the client's own services."""
    name = settings.get("model_provider", OPENAI)
    if name in _LOCAL:
        port = env.get("CODEX_OSS_PORT")
        return (env.get("CODEX_OSS_BASE_URL") or (f"http://127.0.0.1:{port}" if port else _LOCAL[name]),)
    table = _table(_table(settings.get("model_providers")).get(name))
    given = (table.get("base_url"), *(settings.get(key) for key in _TOP if name == OPENAI))
    return tuple(str(url) for url in given if url)


def _find_route(config: dict[str, Any]) -> Route:
    profile = _table(_table(config.get("profiles")).get(str(config.get("profile"))))
    chosen = {**config, **profile}
    name = str(chosen.get("model_provider", OPENAI))
    settings = {key: chosen[key] for key in _TOP if key in chosen}
    if name == OPENAI:
        return Route(settings=settings)
    settings["model_provider"] = name
    if "model" in chosen:
        settings["model"] = chosen["model"]
    if name in _LOCAL:
        return Route(provider=name, settings=settings, signs_in_with_openai=False)
    table = _table(_table(config.get("model_providers")).get(name))
    if not table:
        trouble = (
            f"the model provider {name} signs in by means a run does not have: set model_provider in Codex's"
            " config.toml to one with a base_url and an env_key"
        )
        return Route(provider=name, trouble=trouble)
    if "auth" in table:
        trouble = (
            f"the model provider {name} gets its key from a command, which a run cannot start: give it an"
            " env_key"
        )
        return Route(provider=name, trouble=trouble)
    settings["model_providers"] = {name: {key: table[key] for key in _PROVIDER if key in table}}
    return Route(
        provider=name,
        settings=settings,
        key=str(table.get("env_key") or ""),
        headers=tuple(str(name) for name in _table(table.get("env_http_headers")).values()),
        signs_in_with_openai=bool(table.get("requires_openai_auth")),
    )


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
