"""The background service in the hands of the system's own manager: systemd, launchd or Task Scheduler."""
