"""`train` and `eval` as they are called, with a model behind a server on loopback."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading

import pytest
import yaml
from filelock import FileLock
from typer.testing import CliRunner

from skillopt_replay.errors import Unavailable
from skillopt_replay.protocols import Message
from skillopt_sleep.cli import app
from tests.support.chat_server import serve
from tests.support.school import FAMILIES, Teacher, rule


class SchoolServer:
    """Pupil and teacher behind one address: the one is asked for text, the other for JSON."""

    def __init__(self):
        self.url = ""
        self.answered = []
        self.release = threading.Event()
        self.teacher = Teacher()
        self.keys = set()

    def take(self, body):
        messages = [Message(m["role"], m["content"]) for m in body["messages"]]
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            text = asyncio.run(self.teacher.complete(messages, schema=schema)).text
        else:
            family = next(f for f in FAMILIES if f in messages[-1].content)
            knows = rule(family) in messages[0].content
            text = f"It is {family.upper()}." if knows else "I do not know."
        return 200, {
            "model": "school",
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }


@pytest.fixture
def server():
    with serve(SchoolServer()) as served:
        yield served


@pytest.fixture
def place(tmp_path, monkeypatch, server):
    """A folder with tasks, a base configuration and one that builds on it."""
    monkeypatch.chdir(tmp_path)
    for split in ("train", "val", "test"):
        rows = []
        for number in range(8):
            family = FAMILIES[number % 4]
            check = {"type": "contains", "text": family.upper()}
            rows.append(
                {"prompt": f"{split} {number} about a {family}?", "family": family, "checks": [check]}
            )
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = f"{server.url}/v1#school"
    base = {
        "model": {"backend": "openai_compatible", "target": spec, "optimizer": spec},
        "optimizer": {"learning_rate": 9, "min_learning_rate": 1},
        "evaluation": {"gate_mode": "strict"},
        "env": {"name": "tasks", "split_dir": "data", "skill_name": "trees"},
    }
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    child = {"_base_": "base.yaml", "optimizer": {"learning_rate": 2, "min_learning_rate": 2}}
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(child))
    (tmp_path / ".env").write_text("# keys\nOPENAI_API_KEY='sk-not-to-be-written'\n")
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(app, list(arguments))


SHORT = ("train.num_epochs=2", "train.batch_size=4", "env.out_root=out/one")


def test_train_runs_and_its_skill_is_evaluated(place):
    done = call("train", "--config", "run.yaml", *SHORT)
    assert done.exit_code == 0, done.output
    assert "accept_new_best" in done.output
    assert "test, best skill: 100.0%" in done.output
    found = call("eval", "--config", "run.yaml", "--skill", "out/one/best_skill.md", "--json")
    assert found.exit_code == 0, found.output
    value = json.loads(found.stdout)
    assert value["skill"]["hard"] == 1.0
    assert value["difference"]["wins"] == 8
    assert value["difference"]["p_value"] == pytest.approx(2**-8)
    again = call("train", "--config", "run.yaml", *SHORT, "--json")
    assert json.loads(again.stdout)["total_accepts"] > 0


def test_a_ceiling_that_is_no_number_is_refused(place):
    done = call("train", "--config", "run.yaml", *SHORT, "model.max_usd=.nan")
    assert done.exit_code != 0
    assert "model.max_usd is nan" in done.output + done.stderr


def test_two_evaluations_do_not_use_one_folder_at_once(place):
    out = place / "out" / "eval"
    out.mkdir(parents=True)
    (place / "skill.md").write_text("---\nname: trees\ndescription: Of trees.\n---\nSay oak.\n")
    asked = ("eval", "--config", "run.yaml", "--skill", "skill.md", "env.out_root=out/eval", "--json")
    with FileLock(out / "evaluations.lock"):
        busy = call(*asked)
    assert busy.exit_code == 75, busy.output
    assert not (out / "eval_summary.json").exists()
    done = call(*asked)
    assert done.exit_code == 0, done.output


def test_a_folder_is_trained_and_evaluated_whole(place):
    from skillopt_replay.skill_files import SkillFile
    from skillopt_replay.skill_folders import read_skill, write_skill
    from skillopt_replay.skills import Skill, new_skill

    document = new_skill("trees", "Use for trees.", "# Trees")
    files = (SkillFile("references/leaves.md", "# Leaves\n\n- They fall.\n"),)
    write_skill(Skill("trees", document.text, files), place / "mine")
    done = call("train", "--config", "run.yaml", *SHORT, "env.skill_init=mine")
    assert done.exit_code == 0, done.output
    assert "the skill: out/one/best_skill\n" in done.output
    assert read_skill(place / "out" / "one" / "best_skill").files == files
    best = ("--skill", "out/one/best_skill", "--against", "mine")
    found = call("eval", "--config", "run.yaml", *best, "--json")
    assert json.loads(found.stdout)["difference"]["wins"] == 8


def test_a_skill_that_cannot_be_read_is_told(place):
    assert "cannot be read" in call("train", "--config", "run.yaml", *SHORT, "env.skill_init=none.md").output
    assert "cannot be read" in call("eval", "--config", "run.yaml", "--skill", "none.md").output


def test_a_secret_is_used_and_never_written(place):
    assert call("train", "--config", "run.yaml", *SHORT).exit_code == 0
    for path in (place / "out").rglob("*"):
        if path.is_file():
            assert b"sk-not-to-be-written" not in path.read_bytes()


def test_what_is_written_as_configuration_can_be_read_again(place):
    assert call("train", "--config", "run.yaml", *SHORT).exit_code == 0
    again = call("train", "--config", "out/one/config.yaml", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["out_root"] == "out/one"


def test_a_folder_of_another_run_says_which_settings_it_was_begun_with(place):
    assert call("train", "--config", "run.yaml", *SHORT).exit_code == 0
    told = call("train", "--config", "run.yaml", *SHORT, "train.batch_size=2", "gradient.show_gold=true")
    assert told.exit_code == 1
    assert (
        "other settings or data: train.batch_size (was 4), gradient.show_gold (was False) changed"
        in told.output
    )
    (place / "out" / "one" / "config.yaml").write_text("of: another version")
    told = call("train", "--config", "run.yaml", *SHORT, "train.batch_size=2")
    assert "other settings or data: config changed" in told.output


def test_a_skill_begun_from_nothing_is_described_by_its_own_name(place):
    done = call("train", "--config", "run.yaml", *SHORT)
    assert 'its description is "Use for every task of trees."' in done.output


@pytest.mark.parametrize("dry", [["--dry-run"], []])
def test_tasks_that_are_in_two_splits_are_told(place, dry):
    unshared = call("train", "--config", "run.yaml", *SHORT, *dry)
    assert "as well" not in unshared.output
    val = (place / "data" / "val.jsonl").read_text().splitlines(keepends=True)
    with (place / "data" / "test.jsonl").open("a") as file:
        file.write("".join(val[:3]))
    told = call("train", "--config", "run.yaml", *SHORT, "env.out_root=out/two", *dry)
    assert told.exit_code == 0, told.output
    assert told.output.count("as well") == 1
    assert "3 of 11 test tasks are asked in val as well" in told.stderr


def test_a_dry_run_bounds_what_a_run_takes_and_asks_nothing(place, server):
    from skillopt_sleep.training.run_ledger import RunLedger

    told = call("train", "--config", "run.yaml", *SHORT, "--dry-run", "--json")
    bounds = json.loads(told.stdout)
    assert server.answered == []
    assert not (place / "out").exists()
    assert "nothing was run" in call("train", "--config", "run.yaml", *SHORT, "--dry-run").output
    call("train", "--config", "run.yaml", *SHORT)
    ledger = RunLedger(place / "out" / "one" / "calls.db")
    assert ledger.calls <= sum(bounds["rollouts"].values()) + bounds["questions"]
    ledger.close()


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("train.num_epoch=2", "did you mean train.num_epochs?"),
        ("optimiser.learning_rate=2", "did you mean optimizer?"),
        ("gradient.batch_size=2", "did you mean train.batch_size?"),
        ("train.foo=2", "known are train.num_epochs"),
        ("train.num_epochs=many", "train.num_epochs is 'many'\n  hint: it must be a whole number"),
        ("model.command=my-agent", "it must be a list, as in [a, b]"),
        ("model.command=[1]", "what is in it must be text"),
        ("env.split_dir=", "set env.split_dir"),
        ("train.num_epochs=0", "at least 1"),
        ("gradient.max_analyst_rounds=3", "leave it out"),
        ("model.azure_openai_api_key=x", "environment or .env"),
        ("evaluation.gate_metric=firm", "hard, soft, mixed"),
        ("optimizer.lr_scheduler=cosin", "cosine"),
        ("optimizer.skill_update_mode=paint", "patch"),
        ("learning_rate=3", "section.key=value"),
        ("env.name=nothing", "module:callable"),
        ("env.name=no_such_module:thing", "cannot be imported"),
        ("model.backend=abacus", "openai_chat"),
        ("train.train_size=9", "the split has 8"),
        ("train.steps_per_epoch=7", "8 train tasks make 1 steps"),
        ("env.split_mode=ratio", "env.data_path with env.split_ratio"),
        ("env.split_dir=elsewhere", "elsewhere/train.jsonl"),
    ],
)
def test_a_setting_that_does_not_fit_is_told_with_what_would(place, override, said):
    told = call("train", "--config", "run.yaml", override, "--dry-run")
    assert told.exit_code in {1, 2}
    assert said in told.output


def test_without_settings_a_run_asks_for_them(place):
    told = call("train")
    assert told.exit_code == 2
    assert "name the run's settings with --config FILE" in told.output


@pytest.mark.parametrize("command", [["train"], ["train", "--dry-run"], ["eval", "--skill", "run.yaml"]])
def test_how_far_a_model_is_fetched_is_told(place, monkeypatch, command):
    def fetch(entry, folder, *, progress, sources):
        progress(500_000_000, 1_100_000_000)
        raise Unavailable("the line is dead")

    monkeypatch.setattr("skillopt_replay.models.registry.fetch", fetch)
    (place / "run.yaml").write_text("env: {name: tasks, split_dir: data}")
    told = call(*command, "--config", "run.yaml")
    assert told.exit_code == 1
    assert told.stderr.startswith("model (MB) 500/1100\nerror: the line is dead")


def test_a_service_that_is_asked_again_later_is_told(place, server):
    take, refused = server.take, []

    def busy(body):
        refused.append(body)
        return (429, {"error": {"message": "too \x1b[1mmany"}}) if len(refused) <= 3 else take(body)

    server.take = busy
    done = call("train", "--config", "run.yaml", *SHORT, "env.workers=8")
    assert done.exit_code == 0, done.output
    waits = [line for line in done.stderr.splitlines() if "HTTP 429" in line]
    assert len(waits) == 1, "one for all that wait"
    assert "; trying again in " in waits[0]
    assert "\x1b" not in waits[0]
    quiet = call("train", "--config", "run.yaml", *SHORT, "env.out_root=out/two", "--json")
    assert json.loads(quiet.stdout)
    assert quiet.stderr == ""


def test_a_base_that_leads_in_a_circle_is_told(place):
    (place / "base.yaml").write_text("_base_: run.yaml\n")
    assert "circle" in call("train", "--config", "run.yaml", "--dry-run").output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train: {batch_size: 8}\nenv: {}\ntrain: {num_epochs: 2}\n", "line 3: train stands twice"),
        ("train: {batch_size: 8, batch_size: 9}\n", "line 1: batch_size stands twice"),
        ("train:\n\tbatch_size: 8\n", "line 2: found character '\\t'"),
        ("model: target: x\n", "line 1: mapping values are not allowed here"),
    ],
)
def test_what_is_wrong_in_the_configuration_is_told_with_its_line(place, text, said):
    (place / "bad.yaml").write_text(text)
    told = call("train", "--config", "bad.yaml", "--dry-run")
    assert told.exit_code == 2
    assert f"bad.yaml is not YAML: {said}" in told.output
    assert "unicode string" not in told.output


def test_a_key_that_comes_by_a_merge_may_be_replaced(place):
    (place / "run.yaml").write_text(
        "_base_: base.yaml\noptimizer: &few {learning_rate: 2, min_learning_rate: 2}\n"
        "train: {<<: {num_epochs: 3}, num_epochs: 1}\n"
    )
    assert call("train", "--config", "run.yaml", "--dry-run").exit_code == 0


@pytest.mark.parametrize(
    ("row", "hint"),
    [
        ({"promt": "x", "answer": "y"}, "a task has prompt, id, family, answer, checks"),
        ({"prompt": "x", "checks": [{"type": "equals"}]}, "a check's type is one of command, contains"),
    ],
)
def test_a_task_that_is_none_is_told_with_what_one_may_hold(place, row, hint):
    (place / "data" / "train.jsonl").write_text(json.dumps(row))
    assert hint in call("train", "--config", "run.yaml", "--dry-run").output


def test_a_broken_line_of_the_data_is_named(place):
    with (place / "data" / "val.jsonl").open("a") as file:
        file.write('{"prompt": "x"\n')
    assert "val.jsonl, line 9" in call("train", "--config", "run.yaml", "--dry-run").output


def test_one_file_is_split_by_ratio_the_same_way_every_time(place):
    from skillopt_sleep.training.task_files import read_tasks, split_by_ratio

    tasks = read_tasks(place / "data" / "train.jsonl", "trees")
    splits = split_by_ratio(tasks, "2:1:7", 42)
    assert [len(splits[name]) for name in ("train", "val", "test")] == [1, 1, 6]
    assert splits == split_by_ratio(tasks, "2:1:7", 42)
    assert sorted(t.id for own in splits.values() for t in own) == sorted(t.id for t in tasks)


def test_all_splits_are_told_each_by_itself(place):
    (place / "none.md").write_text("# Nothing")
    found = call("eval", "--config", "run.yaml", "--skill", "none.md", "--split", "all", "--json")
    assert found.exit_code == 0, found.output
    splits = json.loads(found.stdout)["splits"]
    assert [(one["split"], one["skill"]["n_items"]) for one in splits] == [
        ("train", 8),
        ("val", 8),
        ("test", 8),
    ]
    assert (
        "8 tasks of val"
        in call("eval", "--config", "run.yaml", "--skill", "none.md", "--split", "all").output
    )


def test_an_unknown_split_is_told(place):
    told = call("eval", "--config", "run.yaml", "--skill", "run.yaml", "--split", "tset")
    assert "no split is called" in told.output


# --- an environment of one's own, and its faults --------------------------------------------------

OWN = """
from skillopt_sleep.training import make_task
from skillopt_replay.tasks import Contains


