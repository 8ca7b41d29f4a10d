"""What goes wrong in `train` and `eval`, in the words of a run: by its own keys, and whose code it was."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import skillopt_sleep
from skillopt_replay.errors import CeilingReached, ReplayError
from skillopt_sleep.cli.frame import write_crash
from skillopt_sleep.errors import Explained
from skillopt_sleep.training.contract import TrainingError

# The nights have other names for what a run's configuration says.
_NAMES = {
    "target.agent": "model.target_backend",
    "target.command": "model.command",
    "target.model": "model.target",
    "optimizer.model": "model.optimizer",
}
_NAMED = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, _NAMES))})(?!\w)")
_GO_ON = (
    "raise model.max_usd, model.max_tokens or model.max_calls, and start the same command again: what was"
    " paid for is kept"
)


@contextmanager
def explaining(environment: str) -> Iterator[None]:
    """Explain the errors of the block. `environment` is env.name; what fails in its module is no bug of ours.

    Raises TrainingError for that, with the line it is in; all others stay what they are.
    """
    try:
        yield
    except ReplayError as error:
        error.message, error.hint = _rename(error.message), _rename(error.hint)
        if isinstance(error, CeilingReached):
            error.hint = error.hint or _GO_ON
        raise
    except Exception as error:
        place = None if isinstance(error, Explained) else _find_place(error, environment)
        if place is None:
            raise
        raise TrainingError(
            f"the environment {environment} failed: {type(error).__name__}: {error}",
            hint=f"it is in {place}; the details are in {write_crash()}",
        ) from error


def _rename(text: str) -> str:
    return _NAMED.sub(lambda found: _NAMES[found[0]], text)


def _find_place(error: Exception, environment: str) -> str | None:
    """Return the last line of the traceback that is the environment's own; None when there is none."""
    module = sys.modules.get(environment.partition(":")[0]) if ":" in environment else None
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    folder = Path(file).parent
    # Beside installed packages, and beside ours, a file stands for itself alone.
    shared = folder.name == "site-packages" or folder == Path(skillopt_sleep.__file__).parents[1]
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        name = frame.f_code.co_filename
        if name == file or (not shared and Path(name).is_relative_to(folder)):
            return f"{name}, line {line}, in {frame.f_code.co_name}"
    return None
