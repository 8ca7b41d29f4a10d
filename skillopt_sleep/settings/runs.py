"""How tasks are run: by whom, with which models, where and up to which limits."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from skillopt_sleep.agents import NAMES
from skillopt_sleep.settings.kinds import Positive


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The agent that runs the tasks."""

    agent: Annotated[
        str,
        Meta(
            pattern=f"^({'|'.join(NAMES)})$",
            description=f"{', '.join(NAMES[:-2])} (real CLIs), command (a program of yours) or chat (a chat"
            " model)",
        ),
    ] = "auto"
    model: Annotated[
        str,
        Meta(description="a model name; for chat a model as under optimizer.model; empty = default"),
    ] = ""
    effort: Annotated[
        str,
        Meta(
            pattern="^[a-z]*$",
            description="how hard a client's model is told to think, as that client names it (low, medium,"
            " high, ...); empty = as it does by itself",
        ),
    ] = ""
    settings: Annotated[
        str,
        Meta(
            pattern="^(project)?$",
            description="settings the agent loads in replays: project, or empty for none",
        ),
    ] = "project"
    command: Annotated[
        tuple[str, ...],
        Meta(description='the program that agent "command" runs, and its arguments: ["my-agent", "--flag"]'),
    ] = ()
    pass_env: Annotated[
        tuple[str, ...], Meta(description="variables of your environment that the program gets")
    ] = ()
    reach: Annotated[
        tuple[str, ...], Meta(description="URLs of the services the program may reach; empty = none")
    ] = ()


class Optimizer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that writes edits."""

    model: Annotated[
        str,
        Meta(
            description="auto, claude[:MODEL], codex[:MODEL], local[:NAME or :/path.gguf], or PRESET:MODEL,"
            " where PRESET is anthropic, openai, azure, qwen, minimax, deepseek, vllm, ollama or llamacpp;"
            " any other server as openai:BASE_URL#MODEL"
        ),
    ] = "auto"


class Judge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that judges what no check in code can; it is tried on your own past work first."""

    model: Annotated[
        str,
        Meta(description="a model as under optimizer.model, best of another family; empty = no judge"),
    ] = ""


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tasks are run."""

    sandbox: Annotated[
        str,
        Meta(
            pattern="^(auto|bubblewrap|sandbox-exec|client|none)$",
            description="auto (the system's, else the client's own), bubblewrap, sandbox-exec, client, or"
            ' "none" (runs unprotected)',
        ),
    ] = "auto"
    network: Annotated[
        str,
        Meta(
            pattern="^(model|any)$",
            description="what runs reach: their model's service only, or any (this machine's ports included)",
        ),
    ] = "model"
    concurrency: Annotated[Positive, Meta(description="runs at a time")] = 2
    executor: Annotated[
        str,
        Meta(
            pattern="^(local|dask:[a-z]+://.+)$",
            description="local, or dask:tcp://HOST:PORT (that scheduler's workers; needs the extra dask)",
        ),
    ] = "local"
    attempts: Annotated[
        Positive, Meta(description="tries of a run while the service is overloaded or out of reach")
    ] = 3
    repeats: Annotated[Positive, Meta(description="runs of each held-out task per side")] = 1
    seconds: Annotated[float, Meta(gt=0, description="wall-clock limit of one run")] = 600.0
    turns: Annotated[Positive, Meta(description="agent turns of one run")] = 40
    usd: Annotated[float, Meta(gt=0, description="US dollars one run may spend")] = 1.0
    tokens: Annotated[Positive, Meta(description="tokens one run may use, cached ones included")] = 2_000_000
    answer_tokens: Annotated[Positive, Meta(description="longest answer of a chat target")] = 1024
    processes: Annotated[Positive, Meta(description="processes one run may have at a time")] = 512
    memory_gb: Annotated[
        float, Meta(gt=0, le=1e9, description="GB of memory of one run, all its processes")
    ] = 8.0
    disk_gb: Annotated[float, Meta(gt=0, le=1e9, description="GB one run may write to disk")] = 4.0
    setup: Annotated[
        str, Meta(description="command that makes a project ready, run once a commit, such as npm ci")
    ] = ""
    project_setup: Annotated[
        tuple[str, ...], Meta(description="commands for single projects, each as PATH:COMMAND")
    ] = ()
    setup_hosts: Annotated[
        tuple[str, ...],
        Meta(description="hosts set-up may reach, such as registry.npmjs.org; empty = no network"),
    ] = ()

    toolchains: Annotated[
        tuple[str, ...],
        Meta(description="folders runs may read besides the system's, such as ~/.nvm/versions/node/v22.11.0"),
    ] = ()

    def __post_init__(self) -> None:
        for text in self.toolchains:
            if not text.startswith(("/", "~/")):
                raise ValueError(f"{text!r} is no place of a toolchain: write it as /PATH or ~/PATH")
        for text in self.project_setup:
            path, _, command = text.partition(":")
            if not path.startswith(("/", "~/")) or not command.strip():
                raise ValueError(f"{text!r} is not PATH:COMMAND, for example ~/work/shop:npm ci")


class Ceilings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one night, or all nights of a month, may use at most; checked before every call."""

    usd: Annotated[float, Meta(ge=0, description="US dollars")] = 5.0
    usd_month: Annotated[
        float, Meta(ge=0, description="US dollars of all nights of a calendar month; 0 = any")
    ] = 50.0
    tokens: Annotated[int, Meta(ge=0, description="tokens, cached ones included")] = 20_000_000
    calls: Annotated[int, Meta(ge=0, description="rollouts and optimizer calls")] = 400
    minutes: Annotated[float, Meta(gt=0, description="wall-clock minutes")] = 240.0
