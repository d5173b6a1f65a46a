# Works on a bare machine with Python 3.11 or later: each target first builds what it needs in .venv.

PYTHON = python3
BIN = .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo faces-figure test core walk browser cluster attack attack-server compat lint bench bench-gpu docs clean
FITS = 10000

help:
	@echo "make demo   PCA and kernel PCA on handwritten digits, then drawn faces; writes ./gramian-demo/"
	@echo "make faces-figure"
	@echo "            eigenfaces of Extended Yale B, where the data is; writes ./gramian-demo/faces-figure/"
	@echo "make test   the test suite"
	@echo "make core   the tests of the core, in a copy from which the applications are deleted"
	@echo "make walk   what takes long: pages of commands, kills, a server that is sent bodies without end"
	@echo "make browser walks through the pages in Chromium and keeps pictures of them; CONTRIBUTING.md says what it needs"
	@echo "make cluster fits on a Dask cluster of two processes, of which one is killed"
	@echo "make attack looks for false statements of certificates, in extended precision (FITS=10000)"
	@echo "make attack-server"
	@echo "            attacks a server and commands as a stranger would; Chromium, nginx and openssl if they are there"
	@echo "make compat runs scikit-learn's own tests on gramian.compat.sklearn"
	@echo "make lint   style, types and the import layers"
	@echo "make bench  speed and accuracy side by side with the peers"
	@echo "make bench-gpu  the rows on a GPU of CUDA; where there is none it says so"
	@echo "make docs   runs the code in the docstrings, the README and docs/"
	@echo "make clean  removes .venv and everything generated"

demo: .venv/installed-core
	$(BIN)/gramian demo
	@echo "Open gramian-demo/summary.md, and in a browser gramian-demo/pca/report.html; or work in a browser:"
	@echo "  $(BIN)/gramian serve gramian-demo/data/flowers.csv gramian-demo/pca/model.gramian"

faces-figure: .venv/installed-core
	$(BIN)/python examples/faces_figure.py

# Compiled modules are kept, whatever the shell says: workers and subprocesses would compile them again.
test: .venv/installed-dev
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

core: .venv/installed-dev
	$(BIN)/python .ci/core/check.py

walk: .venv/installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -m walk tests

# Pictures go to GRAMIAN_SCREENSHOTS, or .ci/browser/screenshots.
browser: .venv/installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -rs -n 2 -p no:cacheprovider .ci/browser

cluster: .venv/installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -p no:cacheprovider .ci/cluster

attack: .venv/installed-dev
	$(BIN)/python benchmarks/attack.py --fits $(FITS)

attack-server: .venv/installed-dev
	$(BIN)/python benchmarks/attack_server.py

# Of the installed scikit-learn; what is left out, and why, is in .ci/compat/left_out.toml.
compat: .venv/installed-dev
	SCIPY_ARRAY_API=1 SKLEARN_RUN_FLOAT32_TESTS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=.ci/compat \
	  $(BIN)/python -m pytest -q -p in_place -p no:cacheprovider \
	  -o addopts= -o filterwarnings=default -o doctest_optionflags= --disable-warnings --pyargs \
	  sklearn.decomposition.tests.test_pca sklearn.decomposition.tests.test_kernel_pca \
	  sklearn.decomposition.tests.test_incremental_pca sklearn.tests.test_kernel_approximation \
	  sklearn.feature_selection.tests.test_sequential sklearn.feature_selection.tests.test_mutual_info

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

bench: .venv/installed-dev
	$(BIN)/python benchmarks

# PyTorch is not installed by this file: take the build that fits the driver.
bench-gpu: .venv/installed-dev
	$(BIN)/python benchmarks/gpu.py

docs: .venv/installed-dev
	$(BIN)/python -m pytest -m "walk or not walk" src tests/test_documentation.py

clean:
	rm -rf .venv build dist src/*.egg-info gramian-demo .coverage .hypothesis .ci/browser/screenshots
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "gramian needs Python 3.11 or later. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

# Two stamps: the demo needs less, and a newcomer should not wait for the linters.
.venv/installed-core: pyproject.toml | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet -e ".[images,plots,app]"
	@touch $@

.venv/installed-dev: pyproject.toml | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet -e ".[dev]"
	@touch .venv/installed-core $@
