"""The held-out tasks of a proposal, and the answers to the highlighted one before and after."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skillopt_sleep.records import Proposal, TaskEvidence
from skillopt_sleep.review.visible import show, show_line
from skillopt_sleep.review.wording import CHANGES, say_ask, say_runs

TONES = {"fixed": "$success", "broken": "$error", "same": "$foreground-muted", "not run": "$warning"}
# What speaks against a proposal comes first.
_ORDER = ("broken", "fixed", "same", "not run")
_LONGEST_ANSWER = 20_000


class TaskList(OptionList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]


class TaskView(Vertical):
    """A table of tasks (fixed, broken, same, not run) over the highlighted task's prompt and answers."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name for it
        super().__init__(id=id)
        self._tasks: list[TaskEvidence] = []

    def compose(self) -> ComposeResult:
        yield Static(id="task-counts", markup=False)
        yield TaskList(id="task-list", markup=False)
        with VerticalScroll(id="task-detail"):
            yield Static(id="task-prompt", markup=False)
            with Horizontal(id="answers"):
                yield Static(id="before", classes="answer", markup=False)
                yield Static(id="after", classes="answer", markup=False)
            # Where rows are few the answers come first; the list has the ask's first line already.
            yield Static(id="task-prompt-below", markup=False)

    def display_tasks(self, proposal: Proposal) -> None:
        """Show the tasks of a proposal, broken ones first."""
        self._tasks = sorted(proposal.note.tasks, key=lambda task: _ORDER.index(task.change))
        counts = Counter(task.change for task in self._tasks)
        self.query_one("#task-counts", Static).update(
            Content("   ").join(
                Content.styled(f"{CHANGES[change]} {counts[change]} {change}", TONES[change])
                for change in _ORDER
                if counts[change]
            )
            if self._tasks
            else "No held-out tasks were run for this proposal."
        )
        rows = self.query_one(TaskList)
        rows.clear_options()
        width = max((len(say_runs(task)) for task in self._tasks), default=0)
        rows.add_options(Option(_describe(task, width)) for task in self._tasks)
        rows.display = self.query_one("#task-detail").display = bool(self._tasks)
        if self._tasks:
            rows.highlighted = 0

    @on(OptionList.OptionHighlighted)
    def display_task(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if event.option_index >= len(self._tasks):
            return
        task = self._tasks[event.option_index]
        before, after = say_runs(task).split(" → ")
        asked = Content.assemble(("Asked  ", "bold $primary"), _shorten(task.prompt))
        self.query_one("#task-prompt", Static).update(asked)
        self.query_one("#task-prompt-below", Static).update(asked)
        self.query_one("#before", Static).update(
            _answer("Before", before, task.before, _judge(task.incumbent))
        )
        self.query_one("#after", Static).update(_answer("After", after, task.after, _judge(task.candidate)))
        self.query_one("#task-detail", VerticalScroll).scroll_home(animate=False)


def _describe(task: TaskEvidence, width: int) -> Content:
    change = task.change
    return Content.assemble(
        (f"{CHANGES[change]} {change:<8}", TONES[change]),
        (f"{say_runs(task):<{width}}  ", "$foreground-muted"),
        show_line(say_ask(task)),
    )


def _judge(scores: tuple[float, ...]) -> str:
    if not scores:
        return "$foreground-muted"
    mean = sum(scores) / len(scores)
    return "$success" if mean >= 1 else "$error" if mean <= 0 else "$warning"


def _answer(title: str, runs: str, text: str, tone: str) -> Content:
    passed = "no run" if runs == "–" else f"{runs} passed"
    return Content.assemble(
        (f"{title}  ", f"bold {tone}"),
        (f"{passed}\n", "$foreground-muted"),
        _shorten(text) or "(no answer kept)",
    )


def _shorten(text: str) -> str:
    if len(text) <= _LONGEST_ANSWER:
        return show(text)
    return f"{show(text[:_LONGEST_ANSWER])}\n… and {len(text) - _LONGEST_ANSWER:,} characters more"
