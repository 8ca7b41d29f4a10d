"""One address of a model's service: a request is posted, and posted again when that may help."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from skillopt_replay.attempts import begin_another
from skillopt_replay.errors import CeilingReached
from skillopt_replay.faults import GAVE_UP, find_fault
from skillopt_replay.lent import find_secrets
from skillopt_replay.masking import mask
from skillopt_replay.models.places import UNUSABLE_PROXY, is_loopback, strip_login
from skillopt_replay.models.replies import read_error
from skillopt_replay.models.retries import Patience, is_transient, requested_wait
from skillopt_replay.rollouts import Fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2

MAX_REPLY_BYTES = 16_000_000
_MAX_ERROR_BYTES = 100_000
_LOG = logging.getLogger(__name__)


class Failure(msgspec.Struct, frozen=True):
    """A request that failed: what to say, why, whether to try again, and what the server asked to wait.

    `status` is the HTTP status (0: none came) and `param` the parameter that the server names. `paid` says
    that it may have been paid for all the same: the server had the request, and was not heard to refuse it.
    """

    message: str
    fault: Fault
    transient: bool
    wait_s: float | None = None
    status: int = 0
    param: str = ""
    paid: bool = False


class Service:
    """Posts JSON to one address. One HTTP client is kept until `close` and serves one event loop.

    `timeout_s` bounds each attempt from connect to the last byte. When the server asks one request to wait,
    the others wait as well. `remedies` says for a fault what the user can do about it. A server on this
    machine that refuses connections and was never there is not waited for: nobody has started it.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str,
        headers: Mapping[str, str] | None = None,
        secret: str | None = None,
        timeout_s: float = 300.0,
        connect_s: float = 10.0,
        patience: Patience | None = None,
        remedies: Mapping[Fault, str] | None = None,
        inspect: Callable[[bytes], Failure | None] | None = None,
    ) -> None:
        """`secret`, and a password in `url`, are masked in whatever the server says.

        `inspect` finds the failures that a server tells in a reply with status 200.
        """
        self.url = url
        self._name = name
        self._headers = {"content-type": "application/json", **(headers or {})}
        self.secrets = find_secrets({"secret": secret or "", "address": url})
        self._timeout_s = timeout_s
        self._connect_s = connect_s
        self._patience = patience or Patience()
        self._remedies = dict(remedies or {})
        self._inspect = inspect
        self._client: httpx2.AsyncClient | None = None
        self._not_before = 0.0
        self._answered = False
        # Only for jitter; nothing secret or reproducible hangs on it.
        self._rng = random.Random()  # noqa: S311

    @property
    def host(self) -> str:
        return urlsplit(strip_login(self.url)).netloc

    async def close(self) -> None:
        """Close the connections; a later `ask` opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def ask(self, body: Mapping[str, Any], lost: list[Failure] | None = None) -> bytes | Failure:
        """Return the body of the reply, or why there is none.

        Of tries that may have been paid for, `lost` takes those that no ledger has written down. Where a
        ceiling allows no other try, the last one stands.
        """
        attempt = 0
        while True:
            await asyncio.sleep(max(0.0, self._not_before - time.monotonic()))
            answer = mask(await self._post(body), self.secrets)
            if isinstance(answer, bytes):
                return answer
            attempt += 1
            again = answer.transient and attempt < self._patience.attempts
            if again and (answer.wait_s or 0.0) > self._patience.longest_wait_s:
                message = f"{answer.message} (asked to wait {answer.wait_s:.0f} s)"
                answer, again = msgspec.structs.replace(answer, message=message), False
            if answer.paid:
                again, noted = await _begin_another(answer, again=again)
                if not noted and lost is not None:
                    lost.append(answer)
            if not again:
                return self._advise(answer)
            wait = self._patience.wait(attempt - 1, self._rng)
            if answer.wait_s is not None:
                self._not_before = max(self._not_before, time.monotonic() + answer.wait_s)
            _LOG.info("%s: %s; trying again in %.1f s", self._name, answer.message, wait)
            await asyncio.sleep(wait)

    def advise(self, message: str, fault: Fault) -> str:
        """Return the message with what the user can do about the fault, where there is such a thing."""
        remedy = self._remedies.get(fault, "")
        return f"{message} ({remedy})" if remedy else message

    def _advise(self, failure: Failure) -> Failure:
        return msgspec.structs.replace(failure, message=self.advise(failure.message, failure.fault))

    async def _post(self, body: Mapping[str, Any]) -> bytes | Failure:
        import httpx2

        received = bytearray()
        try:
            client = self._open()
        except (httpx2.InvalidURL, ValueError, ImportError):
            return Failure(UNUSABLE_PROXY, Fault.NETWORK, transient=False)
        try:
            return await asyncio.wait_for(self._exchange(client, body, received), self._timeout_s)
        except asyncio.TimeoutError:
            return Failure(
                f"no reply within {self._timeout_s:.0f} s", Fault.NETWORK, transient=True, paid=True
            )
        except httpx2.TransportError as error:
            unheard = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
            absent = isinstance(error, httpx2.ConnectError) and is_loopback(self.url) and not self._answered
            fault = Fault.ABSENT if absent else Fault.CUT if received else Fault.NETWORK
            return Failure(f"{self.host}: {_describe(error)}", fault, transient=not absent, paid=not unheard)
        except httpx2.HTTPError as error:
            # A reply that came, and cannot be decoded.
            return Failure(f"{self.host}: {_describe(error)}", Fault.NETWORK, transient=False, paid=True)

    async def _exchange(
        self, client: httpx2.AsyncClient, body: Mapping[str, Any], received: bytearray
    ) -> bytes | Failure:
        async with client.stream("POST", self.url, content=msgspec.json.encode(body)) as response:
            self._answered = True
            async for chunk in response.aiter_bytes():
                received += chunk
                if response.is_success and len(received) > MAX_REPLY_BYTES:
                    message = f"the reply is larger than {MAX_REPLY_BYTES} bytes"
                    return Failure(message, Fault.REPLY, transient=False, paid=True)
                if not response.is_success and len(received) > _MAX_ERROR_BYTES:
                    break
        if response.status_code == 200:
            body_ = bytes(received)
            return (self._inspect(body_) if self._inspect else None) or body_
        told = read_error(bytes(received))
        message = f"HTTP {response.status_code} from {self.host}"
        if told.message:
            message += f": {told.message}"
        fault = find_fault(response.status_code, told.code, told.message)
        return Failure(
            message,
            fault,
            transient=is_transient(response.status_code) and not fault.permanent,
            wait_s=requested_wait(response.headers),
            status=response.status_code,
            param=told.param,
            paid=response.is_success or response.status_code in GAVE_UP,
        )

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            import httpx2

            self._client = httpx2.AsyncClient(
                headers=self._headers,
                timeout=httpx2.Timeout(self._timeout_s, connect=self._connect_s),
                # A proxy of the environment cannot reach this machine's own loopback.
                trust_env=not is_loopback(self.url),
            )
        return self._client


async def _begin_another(lost: Failure, *, again: bool) -> tuple[bool, bool]:
    """Return whether there may be another try, and whether a ledger has noted the lost one."""
    if not again:
        return False, False
    try:
        return True, await begin_another(None, lost.message)
    except CeilingReached:
        return False, False


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
