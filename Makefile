# Every target makes its own environment: a bare machine with Python and pip is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Set UHEBO_REQUIRE_ALL=1 to install what optional tests need and to turn their "skipped" into failures.
REQUIRE_ALL := $(UHEBO_REQUIRE_ALL)
TORCH := torch==2.13.0

.PHONY: help demo test lint bench clean
help:
	@echo "make demo   install, tune a real model with a progress bar, write out/report.html"
	@echo "make test   install and run the tests (UHEBO_REQUIRE_ALL=1: no test may be skipped)"
	@echo "make lint   ruff, mypy --strict, import layers"
	@echo "make bench  speed against BoTorch, scikit-learn and Optuna (installs PyTorch; BENCH=--quick is shorter)"

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/pip pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $@

# PyTorch by itself first: a range in another package's requirements would pull the CUDA build.
$(VENV)/torch: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(TORCH)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[botorch]"
	@touch $@

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py

test: $(VENV)/installed $(if $(REQUIRE_ALL),$(VENV)/torch)
	$(BIN)/python -m pytest -q -n auto

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# BENCH=--quick for the small sizes.
bench: $(VENV)/torch
	$(BIN)/python -m benchmarks.fit $(BENCH)
	$(BIN)/python -m benchmarks.suggest $(BENCH)

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis
