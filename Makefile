# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test check perf clean

demo: $(VENV)/.demo  ## install, then the whole loop on the bundled benchmark
	$(BIN)/rejudge demo --out demo-out

test: $(VENV)/.dev  ## every test
	$(BIN)/python -m pytest

check: $(VENV)/.dev  ## format, lint, types, floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

perf: $(VENV)/.perf  ## benchmarks; each prints its ratio to a peer measured in the same run
	set -e; for file in tests/perf/perf_*.py; do $(BIN)/python -m tests.perf.$$(basename $$file .py); done

clean:  ## remove what the targets above made
	rm -rf $(VENV) demo-out build dist

$(VENV)/.perf: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[demo,dev,perf]'
	touch $@

$(VENV)/.demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	touch $@

$(VENV)/.dev: pyproject.toml $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --editable '.[demo,dev]'
	touch $@
