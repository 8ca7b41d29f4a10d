"""A task of the Windows Task Scheduler, as XML of its schema 1.2."""

from __future__ import annotations

import subprocess
import xml.etree.ElementTree as ET

from skillopt_sleep.errors import AppError
from skillopt_sleep.service.definition import DAEMON, DESCRIPTION, EVERY_MINUTES, MARK, Service

NAMESPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"


def write_task(service: Service, user: str) -> bytes:
    r"""Return the task of a user, DOMAIN\name, in UTF-16. Raises AppError for text that XML cannot hold."""
    # The order is the schema's.
    root = ET.Element("Task", {"version": "1.2", "xmlns": NAMESPACE})
    about = ET.SubElement(root, "RegistrationInfo")
    _add(about, Author=MARK, Description=DESCRIPTION)
    triggers = ET.SubElement(root, "Triggers")
    logon = ET.SubElement(triggers, "LogonTrigger")
    _add(logon, Enabled="true")
    if service.mode != DAEMON:
        repetition = ET.SubElement(logon, "Repetition")
        _add(repetition, Interval=f"PT{EVERY_MINUTES}M", StopAtDurationEnd="false")
    _add(logon, UserId=user)
    principal = ET.SubElement(ET.SubElement(root, "Principals"), "Principal", {"id": "Author"})
    _add(principal, UserId=user, LogonType="InteractiveToken", RunLevel="LeastPrivilege")
    settings = ET.SubElement(root, "Settings")
    _add(
        settings,
        MultipleInstancesPolicy="IgnoreNew",
        DisallowStartIfOnBatteries="false",
        StopIfGoingOnBatteries="false",
        AllowHardTerminate="true",
        StartWhenAvailable="true",
        AllowStartOnDemand="true",
        Enabled="true",
        Hidden="true",
        WakeToRun="false",
        ExecutionTimeLimit="PT0S",
        Priority="8",
    )
    if service.mode == DAEMON:
        _add(ET.SubElement(settings, "RestartOnFailure"), Interval="PT1M", Count="99")
    action = ET.SubElement(ET.SubElement(root, "Actions", {"Context": "Author"}), "Exec")
    program, *arguments = service.command
    _add(
        action,
        Command=program,
        Arguments=subprocess.list2cmdline(arguments),
        WorkingDirectory=str(service.folder),
    )
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    try:
        ET.fromstring(text)  # noqa: S314 - written a moment ago
    except ET.ParseError as error:
        raise AppError(f"a task cannot hold these paths: {error}") from error
    return f'<?xml version="1.0" encoding="UTF-16"?>\n{text}\n'.encode("utf-16")


def _add(parent: ET.Element, **values: str) -> None:
    for name, value in values.items():
        ET.SubElement(parent, name).text = value
