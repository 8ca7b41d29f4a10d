"""`status`: last night, spend, what waits for review."""

from __future__ import annotations

from typing import Any

import msgspec

from skillopt_sleep.cli.frame import Json, database, explain, show
from skillopt_sleep.config import load
from skillopt_sleep.period import as_local
from skillopt_sleep.review.wording import count
from skillopt_staging.proposals import State

# As much of anything as leaves room for the rest on one screen.
_MOST = 4


@explain
def status(as_json: Json = False) -> None:
    """Tell how the last night went, what was spent, what waits."""
    from skillopt_sleep.store.index import count_sessions
    from skillopt_sleep.store.nights import last_night
    from skillopt_sleep.store.proposals import read_proposals
    from skillopt_sleep.store.spending import read_month, read_spend

    with database() as (paths, connection):
        night = last_night(connection)
        settings = load(paths.config)
        value: dict[str, Any] = {
            "gate_mode": settings.gate.mode,
            "sessions": count_sessions(connection),
            "last_night": None,
            "month": {"usd": read_month(connection), "ceiling_usd": settings.ceilings.usd_month},
            "pending": [p.id for p in read_proposals(connection, State.PENDING)],
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
            }
    show(value, as_json=as_json, render=lambda: _render(value))


def _render(value: dict[str, Any]) -> str:
    known = ", ".join(f"{n} {kind}" for kind, n in value["sessions"].items()) or "none yet"
    lines = [f"gate mode: {value['gate_mode']}", f"sessions   {known}"]
    night = value["last_night"]
    if night:
        spend = night["spend"]
        unfinished = " (unfinished: the next run goes on with it)" if night["state"] == "running" else ""
        started = as_local(night["started"])
        lines.append(f"last night {night['id']}: {night['state']}{unfinished}, started {started}")
        if night["gate_mode"] not in {None, value["gate_mode"]}:
            lines.append(f"           its gate mode was {night['gate_mode']}")
        cut_off = spend.reserved_usd
        reserved = f" (${cut_off:.2f} of it may be too much: calls that were cut off)" if cut_off else ""
        calls = count(spend.calls, "call")
        lines.append(f"spend      {calls}, {spend.tokens} tokens, ${spend.usd:.2f}{reserved}")
        verdicts = night["verdicts"]
        lines += [f"verdict    {v['skill']}: {v['reason']}" for v in verdicts[:_MOST]]
        if len(verdicts) > _MOST:
            lines.append(f"           and {len(verdicts) - _MOST} more in its report")
    else:
        lines.append("last night none yet: skillopt-sleep run starts one")
    month = value["month"]
    of = f" of ${month['ceiling_usd']:.2f}" if month["ceiling_usd"] else ""
    lines.append(f"this month ${month['usd']:.2f}{of}")
    pending = value["pending"]
    lines.append(f"pending    {_shorten(pending) if pending else 'nothing to review'}")
    if value["snoozed"]:
        lines.append(f"snoozed    {_shorten(value['snoozed'])}")
    for one in value["watched"][:_MOST]:
        lines.append(f"watched    {one['skill']}: {one['said']}")
        lines.append(f"           skillopt-sleep revert {one['id']} takes it back")
    return "\n".join(lines)


def _shorten(names: list[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
