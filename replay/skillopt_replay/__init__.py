"""Tasks to rollouts: agents, models, sandbox and checks."""
