"""GitHub Copilot CLI as the agent: the real client, headless, with a private home and one learned skill."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.clients import say_address, say_bare, say_effort
from skillopt_replay.agents.copilot_agents import names_servers
from skillopt_replay.agents.copilot_cli import MODEL, PROVIDER, SECRETS, quiet, unpack
from skillopt_replay.agents.copilot_stream import StreamReader
from skillopt_replay.agents.copilot_usage import UsageFile, switch_on
from skillopt_replay.agents.driving import ClientAgent
from skillopt_replay.agents.harness import Launch, run_client
from skillopt_replay.errors import Unavailable
from skillopt_replay.rollouts import Usage
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.reach import Endpoint, reach_of
from skillopt_replay.skill_folders import write_skill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.agents.clients import Client
    from skillopt_replay.agents.copilot_usage import Price
    from skillopt_replay.protocols import Limits
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

EXCLUDED_TOOLS = (
    # What is fetched from the web differs from run to run, and would make both arms differ by it.
    "web_fetch", "web_search",
    # GitHub itself would look for the run in the account's other sessions, those that its task comes from
    # included, and in any repository that the account may read; and it would keep what it is to remember.
    "session_store_sql", "semantic_code_search", "store_memory", "vote_memory",
)  # fmt: skip
_DELEGATE = "task"
_SETTINGS = b'{"memory": false}'  # what GitHub remembers of the user is none of a run's
# One run in a real project: the system prompt, its tools and some twenty turns, most of it cached.
TYPICAL = Usage(input_tokens=150_000, output_tokens=10_000)


class Copilot(ClientAgent):
    """Runs tasks with the `copilot` program inside a sandbox.

    It asks for no permission: the sandbox is what holds it. `project_settings` lets the project's own
    instructions count, as they do for the user; its hooks and MCP servers never run, and nothing of the
    user's own home is there. The project's skills are always on offer: the client has no switch for them.
    `cache` is the folder the program unpacks itself into, once; `model` None takes the client's default.
    GitHub tells what a call cost; `price` returns the dollars of a usage of a provider's model.
    """

    def __init__(
        self,
        cli: Client,
        sandbox: Sandbox,
        *,
        cache: Path,
        model: str | None = None,
        denied: Sequence[str] = (),
        toolchains: Toolchains = Toolchains(),  # noqa: B008 - frozen
        project_settings: bool = True,
        effort: str = "",
        estimate: Usage = TYPICAL,
        price: Price | None = None,
    ) -> None:
        """Take the client as found; `denied` are permissions to refuse, as its `--deny-tool` takes them.

        `effort` is how hard the model is told to think, "" for as it does by itself.

        Raises Unavailable when nobody is signed in, or a provider of the user's own has no model.
        """
        env = dict(cli.credentials.env) if cli.credentials else {}
        super().__init__(
            cli,
            sandbox,
            title="GitHub Copilot",
            model=model or env.get(MODEL),
            toolchains=toolchains,
            project_settings=project_settings,
            effort=effort,
            estimate=estimate,
        )
        if PROVIDER in env and not (self._model or env.get("COPILOT_PROVIDER_MODEL_ID")):
            raise Unavailable("Copilot's provider has no model", hint=f"set {MODEL}, or target.model")
        self._cache = cache
        self._denied = tuple(denied)
        self._price = price if PROVIDER in env else None
        known = PROVIDER not in env or (price and price(self._model or "", estimate) is not None)
        if not known:
            self._estimate = msgspec.structs.replace(estimate, cost_usd=None)

    @property
    def identity(self) -> str:
        env = dict(self._credentials.env)
        own = "provider/" if PROVIDER in env else ""
        return (
            f"copilot {self._cli.version} {own}{self._model or 'default'}{say_effort(self._effort)}"
            + say_address(env.get(PROVIDER) or env.get("COPILOT_GH_HOST") or env.get("GH_HOST"))
            + say_bare(bare=not self._project_settings)
        )

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Let the client work on the task in `workspace`; see Agent.run."""
        run = self._begin("copilot", task, skill, workspace, limits)
        spent = UsageFile(self._price)

        def furnish(private: Path) -> Launch:
            self._unpack()
            config = self._furnish(private / "home", skill)
            spent.watch(config / "telemetry.jsonl", config / "session-state")
            return Launch(
                argv=tuple(self._command(workspace)),
                env={**self._environment(private), **switch_on(config / "telemetry.jsonl")},
                readable=tuple(self._readable(config, skill)),
                stdin=prompt_of(task.prompt).encode("utf-8", "replace"),
                reach=reach_for(dict(self._credentials.env)),
                is_alone=True,
            )

        name = skill.name if skill else None
        return await run_client(run, furnish, StreamReader(name, spent, max_line=limits.output_bytes))

    def _unpack(self) -> None:
        try:
            unpack(self._cli.binary, self._cli.version, self._cache)
        except Unavailable as error:
            raise OSError(error.message) from error  # of this run: the next one tries again

    def _command(self, workspace: Path) -> list[str]:
        command = [str(self._cli.binary), "--output-format", "json"]
        command += ["--allow-all-tools", "--allow-all-paths", "--allow-all-urls", "--no-ask-user"]
        command += ["--disable-builtin-mcps", "--no-remote-export", "--no-auto-update", "--log-level", "none"]
        # An agent of the project's would have the client speak to GitHub for it, as the user.
        excluded = (*EXCLUDED_TOOLS, _DELEGATE) if names_servers(workspace) else EXCLUDED_TOOLS
        command += [f"--excluded-tools={','.join(excluded)}", f"--secret-env-vars={','.join(SECRETS)}"]
        command += [f"--deny-tool={permission}" for permission in self._denied]
        if not self._project_settings:
            command.append("--no-custom-instructions")
        if self._model:
            command += ["--model", self._model]
        if self._effort:
            command += ["--reasoning-effort", self._effort]
        return command

    def _furnish(self, home: Path, skill: Skill | None) -> Path:
        """Lay out the private home, with the skill where the client looks for the user's own."""
        config = home / ".copilot"
        config.mkdir()
        # The client starts its commands from a login shell, which forgets the PATH it was given.
        profile = f"export PATH={shlex.quote(self._toolchains.path)}\n"
        (home / ".bash_profile").write_text(profile, encoding="utf-8")
        (config / "settings.json").write_bytes(_SETTINGS)
        if skill is not None:
            folder = config / "skills" / skill.name
            write_skill(skill, folder)
        return config

    def _readable(self, config: Path, skill: Skill | None) -> list[Path]:
        paths = [self._cli.binary, self._cache, *self._toolchains.folders]
        paths += self._find_certificates("NODE_EXTRA_CA_CERTS")
        return [*paths, config / "skills"] if skill else paths

    def _environment(self, private: Path) -> dict[str, str]:
        home = private / "home"
        return {
            "PATH": self._toolchains.path,
            "HOME": str(home),
            "TMPDIR": str(private / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
            **quiet(home, self._cache),
            **dict(self._credentials.env),
        }


def reach_for(env: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Return the services a run needs: its provider's, or those of GitHub or of the user's own part of it."""
    host = env.get("COPILOT_GH_HOST") or env.get("GH_HOST") or "github.com"
    host = host.removeprefix("https://").rstrip("/")
    if PROVIDER in env or host == "github.com":
        return reach_of("copilot", env.get(PROVIDER))
    return tuple(Endpoint(f"{part}{host}") for part in ("", "api.", "copilot-api."))


def prompt_of(text: str) -> str:
    """Return the prompt in a form that the client does not take for a command of its own."""
    return f"Request: {text}" if text.lstrip().startswith("/") else text
