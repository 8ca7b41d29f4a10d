"""A proposal onto the live files, and off them again: three-way merges, each file written in one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from skillopt_staging.branches import require_ours
from skillopt_staging.errors import Conflict, NeedsDecision, StagingError
from skillopt_staging.files import (
    count_missing_folders,
    digest,
    read_live,
    refuse_links,
    remove_live,
    write_live,
)
from skillopt_staging.merge import merge
from skillopt_staging.plans import Change, Plan, make_plan
from skillopt_staging.plumbing import Repository
from skillopt_staging.proposals import Applied, Staged, Written
from skillopt_staging.regions import find_changed_region
from skillopt_staging.styles import plain
from skillopt_staging.trees import PLAIN, Entry, make_tree, read_file
from skillopt_staging.vault import is_vault, record

BACKUPS = "refs/skillopt/backup"
Announce = Callable[[Applied], None]


def preview(staged: Staged, *, hunks: Sequence[int] | None = None, text: str | None = None) -> Plan:
    """Return what `apply` would do now, without writing anything. Raises what `apply` would raise."""
    return make_plan(Repository(Path(staged.repository)), staged, hunks, text)


def apply(
    staged: Staged,
    *,
    hunks: Sequence[int] | None = None,
    text: str | None = None,
    require_clean: bool = False,
    announce: Announce | None = None,
) -> Applied:
    """Merge the proposal, or only these of its hunks, into the live files, each written in one step.

    `text` takes the place of the proposed SKILL.md. `announce` is told what is about to be written once the
    bytes before are safe. A live file that holds the result already is left alone; SKILL.md comes last, so
    that it never names a file that is not there yet. In a user's repository nothing is committed and the
    index stays as it is; in the vault, main follows. Raises Conflict or NeedsDecision when a live file or
    the branch has moved in a way only the user can settle (with `require_clean`: when it has edits that are
    not committed), Busy when another run holds the repository; nothing is written then.
    """
    repo = Repository(Path(staged.repository))
    with repo.locked():
        plan = make_plan(repo, staged, hunks, text)
        if require_clean and plan.dirty:
            raise NeedsDecision(
                f"{plan.dirty[0]} has edits of yours that are not committed",
                hint="commit or stash them, or apply with --merge: they stay, and the change is merged in",
            )
        main = Change(staged.live, plan.before, plan.after)
        changes = _know_before(repo, staged, [main, *plan.parts])
        applied = _keep(repo, staged, changes, complete=plan.complete)
        if announce:
            announce(applied)
        vault = is_vault(repo)
        if vault:
            _record(repo, staged, [main, *plan.parts], before=True)
        _write_all([(change, 0) for change in (*plan.parts, main)])
        if vault:
            merged = staged.commit if plan.complete and require_ours(repo, staged) else ""
            _record(repo, staged, [main, *plan.parts], merged=merged, message=f"Apply {staged.branch}")
        return applied


def revert(staged: Staged, applied: Applied, *, announce: Announce | None = None) -> Applied:
    """Undo what `apply` (or `revert`) did to the live files; return what that changed in turn.

    When a file is as it was written, its bytes from before come back, or the file goes if there was none.
    Later edits of the user are kept by a three-way merge. Raises Conflict or NeedsDecision when that cannot
    be done; nothing is written then.
    """
    repo = Repository(Path(staged.repository))
    for path in (staged.path, *(part.path for part in staged.parts)):
        refuse_links(repo.root, path)
    with repo.locked():
        changes = []
        whole = True
        for file in _list_written(applied):
            now = read_live(Path(file.live))
            before = repo.read_blob(file.backup) if file.backup else None
            after = repo.read_blob(file.written) if file.written else None
            result = before if now in (before, after) else _take_out(Path(file.live), before, after, now)
            whole = whole and result == before
            changes.append(Change(file.live, now, result))
        undone = _keep(repo, staged, changes, complete=whole)
        if announce:
            announce(undone)
        folders = [file.folders for file in _list_written(applied)]
        _write_all(list(zip(changes, folders, strict=True)))
        if is_vault(repo):
            _record(repo, staged, changes, message=f"Revert {staged.branch}")
        return undone


def _write_all(changes: Sequence[tuple[Change, int]]) -> None:
    """Write all files or none: when one cannot be written, those before it get their bytes back."""
    done: list[tuple[Change, int]] = []
    try:
        for change, folders in changes:
            done.append((change, _write(change, folders)))
    except StagingError:
        for change, made in reversed(done):
            with suppress(StagingError):
                _write(Change(change.live, change.after, change.before), made)
        raise


def _write(change: Change, folders: int = 0) -> int:
    """Write one file, or remove it with `folders` that are empty then; return how many had to be made."""
    live = Path(change.live)
    if change.before == change.after:
        return 0
    if change.after is None:
        remove_live(live, expected=change.before, folders=max(1, folders))
        return 0
    return write_live(live, change.after, expected=change.before)


def _record(
    repo: Repository,
    staged: Staged,
    changes: Sequence[Change],
    *,
    message: str = "",
    merged: str = "",
    before: bool = False,
) -> None:
    """Have the vault's main follow; `before` notes what the user did to the files since it last looked."""
    paths = (staged.path, *(part.path for part in staged.parts))
    for path, change in zip(paths, changes, strict=True):
        if not before:
            record(repo, path, change.after, message, merged)
        elif change.before != change.after:
            record(repo, path, change.before, f"Outside edit of {path} noticed")


