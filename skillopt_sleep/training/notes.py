"""The notes of the appendix: short reminders of rules that are there and were not followed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from skillopt_replay.skills import Skill
from skillopt_sleep.training.contents import EditRefused, clean_content
from skillopt_sleep.training.markdown import ITEM, fold, split_lines
from skillopt_sleep.training.regions import read_region, write_region

_HEADING = "## Reminders"


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """The skill with new notes in its appendix, and what became of each note.

    `known` are notes that were there already, `refused` those that may not be written, with the reason, and
    `no_room` those for which the appendix must be made shorter first.
    """

    skill: Skill
    added: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    no_room: tuple[str, ...] = ()


def read_notes(body: str) -> tuple[str, ...]:
    """Return the notes of the appendix, in their order."""
    items = (ITEM.match(line.text) for line in split_lines(read_region(body, "appendix")))
    return tuple(item["text"].strip() for item in items if item)


def add_notes(skill: Skill, notes: Iterable[str], *, max_tokens: int) -> Noted:
    """Return the skill with the notes at the end of its appendix, as far as `max_tokens` goes.

    A note is one line. One that is there already in other case, spaces or punctuation at its end is not
    added again. Raises SkillInvalid for a skill that is not legal, EditRefused for one whose region markers
    cannot be put in order.
    """
    present = list(read_notes(skill.body))
    folded = {fold(note) for note in present}
    added: list[str] = []
    known: list[str] = []
    refused: list[tuple[str, str]] = []
    no_room: list[str] = []
    for note in notes:
        try:
            line = _clean(note)
        except EditRefused as error:
            refused.append((note, error.detail))
            continue
        if fold(line) in folded:
            known.append(line)
            continue
        try:
            skill = write_notes(skill, [*present, line], max_tokens=max_tokens)
        except EditRefused as error:
            if not error.over_size:
                raise
            no_room.append(line)
            continue
        present.append(line)
        folded.add(fold(line))
        added.append(line)
    return Noted(
        skill=skill, added=tuple(added), known=tuple(known), refused=tuple(refused), no_room=tuple(no_room)
    )


def write_notes(skill: Skill, notes: Iterable[str], *, max_tokens: int) -> Skill:
    """Return the skill with these notes as its whole appendix; without any it has none.

    Raises EditRefused and SkillInvalid as `write_region` does, and EditRefused for a note that may not be
    written.
    """
    lines = [f"- {_clean(note)}" for note in notes]
    text = "\n".join([_HEADING, "", *lines]) if lines else ""
    return write_region(skill, "appendix", text, max_tokens=max_tokens)


def _clean(note: str) -> str:
    """Return the note as one line without a bullet. Raises EditRefused for one that may not be written."""
    line = clean_content(" ".join(note.split()))
    item = ITEM.match(line)
    text = item["text"] if item else line
    if "```" in text or "~~~" in text:
        raise EditRefused("the note holds a code block")
    return text
