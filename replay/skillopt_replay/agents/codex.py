"""Codex as the agent: the real client, headless, with a private home and exactly one learned skill."""

from __future__ import annotations

import functools
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay.agents.clients import say_address, say_bare, say_effort
from skillopt_replay.agents.codex_cli import CERTIFICATES, CREDENTIAL_FILE, KEY
from skillopt_replay.agents.codex_log import FILTER
from skillopt_replay.agents.codex_route import find_addresses
from skillopt_replay.agents.codex_sandbox import CodexSandbox
from skillopt_replay.agents.codex_stream import StreamReader
from skillopt_replay.agents.driving import ClientAgent
from skillopt_replay.agents.harness import Launch, run_client
from skillopt_replay.folders import lies_in, walk
from skillopt_replay.rollouts import Usage
from skillopt_replay.sandbox.contract import Toolchains
from skillopt_replay.sandbox.folders import show_program
from skillopt_replay.sandbox.none import NoSandbox
from skillopt_replay.sandbox.reach import reach_of
from skillopt_replay.skill_files import SKILL_FILE
from skillopt_replay.skill_folders import write_skill
from skillopt_replay.workspace import root_of

if TYPE_CHECKING:
    from skillopt_replay.agents.clients import Client, Credentials
    from skillopt_replay.agents.codex_log import Price
    from skillopt_replay.protocols import Limits
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

ORIGINATOR = "skillopt-sleep-replay"  # recorded by the client; harvesters leave such sessions out
# One run in a real project: the system prompt, its tools and some twenty turns, most of it cached.
TYPICAL = Usage(input_tokens=150_000, output_tokens=10_000)
# No helpers that ask beside it. Its requests are told by its log alone, which holds what a failed tool was
# given as well: a model could make up replies there, and so have more requests out than are known of.
ALONE: dict[str, Any] = {"multi_agent": False, "multi_agent_v2": {"max_concurrent_threads_per_session": 1}}
_PROJECT_SKILLS = (".agents/skills", ".codex/skills")


