"""A whole night on bundled sample transcripts."""
