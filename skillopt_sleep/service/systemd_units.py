"""Units of systemd as text."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt_sleep.errors import AppError
from skillopt_sleep.service.definition import DAEMON, DESCRIPTION, EVERY_MINUTES, MARK, NAME, Service

SERVICE_UNIT = f"{NAME}.service"
TIMER_UNIT = f"{NAME}.timer"
# Since this version a service is restarted less and less often.
_STEPS_SINCE = 254
_UNSAFE = frozenset("\"'\\")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write_units(service: Service, *, version: int) -> dict[str, str]:
    """Return the units by their file names. Raises AppError for what no unit can hold."""
    if service.mode == DAEMON:
        return {SERVICE_UNIT: _write_daemon(service, version)}
    return {SERVICE_UNIT: _write_oneshot(service), TIMER_UNIT: _write_timer()}


def quote(text: str) -> str:
    """Return a word for ExecStart= or Environment= that systemd reads as `text`."""
    if any((ord(c) < 32 and c not in _ESCAPES) or c == "\x7f" for c in text):
        raise AppError(f"{text!r} has control characters, which no unit of systemd can hold")
    return f'"{"".join(_ESCAPES.get(character, character) for character in text).replace("%", "%%")}"'


def _write_daemon(service: Service, version: int) -> str:
    steps = ("RestartSteps=6\nRestartMaxDelaySec=1800\n") if version >= _STEPS_SINCE else ""
    return f"""# {MARK}; `skillopt-sleep uninstall` removes it.
[Unit]
Description={DESCRIPTION}
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
{_write_what(service)}
WatchdogSec=300
Restart=on-failure
RestartSec=60
{steps}{_MANNERS}
[Install]
WantedBy=default.target
"""


def _write_oneshot(service: Service) -> str:
    return f"""# {MARK}; `skillopt-sleep uninstall` removes it.
[Unit]
Description={DESCRIPTION}

[Service]
Type=oneshot
{_write_what(service)}
# No night is due, nothing to do, a ceiling reached, or now is no good time.
SuccessExitStatus=3 5 75
{_MANNERS}"""


def _write_timer() -> str:
    return f"""# {MARK}; `skillopt-sleep uninstall` removes it.
[Unit]
Description={DESCRIPTION} (asks whether a night is due)

[Timer]
OnCalendar=*:0/{EVERY_MINUTES}
Persistent=true
RandomizedDelaySec=60
AccuracySec=60

[Install]
WantedBy=timers.target
"""


# No sandboxing options: they would nest with the sandbox that each replay gets, which then fails. No
# NoNewPrivileges either: where bubblewrap is setuid it needs them.
_MANNERS = """TimeoutStartSec=infinity
TimeoutStopSec=30
KillMode=mixed
OOMPolicy=continue
UMask=0077
Nice=10
IOSchedulingClass=idle
"""


def _write_what(service: Service) -> str:
    # With the colon systemd leaves dollars alone, which are no variables here.
    command = service.command
    if _UNSAFE & set(command[0]):
        # Of a program by such a name systemd will not hear; as an argument it may have any.
        command = ("/bin/sh", "-c", 'exec "$0" "$@"', *command)
    words = " ".join(map(quote, command))
    return f"ExecStart=:{words}\n{_write_environment(service.environment)}WorkingDirectory={_path(service)}"


def _write_environment(environment: Mapping[str, str]) -> str:
    return "".join(f"Environment={quote(f'{name}={value}')}\n" for name, value in environment.items())


def _path(service: Service) -> str:
    path = str(service.folder)
    # This one is read as it stands, with the blanks around it taken away.
    if path != path.strip() or path.endswith("\\") or any(ord(character) < 32 for character in path):
        raise AppError(
            f"no unit of systemd can name the folder {path!r}", hint="set SKILLOPT_SLEEP_HOME to another"
        )
    return path.replace("%", "%%")
