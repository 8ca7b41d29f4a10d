"""The daemon: keeps the index fresh, and works a night when one is due and nobody minds."""
