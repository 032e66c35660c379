# Two commands are all there is to know: `make quickstart` and `make test`.

PYTHON ?= python3

# CPUs round differently, and a test in which rounding decides passes on one and fails on the next. These folders are full
# of numbers; `make test-cpus` tests them as a CPU without AVX computes, then with two threads where `make test` has one.
NUMERIC := $(addprefix tests/,attention agree decoding models export training)
OLD_CPU := ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_ENABLE_INSTRUCTIONS=SSE4_2 CT2_FORCE_CPU_ISA=GENERIC

# The pins of constraints.txt are what CI runs. Some of them (numpy 2.4, filelock 4.2) have no release for Python 3.10,
# so there pip chooses within the ranges of pyproject.toml. `make CONSTRAINTS= …` does the same on any Python.
CONSTRAINTS ?= $(shell $(PYTHON) -c 'import sys; print("constraints.txt" if sys.version_info >= (3, 11) else "")')

# Compiled once, not by every worker and by every process that a test starts, also where the machine forbids it.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help quickstart test test-slow test-cpus test-requests check check-pages docs clean

help:
	@echo 'make quickstart   install into .venv, train on the bundled corpus, translate, write the attention page'
	@echo 'make test         run the tests, in less than ten minutes'
	@echo 'make test-slow    run those that take longer: kills, torchrun, whole experiments'
	@echo 'make test-cpus    once more, as other CPUs compute'
	@echo 'make test-requests   ask the server what its documentation allows, and what it does not'
	@echo 'make check        lint, formatting and types'
	@echo 'make docs         build the site into build/site: docs, course, reference and a gallery'
	@echo 'make clean        remove .venv, node_modules and caches; runs/ and prepared/ stay'

quickstart: .venv/.installed
	.venv/bin/regard quickstart

test: .venv/.installed
	.venv/bin/python -m pytest --numprocesses auto -m 'not slow'

# Processes that are killed, torchrun, whole experiments, thousands of hostile files: what takes long, and CI always does.
test-slow: .venv/.installed
	.venv/bin/python -m pytest --numprocesses auto -m slow

# Requests that are made up from the API's documentation: `make test` sends some, this sends many, for about a minute.
test-requests: .venv/.installed
	REGARD_REQUESTS=60 .venv/bin/python -m pytest --numprocesses auto tests/serve/test_schema.py

test-cpus: .venv/.installed
	$(OLD_CPU) .venv/bin/python -m pytest --numprocesses auto -m 'not slow' $(NUMERIC)
	OMP_NUM_THREADS=2 .venv/bin/python -m pytest --numprocesses auto -m 'not slow' $(NUMERIC)

check: .venv/.installed check-pages
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# The JavaScript of the pages, with the tools that package-lock.json pins. REGARD_NEEDS_NODE: fail rather than skip it.
check-pages:
	@if command -v npm >/dev/null; then \
		$(MAKE) --no-print-directory node_modules/.installed && npm run --silent check; \
	elif [ -n "$$REGARD_NEEDS_NODE" ]; then \
		echo 'REGARD_NEEDS_NODE is set, and there is no npm' >&2; exit 1; \
	else \
		echo 'The JavaScript of the pages is not checked: there is no npm.'; \
	fi

node_modules/.installed: package.json package-lock.json
	npm ci --no-audit --no-fund
	@touch $@

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and \
		"regard needs Python 3.10 or later, and $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --disable-pip-version-check $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -e '.[dev]'
	@touch $@

docs: .venv/.installed
	.venv/bin/python site/build.py

clean:
	rm -rf .venv node_modules *.egg-info build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
