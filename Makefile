# Every target sets itself up: the first run makes .venv from the locked requirements.
# Works with GNU make 3.81 (macOS) and a POSIX shell; needs no root.

# empty: the first suitable one, see hack/find-python.sh
PYTHON  ?=
VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
WORKERS ?= auto
ARGS    ?=
COMPILE  = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
           --custom-compile-command 'make lock' $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help demo test api-server test-fast soak check format golden bench lock clean

help: ## Show the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | while IFS='	' read -r name what; do \
	  printf '  make %-10s %s\n' "$$name" "$$what"; done

demo: $(VENV)/run ## Watch half a minute of kuik at work, against a registry on this machine
	@$(BIN)/python examples/demo/demo.py

test: api-server ## Run every test; builds a Kubernetes API server the first time
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

api-server: $(VENV)/dev ## Find the API server that tests use, or build it once: about three minutes on Debian
	@$(BIN)/python -m tests.cluster.binaries

test-fast: $(VENV)/dev ## Run the tests that need nothing but Python: under a minute
	HYPOTHESIS_PROFILE=$${HYPOTHESIS_PROFILE:-quick} $(BIN)/python -m pytest -n $(WORKERS) -m 'not slow' $(ARGS)

soak: api-server ## Edit, kill and freeze a running kuik for ten minutes, 200 copies and 50 leaders
	KUIK_SOAK=600 KUIK_KILLS=200 KUIK_FAILOVERS=50 KUIK_FAILING=60 $(BIN)/python -m pytest -s -p no:randomly tests/soak \
	  tests/registry/test_kills.py tests/cluster/test_failover.py tests/endtoend $(ARGS)

check: $(VENV)/dev ## Lint, check the format, the types and the architecture
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev ## Rewrite the sources in the common format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

golden: $(VENV)/dev ## Rewrite what is derived: golden plans, CustomResourceDefinitions
	KUIK_GOLDEN=rewrite $(BIN)/python -m pytest -n $(WORKERS) tests/golden tests/schemas tests/deploy/test_manifests.py $(ARGS)

bench: $(VENV)/dev ## Measure speed and memory, and print tables
	$(BIN)/python bench

lock: $(VENV)/dev ## Write the requirements from pyproject.toml (ARGS=--upgrade takes newer releases)
	$(COMPILE) pyproject.toml --group dev -o requirements-dev.txt
	$(COMPILE) pyproject.toml -c requirements-dev.txt -o requirements.txt
	$(COMPILE) --group build -c requirements-dev.txt -o requirements-build.txt

clean: ## Remove what the other targets made, the cached API server aside
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

# kuik alone, as somebody who runs it needs it; hatchling is there for the installation from the checkout
$(VENV)/run: requirements.txt requirements-build.txt pyproject.toml | $(VENV)/bin/python
	@echo "Installing kuik into $(VENV)"
	@$(PIP) install --require-hashes -r requirements.txt -r requirements-build.txt
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(VENV)/dev: requirements-dev.txt $(VENV)/run
	@echo "Installing what tests and checks need into $(VENV)"
	@$(PIP) install --require-hashes -r requirements-dev.txt
	@touch $@

$(VENV)/bin/python:
	@python=$$(sh hack/find-python.sh "$(PYTHON)") && echo "Making $(VENV) with $$python" && \
	  { "$$python" -m venv --clear $(VENV) || { rm -rf $(VENV); exit 1; }; }
