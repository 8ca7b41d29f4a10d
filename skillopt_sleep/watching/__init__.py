"""Noticing that transcripts grow, and keeping the index fresh. Only this package knows watchdog."""

from skillopt_sleep.watching.freshness import Update, keep_fresh
from skillopt_sleep.watching.places import Root
from skillopt_sleep.watching.watcher import Batch, Timing, Watcher

__all__ = ["Batch", "Root", "Timing", "Update", "Watcher", "keep_fresh"]
