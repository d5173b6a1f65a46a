"""Type checkers, completion and documentation see the real signatures and attributes."""

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import gramian
from drawn import drawn_faces
from gramian import errors
from gramian.faces import FaceSpace

X = np.random.default_rng(0).standard_normal((12, 3))
FITTED = [
    gramian.PCA(2, missing="mean").fit(X),
    gramian.PCA("mle").fit(X),
    gramian.KernelPCA(2, kernel="rbf").fit(X),
    gramian.KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=4, random_state=0).fit(X),
    gramian.Whitener().fit(X),
    gramian.Monitor(gramian.PCA(2)).fit(X),
    gramian.PolynomialMap(2).fit(X),
    gramian.RandomFourierMap(4, random_state=0).fit(X),
    gramian.FeatureFilter(k=2).fit(X, X[:, 0] > 0),
    gramian.SequentialFeatureSelector(LinearRegression(), cv=2).fit(X, X[:, 0]),
    FaceSpace(2).fit(drawn_faces(4, 2, size=(24, 28), seed=0)),
]
ALLOWED = """
import numpy as np
import numpy.typing as npt

import gramian
from gramian import *
from gramian import PCA, KernelPCA, Monitor, Whitener, kernels, load
from gramian.faces import FaceSpace
from gramian.core.records import Certificate, Plan

X = np.zeros((10, 3))
pca: PCA = PCA(2, scale="unit", random_state=np.random.default_rng(0)).fit(X)
scores: npt.NDArray[np.floating] = pca.transform(X)
directions: npt.NDArray[np.floating] = pca.components_
variances: npt.NDArray[np.float64] = pca.explained_variance_
certificate: Certificate = pca.certificate_
plan: Plan = pca.plan(X)
print(certificate.ok, plan.seconds, pca.noise_variance_ + 1.0, pca.get_params()["whiten"])
gram: npt.NDArray[np.float64] = KernelPCA(kernel=kernels.RBF(sigma=2.0)).fit(X).eigenvalues_
white: npt.NDArray[np.floating] = Whitener("zca").fit_transform(X)
alarms: npt.NDArray[np.bool_] = Monitor(PCA(2)).fit(X).statistics(X).alarms
again: PCA = load("model.gramian", PCA)
scores = load("model.gramian").transform(X)
scores = PCA.load("model.gramian").transform(X)
white = Whitener.load("model.gramian").fit_transform(X)
names: npt.NDArray[np.object_] = again.set_output(transform="default").get_feature_names_out()
number: int | None = gramian.choose_components(X)["parallel"].number
"""
# Rows may be dense or sparse.
ANYTHING = {"X_fit_", "landmarks_"}
REJECTED = {
    "PCA(n_component=3)": "call-arg",
    "PCA(2, True)": "misc|call-arg",
    "KernelPCA(kernel=3)": "arg-type",
    "PCA(2).fit(X).component_": "attr-defined",
    "KernelPCA(2).fit(X).components_": "attr-defined",
    "PCA.load('x').eigenvalues_": "attr-defined",
    "load('x', PCA).eigenvalues_": "attr-defined",
    "gramian.PCAs(2)": "attr-defined",
    "pca.certificate_.okay": "attr-defined",
    "number_of_components: str = pca.n_components_": "assignment",
}


@pytest.mark.walk
def test_a_users_script_is_type_checked(tmp_path):
    pytest.importorskip("mypy")
    lines = [*ALLOWED.splitlines(), *REJECTED]
    for place, model in enumerate(FITTED):
        lines += [f"def types_{place}(model: {type(model).__name__}) -> None:"]
        made = vars(model).keys() - model.get_params(deep=False).keys() - ANYTHING
        lines += [f"    reveal_type(model.{name})" for name in sorted(made) if not name.startswith("_")]
    (tmp_path / "script.py").write_text("\n".join(lines))
    environment = os.environ | {"PYTHONPATH": str(Path(gramian.__file__).parents[1]), "MYPYPATH": ""}
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        "cache",
        "script.py",
    ]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    first = len(ALLOWED.splitlines()) + 1
    found = {}
    unknown = []
    for line in run.stdout.splitlines():
        if 'Revealed type is "Any"' in line:
            unknown.append(lines[int(line.split(":")[1]) - 1])
        if ": error: " in line:
            found.setdefault(int(line.split(":")[1]), []).append(line)
    assert not unknown
    expected = range(first, first + len(REJECTED))
    assert set(found) == set(expected), run.stdout
    for place, (code, kind) in zip(expected, REJECTED.items(), strict=True):
        assert any(f"[{one}]" in line for line in found[place] for one in kind.split("|")), (
            code,
            found[place],
        )


def test_signatures_are_real_and_completion_shows_what_is_for_users():
    for model in FITTED:
        kind = type(model)
        assert set(signature(kind).parameters) == set(model.get_params(deep=False))
        # Documentation looks at __new__ first.
        assert kind.__new__ is object.__new__
        assert not {"contents", "known", "private", "check_restored", "maps_holes"} & set(dir(model))
        assert type(clone(model)) is kind
    assert dir(gramian) == sorted(gramian.__all__)
    assert not [name for name in dir(gramian) if name.startswith("_") and name != "__version__"]


def test_load_checks_the_class_that_you_name(tmp_path):
    path = tmp_path / "model.gramian"
    FITTED[0].save(path)
    for model in gramian.load(path, gramian.PCA), gramian.PCA.load(path), gramian.load(path):
        assert type(model) is gramian.PCA
        np.testing.assert_array_equal(model.transform(X), FITTED[0].transform(X))
    for load in gramian.KernelPCA.load, lambda path: gramian.load(path, gramian.KernelPCA):
        with pytest.raises(errors.ModelFileError, match="holds a PCA, not a KernelPCA"):
            load(path)
