"""Any program as the agent: the prompt on its standard input, the answer on its standard output."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_replay.agents.clients import say_address
from skillopt_replay.agents.command_stream import CommandReader
from skillopt_replay.agents.endings import conclude
from skillopt_replay.agents.harness import Launch, Run, run_client
from skillopt_replay.agents.staying import Staying
from skillopt_replay.attempts import note_spent
from skillopt_replay.errors import Unavailable
from skillopt_replay.faults import guess_fault
from skillopt_replay.lent import find_all, find_in_arguments, keep_long
from skillopt_replay.rollouts import Fault, Outcome, Usage
from skillopt_replay.sandbox.contract import SYSTEM_PATH, Toolchains
from skillopt_replay.sandbox.folders import show_program
from skillopt_replay.sandbox.launching import find_failure
from skillopt_replay.skill_folders import write_skill

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.agents.traces import Reading
    from skillopt_replay.process import Finished
    from skillopt_replay.protocols import Limits
    from skillopt_replay.rollouts import Rollout
    from skillopt_replay.sandbox.contract import Sandbox
    from skillopt_replay.sandbox.reach import Endpoint
    from skillopt_replay.skills import Skill
    from skillopt_replay.tasks import Task

TRY_LATER = 75  # EX_TEMPFAIL of sysexits.h
_CANNOT_RUN = (126, 127)  # what a shell says of a program that is not there or does not start
_SIGNALLED = 128
TYPICAL = Usage(input_tokens=150_000, output_tokens=10_000)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The command as found: `argv` begins with an absolute path.

    `files` are the program and the scripts among its arguments; `digest` changes when one of them or the
    arguments do.
    """

    argv: tuple[str, ...]
    files: tuple[Path, ...]
    digest: str

    @property
    def name(self) -> str:
        """What it is called in messages: the script's own name, where it is one."""
        return self.files[-1].name


def find_program(command: Sequence[str], env: Mapping[str, str]) -> Program:
    """Find the program on the PATH in `env`, or where its path says. Raises Unavailable with what to do."""
    if not command or not command[0]:
        raise Unavailable("no command is named as the agent", hint='set target.command, e.g. ["my-agent"]')
    name = Path(command[0]).expanduser()
    if "/" in command[0] and not name.is_absolute():
        raise Unavailable(
            f"{command[0]} is a path from nowhere", hint="name an absolute path, or a program on the PATH"
        )
    found = shutil.which(str(name), path=env.get("PATH", SYSTEM_PATH))
    if found is None:
        raise Unavailable(
            f"{command[0]} is not there, or may not be run",
            hint="set target.command to the absolute path of a program, or to a name on the PATH;"
            ' arguments stand apart: ["my-agent", "--flag"]',
        )
    program = Path(found).resolve()
    scripts = (Path(argument) for argument in command[1:])
    files = (program, *(path.resolve() for path in scripts if path.is_absolute() and path.is_file()))
    argv = (str(program), *command[1:])
    return Program(argv=argv, files=files, digest=_digest(argv, files))


