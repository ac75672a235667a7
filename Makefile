# Everything sets itself up: a fresh machine needs Python 3.11 or newer, pip and make. A second run starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
# Bytecode is kept even where the environment forbids it: tests start hundreds of interpreters, and each would compile
# the sources again.
export PYTHONDONTWRITEBYTECODE :=
# What JAX compiles is kept too: tests and examples compile the same operations in hundreds of processes and runs.
export JAX_COMPILATION_CACHE_DIR ?= $(CURDIR)/build/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0
# What hypothesis draws from in this run, printed with the command; give the number again to draw the same.
SEED ?= $(shell date +%s)
TOUR ?=

.PHONY: site tour test browser nightly coverage mutants sanitize bench golden lint types contracts unit docs format \
	oldest pythons numpy dist try-dist licences clean engines engines-test doctest doctest-pages doctest-encodings \
	doctest-sources

tour: $(VENV)/.tour $(VENV)/.kernels
	$(BIN)/posenc tour $(TOUR)

# The short checks at once, a core each; then the tests, which take every core.
test: $(VENV)/.test $(VENV)/.kernels
	$(MAKE) --jobs $(WORKERS) doctest types lint contracts docs
	$(MAKE) unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	MYPYPATH=src $(BIN)/mypy -p posenc

contracts: $(VENV)/.test
	$(BIN)/lint-imports

# One thread a worker: small arrays gain nothing from more, and two cores are shared by the workers. A worker takes whole
# files, so that what a file compiles and computes once is computed once.
unit: $(VENV)/.test $(VENV)/.kernels
	OMP_NUM_THREADS=1 $(BIN)/pytest -n $(WORKERS) --dist loadfile -m "not nightly and not browser" --hypothesis-seed=$(SEED) --durations=10
	@$(BIN)/python tests/browser/chromium.py || echo "NO BROWSER: the pages were NOT tested. Run: make browser"

# The pages in a real browser: every view, control and picture. Takes the Chromium that is found, or installs one.
browser: $(VENV)/.test $(VENV)/.kernels
	$(BIN)/python tests/browser/chromium.py || $(BIN)/playwright install --with-deps chromium-headless-shell
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 0 tests/browser

# In three parts, so that two cores share them.
doctest: doctest-pages doctest-encodings doctest-sources

doctest-pages: $(VENV)/.test $(VENV)/.kernels
	@# These two pages write files; tests/docs/test_add_an_encoding.py and test_cookbook.py follow them in a folder.
	OMP_NUM_THREADS=1 $(BIN)/pytest -q --doctest-glob='*.md' --ignore docs/add-an-encoding.md --ignore docs/cookbook.md \
		--ignore docs/encodings README.md docs

doctest-encodings: $(VENV)/.test $(VENV)/.kernels
	OMP_NUM_THREADS=1 $(BIN)/pytest -q --doctest-glob='*.md' docs/encodings

doctest-sources: $(VENV)/.test $(VENV)/.kernels
	@# Scripts of engines run in interpreters of their own, beside one another.
	OMP_NUM_THREADS=1 $(BIN)/pytest -q --doctest-modules --ignore src/posenc/engines/runners src/posenc

docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# The docs with the lesson, the executed lecture and a live view of every encoding, into site/: minutes, most of them
# training for the lesson.
site: $(VENV)/.test build/lesson.html build/lecture/lecture.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --config-file mkdocs-site.yml

build/lesson.html: $(VENV)/.test $(VENV)/.kernels
	mkdir -p build
	$(BIN)/posenc tour --output $@

build/lecture/lecture.md: docs/lecture.ipynb $(VENV)/.test $(VENV)/.kernels
	$(BIN)/python -m nbconvert --log-level=ERROR --execute --to markdown --output-dir $(@D) $<

# What `make test` leaves out: every record in every library, and each way through the code compiled. A stopped run goes
# on where it was.
nightly: $(VENV)/.test $(VENV)/.kernels oldest pythons try-dist
	OMP_NUM_THREADS=1 PYTHONPATH=quality $(BIN)/pytest -n $(WORKERS) -m nightly -p resume --resume build/nightly

# The tests with the lowest version of everything but torch that pyproject.toml allows, in build/oldest.
oldest:
	$(PYTHON) quality/oldest.py

# The mathematics with every newer Python that this machine has, in build/python3.*; those that are missing are named.
pythons:
	$(PYTHON) quality/newer_pythons.py

# The same with one Python, PYTHON: for systems where PyTorch and the other extras are not wanted.
numpy:
	$(PYTHON) quality/newer_pythons.py $(PYTHON)

# Source distributions and wheels of posenc and of its kernels, into dist/. Two runs on one commit give the same bytes.
dist: $(VENV)/.release
	$(BIN)/python quality/make_distributions.py

# What lies in dist/, and what a stranger gets who installs it, with every Python that this machine has.
try-dist: dist
	$(BIN)/python quality/try_distributions.py

# docs/licences.md, from the metadata of what the extras installed.
licences: $(VENV)/.test
	$(BIN)/python quality/write_licences.py

# Branch coverage by file, of `make test` and of what it leaves out, into quality/coverage.json. Hours; a stopped run goes on.
coverage: $(VENV)/.test $(VENV)/.kernels
	$(BIN)/python quality/measure_coverage.py --workers $(WORKERS)

# How many small mistakes, planted at random, the tests notice, into quality/mutants.json. Hours; a stopped run goes on.
mutants: $(VENV)/.test $(VENV)/.kernels
	$(BIN)/python quality/measure_mutants.py --jobs $(WORKERS)

# The tests of the compiled kernels, these built with the sanitizers of addresses and of undefined behaviour.
sanitize: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python native/sanitize.py

bench: $(VENV)/.test $(VENV)/.kernels
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/run.py $(BENCH); status=$$?; $(BIN)/python docs/scripts/generate.py && exit $$status

# docs/engines.md: what every engine makes of published configs. Downloads about 450 MB first; a stopped run goes on.
engines: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/python quality/write_standing.py

# Real engines in their environments, which are downloaded the first time.
engines-test: $(VENV)/.test
	OMP_NUM_THREADS=1 $(BIN)/pytest tests/engines/test_live_engines.py tests/engines/test_engine_snippets.py -m nightly

# The golden vectors, byte for byte, from the scalar oracles.
golden: $(VENV)/.test
	$(BIN)/python golden/make.py

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) dist site tour.html

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "posenc needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)

# torch comes first and alone: asked for by another package it would be the newest build, with gigabytes of CUDA.
$(VENV)/.torch: constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	touch $@

$(VENV)/.tour: pyproject.toml $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[lab,plot]'
	touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev,peers]'
	@# One file of torchtune is compared with; what it requires besides is not needed.
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps torchtune
	@# The layers of timm are compared with, behind stubs; what timm requires besides is a torchvision that breaks torch.
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps timm
	touch $@ $(VENV)/.tour

$(VENV)/.release: pyproject.toml constraints.txt $(VENV)/.torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[release]'
	touch $@

# The compiled kernel needs a compiler; without one everything works by the reference.
$(VENV)/.kernels: $(wildcard native/*.py native/pyproject.toml native/source/* native/posenc_kernels/*.py) $(VENV)/.torch
	@if command -v $(CXX) >/dev/null; then \
		$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --no-deps --force-reinstall ./native && echo "posenc-kernels built"; \
	else \
		echo "no compiler ($(CXX)): posenc-kernels left out, the reference is used"; \
	fi
	touch $@
