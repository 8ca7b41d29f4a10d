"""Services that speak the chat completions protocol, each with its own ways: one table."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import msgspec


class Structure(IntEnum):
    """How a server is asked for an object, from what it does itself to what the model is only told."""

    STRICT = 0  # response_format json_schema, strict
    SCHEMA = 1  # response_format json_schema
    OBJECT = 2  # response_format json_object, and the schema in words
    WORDS = 3  # the schema in words


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """One service. `base_url` ends where /chat/completions begins; None: the user has to name it.

    `base_name` and `key_names` are variables of the environment; the first key that is set is taken, and
    with `needs_key` there has to be one. A key is sent to a server on this machine only with
    `key_to_loopback`. `simple_schema`: only schemas in the small dialect are taken. `limit` is what the
    parameter for the longest reply is called, `omits` are parameters that are not known there, and
    `coldest` is the lowest temperature. `vendor` names the table of prices, "" for none. `remedy` is what
    to do where the model is not there, `start` where the server is not.
    """

    name: str
    form: str
    base_url: str | None
    base_name: str = ""
    key_names: tuple[str, ...] = ()
    needs_key: bool = True
    key_to_loopback: bool = True
    structure: Structure = Structure.STRICT
    simple_schema: bool = False
    limit: str = "max_tokens"
    omits: tuple[str, ...] = ()
    coldest: float = 0.0
    extra: dict[str, Any] = {}
    vendor: str = ""
    remedy: str = ""
    start: str = ""


PRESETS = (
    Preset(
        name="openai",
        form="openai:MODEL or openai:BASE_URL#MODEL",
        base_url="https://api.openai.com/v1",
        key_names=("OPENAI_API_KEY",),
        # openai:BASE_URL#MODEL is also how any other server is written, and the key is not for those here.
        key_to_loopback=False,
        simple_schema=True,
        limit="max_completion_tokens",
        vendor="openai",
    ),
    Preset(
        name="azure",
        form="azure:DEPLOYMENT or azure:https://NAME.openai.azure.com#DEPLOYMENT",
        base_url=None,
        base_name="AZURE_OPENAI_ENDPOINT",
        key_names=("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
        simple_schema=True,
        limit="max_completion_tokens",
    ),
    Preset(
        name="qwen",
        form="qwen:MODEL",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_names=("DASHSCOPE_API_KEY",),
        structure=Structure.OBJECT,
        # Without streaming its open models answer only when they need not think.
        extra={"enable_thinking": False},
    ),
    Preset(
        name="minimax",
        form="minimax:MODEL",
        base_url="https://api.minimax.io/v1",
        key_names=("MINIMAX_API_KEY",),
        structure=Structure.OBJECT,
        limit="max_completion_tokens",
        omits=("seed",),
        coldest=0.01,
        # What it thinks comes apart from what it says.
        extra={"reasoning_split": True},
    ),
    Preset(
        name="deepseek",
        form="deepseek:MODEL",
        base_url="https://api.deepseek.com/v1",
        key_names=("DEEPSEEK_API_KEY",),
        structure=Structure.OBJECT,
        omits=("seed",),
    ),
    Preset(
        name="vllm",
        form="vllm:MODEL or vllm:BASE_URL#MODEL",
        base_url="http://127.0.0.1:8000/v1",
        key_names=("VLLM_API_KEY",),
        needs_key=False,
        remedy="`vllm serve MODEL` serves one",
        start="`vllm serve MODEL` starts one",
    ),
    Preset(
        name="ollama",
        form="ollama:MODEL",
        base_url="http://127.0.0.1:11434/v1",
        base_name="OLLAMA_HOST",
        key_names=("OLLAMA_API_KEY",),
        needs_key=False,
        remedy="`ollama pull MODEL` fetches it",
        start="`ollama serve` starts one, and `ollama pull MODEL` fetches the model",
    ),
    Preset(
        name="llamacpp",
        form="llamacpp[:BASE_URL#MODEL]",
        base_url="http://127.0.0.1:8080/v1",
        key_names=("LLAMA_API_KEY",),
        needs_key=False,
    ),
)


# Any other server of that protocol: what is oldest and most widely known is asked for first.
PLAIN = Preset(
    name="openai",
    form="openai:BASE_URL#MODEL",
    base_url=None,
    key_names=("OPENAI_API_KEY",),
    key_to_loopback=False,
)
# Of this one only address, keys and prices are used: it has a protocol of its own.
ANTHROPIC = Preset(
    name="anthropic",
    form="anthropic:MODEL",
    base_url="https://api.anthropic.com",
    base_name="ANTHROPIC_BASE_URL",
    key_names=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    vendor="anthropic",
)
BY_NAME = {preset.name: preset for preset in PRESETS}
