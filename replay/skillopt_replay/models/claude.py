"""The user's own `claude` program as a chat model: no tools, no settings, a home that is thrown away."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay import process
from skillopt_replay.agents.claude_cli import CREDENTIAL_FILE, find_address, make_environment
from skillopt_replay.agents.clients import say_address, say_effort
from skillopt_replay.attempts import note_spent
from skillopt_replay.faults import guess_fault
from skillopt_replay.folders import PRIVATE_PREFIX, make_folder
from skillopt_replay.masking import mask
from skillopt_replay.models.claude_lines import Result, read_lines
from skillopt_replay.models.completing import conclude, decline, fill_in
from skillopt_replay.models.written import Written
from skillopt_replay.protocols import Completion
from skillopt_replay.reserves import bound_prompt
from skillopt_replay.rollouts import Fault, Usage
from skillopt_replay.sandbox.contract import SYSTEM_PATH
from skillopt_replay.sandbox.launching import launch
from skillopt_replay.trash import discard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from skillopt_replay.agents.clients import Client
    from skillopt_replay.protocols import Message

ENTRYPOINT = "skillopt-sleep-optimizer"  # recorded by the client; harvesters leave such sessions out
MAX_PROMPT_BYTES = 10_000_000  # what the client reads from standard input
# The money is the bound of one call: less would let a night pass its ceiling.
TYPICAL = Usage(input_tokens=20_000, output_tokens=4_000, cost_usd=1.0)
_KEEP_BYTES = 8_000_000
_NO_FILES = '{"permissions":{"deny":["Read"]}}'
# Handing in a structured reply is a turn, and so is the reminder when the model forgot to.
_TURNS_FREE, _TURNS_SCHEMA = 1, 4


class ClaudeModel:
    """A ChatModel through `claude --print`; costs are what the client reports.

    The client has no switch for temperature, seed and length of a reply, so these are not passed on: its
    replies vary. Several messages become one prompt with headings. `usd` bounds one call; the client looks
    after each of its requests, so a call may pass it by one request.
    """

    def __init__(
        self,
        cli: Client,
        *,
        model: str | None = None,
        effort: str = "",
        seconds: float = 600.0,
        usd: float = 1.0,
        estimate: Usage = TYPICAL,
        work: Path | None = None,
    ) -> None:
        """`effort` is how hard the model is told to think, "" for as it does by itself.

        `work` is where private folders are made (None: the temporary folder).

        Raises Unavailable when nobody is signed in.
        """
        self._cli = cli
        self._credentials = cli.sign_in("Claude Code")
        self._model = model
        self._effort = effort
        self._seconds = seconds
        self._usd = usd
        self._estimate = estimate
        self._work = work

    @property
    def identity(self) -> str:
        """The client's version, the model, and the service where it is not the maker's own."""
        place = say_address(find_address(self._credentials))
        return f"claude {self._cli.version} {self._model or 'default'}{say_effort(self._effort)}{place}"

    @property
    def estimate(self) -> Usage:
        """What one call typically uses."""
        return self._estimate

    def bound(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 2048
    ) -> Usage:
        """Return what one call may use at most: the client keeps to its dollars, whatever the prompt."""
        read = self._estimate.input_tokens + bound_prompt(messages, schema)
        return msgspec.structs.replace(self._estimate, input_tokens=read)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 2048,
        temperature: float = 0.0,
        seed: int | None = None,
    ) -> Completion:
        """Return the reply; a failed call is a Completion with `error`."""
        started = time.monotonic()
        system, prompt = render(messages)
        content = prompt.encode("utf-8", "replace")
        if len(content) > MAX_PROMPT_BYTES:
            said = f"the prompt has {len(content)} bytes, over {MAX_PROMPT_BYTES}"
            return self._failed(said, Fault.REPLY, started, Usage(cost_usd=0.0))
        root = self._work or Path(tempfile.gettempdir())
        private = await asyncio.to_thread(make_folder, root, PRIVATE_PREFIX)
        most = self.bound(messages, schema=schema)
        written = Written(_KEEP_BYTES)
        try:
            await asyncio.to_thread(self._furnish, private, system)
            finished = await process.run(
                # By the launcher, so that the client ends when we do, however we end.
                launch(self._command(private, schema)),
                cwd=private / "work",
                env=self._environment(private),
                seconds=self._seconds,
                stdin=content,
                on_stdout=written.take,
            )
        except asyncio.CancelledError:
            told = read_lines(written.text)
            if not (told.replies or told.unheard):
                note_spent(most)  # no more than its first request was out, and none passes that bound
            raise
        except OSError as error:
            return self._failed(f"claude does not start: {error}", Fault.CLIENT, started, Usage(cost_usd=0.0))
        finally:
            await discard(private)
        finished = msgspec.structs.replace(finished, stdout=written.text)
        return mask(self._read(finished, schema, most), self._credentials.secrets)

    def _furnish(self, private: Path, system: str) -> None:
        config = private / "home" / ".claude"
        config.mkdir(parents=True)
        (private / "tmp").mkdir()
        (private / "work").mkdir()
        # As a file, because one argument of a command line holds 128 KB at most on Linux.
        (private / "system.txt").write_bytes(system.encode("utf-8", "replace"))
        if self._credentials.file is not None:
            path = config / CREDENTIAL_FILE
            path.touch(mode=0o600)
            path.write_bytes(self._credentials.file)

    def _command(self, private: Path, schema: Mapping[str, Any] | None) -> list[str]:
        command = [str(self._cli.binary), "--print", "--output-format", "stream-json", "--verbose"]
        command += ["--tools", "", "--setting-sources", "", "--settings", _NO_FILES, "--strict-mcp-config"]
        command += ["--disable-slash-commands", "--no-session-persistence"]
        command += ["--system-prompt-file", str(private / "system.txt")]
        command += ["--max-turns", str(_TURNS_FREE if schema is None else _TURNS_SCHEMA)]
        command += ["--max-budget-usd", f"{self._usd:.6f}"]
        if schema is not None:
            command += ["--json-schema", msgspec.json.encode(schema).decode()]
        if self._model:
            command += ["--model", self._model]
        if self._effort:
            command += ["--effort", self._effort]
        return command

    def _environment(self, private: Path) -> dict[str, str]:
        return {
            **make_environment(self._credentials, private, path=SYSTEM_PATH, entrypoint=ENTRYPOINT),
            # Otherwise `@path` anywhere in a prompt, so also in a quoted transcript, sends that file along.
            "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
        }

    def _read(self, finished: process.Finished, schema: Mapping[str, Any] | None, most: Usage) -> Completion:
        started = time.monotonic() - finished.seconds
        if finished.timed_out:
            return self._failed(f"no reply within {self._seconds:g} s", Fault.NETWORK, started)
        told = read_lines(finished.stdout)
        result = told.result
        if result is None:
            said = (finished.stderr or finished.stdout).strip()[-300:] or "it wrote nothing"
            error = f"claude ended with {finished.returncode} and no result: {said}"
            return self._failed(error, guess_fault(None, said), started)
        usage = told.usage
        if told.replies:
            usage = fill_in(usage, most)
        # The client may ask another one besides, such as for a title, and counts it in no certain order.
        model = told.model or next(iter(result.model_usage or {}), self._model or "")
        problem = _find_problem(result, wants_object=schema is not None)
        if problem is not None:
            error, fault = problem
            if fault is Fault.REFUSAL:
                return decline(error, model=model, usage=usage, seconds=finished.seconds)
            if fault is Fault.SIGN_IN:
                error += f" (sign in with `claude`, or check {self._credentials.source})"
            return Completion(
                text="", model=model, usage=usage, seconds=finished.seconds, error=error, fault=fault
            )
        value = result.structured_output if isinstance(result.structured_output, dict) else None
        text = result.result or ("" if value is None else msgspec.json.encode(value).decode())
        if result.subtype == "error_max_turns":
            return Completion(
                text=text, model=model, usage=usage, seconds=finished.seconds, fault=Fault.REPLY
            )
        return conclude(
            text,
            schema,
            value=value if schema is not None else None,
            model=model,
            usage=usage,
            seconds=finished.seconds,
            truncated=result.stop_reason == "max_tokens",
        )

    def _failed(
        self,
        error: str,
        fault: Fault,
        started: float,
        usage: Usage = Usage(),  # noqa: B008 - frozen
    ) -> Completion:
        return Completion(
            text="",
            model=self._model or "",
            usage=usage,
            seconds=time.monotonic() - started,
            error=error[:500],
            fault=fault,
        )


def render(messages: Sequence[Message]) -> tuple[str, str]:
    """Return the system text and the one prompt that stand for the messages.

    A single user message is passed as it is; more get a heading each. A prompt that starts with a slash
    would be taken for a command of the client, so it gets a heading too.
    """
    system = "\n\n".join(m.content for m in messages if m.role == "system")
    rest = [m for m in messages if m.role != "system"]
    if len(rest) == 1 and not rest[0].content.lstrip().startswith("/"):
        return system, rest[0].content
    names = {"user": "Request", "assistant": "Your earlier reply"}
    return system, "\n\n".join(f"{names.get(m.role, m.role)}:\n{m.content}" for m in rest)


def _find_problem(result: Result, *, wants_object: bool) -> tuple[str, Fault] | None:
    """Return what went wrong outside the model; a model that never hands in its object is no such thing."""
    if result.subtype == "error_max_turns" and wants_object:
        return None
    said = result.result or "; ".join(str(e) for e in result.errors or ()) or result.subtype or "no reason"
    if result.stop_reason == "refusal":
        return said[:300], Fault.REFUSAL
    if result.is_error or result.subtype != "success":
        status = f" (status {result.api_error_status})" if result.api_error_status else ""
        return said[:300] + status, guess_fault(result.api_error_status, said)
    if result.stop_reason is None:
        return f"the reply did not come to its end: {said[:200]}", Fault.CUT
    return None
