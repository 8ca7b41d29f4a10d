"""Starts a run from outside its sandbox and watches over it; a program of its own, without dependencies."""
