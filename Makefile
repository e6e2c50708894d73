# Two commands do everything: `make conformance` and `make test`. `make check` is for every day; the others are parts.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RELEASE := $(VENV)-release
SBOM := dist/kafka-conformance.cdx.json
REPORTS ?= reports
# The targets of `make conformance`; each is compared with the reference in its profile.
TARGETS ?= --target reference --target kafka:3.9.2 --target kafka:latest
STAMP := $(VENV)/.installed
QUICK := not (slow or broker or spark or docker or browser or history or release)

# Tests start our programs by the hundred: without bytecode on disk each would compile all of it again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup conformance bench bench-spark history peers release check quick all test lint types contracts unit docs wheel jar-locks allure-lock constraints clean

help: ## Say what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: $(STAMP) ## Build .venv with the pinned, hashed packages

$(STAMP): constraints.txt pyproject.toml tools/set_up.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "set-up (code 78): Python 3.11 or newer is needed; say which: make PYTHON=python3.12 …" >&2; exit 78; }
	@$(PYTHON) tools/set_up.py $(VENV)
	@touch $@

conformance: setup ## Drive the reference and two Kafka brokers, and write the report (CLIENTS=--clients: with real clients)
	$(BIN)/kafka-conformance run $(TARGETS) $(CLIENTS) --out $(REPORTS) --spark-master 'local[*]'

bench: setup ## Time the reference beside a local Kafka
	$(BIN)/python tools/bench.py

bench-spark: setup ## Time the tables of many runs beside DuckDB
	$(BIN)/python tools/bench_spark.py $(REPORTS)/latest

history: setup ## Run the scenario of each known Kafka fault before and after its fix (a dozen releases)
	$(BIN)/python -X dev -m pytest -m history -n 0

peers: setup ## Run the suites on brokers that are not Kafka, and write docs/peers.md
	$(BIN)/python tools/peers.py

# Python's development mode debugs event loops, which makes tests take twice as long.
release: PYTHON_MODE := -X dev
release: quick ## Run quick tests in development mode, and whole suites on the brokers that `make test` runs a part of them on
	$(BIN)/pytest -m release -n 0

check: setup ## What you run all day, in three minutes: lint, types, contracts, and the tests that are not slow
	$(MAKE) --no-print-directory --jobs=2 lint contracts types quick

test: setup ## All checks and tests
	$(MAKE) --no-print-directory --jobs=2 lint contracts types all

lint: setup ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup ## Types
	$(BIN)/mypy

contracts: setup ## Who may import whom
	$(BIN)/lint-imports

quick: setup ## Our own tests that take less than a second each, and start no broker, container, Spark or browser
	$(BIN)/python $(PYTHON_MODE) -m pytest -q -m "$(QUICK)" --durations=10

all: setup ## All our tests: the quick ones fill the time in which brokers and Spark wait
	$(BIN)/pytest --durations=20

docs: setup ## Write the generated pages of the documentation anew
	$(BIN)/python -m harness.cli.generated_docs

wheel: $(RELEASE)/.installed ## Build wheel and sdist, and an SBOM of what the constraints name, in dist/
	rm -rf dist build
	$(RELEASE)/bin/python -m build --no-isolation --outdir dist .
	$(RELEASE)/bin/cyclonedx-py requirements constraints.txt --pyproject pyproject.toml --mc-type application \
		--spec-version 1.6 --output-reproducible --of JSON -o $(SBOM)
	$(RELEASE)/bin/python tools/finish_sbom.py $(SBOM) dist/*.whl

$(RELEASE)/.installed: constraints-release.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r constraints-release.txt
	@touch $@

jar-locks: setup ## Record the SHA-512 of the jars of releases that the lock lacks
	$(BIN)/python tools/lock_jars.py

allure-lock: ## Lock the newest allowed packages of Allure anew (needs npm)
	cd harness/report/allure/npm && rm -f package-lock.json \
		&& npm install --package-lock-only --ignore-scripts --no-audit --no-fund --omit-lockfile-registry-resolved

constraints: ## Pin the newest allowed packages anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-annotate --extra dev pyproject.toml -o constraints.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-annotate --group release -o constraints-release.txt

clean: ## Remove what was built, but neither reports nor cached jars
	rm -rf $(VENV) $(RELEASE) build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache .hypothesis
