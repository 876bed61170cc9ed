# Two commands: `make reproduce` and `make test`. Both set up everything they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
INPUTS := pyproject.toml constraints.txt

.PHONY: reproduce test test-faults setup lint docs browser bench bench-bonuses bench-lab clean

reproduce: $(VENV)/.core
	$(BIN)/countless reproduce tabular
	$(BIN)/countless report

test: setup lint browser
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

docs: setup
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "The documentation is docs/_build/html/index.html"

# The pages are tested in a real browser; without one those tests are skipped.
browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || { \
	  echo "Installing chromium for the tests of the pages ..."; \
	  apt-get install --yes --quiet chromium > /dev/null 2>&1 \
	  || { apt-get update --quiet > /dev/null 2>&1 && apt-get install --yes --quiet chromium > /dev/null 2>&1; } \
	  || echo "chromium cannot be installed here: the tests of the pages will be skipped"; }

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
	@$(PIP) --editable '.[dev,deep,lab,sb3,ray]'
	@touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) results report .mypy_cache .pytest_cache .ruff_cache .hypothesis
