# One command for each thing to do; "make help" lists them. All of them keep to this folder.

SHELL := /bin/sh
VENV := .venv
RUN := $(VENV)/bin/python
UV := $(shell uv --version >/dev/null 2>&1 && echo uv)
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null \
	&& echo "$$p" && break; done)
# Nothing is written outside this folder, so a cache is used only where one is named.
INSTALL := $(if $(UV),uv pip install --compile-bytecode $(if $(UV_CACHE_DIR),,--no-cache) --python $(RUN),\
	$(RUN) -m pip install $(if $(PIP_CACHE_DIR),,--no-cache-dir))
SF ?= 1
PEER ?= none
REPEAT ?= 1
EXAMPLES ?= 100000
HISTORIES ?= 1000000
# Each has its own Spark, so two are what a small machine carries.
WORKERS ?= 2
TESTS := -m pytest -q -n $(WORKERS) --dist worksteal
QUICK := -m "not spark and not interop and not live and not slow"

export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo unit airflow docs backfill unit test live reliability fuzz simulate interop servers bench check format setup java clean

help:  ## List the commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | column -t -s @ 2>/dev/null \
	|| sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1  \2/p' $(MAKEFILE_LIST)

demo: java $(VENV)/demo.ready  ## Write 336,776 flights into a Hudi table with Airflow, month by month
	@$(RUN) scripts/demo.py

airflow: java $(VENV)/airflow.ready  ## Start Airflow on PostgreSQL to click through on the demo's table
	@$(RUN) -m tests.airflow_live

unit: $(VENV)/test.ready  ## Run the tests that need no Java, in little more than a minute
	PYHUDI_POINTS=few $(RUN) $(TESTS) $(QUICK)

test: java $(VENV)/test.ready  ## Run all tests but those of interop
	$(RUN) $(TESTS)

live: java $(VENV)/test.ready  ## Drive a real Airflow on PostgreSQL: backfills, retries, killed workers
	@tests/airflow_live/setup.sh || test $$? -eq 3
	@tests/interop/setup.sh || test $$? -eq 3
	$(RUN) -m pytest -q -rs -m live tests/airflow_live

backfill: java $(VENV)/test.ready  ## Backfill the twelve months of 2013 twice from Airflow's own pages, in a browser
	@tests/airflow_live/setup.sh || test $$? -eq 3
	@tests/interop/setup.sh || test $$? -eq 3
	PYHUDI_MONTHS=12 $(RUN) -m pytest -q -rs -m live tests/airflow_live/test_backfill_in_browser.py

docs: $(VENV)/test.ready  ## Build the site of the documents into build/docs
	$(RUN) -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "The site is build/docs/index.html"

reliability: java $(VENV)/test.ready  ## Stop, kill, damage and make up all there is, and write docs/reliability.md
	PYHUDI_POINTS=all $(RUN) $(TESTS) tests/faults/test_crash_in_write.py \
	tests/faults/test_crash_in_restore.py tests/faults/test_crash_in_bootstrap.py \
	tests/faults/test_crash_on_bootstrapped.py tests/faults/test_damaged_tables.py \
	tests/faults/test_hostile_bytes.py tests/faults/test_killed_processes.py tests/faults/test_cluster.py \
	tests/faults/test_on_object_store.py

fuzz: $(VENV)/test.ready  ## Make up bytes for every kind of file: make fuzz EXAMPLES=100000
	PYHUDI_EXAMPLES=$(EXAMPLES) $(RUN) $(TESTS) tests/faults/test_hostile_bytes.py

simulate: $(VENV)/test.ready  ## Play histories of several writers: make simulate HISTORIES=1000000
	PYTHONPATH=.:spark_jobs $(RUN) -m tests.simulator --histories $(HISTORIES)

# Where a prerequisite is missing each setup.sh says which and exits 3; the tests then skip, or fail if CI=true.
interop: $(VENV)/test.ready  ## Compare with Apache Hudi itself, which is fetched from Maven Central
	@tests/interop/setup.sh || test $$? -eq 3
	@tests/support/servers/setup.sh || test $$? -eq 3
	@tests/interop/s3a.sh || test $$? -eq 3
	$(RUN) $(TESTS) -rsx -m interop tests/interop tests/storage

servers:  ## Build the servers of the storage tests (S3, Azure, Google, HDFS), once: about eight minutes
	@tests/support/servers/setup.sh

check: $(VENV)/test.ready  ## Format, lint, types and layers, as in CI
	$(RUN) -m ruff format --check .
	$(RUN) -m ruff check .
	$(RUN) -m mypy
	PYTHONPATH=spark_jobs:. $(VENV)/bin/lint-imports

format: $(VENV)/test.ready  ## Format the code
	$(RUN) -m ruff format .
	$(RUN) -m ruff check --fix .

bench: java $(VENV)/bench.ready  ## Measure the write steps: make bench SF=1 PEER=all REPEAT=3
	$(RUN) benchmarks/upsert.py --scale-factor $(SF) --peer $(PEER) --repeat $(REPEAT)

setup: $(VENV)/test.ready  ## Make .venv with all that the tests need

clean:  ## Delete the demo's table and Airflow home
	rm -rf .demo

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	found=$$("$$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); \
	case "$$found" in 17|18|19|2[0-9]) ;; *) \
	echo "Java 17 or 21 is needed, found $${found:-none} ($$java): install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17) or set JAVA_HOME." >&2; \
	exit 1 ;; esac

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed and none is on PATH: install one, or call make PYTHON=/path/to/python3." >&2; exit 1; }
	@echo "Making $(VENV) with $(PYTHON) ..."
	@$(if $(UV),uv venv --quiet $(if $(UV_CACHE_DIR),,--no-cache) --python "$(PYTHON)" $(VENV),"$(PYTHON)" -m venv $(VENV))

# One line an environment: the extras of pyproject.toml that it needs.
$(VENV)/demo.ready: EXTRAS := demo
$(VENV)/airflow.ready: EXTRAS := airflow
$(VENV)/test.ready: EXTRAS := airflow,demo,docs,test
$(VENV)/bench.ready: EXTRAS := bench
$(VENV)/%.ready: pyproject.toml | $(VENV)/bin/python
	@echo "Installing Airflow, Spark and this package with its extras [$(EXTRAS)] into $(VENV), about 1 GB (once) ..."
	@mkdir -p .demo/tmp
	@TMPDIR="$(CURDIR)/.demo/tmp" $(INSTALL) --quiet --editable ".[$(EXTRAS)]"
	@touch $@