def _list_written(applied: Applied) -> list[Written]:
    main = Written(
        live=applied.live,
        before=applied.before,
        after=applied.after,
        backup=applied.backup,
        written=applied.written,
        folders=applied.folders,
    )
    return [main, *applied.parts]


def _take_out(live: Path, before: bytes | None, after: bytes | None, now: bytes | None) -> bytes | None:
    """Return `now` without what turned `before` into `after`; None stands for no file."""
    is_new = before is None
    if now is None:
        raise NeedsDecision(
            f"you removed {live} since the change; it was not brought back",
            hint="bring the file back, then revert again",
        )
    edited = f"you edited {live} since it was applied; it was left as it is"
    if (
        before is None
        and after is not None
        and find_changed_region("", plain(after).decode(errors="replace"))
    ):
        # All of it was a region of ours, so that all the rest is the user's.
        before = b""
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
    return None if is_new and not outcome.data.strip() else outcome.data


def _keep(repo: Repository, staged: Staged, changes: Sequence[Change], *, complete: bool) -> Applied:
    """Store both states of all files where no garbage collection takes them, before anything is written."""
    entries = []
    kept = []
    for number, change in enumerate(changes):
        blobs = {
            side: repo.write_blob(data)
            for side, data in (("before", change.before), ("after", change.after))
            if data is not None
        }
        entries += [Entry(PLAIN, blob, _name(side, number)) for side, blob in blobs.items()]
        kept.append(
            Written(
                live=change.live,
                before=digest(change.before),
                after=digest(change.after),
                backup=blobs.get("before", ""),
                written=blobs.get("after", ""),
                folders=0 if change.after is None else count_missing_folders(Path(change.live)),
            )
        )
    first, *others = kept
    ref = _backup_ref(staged, first.written or "absent")
    repo.update_refs((ref, make_tree(repo, entries), None), reason="skillopt: keep the bytes before")
    return Applied(
        live=first.live,
        before=first.before,
        after=first.after,
        backup=first.backup,
        written=first.written,
        complete=complete,
        folders=first.folders,
        parts=tuple(others),
    )


def _know_before(repo: Repository, staged: Staged, changes: Sequence[Change]) -> list[Change]:
    """Return the changes with what a run knew that wrote some files and could not say so any more."""
    if all(change.before != change.after for change in changes):
        return list(changes)
    result = changes[0].after
    tree = repo.resolve(_backup_ref(staged, repo.write_blob(result) if result is not None else "absent"))
    if not tree:
        return list(changes)
    return [
        Change(change.live, read_file(repo, tree, _name("before", number)), change.after)
        if change.before == change.after
        else change
        for number, change in enumerate(changes)
    ]


def _name(side: str, number: int) -> str:
    return f"{side}.{number}" if number else side


def _backup_ref(staged: Staged, after: str) -> str:
    return f"{BACKUPS}/{staged.commit}/{after}"
