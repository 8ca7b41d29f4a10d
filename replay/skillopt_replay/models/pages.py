"""Downloads a file from one web address, going on where an earlier try stopped."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillopt_replay.models.partial import Partial, SourceFailed
from skillopt_replay.models.places import UNUSABLE_PROXY
from skillopt_replay.models.retries import Patience, is_transient

if TYPE_CHECKING:
    import httpx2

    from skillopt_replay.models.catalogue import Page

BLOCK = 1 << 18
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)\Z")
_PATIENCE = Patience(attempts=6, first_wait_s=1.0, longest_wait_s=20.0)


class _Interrupted(Exception):
    """The transfer broke off in a way that may pass."""


def download_page(
    page: Page,
    partial: Partial,
    tick: Callable[[], None],
    *,
    connect_s: float = 5.0,
    read_s: float = 30.0,
    patience: Patience = _PATIENCE,
) -> None:
    """Fill `partial` up to its size. `tick` is called often and may raise to stop.

    The first connection is the probe: when it gives nothing the source is given up at once. Once bytes
    have come, an interruption is tried again with growing waits, which start anew with each byte gained.
    Raises SourceFailed.
    """
    import httpx2

    received = False
    failures = 0
    try:
        client = httpx2.Client(
            follow_redirects=True,
            timeout=httpx2.Timeout(read_s, connect=connect_s),
            headers={"user-agent": "skillopt-sleep", "accept-encoding": "identity"},
        )
    except (httpx2.InvalidURL, ValueError, ImportError):
        raise SourceFailed(UNUSABLE_PROXY) from None
    with client:
        while partial.done < partial.size:
            before = partial.done
            try:
                _receive(client, page.url, partial, tick)
                reason = "it ends before the file does"
            except (httpx2.TransportError, _Interrupted) as error:
                reason = str(error) or type(error).__name__
            except httpx2.HTTPError as error:
                raise SourceFailed(str(error) or type(error).__name__) from error
            if partial.done >= partial.size:
                return
            gained = partial.done > before
            received = received or gained
            failures = 1 if gained else failures + 1
            if not received or failures >= patience.attempts:
                raise SourceFailed(reason)
            _sleep(min(patience.first_wait_s * 2.0 ** (failures - 1), patience.longest_wait_s), tick)


def _receive(client: httpx2.Client, url: str, partial: Partial, tick: Callable[[], None]) -> None:
    headers = {}
    if partial.done:
        headers["range"] = f"bytes={partial.done}-"
        # Only a strong tag may be used to say "go on if it is still the same file" (RFC 9110, 13.1.5).
        if partial.tag and not partial.tag.startswith("W/"):
            headers["if-range"] = partial.tag
    tick()
    with client.stream("GET", url, headers=headers) as response:
        _prepare(response, partial)
        for block in response.iter_raw(BLOCK):
            partial.append(block)
            tick()


def _prepare(response: httpx2.Response, partial: Partial) -> None:
    """Check that what follows continues the partial file, or start it anew."""
    status = response.status_code
    if status == 206:
        match = _RANGE.match(response.headers.get("content-range", ""))
        if not match or int(match[1]) != partial.done:
            partial.restart()
            raise _Interrupted("it answers with another range than asked for")
        if match[2] not in {"*", str(partial.size)}:
            raise SourceFailed(f"it serves a file of {match[2]} bytes, not {partial.size}")
        return
    if status == 416:
        partial.restart()
        raise _Interrupted("it refuses to go on from where the last try stopped")
    if status != 200:
        text = f"HTTP {status} from {urlsplit(str(response.url)).hostname}"
        raise _Interrupted(text) if is_transient(status) else SourceFailed(text)
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) != partial.size:
        raise SourceFailed(f"it serves a file of {length} bytes, not {partial.size}")
    partial.restart(response.headers.get("etag", ""))


def _sleep(seconds: float, tick: Callable[[], None]) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        tick()
        time.sleep(min(left, 0.2))
