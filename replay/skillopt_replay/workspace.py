"""Disposable clones of a project."""
