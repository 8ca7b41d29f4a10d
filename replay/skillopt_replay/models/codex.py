"""The user's own `codex` program as a chat model: no tools, no settings, a home that is thrown away."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from skillopt_replay import process
from skillopt_replay.agents.clients import say_address, say_effort
from skillopt_replay.agents.codex import ALONE, name_provider
from skillopt_replay.agents.codex_cli import CREDENTIAL_FILE
from skillopt_replay.agents.codex_log import FILTER, LogReader
from skillopt_replay.agents.codex_route import find_addresses
from skillopt_replay.agents.codex_words import find_words, is_cut, read_retry
from skillopt_replay.agents.spending import count_lost
from skillopt_replay.agents.traces import Trace
from skillopt_replay.attempts import note_spent
from skillopt_replay.faults import guess_fault
from skillopt_replay.folders import PRIVATE_PREFIX, make_folder
from skillopt_replay.masking import mask
from skillopt_replay.models.claude import ENTRYPOINT, render
from skillopt_replay.models.codex_lines import decode
from skillopt_replay.models.completing import conclude, decline, fill_in
from skillopt_replay.models.schemas import simplify
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
    from skillopt_replay.models.prices import Price
    from skillopt_replay.protocols import Message

TYPICAL = Usage(input_tokens=20_000, output_tokens=4_000)
_KEEP_BYTES = 8_000_000
_MOST_REPLIES = 4  # of a model that goes on calling tools, none of which it has
_SIGN_IN = "run `codex login`, or set CODEX_API_KEY"
# Everything that could run, read, search, ask around or be written down; a name that a version does not know
# costs one line of its output.
_OFF = (
    "apps", "browser_use", "code_mode_host", "computer_use", "enable_request_compression", "goals", "hooks",
    "image_generation", "memories", "plugins", "shell_tool", "skill_search", "sleep_tool",
    "tool_suggest", "unified_exec", "view_image",
)  # fmt: skip


class CodexModel:
    """A ChatModel through `codex exec`.

    The client has no switch for temperature, seed and length of a reply, so these are not passed on: its
    replies vary. Several messages become one prompt with headings; the system text stands in place of the
    client's own. `price` makes costs known, for those who pay by token.
    """

    def __init__(
        self,
        cli: Client,
        *,
        model: str | None = None,
        effort: str = "",
        seconds: float = 600.0,
        price: Price | None = None,
        estimate: Usage = TYPICAL,
        work: Path | None = None,
    ) -> None:
        """`effort` is how hard the model is told to think, "" for as it does by itself.

        `work` is where private folders are made (None: the temporary folder).

        Raises Unavailable when nobody is signed in.
        """
        self._cli = cli
        self._credentials = cli.sign_in("Codex")
        self._model = model
        self._effort = effort
        self._seconds = seconds
        self._price = price
        self._estimate = estimate
        self._work = work

    @property
    def identity(self) -> str:
        """The client's version, the model, and the service where it is not the maker's own."""
        route = self._credentials.route
        provider = f"{route['model_provider']}/" if "model_provider" in route else ""
        name = f"codex {self._cli.version} {provider}{self._model or route.get('model', 'default')}"
        place = say_address(*find_addresses(route, dict(self._credentials.env)))
        return f"{name}{say_effort(self._effort)}{place}"

    @property
    def estimate(self) -> Usage:
        """What one call typically uses, priced when the price is known."""
        return self._priced(self._estimate)

    def bound(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 2048
    ) -> Usage:
        """Return what one call may use at most, beside the prompt as much as one typically does."""
        read = self._estimate.input_tokens + bound_prompt(messages, schema)
        return self._priced(msgspec.structs.replace(self._estimate, input_tokens=read))

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
        log = LogReader(Trace())
        written = Written(_KEEP_BYTES)
        root = self._work or Path(tempfile.gettempdir())
        private = await asyncio.to_thread(make_folder, root, PRIVATE_PREFIX)
        try:
            await asyncio.to_thread(self._furnish, private, system, schema)
            finished = await process.run(
                # By the launcher, so that the client ends when we do, however we end.
                launch(self._command(private, schema)),
                cwd=private / "work",
                env=self._environment(private),
                seconds=self._seconds,
                stdin=prompt.encode("utf-8", "replace"),
                on_stdout=written.take,
                on_stderr=log.feed,
                enough=lambda: log.owing and log.meter.replies >= _MOST_REPLIES,
            )
        except asyncio.CancelledError:
            log.finish()
            if not (log.meter.replies or log.unheard or _count_cuts(written.text)):
                note_spent(self.bound(messages, schema=schema))  # its first request is all that was out
            raise
        except OSError as error:
            return self._failed(f"codex does not start: {error}", Fault.CLIENT, time.monotonic() - started)
        finally:
            await discard(private)
        log.finish()
        finished = msgspec.structs.replace(finished, stdout=written.text)
        most = self.bound(messages, schema=schema)
        return mask(self._read(finished, log, schema, most), self._credentials.secrets)

    def _furnish(self, private: Path, system: str, schema: Mapping[str, Any] | None) -> None:
        import tomlkit

        for name in ("home", "codex", "tmp", "work"):
            (private / name).mkdir()
        (private / "system.txt").write_bytes((system or "Answer.").encode("utf-8", "replace"))
        config = private / "codex" / "config.toml"
        # A route may hold a key of the user's.
        config.touch(mode=0o600)
        config.write_text(tomlkit.dumps(self._config(private)), encoding="utf-8")
        if schema is not None:
            (private / "schema.json").write_bytes(msgspec.json.encode(simplify(schema)))
        if self._credentials.file is not None:
            path = private / "codex" / CREDENTIAL_FILE
            path.touch(mode=0o600)
            path.write_bytes(self._credentials.file)

    def _config(self, private: Path) -> dict[str, Any]:
        """Return what calls nobody but the model, reads nothing, and has our system text for its own."""
        return {
            **name_provider(self._credentials),
            **({"model_reasoning_effort": self._effort} if self._effort else {}),
            "model_instructions_file": str(private / "system.txt"),
            "approval_policy": "never",
            "check_for_update_on_startup": False,
            "cli_auth_credentials_store": "file",
            "project_doc_max_bytes": 0,
            "web_search": "disabled",
            "include_environment_context": False,
            "include_permissions_instructions": False,
            "include_collaboration_mode_instructions": False,
            "analytics": {"enabled": False},
            "feedback": {"enabled": False},
            "history": {"persistence": "none"},
            "skills": {"bundled": {"enabled": False}},
            "features": {**dict.fromkeys(_OFF, False), **ALONE},
        }

    def _command(self, private: Path, schema: Mapping[str, Any] | None) -> list[str]:
        command = [str(self._cli.binary), "exec", "--json", "--ephemeral", "--skip-git-repo-check"]
        command += ["--sandbox", "read-only", "--cd", str(private / "work")]
        if schema is not None:
            command += ["--output-schema", str(private / "schema.json")]
        if self._model:
            command += ["--model", self._model]
        return [*command, "-"]

    def _environment(self, private: Path) -> dict[str, str]:
        return {
            "PATH": SYSTEM_PATH,
            "HOME": str(private / "home"),
            "CODEX_HOME": str(private / "codex"),
            "TMPDIR": str(private / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "RUST_LOG": FILTER,
            # Nothing is kept of these sessions; if a version does, harvesters know them by this.
            "CODEX_INTERNAL_ORIGINATOR_OVERRIDE": ENTRYPOINT,
            **dict(self._credentials.env),
        }

    def _read(
        self, finished: process.Finished, log: LogReader, schema: Mapping[str, Any] | None, most: Usage
    ) -> Completion:
        cuts = _count_cuts(finished.stdout)
        if finished.stopped:
            said = f"the model called tools it does not have, {log.meter.replies} times"
            return self._failed(said, Fault.REPLY, finished.seconds, self._count(log, lost=1 + cuts))
        if finished.timed_out:
            said = f"no reply within {self._seconds:g} s"
            return self._failed(said, Fault.NETWORK, finished.seconds, self._count(log, lost=1 + cuts))
        text, usage, problem = "", None, ""
        # Where any reply came, the service was there: what broke off before may have been paid for.
        cut = cuts + (log.unheard if log.meter.replies else 0)
        for event in decode(finished.stdout):
            if event.item is not None and event.item.type == "agent_message":
                text = event.item.text or ""
            if event.type == "turn.completed" and event.usage is not None:
                usage = self._priced(event.usage.counted)
            if event.type == "turn.failed":
                problem = (event.error and event.error.message) or "no reason given"
        if problem and guess_fault(None, problem) is Fault.REFUSAL:
            spent = count_lost(self._priced(usage or log.meter.usage), self._priced(log.meter.largest), cut)
            return decline(
                find_words(problem), model=self._model or "", usage=spent, seconds=finished.seconds
            )
        if problem:
            fault = guess_fault(None, problem)
            lost = cut + (fault in (Fault.CUT, Fault.NETWORK))
            return self._failed(find_words(problem), fault, finished.seconds, self._count(log, lost=lost))
        if usage is None:
            said = (log.said or finished.stdout).strip()[-300:] or "it wrote nothing"
            error = f"codex ended with {finished.returncode} and no result: {said}"
            return self._failed(
                error, guess_fault(None, said), finished.seconds, self._count(log, lost=1 + cuts)
            )
        usage = count_lost(fill_in(usage, most), self._priced(log.meter.largest), cut)
        return conclude(
            text, schema, model=self._model or "", usage=usage, seconds=finished.seconds, refused=log.refused
        )

    def _priced(self, usage: Usage) -> Usage:
        if self._price is None or self._credentials.file is not None:
            return usage
        return msgspec.structs.replace(usage, cost_usd=self._price.cost(usage))

    def _count(self, log: LogReader, *, lost: int) -> Usage:
        """Return what a call that failed has used, its `lost` requests included."""
        usage, largest = self._priced(log.meter.usage), self._priced(log.meter.largest)
        if not (lost or usage.tokens):
            return Usage(cost_usd=0.0)
        return count_lost(usage, largest, lost)

    def _failed(
        self,
        error: str,
        fault: Fault,
        seconds: float,
        usage: Usage = Usage(cost_usd=0.0),  # noqa: B008
    ) -> Completion:
        if fault is Fault.SIGN_IN:
            error = f"{error[:400]} ({_SIGN_IN}; now used: {self._credentials.source})"
        return Completion(
            text="", model=self._model or "", seconds=seconds, error=error[:700], fault=fault, usage=usage
        )


def _count_cuts(output: str) -> int:
    """Return how often a reply broke off, and was asked for again."""
    errors = (event for event in decode(output) if event.type == "error")
    return sum(is_cut(read_retry(event.message) or "") for event in errors)
