"""Prompts that look like what clients put in, and are the user's."""

from __future__ import annotations

import pytest

from skillopt_harvesters import SOURCES, read_file
from tests.harvesters.rollouts import Rollout
from tests.support.copilot_events import Events

TYPED = [
    "<attachments> needs a max height",
    "<tick> should pulse",
    "<system-reminder> shows up in my logs, why?",
    "why does <system-reminder>x</system-reminder> show up?",
    "<div>this</div> renders twice",
    "<skill> is the wrong element here",
    "<turn_aborted> is what exactly?",
    "# AGENTS.md is wrong, fix it",
    "Caveat: keep the old API",
    "[Request interrupted] is what the log says",
    "Base directory for the build is wrong",
    "\ufeffwith a byte order mark",
    "\u200bwith a zero width space",
    "a\u2028b\u2029c\x85d",
    "e\u0301 and \u00e9, \u202egnol\u202c",
    "/not-a-command, but a path: /usr/bin",
    "!important is ignored by the browser",
    '{"type":"user","message":{"role":"user","content":"x"}}',
]


@pytest.mark.parametrize("text", TYPED, ids=range(len(TYPED)))
def test_of_claude_code(transcript, read, text):
    t = transcript()
    t.user(text)
    t.agent("done")
    t.user([{"type": "text", "text": text}])
    t.agent("done")
    assert read(t).prompts == (text.strip(), text.strip())


@pytest.mark.parametrize("text", TYPED, ids=range(len(TYPED)))
@pytest.mark.parametrize("events", [True, False])
def test_of_codex(tmp_path, text, events):
    r = Rollout(tmp_path)
    r.begin()
    r.prompt(text, events=events)
    r.answer("done")
    assert r.read().prompts == (text.strip(),)


@pytest.mark.parametrize("text", ["<context.Provider> breaks", "<reminder> is empty", *TYPED[3:5]])
def test_of_copilot(tmp_path, text):
    events = Events()
    events.user(text)
    events.agent("done")
    [reading] = read_file(SOURCES["copilot"], events.write(tmp_path))
    assert reading.session.prompts == (text,)


def test_two_prompts_of_which_the_event_comes_first(tmp_path):
    r = Rollout(tmp_path)
    for text in ("one", "two"):
        r.event("user_message", message=text, images=[])
        r.given(text)
    r.answer("done")
    assert r.read().prompts == ("one", "two")
