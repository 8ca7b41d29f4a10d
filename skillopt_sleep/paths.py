"""Where things lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
import platformdirs

from skillopt_sleep.errors import AppError

HOME_VARIABLE = "SKILLOPT_SLEEP_HOME"
DEMO_MARKER = ".skillopt-sleep-demo"
_NAME = "skillopt-sleep"


class Paths(msgspec.Struct, frozen=True, kw_only=True):
    """Absolute paths of everything the app keeps; nothing exists until it is needed."""

    config: Path
    data: Path
    cache: Path
    log: Path
    model_folder: Path | None = None

    @property
    def database(self) -> Path:
        return self.data / "state.db"

    @property
    def is_demo(self) -> bool:
        """Tell whether this is the home of a demo, where no night is to read the user's sessions."""
        return (self.data / DEMO_MARKER).is_file()

    @property
    def lock(self) -> Path:
        return self.data / "run.lock"

    @property
    def decisions_lock(self) -> Path:
        return self.data / "decisions.lock"

    @property
    def daemon_lock(self) -> Path:
        return self.data / "daemon.lock"

    @property
    def vault(self) -> Path:
        return self.data / "vault"

    @property
    def snapshots(self) -> Path:
        return self.data / "snapshots"

    @property
    def nights(self) -> Path:
        return self.data / "nights"

    @property
    def replays(self) -> Path:
        return self.cache / "replays"

    @property
    def models(self) -> Path:
        return self.model_folder or self.cache / "models"


def locate(env: Mapping[str, str] | None = None) -> Paths:
    """Return the paths in force: under SKILLOPT_SLEEP_HOME when set, else the platform's own places."""
    env = os.environ if env is None else env
    home = env.get(HOME_VARIABLE)
    if home:
        root = Path(home).expanduser().absolute()
        return Paths(config=root / "config.toml", data=root, cache=root / "cache", log=root / "log")
    return Paths(
        config=platformdirs.user_config_path(_NAME) / "config.toml",
        data=platformdirs.user_data_path(_NAME),
        cache=platformdirs.user_cache_path(_NAME),
        log=platformdirs.user_log_path(_NAME),
    )


def make_private(folder: Path) -> Path:
    """Create the folder (0700) where it is missing, and return it. Existing modes are left as they are.

    Raises AppError when it cannot be made.
    """
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise AppError(
            f"cannot make the folder {folder}: {error.strerror}",
            hint=f"mend that, or set {HOME_VARIABLE} to a folder of your own",
        ) from error
    return folder
