"""The state of a chat session: what it says of itself, and its requests."""

from __future__ import annotations

from typing import Any

import msgspec

from skillopt_harvesters.drafts import SessionDraft
from skillopt_harvesters.sources.loose import NULL, decode_any, decoder_of
from skillopt_harvesters.sources.skim import Wanted
from skillopt_harvesters.sources.vscode.uris import to_path
from skillopt_harvesters.times import to_utc

HEADER: dict[str, Wanted] = {
    "creationDate": True,
    "workingDirectory": True,
    "repoData": {"localBranch": True, "localHeadCommit": True},
}


class State(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """A whole state. It always has a list of requests, if only an empty one."""

    requests: list[msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    creation_date: msgspec.Raw = NULL
    working_directory: msgspec.Raw = NULL
    repo_data: msgspec.Raw = NULL


def read_state(raw: msgspec.Raw) -> State:
    """Decode a whole state; the requests of a broken one are looked for one by one."""
    try:
        state: State = decoder_of(State).decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = decode_any(raw)
        if not isinstance(value, dict):
            return State()
        requests = value.get("requests")
        items = requests if isinstance(requests, list) else None
        header = {field_of(key): msgspec.Raw(msgspec.json.encode(value.get(key))) for key in HEADER}
        found = msgspec.UNSET if items is None else [msgspec.Raw(msgspec.json.encode(item)) for item in items]
        return State(requests=found, **header)
    return state


def field_of(key: str) -> str:
    """Return the name of a header's key in `State`."""
    return {"creationDate": "creation_date", "workingDirectory": "working_directory"}.get(key, "repo_data")


def take_header(session: SessionDraft, key: str, value: Any) -> None:
    """Take a key of the session itself."""
    if key == "creationDate" and isinstance(value, (int, float)) and not isinstance(value, bool):
        session.see(to_utc(value))
    elif key == "workingDirectory":
        session.project = to_path(value) or session.project
    elif key == "repoData" and isinstance(value, dict):
        branch, commit = value.get("localBranch"), value.get("localHeadCommit")
        session.branch = branch if isinstance(branch, str) else session.branch
        session.commit = commit if isinstance(commit, str) else session.commit