class Trees:
    name = identity = "trees"

    def __init__(self, config, target):
        self.estimate = target.estimate

    def load(self, split):
        return [make_task(f"{split}{n}", "About a birch?", Contains(text="BIRCH")) for n in range(8)]

    async def rollout(self, task, skill, sample):
        return self.run(task)

    def run(self, task):
        raise ValueError("no such tree")


class Empty:
    def __init__(self, config, target):
        self.name = self.identity = "empty"
        self.estimate = target.estimate


class Plain(Trees):
    def load(self, split):
        return [{"prompt": "x"}]


class Silent(Trees):
    def run(self, task):
        return None


class Alone(Trees):
    def __init__(self, config):
        self.estimate = None


class Deep(Trees):
    def __init__(self, config, target):
        Trees.__init__(self, config, target, "more")
"""


@pytest.mark.parametrize(
    ("name", "code", "said", "hint"),
    [
        ("Trees", 1, "the environment own:Trees failed: ValueError: no such tree", "own.py, line 19, in run"),
        ("Deep", 1, "the environment own:Deep failed: TypeError: ", "in __init__"),
        ("Empty", 2, "own:Empty gives no environment: it has no load and no rollout", "docs/training.md"),
        ("Alone", 2, "own:Alone is not called with the configuration and the target: ", "docs/training.md"),
        ("Plain", 1, "load('train') of the environment gives dict where Task is wanted", "make_task("),
        ("Silent", 1, "rollout of the environment gives NoneType for task val", "answer("),
    ],
)
def test_a_fault_of_ones_own_environment_is_told_as_that(place, name, code, said, hint):
    (place / "own.py").write_text(OWN)
    told = train_own(place, f"own:{name}")
    assert told.returncode == code, told.stderr
    assert said in told.stderr
    assert hint in told.stderr.rpartition("hint: ")[2]
    assert "bug" not in told.stderr


def test_a_module_that_fails_while_it_is_imported_is_told_by_what_it_raised(place):
    (place / "own.py").write_text("raise RuntimeError('no network')\n")
    told = train_own(place, "own:Trees")
    assert told.returncode == 2
    assert "which cannot be imported: RuntimeError: no network" in told.stderr


def train_own(place, name):
    """Train in a process of its own, as modules stay loaded in this one."""
    command = [
        sys.executable,
        "-m",
        "skillopt_sleep",
        "train",
        "--config",
        "run.yaml",
        *SHORT,
        f"env.name={name}",
    ]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["model.target_backend=command", "model.command=[no-such-program]"], "set model.command to"),
        (["model.target_backend=claude_code_exec", "model.target=local"], "or set model.target_backend"),
        (["model.max_calls=9"], "raise model.max_usd, model.max_tokens or model.max_calls"),
    ],
)
def test_what_is_to_be_done_is_told_by_the_keys_of_the_run(place, monkeypatch, overrides, said):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    told = call("train", "--config", "run.yaml", *SHORT, *overrides)
    assert told.exit_code in {1, 5}
    assert said in " ".join(told.stderr.split())
