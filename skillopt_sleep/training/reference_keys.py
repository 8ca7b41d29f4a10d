"""Keys by which configurations for the reference implementation name its services and agents.

They are put in the words of this configuration. A key of a backend that is not in use changes nothing, as
there; one that asks for what is not to be had here is told, with what to do instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from skillopt_sleep.training.backends import AZURE, CLAUDE, CODEX, COPILOT, MINIMAX, QWEN, find_backend

ROLES = ("target", "optimizer")
_REGIONS = {"global_en": "https://api.minimax.io/v1", "cn_zh": "https://api.minimaxi.com/v1"}
_SANDBOX = "every run is held by this program's own sandbox, see `skillopt-sleep config get replay.sandbox`"
_PRIVATE = "runs have a private home, without profiles and settings of yours: leave it out"
_NETWORK = "what runs reach is set for all of them: `skillopt-sleep config set replay.network any`"
_COMMAND_LINE = "the client's command line is used: leave it out"
_SIGN_IN = "set AZURE_OPENAI_AD_TOKEN, as from `az account get-access-token`"
_TRACES = "the optimizer always sees the runs, as far as gradient.trace_tokens goes"
_LENGTH = "set gradient.reply_tokens and env.max_completion_tokens, which hold for every model"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a key where one of `backends` is in use.

    `to` is the key of a role's server it is put under; with `agent` it is one of the section itself. A key
    without any may only have a value in `fits`, and else `hint` says what to do. `secret` names the variable
    to use instead.
    """

    backends: frozenset[str]
    to: str = ""
    agent: str = ""
    fits: tuple[object, ...] = ()
    hint: str = ""
    secret: str = ""


def _server(backends: frozenset[str], to: str) -> Rule:
    return Rule(backends=backends, to=to)


def _agent(backends: frozenset[str], agent: str) -> Rule:
    return Rule(backends=backends, agent=agent)


def _only(backends: frozenset[str], hint: str, fits: tuple[object, ...] = ()) -> Rule:
    return Rule(backends=backends, fits=fits, hint=hint)


def _secret(backends: frozenset[str], variable: str) -> Rule:
    return Rule(backends=backends, secret=variable)


