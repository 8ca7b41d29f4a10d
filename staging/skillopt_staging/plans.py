"""What applying a proposal would do to the live files, found out without writing anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from skillopt_staging.branches import require_ours
from skillopt_staging.errors import Conflict, NeedsDecision, StagingError
from skillopt_staging.files import read_live, refuse_links
from skillopt_staging.hunks import hunks as cut_hunks
from skillopt_staging.hunks import take
from skillopt_staging.merge import merge, same_content
from skillopt_staging.plumbing import Repository, decode, encode
from skillopt_staging.proposals import Staged
from skillopt_staging.texts import FileText, read_texts
from skillopt_staging.trees import Entry, list_tree, split_path
from skillopt_staging.vault import is_vault


class Change(msgspec.Struct, frozen=True):
    """One live file: its bytes now and afterwards; None stands for no file."""

    live: str
    before: bytes | None
    after: bytes | None


class Plan(msgspec.Struct, frozen=True):
    """What apply would do: the live bytes `before` (None: no file) and `after` of SKILL.md.

    `moved` tells that the live file is no longer what the proposal started from, `complete` that `after` is
    the whole proposal and nothing else. `dirty` are the live files with edits that are neither committed nor
    what the proposal started from. `parts` are the skill's other files.
    """

    before: bytes | None
    after: bytes
    moved: bool
    complete: bool
    dirty: tuple[str, ...] = ()
    parts: tuple[Change, ...] = ()


def make_plan(repo: Repository, staged: Staged, hunks: Sequence[int] | None, text: str | None = None) -> Plan:
    """Return what applying these hunks (None: all), or `text` in place of the proposed SKILL.md, would do.

    Hunks count on from SKILL.md through the other files. Raises Conflict or NeedsDecision when only the user
    can settle it.
    """
    require_ours(repo, staged)
    files = read_texts(repo, staged)
    for file in files:
        refuse_links(repo.root, file.path)
        _refuse_unmerged(repo, file.path)
    wanted = [file.text for file in files] if hunks is None else _choose(files, hunks)
    if text is not None:
        wanted[0] = encode(text)
    now = [read_live(file.live) for file in files]
    results = [merge_in(file, live, chosen) for file, live, chosen in zip(files, now, wanted, strict=True)]
    first = results[0]
    if first is None:
        raise StagingError(f"the proposal holds no text for {staged.live}")
    moved = [not same_content(live or b"", file.base or b"") for file, live in zip(files, now, strict=True)]
    whole = [_same(result, file.text) for file, result in zip(files, results, strict=True)]
    return Plan(
        now[0],
        first,
        any(moved),
        all(whole),
        dirty=_find_dirty(repo, files, now),
        parts=tuple(
            Change(str(file.live), live, result)
            for file, live, result in zip(files[1:], now[1:], results[1:], strict=True)
        ),
    )


def merge_onto(live: Path, base: bytes, now: bytes, wanted: bytes) -> bytes:
    """Return `now` with what turns `base` into `wanted`. Raises Conflict, naming `live`."""
    outcome = merge(base, now, wanted)
    if outcome.data is None:
        places = "the same place" if outcome.conflicts == 1 else f"the same {outcome.conflicts} places"
        raise Conflict(
            f"{live} was changed in {places}",
            hint="take single hunks, or edit the file so that the change fits",
            marked=outcome.marked.decode(errors="replace"),
        )
    return outcome.data


def merge_in(file: FileText, now: bytes | None, chosen: bytes | None) -> bytes | None:
    """Return the live file as it is now with the chosen change in it. Raises Conflict or NeedsDecision."""
    if chosen == file.base:
        return now
    if now is None:
        if file.base is None or chosen is None:
            return chosen
        raise NeedsDecision(
            f"{file.live} was removed after the proposal was made",
            hint="reject the proposal, or restore the file",
        )
    if chosen is None:
        if same_content(now, file.base or b""):
            return None
        raise NeedsDecision(
            f"the proposal removes {file.live}, which was changed meanwhile",
            hint="remove the file yourself, or reject the proposal",
        )
    return merge_onto(file.live, file.base or b"", now, chosen)


def _choose(files: Sequence[FileText], indices: Sequence[int]) -> list[bytes | None]:
    """Return the texts with only these hunks changed."""
    if not indices:
        raise StagingError("no hunk was chosen", hint="name at least one, or reject the proposal")
    texts = [(decode(file.base or b"", file.path), decode(file.text or b"", file.path)) for file in files]
    counts = [len(cut_hunks(base, text)) for base, text in texts]
    unknown = sorted(index for index in set(indices) if not 1 <= index <= sum(counts))
    if unknown:
        raise StagingError(
            f"there is no hunk {', '.join(map(str, unknown))}", hint=f"this change has {sum(counts)}"
        )
    chosen: list[bytes | None] = []
    first = 0
    for file, (base, text), count in zip(files, texts, counts, strict=True):
        inside = sorted({index - first for index in indices if first < index <= first + count})
        first += count
        if len(inside) == count:
            chosen.append(file.text)
        else:
            chosen.append(encode(take(base, text, inside)) if inside else file.base)
    return chosen


def _find_dirty(repo: Repository, files: Sequence[FileText], now: Sequence[bytes | None]) -> tuple[str, ...]:
    """Return the live files whose edits git does not know and the proposal did not start from."""
    if is_vault(repo):
        return ()
    head = repo.resolve("HEAD^{tree}")
    dirty = []
    for file, live in zip(files, now, strict=True):
        if live is None or same_content(live, file.base or b"") or same_content(live, file.text or b""):
            continue
        entry = _look_up(repo, head, file.path)
        if entry and entry.kind == "blob" and not same_content(live, repo.read_blob(entry.id)):
            dirty.append(str(file.live))
    return tuple(dirty)


def _look_up(repo: Repository, tree: str, path: str) -> Entry | None:
    """Return whatever the tree has at this path; None when there is nothing."""
    entry: Entry | None = Entry("040000", tree, "") if tree else None
    for part in split_path(path):
        if entry is None or entry.kind != "tree":
            return None
        entry = next((item for item in list_tree(repo, entry.id) if item.name == part), None)
    return entry


def _refuse_unmerged(repo: Repository, path: str) -> None:
    # In a bare repository, or with an index nobody can read, there is no merge to be in the middle of.
    state = repo.peek("ls-files", "--unmerged", "-z", "--", f":(top,literal){path}")
    if state:
        raise NeedsDecision(
            f"{path} is in the middle of a merge of yours", hint="settle it and git add it, then retry"
        )


def _same(one: bytes | None, other: bytes | None) -> bool:
    if one is None or other is None:
        return one is other
    return same_content(one, other)
