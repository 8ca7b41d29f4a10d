"""Sessions of pi (`@mariozechner/pi-coding-agent`, since 1.0 `@earendil-works/pi-coding-agent`).

Read are files of every version of the format: without ids (0.27), trees of version 2 (0.31) and 3 (0.73,
1.6), of each of which there are recorded files in the tests. Known from the client's published code only:
calls inside a script (`nestedCalls`), usage entries, files named on the command line.

What a file does not tell: whether `pi -p` or a program gave the prompts, which client version wrote it, the
git branch and commit. The text that is piped into `pi -p` stands before the prompt without a mark, and a
prompt template stands in place of the command that was typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillopt_harvesters.sources.lined import LinedSource
from skillopt_harvesters.sources.pi import discover
from skillopt_harvesters.sources.pi.session import Memory, PiReader

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.drafts import SessionDraft


class PiSource(LinedSource[Memory]):
    """`<agent folder>/sessions/--<working directory>--/<time>_<session>.jsonl`."""

    memory = Memory

    @property
    def name(self) -> str:
        return "pi"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def recognise(self, head: bytes) -> bool:
        return discover.recognise(head)

    def identify(self, path: Path) -> str:
        return discover.identify(path)

    def open_reader(
        self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool
    ) -> PiReader:
        return PiReader(session, memory, claims, resumed=resumed)
