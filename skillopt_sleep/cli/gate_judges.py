"""`gate judges`: which model judges were tried, and how they did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.cli.frame import Json, database, explain, show
from skillopt_sleep.errors import NothingToDo

if TYPE_CHECKING:
    from skillopt_sleep.store.judges import Examined


@explain
def list_examined(as_json: Json = False) -> None:
    """Show how each judge did on work whose worth was known. One that failed decides nothing."""
    from skillopt_sleep.store.judges import list_judges

    with database() as (_, connection):
        judges = list_judges(connection)
    value = [{"judge": name, **msgspec.to_builtins(one)} for name, one in judges]
    show(value, as_json=as_json, render=lambda: "\n".join(line for one in judges for line in _render(*one)))
    if not judges:
        raise NothingToDo(
            "no judge was tried yet", hint="set judge.model: the next night that needs a judge tries it first"
        )


def _render(name: str, examined: Examined) -> Iterator[str]:
    report = examined.report
    yield f"{name}: {'may judge' if report.usable else 'may not judge'}"
    kind, worth = report.for_nothing
    yield f"  tried     {examined.at} on {examined.samples} recorded corrections"
    yield f"  good/bad  told apart in {report.right}, mixed up in {report.wrong}, even in {report.ties}"
    yield f"  by chance a coin does as well with a chance of {report.p_value:.2g}"
    yield f"  order     the choice follows it in {report.flips:.0%} of pairs"
    yield f"  nothing   the best worthless answers ({kind}) got {worth:.2f} of 1"
    for reason in report.reasons:
        yield f"  why not   {reason}"
