"""Telling what a night brought: figures only, never words of a transcript, and never in a night's way."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from skillopt_sleep.review.wording import count
from skillopt_sleep.store.nights import last_night
from skillopt_sleep.store.spending import read_spend

_TIMEOUT_S = 10.0
# What a title or a text is given as, so that nothing in it is read as a program.
_APPLESCRIPT = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """A night in figures. Names of skills and proposals are left out: they are made of the user's words."""

    night: str
    state: str
    started: str
    ended: str | None
    accepted: int
    rejected: int
    undecided: int
    proposals: int
    tokens: int
    cost_usd: float


def make_brief(connection: sqlite3.Connection) -> Brief | None:
    """Return the last night in figures, None when there was none."""
    night = last_night(connection)
    if night is None:
        return None
    report: Mapping[str, Any] = msgspec.json.decode(night.report) if night.report else {}
    decisions = [str(verdict.get("decision")) for verdict in report.get("verdicts", [])]
    accepted, rejected = decisions.count("accept"), decisions.count("reject")
    spend = read_spend(connection, night.id)
    return Brief(
        night=night.id,
        state=night.state,
        started=night.started,
        ended=night.ended,
        accepted=accepted,
        rejected=rejected,
        undecided=len(decisions) - accepted - rejected,
        proposals=len(report.get("proposals", [])),
        tokens=spend.tokens,
        cost_usd=round(spend.usd, 4),
    )


def say(brief: Brief) -> str:
    """Return the night in a sentence."""
    if brief.proposals:
        return f"{count(brief.proposals, 'proposal')} to review: skillopt-sleep review"
    return f"Nothing to review; {count(brief.undecided, 'candidate')} still gathering evidence"


def post_webhook(url: str, brief: Brief, failed: Callable[[str], None]) -> threading.Thread:
    """Send the figures as JSON, in a thread; `failed` is told when that cannot be done."""
    body = json.dumps({"event": "night", **msgspec.to_builtins(brief)}).encode()

    def send() -> None:
        import http.client
        import urllib.request

        try:
            request = urllib.request.Request(  # noqa: S310 - the settings take http and https only
                url, data=body, headers={"content-type": "application/json", "user-agent": "skillopt-sleep"}
            )
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
                answer.read(1024)
        except (OSError, ValueError, http.client.HTTPException) as error:
            failed(_explain(error))

    thread = threading.Thread(target=send, name="webhook", daemon=True)
    thread.start()
    return thread


def _explain(error: Exception) -> str:
    """Return what went wrong without the words of others, which may hold the address and the key in it."""
    code = getattr(error, "code", None)
    if code is not None:
        return f"HTTP {code}"
    if isinstance(error, OSError):
        return f"{type(error).__name__}: {error}"
    return f"{type(error).__name__}: the address cannot be used, or what answers there is no HTTP"


def notify_desktop(text: str, *, platform: str = sys.platform) -> str:
    """Show a notification; return why it cannot be shown, "" when it is."""
    command = ["notify-send", "--app-name=SkillOpt-Sleep", "SkillOpt-Sleep", text]
    if platform == "darwin":
        command = ["osascript", "-e", _APPLESCRIPT, "SkillOpt-Sleep", text]
    if shutil.which(command[0]) is None:
        return f"there is no {command[0]} here"
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return " ".join(done.stderr.split()) if done.returncode else ""
