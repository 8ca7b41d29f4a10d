"""What the optimizer is shown of a skill."""

from __future__ import annotations

from skillopt_replay.skill_files import render_files
from skillopt_replay.skills import Skill

FILE_TOKENS = 16_000  # of the files beside SKILL.md


def show_skill(skill: Skill, title: str = "The skill as it is") -> str:
    """Return the body of the skill and its other files, as far as there is room for them."""
    text = f"{title}:\n\n{skill.body.strip()}"
    if skill.files:
        text += f"\n\nIts other files:\n\n{render_files(skill.files, FILE_TOKENS * 4)}"
    return text
