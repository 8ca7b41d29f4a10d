"""Words with a meaning of their own: programs people run, commands of the clients."""

from __future__ import annotations

import re

_CLIENT_COMMANDS_TEXT = (
    "clear compact cost model login logout help config settings doctor exit quit resume continue "
    "status memory "
    "context mcp permissions allowed-tools agents hooks ide vim theme color terminal-setup bug "
    "feedback export "
    "release-notes add-dir rewind undo checkpoint usage stats statusline plugin plugins "
    "reload-plugins effort fast "
    "output-style todos tasks bashes upgrade rename fork branch skills privacy-settings sandbox "
    "remote-control "
    "keybindings extra-usage passes stickers mobile desktop chrome voice buddy btw copy diff files new "
    "approvals personality experimental mention ps apps title agent session sessions models themes editor "
    "connect details share unshare redo cwd cd list-dirs reset-allowed-tools user instructions lsp hotkeys "
    "changelog tree reload scoped-models clone"
)
CLIENT_COMMANDS = frozenset(_CLIENT_COMMANDS_TEXT.split())
# Commands that set the agent to work with a prompt of the client's.
BUILT_IN_COMMANDS = frozenset(
    "review init security-review pr-comments pr_comments insights fleet goal rubber-duck diagnose "
    "autopilot subtask plan".split()
)
# Those of them behind which any ask may stand: the words are the ask, not the command.
CARRYING_COMMANDS = frozenset("plan goal fleet autopilot subtask".split())
_PROGRAMS_TEXT = (
    "npm pnpm yarn npx bun bunx deno uv uvx pip pip3 pipx poetry pdm conda pytest tox nox ruff mypy "
    "pyright flake8 "
    "pylint isort python3 cargo rustc rustup gradle mvn sbt dotnet composer phpunit bundle rake "
    "rspec git gh glab "
    "docker docker-compose podman kubectl helm terraform tofu ansible ansible-playbook aws gcloud "
    "az psql mysql "
    "sqlite3 redis-cli curl wget rg fd jq yq sed awk grep tsc eslint prettier jest vitest mocha "
    "playwright cypress "
    "alembic flask django-admin rails mix ctest cmake ninja bazel ssh scp rsync tar systemctl "
    "journalctl brew apt "
    "sudo chmod chown mkdir rmdir pkill killall xargs rm ruby-build mise asdf nvm pyenv "
    "apt-get dnf golangci-lint gofmt shellcheck pre-commit nx turbo lerna webpack vite"
)
_PROGRAMS = frozenset(_PROGRAMS_TEXT.split())
# Also English words: a command only with something after them that looks like an argument.
_MAYBE_PROGRAMS = frozenset(
    (
        "make go node python ruby perl black just task java bash sh cat find echo touch head tail kill cp mv "
        "ls sort diff tree test time env"
    ).split()
)
_ARGUMENT = re.compile(
    r"-{1,2}[A-Za-z]|[\w-]*[./:=][\w./:=-]*\Z|(?:test|build|run|install|check|lint|fmt|vet|mod|get)\b"
)
_LETTERS = re.compile(r"[^A-Za-z0-9]+")


def looks_like_command(fragment: str) -> bool:
    """Tell whether a fragment reads as a command line, or as an option of one."""
    words = fragment.split()
    if not words:
        return False
    first = words[0].rsplit("/", 1)[-1]
    if words[0].startswith(("./", "--")) or first in _PROGRAMS:
        return True
    return first in _MAYBE_PROGRAMS and len(words) > 1 and bool(_ARGUMENT.match(words[1]))


def names_program(fragment: str) -> bool:
    """Tell whether a fragment opens with a program that is no word of its own."""
    return fragment.partition(" ")[0].rsplit("/", 1)[-1] in _PROGRAMS


def has_words(line: str, fragment: str) -> bool:
    """Tell whether a command line holds the words of a fragment, in order and adjacent."""
    here, sought = line.split(), fragment.split()
    return any(here[at : at + len(sought)] == sought for at in range(len(here) - len(sought) + 1))


def same_tool(name: str, spoken: str) -> bool:
    """Tell whether a tool's name is what somebody called it: WebSearch, "web search", "web_search"."""
    return _LETTERS.sub("", name).casefold() == _LETTERS.sub("", spoken).casefold() != ""
