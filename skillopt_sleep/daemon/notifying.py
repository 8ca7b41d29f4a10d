"""Telling systemd how the daemon is: its notification protocol, which is a datagram to a socket."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping


class Notifier:
    """Sends to the manager's socket; does nothing where there is none."""

    def __init__(self, env: Mapping[str, str]) -> None:
        address = env.get("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        wanted = int(env["WATCHDOG_USEC"]) if env.get("WATCHDOG_USEC", "").isdigit() else 0
        is_ours = env.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        # Twice in the time, as its manual says.
        self.every_s = wanted / 2e6 if wanted and is_ours else 0.0
        self._told = ""

    def ready(self) -> None:
        self._send("READY=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def reloading(self) -> None:
        """Say that the settings were read anew; READY goes with it, as nothing stops meanwhile."""
        self._send("READY=1\nSTATUS=settings read anew")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def status(self, sentence: str) -> None:
        """Say what goes on, once while it stays so."""
        if sentence != self._told:
            self._told = sentence
            self._send(f"STATUS={' '.join(sentence.split())}")

    def _send(self, message: str) -> None:
        if not self._address or not hasattr(socket, "AF_UNIX"):
            return
        # A manager that is restarting has no socket; the next message finds one.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.sendto(message.encode(), self._address)
