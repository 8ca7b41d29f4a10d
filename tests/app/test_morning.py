"""The morning after: what was learned and why, what to do now, and what became of what was applied."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from skillopt_gate.verdicts import Decision
from skillopt_replay.tasks import Task
from skillopt_sleep.cli import app
from skillopt_sleep.corrections import measure_rise, watch_applied
from skillopt_sleep.night.morning import list_next_steps, tell_outcomes
from skillopt_sleep.night.page import to_html
from skillopt_sleep.night.planned import Skipped
from skillopt_sleep.night.report import NightReport, SkillReport, to_markdown
from skillopt_sleep.store.proposals import read_proposal
from tests.support.proposals import verdict

HOSTILE = "<script>alert(1)</script>\x1b[31m & \"x\" <img src='https://evil.test/x'> `code`"


def report(text="fine") -> NightReport:
    return NightReport(
        night="2026-01-02",
        state="done",
        target=text,
        optimizer=text,
        sandbox=text,
        tasks=9,
        skills=(
            SkillReport(
                skill="commits", title=text, note=text, verdict=verdict(), proposal="p1", diff=f"+{text}\n"
            ),
            SkillReport(skill="tests", title=text, note="no candidate", verdict=None),
            SkillReport(
                skill="notes",
                title=text,
                note="",
                verdict=verdict(Decision.REJECT, reason=f"rejected: {text}"),
            ),
        ),
        skipped=(Skipped(skill="x", title=text, tasks=2, reason=text),),
        notes=(text,),
        rollouts=30,
        tokens=1234567,
        cost_usd=0.5,
        seconds=61.0,
        next_steps=(f"{text}: `skillopt-sleep review`.",),
    )


class Seen(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in {"src", "href", "action"}]

    def handle_data(self, data):
        self.text += data


def read(page: str) -> Seen:
    seen = Seen()
    seen.feed(page)
    return seen


def test_the_page_tells_what_was_learned_what_was_not_why_and_what_it_cost():
    seen = read(to_html(report()))
    for told in ("commits", "learned", "nothing to judge", "turned down", "$0.50, 1,234,567 tokens",
                 "Next steps", "skillopt-sleep review", "+0.45 [+0.21, +0.66]", "Left alone"):  # fmt: skip
        assert told in seen.text


def test_what_calls_that_were_cut_off_may_have_cost_is_no_hidden_part_of_the_sum():
    some = msgspec.structs.replace(report(), reserved_usd=0.4)
    for told in (read(to_html(some)).text, to_markdown(some)):
        assert "$0.50 ($0.40 of it may be too much: calls that were cut off)" in told
        assert "too much" not in to_markdown(report())


def test_the_page_shows_foreign_text_literally_and_loads_nothing():
    page = to_html(report(HOSTILE))
    seen = read(page)
    assert not seen.tags & {"script", "img", "link", "iframe", "object"}
    assert seen.links == []
    assert "<script>alert(1)</script>␛[31m" in seen.text
    assert "\x1b" not in page
    assert "default-src 'none'" in page


@given(st.text(max_size=60))
def test_no_text_makes_a_tag_of_its_own(text):
    # A line of a diff that is neither added nor removed has a tag of ours.
    assert read(to_html(report(text))).tags - {"span"} == read(to_html(report())).tags


def test_the_report_ends_with_what_to_do():
    told = to_markdown(report())
    assert "## Next steps\n\nfine:\n\n```sh\nskillopt-sleep review\n```\n" in told
    assert [became for _, became, _ in tell_outcomes(report())] == [
        "learned",
        "nothing to judge",
        "turned down",
    ]


def ask(number: int, *, corrected: bool, project: str, skill="commit-messages") -> Task:
    day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T10:00:00Z"
    return Task(
        id=f"t{number}", family="f", title="t", prompt="p", sessions=(f"s{number}",), occurrences=3,
        client="claude", skill=skill, group="g", checks=(), project=project, root=project, started=day,
        failed_before=corrected,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "rose"),
    [
        ([False] * 10, [True] * 6, True),
        ([True] + [False] * 9, [True, True, True, True, False, True, True], True),
        ([False] * 10, [True], False),
        ([False] * 10, [True, False, False, False, False], False),
        ([True, False] * 5, [True, False] * 10, False),
        ([True] * 10, [True] * 10, False),
        ([], [True, True], False),
        ([False] * 10, [], False),
    ],
)
def test_only_what_chance_would_not_do_counts_as_a_rise(before, after, rose):
    assert measure_rise(before, after).rose is rose


def test_a_rate_that_stays_is_seldom_taken_for_a_rise():
    import random

    rng = random.Random(7)
    false = 0
    for _ in range(400):
        rate = rng.choice([0.05, 0.2, 0.5])
        before, after = ([rng.random() < rate for _ in range(length)] for length in (12, 40))
        false += measure_rise(before, after).rose
    assert false <= 20


def test_corrections_that_rose_are_told_everywhere_with_the_way_back(desk, database, staged, repository):
    desk.carry_out("apply", staged.id, None)
    project = str(repository)
    made = read_proposal(database, staged.id)
    made = msgspec.structs.replace(made, decided="2026-02-01T00:00:00Z")
    database.execute("update proposals set body = ?", (msgspec.msgpack.encode(made),))
    before = [ask(number, corrected=number == 3, project=project) for number in range(12)]
    fine = [ask(number, corrected=False, project=project) for number in range(30, 40)]
    assert watch_applied(database, [*before, *fine]) == []
    worse = [ask(number, corrected=True, project=project) for number in range(40, 46)]
    elsewhere = [ask(number, corrected=True, project="/other") for number in range(40, 60)]
    assert watch_applied(database, [*before, *elsewhere]) == []
    (told,) = watch_applied(database, [*before, *worse])
    assert "you corrected 6 of 6 asks, 1 of 12 before" in told
    assert f"skillopt-sleep revert {staged.id}" in told
    assert any("corrected 6 of 6" in step for step in list_next_steps(database))
    status = CliRunner().invoke(app, ["status"]).stdout
    assert f"skillopt-sleep revert {staged.id}\n" in status
    assert len(status.splitlines()) <= 28
    assert json.loads(CliRunner().invoke(app, ["status", "--json"]).stdout)["watched"][0]["id"] == staged.id
    desk.carry_out("revert", staged.id, "it got worse")
    assert read_proposal(database, staged.id).watch == ""
    assert watch_applied(database, [*before, *worse]) == []
