"""`doctor`: what is found, what is missing, what to do."""

from __future__ import annotations

import os

import typer

from skillopt_sleep.cli.frame import Json, explain, show
from skillopt_sleep.invocation import split_commands
from skillopt_sleep.paths import locate


@explain
def doctor(as_json: Json = False) -> None:
    """Say what is found, what is missing, and what to do. Exit code 1: no night can run."""
    from skillopt_sleep.checkup import examine
    from skillopt_sleep.findings import Finding

    findings = examine(locate(), os.environ)

    def line(finding: Finding) -> str:
        mark = "ok" if finding.ok else ("MISSING" if finding.needed else "-")
        said, commands = split_commands(finding.hint)
        hint = "".join(f"\n{'':24}{told}" for told in (said, *commands) if told)
        return f"{mark:8} {finding.name:15}{finding.detail}{hint}"

    show(findings, as_json=as_json, render=lambda: "\n".join(line(f) for f in findings))
    if any(f.needed and not f.ok for f in findings):
        raise typer.Exit(1)
