"""Rollouts of Codex: its terminal, its headless mode, the editor extensions and the desktop application.

Read are files of every generation, from those whose lines have no envelope (2025) to those that tell
completed items (0.171). Files recorded by 0.20, 0.36, 0.44, 0.63, 0.89, 0.104, 0.142 and 0.171 are in the
tests, forks, reviews, rollbacks, refusals and shell lines of the user among them. Known from descriptions
only, and read as these say:

- files the client compressed itself;
- forks of versions whose turns have no ids. A pause of half a second tells where the copies end;
- which programs that embed the client people type into (`origins.py`). An unknown one counts as a program;
- names in `turn_attribution` other than `user` and `exec`. They are taken for what the session is;
- refusals in other words than those in `outputs.py`. Such a call failed, no more.

What the files do not tell:

- `codex exec` of the first versions (0.20, 0.36) writes the same first record as the terminal: its prompts
  count as typed.
- A fork that only points to its parent (0.171) does not repeat the turn it answers to, so its first prompt is
  never a correction.
- The commands of a script (`exec`) are known where the client tells of them one by one, or where a single one
  stands in it plainly.
- A prompt file seldom names itself in its text; it is then known as `/prompts:` and a digest.

A thread that the user rewound (0.171) goes on in a second file, named by the thread's id and one of its own.
It is read as a session by itself, which tells what it rewound. The last ask of that does not count then; what
else was taken back stands as it was asked.

Sessions that the client takes over from other programs hold those turns under names of its own. They count in
that program's files, as far as it is one that is read; what the user goes on with counts here.

When one session lies in two files, the one that was changed last is read last and stays.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from skillopt_harvesters.sources.base import Reading
from skillopt_harvesters.sources.codex import discover
from skillopt_harvesters.sources.codex.book import UUID
from skillopt_harvesters.sources.codex.compressed import MAGIC, SUFFIX, Unpacked, find_damage, unpack_head
from skillopt_harvesters.sources.codex.forks import find_fork
from skillopt_harvesters.sources.codex.memory import Memory
from skillopt_harvesters.sources.codex.session import CodexReader
from skillopt_harvesters.sources.lined import LinedSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillopt_harvesters.claims import Claims
    from skillopt_harvesters.drafts import SessionDraft
    from skillopt_harvesters.sources.base import Resume


class CodexSource(LinedSource[Memory]):
    """`<home>/sessions/YYYY/MM/DD/rollout-<time>-<session>.jsonl`, and `<home>/archived_sessions/`.

    A session that is moved to the archive or compressed keeps its id.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".jsonl" + SUFFIX)
    memory = Memory

    @property
    def name(self) -> str:
        return "codex"

    def roots(self, env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
        return discover.find_roots(env, home)

    def discover(self, root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
        return discover.find_files(root, warn=warn)

    def recognise(self, head: bytes) -> bool:
        return discover.recognise(head)

    def identify(self, path: Path) -> str:
        """Return the last id in the file's name: a fork's name may begin with the id it came from."""
        names = UUID.findall(path.name)
        return names[-1] if names else path.name.removesuffix(SUFFIX).removesuffix(".jsonl")

    def find_damage(self, head: bytes, path: Path) -> str:
        return find_damage(head) if path.name.endswith(SUFFIX) else super().find_damage(head, path)

    def find_fork(self, head: bytes, file: BinaryIO, path: Path) -> str | None:
        unpacked = unpack_head(head, len(head)) if head.startswith(MAGIC) else head
        return find_fork(unpacked, self.identify(path))

    def open_reader(
        self, session: SessionDraft, memory: Memory, claims: Claims, *, resumed: bool
    ) -> CodexReader:
        return CodexReader(session, memory, claims, resumed=resumed)

    def read(
        self, file: BinaryIO, path: Path, *, claims: Claims, resume: Resume | None = None
    ) -> Iterator[Reading]:
        file.seek(0)
        if (resume and resume.state) or file.read(len(MAGIC)) != MAGIC:
            yield from super().read(file, path, claims=claims, resume=resume)
            return
        # A compressed file is never appended to, and its offset is that of the file itself.
        file.seek(0)
        reader, _ = self._start(path, claims, resume)
        unpacked = Unpacked(file)
        end = self._feed(reader, io.BufferedReader(unpacked))
        session = reader.session
        session.overlong += end.is_unended
        if unpacked.damage:
            session.bad += 1
            session.warn(unpacked.damage)
        reader.finish()
        yield Reading(session=session.close(), offset=file.seek(0, io.SEEK_END))
