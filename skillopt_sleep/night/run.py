"""Working through a night's plan, and reporting."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from skillopt_replay.errors import CeilingReached, ServiceRefused
from skillopt_replay.judging.judge import Judge
from skillopt_replay.rollouts import Fault
from skillopt_replay.tasks import needs_judge
from skillopt_sleep.errors import Busy, Explained
from skillopt_sleep.events import Event, Listener, ignore
from skillopt_sleep.files import write_atomically
from skillopt_sleep.night.backends import Backends
from skillopt_sleep.night.bench import Bench
from skillopt_sleep.night.judging import admit, collect_samples
from skillopt_sleep.night.morning import list_next_steps
from skillopt_sleep.night.page import to_html
from skillopt_sleep.night.planned import Plan
from skillopt_sleep.night.report import NightReport, SkillReport, to_json, to_markdown
from skillopt_sleep.night.roller import make_roller
from skillopt_sleep.night.skill import work_on
from skillopt_sleep.night.titling import Titles, find_titles
from skillopt_sleep.paths import Paths
from skillopt_sleep.settings import Settings
from skillopt_sleep.store.ledger import SqliteLedger
from skillopt_sleep.store.nights import close_night
from skillopt_sleep.store.titles import read_titles, save_titles


async def run_night(
    connection: sqlite3.Connection,
    paths: Paths,
    settings: Settings,
    backends: Backends,
    night: str,
    plan: Plan,
    *,
    listen: Listener = ignore,
) -> NightReport:
    """Work on every skill of the plan, write the report and close the night.

    A ceiling ends the night with state "stopped"; what was measured until then is kept as evidence. A skill
    that cannot be worked on (its project is gone, git refuses) is reported and costs the others nothing; when
    there is no other, or not one run came to an end, the state is "failed". Anything that may be better later
    (somebody holds a lock, the disk is full) leaves the night open, so that the next run goes on with it. So
    does a service that refuses the sign-in, the model or the account: the first such call ends the work and
    raises ServiceRefused.
    """
    ledger = SqliteLedger(connection, night, settings.ceilings)
    try:
        judge, unfit = await _admit_judge(connection, backends, ledger, plan, listen)
    except ServiceRefused as error:
        raise _resumable(error, backends) from error
    bench = Bench(
        connection=connection,
        night=night,
        paths=paths,
        settings=settings,
        backends=backends,
        ledger=ledger,
        roll=make_roller(backends, ledger, settings, judge=judge),
        listen=listen,
    )
    reports: list[SkillReport] = []
    stopped = ""
    failed: list[str] = []
    for number, skill in enumerate(plan.skills):
        listen(Event(stage="skills", done=number, total=len(plan.skills), detail=skill.skill))
        ledger.begin_share(skill.skill)
        try:
            report, stopped = await work_on(skill, bench)
        except CeilingReached as error:
            stopped = error.message
            report = SkillReport(skill=skill.skill, title=skill.title, note=f"stopped: {stopped}")
        except ServiceRefused as error:
            raise _resumable(error, backends) from error
        except Exception as error:
            if not isinstance(error, Explained) or error.exit_code == Busy.exit_code:
                raise
            said = " ".join(f"{error.message}{f' ({error.hint})' if error.hint else ''}".split())
            failed.append(f"{skill.skill} failed: {said}")
            report = SkillReport(skill=skill.skill, title=skill.title, note=f"failed: {said}")
        reports.append(report)
        if stopped:
            break
    listen(Event(stage="skills", done=len(reports), total=len(plan.skills)))
    # Last, so that titles never take from what the night is for.
    better = await _better_titles(connection, bench, plan)
    reports = [msgspec.structs.replace(one, title=better.found.get(one.title, one.title)) for one in reports]
    # Runs that nobody could judge did come to an end.
    ran = bool(unfit) or ledger.count("rollout") > 0
    state = "done" if ran and len(failed) < len(plan.skills) else "failed"
    report_ = make_report(
        settings,
        night,
        "stopped" if stopped else state,
        plan,
        backends,
        reports,
        ledger,
        judge=judge.identity if judge else "",
        notes=(
            *backends.notes,
            *better.notes,
            *unfit,
            *failed,
            *([f"stopped by a ceiling: {stopped}"] if stopped else []),
        ),
        seconds=ledger.note_work(),
    )
    report_ = msgspec.structs.replace(report_, next_steps=list_next_steps(connection))
    write_report(paths, report_)
    close_night(connection, night, report_.state, to_json(report_))
    return report_


def _resumable(error: ServiceRefused, backends: Backends) -> ServiceRefused:
    remedy = backends.remedies.get(error.kind, "") if error.fault is Fault.SIGN_IN else ""
    hint = f"{remedy or error.hint}; then `skillopt-sleep run` goes on with this night and pays nothing twice"
    if error.fault is Fault.REPLACED:
        # Its runs are asked for anew, as evidence holds for one version.
        hint = "`skillopt-sleep run` goes on with this night and the program that is there now; Dask workers"
        hint += " have to be started again as well"
    return ServiceRefused(error.message, kind=error.kind, fault=error.fault, hint=hint)


async def _admit_judge(
    connection: sqlite3.Connection, backends: Backends, ledger: SqliteLedger, plan: Plan, listen: Listener
) -> tuple[Judge | None, tuple[str, ...]]:
    """Return the judge when the plan needs one and it may count, else why it may not."""
    tasks = [
        task for skill in plan.skills for task in (*skill.train, *skill.gate, *skill.renewed, *skill.val)
    ]
    if backends.judge is None or not needs_judge(tasks):
        return None, ()
    judge = Judge(backends.judge, ledger)
    try:
        unfit = await admit(connection, judge, collect_samples(connection, tasks), listen)
    except CeilingReached as error:
        unfit = f"the judge was not tried: {error.message}"
    return (None, (unfit,)) if unfit else (judge, ())


async def _better_titles(connection: sqlite3.Connection, bench: Bench, plan: Plan) -> Titles:
    if bench.settings.mine.titles != "model":
        return Titles({})
    known = read_titles(connection)
    better = await find_titles(bench.backends.optimizer, bench.ledger, plan.skills, tuple(known))
    save_titles(connection, better.found)
    return Titles({**known, **better.found}, better.notes)


def make_report(
    settings: Settings,
    night: str,
    state: str,
    plan: Plan,
    backends: Backends,
    skills: Sequence[SkillReport],
    ledger: SqliteLedger,
    *,
    judge: str = "",
    notes: tuple[str, ...],
    seconds: float,
) -> NightReport:
    spent = ledger.spend()
    return NightReport(
        night=night,
        state=state,
        target=backends.agent.identity,
        optimizer=backends.optimizer.identity,
        sandbox=backends.sandbox.name,
        tasks=sum(len(s.train) + len(s.gate) for s in plan.skills),
        skills=tuple(skills),
        skipped=plan.skipped,
        notes=notes,
        rollouts=ledger.count("rollout"),
        tokens=spent.tokens,
        cost_usd=spent.usd,
        reserved_usd=spent.reserved_usd,
        seconds=seconds,
        mode=settings.gate.mode,
        control=settings.gate.control,
        judge=judge,
        forecast=plan.forecast,
    )


def write_report(paths: Paths, report: NightReport) -> None:
    """Write report.md, report.html and report.json into the night's folder."""
    folder = paths.nights / report.night
    write_atomically(folder / "report.html", to_html(report))
    write_atomically(folder / "report.md", to_markdown(report))
    write_atomically(folder / "report.json", msgspec.json.encode(to_json(report)).decode())
