"""Configurations for the reference implementation are read: its keys, its aliases, its variables."""

from __future__ import annotations

import pytest
import yaml

from skillopt_sleep.errors import UsageError
from skillopt_sleep.training.naming import name_agent, name_optimizer, name_rewriter, name_target
from skillopt_sleep.training.reading import dump, make, read

BASE = {
    "model": {
        "backend": "azure_openai",
        "optimizer": "gpt-5.5",
        "target": "gpt-5.5",
        "reasoning_effort": "medium",
        "rewrite_reasoning_effort": "",
        "rewrite_max_completion_tokens": 64000,
        "codex_exec_path": "codex",
        "codex_exec_sandbox": "workspace-write",
        "codex_exec_use_sdk": "auto",
        "codex_exec_network_access": False,
        "codex_exec_approval_policy": "never",
        "claude_code_exec_path": "claude",
        "claude_code_exec_max_thinking_tokens": 16384,
        "cursor_exec_path": "cursor-agent",
        "copilot_exec_allow_all_tools": None,
        "codex_trace_to_optimizer": True,
        "azure_openai_endpoint": "https://mine.openai.azure.com",
        "azure_openai_api_version": "2024-12-01-preview",
        "azure_openai_api_key": "",
        "azure_openai_auth_mode": "",
        "qwen_chat_base_url": "http://localhost:8000/v1",
        "minimax_region": "global_en",
        "optimizer_minimax_api_key": "",
    }
}


def model(**keys):
    return make({"model": {**BASE["model"], **keys}}).model


def test_a_configuration_of_the_reference_is_read_whole():
    section = model()
    target = name_target(section, {"AZURE_OPENAI_API_KEY": "k"})
    assert target.spec == "azure:https://mine.openai.azure.com#gpt-5.5"
    assert target.effort == "medium"
    assert target.env["AZURE_OPENAI_API_VERSION"] == "2024-12-01-preview"
    assert name_optimizer(section, {}).spec == target.spec
    assert name_agent(section) == ""
    assert "k" not in repr(target).replace("azure", "").split("spec")[0]


def test_each_role_may_have_its_own_server():
    section = model(
        target_backend="qwen_chat",
        target="qwen3.5-4b",
        qwen_chat_temperature=0.7,
        target_qwen_chat_base_url="http://localhost:9000/v1",
        qwen_chat_enable_thinking=False,
        qwen_chat_timeout_seconds=120,
        optimizer_azure_openai_endpoint="https://other.openai.azure.com",
    )
    target = name_target(section, {})
    assert target.spec == "vllm:http://localhost:9000/v1#qwen3.5-4b"
    assert target.extra == {"temperature": 0.7, "chat_template_kwargs": {"enable_thinking": False}}
    assert target.timeout_s == 120
    assert name_optimizer(section, {}).spec == "azure:https://other.openai.azure.com#gpt-5.5"
    thinks = model(target_backend="minimax_chat", target="MiniMax-M3", minimax_enable_thinking=True)
    assert name_target(thinks, {}).spec == "minimax:https://api.minimax.io/v1#MiniMax-M3"
    assert name_target(thinks, {}).extra == {"thinking": {"type": "adaptive"}}


@pytest.mark.parametrize(
    ("backend", "agent", "optimizer"),
    [
        ("codex_exec", "codex", "codex:gpt-5.5"),
        ("claude_code_exec", "claude_code", "openai:gpt-5.5"),
        ("copilot_exec", "copilot", "openai:gpt-5.5"),
        ("claude_chat", "", "claude:gpt-5.5"),
        ("openai_chat", "", "openai:gpt-5.5"),
    ],
)
def test_a_backend_for_the_whole_run_says_who_works_and_who_writes(backend, agent, optimizer):
    section = model(backend=backend)
    assert name_agent(section) == agent
    assert name_optimizer(section, {}).spec == optimizer


def test_a_name_that_says_all_stays_as_it_is_beside_an_agent():
    assert name_optimizer(model(backend="command", optimizer="local"), {}).spec == "local"
    assert name_optimizer(model(backend="copilot_exec", optimizer="anthropic:x"), {}).spec == "anthropic:x"


