# Needs Python 3.11 or newer and make. Everything else goes into .venv, once; after that nothing is fetched.

PYTHON ?= python3
PORT ?= 8000
ARGS ?=

# Every process would read all its code anew: twice the time to start.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
PY := $(VENV)/bin/python
# The lock files name every package with its digest, so nothing is left to resolve.
PIP := $(PY) -m pip install --quiet --quiet --disable-pip-version-check --no-input --root-user-action=ignore --no-deps
LOCKED := $(PIP) --no-compile --require-hashes
CONSOLE := $(shell find rolecall/console -name '*.html' -o -name '*.py')

.PHONY: help run install setup browser peers hosts pictures schema check test test-external battery battery-ci battery-planted mutants schemathesis sbom ages bench bench-import bench-console rehearse lock lock-add clean

help: ## Show what can be made
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 24

run: $(VENV)/package.stamp ## Run the service with a sample company; PORT=8000
	@$(PY) -m rolecall demo --data-dir .rolecall/demo --port $(PORT)

install: $(VENV)/package.stamp ## Make .venv with the rolecall command in it, and no more

setup: $(VENV)/package.stamp $(VENV)/dev.stamp ## Make .venv with everything, and the rolecall command in it

browser: ## Chromium for the console's tests, from the system's packages; ROLECALL_BROWSER names another
	@if [ -n "$$ROLECALL_BROWSER" ] || command -v chromium chromium-browser google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "Installing Chromium" && \
		apt-get update -qq && apt-get install -y -qq chromium >/dev/null; then :; \
	else echo "No Chromium here: the console's tests in a browser will be skipped. Install it, or set ROLECALL_BROWSER" >&2; \
	[ -z "$$CI" ]; fi

peers: setup ## slapd and an LDAP library, which the tests of live sources fetch from, from the system's packages
	@if [ -x /usr/sbin/slapd ] && $(PY) -c "import bonsai" 2>/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "Installing slapd and an LDAP library" && \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq slapd ldap-utils gcc libldap2-dev libsasl2-dev >/dev/null && \
		$(LOCKED) -r requirements-ldap.lock; then :; \
	else echo "No slapd here: the tests of live sources that need it will be skipped. Install slapd and rolecall[ldap]" >&2; \
	[ -z "$$CI" ]; fi

# RUNLEVEL=1: the packages do not start their services.
hosts: ## HAProxy and PgBouncer, for the test of several hosts, from the system's packages
	@if command -v haproxy >/dev/null && command -v pgbouncer >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "Installing HAProxy and PgBouncer" && \
		apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq haproxy pgbouncer >/dev/null; then :; \
	else echo "No HAProxy or PgBouncer here: the test of several hosts will fail. Install them" >&2; \
	[ -z "$$CI" ]; fi

pictures: setup browser ## The pictures of the console in docs/
	@$(PY) -m tests.console.browser.pictures

schema: setup ## Write what is generated about the schema: rolecall/schema/constants.sql, docs/schema.sql
	@$(PY) .ci/schema.py

check: setup ## Style, types, import rules, lock files
	@$(PY) -m ruff check
	@$(PY) -m ruff format --check
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports
	@$(PY) .ci/locks.py check

test: setup browser peers hosts ## The test suite, on an embedded PostgreSQL; ARGS="-k name"
	@$(PY) -m pytest $(ARGS)

test-external: setup browser peers hosts ## The same on a separately started PostgreSQL, or on yours: ROLECALL_TEST_DATABASE_URL
	@$(PY) -m tests.external $(ARGS)

battery: setup browser hosts ## Everything that proves reliability, an hour or two; ARGS=kill for one row; writes docs/reliability.md
	@$(PY) -m tests.battery $(ARGS)

battery-ci: setup browser hosts ## The same in its short form, some minutes
	@ROLECALL_BATTERY=ci $(PY) -m tests.battery $(ARGS)

battery-planted: setup browser hosts ## A deliberate bug for every row, which the row must notice
	@$(PY) -m tests.battery.planted $(ARGS)

mutants: setup ## Small bugs planted in the code that decides, which the suite must notice; ARGS="tokens --sample 100"
	@$(PY) -m tests.mutants $(ARGS)

schemathesis: setup ## The service against its own document, the long form: some 5,000 cases
	@ROLECALL_BATTERY=row ROLECALL_SCHEMATHESIS=long $(PY) -m pytest -n 0 -s tests/contract/test_schemathesis.py

bench: setup browser peers $(VENV)/bench.stamp ## The benchmarks; ARGS=http for one
	@$(PY) -m bench $(ARGS)

bench-import: setup ## Imports through the upload, beside a raw COPY and the conventional way
	@$(PY) -m bench.imports $(ARGS)

bench-console: setup browser ## From a key to the painted detail, in Chromium
	@$(PY) -m bench.console

bench-sources: peers

bench-%: setup
	@$(PY) -m bench.$* $(ARGS)

sbom: ## What is shipped, as CycloneDX JSON on stdout
	@$(PYTHON) .ci/supply.py sbom

ages: ## When each dependency was last released; needs the network
	@$(PYTHON) .ci/supply.py ages

rehearse: setup ## What deploy/Dockerfile does, without a container engine; needs the network
	@$(PY) .ci/rehearse.py

lock: setup ## Pin the dependencies anew, to the newest versions that fit; needs the network
	@$(PY) .ci/locks.py write

lock-add: setup ## Pin what pyproject.toml asks for besides, and keep all other versions; needs the network
	@$(PY) .ci/locks.py add

clean: ## Remove .venv and the sample company
	@rm -rf $(VENV) .rolecall/demo

$(VENV)/made.stamp:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Rolecall needs Python 3.11 or newer; $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.12" % v[:2])'
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/runtime.stamp: requirements.lock requirements-build.lock | $(VENV)/made.stamp
	@echo "Installing what the service needs"
	@$(LOCKED) -r requirements.lock -r requirements-build.lock
	@touch $@

# Builds in place: links the package, and takes the console's browser code out of the packages that carry it.
$(VENV)/package.stamp: $(VENV)/runtime.stamp pyproject.toml hatch_build.py $(CONSOLE)
	@$(PIP) --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock requirements-lake.lock $(VENV)/runtime.stamp
	@echo "Installing what its tests need"
	@$(LOCKED) -r requirements-lake.lock -r requirements-dev.lock
	@touch $@

$(VENV)/bench.stamp: requirements-bench.lock $(VENV)/dev.stamp
	@echo "Installing what the service is measured against"
	@$(LOCKED) -r requirements-bench.lock
	@touch $@
