# make demo   set up, compare all policies on a built-in workload, write the HTML report
# make test   set up, run all tests
# make test-long  the tests that draw many random examples or inject many faults, with all of them
# make bench  set up, run the benchmarks
# make lint   ruff, mypy, import-linter
# make docs   the documentation as HTML, in build/site
# make native the C libraries, in native/build
# make install PREFIX=/usr/local [DESTDIR=] [MPICC=mpicc]  the C libraries, their header and manual pages; no Python

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: demo test test-long bench lint docs native install setup clean

demo: $(READY)
	@mkdir -p build
	$(BIN)/penstock generate demo -o build/demo.json
	$(BIN)/penstock compare build/demo.json --html build/report.html

test: $(READY)
	$(BIN)/python -m pytest

test-long: $(READY)
	PENSTOCK_LONG=1 $(BIN)/python -m pytest -m long --dist worksteal

bench: $(READY)
	$(BIN)/python -m benchmarks

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY)
	$(BIN)/mkdocs build --strict

native:
	$(MAKE) -C native

install:
	$(MAKE) -C native install

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build native/build
