"""A run's hard and soft score as the one number that is compared."""

from __future__ import annotations

METRICS = ("hard", "soft", "mixed")


def project(hard: float, soft: float, metric: str, *, weight: float = 0.5) -> float:
    """Return the score to compare: `hard`, `soft`, or (1 - weight) * hard + weight * soft for `mixed`.

    Both scores and the weight lie in [0, 1]; ValueError otherwise.
    """
    for name, value in (("hard", hard), ("soft", soft), ("weight", weight)):
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"{name} {value} is not between 0 and 1")
    if metric == "hard":
        return hard
    if metric == "soft":
        return soft
    if metric == "mixed":
        return (1.0 - weight) * hard + weight * soft
    raise ValueError(f"metric {metric!r} is not one of: {', '.join(METRICS)}")
