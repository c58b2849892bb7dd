# make app    the dashboard, on the Swimmer demo (PORT=8501)
# make test   every check: ruff, mypy, all tests, the browser ones included
# make lint   ruff and mypy alone
# make bench  the benchmark tables (QUICK=1 small sizes, PEERS=1 the rival packages as well)
# make bench-app  the dashboard in a real browser: how quick, light and steady it is (QUICK=1 few repeats)
# make soak   ten browsers with a run each (MINUTES=10): errors, lost runs, memory
# make clean  removes what these made

PYTHON ?= $(shell python3.11 -c "" 2>/dev/null && echo python3.11 || echo python3)
PORT ?= 8501
JOBS ?= 2
MINUTES ?= 10
export OPENBLAS_NUM_THREADS = 1

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime-installed
DEV := $(VENV)/.dev-installed
PEER_VENV := .venv-peers
PEER_STAMP := $(PEER_VENV)/.installed
PIP := -m pip --disable-pip-version-check install --quiet
BENCH_FLAGS := $(if $(QUICK),--quick) $(if $(PEERS),--peers $(PEER_VENV)/bin/python)

.PHONY: app test lint bench bench-app soak clean
.DELETE_ON_ERROR:

app: $(RUNTIME)
	$(BIN)/python -m streamlit run app.py --server.port $(PORT) --server.showEmailPrompt false --browser.gatherUsageStats false

test: lint
	.ci/install-chromium
	$(BIN)/python -m pytest -n $(JOBS)

lint: $(DEV)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy

bench: $(DEV) $(if $(PEERS),$(PEER_STAMP))
	$(BIN)/python -m benchmarks $(BENCH_FLAGS)

bench-app: $(DEV)
	.ci/install-chromium
	$(BIN)/python -m benchmarks.dashboard $(if $(QUICK),--quick)

soak: $(DEV)
	.ci/install-chromium
	$(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

clean:
	rm -rf $(VENV) $(PEER_VENV) build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -c "import sys; sys.exit('Python 3.11 or newer is needed; set PYTHON=…' if sys.version_info < (3, 11) else 0)"
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements.txt | $(VENV)/bin/python
	$(BIN)/python $(PIP) -r requirements.txt
	touch $@

$(DEV): requirements-dev.txt $(RUNTIME)
	$(BIN)/python $(PIP) -r requirements-dev.txt
	touch $@

$(PEER_STAMP): benchmarks/requirements-peers.txt
	$(PYTHON) -m venv $(PEER_VENV)
	$(PEER_VENV)/bin/python $(PIP) -r benchmarks/requirements-peers.txt
	touch $@
