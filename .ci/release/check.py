"""Checks a release: builds it, installs it into empty environments, and runs the tests of the sdist there.

python .ci/release/check.py [--python 3.12] [--quick] [--tag v0.2.0] [--dist FOLDER] [-- PYTEST ARGUMENTS]

1. Build sdist and wheel; twine and check-wheel-contents look at them; the sdist holds what its tests need,
   and the long description links to files that are there. A tag must be that of the version.
2. Each Python of the classifiers that is on this machine: an empty environment gets the wheel alone. It
   fits, saves and loads; the command states its version, and names its extra.
3. The same Python with the newest versions of all extras, and the lowest Python also with the lowest
   versions that pyproject.toml allows: the tests of the sdist run against the installed wheel.
4. With the lowest Python, the steps of conda's recipe run on the sdist, with the recipe's requirements.

With --dist, these come first: nothing is left to fill in, and the top section of the changelog has a date.
Nothing is uploaded.

A table at the end has every step, with the reason for each that was skipped. The exit code is 1 if one
failed, or if no Python was there; otherwise sdist and wheel are copied to FOLDER, for a release. All tests
take about five minutes for each environment; --quick runs a selection.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import jinja2
import yaml

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
# Where --quick looks: reading, solving, fitting, saving, and the shell.
QUICK = (
    "tests/models/test_pca.py",
    "tests/engine",
    "tests/core",
    "tests/test_packaging.py",
    "tests/app/cli/test_run.py",
)
NEEDED = ("tests/conftest.py", "tests/helpers.py", "docs/cli.md", "pyproject.toml", "CHANGELOG.md", "LICENSE")
# What an owner fills in, and words that are true until the first release only; see RELEASING.md.
TO_FILL_IN = re.compile(r"FILL_IN_\w+|until the first release", re.IGNORECASE)
OWNED = (
    "pyproject.toml",
    "CITATION.cff",
    "SECURITY.md",
    "CODE_OF_CONDUCT.md",
    "README.md",
    "docs/install.md",
)
CORE = """
import pathlib, numpy, gramian
X = numpy.random.default_rng(0).standard_normal((40, 5))
for model in gramian.PCA(2).fit(X), gramian.KernelPCA(2).fit(X), gramian.Whitener().fit(X):
    model.save("model.gramian")
    assert numpy.allclose(gramian.load("model.gramian").transform(X), model.transform(X))
print(gramian.__version__, pathlib.Path(gramian.__file__).parent)
"""


class Table:
    """The outcome of every step."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str]] = []

    def run(self, step: str, *command: str | Path, **options) -> bool:
        """Run a command as a step, show its output if it fails, and return whether it succeeded."""
        print(f"{step} ...", flush=True)
        started = time.monotonic()
        done = subprocess.run(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **options,
        )
        if done.returncode:
            print(done.stdout, flush=True)
        last = (done.stdout.strip().splitlines() or [""])[-1].strip("= ")
        self.add(step, "failed" if done.returncode else "ok", f"{time.monotonic() - started:.0f} s; {last}")
        return done.returncode == 0

    def add(self, step: str, outcome: str, detail: str = "") -> None:
        """Add a row."""
        self.rows.append((step, outcome, detail))

    def __str__(self) -> str:
        width = max(len(step) for step, _, _ in self.rows)
        return "\n".join(f"{step:{width}}  {outcome:7}  {detail}" for step, outcome, detail in self.rows)


def versions() -> list[str]:
    """Return the versions of Python in the classifiers, such as 3.11."""
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PROJECT["classifiers"]
    )
    return [match[1] for match in found if match]


