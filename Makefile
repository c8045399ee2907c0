# Every command sets up what it needs: `make demo` and `make test` work on a fresh clone.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
# make demo LAYER=s4d (or s4)
LAYER ?= s5
VENV := .venv
BIN := $(VENV)/bin

# One stamp per purpose, so that trying the demo does not install the test tools.
CREATED := $(VENV)/created
TO_USE := $(VENV)/installed-to-use
TO_DEVELOP := $(VENV)/installed-to-develop
PARTS_TO_USE := '.[training,plots]'
PARTS_TO_DEVELOP := '.[training,plots,data,weights,hub,dev]'

# The pins hold for building and for running. Of pip's many lines only the long downloads are shown,
# and its errors; not its advice.
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-input --progress-bar off \
	-c constraints.txt --no-build-isolation
SHOW_LONG := sed -un 's/^ *Downloading \([^-]*\)-[^ ]* (\([0-9.]* [MG]B\)).*/  downloading \1 (\2)/p; \
	s/^Installing collected packages.*/  unpacking/p'
install = { $(INSTALL) $(1) 2>&1 >&3 | sed -u '/^WARNING/d' >&2; } 3>&1 | $(SHOW_LONG)

.PHONY: help demo test lint bench clean

help:
	@echo "make demo    train S5 on recorded speech, then stream one utterance (a few minutes);"
	@echo "             LAYER=s4d or LAYER=s4 puts another layer in its place"
	@echo "make test    ruff, pyright and the whole test suite"
	@echo "make lint    ruff and pyright alone"
	@echo "make bench   every figure that the documents quote"
	@echo "make clean   remove the virtual environment and the caches"
	@echo
	@echo "PYTHON=python3.12 make ...   uses another interpreter (3.11 or newer) for a new .venv"

demo: $(TO_USE)
	@$(BIN)/python examples/demo.py --layer $(LAYER)

test: lint
	@$(BIN)/python -m pytest

lint: $(TO_DEVELOP)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/pyright --pythonpath $(BIN)/python

bench: $(TO_DEVELOP)
	@missed=; for script in import_time scan_accuracy layer_speed dt_memory hippo_memory \
		siso_layers drop_in ragged_batches; do \
		echo "== benchmarks/$$script.py"; \
		$(BIN)/python benchmarks/$$script.py || missed="$$missed $$script"; echo; \
	done; \
	[ -z "$$missed" ] || { echo "a bar is missed in:$$missed" >&2; exit 1; }

clean:
	rm -rf $(VENV) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks tools -name __pycache__ -prune -exec rm -rf {} +

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Eigenstate needs Python 3.11 or newer; $(PYTHON) is" \
			"$$($(PYTHON) --version 2>&1 || true)." \
			"Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(TO_USE): $(CREATED) pyproject.toml constraints.txt
	@echo "Installing PyTorch, the trainer and Eigenstate (once; a minute or more)"
	@$(call install,hatchling editables)
	@$(call install,-e $(PARTS_TO_USE))
	@touch $@

$(TO_DEVELOP): $(TO_USE)
	@echo "Installing the test tools (once)"
	@$(call install,-e $(PARTS_TO_DEVELOP))
	@touch $@
