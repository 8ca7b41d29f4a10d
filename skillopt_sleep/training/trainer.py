"""Train a skill: epochs of steps, each written down before the next begins, so that a kill costs no step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from skillopt_replay.protocols import ChatModel, Ledger
from skillopt_replay.skills import Skill
from skillopt_replay.tasks import Task
from skillopt_sleep.errors import Busy
from skillopt_sleep.training.checking import check
from skillopt_sleep.training.config import Config
from skillopt_sleep.training.contract import Environment
from skillopt_sleep.training.memory import Memory
from skillopt_sleep.training.preparing import check_priced, list_shared, load_splits, make_initial
from skillopt_sleep.training.racing import Admit
from skillopt_sleep.training.rounds import Report
from skillopt_sleep.training.run import Run
from skillopt_sleep.training.run_folder import RunFolder
from skillopt_sleep.training.run_ledger import RunLedger
from skillopt_sleep.training.step_files import Say
from skillopt_sleep.training.summary import Summary

_NO_MEMORY = Memory()


class Trainer:
    """Trains skills in an environment, each run in a folder of its own.

    `environment` runs the tasks, `optimizer` is the model that writes the edits. A run that was killed or
    stopped goes on when it is started again with the same folder, and pays for nothing twice. `ledger`
    replaces the run's own `calls.db`, and with it the ceilings of `config.model`. `rewriter` is asked for
    whole documents (None: the optimizer). `admit` says why a candidate may not be tried ("" when it may).
    `report` is called with (stage, done, total), `say` with one line for each stage that ended.
    """

    def __init__(
        self,
        environment: Environment,
        optimizer: ChatModel,
        config: Config | None = None,
        *,
        out: Path | str,
        ledger: Ledger | None = None,
        rewriter: ChatModel | None = None,
        admit: Admit = lambda _skill: "",
        report: Report | None = None,
        say: Say | None = None,
    ) -> None:
        self._environment = environment
        self._optimizer = optimizer
        self._config = check(config or Config())
        self._folder = RunFolder(Path(out))
        self._ledger = ledger
        self._rewriter = rewriter
        self._admit = admit
        self._report = report
        self._say: Say = say or (lambda _line: None)

    async def train(self, skill: Skill | Path | str | None = None, memory: Memory = _NO_MEMORY) -> Summary:
        """Train the skill (None: an empty one) and return what came of it; `best` is the skill to use.

        `memory` is what an earlier run left; a run that goes on has its own.
        A path is that of a SKILL.md, or of a folder that is trained whole. Text without front matter becomes
        the body of a skill named after the environment. Raises
        TrainingError, UsageError, CeilingReached, ServiceRefused, Busy when another process works on the
        same folder; started again, the run goes on. What is wrong to begin with is told before anything is
        written.
        """
        if self._ledger is None:
            check_priced(self._config, self._environment, self._optimizer, self._rewriter)
        splits = load_splits(self._environment, self._config)
        initial = make_initial(skill, self._environment.name, self._config)
        for line in list_shared(splits):
            self._say(line)
        self._folder.root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._folder.lock)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise Busy(f"another process trains in {self._folder.root}") from None
        try:
            if self._ledger is not None:
                return await self._train(splits, initial, memory, self._ledger)
            own = self._open_ledger()
            try:
                return await self._train(splits, initial, memory, own)
            finally:
                own.close()
        finally:
            lock.release()

    def _open_ledger(self) -> RunLedger:
        model = self._config.model
        return RunLedger(
            self._folder.ledger,
            max_usd=model.max_usd,
            max_tokens=model.max_tokens,
            max_calls=model.max_calls,
        )

    async def _train(
        self, splits: Mapping[str, Sequence[Task]], initial: Skill, memory: Memory, ledger: Ledger
    ) -> Summary:
        run = Run(
            self._environment,
            self._optimizer,
            self._config,
            self._folder,
            ledger,
            rewriter=self._rewriter,
            splits=splits,
            initial=initial,
            memory=memory,
            admit=self._admit,
            report=self._report,
            say=self._say,
        )
        return await run.run()
