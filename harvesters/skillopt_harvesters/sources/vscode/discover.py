"""Where VS Code keeps chat sessions, and which files are of the same one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from skillopt_harvesters.sources.folders import find_base, split_folders, unique
from skillopt_harvesters.sources.vscode.uris import to_path
from skillopt_harvesters.walk import walk_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PRODUCTS = ("Code", "Code - Insiders", "VSCodium", "VSCodium - Insiders")
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".vscodium-server-insiders")
_SESSIONS = "chatSessions"
_EXTENSION = "github.copilot-chat"
_TRANSCRIPTS = "transcripts"
# Folders beside the workspaces' that hold sessions of windows without one, or on the way to another.
_WINDOWLESS = ("emptyWindowChatSessions", "transferredChatSessions")
_SUFFIXES = (".jsonl", ".json")
_MAX_WORKSPACE = 64 * 1024


def find_roots(env: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the users' folders of all products and platforms, and of servers for remote windows.

    VSCODE_PORTABLE, or VSCODE_APPDATA, takes the place of the platform's folder, as in VS Code.
    """
    portable = split_folders(env.get("VSCODE_PORTABLE"), home)
    platforms = split_folders(env.get("VSCODE_APPDATA"), home) or (
        find_base(env, "XDG_CONFIG_HOME", home / ".config"),
        home / "Library" / "Application Support",
        find_base(env, "APPDATA", home / "AppData" / "Roaming"),
    )
    folders = [folder / "user-data" for folder in portable]
    folders = folders or [base / name for base in platforms for name in _PRODUCTS]
    agents = split_folders(env.get("VSCODE_AGENT_FOLDER"), home)
    servers = [*agents, *(home / name for name in _SERVERS)]
    folders.extend(server / "data" for server in servers)
    return unique(folder / "User" for folder in folders)


def find_files(root: Path, *, warn: Callable[[str], None] | None = None) -> Iterator[Path]:
    """Yield one file for each session below a user's folder: the best of a session's files."""
    for folder in _find_folders(root, warn):
        for path in walk_files(folder, _SUFFIXES, warn=warn):
            if path.parent == folder and family_of(path)[:1] == [path]:
                yield path


def family_of(path: Path) -> list[Path]:
    """Return the files of the session in a file, those that are there, best first.

    The log is newer than the document; the extension's transcript says less of how things went.
    """
    folder = path.parent
    storage = folder.parent
    if folder.name == _TRANSCRIPTS and storage.name.lower() == _EXTENSION:
        storage = storage.parent
    elif folder.name != _SESSIONS and folder.name not in _WINDOWLESS:
        return [path]
    chats = folder if folder.name in _WINDOWLESS else storage / _SESSIONS
    names = [chats / (path.stem + suffix) for suffix in _SUFFIXES]
    if folder.name not in _WINDOWLESS:
        spellings = dict.fromkeys(("GitHub.copilot-chat", _EXTENSION))
        names += [storage / name / _TRANSCRIPTS / f"{path.stem}.jsonl" for name in spellings]
    family = [name for name in names if name == path or os.path.isfile(name)]  # noqa: PTH113 - never raises
    return family if path in family else [path]


def keeps_sessions(path: Path, head: bytes) -> bool:
    """Tell whether a file has requests of a session, or prompts, and stands where VS Code keeps such."""
    folder = path.parent.name
    if folder == _TRANSCRIPTS:
        return b'"user.message"' in head
    return folder in (_SESSIONS, *_WINDOWLESS) and b'"requestId"' in head


def find_project(path: Path) -> str | None:
    """Return the folder a session's window was opened on, which `workspace.json` beside it names.

    Of a window on several folders it is where their list is kept, unless that is one of VS Code's own.
    """
    for folder in (path.parent.parent, path.parent.parent.parent):
        try:
            with (folder / "workspace.json").open("rb") as file:
                text = file.read(_MAX_WORKSPACE)
            workspace = msgspec.json.decode(text)
        except (OSError, msgspec.DecodeError, RecursionError):
            continue
        if isinstance(workspace, dict):
            project = to_path(workspace.get("folder"))
            listed = to_path(workspace.get("workspace") or workspace.get("configuration"))
            if project is None and listed and listed.endswith(".code-workspace"):
                separator = "\\" if "\\" in listed else "/"
                project = listed.rpartition(separator)[0]
            return project
    return None


def _find_folders(root: Path, warn: Callable[[str], None] | None) -> Iterator[Path]:
    shared = root / "globalStorage"
    yield from (shared / name for name in _WINDOWLESS)
    workspaces = root / "workspaceStorage"
    try:
        with os.scandir(workspaces) as listing:
            names = sorted(entry.name for entry in listing)
    except FileNotFoundError:
        return
    except OSError as error:
        if warn:
            warn(f"cannot read {workspaces}: {error.strerror}")
        return
    for name in names:
        yield workspaces / name / _SESSIONS
        for spelling in ("GitHub.copilot-chat", _EXTENSION):
            yield workspaces / name / spelling / _TRANSCRIPTS
