"""What the agents that drive a client share: the client as found, how it is to work, and a run of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from skillopt_replay.agents.harness import Run
from skillopt_replay.agents.staying import Staying

if TYPE_CHECKING:
    from skillopt_replay.agents.clients import Client
    from skillopt_replay.protocols import Limits
    from skillopt_replay.rollouts import Usage
    from skillopt_replay.sandbox.contract import Sandbox, Toolchains
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task


class ClientAgent:
    """The beginning of an Agent for a client program; what derives from it adds `identity` and `run`."""

    needs_workspace = True

    def __init__(
        self,
        cli: Client,
        sandbox: Sandbox,
        *,
        title: str,
        model: str | None,
        toolchains: Toolchains,
        project_settings: bool,
        effort: str,
        estimate: Usage,
    ) -> None:
        """Take the client as found; `title` is its name for people. Raises Unavailable when not signed in."""
        self._cli = cli
        self._staying = Staying([cli.binary])
        self._credentials = cli.sign_in(title)
        self._sandbox = sandbox
        self._model = model
        self._toolchains = toolchains
        self._project_settings = project_settings
        self._effort = effort
        self._estimate = estimate

    @property
    def identity(self) -> str:
        """See Agent.identity."""
        raise NotImplementedError

    @property
    def estimate(self) -> Usage:
        return self._estimate

    @property
    def secrets(self) -> tuple[str, ...]:
        return self._credentials.secrets

    def _begin(self, program: str, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Run:
        """Return the run of `program`, its name for messages, that `run_client` takes."""
        return Run(
            program=program,
            agent=self.identity,
            model=self._model or "",
            task=task,
            skill=skill,
            workspace=workspace,
            limits=limits,
            sandbox=self._sandbox,
            staying=self._staying,
        )

    def _find_certificates(self, *names: str) -> list[Path]:
        """Return the files of certificates that these variables of the sign-in name."""
        env = dict(self._credentials.env)
        return [Path(env[name]) for name in names if name in env and Path(env[name]).is_file()]
