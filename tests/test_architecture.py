"""What holds for the repository as a whole; the import layers are checked by ``make lint``."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gramian"
TESTS = ROOT / "tests"
GENERATED = {"__pycache__", "build", "dist", "gramian-demo"}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if not path.stem.startswith("__"))

# In pieces, so that this file does not hold what it looks for.
HOSTS = re.compile("|".join(["pypi" + r"\.", "python" + "hosted", "ana" + r"conda\.", "index" + "-url"]))
LOCKS = re.compile(r".*\.lock|pylock.*\.toml|conda-lock\.ya?ml|requirements.*\.txt|package-lock\.json")


def own_files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [
            name
            for name in folders
            if name not in GENERATED
            and not name.endswith(".egg-info")
            and (name == ".ci" or not name.startswith("."))
            and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        yield from (Path(folder) / name for name in names)


def test_no_file_says_where_packages_come_from():
    locks = [path for path in own_files() if LOCKS.fullmatch(path.name)]
    assert locks == []
    for path in own_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        match = HOSTS.search(text)
        assert match is None, f"{path.relative_to(ROOT)} names a package registry: {match[0]}"


def imported_by(statement: str, afterwards: str = "") -> set[str]:
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))\n{afterwards}"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    return set(json.loads(run.stdout))


def test_importing_and_a_fit_load_the_core_alone():
    # Compared with a bare interpreter, because site hooks may import things of their own.
    new = {name.partition(".")[0] for name in imported_by("import gramian") - imported_by("")}
    allowed = set(sys.stdlib_module_names) | {"gramian"}
    assert new <= allowed, sorted(new - allowed)
    fit = "import numpy, gramian\ngramian.PCA(2).fit(numpy.eye(5)[:, :3])"
    loaded = {name.partition(".")[2] for name in imported_by(fit) if name.startswith("gramian.")}
    rooms = {name.partition(".")[0] for name in loaded}
    assert rooms <= {"core", "engine", "errors", "models", "statistics", "tables"}
    assert not loaded & {"models.kernel_pca", "tables.files", "tables.scan"}
    assert len(loaded) <= 70, sorted(loaded)
    parts = {"gramian.select", "sklearn.feature_selection", "sklearn.model_selection"}
    assert not parts & imported_by("import gramian; gramian.PCA, gramian.KernelPCA, gramian.Monitor")


def test_an_estimator_imports_of_others_what_scikit_learn_does():
    fit = imported_by("import numpy\nfrom gramian import PCA\nPCA(2).fit(numpy.eye(5)[:, :3])")
    theirs = imported_by("import sklearn.utils.validation, sklearn.decomposition, array_api_compat")
    new = {name.partition(".")[0] for name in fit - theirs} - set(sys.stdlib_module_names)
    assert new <= {"gramian"}, sorted(new)


@pytest.mark.walk
def test_a_fit_at_the_prompt_loads_nothing_of_reports_kernels_and_conversions(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a,b,c\n" + "\n".join(f"{i % 7},{i * i % 11},{i % 5}.5" for i in range(30)))
    loaded = imported_by(
        "import sys, contextlib\nfrom gramian.app.cli import main\n"
        f"with contextlib.redirect_stdout(sys.stderr): assert not main(['fit', {str(table)!r}])"
    )
    assert not loaded & {"pydantic", "matplotlib", "tqdm"}
    unused = {"kernels", "models.kernel_pca", "models.monitor", "models.whitener", "report.sections"}
    assert not loaded & {f"gramian.{name}" for name in unused}


def test_a_monitor_of_a_pca_loads_no_kernels(tmp_path):
    loaded = imported_by(
        f"""
import numpy, gramian
X = numpy.random.default_rng(0).normal(size=(40, 3))
gramian.Monitor(gramian.PCA(1)).fit(X).save({str(tmp_path / "m")!r})
gramian.load({str(tmp_path / "m")!r}).statistics(X)
"""
    )
    assert not loaded & {"gramian.kernels", "gramian.models.kernel_pca"}


def test_the_map_of_the_package_names_files_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/])\w+(?:/\w+)+\.(?:py|html|css|js)\b", text)) - {
        "tables/formats/jsonl.py"
    }
    places = (ROOT, ROOT / "src" / "gramian")
    assert not [name for name in sorted(named) if not any((place / name).exists() for place in places)]


def rows_of_verbs():
    """Return the cells of the table of verbs that differ from the rule, by the verb."""
    text = (ROOT / "docs" / "server_details.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if " of `app/verbs/" in line]
    return {cells[0].strip("`"): cells for cells in rows if len(cells) == 4}


def test_each_verb_has_its_function_by_the_rule_or_by_the_table():
    from gramian.app.verbs import VERBS, verbs

    known = {name: one.function for name, one in verbs().items()}
    rule = {name: (name.replace("-", "_"), VERBS[name]) for name in known}
    table = {
        name: re.match(r"`(\w+)` of `app/verbs/(\w+)\.py`", cells[1]).groups()
        for name, cells in rows_of_verbs().items()
    }
    functions = {name: (one.__name__, one.__module__.split(".")[-1]) for name, one in known.items()}
    assert rule | table == functions


def test_each_verb_has_its_route_and_form_by_the_rule_or_by_the_table():
    pytest.importorskip("fastapi")
    from gramian.app.server.fields import subject, verbs
    from gramian.app.verbs import verbs as every_verb

    rows = rows_of_verbs()
    ruled = every_verb().keys() - rows.keys()
    assert ruled
    assert ruled < verbs().keys()
    for kind, page in (("models", "model"), ("data", "data")):
        listed = {name for name, one in verbs().items() if subject(one) == kind} - ruled
        assert listed == {name for name, cells in rows.items() if cells[2] == f"`POST /{kind}/ID/{name}`"}
        script = (PACKAGE / "app" / "page" / f"{page}.js").read_text(encoding="utf-8")
        assert listed == set(re.findall(r'"(\w+)"', re.search(r"const OWN = (.*);", script)[1]))


def test_public_names_exist_and_unknown_ones_are_attribute_errors():
    import gramian

    assert dir(gramian) == sorted(gramian.__all__)
    for name in gramian.__all__:
        assert getattr(gramian, name) is getattr(gramian, name)
    import gramian

    with pytest.raises(AttributeError, match="module 'gramian' has no attribute 'PCB'"):
        gramian.PCB  # noqa: B018
    assert not hasattr(gramian, "__wrapped__")


def bare_raises(path: Path) -> list[int]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", None)) == "raises"
        and "match" not in {keyword.arg for keyword in node.keywords}
    ]


def test_every_expected_error_is_expected_with_its_message():
    # refused() compares the message with the golden file.
    paths = [path for path in TESTS.rglob("*.py") if path.name != "refusals.py"]
    entries = {f"{path.relative_to(ROOT)}:{line}" for path in paths for line in bare_raises(path)}
    assert entries == set(), "use refused(), or give pytest.raises a match="
