"""What Claude Code writes around words, or beside them, is not typed again."""

from __future__ import annotations

import pytest

from skillopt_harvesters import SOURCES
from tests.harvesters.rollouts import read_after

OPENING, CLOSING = '\n\n<pasted_content id="e14d">\n', '\n</pasted_content id="e14d">\n'
LOG = "line one\n<system-reminder>of a log</system-reminder>\n  line three"


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        (f"explain {OPENING}{LOG}{CLOSING}\n briefly", f"explain {LOG} briefly"),
        (f"explain {OPENING}{LOG}{CLOSING}", f"explain {LOG}"),
        (
            f"{OPENING}<system-reminder>a</system-reminder>\nb{CLOSING}",
            "<system-reminder>a</system-reminder>\nb",
        ),
        (
            f"{OPENING}{LOG}{CLOSING}\n and {OPENING}b\n<\\/pasted_content>{CLOSING}",
            f"{LOG} and b\n</pasted_content>",
        ),
        (f'{OPENING}<pasted_content id="77ab">\nx{CLOSING}', '<pasted_content id="77ab">\nx'),
        ('what is </pasted_content id="x"> for?', 'what is </pasted_content id="x"> for?'),
        ("is <pasted_content> a tag?", "is <pasted_content> a tag?"),
    ],
)
def test_a_prompt_has_what_was_pasted_and_not_what_the_client_puts_around_it(
    transcript, read, written, typed
):
    t = transcript()
    t.user(written)
    t.agent("ok")
    t.add("attachment", attachment={"type": "queued_command", "commandMode": "prompt", "prompt": written})
    t.agent("ok")
    assert read(t).prompts == (typed, typed)


def test_pastes_without_end_take_no_time(transcript, read):
    t = transcript()
    t.user(
        '<pasted_content id="a">\n' * 100_000 + '</pasted_content id="a">' + '<pasted_content id="a">\n' * 9
    )
    t.agent("ok")
    assert len(read(t).prompts) == 1


@pytest.mark.parametrize("arguments", ["", "keep it short", "drop ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"])
@pytest.mark.parametrize("cut", [None, 3, 4, 5])
def test_a_command_that_is_told_as_typed_and_as_a_command_is_one(transcript, arguments, cut):
    # As Claude Code 2.1.240 to 2.1.300 writes `/compact`.
    t = transcript()
    t.user("fix it")
    t.agent("done")
    typed = f"/compact {arguments}".strip()
    t.user(typed)
    t.add("system", subtype="compact_boundary", parentUuid=None)
    t.user("This session is being continued from a previous conversation.", isCompactSummary=True)
    element = "<command-name>/compact</command-name>\n<command-message>compact</command-message>"
    t.user(f"{element}\n<command-args>{arguments}</command-args>")
    t.user("fix that too")
    t.agent("done")
    path = t.write()
    reading = read_after(path, cut, SOURCES["claude"])
    assert [turn.command for turn in reading.session.turns] == [None, "/compact", None]
    assert "ghp_" not in repr(reading.session.turns)
