# Two commands: `make reproduce` and `make test`. Both set up everything they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: reproduce test test-faults setup lint bench bench-bonuses clean

reproduce: $(VENV)/.core
	$(BIN)/countless reproduce tabular
	$(BIN)/countless report

test: setup lint
	$(BIN)/pytest -n 2 --dist worksteal

# The long form of the tests of faults: hundreds of kills and a million spoiled inputs.
test-faults: setup
	$(BIN)/pytest -n 0 -s --long --timeout=7200 tests/faults

setup: $(VENV)/.dev

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.core
	$(BIN)/python benchmarks/tabular.py

bench-bonuses: setup
	$(BIN)/python benchmarks/bonuses.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python $(INPUTS)
	@echo "Setting up $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(INPUTS)
	@echo "Setting up $(VENV) with the development tools ..."
	@$(PIP) --editable '.[dev,deep,sb3]'
	@touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) results report .mypy_cache .pytest_cache .ruff_cache .hypothesis
