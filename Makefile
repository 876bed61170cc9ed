# Two commands: `make reproduce` and `make test`. Both set up everything they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: reproduce test setup browser lint bench bench-bonuses bench-lab clean

reproduce: $(VENV)/.core
	$(BIN)/countless reproduce tabular
	$(BIN)/countless report

test: setup browser lint
	$(BIN)/pytest -n 2 --dist worksteal

setup: $(VENV)/.dev

# The page of the lab is tested in chromium: installed where that is possible, else those tests are skipped.
browser:
	@command -v chromium >/dev/null \
	|| { test "$$(id -u)" = 0 && apt-get install --yes --quiet chromium >/dev/null 2>&1; } \
	|| echo "There is no chromium here: the tests of the lab's page are skipped (apt-get install chromium)"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.core
	$(BIN)/python benchmarks/tabular.py

bench-bonuses: setup
	$(BIN)/python benchmarks/bonuses.py

bench-lab: setup
	$(BIN)/python benchmarks/lab.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: $(VENV)/bin/python $(INPUTS)
	@echo "Setting up $(VENV) ..."
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python $(INPUTS)
	@echo "Setting up $(VENV) with the development tools ..."
	@$(PIP) --editable '.[dev,deep,lab,sb3]'
	@touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) results report .mypy_cache .pytest_cache .ruff_cache .hypothesis
