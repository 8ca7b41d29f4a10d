"""`daemon`: what the service runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from skillopt_sleep.cli.frame import database, explain
from skillopt_sleep.errors import UsageError


@explain
def daemon(
    once: Annotated[
        bool,
        typer.Option("--once", help="Work a night if one is due and nothing is in its way, and end."),
    ] = False,
    console: Annotated[
        bool, typer.Option("--console", help="Log to standard error instead of a file.")
    ] = False,
    environment: Annotated[Path | None, typer.Option("--environment", hidden=True)] = None,
) -> None:
    """Keep the index fresh and work nights: what the service runs."""
    if environment is not None:
        _take_over(environment)

    from skillopt_sleep.daemon.instance import hold_daemon
    from skillopt_sleep.daemon.logbook import Logbook
    from skillopt_sleep.daemon.loop import Daemon
    from skillopt_sleep.daemon.messages import Reload, Stop
    from skillopt_sleep.daemon.notifying import Notifier

    env = dict(os.environ)
    notifier = Notifier(env)
    # What we start is not to speak in our name.
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"):
        env.pop(name, None)
        os.environ.pop(name, None)
    os.umask(0o077)
    with database() as (paths, connection), hold_daemon(paths, "daemon"):
        log = Logbook(paths, env, console=console)
        try:
            work = Daemon(paths, env, connection, log, notifier, once=once)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda got, _: work.post(Stop(signal.Signals(got).name)))
            if hasattr(signal, "SIGHUP"):
                signal.signal(signal.SIGHUP, lambda *_: work.post(Reload()))
            code = work.run()
        finally:
            log.close()
    if code:
        if once:
            typer.echo(work.outcome, err=True)
        raise typer.Exit(code)


def _take_over(file: Path) -> None:
    """Take the environment that the installation noted, as the system hands over none."""
    import msgspec

    try:
        os.environ.update(msgspec.json.decode(file.read_bytes(), type=dict[str, str]))
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(
            f"cannot read {file}: {error}", hint="skillopt-sleep install writes it anew"
        ) from error
