"""Commands where optional packages are not installed: each works, or names the extra before it works."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BLOCKED = {
    "cli": ("typer", "rich", "pyarrow"),
    "others": (
        *(
            "PIL",
            "pandas",
            "polars",
            "openpyxl",
            "h5py",
            "bed_reader",
            "dask",
            "distributed",
            "zarr",
            "torch",
        ),
        *("onnx", "skl2onnx", "onnxruntime", "anndata"),
        *("matplotlib", "vl_convert", "fastapi", "starlette", "uvicorn", "jinja2", "docx"),
    ),
}
RUN = """
import contextlib, io, json, sys
blocked, work = json.loads(sys.argv[1])

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
results = []
for item in work:
    streams = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        if isinstance(item, str):
            try:
                exec(item)
                code = 0
            except ImportError as error:
                code = 1
                print(error, file=sys.stderr)
        else:
            from gramian.app.cli import main
            code = main(item)
    results.append([code, streams[1].getvalue()])
print(json.dumps(results))
"""


def run_without(packages, work, folder):
    command = [sys.executable, "-c", RUN, json.dumps([packages, work])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 16))
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", header=",".join(f"c{i}" for i in range(16)), comments="")
    np.savez(tmp_path / "faces.npz", X=X.reshape(20, 4, 4))
    np.save(tmp_path / "a.npy", X)
    (tmp_path / "pictures-of-people").mkdir()
    for name in "ab":
        (tmp_path / "pictures-of-people" / f"{name}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    return tmp_path


@pytest.mark.walk
def test_estimators_need_no_package_of_the_shell(folder):
    fit = "import gramian, pathlib; gramian.PCA(2).fit(pathlib.Path('a.npy')).save('m.gramian')"
    load = "gramian.load('m.gramian').summary(); gramian.KernelPCA(2).fit([[1, 2], [3, 4], [5, 5]])"
    text = "gramian.PCA(2).fit(pathlib.Path('a.csv'))"
    results = run_without(BLOCKED["cli"], [fit, load, ["--version"], text, ["--help"]], folder)
    assert [code for code, _ in results] == [0, 0, 0, 1, 1]
    for _, errors in results[3:]:
        assert 'pip install "gramian[cli]"' in errors
    assert "Traceback" not in results[4][1]


@pytest.mark.walk
def test_commands_without_extras_work_or_name_the_extra(folder):
    works = [
        ["fit", "a.csv", "--n-components", "2", "-o", "table"],
        ["fit", "faces.npz::X", "--n-components", "2", "-o", "pictures"],
        ["report", "table", "-o", "report.html"],
        ["transform", "table", "a.csv", "-o", "scores.csv"],
        ["info", "table"],
        ["whiten", "a.csv", "-o", "white.csv"],
    ]
    refused = {
        "images": ["fit", "pictures-of-people", "-o", "f.gramian"],
        "docx": ["report", "table", "-o", "report.docx"],
        "plots": ["plot", "table", "a.csv", "-o", "figures"],
        "onnx": ["export", "table", "-o", "m.onnx"],
    }
    refused["app"] = ["serve", "a.csv"]
    results = run_without(BLOCKED["others"], [*works, *refused.values()], folder)
    for command, (code, errors) in zip(works, results, strict=False):
        assert code == 0, (command, errors)
    for (extra, command), (code, errors) in zip(refused.items(), results[len(works) :], strict=True):
        assert code == 1, (command, errors)
        assert f'pip install "gramian[{extra}]"' in errors, (command, errors)
        assert "Traceback" not in errors
    assert not (Path(folder) / "figures").exists()
