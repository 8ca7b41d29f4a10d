"""How well clusters fit the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Fit(NamedTuple):
    """B-cubed and pairwise precision and recall, 0 to 1."""

    precision: float
    recall: float
    pair_precision: float
    pair_recall: float


def score(pairs: Sequence[tuple[Hashable, Hashable]]) -> Fit:
    """Return the fit of (family, cluster) pairs, one per item."""
    both, truth, found = Counter(pairs), Counter(t for t, _ in pairs), Counter(f for _, f in pairs)
    count = max(len(pairs), 1)

    def pairs_in(counts: Counter) -> int:
        return sum(n * (n - 1) // 2 for n in counts.values())

    return Fit(
        sum(n * n / found[f] for (_, f), n in both.items()) / count,
        sum(n * n / truth[t] for (t, _), n in both.items()) / count,
        pairs_in(both) / max(pairs_in(found), 1),
        pairs_in(both) / max(pairs_in(truth), 1),
    )
