"""Evidence, not luck: paired scores to verdicts, and splits. Pure functions."""
