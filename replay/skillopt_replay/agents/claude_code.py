"""Claude Code as the agent: the real client, headless, with a private home and exactly one learned skill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.claude_cli import CREDENTIAL_FILE, find_address, make_environment
from skillopt_replay.agents.claude_stream import StreamReader
from skillopt_replay.agents.clients import say_address, say_bare, say_effort
from skillopt_replay.agents.driving import ClientAgent
from skillopt_replay.agents.harness import Launch, run_client
from skillopt_replay.protocols import Limits
from skillopt_replay.rollouts import Usage
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.folders import show_program
from skillopt_replay.sandbox.reach import Endpoint, reach_of
from skillopt_replay.skill_folders import write_skill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.agents.claude_usage import Price
    from skillopt_replay.agents.clients import Client
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

PLUGIN = "learned"
ENTRYPOINT = "skillopt-sleep-replay"  # recorded by the client; harvesters leave such sessions out
TOOLS = ("Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "Skill", "TodoWrite", "Write")
# They start helpers. What those think is told, if at all, when the whole run is over, and the client's own
# limit on money looks at it no sooner. The project's skills and hooks may allow them.
_HELPERS = ("Agent", "Task", "Workflow")
# The service itself would search and fetch for the run, start sessions of the account that outlive it, or
# list, read and write what else the account holds: pages, designs, projects, connectors, other sessions.
# An organisation's settings come along with the sign-in, and can switch on what is off by ours.
_OUTSIDE = (
    "WebFetch", "WebSearch", "RemoteTrigger", "SendMessage",
    "Artifact", "DesignSync", "ListAgents", "ListConnectors", "Projects", "PushNotification",
    "SearchMcpRegistry", "SendUserFile", "ShareOnboardingGuide", "SuggestConnectors",
)  # fmt: skip
# The project's own settings must not have the client ask for more of that, in whatever words of the service,
# nor for an advisor: another model, which the service asks by itself, and whose tokens no reply tells.
_KEPT = (
    '{"env":{"CLAUDE_CODE_EXTRA_BODY":"","CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC":"1",'
    '"CLAUDE_CODE_DISABLE_ADVISOR_TOOL":"1"}}'
)
# One run in a real project: the system prompt, its tools and some twenty turns, most of it cached.
TYPICAL = Usage(input_tokens=150_000, output_tokens=10_000, cost_usd=Limits().usd)


class ClaudeCode(ClientAgent):
    """Runs tasks with the `claude` program inside a sandbox.

    `project_settings` lets the project's own CLAUDE.md, skills and settings count, as they do for the
    user; nothing of the user's own home ever does. `model` None takes the client's default, and `effort` ""
    how hard it thinks by itself. The client tells what a run cost when it is over; `price` returns the
    dollars of one reply of a model, and keeps those that go out at the same time within the limit on money.
    """

    def __init__(
        self,
        cli: Client,
        sandbox: Sandbox,
        *,
        model: str | None = None,
        tools: Sequence[str] = TOOLS,
        toolchains: Toolchains = Toolchains(),  # noqa: B008 - frozen
        project_settings: bool = True,
        effort: str = "",
        estimate: Usage = TYPICAL,
        price: Price | None = None,
    ) -> None:
        """Take the client as found. Raises Unavailable when nobody is signed in."""
        super().__init__(
            cli,
            sandbox,
            title="Claude Code",
            model=model,
            toolchains=toolchains,
            project_settings=project_settings,
            effort=effort,
            estimate=estimate,
        )
        self._tools = tuple(tools)
        self._price = price

    @property
    def identity(self) -> str:
        return (
            f"claude-code {self._cli.version} {self._model or 'default'}{say_effort(self._effort)}"
            + say_address(find_address(self._credentials))
            + say_bare(bare=not self._project_settings)
        )

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Let the client work on the task in `workspace`; see Agent.run."""
        names = [skill.name, f"{PLUGIN}:{skill.name}"] if skill else ()
        run = self._begin("claude", task, skill, workspace, limits)

        def furnish(private: Path) -> Launch:
            self._furnish(private, skill)
            return Launch(
                argv=tuple(self._command(private / "plugin" if skill else None, limits)),
                env=self._environment(private),
                readable=tuple(self._readable(private, skill)),
                stdin=task.prompt.encode("utf-8", "replace"),
                reach=self._reach(),
                is_alone=True,
            )

        return await run_client(
            run, furnish, StreamReader(names, price=self._price, max_line=limits.output_bytes)
        )

    def _command(self, plugin: Path | None, limits: Limits) -> list[str]:
        sources = "project" if self._project_settings else ""
        command = [str(self._cli.binary), "--print", "--output-format", "stream-json", "--verbose"]
        command += ["--no-session-persistence", "--setting-sources", sources, "--settings", _KEPT]
        command += ["--strict-mcp-config"]
        command += ["--allowedTools", ",".join(self._tools)]
        command += ["--disallowedTools", ",".join((*_HELPERS, *_OUTSIDE))]
        command += ["--max-turns", str(limits.turns)]
        if limits.usd is not None:
            command += ["--max-budget-usd", f"{limits.usd:.6f}"]
        if self._model:
            command += ["--model", self._model]
        if self._effort:
            command += ["--effort", self._effort]
        if plugin:
            command += ["--plugin-dir", str(plugin)]
        return command

    def _furnish(self, private: Path, skill: Skill | None) -> None:
        """Lay out the private home and, with a skill, the plugin that offers it."""
        config = private / "home" / ".claude"
        config.mkdir(parents=True)
        if self._credentials.file is not None:
            path = config / CREDENTIAL_FILE
            path.touch(mode=0o600)
            path.write_bytes(self._credentials.file)
        if skill is not None:
            folder = private / "plugin" / "skills" / skill.name
            write_skill(skill, folder)
            manifest = private / "plugin" / ".claude-plugin" / "plugin.json"
            manifest.parent.mkdir()
            manifest.write_bytes(
                msgspec.json.encode({"name": PLUGIN, "version": "1.0.0", "description": "A learned skill"})
            )

    def _readable(self, private: Path, skill: Skill | None) -> list[Path]:
        paths = [show_program(self._cli.binary), *self._toolchains.folders]
        paths += self._find_certificates("NODE_EXTRA_CA_CERTS")
        return [*paths, private / "plugin"] if skill else paths

    def _reach(self) -> tuple[Endpoint, ...]:
        return reach_of("claude_code", dict(self._credentials.env).get("ANTHROPIC_BASE_URL"))

    def _environment(self, private: Path) -> dict[str, str]:
        return make_environment(self._credentials, private, path=self._toolchains.path, entrypoint=ENTRYPOINT)
