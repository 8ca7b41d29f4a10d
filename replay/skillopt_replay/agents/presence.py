"""Tells whether the servers on this machine that a run is to speak to are there, before its client waits."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillopt_replay.sandbox.reach import Endpoint

_SECONDS = 2.0
_LOCALHOST = ("127.0.0.1", "::1")
# Nothing listens; the others are of a machine without IPv6.
_REFUSED = frozenset({errno.ECONNREFUSED, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETUNREACH})
# Of this process: a server that was there once is being restarted, and worth waiting for.
_found: set[Endpoint] = set()


async def find_absent(reach: Sequence[Endpoint] | None) -> str:
    """Return where nothing listens, if all a run may reach is on this machine and none of it ever was there.

    "" otherwise, and where anything but a refusal is in doubt: the client then says what it meets.
    """
    if not reach or not all(_is_here(endpoint.host) for endpoint in reach) or _found.intersection(reach):
        return ""
    for endpoint in reach:
        for host in _LOCALHOST if endpoint.host == "localhost" else (endpoint.host,):
            try:
                _, writer = await asyncio.wait_for(asyncio.open_connection(host, endpoint.port), _SECONDS)
            except asyncio.TimeoutError:
                return ""
            except OSError as error:
                if error.errno not in _REFUSED:
                    return ""
                continue
            _found.add(endpoint)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            return ""
    return ", ".join(map(str, reach))


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
