"""The keys of the review: those of lazygit where it has them, and others where the user wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.binding import Binding

from skillopt_sleep.errors import UsageError


class Action(NamedTuple):
    """One thing a key does: `name` is what review.keys takes, `call` Textual's action, `label` the footer's.

    An empty `label` keeps it out of the footer; `group` and `says` are for the help.
    """

    name: str
    keys: str
    call: str
    label: str
    group: str
    says: str


ACTIONS = (
    # Those with a label stand in the footer in this order, and the last ones fall off a narrow one.
    Action("apply", "a", "apply", "apply", "Decide", "apply the chosen hunks"),
    Action("reject", "r,d", "reject", "reject", "Decide", "reject, with a reason"),
    Action("pick", "space", "toggle_hunk", "pick", "Hunks", "leave the hunk out, take it in"),
    Action("undo", "u,z", "undo", "undo", "Decide", "take the last decision back"),
    Action("help", "question_mark", "help", "help", "More", "this help"),
    Action("next-hunk", "n", "move_hunk(1)", "next", "Hunks", "the next hunk"),
    Action("edit", "e", "edit", "edit", "Decide", "edit the text in $EDITOR"),
    Action("snooze", "s", "snooze", "snooze", "Decide", "put it out of the way for some days"),
    Action("why", "w", "explain_hunk", "why", "Hunks", "what this hunk rests on"),
    Action("gate", "t", "gate_again", "test", "Decide", "test what you chose: tonight, or now"),
    Action("quit", "q", "quit", "quit", "More", "leave"),
    Action("in", "l", "focus_detail", "", "Move", "into the details (enter does as well)"),
    Action("list", "escape,h", "focus_queue", "", "Move", "back to the list"),
    Action("diff", "1", "show_tab('diff')", "", "Look", "the diff"),
    Action("evidence", "2", "show_tab('evidence')", "", "Look", "the evidence: sessions, numbers, nights"),
    Action("tasks", "3", "show_tab('tasks')", "", "Look", "the tasks, before and after"),
    Action("next-tab", "right_square_bracket", "step_tab(1)", "", "Look", "the tab after"),
    Action("previous-tab", "left_square_bracket", "step_tab(-1)", "", "Look", "the tab before"),
    Action("split", "vertical_line", "switch_layout", "", "Look", "unified, side by side, or by width"),
    Action("more-context", "right_curly_bracket", "widen(1)", "", "Look", "more lines around the hunks"),
    Action("less-context", "left_curly_bracket", "widen(-1)", "", "Look", "fewer lines around the hunks"),
    Action("previous-hunk", "N", "move_hunk(-1)", "", "Hunks", "the previous hunk"),
    Action("pick-file", "f", "toggle_file", "", "Hunks", "leave the whole file out, take it in"),
    Action("pick-all", "A", "toggle_all", "", "Hunks", "leave everything out, take everything in"),
    Action("reload", "R", "load", "", "More", "read the proposals again"),
    Action("palette", "ctrl+p", "command_palette", "", "More", "find an action by its name"),
)
_SHOWN = {
    "question_mark": "?",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "vertical_line": "|",
    "right_curly_bracket": "}",
    "left_curly_bracket": "{",
    "escape": "esc",
}
# Keys of the lists themselves, for the help only.
_FIXED = (
    ("Move", "j k ↓ ↑", "next, previous"),
    ("Move", "g G", "top, bottom"),
    ("Move", "tab", "next pane"),
)
_GROUPS = ("Move", "Look", "Hunks", "Decide", "More")


def make_bindings() -> list[Binding]:
    """Return the bindings with their usual keys; each is known by its action's name."""
    return [
        Binding(
            action.keys,
            action.call,
            action.label or action.says,
            show=bool(action.label),
            key_display=_SHOWN.get(action.keys.split(",")[0]),
            id=action.name,
        )
        for action in ACTIONS
    ]


def read_keys(settings: Sequence[str]) -> dict[str, str]:
    """Return the keymap that settings such as "apply:x" ask for.

    Raises UsageError for an unknown action, and for a key that would do two things.
    """
    known = {action.name for action in ACTIONS}
    keymap = {}
    for text in settings:
        name, _, key = (part.strip() for part in text.partition(":"))
        if name not in known:
            raise UsageError(
                f"review.keys: there is no action {name!r}", hint=f"known: {', '.join(sorted(known))}"
            )
        keymap[name] = key
    taken = {key: f"the lists: {says}" for _, keys, says in _FIXED for key in keys.split()}
    for action in ACTIONS:
        for key in keymap.get(action.name, action.keys).split(","):
            shown = _SHOWN.get(key.strip(), key.strip())
            if shown in taken:
                raise UsageError(
                    f"review.keys: {shown} would do two things: {action.name}, and {taken[shown]}",
                    hint="choose another key, or give the other action another one as well",
                )
            taken[shown] = action.name
    return keymap


def list_keys(keymap: Mapping[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the keys in force as (group, [(keys, what they do)]), for the help."""
    rows: dict[str, list[tuple[str, str]]] = {group: [] for group in _GROUPS}
    for group, keys, says in _FIXED:
        rows[group].append((keys, says))
    for action in ACTIONS:
        chosen = keymap.get(action.name, action.keys).split(",")
        rows[action.group].append((" ".join(_SHOWN.get(key, key) for key in chosen), action.says))
    return list(rows.items())
