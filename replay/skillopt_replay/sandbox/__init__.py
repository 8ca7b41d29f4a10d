"""Operating-system sandboxes around a run."""