def test_paths_and_efforts_of_the_agent_in_use_count():
    section = model(
        backend="codex_exec", codex_path="/opt/codex", reasoning_effort="", codex_exec_reasoning_effort="high"
    )
    assert (section.agent_path, section.reasoning_effort) == ("/opt/codex", "high")
    assert model(backend="openai_chat").agent_path == ""


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"backend": "codex_exec", "codex_exec_sandbox": "danger-full-access"}, "replay.sandbox"),
        ({"backend": "codex_exec", "codex_exec_network_access": True}, "replay.network"),
        ({"backend": "codex_exec", "codex_exec_profile": "mine"}, "private home"),
        ({"backend": "codex_exec", "codex_trace_to_optimizer": False}, "trace_tokens"),
        ({"backend": "claude_code_exec", "claude_code_exec_use_sdk": True}, "command line is used"),
        ({"azure_openai_auth_mode": "azure_cli"}, "AZURE_OPENAI_AD_TOKEN"),
        ({"backend": "minimax_chat", "minimax_region": "moon"}, "global_en"),
        ({"backend": "qwen_chat", "qwen_chat_thinking_mode": "often"}, "Invalid enum value 'often'"),
        ({"qwen_chat_api_key": "sk-1"}, "QWEN_CHAT_API_KEY"),
        ({"target_azure_openai_api_key": "sk-1"}, "AZURE_OPENAI_API_KEY"),
    ],
)
def test_what_is_not_to_be_had_is_told_with_what_to_do(keys, said):
    with pytest.raises(UsageError) as told:
        model(**keys)
    assert said in f"{told.value.message} {told.value.hint}"
    assert "sk-1" not in f"{told.value.message} {told.value.hint}"


def test_variables_of_a_role_stand_in_for_the_common_ones():
    section = make({"model": {"backend": "openai_compatible", "target": "t", "optimizer": "o"}}).model
    env = {
        "OPENAI_COMPATIBLE_BASE_URL": "http://one/v1",
        "OPTIMIZER_OPENAI_COMPATIBLE_BASE_URL": "http://two/v1",
        "TARGET_OPENAI_COMPATIBLE_API_KEY": "k",
        "TARGET_PRACTICE": "no",
    }
    target, optimizer = name_target(section, env), name_optimizer(section, env)
    assert (target.spec, optimizer.spec) == ("openai:http://one/v1#t", "openai:http://two/v1#o")
    assert target.env["OPENAI_API_KEY"] == "k"
    assert "OPENAI_API_KEY" not in optimizer.env


def test_whole_documents_may_be_thought_about_harder():
    assert name_rewriter(model(), {}) is None
    assert name_rewriter(model(rewrite_reasoning_effort="high"), {}).effort == "high"


def test_a_file_without_sections_is_put_in_sections(tmp_path):
    flat = {
        "model_backend": "claude_chat",
        "target_model": "haiku",
        "env": "tasks",
        "num_epochs": 2,
        "edit_budget": 7,
        "min_edit_budget": 3,
        "gate_metric": "soft",
        "data_path": "all.jsonl",
        "claude_code_exec_path": "claude",
    }
    (tmp_path / "flat.yaml").write_text(yaml.safe_dump(flat))
    (tmp_path / "child.yaml").write_text("_base_: flat.yaml\ntrain:\n  num_epochs: 3\nnum_epochs: 9\n")
    config = read(tmp_path / "child.yaml")
    assert (config.model.backend, config.model.target, config.env.name) == ("claude_chat", "haiku", "tasks")
    assert (config.train.num_epochs, config.optimizer.learning_rate) == (3, 7)
    assert (config.optimizer.min_learning_rate, config.evaluation.gate_metric) == (3, "soft")
    (tmp_path / "again.yaml").write_text(dump(config))
    assert read(tmp_path / "again.yaml") == config


def test_a_key_that_several_sections_have_is_asked_about(tmp_path):
    (tmp_path / "run.yaml").write_text("samples: 2\n")
    with pytest.raises(UsageError, match="no section is called samples"):
        read(tmp_path / "run.yaml")
