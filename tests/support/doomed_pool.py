"""A pool of runs of a real client, with a judge and an optimizer, that whoever started it may kill.

python -m tests.support.doomed_pool PLAN.json, where PLAN is a `Plan`. What is done it reads back from the
ledger, so a second start goes on with the rest. It ends with 5 when a ceiling stopped it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from skillopt_replay.agents.claude_cli import find_claude
from skillopt_replay.agents.claude_code import ClaudeCode
from skillopt_replay.agents.codex import Codex
from skillopt_replay.agents.codex_cli import find_codex
from skillopt_replay.agents.copilot import Copilot
from skillopt_replay.agents.copilot_cli import find_copilot
from skillopt_replay.errors import CeilingReached
from skillopt_replay.executors.contract import Workbench
from skillopt_replay.executors.local import LocalExecutor
from skillopt_replay.judging.judge import Judge
from skillopt_replay.models.claude import ClaudeModel
from skillopt_replay.models.codex import CodexModel
from skillopt_replay.models.openai_compatible import OpenAICompatible
from skillopt_replay.models.prices import Price, find_price
from skillopt_replay.models.retries import Patience
from skillopt_replay.protocols import Completion, Message
from skillopt_replay.rollouts import Rollout, Usage
from skillopt_replay.sandbox import bubblewrap
from skillopt_replay.tasks import Contains, Rubric, Task
from skillopt_sleep.night.backends import Backends
from skillopt_sleep.night.roller import make_roller
from skillopt_sleep.settings import Ceilings, Replay, Settings
from skillopt_sleep.store.database import connect
from skillopt_sleep.store.ledger import SqliteLedger

PRICE = Price(10.0, 10.0, 10.0)  # dollars per million tokens of any kind
CODEX_CONFIG = """\
model = "gpt-5.5"
model_provider = "mock"
[model_providers.mock]
name = "mock"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 1
stream_max_retries = 1
"""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`prompt` is a run's, with its number in it; `usd` bounds a run, `ceiling` and `month` the pool."""

    client: str
    program: str
    url: str
    folder: str
    night: str
    prompt: str = "TASK-{} create hello"
    tasks: int = 6
    judged: bool = True
    optimized: int = 3
    together: int = 3
    usd: float = 1.0
    ceiling: float = 1000.0
    month: float = 0.0
    seconds: float = 120.0


def open_agent(plan: Plan, sandbox):
    """Return the agent, and the client's program where it can be a model too."""
    home, program = Path(plan.folder, "home"), Path(plan.program)
    home.mkdir(exist_ok=True)
    bound = Usage(200_000, cost_usd=plan.usd)

    def price(_model: str, usage: Usage) -> float:
        return PRICE.cost(usage)

    def list_price(model: str, usage: Usage) -> float | None:
        price = find_price(model, "anthropic")
        return price.cost(usage) if price else None

    if plan.client == "claude":
        cli = find_claude({"ANTHROPIC_API_KEY": "sk-fake", "ANTHROPIC_BASE_URL": plan.url}, program)
        return ClaudeCode(cli, sandbox, estimate=bound, price=list_price), cli
    if plan.client == "codex":
        (home / "config.toml").write_text(CODEX_CONFIG.format(url=plan.url))
        cli = find_codex({"CODEX_HOME": str(home), "MOCK_KEY": "sk-fake"}, program)
        return Codex(cli, sandbox, estimate=bound, price=price), cli
    env = {
        "COPILOT_PROVIDER_BASE_URL": f"{plan.url}/v1",
        "COPILOT_PROVIDER_API_KEY": "sk-fake",
        "COPILOT_MODEL": "scripted",
    }
    cache = Path(os.environ["DOOMED_CACHE"])
    cli = find_copilot(env, program, cache=cache)
    return Copilot(cli, sandbox, cache=cache, estimate=bound, price=price), cli


def open_optimizer(plan: Plan, cli, chat):
    work = Path(plan.folder, "runs")
    if plan.client == "claude":
        return ClaudeModel(cli, work=work, usd=plan.usd, estimate=Usage(20_000, 4_000, cost_usd=plan.usd))
    return CodexModel(cli, work=work, price=PRICE) if plan.client == "codex" else chat


def make_task(plan: Plan, number: int) -> Task:
    checks = [Contains(text="Created."), *([Rubric(criterion="It is done.")] if plan.judged else [])]
    return Task(
        id=f"task-{number:02}",
        family="f",
        title="t",
        prompt=plan.prompt.format(f"{number:02}"),
        sessions=("s",),
        occurrences=2,
        client=plan.client,
        skill="greet",
        group="g",
        checks=tuple(checks),
    )


async def work(plan: Plan) -> int:
    folder = Path(plan.folder)
    (folder / "runs").mkdir(exist_ok=True)
    sandbox = next(one for one in bubblewrap.find() if one.probe().works)
    agent, cli = open_agent(plan, sandbox)
    ceilings = Ceilings(usd=plan.ceiling, usd_month=plan.month, tokens=1 << 40)
    ledger = SqliteLedger(connect(folder / "state.db"), plan.night, ceilings)
    replay = Replay(usd=plan.usd, concurrency=plan.together, attempts=2, seconds=plan.seconds, turns=500)
    patience = Patience(first_wait_s=0.05)
    executor = LocalExecutor(
        Workbench(agent=agent, sandbox=sandbox, root=folder / "runs"), slots=plan.together
    )
    async with OpenAICompatible(plan.url, "judge", price=PRICE, patience=patience) as chat:
        optimizer = open_optimizer(plan, cli, chat)
        backends = Backends(
            agent=agent,
            optimizer=optimizer,
            sandbox=sandbox,
            notes=(),
            remedies={},
            executor=executor,
            judge=chat,
        )
        settings = Settings(replay=replay, ceilings=ceilings)
        roll = make_roller(backends, ledger, settings, judge=Judge(chat, ledger) if plan.judged else None)

        async def optimize(number: int) -> Completion:
            async def ask() -> Completion:
                return await optimizer.complete([Message("user", f"EDIT-{number:02} propose an edit")])

            return await ledger.once("optimizer", f"edit-{number:02}", optimizer.estimate, ask, Completion)

        rolls = [roll(make_task(plan, number), None, 0) for number in range(plan.tasks)]
        ended = await asyncio.gather(
            *rolls, *(optimize(n) for n in range(plan.optimized)), return_exceptions=True
        )
    await executor.close()
    for one in ended:
        if isinstance(one, BaseException) and not isinstance(one, CeilingReached):
            raise one
        if isinstance(one, Rollout) and one.error:
            sys.stderr.write(f"{one.task}: {one.outcome.value}: {one.error}\n")
    return 5 if any(isinstance(one, CeilingReached) for one in ended) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(work(msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Plan))))