def interpreters(version: str) -> Iterator[tuple[str, Path]]:
    """Yield every build of a version on this machine: Debian's, pyenv's, and the one on PATH."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    places = {
        "of Debian": [Path(f"/usr/bin/python{version}")],
        "of pyenv": sorted((root / "versions").glob(f"{version}.*/bin/python")),
        "on PATH": [Path(path)] if (path := shutil.which(f"python{version}")) else [],
    }
    seen = set()
    for name, paths in places.items():
        for path in paths:
            code = "import os, sys; print(os.path.realpath(sys.executable), '%d.%d' % sys.version_info[:2])"
            answer = (
                subprocess.run([path, "-c", code], capture_output=True, text=True) if path.is_file() else None
            )
            real, _, number = answer.stdout.strip().rpartition(" ") if answer else ("", "", "")
            if number == version and real not in seen:
                seen.add(real)
                yield name, path


def requirements(lines: list[str]) -> set[str]:
    """Return requirements with those of the extras they name, instead of the package: all are direct."""
    own = {line for line in lines if line.startswith("gramian[")}
    extras = [name for line in own for name in re.findall(r"[\w-]+", line)[1:]]
    return {*lines} - own | {
        line for name in extras for line in requirements(PROJECT["optional-dependencies"][name])
    }


def build(table: Table, folder: Path) -> tuple[Path, Path] | None:
    """Build and look at both files; return the wheel and the unpacked sdist."""
    if not table.run("build", sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT):
        return None
    wheel, sdist = next((folder / "dist").glob("*.whl")), next((folder / "dist").glob("*.tar.gz"))
    table.run("twine check", sys.executable, "-m", "twine", "check", "--strict", wheel, sdist)
    table.run("check-wheel-contents", sys.executable, "-m", "check_wheel_contents", wheel)
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    missing = [name for name in NEEDED if not (source / name).is_file()]
    table.add(
        "sdist", "failed" if missing else "ok", f"lacks {', '.join(missing)}" if missing else "complete"
    )
    check_links(table, wheel, source)
    return wheel, source


def check_links(table: Table, wheel: Path, source: Path) -> None:
    """Check that the long description has no relative links, and that the files it links to exist."""
    address, version = PROJECT["urls"]["Source"], wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        links = re.findall(r"\]\(([^)\s]+)\)", archive.read(name).decode("utf-8"))
    bad = []
    for link in links:
        inside = re.fullmatch(rf"{re.escape(address)}/(?:raw|blob)/v{version}/([^#]+)(?:#.*)?", link)
        if not (source / inside[1]).is_file() if inside else "://" not in link or link.startswith(address):
            bad.append(link)
    found = f"{len(links)} links" if links and not bad else f"broken: {', '.join(bad) or 'there are none'}"
    table.add("links of the long description", "ok" if links and not bad else "failed", found)


def check_filled_in(table: Table) -> bool:
    """Check what only an owner knows, and the date of the changelog; return whether all is there."""
    for name in OWNED:
        left = TO_FILL_IN.findall((ROOT / name).read_text(encoding="utf-8"))
        table.add(f"{name} is filled in", "failed" if left else "ok", ", ".join(dict.fromkeys(left)))
    top = re.search(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0]
    dated = re.fullmatch(r"## \S+ \(\d{4}-\d\d-\d\d\)", top)
    table.add("the changelog is dated", "ok" if dated else "failed", top)
    return all(outcome == "ok" for _, outcome, _ in table.rows)


def check_recipe(table: Table, folder: Path, python: Path, source: Path) -> None:
    """Run the script and the tests of conda's recipe, with packages that pip installs."""
    text = (source / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(jinja2.Template(text).render(PYTHON="python"))
    needed = {*recipe["requirements"]["host"], *recipe["requirements"]["run"]}
    packages = [one.replace(" ", "") for one in needed if not one.startswith("python ")]
    uv = [sys.executable, "-m", "uv", "--quiet"]
    inner = folder / "recipe" / "bin"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean["PATH"] = f"{inner}{os.pathsep}{clean['PATH']}"
    if not table.run("conda recipe: environment", *uv, "venv", "--python", python, inner.parent):
        return
    if not table.run(
        "conda recipe: requirements", *uv, "pip", "install", "--python", inner / "python", *packages
    ):
        return
    tests = [f"python -c 'import {name}'" for name in recipe["test"]["imports"]] + recipe["test"]["commands"]
    copy = shutil.copytree(source, folder / "recipe-source")  # the build writes into it
    for place, commands in (copy, [recipe["build"]["script"]]), (folder, tests):
        for command in commands:
            table.run(f"conda recipe: {command[:40]}", "sh", "-c", command, cwd=place, env=clean)


def environment(
    table: Table, step: str, folder: Path, python: Path, wheel: Path, *options: str | Path
) -> Path | None:
    """Make an empty environment with the wheel and what ``options`` name; return its Python."""
    uv = [sys.executable, "-m", "uv", "--quiet"]
    made = table.run(f"{step}: environment", *uv, "venv", "--clear", "--python", python, folder)
    inner = folder / "bin" / "python"
    install = [*uv, "pip", "install", "--python", inner]
    if options:
        made = made and table.run(f"{step}: requirements", *install, *options)
        made = made and table.run(f"{step}: wheel", *install, "--no-deps", wheel)
    else:
        made = made and table.run(f"{step}: wheel", *install, wheel)
    return inner if made else None


def check_core(table: Table, step: str, folder: Path, python: Path, wheel: Path) -> None:
    """Check the wheel without extras."""
    inner = environment(table, step, folder / "core", python, wheel)
    if inner is None:
        return
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    table.run(f"{step}: fit, save, load", inner, "-c", CORE, cwd=folder, env=clean)
    table.run(f"{step}: --version", inner.parent / "gramian", "--version", cwd=folder, env=clean)
    shell = subprocess.run(
        [inner.parent / "gramian", "--help"], capture_output=True, text=True, cwd=folder, env=clean
    )
    said = shell.stderr.strip().replace("\n", " ")
    named = shell.returncode != 0 and "gramian[cli]" in said and "Traceback" not in said
    table.add(f"{step}: the command names its extra", "ok" if named else "failed", said[:100])


def check_tests(
    table: Table,
    step: str,
    folder: Path,
    python: Path,
    built: tuple[Path, Path],
    resolution: str,
    tests: list[str],
) -> None:
    """Run the tests of the sdist against the wheel with all extras."""
    wheel, source = built
    listed = folder / "requirements.txt"
    needed = requirements([*PROJECT["dependencies"], *PYPROJECT["dependency-groups"]["test"]])
    listed.write_text("\n".join(sorted(needed)), encoding="utf-8")
    inner = environment(
        table, step, folder / resolution, python, wheel, "--resolution", resolution, "-r", listed
    )
    if inner is None:
        return
    # The src of the sdist is not on the path of imports: the tests import the wheel.
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    clean |= {"OPENBLAS_NUM_THREADS": "1"}
    command = [inner, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *tests]
    table.run(f"{step}: tests of the sdist", *command, cwd=source, env=clean)


def main() -> int:
    """Check; print the table and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", action="append", metavar="3.X", help="only this version; may be repeated")
    parser.add_argument("--quick", action="store_true", help="run a selection of the tests")
    parser.add_argument("--tag", metavar="vX", help="the tag, which must be v and the version")
    parser.add_argument(
        "--dist", type=Path, metavar="FOLDER", help="for a release: copy sdist and wheel there"
    )
    parser.add_argument("tests", nargs="*", help="tests and options of pytest [tests]")
    asked = parser.parse_args()
    tests = asked.tests or list(QUICK if asked.quick else ("tests",))
    table = Table()
    if asked.dist and not check_filled_in(table):
        print(table)
        return 1
    with tempfile.TemporaryDirectory(prefix="gramian-release-") as work:
        built = build(table, Path(work))
        if built and asked.tag:
            version = built[0].name.split("-")[1]
            table.add("tag", "ok" if asked.tag == f"v{version}" else "failed", f"{asked.tag} of {version}")
        for version in versions() if built else ():
            if asked.python and version not in asked.python:
                table.add(version, "skipped", "not asked for")
                continue
            builds = list(interpreters(version))
            if not builds:
                table.add(version, "skipped", f"no Python {version} of Debian, of pyenv, or on PATH")
            for name, python in builds:
                step, folder = f"{version} {name}", Path(work) / f"{version}-{name.rpartition(' ')[2]}"
                folder.mkdir()
                check_core(table, step, folder, python, built[0])
                lowest = version == versions()[0] and name == builds[0][0]
                if lowest:
                    check_recipe(table, folder, python, built[1])
                for resolution in ["lowest-direct", "highest"] if lowest else ["highest"]:
                    check_tests(table, f"{step}, {resolution}", folder, python, built, resolution, tests)
        tested = any("tests of the sdist" in step for step, _, _ in table.rows)
        failed = not tested or any(outcome == "failed" for _, outcome, _ in table.rows)
        if asked.dist and not failed:
            shutil.copytree(Path(work) / "dist", asked.dist, dirs_exist_ok=True)
    print(f"\n{table}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
