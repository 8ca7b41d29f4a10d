"""What came out of a night, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from skillopt_gate.verdicts import Verdict
from skillopt_sleep.invocation import split_commands
from skillopt_sleep.night.forecast import describe_forecast
from skillopt_sleep.night.planned import Forecast, Skipped
from skillopt_sleep.review.wording import count, say_reserved, say_sealed, say_times

_COMMAND = "`skillopt-sleep "
_NO_NIGHT = {"planned": "What a night would do now", "nothing": "Nothing to work on tonight"}


class SkillReport(msgspec.Struct, frozen=True, kw_only=True):
    """One skill's night. `verdict` is None when no candidate reached the gate; `note` says what happened.

    Train scores are mean shares of train tasks with every check passed, before and after the edits. `runs`
    says under which circumstances the held-out tasks ran (at which commit, in which sandbox), and how often.
    `restarted`: the evidence began anew, as another agent or model runs the tasks. `looks` is how often the
    gate tasks were looked at, `sealed` how many tasks are kept for one look at a finished skill; `noise` is
    the last calibration in one line.
    """

    skill: str
    title: str
    note: str
    verdict: Verdict | None = None
    proposal: str | None = None
    train_before: float | None = None
    train_after: float | None = None
    diff: str = ""
    runs: tuple[tuple[str, int], ...] = ()
    restarted: bool = False
    looks: int = 0
    sealed: int = 0
    noise: str = ""


class NightReport(msgspec.Struct, frozen=True, kw_only=True):
    """A whole night. `state` is done, stopped (by a ceiling), planned (a dry run) or failed.

    `judge` is the model that judged what no code could check, "" when nothing was judged; `forecast` what
    the night was thought to take before it began; `next_steps` what the user can do now. `reserved_usd` of
    `cost_usd` is what calls that were cut off may have cost at most; `seconds` those of all its processes.
    `unfinished` is, in a dry run, the night that was cut off and goes on first.
    """

    night: str
    state: str
    target: str
    optimizer: str
    sandbox: str
    tasks: int
    skills: tuple[SkillReport, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    rollouts: int
    tokens: int
    cost_usd: float
    seconds: float
    reserved_usd: float = 0.0
    mode: str = "evidence"
    control: str = "candidate"
    judge: str = ""
    forecast: Forecast | None = None
    next_steps: tuple[str, ...] = ()
    unfinished: str = ""

    @property
    def verdicts(self) -> list[dict[str, object]]:
        return [
            {"skill": s.skill, **msgspec.to_builtins(s.verdict)} for s in self.skills if s.verdict is not None
        ]

    @property
    def proposals(self) -> list[str]:
        return [s.proposal for s in self.skills if s.proposal]


def to_json(report: NightReport) -> dict[str, object]:
    """Return the `run --json` object."""
    value: dict[str, object] = msgspec.to_builtins(report)
    return {**value, "verdicts": report.verdicts, "proposals": report.proposals}


def to_markdown(report: NightReport, call: Callable[[str], str] = "skillopt-sleep {}".format) -> str:
    """Return the report as Markdown; its first line names the gate's mode. `call` writes a command."""
    lines = [*_tell_head(report), *_tell_notes(report)]
    if report.forecast is not None:
        lines.append(f"- {describe_forecast(report.forecast)}")
    for skill in report.skills:
        lines += ["", f"## {skill.skill}", "", f"{skill.title}", "", skill.note]
        if skill.train_before is not None and skill.train_after is not None:
            lines += [
                "",
                f"Train tasks passed: {skill.train_before:.0%} before, {skill.train_after:.0%} after.",
            ]
        if skill.verdict:
            lines += ["", f"**{skill.verdict.reason}**", "", *_about(skill, skill.verdict)]
        if skill.runs:
            lines += ["", "Held-out runs:", "", *(f"- {n} x {note}" for note, n in skill.runs)]
        if skill.proposal:
            lines += ["", f"Proposal `{skill.proposal}`. To look at it:", *_set_out(call("review"))]
        if skill.diff:
            fence = "`" * max(3, 1 + _longest_run(skill.diff))
            lines += ["", f"{fence}diff", skill.diff.rstrip("\n"), fence]
    if report.next_steps:
        lines += ["", "## Next steps", *_tell_steps(report, call)]
    if report.skipped:
        lines += ["", "## Left alone", ""]
        lines += [f"- {s.title} ({count(s.tasks, 'task')}): {s.reason}" for s in report.skipped]
    if report.skills:
        lines += ["", f"The gate's promise: {_guarantee(report.mode, report.control)}"]
    return "\n".join(lines) + "\n"


def _tell_head(report: NightReport) -> Iterator[str]:
    """Yield which night it is, who works in it, and what it took."""
    title = f"Night {report.night}: {report.state}" if report.night else _NO_NIGHT[report.state]
    yield f"# {title} (gate mode: {report.mode})"
    if report.night or report.notes or report.forecast or report.target:
        yield ""
    if report.target:
        yield f"- target: {report.target}"
        yield f"- optimizer: {report.optimizer}"
    if report.judge:
        yield f"- judge: {report.judge}"
    if report.night:
        yield f"- sandbox: {report.sandbox}"
        yield (
            f"- {count(report.tasks, 'task')}, {count(report.rollouts, 'rollout')}, {report.tokens} tokens, "
            f"${report.cost_usd:.2f}{say_reserved(report.reserved_usd)}, {report.seconds:.0f} s"
        )


def _tell_notes(report: NightReport) -> Iterator[str]:
    for note in report.notes:
        said, commands = split_commands(note)
        yield f"- {said}"
        if commands:
            yield from (*_set_out(*commands), "")


def _tell_steps(report: NightReport, call: Callable[[str], str]) -> Iterator[str]:
    for step in report.next_steps:
        said, _, command = step.partition(_COMMAND)
        yield from ("", said.rstrip())
        if command:
            yield from _set_out(call(command.rstrip("`.")))


def _set_out(*commands: str) -> list[str]:
    """Return commands as a block of their own, which nothing wraps."""
    return ["", "```sh", *commands, "```"]


def _about(skill: SkillReport, verdict: Verdict) -> list[str]:
    """Return what puts a verdict into its place, a list item each."""
    facts = []
    if verdict.guarantee:
        facts.append(f"what holds: {verdict.guarantee}")
    if skill.restarted:
        facts.append("another agent or model runs the tasks than before, so the evidence began anew")
    facts.append(f"the held-out tasks of this skill were looked at {say_times(skill.looks)} so far")
    if skill.sealed:
        facts.append(say_sealed(skill.sealed))
    if skill.noise:
        facts.append(skill.noise)
    return [f"- {fact}" for fact in facts]


def _guarantee(mode: str, control: str) -> str:
    if mode not in {"evidence", "one-night"}:
        return (
            "none. This mode accepts a skill that changes nothing in up to half of all nights; `gate.mode`"
            " evidence does not."
        )
    if control == "family":
        return (
            "of the candidates of all skills, counted in blocks of 32, the accepted ones are useless at most"
            " in the share that `gate.family_alpha` allows; this holds on average, not for a single one."
        )
    if mode == "evidence":
        return (
            "Each candidate that is no better passes with a chance below alpha, however many nights it is"
            " looked at; this holds per candidate, not for all candidates of a year together."
        )
    return "Each night on its own accepts a candidate that is no better with a chance of at most alpha."


def _longest_run(text: str) -> int:
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
