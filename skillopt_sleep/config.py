"""Settings: one schema that loads, checks, documents and writes them.

The attribute comments of the sections are the documentation: `config show` prints them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import msgspec
from msgspec import Meta

from skillopt_sleep.agents import NAMES
from skillopt_sleep.clients import check_clients, check_root
from skillopt_sleep.errors import UsageError
from skillopt_sleep.files import write_atomically
from skillopt_sleep.hours import PATTERN as HOURS

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

_PRICES = "prices"
_OF_PRICES = "US dollars per million tokens of a model: [input, output, cache read, cache write]"
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", tuple: "a list"}

Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The agent that runs the tasks."""

    agent: Annotated[
        str,
        Meta(
            pattern=f"^({'|'.join(NAMES)})$",
            description=f"{', '.join(NAMES[:-2])} (real CLIs), command (a program of yours) or chat (a chat"
            " model)",
        ),
    ] = "auto"
    model: Annotated[
        str,
        Meta(description="a model name; for chat a model as under optimizer.model; empty = default"),
    ] = ""
    effort: Annotated[
        str,
        Meta(
            pattern="^[a-z]*$",
            description="how hard a client's model is told to think, as that client names it (low, medium,"
            " high, ...); empty = as it does by itself",
        ),
    ] = ""
    settings: Annotated[
        str,
        Meta(
            pattern="^(project)?$",
            description="settings the agent loads in replays: project, or empty for none",
        ),
    ] = "project"
    command: Annotated[
        tuple[str, ...],
        Meta(description='the program that agent "command" runs, and its arguments: ["my-agent", "--flag"]'),
    ] = ()
    pass_env: Annotated[
        tuple[str, ...], Meta(description="variables of your environment that the program gets")
    ] = ()
    reach: Annotated[
        tuple[str, ...], Meta(description="URLs of the services the program may reach; empty = none")
    ] = ()


