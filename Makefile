# Two commands do everything: `make demo` shows what headscope finds, `make test` proves it.
# Both set up `.venv` themselves; nothing is needed but Python 3.11 or newer.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
RUN ?= out/demo

.PHONY: setup demo test check bench pictures clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt requirements-pipeline.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "headscope needs Python 3.11 or newer; try: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
		{ echo "this Python cannot make virtual environments; on Debian: apt-get install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	# torch first and pinned: an open range would pull gigabytes of CUDA libraries
	$(PIP) -c constraints.txt torch==2.13.0
	$(PIP) -c constraints.txt -e '.[demo,dev,spacy,hf]'
	$(PIP) --no-deps --require-hashes -r requirements-pipeline.txt
	@touch $@

demo: $(STAMP)
	$(BIN)/headscope demo -o $(RUN) --overwrite

test: $(STAMP)
	$(BIN)/python -m pytest -n 2

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict -p headscope
	$(BIN)/lint-imports

bench: $(STAMP)
	$(BIN)/python -m bench

# The pictures of the documentation, from the demo's run; needs a Chromium.
pictures: $(STAMP)
	test -f $(RUN)/report.html || $(BIN)/headscope demo -o $(RUN) --no-open
	$(BIN)/python -m scripts.atlas_pictures $(RUN)/report.html docs/images
	$(BIN)/python -m scripts.explorer_pictures $(RUN) docs/images

clean:
	rm -rf $(VENV) out build dist *.egg-info
