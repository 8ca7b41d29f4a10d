"""Regions are read whatever state their markers are in, and written as one sound pair each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.skills import Skill, SkillInvalid, find_problems
from skillopt_sleep.training.contents import EditRefused
from skillopt_sleep.training.markdown import find_markers, find_protected
from skillopt_sleep.training.notes import add_notes, read_notes, write_notes
from skillopt_sleep.training.regions import mend_regions, read_region, split_regions, write_region

FRONT = "---\nname: house-sql\ndescription: Use for SQL.\n---\n"
S, SE = "<!-- SLOW_UPDATE_START -->", "<!-- SLOW_UPDATE_END -->"
A, AE = "<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->"


def make(body):
    return Skill("house-sql", FRONT + body)


def write(body, text, region="slow_update", max_tokens=200):
    return write_region(make(body), region, text, max_tokens=max_tokens).body


def test_a_new_region_goes_to_the_end_and_nothing_else_changes():
    assert write("\nRules.\n", "Be kind.") == f"\nRules.\n\n{S}\nBe kind.\n{SE}\n"
    assert (
        read_region(write("\nRules.", "Be kind.\n\n- And brief."), "slow_update")
        == "Be kind.\n\n- And brief."
    )


def test_a_region_is_replaced_where_it_is_and_the_other_stays_byte_for_byte():
    body = f"\nIntro.\n\n{S}\nOld.\n{SE}\n\n## More \n\n{A}\n- note  \n{AE}\n\nEnd."
    assert write(body, "New.") == body.replace("Old.", "New.")
    assert write(body, "- other", "appendix") == body.replace("- note  ", "- other")


def test_an_empty_text_takes_the_region_away():
    body = "\nRules.\n\n## More\n"
    assert write(write(body, "Be kind."), " \n") == body
    middle = f"\nRules.\n\n{S}\nOld.\n{SE}\n\n## More\n"
    assert write(middle, "") == body


def test_windows_line_endings_are_kept():
    body = write("\r\nRules.\r\n", "One.\nTwo.")
    assert body == f"\r\nRules.\r\n\r\n{S}\r\nOne.\r\nTwo.\r\n{SE}\r\n"
    assert read_region(body, "slow_update") == "One.\r\nTwo."


def test_a_region_goes_before_a_code_block_that_is_open_at_the_end():
    assert write("\nRules.\n\n```\ncode\n", "Be kind.") == f"\nRules.\n\n{S}\nBe kind.\n{SE}\n\n```\ncode\n"


@pytest.mark.parametrize(
    ("body", "outside", "regions"),
    [
        (f"a\n\n{S}\nb\n{SE}\nc", "a\n\nc", {"slow_update": "b"}),
        (f"a\n{S}\nb", "a\n\nb", {}),
        (f"a\n{SE}\nb", "a\n\nb", {}),
        (f"{S}\na\n{S}\nb\n{SE}\nc\n{SE}\nd", "c\n\nd", {"slow_update": "a\n\nb"}),
        (f"{S}\na\n{A}\nb\n{AE}\nc\n{SE}", "", {"slow_update": "a\n\nc", "appendix": "b"}),
        (f"{S}\na\n{A}\nb\n{SE}\nc\n{AE}\nd", "d", {"slow_update": "a", "appendix": "b\n\nc"}),
        (f"{S}\na\n{SE}\nb\n{S}\nc\n{SE}", "b\n", {"slow_update": "a\n\nc"}),
        (f"```\n{S}\nx\n{SE}\n```\n", f"```\n{S}\nx\n{SE}\n```\n", {}),
    ],
)
def test_broken_and_nested_markers_are_read_without_losing_text(body, outside, regions):
    parts = split_regions(body)
    assert (parts.outside, parts.regions) == (outside, regions)


def test_what_is_written_into_a_broken_skill_is_one_sound_pair_a_region():
    body = f"\na\n\n{S}\nb\n{S}\nc\n{A}\nd\n{SE}\ne\n{AE}\nf\n{SE}\n"
    assert write(body, "new") == f"\na\n\nf\n\n{S}\nnew\n{SE}\n\n{A}\nd\n\ne\n{AE}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"x {SE} y", "region marker"),
        ("```\nopen", "not closed"),
        ("[//]: # (hidden)", "does not see"),
        ("x\n---\ny", "front matter"),
        ("...", "empty"),
    ],
)
def test_text_that_would_break_out_of_its_region_is_refused(text, why):
    with pytest.raises(EditRefused, match=why):
        write("\nRules.\n", text)


def test_a_region_is_bounded_and_says_that_its_text_is_too_long():
    with pytest.raises(EditRefused, match="26 tokens, 25 allowed") as caught:
        write("\nRules.\n", "x" * 101, max_tokens=25)
    assert caught.value.over_size
    assert read_region(write("\nRules.\n", "x" * 100, max_tokens=25), "slow_update") == "x" * 100


def test_a_skill_keeps_text_outside_of_its_regions():
    with pytest.raises(EditRefused, match="body is empty"):
        write(f"\n{S}\nonly\n{SE}\n", "")
    with pytest.raises(SkillInvalid):
        write_region(Skill("other", FRONT + "\nx\n"), "appendix", "x", max_tokens=9)


def test_notes_are_lines_of_the_appendix_and_each_is_there_once():
    noted = add_notes(
        make("\nRules.\n"), ["Check the\n dates.", "- check the DATES", "Be kind"], max_tokens=100
    )
    assert noted.skill.body == f"\nRules.\n\n{A}\n## Reminders\n\n- Check the dates.\n- Be kind\n{AE}\n"
    assert (noted.added, noted.known) == (("Check the dates.", "Be kind"), ("check the DATES",))
    assert read_notes(noted.skill.body) == ("Check the dates.", "Be kind")
    again = add_notes(noted.skill, ["be kind."], max_tokens=100)
    assert (again.skill, again.added) == (noted.skill, ())


def test_a_note_that_may_not_be_written_or_has_no_room_costs_that_note_only():
    noted = add_notes(
        make("\nRules.\n"), ["", f"x {AE}", "`a` ``` b", "Long. " * 40, "Short."], max_tokens=20
    )
    assert noted.added == ("Short.",)
    assert [note for note, _ in noted.refused] == ["", f"x {AE}", "`a` ``` b"]
    assert noted.no_room == (("Long. " * 40).strip(),)


def test_a_shorter_list_of_notes_replaces_the_appendix():
    skill = add_notes(make("\nRules.\n"), ["One.", "Two.", "Three."], max_tokens=100).skill
    shorter = write_notes(skill, ["One and two."], max_tokens=100)
    assert read_notes(shorter.body) == ("One and two.",)
    assert write_notes(shorter, [], max_tokens=100).body == "\nRules.\n"


LINES = st.lists(
    st.sampled_from(
        [
            "a",
            "b",
            "- c",
            "## D",
            "",
            "```",
            "<!-- x -->",
            "<!--",
            "-->",
            S,
            SE,
            A,
            AE,
            f"e {S} f",
            f"{AE}{S}",
        ]
    ),
    max_size=14,
)
BODIES = st.builds(
    lambda lines, joint: "\nStart.\n" + joint.join(lines), LINES, st.sampled_from(["\n", "\r\n"])
)
TEXTS = st.sampled_from(["", "New.", "- one\n- two", "## T\n\n```\ncode\n```", "x\r\ny"])


def _words(text):
    for marker in find_markers(text)[::-1]:
        text = f"{text[: marker.start]} {text[marker.end :]}"
    return sorted(text.split())


@given(BODIES, TEXTS, st.sampled_from(["slow_update", "appendix"]))
def test_whatever_the_skill_holds_a_region_is_written_sound_and_nothing_else_is_lost(body, text, region):
    parts = split_regions(body)
    whole = " ".join([parts.outside, *parts.regions.values()])
    assert _words(whole) == _words(body)
    try:
        skill = write_region(make(body), region, text, max_tokens=200)
    except EditRefused:
        return
    assert find_problems(skill) == []
    assert skill.text.startswith(FRONT)
    assert read_region(skill.body, region).split() == text.split()
    left = split_regions(skill.body)
    assert left.outside.split() == parts.outside.split()
    for other in {"slow_update", "appendix"} - {region}:
        assert left.regions.get(other, "") == parts.regions.get(other, "")
    assert mend_regions(skill.body) == skill.body
    assert write_region(skill, region, text, max_tokens=200) == skill
    shown = [body[i.start : i.end] for body in [skill.body] for i in find_protected(body)]
    for name in left.regions:
        assert any(name.upper() in one for one in shown)


@given(BODIES, TEXTS)
def test_a_sound_skill_only_gets_the_region_and_gives_it_back(body, text):
    if find_markers(body) or not text:
        return
    try:
        skill = write_region(make(body), "appendix", text, max_tokens=200)
    except EditRefused:
        return
    assert "".join(split_regions(skill.body).outside.split()) == "".join(body.split())
    start = skill.body.index(A)
    assert body.startswith(skill.body[:start].rstrip("\r\n"))
    assert body.rstrip("\r\n").endswith(skill.body[skill.body.index(AE) + len(AE) :].strip("\r\n"))