class Optimizer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that writes edits."""

    model: Annotated[
        str,
        Meta(
            description="auto, claude[:MODEL], codex[:MODEL], local[:NAME or :/path.gguf], or PRESET:MODEL,"
            " where PRESET is anthropic, openai, azure, qwen, minimax, deepseek, vllm, ollama or llamacpp;"
            " any other server as openai:BASE_URL#MODEL"
        ),
    ] = "auto"


class Judge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that judges what no check in code can; it is tried on your own past work first."""

    model: Annotated[
        str,
        Meta(description="a model as under optimizer.model, best of another family; empty = no judge"),
    ] = ""


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How tasks are run."""

    sandbox: Annotated[
        str,
        Meta(
            pattern="^(auto|bubblewrap|sandbox-exec|client|none)$",
            description="auto (the system's, else the client's own), bubblewrap, sandbox-exec, client, or"
            ' "none" (runs unprotected)',
        ),
    ] = "auto"
    network: Annotated[
        str,
        Meta(
            pattern="^(model|any)$",
            description="what runs reach: their model's service only, or any (this machine's ports included)",
        ),
    ] = "model"
    concurrency: Annotated[Positive, Meta(description="runs at a time")] = 2
    executor: Annotated[
        str,
        Meta(
            pattern="^(local|dask:[a-z]+://.+)$",
            description="local, or dask:tcp://HOST:PORT (that scheduler's workers; needs the extra dask)",
        ),
    ] = "local"
    attempts: Annotated[
        Positive, Meta(description="tries of a run while the service is overloaded or out of reach")
    ] = 3
    repeats: Annotated[Positive, Meta(description="runs of each held-out task per side")] = 1
    seconds: Annotated[float, Meta(gt=0, description="wall-clock limit of one run")] = 600.0
    turns: Annotated[Positive, Meta(description="agent turns of one run")] = 40
    usd: Annotated[float, Meta(gt=0, description="US dollars one run may spend")] = 1.0
    tokens: Annotated[Positive, Meta(description="tokens one run may use, cached ones included")] = 2_000_000
    answer_tokens: Annotated[Positive, Meta(description="longest answer of a chat target")] = 1024
    processes: Annotated[Positive, Meta(description="processes one run may have at a time")] = 512
    memory_gb: Annotated[float, Meta(gt=0, description="GB of memory of one run, all its processes")] = 8.0
    disk_gb: Annotated[float, Meta(gt=0, description="GB one run may write to disk")] = 4.0
    setup: Annotated[
        str, Meta(description="command that makes a project ready, run once a commit, such as npm ci")
    ] = ""
    project_setup: Annotated[
        tuple[str, ...], Meta(description="commands for single projects, each as PATH:COMMAND")
    ] = ()
    setup_hosts: Annotated[
        tuple[str, ...],
        Meta(description="hosts set-up may reach, such as registry.npmjs.org; empty = no network"),
    ] = ()

    toolchains: Annotated[
        tuple[str, ...],
        Meta(description="folders runs may read besides the system's, such as ~/.nvm/versions/node/v22.11.0"),
    ] = ()

    def __post_init__(self) -> None:
        for text in self.toolchains:
            if not text.startswith(("/", "~/")):
                raise ValueError(f"{text!r} is no place of a toolchain: write it as /PATH or ~/PATH")
        for text in self.project_setup:
            path, _, command = text.partition(":")
            if not path.startswith(("/", "~/")) or not command.strip():
                raise ValueError(f"{text!r} is not PATH:COMMAND, for example ~/work/shop:npm ci")


class Ceilings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one night, or all nights of a month, may use at most; checked before every call."""

    usd: Annotated[float, Meta(ge=0, description="US dollars")] = 5.0
    usd_month: Annotated[
        float, Meta(ge=0, description="US dollars of all nights of a calendar month; 0 = any")
    ] = 50.0
    tokens: Annotated[int, Meta(ge=0, description="tokens, cached ones included")] = 20_000_000
    calls: Annotated[int, Meta(ge=0, description="rollouts and optimizer calls")] = 400
    minutes: Annotated[float, Meta(gt=0, description="wall-clock minutes")] = 240.0


