"""The morning: look at proposals and decide."""
