# make demo   one whole night on bundled sample transcripts, with a local model
# make test   lint, types, import arrows and all tests
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTEST_ARGS ?=
CLIENTS ?= .cache/clients
CLAUDE_CLIENT := @anthropic-ai/claude-code@2.1.332

.PHONY: demo test lint clients bench clean

# The stamp follows pyproject.toml, so a changed dependency reinstalls and nothing else does.
$(VENV)/.demo: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "SkillOpt-Sleep needs Python 3.10 or newer; set PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,sandbox]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[local,sandbox,dev]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/skillopt-sleep demo

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The real client that the end-to-end tests drive; without npm, or a network, they are skipped.
clients:
	@find $(CLIENTS) -path '*claude-code-*/claude' -size +1M 2>/dev/null | grep -q . \
	|| { command -v npm >/dev/null && npm install --prefix $(CLIENTS) --no-fund --no-audit --loglevel error $(CLAUDE_CLIENT); } \
	|| echo "Claude Code $(CLAUDE_CLIENT) could not be installed: the tests that drive it are skipped" >&2

test: lint clients
	SKILLOPT_TEST_CLAUDE="$$(find $(abspath $(CLIENTS)) -path '*claude-code-*/claude' -size +1M 2>/dev/null | head -1)" \
	$(BIN)/python -m pytest -rs $(PYTEST_ARGS)

bench: $(VENV)/.dev
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