class Training(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How edits are found."""

    learning_rate: Annotated[int, Meta(ge=0, description="most edits a candidate may carry")] = 4
    candidates: Annotated[Positive, Meta(description="candidates raced on the train tasks")] = 2
    minibatch_size: Annotated[Positive, Meta(description="failed runs one reflection sees")] = 4
    tasks: Annotated[Positive, Meta(description="train tasks a night")] = 8
    epochs: Annotated[Positive, Meta(description="times a night goes through its train tasks")] = 1
    batch_size: Annotated[int, Meta(ge=0, description="train tasks of a step; 0 = all in one step")] = 0
    samples: Annotated[Positive, Meta(description="runs of each train task; 2 or more show what varies")] = 1
    lr_scheduler: Annotated[
        str,
        Meta(
            pattern="^(constant|linear|cosine|autonomous)$",
            description="how the learning rate falls from step to step; autonomous = the optimizer decides",
        ),
    ] = "constant"
    min_learning_rate: Annotated[int, Meta(ge=0, description="where a falling learning rate ends")] = 1
    use_slow_update: Annotated[
        bool, Meta(description="guidance from comparing the skill with the one a night, or epoch, ago")
    ] = False
    use_meta_skill: Annotated[
        bool, Meta(description="notes the optimizer keeps for itself, from the same comparison")
    ] = False
    use_skill_aware_reflection: Annotated[
        bool, Meta(description="reminders of rules that are there and were not followed")
    ] = False
    trace_tokens: Annotated[
        int,
        Meta(ge=0, description="what one reflection is shown of runs; 0 = 900 for a local model, else 6000"),
    ] = 0
    reply_tokens: Annotated[
        int, Meta(ge=0, description="longest reply of the optimizer; 0 = 500 for a local model, else 2000")
    ] = 0
    max_skill_tokens: Annotated[Positive, Meta(description="size budget of a skill")] = 2000
    seed: Annotated[int, Meta(description="seed of shuffles and splits")] = 42


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When an edit is good enough."""

    mode: Annotated[
        str,
        Meta(
            pattern="^(evidence|one-night|strict|soft|mixed|off)$",
            description="evidence (over nights), one-night (an exact test); without evidence: strict, soft or"
            " mixed (the mean rose), off (anything legal)",
        ),
    ] = "evidence"
    alpha: Annotated[float, Meta(gt=0, lt=1, description="chance of accepting a useless skill")] = 0.05
    min_effect: Annotated[Share, Meta(description="smallest mean gain worth having")] = 0.05
    min_tasks: Annotated[Positive, Meta(description="fewer usable held-out tasks decide nothing")] = 5
    tasks: Annotated[Positive, Meta(description="held-out tasks a night")] = 12
    max_nights: Annotated[Positive, Meta(description="nights a candidate may wait for evidence")] = 10
    candidates: Annotated[
        Positive, Meta(description="candidates of a skill that may reach the gate on one night; share alpha")
    ] = 1
    control: Annotated[
        str,
        Meta(
            pattern="^(candidate|family)$",
            description="candidate (alpha for each) or family (useless ones among all accepted)",
        ),
    ] = "candidate"
    family_alpha: Annotated[
        float, Meta(gt=0, lt=1, description="useless share of what is accepted, under family control")
    ] = 0.1
    max_cost_ratio: Annotated[float, Meta(ge=0, description="times a run may get dearer; 0 = any")] = 2.0
    max_time_ratio: Annotated[float, Meta(ge=0, description="times a run may take longer; 0 = any")] = 3.0
    soft_weight: Annotated[Share, Meta(description="share of the soft score in mode mixed")] = 0.5
    val_share: Annotated[
        float, Meta(ge=0, lt=0.4, description="share of tasks that choose among candidates")
    ] = 0.0
    sealed_share: Annotated[
        float, Meta(ge=0, lt=0.4, description="share of tasks kept for one look at a finished skill")
    ] = 0.1


class Mine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How recurring tasks are found."""

    across_projects: Annotated[
        bool,
        Meta(description="true: what recurs in any projects is one family, and its skill the user's"),
    ] = False
    titles: Annotated[
        str,
        Meta(
            pattern="^(plain|model)$",
            description="plain (made from the prompts) or model (a night asks the optimizer for better ones)",
        ),
    ] = "plain"


class Harvest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose transcripts are read, and where they are looked for."""

    clients: Annotated[tuple[str, ...], Meta(description="clients to read; empty = all known")] = ()
    roots: Annotated[
        tuple[str, ...],
        Meta(description="further folders, each as CLIENT:PATH; they may be missing"),
    ] = ()

    def __post_init__(self) -> None:
        try:
            if self.clients:
                check_clients(self.clients)
            for root in self.roots:
                check_root(root)
        except UsageError as error:
            # Of an error that is no ValueError the reader of the file would not tell the place.
            hint = f" ({error.hint})" if error.hint else ""
            raise ValueError(f"{error.message}{hint}") from error


class Night(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one night takes on."""

    skills: Annotated[Positive, Meta(description="skills worked on in one night")] = 3
    min_occurrences: Annotated[int, Meta(ge=2, description="how often an ask must recur")] = 2


class Service(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When the background service works a night."""

    window: Annotated[
        str, Meta(pattern=HOURS, description="hours of the night by the clock here, such as 23:30-06:00")
    ] = "01:00-06:00"
    jitter_minutes: Annotated[float, Meta(ge=0, description="a night begins up to so much later")] = 20.0
    catch_up: Annotated[
        bool, Meta(description="make up for a missed night, outside the window and the quiet hours")
    ] = True
    quiet_hours: Annotated[
        tuple[Annotated[str, Meta(pattern=HOURS)], ...],
        Meta(description="hours in which no night works, each as HH:MM-HH:MM"),
    ] = ("08:00-18:00",)
    idle_minutes: Annotated[
        float, Meta(ge=0, description="how long no agent session may have gone on before a night")
    ] = 15.0
    catch_up_idle_minutes: Annotated[
        float, Meta(ge=0, description="the same before a missed night is made up for")
    ] = 30.0
    on_power: Annotated[bool, Meta(description="work only while the machine is plugged in")] = True
    min_battery: Annotated[
        int, Meta(ge=0, le=100, description="per cent of battery a night needs when not plugged in")
    ] = 50
    max_load: Annotated[
        float, Meta(ge=0, description="load per core above which no night begins; 0 = any")
    ] = 0.7
    min_disk_gb: Annotated[float, Meta(ge=0, description="GB of free disk a night needs")] = 1.0
    metered: Annotated[bool, Meta(description="work on a metered network, too")] = False
    notify: Annotated[bool, Meta(description="tell the desktop in the morning what a night brought")] = False
    webhook: Annotated[
        str,
        Meta(
            pattern=r"^(https?://\S+)?$",
            description="URL that gets a night's figures, never its texts; empty = none",
        ),
    ] = ""


class Review(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How proposals are shown and decided."""

    commit: Annotated[
        bool, Meta(description="true: apply commits a project's skill, and nothing else, on your branch")
    ] = False
    snooze_days: Annotated[Positive, Meta(description="days a snoozed proposal is out of the way")] = 7
    diff: Annotated[
        str, Meta(pattern="^(auto|unified|split)$", description="auto (by width), unified or split")
    ] = "auto"
    keys: Annotated[
        tuple[str, ...],
        Meta(description="keys of the review, each as ACTION:KEY, for example apply:A (see its help, ?)"),
    ] = ()

    def __post_init__(self) -> None:
        for text in self.keys:
            action, _, key = text.partition(":")
            if not action.strip() or not key.strip():
                raise ValueError(f"{text!r} is not ACTION:KEY, for example apply:A")


# US dollars per million tokens: input, output, and if need be cache read and cache write.
Prices = dict[
    str,
    Annotated[tuple[Annotated[float, Meta(ge=0)], ...], Meta(min_length=2, max_length=4)],
]


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings; a missing key has its default."""

    target: Target = Target()
    optimizer: Optimizer = Optimizer()
    judge: Judge = Judge()
    replay: Replay = Replay()
    ceilings: Ceilings = Ceilings()
    training: Training = Training()
    gate: Gate = Gate()
    mine: Mine = Mine()
    night: Night = Night()
    harvest: Harvest = Harvest()
    service: Service = Service()
    review: Review = Review()
    prices: Prices = {}


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as shown: `origin` is default or file."""

    key: str
    value: Any
    origin: str
    description: str


def load(path: Path) -> Settings:
    """Read the settings; a missing file means defaults. Raises UsageError for anything it cannot take."""
    return _convert(_read(path), path)


def list_values(path: Path) -> list[Value]:
    """Return every setting with its value, origin and description."""
    raw = _read(path)
    settings = _convert(raw, path)
    values = [
        Value(
            key=key,
            value=getattr(getattr(settings, section), name),
            origin="file" if name in raw.get(section, {}) else "default",
            description=description,
        )
        for key, section, name, description in _keys()
    ]
    return values + [
        Value(key=f"{_PRICES}.{model}", value=prices, origin="file", description=_OF_PRICES)
        for model, prices in settings.prices.items()
    ]


def set_value(path: Path, key: str, text: str) -> Value:
    """Write one setting, keeping comments and order. Raises UsageError, having written nothing, if bad."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    section, name = _split(key)
    if section == _PRICES and not name:
        raise UsageError(
            "prices are set by model", hint="prices.MODEL, for example prices.gpt-x '[1.0, 2.0]'"
        )
    document = _parse(path)
    if not isinstance(document.get(section, {}), dict):
        _convert(document.unwrap(), path)
    current = _kind(section, name)
    try:
        if section == _PRICES:
            value: Any = _read_numbers(text)
        elif current is tuple and not text.lstrip().startswith("["):
            value = [part.strip() for part in text.split(",") if part.strip()]
        else:
            # As a value in a line of its own, so that no second setting can come with it.
            value = text if current is str else tomlkit.value(text.strip()).unwrap()
    except TOMLKitError as error:
        raise UsageError(f"{key}: {text!r} is not {_KINDS[current]}") from error
    if section not in document:
        document[section] = tomlkit.table()
    document[section][name] = value
    _convert(document.unwrap(), path)
    # A file that is a link, as people keep their dotfiles, stays one.
    write_atomically(path.resolve(), tomlkit.dumps(document))
    return next(v for v in list_values(path) if v.key == key)


def get_value(path: Path, key: str) -> Value:
    """Return one setting. Raises UsageError for an unknown key."""
    _split(key)
    value = next((v for v in list_values(path) if v.key == key), None)
    if value is None:
        raise UsageError(f"there is no price for {key.partition('.')[2]!r} in the settings", hint=_OF_PRICES)
    return value


def _read_numbers(text: str) -> list[float]:
    parts = [part.strip() for part in text.strip().removeprefix("[").removesuffix("]").split(",")]
    try:
        return [float(part) for part in parts if part]
    except ValueError as error:
        raise UsageError(f"{text!r} is no list of numbers", hint=_OF_PRICES) from error


def _keys() -> Iterator[tuple[str, str, str, str]]:
    for section in msgspec.structs.fields(Settings):
        if section.name == _PRICES:
            continue
        hints = get_type_hints(section.type, include_extras=True)
        for field in msgspec.structs.fields(section.type):
            yield f"{section.name}.{field.name}", section.name, field.name, _describe(hints[field.name])


def _describe(annotation: object) -> str:
    for argument in reversed(get_args(annotation)):
        if isinstance(argument, Meta) and argument.description:
            return argument.description
    return ""


def _kind(section: str, name: str) -> type:
    if section == _PRICES:
        return tuple
    return type(getattr(getattr(Settings(), section), name))


def _split(key: str) -> tuple[str, str]:
    known = [k for k, *_ in _keys()]
    if key not in known and not key.startswith(f"{_PRICES}."):
        near = difflib.get_close_matches(key, known, n=1)
        raise UsageError(
            f"there is no setting {key!r}",
            hint=f"did you mean {near[0]}?" if near else "skillopt-sleep config show lists them all",
        )
    section, _, name = key.partition(".")
    return section, name


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    # The parser is not loaded by the commands of somebody who has set nothing.
    return _parse(path).unwrap() if _text(path) else {}


def _parse(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(_text(path))
    except TOMLKitError as error:
        raise UsageError(f"{path} is not TOML: {error}", hint="mend the line or remove the file") from error


def _convert(raw: dict[str, Any], path: Path) -> Settings:
    try:
        return msgspec.convert(raw, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise _explain(str(error), raw, path) from error


def _explain(said: str, raw: dict[str, Any], path: Path) -> UsageError:
    """Put into words what msgspec says, which for a list of choices is a pattern."""
    found = re.fullmatch(r"Expected (.*) - at `\$\.(\w+)\.(\w+)(?:\[.*\])?`", said, re.DOTALL)
    takes = {(section, name): text for _, section, name, text in _keys()}
    if found is None or found.groups()[1:] not in takes:
        return UsageError(f"{path}: {said}", hint="skillopt-sleep config show lists the settings")
    wanted, section, name = found.groups()
    key, value = f"{section}.{name}", raw[section][name]
    why = "" if "matching regex" in wanted else f": it takes {wanted.partition(', got')[0].replace('`', '')}"
    return UsageError(f"{path}: {key} cannot be {value!r}{why}", hint=f"{key}: {takes[section, name]}")
