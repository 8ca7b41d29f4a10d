"""Settings are checked when read and when written, and the file stays the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_sleep.config import Settings, get_value, list_values, load, set_value
from skillopt_sleep.errors import UsageError


def test_a_missing_file_means_defaults(tmp_path: Path):
    assert load(tmp_path / "config.toml") == Settings()


def test_every_setting_says_what_it_is_for(tmp_path: Path):
    undocumented = [v.key for v in list_values(tmp_path / "config.toml") if not v.description]
    assert undocumented == ["training.seed"]


def test_setting_a_value_keeps_comments_and_order(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("# mine\n[gate]\nmin_tasks = 6 # few\nalpha = 0.05\n")
    value = set_value(path, "gate.alpha", "0.1")
    assert (value.value, value.origin) == (0.1, "file")
    assert path.read_text() == "# mine\n[gate]\nmin_tasks = 6 # few\nalpha = 0.1\n"
    assert get_value(path, "gate.min_tasks").value == 6


def test_a_text_setting_needs_no_quotes(tmp_path: Path):
    path = tmp_path / "config.toml"
    set_value(path, "target.model", "openai:http://127.0.0.1:8000/v1#m")
    assert load(path).target.model == "openai:http://127.0.0.1:8000/v1#m"


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("gate.alpha", "2", "alpha"),
        ("gate.alpha", "much", "not a number"),
        ("gate.mode", "lucky", "mode"),
        ("gate.aplha", "0.1", "no setting"),
        ("replay.concurrency", "0", "concurrency"),
        ("mine.across_projects", "sometimes", "not true or false"),
        ("mine.across_projects", "1", "across_projects"),
    ],
)
def test_a_bad_value_is_refused_and_nothing_is_written(tmp_path: Path, key: str, text: str, message: str):
    path = tmp_path / "config.toml"
    with pytest.raises(UsageError, match=message):
        set_value(path, key, text)
    assert not path.exists()


def test_a_mistyped_key_is_answered_with_the_nearest_one(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        get_value(tmp_path / "config.toml", "gate.aplha")
    assert caught.value.hint == "did you mean gate.alpha?"


@pytest.mark.parametrize("text", ["[gate", "[gate]\nalhpa = 1\n", "[gaet]\n", "\xff"])
def test_a_bad_file_is_named_in_the_message(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"config\.toml"):
        load(path)
