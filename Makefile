# make app    the dashboard, on the Swimmer demo (PORT=8501), for this computer only (HOST=0.0.0.0 for others too)
# make test   every check: ruff, mypy, all tests, the browser ones included
# make lint   ruff and mypy alone
# make bench  the benchmark tables, written into docs/results.md (ONLY="name …" some of them; QUICK=1 small sizes, not written; PEERS=1 rival packages too)
# make bench-app  the dashboard in a real browser: how quick, light and steady it is (QUICK=1 few repeats)
# make soak   a course and somebody who abuses the server (MINUTES=10): errors, answers, memory, disk, fairness; then 300 kills and 50 full disks
# make docs   the documentation as a website in site/ (SERVE=1 shows it while it is written)
# make wheel  the package, dashboard included, in dist/
# make lock   requirements.lock anew: what is missing is added (UPGRADE=1: everything in its newest version)
# make pictures  the pictures of the presets and the animation in the README (PRESETS="name …" only some)
# make clean  removes what these made

PYTHON ?= $(shell python3.11 -c "" 2>/dev/null && echo python3.11 || echo python3)
PORT ?= 8501
HOST ?= 127.0.0.1
JOBS ?= 4
MINUTES ?= 10
export OPENBLAS_NUM_THREADS = 1
# Without compiled modules every process that the tests start compiles the package anew, which takes as long as all else it does.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
PEER_VENV := .venv-peers
PEER_STAMP := $(PEER_VENV)/.installed
LOCK_VENV := .venv-lock
PIP := -m pip --disable-pip-version-check install --quiet
BENCH_FLAGS := $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(PEERS),--peers $(PEER_VENV)/bin/python)

.PHONY: app test lint ruff types pytest bench bench-app soak docs wheel lock pictures clean
.DELETE_ON_ERROR:

app: $(RUNTIME)
	$(BIN)/python -m semf_core app --host $(HOST) --port $(PORT)

test: ruff
	$(MAKE) --jobs=2 types pytest

lint: ruff types

ruff: $(DEV)
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .

types: $(DEV)
	$(BIN)/python -m mypy

pytest: $(DEV)
	.ci/install-chromium
	$(BIN)/python -c "from semf_core.mathematics import compiled; compiled.load()"
	$(BIN)/python -m pytest -n $(JOBS)

bench: $(DEV) $(if $(PEERS),$(PEER_STAMP))
	$(BIN)/python -m benchmarks $(BENCH_FLAGS)

bench-app: $(DEV)
	.ci/install-chromium
	$(BIN)/python -m benchmarks.dashboard $(if $(QUICK),--quick)

soak: $(DEV)
	.ci/install-chromium
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)
	$(BIN)/python -m benchmarks.kills

docs: $(DEV)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs $(if $(SERVE),serve,build --strict)

wheel: $(DEV)
	$(BIN)/python -m hatchling build

lock:
	$(if $(UPGRADE),echo > requirements.lock)
	$(PYTHON) -m venv --clear $(LOCK_VENV)
	$(LOCK_VENV)/bin/python $(PIP) -r requirements.txt -r requirements-dev.txt
	(echo "# The versions that the tests were run with; written by make lock."; $(LOCK_VENV)/bin/python -m pip freeze) > $(LOCK_VENV)/lock
	mv $(LOCK_VENV)/lock requirements.lock
	rm -rf $(LOCK_VENV)

pictures: $(DEV)
	$(BIN)/python assets/make_pictures.py $(PRESETS)

clean:
	rm -rf $(VENV) $(PEER_VENV) $(LOCK_VENV) build dist site *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit('Python 3.11 or newer is needed; set PYTHON=…' if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements.txt requirements.lock | $(VENV)/bin/python
	$(BIN)/python $(PIP) -r requirements.txt
	touch $@

$(DEV): requirements-dev.txt $(RUNTIME)
	$(BIN)/python $(PIP) -r requirements-dev.txt
	touch $@

$(PEER_STAMP): benchmarks/requirements-peers.txt
	$(PYTHON) -m venv $(PEER_VENV)
	$(PEER_VENV)/bin/python $(PIP) -r benchmarks/requirements-peers.txt
	touch $@
