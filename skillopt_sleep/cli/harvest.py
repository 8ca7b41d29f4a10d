"""`harvest`: read what is new in the transcripts."""

from __future__ import annotations

import os

from skillopt_sleep.cli.frame import Json, database, explain, show


@explain
def harvest(as_json: Json = False) -> None:
    """Read what is new in your agents' transcripts into the index."""
    from skillopt_sleep.cli.progress import follow
    from skillopt_sleep.lock import hold
    from skillopt_sleep.night.harvesting import HarvestReport, update_index

    with database() as (paths, connection), hold(paths, "harvest"), follow() as listen:
        report = update_index(connection, os.environ, snapshots=paths.snapshots, listen=listen)

    def render(report: HarvestReport = report) -> str:
        lines = [
            f"{report.sessions} sessions with {report.turns} prompts in {report.files_read} new or changed"
            f" files ({report.files_seen} seen, {report.bytes_read / 1e6:.1f} MB, {report.seconds:.1f} s)"
        ]
        if report.skipped:
            lines.append(f"{report.skipped} records could not be read and were left out")
        return "\n".join(lines + [f"warning: {warning}" for warning in report.warnings])

    show(report, as_json=as_json, render=render)
