from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.rollouts import Usage
from skillopt_replay.tasks import Origin
from skillopt_sleep.review.charts import draw_growth, draw_interval, draw_tallies
from skillopt_sleep.review.wording import (
    say_age,
    say_ask,
    say_cost,
    say_counts,
    say_effect,
    say_interval,
    say_origin,
    say_tokens,
    say_wealth,
)
from skillopt_sleep.review.wrapping import clip, shorten_path, wrap, wrap_paragraphs
from tests.support.proposals import NOW, task, verdict

UNKNOWN = float("nan")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (say_effect(0.314), "+0.31"),
        (say_effect(-0.05), "−0.05"),
        (say_effect(UNKNOWN), "–"),
        (say_interval((-0.5, UNKNOWN)), "[−0.50, –]"),
        (say_wealth(41.3), "41×"),
        (say_wealth(1.62), "1.6×"),
        (say_wealth(0.034), "0.03×"),
        (say_wealth(float("inf")), "over 9999×"),
        (say_cost(Usage(cost_usd=None)), "price unknown"),
        (say_cost(Usage(cost_usd=0.0)), "$0.00"),
        (say_cost(Usage(cost_usd=0.004)), "under $0.01"),
        (say_cost(Usage(cost_usd=1234.5)), "$1,234.50"),
        (say_tokens(812), "812"),
        (say_tokens(48_200), "48 k"),
        (say_tokens(2_470_500), "2.5 M"),
        (say_counts(verdict(wins=1, losses=2, ties=1)), "1 win, 2 losses, 1 tie"),
    ],
)
def test_numbers_are_said_briefly(said, words):
    assert said == words


@pytest.mark.parametrize(
    ("created", "age"),
    [
        ("2026-11-29T08:04:40Z", "just now"),
        ("2026-11-29T07:55:00+00:00", "10 min"),
        ("2026-11-29T09:05:00+02:00", "1 h"),
        ("2026-11-28T03:55:00", "1 d"),
        ("2026-11-10T03:55:00Z", "2 wk"),
        ("2027-01-01T00:00:00Z", "just now"),
        ("yesterday", "yesterday"),
    ],
)
def test_ages_are_told_in_their_largest_unit(created, age):
    assert say_age(created, NOW) == age


def test_the_clock_is_in_utc():
    from skillopt_sleep.review.app import read_clock

    assert abs((read_clock() - datetime.now(timezone.utc)).total_seconds()) < 5


def test_an_interval_is_drawn_on_a_scale_with_its_zero():
    assert draw_interval(0.5, (0.25, 0.75), 17) == "────────┼─╞═●═╡──"
    assert draw_interval(0.0, (-0.5, 0.5), 9) == "──╞═●═╡──"
    assert draw_interval(UNKNOWN, (0, 1), 9) == "────┼────"


def test_tallies_show_what_happened_at_least_once_even_when_scaled():
    assert draw_tallies(3, 1, 2, 60) == ("▲▲▲", "▼", "··")
    wins, losses, ties = draw_tallies(900, 1, 99, 50)
    assert (len(wins), len(losses), len(ties)) == (45, 1, 5)


def test_only_a_bar_that_has_won_crosses_the_mark():
    bars = draw_growth([0.5, 5.0, 21.0], 20.0, 30)
    assert ["┆" in bar for bar in bars] == [True, True, False]
    assert "╋" in bars[2]
    assert bars[0].count("━") < bars[1].count("━") < bars[2].count("━")


@given(
    st.lists(st.floats(allow_infinity=True, allow_nan=True, min_value=None), max_size=4), st.integers(8, 40)
)
def test_growth_is_drawn_for_any_numbers(values, width):
    assert all(len(bar) == width for bar in draw_growth(values, 20.0, width))


@given(st.text(alphabet="ab 語é\u0301\ufe0f", max_size=60), st.integers(2, 20), st.integers(0, 10))
def test_wrapping_drops_no_character_and_keeps_the_width(text, width, hang):
    from rich.cells import cell_len

    pieces = wrap(text, width, hang)
    assert "".join(text[start:end] for start, end in pieces) == text
    for start, end in pieces:
        assert cell_len(text[start:end].rstrip(" ")) <= max(width, 2)


def test_wrapped_list_items_hang_below_their_text():
    assert wrap_paragraphs("- keep the summary short", 14) == ["- keep the", "  summary", "  short"]


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, "~/code/shop/web/.claude/skills/commit-messages/SKILL.md"),
        (48, "~/code/shop/…/skills/commit-messages/SKILL.md"),
        (40, "~/code/…/skills/commit-messages/SKILL.md"),
        (39, "~/…/skills/commit-messages/SKILL.md"),
        (34, "…/skills/commit-messages/SKILL.md"),
        (12, "…es/SKILL.md"),
    ],
)
def test_a_path_is_shortened_in_its_middle(width, shown):
    assert shorten_path("~/code/shop/web/.claude/skills/commit-messages/SKILL.md", width) == shown


@given(st.text(alphabet="ab/ 語é\u0301", max_size=60), st.integers(2, 40))
def test_a_shortened_path_fits_and_keeps_its_end(path, width):
    from rich.cells import cell_len

    short = shorten_path(path, width)
    assert cell_len(short) <= width
    assert path.endswith(short.rpartition("…")[2])


def test_a_task_says_its_prompts_first_line_or_else_its_title():
    assert say_ask(task("Weekly table", (), (), prompt="\n  draw the\tsales\nas a table")) == "draw the sales"
    assert say_ask(task("Weekly table", (), (), prompt="abcdef"), 4) == "abc…"
    assert say_ask(task("Weekly table", (), (), prompt=" ")) == "Weekly table"


def test_prompts_are_counted_from_one():
    assert say_origin(Origin("a90f22", 0, "no")) == "session a90f22, prompt 1"


def test_clipped_lines_end_in_an_ellipsis():
    assert clip("imperative", 6) == "imper…"
    assert clip("語語語", 4) == "語…"
    assert clip("short", 5) == "short"
