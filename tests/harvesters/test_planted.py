"""Planted families are found again, in worlds of our own and in the generated corpus of transcripts."""

from __future__ import annotations

import json
import runpy
import sys
from collections import Counter
from pathlib import Path

import pytest

from skillopt_harvesters import SOURCES, read_file
from skillopt_harvesters.asks import find_asks
from skillopt_harvesters.grouping import Cluster, group
from tests.harvesters.planted.held_out import HELD_OUT
from tests.harvesters.planted.make import make
from tests.harvesters.planted.score import Fit, score
from tests.harvesters.planted.workshop import WORKSHOP

CORPUS = Path(__file__).parents[2] / "benchmarks" / "corpus.py"
NOT_INTERACTIVE = "headless"


def fit(clusters: list[Cluster], truth: dict[tuple[str, int], str | None]) -> Fit:
    """Return how well the asks that were planted fit: those that are alone belong with nothing."""
    return score(
        [
            (truth[one.session, one.turn] or (one.session, one.turn), number)
            for number, cluster in enumerate(clusters)
            for one in cluster.asks
            if (one.session, one.turn) in truth
        ]
    )


@pytest.mark.parametrize(
    ("world", "count", "seed", "precision", "recall"),
    [
        (WORKSHOP, 100, 1, 0.93, 0.85),
        (WORKSHOP, 300, 2, 0.98, 0.95),
        (WORKSHOP, 1000, 3, 0.99, 0.99),
        (HELD_OUT, 100, 1, 0.95, 0.80),
        (HELD_OUT, 300, 2, 0.98, 0.90),
        (HELD_OUT, 1000, 3, 0.99, 0.91),
    ],
    ids=[f"{world}-{count}" for world in ("workshop", "held out") for count in (100, 300, 1000)],
)
def test_families_among_near_misses_and_noise_are_found(world, count, seed, precision, recall):
    planted = make(world, count, seed)
    found = fit(group(one for session in planted.sessions for one in find_asks(session)), planted.truth)
    assert min(found.precision, found.pair_precision) >= precision, found
    assert found.recall >= recall, found


@pytest.mark.parametrize(
    ("files", "seed", "recall"), [(100, 7, 0.9), (100, 52, 0.93), (300, 8, 0.95), (1000, 7, 0.99)]
)
def test_the_families_of_the_generated_corpus_are_found(
    tmp_path: Path, monkeypatch, capsys, files: int, seed: int, recall: float
):
    arguments = f"--out {tmp_path} --files {files} --mb {files * 0.002} --seed {seed} --sidechains 9"
    monkeypatch.setattr(sys, "argv", [str(CORPUS), *arguments.split()])
    with pytest.raises(SystemExit):
        runpy.run_path(str(CORPUS), run_name="__main__")
    told = json.loads((tmp_path / "truth.json").read_text())["sessions"]
    asks, truth = [], {}
    for one in told:
        (session,) = [reading.session for reading in read_file(SOURCES["claude"], tmp_path / one["file"])]
        own = list(find_asks(session))
        if one["kind"] == NOT_INTERACTIVE:
            assert own == []
            continue
        truth[own[0].session, own[0].turn] = one["family"]
        asks += own
    clusters = group(asks)
    found = fit(clusters, truth)
    assert min(found.precision, found.pair_precision) >= 0.98, found
    assert found.recall >= recall, found
    assert found.pair_recall >= 0.9, found
    kinds = Counter(
        frozenset(truth[a.session, a.turn] for a in cluster.asks if (a.session, a.turn) in truth)
        for cluster in clusters
    )
    assert {name for kind in kinds for name in kind} == set(truth.values()), "every family is found"
    if files >= 1000:
        assert kinds == Counter(map(frozenset, ([name] for name in set(truth.values())))), "and no other"
