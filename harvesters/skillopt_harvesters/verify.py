"""Command lines by which people check work: test runs, builds, type checks, linters."""

from __future__ import annotations

import re
import shlex

_PREFIXES = re.compile(
    r"\A(?:(?:uv|poetry|pdm|hatch|pipenv|rye) run|bundle exec|npx(?: --no-install)?|pnpm exec|bunx|yarn exec"
    r"|python3? -m|python3\.\d+ -m|time|env)\s+"
)
_CHECKERS = re.compile(
    r"\A(?:"
    r"(?:\./|\.venv/bin/|venv/bin/)?(?:pytest|py\.test|tox|nox|unittest|mypy|pyright|behave)"
    r"|(?:\.venv/bin/)?(?:ruff (?:check|format --check)|black --check|flake8|pylint)"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? (?:test|build|lint|check|typecheck|type-check|ci)(?:[:\w-]*)"
    r"|npm t|deno (?:test|check|lint)|jest|vitest|mocha|ava|tsc|eslint|playwright test|cypress run"
    r"|make (?:test|tests|check|lint|build|all|ci|verify)|just (?:test|check|lint|build)|task (?:test|lint)"
    r"|cargo (?:test|build|check|clippy|nextest run)|go (?:test|build|vet)|golangci-lint run"
    r"|(?:mvn|\./mvnw) .*\b(?:test|verify|package|compile)|(?:gradle|\./gradlew) .*\b(?:test|build|check)"
    r"|rspec|rake (?:test|spec)|(?:bin/)?rails test|dotnet (?:test|build)|phpunit|(?:vendor/bin/)phpunit"
    r"|mix test|swift (?:test|build)|ctest|bazel (?:test|build)|sbt test|zig (?:build|test)|shellcheck"
    r"|terraform validate|helm lint|pre-commit run"
    r")(?=\s|\Z)"
)
# A result hidden behind one of these says nothing about the checker.
_HIDES_RESULT = re.compile(r"\|\|?|;|(?<!&)&(?!&)|\n|`|\$\(|<\(")
_PLAIN_WORD = re.compile(r"[\w./:=@,+%\[\]*-]+\Z")
_REDIRECT = re.compile(r"\s*(?:2>&1|>\s*/dev/null|2>\s*/dev/null)\s*\Z")


def is_verification(command: str) -> bool:
    """Tell whether a command line that exits 0 shows that a test, build or check ended well."""
    return find_verification(command) is not None


def find_verification(command: str) -> str | None:
    """Return the last checker of a command line, alone, or None.

    The exit status must be the checker's own: it stands last in its line, behind nothing but `&&`. A pipe
    into another program, `;`, `||` or a substitution hides it.
    """
    text = _without_redirects(command)
    if _HIDES_RESULT.search(text):
        return None
    last = text.split("&&")[-1].strip()
    bare = last
    while _PREFIXES.match(bare):
        bare = _PREFIXES.sub("", bare, count=1)
    return last if _CHECKERS.match(bare) else None


def as_replayable(command: str, project: str | None) -> str | None:
    """Return the checker of a command line so that it can run in a copy of the project, or None.

    Only plain words pass: no shell syntax, no path outside the project. What an agent once ran must not
    become a way to run something else.
    """
    if find_verification(command) is None:
        return None
    steps = [step.strip() for step in _without_redirects(command).split("&&")]
    inside: str | None = "."
    if steps[0].startswith("cd "):
        inside = _relative(steps[0][3:].strip().strip("'\""), project)
        steps = steps[1:]
    lines = [_plain(step, project) if find_verification(step) else None for step in steps]
    if inside is None or not all(lines):
        return None
    return " && ".join(([] if inside == "." else [f"cd {inside}"]) + [line for line in lines if line])


def _without_redirects(command: str) -> str:
    text = command.strip()
    while _REDIRECT.search(text):
        text = _REDIRECT.sub("", text)
    return text


def _plain(step: str, project: str | None) -> str | None:
    """Return a command of plain words with paths relative to the project, or None."""
    try:
        words = shlex.split(step)
    except ValueError:
        return None
    plain = [_relative(word, project) if word.startswith(("/", "~")) else word for word in words]
    if any(word is None or not _PLAIN_WORD.match(word) or ".." in word.split("/") for word in plain):
        return None
    return " ".join(word for word in plain if word)


def _relative(path: str, project: str | None) -> str | None:
    """Return a path relative to the project, or None when it lies elsewhere."""
    if not path.startswith(("/", "~")):
        return path if _PLAIN_WORD.match(path) and ".." not in path.split("/") else None
    if not project:
        return None
    root = project.rstrip("/")
    if path.rstrip("/") == root:
        return "."
    if not path.startswith(root + "/"):
        return None
    rest = path[len(root) + 1 :]
    return rest if rest and _PLAIN_WORD.match(rest) and ".." not in rest.split("/") else None
