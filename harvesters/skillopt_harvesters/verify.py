"""Command lines by which people check work: test runs, builds, type checks, linters."""

from __future__ import annotations

import re
import shlex

_PREFIXES = re.compile(
    r"\A(?:(?:uv|poetry|pdm|hatch|pipenv|rye) run(?: --(?:frozen|locked|no-sync|quiet|all-extras))*"
    r"|bundle exec|npx(?: --no-install| --no)?|pnpm exec|bunx|yarn exec|time|env|timeout(?: -\S+)* \d+[smh]?"
    r"|[A-Z][A-Z0-9_]*=[^\s'\"]*|(?:[\w./~-]*/)?python3?(?:\.\d+)?(?: -[bBEIsuW](?: \w+)?)* -m)\s+"
)
# A program by its name, or by its path in an environment of the project.
_AT = r"(?:[\w./~-]*/)?"
_SCRIPT = (
    r"(?:test|build|lint|check|typecheck|type-check|tsc|types|unit|e2e|verify|validate|format:check)"
    r"(?:[:\w-]*)"
)
_CHECKERS = re.compile(
    r"\A(?:"
    rf"{_AT}(?:pytest|py\.test|tox|nox|unittest|mypy|pyright|basedpyright|behave|pyre check|pytype)"
    rf"|{_AT}(?:ruff (?:check|format --check)|black --check|isort --check|flake8|pylint|bandit|lint-imports)"
    rf"|(?:{_AT}python3?(?:\.\d+)? )?(?:\./)?manage\.py (?:test|check)"
    rf"|(?:npm|pnpm|yarn|bun) (?:run )?{_SCRIPT}|(?:npm|pnpm|yarn|bun) run ci"
    rf"|npm t|deno (?:test|check|lint)|{_AT}(?:jest|vitest|mocha|ava|tsc|eslint|playwright test|cypress run)"
    rf"|{_AT}(?:prettier (?:--check|-c)|biome (?:check|ci|lint)|oxlint|stylelint|vue-tsc|svelte-check)"
    r"|make (?:-\S+ )*(?:test|tests|check|lint|build|all|ci|verify|typecheck|unit)"
    r"|(?:just|task) (?:test|check|lint|build)"
    r"|cargo (?:\+\S+ )?(?:test|build|check|clippy|nextest run|fmt (?:-- )?--check)"
    r"|go (?:test|build|vet)|golangci-lint run|staticcheck"
    r"|(?:mvn|\./mvnw) .*\b(?:test|verify|package|compile)|(?:gradle|\./gradlew) .*\b(?:test|build|check)"
    rf"|{_AT}rspec|rubocop|rake (?:test|spec)|(?:bin/)?rails test|dotnet (?:test|build)"
    rf"|{_AT}(?:phpunit|phpstan|psalm)"
    r"|composer test|php artisan test|mix test|swift (?:test|build)|ctest|bazel (?:test|build)|sbt test"
    r"|zig (?:build|test)|shellcheck|hadolint|actionlint|yamllint|ansible-lint|buf lint|sqlfluff lint"
    r"|terraform validate|tflint|helm lint|pre-commit run"
    r")(?=\s|\Z)"
)
# What fetches from the network, changes the files it looks at, waits for somebody or reaches further than a
# test: a check may do none of it, so these are never run again.
_NOT_AGAIN = re.compile(
    r"(?:\A|[\s/])(?:tox|nox|pre-commit)(?=\s|\Z)"
    r"|\s(?:--(?:fix\S*|write|apply\S*|unsafe-fixes|autocorrect\S*|auto-correct|snapshot-update|update\S*|watch\S*|ui|open|"
    r"headed|debug|pdb\S*|trace|serve|install-types|publish|deploy|push|upload\S*|host\S*|listen|exec\S*|"
    r"plugin\S*|rootdir\S*|basetemp\S*|allow-dirty)|-(?:w|u|exec|toolexec))(?=[\s=]|\Z)"
    r"|\b(?:npm|pnpm|yarn|bun|make|just|task|rake)\s.{0,200}\b(?:fix|watch|deploy|publish|release|push|prod(?:uction)?|upload|update|serve|dev|start|write|migrate|"
    r"seed|install|clean|docker|live)\b"
)
_SAFE_VARIABLES = frozenset(
    {
        "CI",
        "PYTHONPATH",
        "PYTHONWARNINGS",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUTF8",
        "PYTHONHASHSEED",
        "DJANGO_SETTINGS_MODULE",
        "NODE_ENV",
        "RUST_BACKTRACE",
        "GOFLAGS",
        "NO_COLOR",
        "FORCE_COLOR",
        "TZ",
        "RAILS_ENV",
        "MIX_ENV",
        "COVERAGE",
    }
)
# A result hidden behind one of these says nothing about the checker.
_HIDES_RESULT = re.compile(r"\|\|?|;|(?<!&)&(?!&)|\n|`|\$\(|<\(")
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=@,+%\[\]*-]+\Z")
_ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)\Z", re.DOTALL)
_GLUED_PATH = re.compile(r"(.*?[=:,@])([/~].*)\Z|(-[A-Za-z])([/~].*)\Z", re.DOTALL)
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
    become a way to run something else, so neither do checkers that change files, fetch, publish or wait.
    """
    if find_verification(command) is None or _NOT_AGAIN.search(command):
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
    plain: list[str] = []
    for word in words:
        assigned = _ASSIGNMENT.match(word)
        if assigned and assigned[1] not in _SAFE_VARIABLES:
            return None
        kept = _inside(word, project)
        if kept is None or not _PLAIN_WORD.match(kept) or ".." in re.split(r"[/=:,@]", kept):
            return None
        plain.append(kept)
    return " ".join(plain)


def _inside(word: str, project: str | None) -> str | None:
    """Return a word with the path in it, if any, relative to the project; None when that lies elsewhere."""
    if word.startswith(("/", "~")):
        return _relative(word, project)
    glued = _GLUED_PATH.match(word)
    if not glued:
        return word
    path = _relative(glued[2] or glued[4], project)
    return None if path is None else f"{glued[1] or glued[3]}{path}"


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
