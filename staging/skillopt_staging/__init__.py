"""Verdicts to git branches, and back out again: stage, apply, reject, revert."""
