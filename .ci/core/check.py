"""Deletes the applications from a copy of the repository, and tests what is left: the core stands alone.

python .ci/core/check.py [PYTEST ARGUMENTS]
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
APPLICATIONS = ("compat", "faces", "laws", "selection", "app/server")
# Tests that speak of an application as well: of the whole package, its documentation and its demonstrations.
LEFT_OUT = (
    "cli/test_app.py",
    "cli/test_choosing.py",
    "cli/test_demo.py",
    "cli/test_documented.py",
    "cli/test_faces_*.py",
    "cli/test_inputs.py",
    "cli/test_relating.py",
    "cli/test_selecting.py",
    "cli/test_serving.py",
    "drawn.py",
    "estimators/test_fitted_state.py",
    "estimators/test_sklearn_hints.py",
    "examples",
    "served.py",
    "test_attack_server.py",
    "test_documentation.py",
    "test_face_classifier.py",
    "test_faces_evaluation.py",
    "test_pictures.py",
    "test_random_state.py",
    "test_site.py",
    "test_typing.py",
)
DESELECTED = (
    "src/gramian/plots/curves.py::gramian.plots.curves.selection",
    "src/gramian/plots/planes.py::gramian.plots.planes.relation",
    "src/gramian/plots/planes.py::gramian.plots.planes.zero_set",
    "tests/cli/test_engine.py::test_a_label_of_text_is_read_from_parquet",
    "tests/cli/test_engine.py::test_columns_are_selected_by_a_label_where_they_are",
    "tests/cli/test_large_files.py::test_what_needs_all_of_it_says_so",
    "tests/cli/test_messages.py::test_wrong_commands_are_answered_without_python",
    "tests/cli/test_outputs.py::test_no_command_writes_text_that_a_spreadsheet_runs",
    "tests/cli/test_outputs.py::test_text_for_people_has_no_control_characters",
    "tests/cli/test_run.py::test_names_that_are_too_long_are_a_line",
    "tests/estimators/test_notebook.py::test_names_of_columns_are_text_in_every_table",
    "tests/test_architecture.py::test_the_map_of_the_package_names_files_that_exist",
    "tests/test_architecture.py::test_each_verb_has_its_function_by_the_rule_or_by_the_table",
    "tests/test_architecture.py::test_each_verb_has_its_route_and_form_by_the_rule_or_by_the_table",
)
IMPORT_ALL = """
import gramian, pkgutil, sys
assert gramian.__file__.startswith(sys.argv[1]), gramian.__file__
names = [module.name for module in pkgutil.walk_packages(gramian.__path__, "gramian.")]
for name in names:
    if not name.endswith("__main__"):
        __import__(name)
from gramian import *
print(len(names), "modules import without", ", ".join(sys.argv[2:]))
"""
FIT_IN_A_SHELL = """
import contextlib, io, numpy
from gramian.cli import main
numpy.save("X.npy", numpy.random.default_rng(0).normal(size=(20, 4)))
with contextlib.redirect_stdout(io.StringIO()) as out:
    assert main(["fit", "X.npy", "-o", "m.gramian"]) == 0
    assert main(["transform", "m.gramian", "X.npy", "-o", "scores.csv"]) == 0
    assert main(["--help"]) == 0
first = {line.split()[0] for line in out.getvalue().splitlines() if line.strip()}
assert "transform" in first and "faces" not in first, first
"""


def main(arguments: list[str]) -> None:
    """Copy, delete and test; the first step that fails ends it."""
    with tempfile.TemporaryDirectory(prefix="gramian-core-") as folder:
        copy = Path(folder) / "gramian"
        ignore = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignore)
        for application in APPLICATIONS:
            shutil.rmtree(copy / "src" / "gramian" / application)
            shutil.rmtree(copy / "tests" / application)
        for pattern in LEFT_OUT:
            for path in (copy / "tests").glob(pattern):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        run(copy, "-c", IMPORT_ALL, str(copy), *APPLICATIONS)
        run(copy, "-c", FIT_IN_A_SHELL)
        deselected = [f"--deselect={name}" for name in DESELECTED]
        run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *deselected, *(arguments or ["-n", "2"]))


def run(copy: Path, *arguments: str) -> None:
    """Run Python on the copy."""
    data = os.environ.get("GRAMIAN_TEST_DATA") or str(ROOT.parent / "shared" / "data")
    own = {
        "PYTHONPATH": str(copy / "src"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "GRAMIAN_TEST_DATA": data,
    }
    code = subprocess.run([sys.executable, *arguments], cwd=copy, env=os.environ | own).returncode
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