class Codex(ClientAgent):
    """Runs tasks with the `codex` program inside a sandbox.

    `project_settings` lets the project's own AGENTS.md and skills count, as they do for the user in a folder
    they never said to trust; nothing of the user's own home ever does. `model` None takes the client's
    default, and `effort` "" how hard it thinks by itself. The client's own sandbox is on only when it is the
    one given: one inside another does not start.
    `price` returns the dollars of one reply of a model, for those who pay by the token; the client tells no
    cost itself, so without a price the limit on money stops no run.
    """

    def __init__(
        self,
        cli: Client,
        sandbox: Sandbox,
        *,
        model: str | None = None,
        toolchains: Toolchains = Toolchains(),  # noqa: B008 - frozen
        project_settings: bool = True,
        effort: str = "",
        estimate: Usage = TYPICAL,
        price: Price | None = None,
    ) -> None:
        """Take the client as found. Raises Unavailable when nobody is signed in."""
        # The client's own sandbox holds the commands it starts; the client itself has to reach its model.
        self._own = sandbox if isinstance(sandbox, CodexSandbox) else None
        super().__init__(
            cli,
            NoSandbox() if self._own else sandbox,
            title="Codex",
            model=model,
            toolchains=toolchains,
            project_settings=project_settings,
            effort=effort,
            estimate=estimate,
        )
        # An account pays by the month, and its file is all that signs it in.
        self._price = price if self._credentials.file is None else None
        name = model or str(self._credentials.route.get("model", ""))
        if self._price is None or self._price(name, estimate) is None:
            self._estimate = msgspec.structs.replace(estimate, cost_usd=None)

    @property
    def identity(self) -> str:
        route = self._credentials.route
        provider = f"{route['model_provider']}/" if "model_provider" in route else ""
        return (
            f"codex {self._cli.version} {provider}{self._model or route.get('model', 'default')}"
            + say_effort(self._effort)
            + say_address(*find_addresses(route, dict(self._credentials.env)))
            + say_bare(bare=not self._project_settings)
        )

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Let the client work on the task in `workspace`; see Agent.run."""
        run = self._begin("codex", task, skill, workspace, limits)

        def furnish(private: Path) -> Launch:
            # Beside the home where commands may read and write the home: the sign-in lies in it.
            home = private / "codex" if self._own else private / "home" / ".codex"
            env = self._environment(private, home)
            self._furnish(home, private / "home", skill)
            config = self._config(workspace)
            if self._own:
                writable = [root_of(workspace), private / "home", private / "tmp"]
                config |= self._own.permissions(writable=writable, readable=self._readable(home, env))
            _write_private(home / "config.toml", _write_toml(msgspec.json.encode(config)))
            return Launch(
                argv=tuple(self._command()),
                env=env,
                readable=tuple(self._readable(home, env)),
                stdin=task.prompt.encode("utf-8", "replace"),
                reach=reach_of("codex", *find_addresses(self._credentials.route, env)),
                is_alone=True,
            )

        named = bool(skill and re.search(rf"\${re.escape(skill.name)}(?![\w-])", task.prompt))
        reader = StreamReader(skill, named=named, price=self._price, max_line=limits.output_bytes)
        return await run_client(run, furnish, reader, log=reader.log.feed)

    def _command(self) -> list[str]:
        command = [str(self._cli.binary), "exec", "--json", "--ephemeral", "--skip-git-repo-check"]
        if not self._own:
            command += ["--sandbox", "danger-full-access"]
        if self._model:
            command += ["--model", self._model]
        return [*command, "-"]

    def _furnish(self, folder: Path, home: Path, skill: Skill | None) -> None:
        """Lay out the client's folder and, with a skill, the one where the client looks for it."""
        folder.mkdir()
        if self._credentials.file is not None:
            _write_private(folder / CREDENTIAL_FILE, self._credentials.file)
        # Commands run in a login shell, where the system's profile sets the search path anew.
        path = f"export PATH={shlex.quote(self._path)}\n"
        for name in (".profile", ".zprofile"):
            (home / name).write_text(path, encoding="utf-8")
        if skill is not None:
            write_skill(skill, folder / "skills" / skill.name)

    def _config(self, workspace: Path) -> dict[str, Any]:
        """Return what calls nobody but the model, asks nobody, and offers nothing of the client's own."""
        config: dict[str, Any] = {
            **name_provider(self._credentials),
            "approval_policy": "never",
            "check_for_update_on_startup": False,
            "cli_auth_credentials_store": "file",
            # The service would search and fetch for a run, or draw, and take money that nothing tells.
            "web_search": "disabled",
            "analytics": {"enabled": False},
            "feedback": {"enabled": False},
            "features": {"plugins": False, "apps": False, "image_generation": False, **ALONE},
            # A project's own scripts find no key to spend, whatever it is called.
            "shell_environment_policy": {
                "ignore_default_excludes": False,
                "exclude": list(self._credentials.keys),
            },
        }
        if self._effort:
            config["model_reasoning_effort"] = self._effort
        if self._sandbox.memory is not None:
            # The client waits for the disk at each change of its data bases, which nobody reads afterwards.
            config["sqlite_home"] = str(self._sandbox.memory / ORIGINATOR)
        skills: dict[str, Any] = {"bundled": {"enabled": False}}
        if not self._project_settings:
            config["project_doc_max_bytes"] = 0
            skills["config"] = [{"path": str(p), "enabled": False} for p in _find_skills(workspace)]
        return {**config, "skills": skills}

    @functools.cached_property
    def _program(self) -> Path:
        """What holds the program and, where the client is packed so, those it brings along."""
        package = self._cli.binary.parent.parent
        return package if (package / "codex-package.json").is_file() else show_program(self._cli.binary)

    @property
    def _path(self) -> str:
        tools = self._program / "codex-path"
        return f"{tools}:{self._toolchains.path}" if tools.is_dir() else self._toolchains.path

    def _readable(self, home: Path, env: dict[str, str]) -> list[Path]:
        paths = [self._program, *self._toolchains.folders]
        paths += self._find_certificates(*CERTIFICATES)
        return [*paths, home / "skills"] if (home / "skills").is_dir() else paths

    def _environment(self, private: Path, folder: Path) -> dict[str, str]:
        return {
            "PATH": self._path,
            "HOME": str(private / "home"),
            "CODEX_HOME": str(folder),
            "TMPDIR": str(private / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "RUST_LOG": FILTER,
            "CODEX_INTERNAL_ORIGINATOR_OVERRIDE": ORIGINATOR,
            **dict(self._credentials.env),
        }


def name_provider(credentials: Credentials) -> dict[str, Any]:
    """Return the route, with OpenAI's own service under a name of ours.

    Under its own the client asks by web sockets, on which a request is as short as what is new in it: too
    short to be told from what is none, as requests are by their size before they go out.
    """
    route = dict(credentials.route)
    if "model_provider" in route:
        return route
    service: dict[str, Any] = {"name": "OpenAI", "wire_api": "responses"}
    address = route.pop("openai_base_url", None)
    if address is not None:
        service["base_url"] = address
    if address is not None and KEY in dict(credentials.env):
        # A gateway need not know all that the client asks of OpenAI.
        service |= {"name": "service", "env_key": KEY}
    else:
        service["requires_openai_auth"] = True
    return {**route, "model_provider": "service", "model_providers": {"service": service}}


@functools.lru_cache(maxsize=8)
def _write_toml(config: bytes) -> bytes:
    """Return a configuration, given as JSON, as TOML. One run's is mostly the next one's too."""
    import tomlkit

    return tomlkit.dumps(msgspec.json.decode(config)).encode("utf-8")


def _write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def _find_skills(workspace: Path) -> list[Path]:
    """Return the project's own skills that the client would offer in `workspace`."""
    root = root_of(workspace)
    folders = [path for path in (workspace, *workspace.parents) if path.is_relative_to(root)]
    places = [folder / place for folder in folders for place in _PROJECT_SKILLS]
    # A link out of the workspace leads to skills that are none of the project's.
    inside = (place for place in places if lies_in(place, root))
    return [Path(at, SKILL_FILE) for place in inside for at, _, names in walk(place) if SKILL_FILE in names]
