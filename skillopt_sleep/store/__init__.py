"""The state database: index, spend, evidence, proposals."""
