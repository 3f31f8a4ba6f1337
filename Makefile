# Two commands do everything on a fresh machine with Python 3.11, 3.12 or 3.13: `make demo` and `make test`, in any order.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo test check bench tables docs nightly protos clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := $(VENV)/.demo
READY := $(VENV)/.ready
INSTALL := install --quiet --disable-pip-version-check --constraint constraints.txt

help: ## what there is to run
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# What the demonstration needs, at the versions of constraints.txt; the project itself in place.
$(DEMO): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("localdp needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip $(INSTALL) --upgrade setuptools
	$(BIN)/pip $(INSTALL) --no-build-isolation --editable '.[plots]'
	touch $@

# On top of it, all that tests and checks need.
$(READY): $(DEMO)
	$(BIN)/pip $(INSTALL) --no-build-isolation --editable '.[dev]'
	touch $@

demo: $(DEMO) ## the separation of section 9.3, on real processes, with a picture in out/
	$(BIN)/localdp compare --models exact,curator,local,shuffled,flooded,shared --transport grpc --trials 200 --out out

test: $(READY) ## every test but the nightly ones
	@.ci/browser # Chromium, where it is absent and may be installed
	$(BIN)/pytest -n 2 --dist worksteal -m 'not nightly'

check: $(READY) ## style, types, rooms, protos
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf breaking --against protos/released/v0.1.binpb
	$(BIN)/python protos/generate.py --check

bench: $(READY) ## ratios against yardsticks measured in the same run, into out/bench.json
	$(BIN)/python -m benchmarks.run --out out/bench.json

tables: $(READY) ## what learners reach: figures that are not stored yet, and the tables of README.md and docs/
	$(BIN)/python docs/tables.py

# In an environment of its own: the site is made from text and syntax trees, and needs nothing of the project.
DOCS := out/venv-docs
$(DOCS)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip $(INSTALL) mkdocs mkdocs-material
	touch $@

docs: $(DOCS)/.ready ## the documentation as a site, in out/site
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "read it: out/site/index.html; to search it, too: $(PYTHON) -m http.server --bind 127.0.0.1 --directory out/site"

nightly: $(READY) ## the long checks
	$(BIN)/pytest -n 2 --dist worksteal -m nightly

protos: $(READY) ## regenerate parties/wire from protos/
	$(BIN)/python protos/generate.py

clean: ## remove what the other targets made
	rm -rf $(VENV) out build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
