# Everything runs in .venv, which is made on first use. `make help` lists the targets.
#
# pip install runs again only when pyproject.toml or constraints.txt change: the stamp files
# are the record of the last successful install.

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt

# The demo and the tests share their two cores with nothing: one OpenMP thread, no spinning.
export OMP_NUM_THREADS ?= 1
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: help demo test test-slow test-nojit test-gpu fuzz bench bench-quick lint format clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.engine  ## the point in one minute: the same prompt free and inside a grammar
	@$(BIN)/infernix model get smollm2-135m
	@$(BIN)/python docs/examples/demo.py

test: $(VENV)/.dev  ## the test suite
	@$(BIN)/infernix warmup
	$(BIN)/python -m pytest -m "not slow and not gpu"

test-slow: $(VENV)/.dev  ## the tests that take longer
	$(BIN)/python -m pytest -m "slow and not gpu"

test-nojit: $(VENV)/.dev  ## the grammar and matcher tests without machine code: kernels run as plain Python
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m "not slow and not gpu" tests/gbnf tests/matcher

test-gpu: $(VENV)/.dev  ## the tests that need a CUDA device
	$(BIN)/python -m pytest -m gpu

lint: $(VENV)/.dev  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## rewrite the sources in the house style
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

fuzz: $(VENV)/.fuzz  ## search for differences to other engines (two minutes)
	$(BIN)/infernix fuzz run --minutes 2 --vocabulary synthetic --out build/fuzz --fresh --ours-only

bench: $(VENV)/.bench  ## all benchmarks into build/bench (about two hours)
	$(BIN)/python -m bench

bench-quick: $(VENV)/.bench  ## real schemas, a small sample of them (about three minutes)
	$(BIN)/python -m bench --quick

clean:  ## remove the environment and everything that was built
	rm -rf $(VENV) build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp for each extra. Installing an extra keeps what other extras have brought.
$(VENV)/.engine $(VENV)/.dev $(VENV)/.fuzz $(VENV)/.bench: $(VENV)/.%: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing infernix[$*] into $(VENV) (a few minutes the first time) ..."
	@$(PIP) -e '.[$*]'
	@touch $@
