"""Transcript files to sessions to recurring tasks."""
