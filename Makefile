# slotview: `make run` opens the dashboard, `make test` runs the tests. Needs Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif

.PHONY: run test install check lint types package screenshots bench soak clean

run: $(VENV)/installed
	@$(BIN)/slotview $(ARGS)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest $(ARGS)

install: $(VENV)/installed-dev

$(VENV)/created:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: pyproject.toml $(VENV)/created
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/installed-dev: pyproject.toml $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	$(BIN)/python .ci/link_types.py
	@touch $@

check: lint types

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed-dev
	$(BIN)/python .ci/link_types.py
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --no-warn-unreachable .venv/types/slotview
	$(BIN)/mypy --platform win32 --no-warn-unreachable .venv/types/slotview

package: $(VENV)/installed-dev
	$(BIN)/python .ci/check_package.py

screenshots: $(VENV)/installed-dev
	$(BIN)/python -m slotview.tui.lessons.pictures screenshots

bench: $(VENV)/installed-dev
	$(BIN)/python -m tests.benchmarks

soak: $(VENV)/installed-dev
	$(BIN)/python -m tests.soak

clean:
	rm -rf $(VENV) build dist *.egg-info
