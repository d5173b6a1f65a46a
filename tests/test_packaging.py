"""What installers are told: the metadata of the package, conda's recipe, the workflow of releases."""

import ast
import re
import runpy
import sys
import tomllib
from pathlib import Path

import jinja2
import yaml
from packaging.requirements import Requirement

import gramian

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
# Names of packages that differ from those of their modules.
PACKAGES = {
    **{"PIL": "pillow", "sklearn": "scikit-learn", "vl_convert": "vl-convert-python", "docx": "python-docx"},
    **dict.fromkeys(("mpl_toolkits", "cycler", "contourpy"), "matplotlib"),
}
# Imported for somebody who passes such a frame, or asks for one.
OF_THE_USER = {"polars"}


def read(*parts):
    return ROOT.joinpath(*parts).read_text(encoding="utf-8")


def bounds(lines):
    """Return the versions that requirements allow, by the names of conda."""
    renamed = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
    parsed = [Requirement(re.sub(r"^(\S+) (?=[<>=])", r"\1", line)) for line in lines]
    return {renamed.get(one.name, one.name): str(one.specifier) for one in parsed if one.name != "gramian"}


def test_versions_addresses_and_links_are_stated():
    assert f"version: {gramian.__version__}\n" in read("CITATION.cff")
    assert re.findall(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)[0] == gramian.__version__
    source = PROJECT["urls"]["Source"]
    assert f'repository-code: "{source}"\n' in read("CITATION.cff")
    assert f"  home: {source}\n" in read("packaging", "conda", "meta.yaml")
    source = "https://example.org/somebody/gramian"
    setup = runpy.run_path(str(ROOT / "setup.py"))
    assert setup["version"]() == gramian.__version__
    absolute = setup["absolute"]
    text = absolute(read("README.md"), source, "1.2.3")
    places = re.findall(rf"\]\({source}/(raw|blob)/v1\.2\.3/([^)#]+)[^)]*\)", text)
    assert len(places) == text.count("](") == read("README.md").count("](")
    assert all((ROOT / name).is_file() for _, name in places)
    assert {Path(name).suffix for kind, name in places if kind == "raw"} == {".png", ".svg"}
    kept = "[out](https://example.org) and [below](#below)"
    assert absolute(kept, source, "1.2.3") == kept


def test_a_release_is_dated_and_the_next_version_opened(tmp_path):
    names = (
        "CHANGELOG.md",
        "CITATION.cff",
        "pyproject.toml",
        "packaging/conda/meta.yaml",
        "src/gramian/core/package.py",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = read(name).replace(PROJECT["urls"]["Source"], "https://example.org/somebody/gramian")
        (tmp_path / name).write_text(text, encoding="utf-8")
    prepare = runpy.run_path(str(ROOT / ".ci" / "release" / "prepare.py"))["main"]
    heads = [line for line in read("CHANGELOG.md").splitlines() if line.startswith("## ")]
    prepare(tmp_path, "2030-01-02")
    after = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    dated = [f"## {gramian.__version__} (2030-01-02)", *heads[1:]]
    assert [line for line in after["CHANGELOG.md"].splitlines() if line.startswith("## ")] == dated
    assert 'repository-code: "https://example.org/somebody/gramian"\n' in after["CITATION.cff"]
    prepare(tmp_path, "2030-01-03", "9.8.7")
    after = {name: (tmp_path / name).read_text(encoding="utf-8") for name in names}
    opened = ["## 9.8.7 (unreleased)", *dated]
    assert [line for line in after["CHANGELOG.md"].splitlines() if line.startswith("## ")] == opened
    assert '__version__ = "9.8.7"\n' in after["src/gramian/core/package.py"]
    assert "\nversion: 9.8.7\n" in after["CITATION.cff"]
    assert after["packaging/conda/meta.yaml"].count('{% set version = "9.8.7" %}') == 1


def test_every_package_that_is_imported_is_required():
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            imported |= {name.partition(".")[0] for name in names}
    imported -= {*sys.stdlib_module_names, "gramian"} | OF_THE_USER
    needed = {PACKAGES.get(name, name).replace("_", "-") for name in imported}
    required = {Requirement(line).name for line in [*PROJECT["dependencies"], *EXTRAS]}
    assert not needed - required


def test_the_recipe_of_conda_builds_the_source_archive_with_the_same_requirements():
    text = jinja2.Template(read("packaging", "conda", "meta.yaml")).render(PYTHON="python")
    recipe = yaml.safe_load(text)
    assert recipe["package"]["version"] == gramian.__version__
    assert recipe["source"]["url"].endswith(f"/dist/gramian-{gramian.__version__}.tar.gz")
    python = f"python{PROJECT['requires-python']}"
    wanted = recipe["requirements"]
    assert bounds(wanted["run"]) == bounds([python, *PROJECT["dependencies"]])
    assert bounds(wanted["run_constrained"]) == bounds(EXTRAS)
    assert bounds(wanted["host"]) == bounds([python, "pip", *PYPROJECT["build-system"]["requires"]])
    ((name, target),) = PROJECT["scripts"].items()
    assert recipe["build"]["entry_points"] == [f"{name} = {target}"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_the_workflow_tests_every_python_and_publishes_what_it_tested():
    jobs = yaml.safe_load(read(".github", "workflows", "tests.yml"))["jobs"]
    declared = {line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if ":: Python :: 3." in line}
    assert set(jobs["versions"]["strategy"]["matrix"]["python"]) == declared
    assert set(jobs["publish"]["needs"]) == jobs.keys() - {"publish"}
    assert any(
        "--tag '$GITHUB_REF_NAME' --dist dist" in step.get("run", "") for step in jobs["build"]["steps"]
    )
    assert not any("run" in step for step in jobs["publish"]["steps"])
