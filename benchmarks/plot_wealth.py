"""Draws docs/images/wealth.svg: the evidence for candidates night by night, by the benchmark's simulation.

Twelve past failures a night, one run a side, the gate's own rules for stopping; the seed is fixed, so the
picture comes out the same every time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from math import log10
from pathlib import Path
from random import Random

import msgspec
from bench_gate_streams import one_difference

from skillopt_gate.eprocess import bet, rules_out, start, wealth
from skillopt_gate.verdicts import Policy

OUT = Path(__file__).parents[1] / "docs" / "images" / "wealth.svg"
NIGHTS = 10
TASKS = 12
STREAMS = 6
KINDS = (
    ("lifts half of the tasks", 0.5, "#2e9e5b"),
    ("lifts a quarter of them", 0.25, "#3b6fd4"),
    ("changes nothing", 0.0, "#c2453c"),
)
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 30, 50
LOWEST, HIGHEST = 0.03, 1000.0


def walk(seed: str, lifted: float, policy: Policy) -> list[float]:
    """Return the wealth after each night, 1 first, until the candidate is accepted or dropped."""
    rng = Random(seed)
    evidence = start("plot")
    values = [1.0]
    for _ in range(NIGHTS):
        steps = [one_difference(rng, lifted, at) for at in range(TASKS)]
        evidence = msgspec.structs.replace(bet(evidence, steps)[0], seen=())
        values.append(wealth(evidence))
        won = values[-1] * policy.alpha >= 1 and evidence.effect >= policy.min_effect
        if won or values[-1] < policy.futility or rules_out(evidence, 2 * policy.min_effect):
            break
    return values


def x_of(night: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * night / NIGHTS


def y_of(value: float) -> float:
    share = (log10(min(max(value, LOWEST), HIGHEST)) - log10(LOWEST)) / (log10(HIGHEST) - log10(LOWEST))
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def draw(seed: str) -> str:
    policy = Policy()
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        "<title>Evidence for candidates, night by night</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *draw_axes(policy),
    ]
    for kind, (name, lifted, colour) in enumerate(KINDS):
        for stream in range(STREAMS):
            lines += draw_walk(walk(f"{seed} {name} {stream}", lifted, policy), colour)
        y = TOP + 20 + 24 * kind
        x = WIDTH - RIGHT + 20
        lines.append(f'<line x1="{x}" y1="{y}" x2="{x + 18}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        lines.append(f'<text x="{x + 24}" y="{y + 4}" fill="#222222">{name}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def draw_axes(policy: Policy) -> Iterator[str]:
    right = WIDTH - RIGHT
    for value in (0.1, 1.0, 10.0, 100.0, 1000.0):
        y = y_of(value)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#e4e4e4"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#555555">{value:g}</text>'
    for value, name in ((1 / policy.alpha, "accepted"), (policy.futility, "dropped")):
        y = y_of(value)
        yield (
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#222222"'
            ' stroke-dasharray="5 4"/>'
        )
        yield f'<text x="{right + 6}" y="{y + 4:.1f}" fill="#222222">{name} ({value:g})</text>'
    for night in range(NIGHTS + 1):
        yield (
            f'<text x="{x_of(night):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle"'
            f' fill="#555555">{night}</text>'
        )
    middle = f"{(LEFT + right) / 2:.0f}"
    yield f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle" fill="#222222">nights</text>'
    yield (
        f'<text x="18" y="{(TOP + HEIGHT - BOTTOM) / 2:.0f}" text-anchor="middle" fill="#222222"'
        f' transform="rotate(-90 18 {(TOP + HEIGHT - BOTTOM) / 2:.0f})">evidence, to 1</text>'
    )


def draw_walk(values: Sequence[float], colour: str) -> Iterator[str]:
    points = " ".join(f"{x_of(night):.1f},{y_of(value):.1f}" for night, value in enumerate(values))
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.6" opacity="0.75"/>'
    x, y = x_of(len(values) - 1), y_of(values[-1])
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", default="2026")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    options.out.write_text(draw(options.seed), encoding="utf-8")


if __name__ == "__main__":
    main()
