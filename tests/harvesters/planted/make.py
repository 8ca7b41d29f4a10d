"""Makes sessions from a world: families to plant, and noise around them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from skillopt_harvesters import Kind, Session, ToolCall, Turn


@dataclass(frozen=True)
class Family:
    """One planted family. Every ask is a template with {x} and perhaps {y}."""

    name: str
    asks: tuple[str, ...]
    corrections: tuple[str, ...] = ()
    skill: str = ""
    command: str = ""
    nouns: tuple[str, ...] = ()
    share: float = 1.0


@dataclass(frozen=True)
class World:
    """What the sessions are made of. `alone` are asks that occur once each, `habits` skills loaded always."""

    families: tuple[Family, ...]
    nouns: tuple[str, ...]
    alone: tuple[str, ...]
    projects: tuple[str, ...] = ("/w/shop", "/w/site", "/w/lab")
    generic: tuple[str, ...] = (
        "no, that's wrong",
        "try again",
        "still not working",
        "no, use pnpm, not npm",
        "that's not what I asked for",
        "it still fails",
    )
    habits: tuple[str, ...] = ("house-rules",)
    seconds: tuple[str, ...] = ("commit and push the branch", "open a pull request")


@dataclass
class Planted:
    """The sessions, and the family of each ask by (session, turn): None for noise."""

    sessions: list[Session] = field(default_factory=list)
    truth: dict[tuple[str, int], str | None] = field(default_factory=dict)


def make(world: World, count: int, seed: int, *, noise: float = 0.25) -> Planted:
    """Return `count` sessions: of a family by its share, or, by the chance `noise`, of an ask alone."""
    rng = random.Random(seed)
    made = Planted()
    alone = list(world.alone)
    rng.shuffle(alone)
    weights = [family.share for family in world.families]
    for number in range(count):
        name = f"s{number:05}"
        if alone and rng.random() < noise:
            first, family = alone.pop(), None
        else:
            family = rng.choices(world.families, weights)[0]
            nouns = family.nouns or world.nouns
            x, y = rng.sample(nouns, 2)
            first = rng.choice(family.asks).format(x=x, y=y)
        made.sessions.append(_make_session(rng, world, family, first, name, number))
        made.truth[name, 0] = family.name if family else None
    return made


def _make_session(
    rng: random.Random, world: World, family: Family | None, first: str, name: str, number: int
) -> Session:
    skills = []
    if family and family.skill and rng.random() < 0.6:
        skills.append(family.skill)
    if world.habits and rng.random() < 0.3:
        skills.append(rng.choice(world.habits))
    others = [one.skill for one in world.families if one.skill]
    if others and rng.random() < 0.04:
        skills.append(rng.choice(others))
    said: list[str] = []
    if family and family.corrections and rng.random() < 0.5:
        said += rng.sample(family.corrections, rng.randint(1, len(family.corrections)))
    elif rng.random() < 0.4:
        said.append(rng.choice(world.generic))
    if rng.random() < 0.15:
        said.append(rng.choice(world.seconds))
    if rng.random() < 0.3:
        said.append("thanks, looks good")
    command = family.command if family and family.command else None
    day = f"2026-{1 + number // 600 % 12:02}-{1 + number // 24 % 28:02}T{number % 24:02}"
    turns = [
        Turn(
            prompt=first,
            command=command,
            answer="Done, have a look.",
            tool_calls=(ToolCall(name="Read"),),
            skills=tuple(skills),
            started=f"{day}:00:00.000Z",
        )
    ]
    for place, text in enumerate(said, 1):
        turns.append(Turn(prompt=text, answer="Changed.", started=f"{day}:{place:02}:00.000Z"))
    return Session(
        id=name,
        client="claude",
        client_version="2.1.0",
        kind=Kind.HUMAN,
        path=f"/t/{name}.jsonl",
        project=rng.choice(world.projects),
        started=turns[0].started,
        turns=tuple(turns),
    )
