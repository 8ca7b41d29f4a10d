"""Model judges: for what no code can check, blind to which skill was on offer."""
