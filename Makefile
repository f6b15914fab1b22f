# Everything a developer types. Works with GNU make 3.81 (macOS) and bash 3.2. `make` alone lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
LOG := $(VENV)/setup.log
PYTEST := $(BIN)/python -m pytest
# Finds Java for the command that follows, or stops with the words of scripts/find-java.
WITH_JAVA := JAVA_HOME="$$(scripts/find-java)" || exit 1; export JAVA_HOME;
# ARGS reaches the program behind `demo`, `bench`, `test`, `unit` and `check`: make unit ARGS="-k duration"
ARGS ?=

# Written last by a successful setup; holds the folder it was made in, because a virtual environment cannot be moved.
STAMP := $(VENV)/setup.done
ifneq ($(shell test -x $(BIN)/python && cat $(STAMP) 2>/dev/null),$(CURDIR))
.PHONY: $(STAMP)
endif

.PHONY: help setup demo test unit check bench lint format docs clean java

help: ## list what can be made (this)
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target what; do \
		printf '%-14s %s\n' "$$target" "$$what"; done

setup: $(STAMP) ## make .venv with everything in it; does nothing when it is up to date
	@if java="$$(scripts/find-java)"; then echo "ready: $$($(BIN)/python --version) in $(VENV), Java in $$java"; \
	else echo "ready, except for Java: $$($(BIN)/python --version) in $(VENV)"; fi

demo: java $(STAMP) ## Linear Road, small and live: generate, run, validate, report
	@$(WITH_JAVA) $(BIN)/millpond demo $(ARGS)

test: java $(STAMP) ## ruff, mypy, and all tests but the slow ones
	@echo "ruff check"; $(BIN)/ruff check --quiet --output-format concise .
	@echo "mypy"; $(BIN)/mypy
	@echo "pytest, without slow tests"; $(WITH_JAVA) $(PYTEST) -n 2 --dist worksteal -m "not slow" $(ARGS)

unit: $(STAMP) ## the tests that need no Java, in a few seconds
	@$(PYTEST) tests/unit $(ARGS)

check: java lint ## lint, and all tests, slow ones too
	@echo "pytest, with slow tests"; $(WITH_JAVA) $(PYTEST) -n 2 --dist worksteal -m "not cluster" $(ARGS)
	@echo "pytest, on a cluster"; $(WITH_JAVA) $(PYTEST) -m cluster tests/cluster $(ARGS)

bench: java $(STAMP) ## run the benchmarks
	@$(WITH_JAVA) $(BIN)/python -m benchmarks $(ARGS)

lint: $(STAMP) ## ruff (rules and layout) and mypy; changes nothing
	@echo "ruff check"; $(BIN)/ruff check --quiet --output-format concise .
	@echo "ruff format --check"; $(BIN)/ruff format --quiet --check . || \
		{ $(BIN)/ruff format --check . || true; echo 'Run "make format".'; exit 1; }
	@echo "mypy"; $(BIN)/mypy

format: $(STAMP) ## lay out the code and repair what ruff can repair
	@$(BIN)/ruff check --quiet --fix-only .
	@$(BIN)/ruff format .

docs: $(STAMP) ## write the references of Python, system tables and error messages anew
	@$(BIN)/python scripts/write_docs.py

clean: ## remove .venv, caches and build output
	@rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# Stops at once, before minutes of setup, when what was asked for cannot run.
java:
	@scripts/find-java >/dev/null

# $(call watched,what,command): say what is being done, keep the command's output in the log, tell every five seconds how
# far it is, and show the end of the log if it fails. Ctrl-C reaches the command too.
define watched
echo "$(1) ..."; $(2) >>$(LOG) 2>&1 & pid=$$!; \
trap 'kill $$pid 2>/dev/null; wait $$pid 2>/dev/null; echo "stopped"; exit 130' INT TERM; \
SECONDS=0; told=0; \
while kill -0 $$pid 2>/dev/null; do \
	sleep 0.5; \
	if (( SECONDS >= told + 5 )); then \
		told=$$SECONDS; last="$$(tail -n 1 $(LOG) | sed 's/^ *//; s/^Installing collected.*/Unpacking/' | cut -c 1-70)"; \
		printf '  %3d s: %s\n' $$told "$${last:-still at it}"; \
	fi; \
done; \
trap - INT TERM; \
if ! wait $$pid; then \
	echo "failed; the end of $(LOG):" >&2; tail -n 15 $(LOG) | sed 's/^/  /' >&2; exit 1; \
fi
endef

EXTRAS := .[dev,postgres]
PIP_INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --no-input --progress-bar off --editable "$(EXTRAS)"

$(STAMP): pyproject.toml
	@python="$$(scripts/find-python)" || exit 1; \
	if [ "$$(cat $(STAMP) 2>/dev/null)" != "$(CURDIR)" ] || ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		rm -rf $(VENV) && mkdir $(VENV) && \
		$(call watched,making $(VENV) with $$("$$python" --version),"$$python" -m venv $(VENV)); \
	fi; \
	rm -f $(STAMP); \
	$(call watched,installing packages into $(VENV) (1.5 GB; one to three minutes the first time),$(PIP_INSTALL)); \
	echo "$(CURDIR)" >$(STAMP)
