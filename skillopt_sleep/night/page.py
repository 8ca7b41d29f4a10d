"""A night's report as one HTML file that loads nothing: for a browser, or to pass on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from skillopt_sleep.night.morning import tell_outcomes
from skillopt_sleep.night.report import NightReport, SkillReport
from skillopt_sleep.review.visible import show
from skillopt_sleep.review.wording import count, say_effect, say_interval, say_reserved, say_wealth

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f4b; --bad: #b3263a; --dim: #777; }
@media (prefers-color-scheme: dark) { :root { --good: #79d398; --bad: #ff7d88; --dim: #98a5c4; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.15rem; margin-top: 2rem; border-top: 1px solid var(--line); padding-top: 1rem; }
table { border-collapse: collapse; }
td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }
th { color: var(--dim); font-weight: normal; }
pre { overflow-x: auto; border: 1px solid var(--line); padding: .6rem; font-size: .85rem; }
ins { color: var(--good); text-decoration: none; } del { color: var(--bad); text-decoration: none; }
.dim { color: var(--dim); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CODE = re.compile(r"`([^`]+)`")


def to_html(report: NightReport) -> str:
    """Return the report as a whole HTML document: every text literally, no script, nothing from elsewhere."""
    title = _text(f"Night {report.night}: {report.state}")
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<title>{title}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{title}</h1>",
            *_tell_night(report),
            *(line for skill in report.skills for line in _tell_skill(skill)),
            *_tell_skipped(report),
            "</body></html>",
            "",
        ]
    )


def _tell_night(report: NightReport) -> Iterator[str]:
    yield "<table>"
    for skill, became, why in tell_outcomes(report):
        cells = (_text(skill), f"<strong>{_text(became)}</strong>", _text(why))
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</table>"
    if report.next_steps:
        yield "<h2>Next steps</h2><ul>"
        yield from (f"<li>{_with_code(step)}</li>" for step in report.next_steps)
        yield "</ul>"
    yield "<h2>The night</h2><table>"
    facts = {
        "gate mode": report.mode,
        "target": report.target,
        "optimizer": report.optimizer,
        "judge": report.judge,
        "sandbox": report.sandbox,
        "took": f"{count(report.tasks, 'task')}, {count(report.rollouts, 'rollout')}, {report.seconds:.0f} s",
        "cost": f"${report.cost_usd:.2f}{say_reserved(report.reserved_usd)}, {report.tokens:,} tokens",
    }
    for name, value in facts.items():
        if value:
            yield f"<tr><th>{name}</th><td>{_text(value)}</td></tr>"
    yield "</table>"
    if report.notes:
        yield "<ul>"
        yield from (f"<li>{_text(note)}</li>" for note in report.notes)
        yield "</ul>"


def _tell_skill(skill: SkillReport) -> Iterator[str]:
    yield f"<h2>{_text(skill.skill)}</h2><p>{_text(skill.title)}</p><p class='dim'>{_text(skill.note)}</p>"
    verdict = skill.verdict
    if verdict:
        yield f"<p><strong>{_text(verdict.reason)}</strong></p><table>"
        facts = {
            "gain per task": f"{say_effect(verdict.effect)} {say_interval(verdict.interval)}",
            "tonight": f"{count(verdict.n, 'task')}: {verdict.wins} better, {verdict.losses} worse",
            "evidence": f"{say_wealth(verdict.wealth)} after {count(verdict.nights, 'night')}",
        }
        if skill.train_before is not None and skill.train_after is not None:
            facts["train tasks"] = f"{skill.train_before:.0%} passed before, {skill.train_after:.0%} after"
        for name, value in facts.items():
            yield f"<tr><th>{name}</th><td>{_text(value)}</td></tr>"
        yield "</table>"
    if skill.proposal:
        yield f"<p>Proposal <code>{_text(skill.proposal)}</code></p>"
    if skill.diff:
        yield f"<pre>{''.join(_colour(line) for line in _LINE.findall(skill.diff))}</pre>"


def _tell_skipped(report: NightReport) -> Iterator[str]:
    if report.skipped:
        yield "<h2>Left alone</h2><ul>"
        for one in report.skipped:
            yield f"<li>{_text(one.title)} ({count(one.tasks, 'task')}): {_text(one.reason)}</li>"
        yield "</ul>"


def _colour(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1], "span")
    return f"<{tag}>{_text(line)}</{tag}>"


def _with_code(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return escape(show(text, tab="    "))
