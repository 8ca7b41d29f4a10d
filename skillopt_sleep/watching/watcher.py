"""When to look at the transcripts again: soon after they change, and now and then in any case."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from skillopt_sleep.watching.places import Root, make_plan, take_print

if TYPE_CHECKING:
    from skillopt_sleep.watching.observing import Observation

# Looking takes at most a tenth of the time, unless that would be more than a minute's rest.
_REST_SHARE = 9.0
_REST_MAX_S = 60.0
_TRIES = 3
# So many looks in a row may be for nothing before changes are waited out for longer.
_PATIENCE = 2
_MAX_DOUBLINGS = 8
_OUT_OF_WATCHES = {errno.ENOSPC: "fs.inotify.max_user_watches", errno.EMFILE: "fs.inotify.max_user_instances"}


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How soon, in seconds.

    A change is looked at when nothing has changed for `quiet_s`, and at the latest `longest_s` after it.
    `poll_s` is how often one looks where changes cannot be seen, or folders hold too much else to be
    watched, and `sweep_s` how often everywhere, for what nobody told.
    """

    quiet_s: float = 2.0
    longest_s: float = 30.0
    poll_s: float = 30.0
    sweep_s: float = 900.0


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A reason to look: start, change, again (asked for), poll or sweep; `path` is the last one that changed.

    It is a hint, never the whole truth: `changes` is a count of events, and other files may have changed.
    """

    reason: str
    changes: int = 0
    path: str = ""


class Watcher:
    """Waits for changes below some folders, which may be missing, come, go, or be replaced.

    `roots` is asked again whenever the watches are set up. `notice` is told once, in a sentence, what keeps
    changes from being seen. One thread iterates over `batches`; `stop`, `ask_again` and `tell_news` may be
    called from any. Memory does not grow with the number of changes.
    """

    def __init__(
        self,
        roots: Callable[[], Iterable[Root]],
        *,
        timing: Timing | None = None,
        poll: bool = False,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._roots = roots
        self._timing = timing or Timing()
        self._poll_only = poll
        self._notice = notice
        self._noticed: set[str] = set()
        self._observation: Observation | None = None
        self._condition = threading.Condition()
        self._stopped = False
        self._reshaped = False
        self._polled: tuple[Root, ...] = ()
        self._print = b""
        self._in_vain = 0
        self._first: float | None = None
        self._last = 0.0
        self._changes = 0
        self._path = ""
        self._again_at: float | None = None
        self._arranged_at = 0.0
        self._looked_at = 0.0
        self._rest_until = 0.0
        self.is_looking = False
        """Whether the iterating thread is outside: at work on a batch, not waiting for one."""

    def __enter__(self) -> Watcher:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._drop()

    def start(self) -> None:
        """Begin to watch: what changes from now on leads to a batch."""
        self._arrange()

    def stop(self) -> None:
        """End `batches`, also while it waits."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def ask_again(self, seconds: float) -> None:
        """Ask for a batch after some time, whether something changes or not."""
        with self._condition:
            self._again_at = time.monotonic() + seconds
            self._condition.notify_all()

    def tell_news(self, *, found: bool) -> None:
        """Say whether the last look found anything; after several in vain, changes are waited out longer."""
        self._in_vain = 0 if found else self._in_vain + 1

    def batches(self) -> Iterator[Batch]:
        """Yield when it is time to look, at once to begin with, until stopped. Blocks in between."""
        batch: Batch | None = Batch(reason="start")
        while batch is not None and not self._stopped:
            began = time.monotonic()
            self.is_looking = True
            yield batch
            self.is_looking = False
            self._looked_at = time.monotonic()
            if batch.reason != "start":
                rest = min((self._looked_at - began) * _REST_SHARE, _REST_MAX_S)
                self._rest_until = self._looked_at + rest
            batch = self._wait_for_news()
        self._drop()

    def _wait_for_news(self) -> Batch | None:
        """Wait for the next batch; of looks at polled roots only those that find a change make one."""
        while (reason := self._wait()) is not None:
            if reason == "poll":
                self._looked_at = time.monotonic()
                if not self._has_changed():
                    continue
            with self._condition:
                batch = Batch(reason=reason, changes=self._changes, path=self._path)
                self._first, self._changes, self._path, self._again_at = None, 0, "", None
            if self._reshaped or reason == "sweep":
                self._arrange()
            return batch
        return None

    def _has_changed(self) -> bool:
        before, self._print = self._print, take_print(self._polled)
        return self._print != before

    def _wait(self) -> str | None:
        """Wait until it is time to look, and return why; None when stopped."""
        with self._condition:
            while not self._stopped:
                at, reason = self._find_next()
                at = max(at, self._rest_until)
                now = time.monotonic()
                if at <= now:
                    return reason
                self._condition.wait(at - now)
        return None

    def _find_next(self) -> tuple[float, str]:
        """Return when to look next as things stand, and why."""
        reasons = [(self._arranged_at + self._timing.sweep_s, "sweep")]
        if self._polled:
            reasons.append((self._looked_at + self._timing.poll_s, "poll"))
        if self._again_at is not None:
            reasons.append((self._again_at, "again"))
        if self._first is not None:
            latest = self._first + self._timing.longest_s
            quiet_s = self._timing.quiet_s * 2 ** min(max(self._in_vain - _PATIENCE, 0), _MAX_DOUBLINGS)
            reasons.append((min(self._last + quiet_s, latest), "change"))
        return min(reasons)

    def _see(self, path: str) -> None:
        with self._condition:
            self._last = time.monotonic()
            self._changes += 1
            self._path = path
            # The waiting thread is woken once, not for every change.
            if self._first is None:
                self._first = self._last
                self._condition.notify_all()

    def _see_reshaped(self) -> None:
        self._reshaped = True

    def _arrange(self) -> None:
        """Set up all watches anew. What changed before or meanwhile is for the look that follows."""
        self._drop()
        self._arranged_at = self._looked_at = time.monotonic()
        self._reshaped = False
        roots = tuple(self._roots())
        self._polled = roots if self._poll_only else self._watch(roots)
        self._print = take_print(self._polled)

    def _watch(self, roots: tuple[Root, ...]) -> tuple[Root, ...]:
        """Set up watches on what can be watched; return the rest."""
        from skillopt_sleep.watching.observing import Observation

        plan = make_plan(roots)
        for root, system in plan.remote:
            self._tell(f"{root} lies on {system}, where changes cannot be seen: looking every {self._every}")
        for _ in range(_TRIES):
            try:
                self._observation = Observation(plan, changed=self._see, reshaped=self._see_reshaped)
            except OSError as error:
                reason = _OUT_OF_WATCHES.get(error.errno or 0, error.strerror)
                self._tell(f"the system has no watches left ({reason}): looking every {self._every}")
                return roots
            again = make_plan(roots)
            if again == plan:
                others = {*plan.crowded, *(root for root, _ in plan.remote)}
                return tuple(root for root in roots if os.path.abspath(root.path) in others)  # noqa: PTH100
            # A folder came while the watches were set up, too late for them and too early to be told.
            plan = again
            self._drop()
        return roots

    def _drop(self) -> None:
        observation, self._observation = self._observation, None
        if observation is not None:
            observation.stop()

    def _tell(self, sentence: str) -> None:
        if sentence not in self._noticed:
            self._noticed.add(sentence)
            self._notice(sentence)

    @property
    def _every(self) -> str:
        return f"{self._timing.poll_s:g} s"