# Of these there is one for both roles, and one for each with its name before it.
_BY_ROLE = {
    "azure_openai_endpoint": _server(AZURE, "base_url"),
    "azure_openai_api_version": _server(AZURE, "api_version"),
    "azure_openai_api_key": _secret(AZURE, "AZURE_OPENAI_API_KEY"),
    "azure_openai_auth_mode": _only(AZURE, _SIGN_IN, ("api_key",)),
    "azure_openai_ad_scope": _only(
        AZURE,
        "set AZURE_OPENAI_AD_TOKEN to a token of that scope",
        ("https://cognitiveservices.azure.com/.default",),
    ),
    "azure_openai_managed_identity_client_id": _only(AZURE, "set AZURE_OPENAI_AD_TOKEN to its token"),
    "qwen_chat_base_url": _server(QWEN, "base_url"),
    "qwen_chat_api_key": _secret(QWEN, "QWEN_CHAT_API_KEY"),
    "qwen_chat_temperature": _server(QWEN, "temperature"),
    "qwen_chat_timeout_seconds": _server(QWEN, "timeout_seconds"),
    "qwen_chat_max_tokens": _only(QWEN, _LENGTH, (8000,)),
    "qwen_chat_enable_thinking": _server(QWEN, "thinking"),
    "qwen_chat_thinking_mode": _server(QWEN, "thinking"),
    "minimax_base_url": _server(MINIMAX, "base_url"),
    "minimax_api_key": _secret(MINIMAX, "MINIMAX_API_KEY"),
}
_RULES = {
    **_BY_ROLE,
    **{f"{role}_{key}": rule for key, rule in _BY_ROLE.items() for role in ROLES},
    "azure_endpoint": _BY_ROLE["azure_openai_endpoint"],
    "azure_api_version": _BY_ROLE["azure_openai_api_version"],
    "azure_api_key": _BY_ROLE["azure_openai_api_key"],
    "minimax_region": _server(MINIMAX, "region"),
    "minimax_model": _only(MINIMAX, "name it in model.target and model.optimizer"),
    "minimax_temperature": _server(MINIMAX, "temperature"),
    "minimax_max_tokens": _only(MINIMAX, _LENGTH, (8000,)),
    "minimax_enable_thinking": _server(MINIMAX, "thinking"),
    **dict.fromkeys(
        ("codex_exec_path", "codex_path", "codex_cli_bin", "codex_bin"), _agent(CODEX, "agent_path")
    ),
    **dict.fromkeys(
        ("codex_exec_sandbox", "codex_sandbox", "sandbox"), _only(CODEX, _SANDBOX, ("workspace-write",))
    ),
    "codex_exec_profile": _only(CODEX, _PRIVATE),
    "codex_exec_reasoning_effort": _agent(CODEX, "reasoning_effort"),
    "codex_exec_use_sdk": _only(
        CODEX,
        _COMMAND_LINE,
        (
            "auto",
            "cli",
            False,
        ),
    ),
    "codex_exec_network_access": _only(CODEX, _NETWORK, (False,)),
    "codex_exec_web_search": _only(
        CODEX,
        _NETWORK,
        (
            False,
            "disabled",
        ),
    ),
    "codex_exec_approval_policy": _only(CODEX, "nobody is asked during a run: leave it out", ("never",)),
    "codex_exec_full_auto": _only(
        CODEX,
        "nobody is asked during a run: leave it out",
        (
            True,
            False,
        ),
    ),
    "codex_trace_to_optimizer": _only(CODEX, _TRACES, (True,)),
    "claude_code_exec_path": _agent(CLAUDE, "agent_path"),
    "claude_code_exec_profile": _only(CLAUDE, _PRIVATE),
    "claude_code_exec_use_sdk": _only(
        CLAUDE,
        _COMMAND_LINE,
        (
            "auto",
            "cli",
            False,
        ),
    ),
    "claude_code_exec_effort": _agent(CLAUDE, "reasoning_effort"),
    "claude_code_exec_max_thinking_tokens": _only(
        CLAUDE,
        "set model.reasoning_effort instead",
        (
            0,
            16384,
        ),
    ),
    "copilot_exec_path": _agent(COPILOT, "agent_path"),
    "copilot_exec_home": _only(COPILOT, _PRIVATE),
    "copilot_exec_allow_all_tools": _only(COPILOT, "all tools are allowed, inside the sandbox", (True,)),
    # Of clients that are no backends here.
    **dict.fromkeys(
        (
            "cursor_exec_path",
            "cursor_exec_sandbox",
            "copilot_chat_optimizer_model",
            "copilot_chat_target_model",
            "copilot_chat_timeout",
        ),
        _only(frozenset(), ""),
    ),
}
_UNSET = (None, "")
_USUAL = ("codex", "claude", "copilot", "none")


def is_of_reference(key: str) -> bool:
    """Return whether it is one of the reference's own keys of `model`."""
    return key in _RULES


def translate(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the values without the reference's own keys of `model`, and a fault for each that does not fit.

    A fault is what is wrong and what to do instead.
    """
    model = values.get("model")
    if not isinstance(model, Mapping) or not any(key in _RULES for key in model):
        return dict(values), []
    own = {key: value for key, value in model.items() if key not in _RULES}
    faults: list[tuple[str, str]] = []
    for key, value in model.items():
        rule = _RULES.get(key)
        if rule is None or value in _UNSET:
            continue
        if rule.secret:
            hint = f"keys come from the environment or .env: set {rule.secret} there"
            faults.append((f"model.{key} is a secret, which no configuration holds", hint))
            continue
        roles = [role for role in ROLES if key.startswith(f"{role}_")] or list(ROLES)
        used = [role for role in roles if find_backend(model, role) in rule.backends]
        if not used:
            continue
        if rule.agent:
            # The programs' own names, and no effort, are what there is without the key.
            if value not in _USUAL:
                own[rule.agent] = value
        elif rule.to:
            faults += _put(own, key, value, rule.to, used)
        elif value not in rule.fits:
            faults.append((f"model.{key} is {value!r}", rule.hint))
    return {**values, "model": own}, faults


def _put(own: dict[str, Any], key: str, value: object, to: str, roles: list[str]) -> list[tuple[str, str]]:
    """Set what the key says of the servers of the roles. A key of one role goes before one of both."""
    if to == "region":
        if value not in _REGIONS:
            return [(f"model.{key} is {value!r}", f"it is one of {', '.join(_REGIONS)}")]
        to, value = "base_url", _REGIONS[str(value)]
    if to == "thinking" and isinstance(value, bool):
        value = "enabled" if value else "disabled"
    for role in roles:
        server = dict(own.get(f"{role}_server") or {})
        if key.startswith(f"{role}_") or to not in server:
            server[to] = value
        own[f"{role}_server"] = server
    return []
