"""What tokens cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_replay.models.prices import NOTED, TABLES, Price, find_price
from skillopt_replay.rollouts import Usage


@pytest.mark.parametrize(
    ("model", "vendor", "input_usd"),
    [
        ("gpt-4.1-mini", "openai", 0.4),
        ("gpt-4.1-mini-2025-04-14", "openai", 0.4),
        ("gpt-4.1-2025-04-14", "openai", 2.0),
        ("gpt-4o-2024-08-06", "openai", 2.5),
        ("gpt-4o-2024-05-13", "openai", 5.0),
        ("claude-sonnet-4-5-20250929", "anthropic", 3.0),
        ("claude-opus-4-20250514", "anthropic", 15.0),
    ],
)
def test_a_name_stands_for_its_dated_versions(model, vendor, input_usd):
    price = find_price(model, vendor)
    assert price is not None
    assert price.input == input_usd


@pytest.mark.parametrize(
    ("model", "vendor"),
    [
        ("gpt-5-pro", "openai"),
        ("gpt-5.9", "openai"),
        ("gpt-4o-audio-preview", "openai"),
        ("claude-opus-4-9", "anthropic"),
        ("gpt-4o", ""),
        ("gpt-4o", "anthropic"),
        ("", "openai"),
    ],
)
def test_a_model_that_is_not_in_the_table_or_served_by_another_has_no_known_price(model, vendor):
    assert find_price(model, vendor) is None


def test_the_settings_go_before_the_table_on_any_server():
    mine = {"gpt-4o": Price(1.0, 2.0), "llama-*": Price(3.0, 4.0), "llama-big": Price(5.0, 6.0)}
    assert find_price("gpt-4o-2024-08-06", "openai", mine) == Price(1.0, 2.0)
    assert find_price("llama-70b", "", mine) == Price(3.0, 4.0)
    assert find_price("llama-big", "", mine) == Price(5.0, 6.0)
    assert find_price("gpt-4o-mini", "openai", mine) == TABLES["openai"]["gpt-4o-mini"]


def test_cached_tokens_have_prices_of_their_own():
    usage = Usage(1_000_000, 100_000, 2_000_000, 400_000)
    assert Price(3.0, 15.0, 0.3, 3.75).cost(usage) == pytest.approx(3 + 1.5 + 0.6 + 1.5)
    assert Price(3.0, 15.0).cost(usage) == pytest.approx(3 * 3.4 + 1.5)


def test_a_long_request_costs_more_for_all_its_tokens():
    price = Price(1.0, 10.0, long_from=100, long_input=2.0, long_output=1.5)
    assert price.cost(Usage(60, 10, 40)) == pytest.approx((100 + 100) / 1e6)
    assert price.cost(Usage(60, 10, 41)) == pytest.approx((202 + 150) / 1e6)


def test_the_table_has_a_date_and_no_price_below_zero():
    assert len(NOTED.split("-")) == 3
    for table in TABLES.values():
        for price in table.values():
            assert 0 < price.input <= price.output
            assert price.cache_read is None or price.cache_read < price.input


@given(st.text(max_size=40), st.sampled_from(["openai", "anthropic", ""]))
def test_any_name_has_a_price_or_none(model, vendor):
    found = find_price(model, vendor)
    assert found is None or found.output > 0
