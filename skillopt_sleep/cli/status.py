"""`status`: last night, the next one, nights missed and why, spend, what waits for review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from skillopt_sleep.cli.frame import NEEDS_DECISION, Json, database, explain, show
from skillopt_sleep.config import load
from skillopt_sleep.invocation import call
from skillopt_sleep.period import as_local
from skillopt_sleep.review.wording import WAITING, count, say_reserved, say_state
from skillopt_staging.proposals import State

if TYPE_CHECKING:
    from skillopt_sleep.daemon.standing import Standing

# As much of anything as leaves room for the rest on one screen.
_MOST = 4
_CUT_OFF = "interrupted: the next run goes on with it"


@explain
def status(
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit with 1 when no service would begin a night or the last one failed, with 4 when"
            " proposals wait for you, else with 0.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell how the last night went, when the next comes, what waits."""
    from skillopt_sleep.daemon.standing import find_standing
    from skillopt_sleep.holder import find_at_work
    from skillopt_sleep.store.counts import count_sessions
    from skillopt_sleep.store.nights import last_night
    from skillopt_sleep.store.proposals import read_proposals
    from skillopt_sleep.store.spending import read_month, read_spend

    with database() as (paths, connection):
        night = last_night(connection)
        at_work = find_at_work(paths, "run")
        settings = load(paths.config)
        standing = find_standing(connection, paths, settings.service)
        value: dict[str, Any] = {
            "gate_mode": settings.gate.mode,
            "sessions": count_sessions(connection),
            "last_night": None,
            "month": {"usd": read_month(connection), "ceiling_usd": settings.ceilings.usd_month},
            "pending": [p.id for p in read_proposals(connection, State.PENDING)],
            "service": standing,
            "missed": standing.missed,
            "snoozed": [p.id for p in read_proposals(connection, State.SNOOZED)],
            "watched": [
                {"id": p.id, "skill": p.skill, "said": p.watch}
                for p in read_proposals(connection, State.APPLIED)
                if p.watch
            ],
        }
        if night:
            report = msgspec.json.decode(night.report) if night.report else {}
            value["last_night"] = {
                "id": night.id,
                "state": night.state,
                "started": night.started,
                "ended": night.ended,
                "spend": read_spend(connection, night.id),
                "gate_mode": report.get("mode"),
                "verdicts": report.get("verdicts", []),
                "proposals": report.get("proposals", []),
                "decided": [
                    {"id": p.id, "said": say_state(p)}
                    for p in read_proposals(connection)
                    if p.id in report.get("proposals", []) and p.state not in WAITING
                ],
            }
    show(value, as_json=as_json, render=lambda: _render(value, at_work, is_demo=paths.is_demo))
    if check:
        _judge(standing, value)


def _judge(standing: Standing, value: dict[str, Any]) -> None:
    failed = bool(standing.windows) and standing.windows[0].state == "failed"
    if standing.next is None or failed:
        raise typer.Exit(1)
    if value["pending"]:
        raise typer.Exit(NEEDS_DECISION)


def _render(value: dict[str, Any], at_work: str, *, is_demo: bool) -> str:
    known = ", ".join(f"{n} {kind}" for kind, n in value["sessions"].items()) or "none yet"
    lines = [
        f"gate mode: {value['gate_mode']}",
        f"sessions   {known}",
        *_describe(value["service"], at_work, is_demo=is_demo),
    ]
    night = value["last_night"]
    if night:
        spend = night["spend"]
        state = night["state"]
        if state == "running":
            state = f"running (at work: {at_work})" if at_work else _CUT_OFF
        started = as_local(night["started"])
        lines.append(f"last night {night['id']}: {state}, started {started}")
        if night["gate_mode"] not in {None, value["gate_mode"]}:
            lines.append(f"           its gate mode was {night['gate_mode']}")
        reserved = say_reserved(spend.reserved_usd, under_way=bool(at_work))
        calls = count(spend.calls, "call")
        lines.append(f"spend      {calls}, {spend.tokens} tokens, ${spend.usd:.2f}{reserved}")
        verdicts = night["verdicts"]
        lines += [f"verdict    {v['skill']}: {v['reason']}" for v in verdicts[:_MOST]]
        lines += [f"decided    {one['id']}: {one['said']}" for one in night["decided"][:_MOST]]
        if len(verdicts) > _MOST:
            lines.append(f"           and {len(verdicts) - _MOST} more in its report")
    elif is_demo:
        lines.append("last night none")
    else:
        lines += ["last night none yet; to start one:", f"           {call('run')}"]
    month = value["month"]
    of = f" of ${month['ceiling_usd']:.2f}" if month["ceiling_usd"] else ""
    lines.append(f"this month ${month['usd']:.2f}{of}")
    pending = value["pending"]
    lines.append(f"pending    {_shorten(pending) if pending else 'nothing to review'}")
    if value["snoozed"]:
        lines.append(f"snoozed    {_shorten(value['snoozed'])}")
    for one in value["watched"][:_MOST]:
        lines.append(f"watched    {one['skill']}: {one['said']}")
        lines += ["           to take it back:", f"           {call('revert ' + one['id'])}"]
    return "\n".join(lines)


def _describe(service: Standing, at_work: str, *, is_demo: bool) -> list[str]:
    """Return the lines about the service, the next night, and those that were missed."""
    what = f"{service.manager}, mode {service.mode}" if service.installed else "not installed"
    if service.running:
        what += f", running since {as_local(service.since)} (pid {service.pid})"
    elif service.mode == "timer":
        what += ", started now and then"
    else:
        what += ", nothing runs" if service.installed else ""
    lines = [f"service    {what}"]
    if is_demo and not service.installed:
        return ["next night none: this is the demo's home; for one of your own leave SKILLOPT_SLEEP_HOME out"]
    if not service.running and service.mode != "timer":
        do = "start" if service.installed else "install"
        lines += [f"           to {do} it:", f"           {call(do)}"]
    if service.paused:
        until = f"until {as_local(service.paused_until)}" if service.paused_until else ""
        lines.append(f"paused     {until or 'until you resume it:'}")
        lines += [] if until else [f"           {call('night resume')}"]
    elif service.doing == "working a night":
        lines.append("next night works now")
    elif service.waiting:
        lines.append(f"next night due now, and waits: {service.waiting}")
    elif service.next:
        lines.append(f"next night {as_local(service.next)}")
    elif at_work:
        lines.append("next night none by itself")
    else:
        lines += ["next night none by itself; to work one now:", f"           {call('run')}"]
    if service.missed:
        lines.append(f"missed     {len(service.missed)} of the last {count(len(service.windows), 'night')}")
        lines += [f"           {row.window} {row.state}: {row.reason}" for row in service.missed[:_MOST]]
    return lines


def _shorten(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
