"""A proposal onto the live file, and off it again: three-way merges, one file written, bytes kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from skillopt_staging.branches import read_texts, require_ours
from skillopt_staging.errors import Conflict, NeedsDecision, StagingError
from skillopt_staging.files import digest, read_live, refuse_links, remove_live, write_live
from skillopt_staging.hunks import take
from skillopt_staging.merge import merge, same_content
from skillopt_staging.plumbing import Repository, decode, encode
from skillopt_staging.proposals import Applied, Staged
from skillopt_staging.trees import PLAIN, Entry, make_tree, read_file
from skillopt_staging.vault import is_vault, record

BACKUPS = "refs/skillopt/backup"


class Plan(msgspec.Struct, frozen=True):
    """What apply would do: the live bytes `before` (None: no file) and `after`.

    `moved` tells that the live file is no longer what the proposal started from, `complete` that `after` is
    the whole proposal and nothing else.
    """

    before: bytes | None
    after: bytes
    moved: bool
    complete: bool


def preview(staged: Staged, *, hunks: Sequence[int] | None = None) -> Plan:
    """Return what `apply` would do now, without writing anything. Raises what `apply` would raise."""
    return _plan(Repository(Path(staged.repository)), staged, hunks)


def apply(staged: Staged, *, hunks: Sequence[int] | None = None) -> Applied:
    """Merge the proposal, or only these of its hunks, into the live file and write it in one step.

    A live file that holds the result already is left alone. In a user's repository nothing is committed and
    the index stays as it is; in the vault, main follows. Raises Conflict or NeedsDecision when the live file
    or the branch has moved in a way only the user can settle, Busy when another run holds the repository;
    nothing is written then.
    """
    repo = Repository(Path(staged.repository))
    live = Path(staged.live)
    with repo.locked():
        plan = _plan(repo, staged, hunks)
        now, result = plan.before, plan.after
        before = _known_before(repo, staged, result) if now == result else now
        applied = _keep(repo, staged, before, result, complete=plan.complete)
        if now != result:
            if is_vault(repo):
                record(repo, staged.path, now, f"Outside edit of {staged.path} noticed")
            applied = replace(applied, folders=write_live(live, result, expected=now))
        if is_vault(repo):
            merged = staged.commit if plan.complete and require_ours(repo, staged) else ""
            record(repo, staged.path, result, f"Apply {staged.branch}", merged)
        return applied


def revert(staged: Staged, applied: Applied) -> Applied:
    """Undo what `apply` (or `revert`) did to the live file; return what that changed in turn.

    When the file is as it was written, its bytes from before come back, or the file goes if there was none.
    Later edits of the user are kept by a three-way merge. Raises Conflict or NeedsDecision when that cannot
    be done; nothing is written then.
    """
    repo = Repository(Path(staged.repository))
    live = Path(applied.live)
    refuse_links(repo.root, staged.path)
    with repo.locked():
        now = read_live(live)
        before = repo.read_blob(applied.backup) if applied.backup else None
        after = repo.read_blob(applied.written) if applied.written else None
        result = before if now in (before, after) else _take_out(live, before, after, now)
        undone = _keep(repo, staged, now, result, complete=result == before)
        if result is None:
            remove_live(live, expected=now, folders=max(1, applied.folders))
        elif now != result:
            undone = replace(undone, folders=write_live(live, result, expected=now))
        if is_vault(repo):
            record(repo, staged.path, result, f"Revert {staged.branch}")
        return undone


def _plan(repo: Repository, staged: Staged, hunks: Sequence[int] | None) -> Plan:
    refuse_links(repo.root, staged.path)
    require_ours(repo, staged)
    base, text = read_texts(repo, staged)
    chosen = text if hunks is None else _choose(staged, base, text, hunks)
    now = read_live(Path(staged.live))
    result = _merge_in(Path(staged.live), base, now, chosen)
    moved = not same_content(now or b"", base or b"")
    return Plan(now, result, moved, same_content(result, text))


def _merge_in(live: Path, base: bytes | None, now: bytes | None, chosen: bytes) -> bytes:
    if now is None:
        if base is None:
            return chosen
        raise NeedsDecision(
            f"{live} was removed after the proposal was made", hint="reject the proposal, or restore the file"
        )
    return _settle(live, base or b"", now, chosen)


def _settle(live: Path, base: bytes, now: bytes, wanted: bytes) -> bytes:
    outcome = merge(base, now, wanted)
    if outcome.data is None:
        places = "the same place" if outcome.conflicts == 1 else f"the same {outcome.conflicts} places"
        raise Conflict(
            f"{live} was changed in {places}",
            hint="take single hunks, or edit the file so that the change fits",
            marked=outcome.marked.decode(errors="replace"),
        )
    return outcome.data


def _take_out(live: Path, before: bytes | None, after: bytes | None, now: bytes | None) -> bytes:
    """Return `now` without what turned `before` into `after`; None stands for no file."""
    if now is None:
        raise NeedsDecision(
            f"you removed {live} since the change; it was not brought back",
            hint="bring the file back, then revert again",
        )
    edited = f"you edited {live} since it was applied; it was left as it is"
    if before is None:
        # The whole file is the proposal's: what of an edited one would be the user's, only they can say.
        raise NeedsDecision(
            edited,
            hint="keep what you wrote somewhere else, delete the file, then revert again",
        )
    if after is None:
        raise NeedsDecision(
            f"you wrote {live} anew since it was removed; it was left as it is",
            hint="keep what you wrote somewhere else, delete the file, then revert again",
        )
    outcome = merge(after, now, before)
    if outcome.data is None:
        raise Conflict(
            f"{edited}: {outcome.conflicts} of your edits lie where the proposal's are",
            hint="put back by hand what was there before the proposal, then revert again",
            marked=outcome.marked.decode(errors="replace"),
        )
    return outcome.data


def _choose(staged: Staged, base: bytes | None, text: bytes, indices: Sequence[int]) -> bytes:
    if not indices:
        raise StagingError("no hunk was chosen", hint="name at least one, or reject the proposal")
    return encode(take(decode(base or b"", staged.live), decode(text, staged.path), indices))


def _keep(
    repo: Repository, staged: Staged, before: bytes | None, after: bytes | None, *, complete: bool
) -> Applied:
    """Store both states where no garbage collection takes them, before anything is written."""
    blobs = {name: repo.write_blob(data) for name, data in _present(before=before, after=after).items()}
    tree = make_tree(repo, [Entry(PLAIN, blob, name) for name, blob in blobs.items()])
    ref = _backup_ref(staged, blobs.get("after", "absent"))
    repo.update_refs((ref, tree, None), reason="skillopt: keep the bytes before")
    return Applied(
        live=staged.live,
        before=digest(before),
        after=digest(after),
        backup=blobs.get("before", ""),
        written=blobs.get("after", ""),
        complete=complete,
    )


def _known_before(repo: Repository, staged: Staged, result: bytes) -> bytes | None:
    """Return what was live before a run that wrote `result` and could not say so any more."""
    tree = repo.resolve(_backup_ref(staged, repo.write_blob(result)))
    if not tree:
        return result
    return read_file(repo, tree, "before")


def _backup_ref(staged: Staged, after: str) -> str:
    return f"{BACKUPS}/{staged.commit}/{after}"


def _present(**states: bytes | None) -> dict[str, bytes]:
    return {name: data for name, data in states.items() if data is not None}
