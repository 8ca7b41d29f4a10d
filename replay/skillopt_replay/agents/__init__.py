"""Agents that run tasks."""