def _digest(argv: Sequence[str], files: Sequence[Path]) -> str:
    digest = hashlib.sha256(msgspec.json.encode(argv))
    for path in files:
        try:
            with path.open("rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
        except OSError as error:
            raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
    return digest.hexdigest()[:12]


class CommandAgent:
    """Runs tasks with a program of the user's own inside a sandbox; docs/agents.md says what it is given.

    `passed` are variables of the user's environment it gets besides, by name and value; `reach` are the
    services it may talk to (None: any).
    """

    needs_workspace = True

    def __init__(
        self,
        program: Program,
        sandbox: Sandbox,
        *,
        model: str | None = None,
        passed: Mapping[str, str] | None = None,
        reach: Sequence[Endpoint] | None = None,
        toolchains: Toolchains = Toolchains(),  # noqa: B008 - frozen
        estimate: Usage = TYPICAL,
    ) -> None:
        self._program = program
        self._staying = Staying(program.files)
        self._sandbox = sandbox
        self._model = model
        self._passed = dict(passed or {})
        self._reach = None if reach is None else tuple(reach)
        self._toolchains = toolchains
        self._estimate = estimate

    @property
    def identity(self) -> str:
        reach = say_address(*map(str, self._reach or ()))
        return f"command {self._program.name} {self._program.digest} {self._model or 'default'}{reach}"

    @property
    def estimate(self) -> Usage:
        """What a run may use: in dollars all it is allowed, once one has told any; see `run`."""
        return self._estimate

    @property
    def secrets(self) -> tuple[str, ...]:
        return keep_long((*find_all(self._passed), *find_in_arguments(self._program.argv[1:])))

    async def run(self, task: Task, skill: Skill | None, workspace: Path, limits: Limits) -> Rollout:
        """Let the program work on the task in `workspace`; see Agent.run."""
        run = Run(
            program=self._program.name,
            agent=self.identity,
            model=self._model or "",
            task=task,
            skill=skill,
            workspace=workspace,
            limits=limits,
            sandbox=self._sandbox,
            staying=self._staying,
        )

        def furnish(private: Path) -> Launch:
            shown = [
                show_program(self._program.files[0]),
                *self._program.files[1:],
                *self._toolchains.folders,
            ]
            env = self._environment(private, task)
            if skill is not None:
                folder = private / "skill" / skill.name
                write_skill(skill, folder)
                env["SKILLOPT_SKILL_DIR"] = str(folder)
                shown.append(private / "skill")
            return Launch(
                argv=self._program.argv,
                env=env,
                readable=tuple(shown),
                stdin=task.prompt.encode("utf-8", "replace"),
                reach=self._reach,
                may_do_without=True,
            )

        reader = CommandReader(max_bytes=limits.output_bytes)
        try:
            rollout = await run_client(run, furnish, reader, judge=judge)
        except asyncio.CancelledError:
            told = reader.tally().usage
            if self._estimate.cost_usd is None and told.cost_usd and limits.usd is not None:
                # No dollars were reserved that could count, and what was under way is not known.
                tokens = max(limits.tokens or self._estimate.tokens, told.tokens)
                note_spent(Usage(input_tokens=tokens, cost_usd=max(limits.usd, told.cost_usd)))
            raise
        if rollout.usage.cost_usd and limits.usd is not None:
            # What one cost says little of the next. Of an agent that never tells, nothing is reserved.
            self._estimate = msgspec.structs.replace(self._estimate, cost_usd=limits.usd)
        return rollout

    def _environment(self, private: Path, task: Task) -> dict[str, str]:
        return {
            **self._passed,
            "PATH": self._toolchains.path,
            "HOME": str(private / "home"),
            "TMPDIR": str(private / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "SKILLOPT_TASK_ID": task.id,
            **({"SKILLOPT_MODEL": self._model} if self._model else {}),
        }


def judge(
    program: str, finished: Finished, reading: Reading, limits: Limits
) -> tuple[Outcome, str | None, Fault | None]:
    """Tell by its exit status what became of a program that ended by itself.

    0 is finished, 75 missing data, other statuses a failed run. A program that was killed, or could not be
    run, is missing data as well.
    """
    if reading.outcome is not None:
        return reading.outcome, reading.error, reading.fault
    status = finished.returncode
    ended = not (finished.timed_out or finished.flooded or finished.stopped or finished.excess)
    broken = status != 0 and find_failure(finished.stderr) is not None
    if not ended or status < 0 or status > _SIGNALLED or status in _CANNOT_RUN or broken:
        return conclude(program, finished, reading, limits)
    if status == 0:
        return Outcome.FINISHED, None, None
    said = finished.stderr.strip()[-500:]
    if status == TRY_LATER:
        error = f"{program} asked to be tried later: {said or 'it gave no reason'}"
        return Outcome.INFRASTRUCTURE, error, guess_fault(None, said)
    error = f"{program} ended with {status}: {said or 'it wrote nothing on the error channel'}"
    return Outcome.LIMIT, error, None
