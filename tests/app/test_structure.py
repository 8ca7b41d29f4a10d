"""What the document itself must keep to."""

from __future__ import annotations

import msgspec

from skillopt_sleep.night.structure import find_objections
from tests.app.night_samples import CANDIDATE


def objections(text: str, *, incumbent=CANDIDATE, max_tokens: int = 600) -> list[str]:
    return find_objections(msgspec.structs.replace(CANDIDATE, text=text), incumbent, max_tokens=max_tokens)


def test_the_live_skill_is_no_candidate_whatever_its_blanks():
    said = ["it is the skill that is live already"]
    assert objections(CANDIDATE.text) == said
    assert objections(CANDIDATE.text.replace("- Use", "\n-  Use") + "\n") == said
    assert objections(CANDIDATE.text + "\n- Be brief.\n") == []


def test_a_skill_of_which_nothing_is_left_is_refused():
    assert "the body is empty" in objections(CANDIDATE.text.replace("- Use `uv add`.", ""))


def test_front_matter_and_size_are_held():
    assert objections(CANDIDATE.text.replace("a package", "anything")) == [
        "its front matter is not the one in force"
    ]
    assert "tokens" in objections(CANDIDATE.text + "\n" + "word " * 3000)[0]
