"""Settings are checked when read and when written, and the file stays the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt_sleep.config import get_value, list_values, load, set_value, unset_value
from skillopt_sleep.errors import NothingToDo, UsageError
from skillopt_sleep.settings import Gate, Settings


def test_a_missing_file_means_defaults(tmp_path: Path):
    assert load(tmp_path / "config.toml") == Settings()


def test_every_setting_says_what_it_is_for(tmp_path: Path):
    undocumented = [v.key for v in list_values(tmp_path / "config.toml") if not v.description]
    assert undocumented == []


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
        ("replay.memory_gb", "inf", "memory_gb cannot be inf"),
        ("replay.disk_gb", "1e300", "disk_gb cannot be"),
        ("mine.across_projects", "sometimes", "not true or false"),
        ("mine.across_projects", "1", "across_projects"),
        ("harvest.clients", "clade", "there is no client 'clade'"),
        ("harvest.clients", '["claude"', "not a list"),
        ("harvest.clients", "[1]", "clients"),
        ("harvest.roots", "/mnt/projects", "is not CLIENT:PATH"),
        ("harvest.roots", "claude:", "is not CLIENT:PATH"),
        ("harvest.roots", "clade:/mnt", "there is no client 'clade'"),
        ("harvest.roots", "claude:projects", "must be absolute"),
        ("harvest.roots", "claude:~kim/projects", "must be absolute"),
    ],
)
def test_a_bad_value_is_refused_and_nothing_is_written(tmp_path: Path, key: str, text: str, message: str):
    path = tmp_path / "config.toml"
    with pytest.raises(UsageError, match=message):
        set_value(path, key, text)
    assert not path.exists()


def test_a_number_out_of_bounds_is_answered_with_the_bounds(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        set_value(tmp_path / "config.toml", "gate.alpha", "3")
    assert caught.value.message.endswith("gate.alpha cannot be 3: it takes a number below 1")
    assert caught.value.hint == "gate.alpha: chance of accepting a useless skill"


def test_a_choice_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        set_value(tmp_path / "config.toml", "target.agent", "claud")
    assert caught.value.message.endswith("target.agent cannot be 'claud'")
    assert "auto, claude_code, codex, copilot" in (caught.value.hint or "")


def test_a_mistyped_key_is_answered_with_the_nearest_one(tmp_path: Path):
    with pytest.raises(UsageError) as caught:
        get_value(tmp_path / "config.toml", "gate.aplha")
    assert caught.value.hint == "did you mean gate.alpha?"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("claude:/a", ("claude:/a",)),
        ("claude:/a, claude:~/b c ,", ("claude:/a", "claude:~/b c")),
        ('["claude:/a,b", "claude:C:\\\\Users"]', ("claude:/a,b", "claude:C:\\Users")),
        ("", ()),
        ("[]", ()),
    ],
)
def test_a_list_is_written_with_commas_or_as_toml_has_it(tmp_path: Path, text: str, value: tuple[str, ...]):
    path = tmp_path / "config.toml"
    set_value(path, "harvest.roots", text)
    assert load(path).harvest.roots == value
    assert get_value(path, "harvest.roots").origin == "file"


def test_a_setting_that_is_not_taken_any_more_can_be_set_anew_but_not_beside_another_bad_one(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text('[harvest]\nclients = ["gone"] # once\n')
    set_value(path, "harvest.clients", "claude")
    assert path.read_text() == '[harvest]\nclients = ["claude"] # once\n'
    for broken in ("[gate]\nalpha = 7\n", "harvest = 3\n", "gate = 3\n"):
        path.write_text(broken)
        with pytest.raises(UsageError, match=r"config\.toml"):
            set_value(path, "harvest.clients", "claude")
        assert path.read_text() == broken


@pytest.mark.parametrize("text", ["[gate", "[gate]\nalhpa = 1\n", "[gaet]\n", "\xff"])
def test_a_bad_file_is_named_in_the_message(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=r"config\.toml"):
        load(path)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[gate]\nalhpa = 1\n", "there is no setting 'gate.alhpa'", "did you mean gate.alpha?"),
        ("[gaet]\nalpha = 0.1\n", "there is no section 'gaet'", "did you mean gate?"),
        ("gate = 3\n", "gate is a section", "its settings go below [gate]"),
        (
            "[gate]\ntasks = 0\n",
            "gate.tasks cannot be 0: it takes a whole number of at least 1",
            "gate.tasks: ",
        ),
        ("[gate]\ntasks = 'x'\n", "gate.tasks cannot be 'x': it takes a whole number", "gate.tasks: "),
        ("[harvest]\nclients = [1]\n", "harvest.clients cannot be [1]: it takes a list", "harvest.clients: "),
        ("[prices]\nx = [1]\n", "a price under [prices] is no list of two to four", "US dollars"),
        ("[prices]\nx = [1, -2]\n", "a price under [prices] is no list of two to four", "US dollars"),
        ("[training]\nlr_scheduler = 'x'\n", "cannot be 'x'", "constant, linear, cosine, autonomous"),
        ("\xff", "it is not UTF-8", "save it as UTF-8"),
    ],
)
def test_a_mistake_in_the_file_is_told_in_words_with_what_would_do(
    tmp_path: Path, text: str, message: str, hint: str
):
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as caught:
        load(path)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert not {"$", "`"} & set(caught.value.message)


def test_a_byte_order_mark_is_read_over_and_goes_when_a_setting_is_written(tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text("\ufeff[gate]\ntasks = 9\n", encoding="utf-8")
    assert load(path).gate.tasks == 9
    set_value(path, "gate.alpha", "0.1")
    assert load(path).gate == Gate(tasks=9, alpha=0.1)


def test_a_price_is_set_and_shown_by_the_models_name_dots_and_all(tmp_path: Path):
    path = tmp_path / "config.toml"
    assert set_value(path, "prices.gpt-4.1-mini", "[0.4, 1.6, 0.1]").value == (0.4, 1.6, 0.1)
    assert set_value(path, "prices.my*", "3, 15").value == (3.0, 15.0)
    assert load(path).prices == {"gpt-4.1-mini": (0.4, 1.6, 0.1), "my*": (3.0, 15.0)}
    assert get_value(path, "prices.my*").origin == "file"
    assert {value.key for value in list_values(path)} >= {"prices.gpt-4.1-mini", "prices.my*", "gate.alpha"}


@pytest.mark.parametrize("text", ["1", "[1]", "[1, -2]", "[1, 2, 3, 4, 5]", "cheap", "[1, x]"])
def test_a_price_that_is_none_is_refused_and_nothing_is_written(tmp_path: Path, text: str):
    path = tmp_path / "config.toml"
    with pytest.raises(UsageError):
        set_value(path, "prices.m", text)
    assert not path.exists()


def test_a_price_that_nobody_set_is_said(tmp_path: Path):
    with pytest.raises(UsageError, match="no price for"):
        get_value(tmp_path / "config.toml", "prices.gpt-9")
    with pytest.raises(UsageError):
        set_value(tmp_path / "config.toml", "prices.", "[1, 2]")


@pytest.mark.parametrize(
    ("agent", "key", "value"),
    [
        ("auto", "optimizer.model", "opnai:gpt-5"),
        ("auto", "optimizer.model", ""),
        ("auto", "judge.model", "local:no-such-model"),
        ("chat", "target.model", "opnai:gpt-5"),
    ],
)
def test_a_model_that_no_night_could_open_is_wrong_usage_when_it_is_set(agent, key, value, tmp_path: Path):
    path = tmp_path / "config.toml"
    set_value(path, "target.agent", agent)
    before = path.read_text()
    with pytest.raises(UsageError, match=f"^{key}: no "):
        set_value(path, key, value)
    assert path.read_text() == before


def test_models_of_every_spelling_are_taken_whether_they_can_be_had_here_or_not(tmp_path: Path):
    path = tmp_path / "config.toml"
    for value in ("auto", "openai:gpt-5", "local:/not/there/yet.gguf", "local", "claude:opus"):
        set_value(path, "optimizer.model", value)
    set_value(path, "target.model", "opus")
    with pytest.raises(UsageError, match=r"^target\.agent: no model is called 'opus'"):
        set_value(path, "target.agent", "chat")
    set_value(path, "target.agent", "claude_code")
    set_value(path, "judge.model", "")


@pytest.mark.parametrize("text", ["x = ", "x = [1,\n", "[gate]\nx"])
def test_a_file_that_ends_within_a_setting_is_told_so(text: str, tmp_path: Path):
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"is not TOML: it ends within a setting$"):
        load(path)


def test_unsetting_brings_the_default_back_and_leaves_the_rest_of_the_file(tmp_path: Path):
    path = tmp_path / "config.toml"
    gate = "# mine\n[gate]\nalpha = 9 # too much\n# few\nmin_tasks = 6\n"
    path.write_text(f"{gate}[prices]\n'gpt-4.1' = [1, 2]\n")
    value = unset_value(path, "gate.alpha")
    assert value == get_value(tmp_path / "none.toml", "gate.alpha")
    assert unset_value(path, "prices.gpt-4.1") is None
    assert path.read_text() == "# mine\n[gate]\n# few\nmin_tasks = 6\n[prices]\n"
    with pytest.raises(NothingToDo):
        unset_value(path, "gate.alpha")
    with pytest.raises(UsageError):
        unset_value(path, "gate.alhpa")
