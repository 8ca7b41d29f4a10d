# make demo   one whole night on bundled sample transcripts, with a local model
# make test   lint, types, import arrows and all tests
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PYTEST_ARGS ?=
# A third of the suite's time it waits for processes, so three workers keep two cores busy; WORKERS=0 runs all in one.
WORKERS ?= 3
CLIENTS ?= .cache/clients
PINNED := @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0 @github/copilot@1.0.102
# The native program inside a client's package: npm's wrapper would leave it running when killed.
native  = $$(find $(abspath $(CLIENTS)) -path '$(1)' -type f -size +1M 2>/dev/null | head -1)

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

# The real clients that the tests drive; without npm, or a network, those tests are skipped.
clients:
	@for client in $(PINNED); do \
		stamp=$(CLIENTS)/.have-$$(echo $$client | tr / _); \
		test -e $$stamp && continue; \
		command -v npm >/dev/null && npm install --prefix $(CLIENTS) --no-fund --no-audit --loglevel error --fetch-retries 1 $$client \
		&& touch $$stamp || echo "$$client could not be installed: the tests that drive it are skipped" >&2; \
	done

# Compiled once, and not by each of the many processes that the tests start.
test: lint clients
	$(BIN)/python -m compileall -q -j 0 skillopt_sleep harvesters replay gate staging tests
	SKILLOPT_TEST_CLAUDE="$(call native,*claude-code-*/claude)" \
	SKILLOPT_TEST_CODEX="$(call native,*codex-*/bin/codex)" \
	SKILLOPT_TEST_COPILOT="$(call native,*copilot-*/copilot)" \
	sh tests/in_memory.sh $(BIN)/python -m pytest -rs -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

bench: $(VENV)/.dev
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
