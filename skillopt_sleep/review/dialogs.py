"""Questions asked before something is decided, and the help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Button, Input, Label, Static

# Lines below which nothing is shown that can be done without.
LOW = 17


class _Dialog(VerticalScroll, can_focus=False):
    """A box that scrolls where it has to; then its border tells that, and the keys that answer."""

    def __init__(self, keys: str) -> None:
        super().__init__(classes="dialog")
        self._keys = keys

    def on_resize(self) -> None:
        self.call_after_refresh(self._tell_keys)

    def _tell_keys(self) -> None:
        self.border_subtitle = Content(f"↓ more · {self._keys}") if self.max_scroll_y > 0 else ""


_SCROLLING = (
    Binding("j,down", "scroll(1)", show=False),
    Binding("k,up", "scroll(-1)", show=False),
)


class _Question(ModalScreen[ScreenResultType]):
    """A screen with one such box, which the arrows scroll."""

    def on_mount(self) -> None:
        self.set_class(self.app.size.height < LOW, "-tiny")

    def action_scroll(self, step: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=step, animate=False)


class Confirm(_Question[bool]):
    """Asks before a decision is carried out; true means go ahead. All texts are shown literally."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape,q", "answer(False)", "No"),
        Binding("left,right,h,l", "app.focus_next", show=False),
        *_SCROLLING,
    ]

    def __init__(self, title: str, lines: Sequence[str], warnings: Sequence[str], yes: str) -> None:
        super().__init__()
        self._title, self._texts, self._warnings, self._yes = title, lines, warnings, yes

    def compose(self) -> ComposeResult:
        with _Dialog(f"{self._yes} (y) · Cancel (n)"):
            yield Label(Content.styled(self._title, "bold $primary"), classes="dialog-title", markup=False)
            for line in self._texts:
                yield Static(line, markup=False)
            for warning in self._warnings:
                yield Static(f"! {warning}", classes="warning", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(f"{self._yes} (y)", id="yes", variant="primary", compact=True)
                yield Button("Cancel (n)", id="no", compact=True)

    @on(Button.Pressed)
    def press(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, yes: bool) -> None:  # noqa: FBT001 - called by the key's binding
        self.dismiss(yes)


class AskReason(_Question[str | None]):
    """Asks why a proposal is rejected; None when the user steps back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(self, skill: str) -> None:
        super().__init__()
        self._skill = skill

    def compose(self) -> ComposeResult:
        with _Dialog("enter rejects · esc steps back"):
            yield Label(
                Content.styled(f"Reject {self._skill}?", "bold $primary"),
                classes="dialog-title",
                markup=False,
            )
            yield Static("Give a reason: later nights are told why.", markup=False)
            yield Input(placeholder="too long, wrong project, not a rule but a one-off, …", id="reason")
            yield Static("enter rejects · esc steps back", id="reason-note", markup=False)

    @on(Input.Submitted)
    def submit(self, event: Input.Submitted) -> None:
        reason = event.value.strip()
        if reason:
            self.dismiss(reason)
        else:
            self.query_one("#reason-note", Static).update("A reason is needed; esc steps back.")
            self.query_one("#reason-note").add_class("warning")

    def action_cancel(self) -> None:
        self.dismiss(None)


class Choose(_Question[str | None]):
    """Asks which of a few things to do; None when the user steps back. All texts are shown literally."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,escape,q", "answer('')", "Cancel"),
        Binding("left,right,h,l", "app.focus_next", show=False),
        *_SCROLLING,
    ]

    def __init__(self, title: str, lines: Sequence[str], options: Mapping[str, str]) -> None:
        """`options` are the labels by what is returned; the letter in a label's brackets chooses it."""
        super().__init__()
        self._title, self._texts, self._options = title, lines, options
        for name, label in options.items():
            key = label.rpartition("(")[2].rstrip(")")
            self._bindings.bind(key, f"answer({name!r})", show=False)

    def compose(self) -> ComposeResult:
        with _Dialog(" · ".join([*self._options.values(), "Cancel (n)"])):
            yield Label(Content.styled(self._title, "bold $primary"), classes="dialog-title", markup=False)
            for line in self._texts:
                yield Static(line, markup=False)
            with Horizontal(classes="buttons"):
                for number, (name, label) in enumerate(self._options.items()):
                    variant: Literal["primary", "default"] = "default" if number else "primary"
                    yield Button(label, id=name, variant=variant, compact=True)
                yield Button("Cancel (n)", id="cancel", compact=True)

    @on(Button.Pressed)
    def press(self, event: Button.Pressed) -> None:
        self.action_answer(event.button.id or "")

    def action_answer(self, name: str) -> None:
        self.dismiss(name if name in self._options else None)


class Help(_Question[None]):
    """All keys, as they are set."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss", "Close"),
        *_SCROLLING,
    ]

    def __init__(self, keys: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
        """`keys` are groups, each with its rows of keys and what they do."""
        super().__init__()
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog help"):
            with Horizontal(classes="help-columns"):
                half = sum(len(keys) for _, keys in self._keys) / 2
                before = 0
                columns: tuple[list[Static], list[Static]] = ([], [])
                for group, keys in self._keys:
                    columns[before >= half].append(_list_group(group, keys))
                    before += len(keys)
                for column in columns:
                    yield Vertical(*column, classes="help-column")
            yield Static("esc closes · review.keys in the settings changes keys", classes="muted")


def _list_group(group: str, keys: Sequence[tuple[str, str]]) -> Static:
    rows = [Content.styled(group, "bold $primary")]
    rows += [Content.assemble((f"  {key:<10}", "$accent"), (text, "$foreground")) for key, text in keys]
    return Static(Content("\n").join(rows), classes="help-group")
