"""A fitted model is its own: neither parameters set later nor arrays changed later reach it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge

from gramian import (
    PCA,
    FeatureFilter,
    KernelPCA,
    PolynomialMap,
    RandomFourierMap,
    SequentialFeatureSelector,
    Whitener,
)
from gramian.faces import FaceSpace
from gramian.kernels import RBF

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 4)) * [4.0, 2.0, 1.0, 0.5] + 3.0
Y = X @ [1.0, -1.0, 0.5, 0.0]
NEW = RNG.standard_normal((7, 4)) + 3.0
PICTURES = RNG.random((12, 9, 8), dtype=np.float32)

OF_PCA = {
    "n_components": 1,
    "center": False,
    "scale": "unit",
    "whiten": True,
    "ddof": 0,
    "solver": "gram",
    "tol": 0.1,
    "random_state": 5,
    "memory_limit": "1GB",
    "forgetting": 0.5,
    "missing": "projection",
    "feature_weight": [1.0, 2.0, 1.0, 1.0],
    "certificate": "deterministic",
}
OF_KERNEL_PCA = {
    "n_components": 1,
    "kernel": "poly",
    "gamma": 0.9,
    "degree": 2,
    "coef0": 7,
    "kernel_params": {"p": 1},
    "center": False,
    "scale": "unit",
    "solver": "dense",
    "tol": 0.1,
    "random_state": 5,
    "memory_limit": "1GB",
    "repair": "clip",
    "n_landmarks": 9,
    "landmarks": "uniform",
}
OF_MAPS = {"gamma": 0.9, "coef0": 3.0, "center": False, "orthogonal": False, "random_state": 3}
OF_MAPS |= {"n_components": 8, "order": 2, "degree": 2, "max_features": 1000, "weights": None}
OF_FILTERS = {"score_func": "mutual-information", "k": 1, "estimator": Ridge(), "cv": 3, "redundancy": "mrmr"}
OF_FILTERS |= {"scoring": "r2", "n_neighbors": 4, "alpha": 0.2, "random_state": 3, "n_jobs": 1}
# Of an estimator of each kind: other values of its parameters, all of them valid.
OTHERS = [
    (PCA(2), OF_PCA),
    (PCA(2, whiten=True, scale="unit", center=True), OF_PCA | {"whiten": False, "scale": None}),
    (KernelPCA(2), OF_KERNEL_PCA | {"kernel": "rbf"}),
    (KernelPCA(2, kernel="rbf", gamma=0.1), OF_KERNEL_PCA),
    (KernelPCA(2, kernel="rbf", center=False, tol=0.1), OF_KERNEL_PCA | {"center": True, "tol": None}),
    (KernelPCA(2, kernel="poly", solver="nystroem", n_landmarks=8, random_state=0), OF_KERNEL_PCA),
    (PolynomialMap(), OF_MAPS),
    (RandomFourierMap(10, random_state=0), OF_MAPS),
    (FeatureFilter("f", k=2), OF_FILTERS),
    (
        SequentialFeatureSelector(Ridge(), n_features_to_select=2),
        {"estimator": Ridge(2.0), "n_features_to_select": 1, "direction": "backward", "cv": 3}
        | {"floating": True, "n_jobs": 1, "scoring": "r2", "warm_start": True},
    ),
    (
        FaceSpace(3),
        {"n_components": 2, "kernel": "rbf", "light": "log", "shift": 0.2, "random_state": 2}
        | {"memory_limit": "1GB"},
    ),
]
OTHERS += [
    (
        Whitener(method, random_state=0),
        {"method": "pca" if method == "zca" else "zca", "n_components": 2, "regularization": 0.2, "ddof": 0}
        | {"random_state": 3},
    )
    for method in ("zca", "pca", "zca-cor", "pca-cor")
]


def fit(model):
    return model.fit(PICTURES) if isinstance(model, FaceSpace) else model.fit(X, Y)


def answers(model):
    """What a fitted model makes of new rows, and of that again."""
    scores = model.transform(PICTURES[:5] if isinstance(model, FaceSpace) else NEW)
    yield scores
    if isinstance(model, FaceSpace):
        yield model.reconstruct(PICTURES[:5])
    elif hasattr(model, "inverse_transform"):
        yield model.inverse_transform(scores)
    yield model.get_feature_names_out().astype(str)


@pytest.mark.parametrize(("model", "others"), OTHERS, ids=lambda value: repr(value)[:40])
def test_parameters_set_after_a_fit_wait_for_the_next_one(model, others):
    model = fit(clone(model))
    before = list(answers(model))
    # Neither of these is about the model: one says where new rows are mapped, the other how a search for
    # pre-images goes, which is documented to follow set_params.
    names = model.get_params(deep=False).keys() - {"preimage"}
    for name in names:
        old = getattr(model, name)
        model.set_params(**{name: others[name]})
        for answer, expected in zip(answers(model), before, strict=True):
            assert_array_equal(answer, expected, err_msg=name)
        model.set_params(**{name: old})


def weighted(x, y, weights):
    return float(np.sum(weights * x * y))


def written_over(array):
    """Set every entry of an array of any kind to another one."""
    data = getattr(array, "data", None) if sparse.issparse(array) else array
    data[...] = 1 if str(data.dtype).startswith("int") else 0


GIVEN = np.array([1.5, 2.0, 0.5, 1.0])


def sources():
    """Models beside every array that they were made of or are fitted on, each an array of its own."""
    for make in (np.array, lambda values: pytest.importorskip("torch").asarray(values)):
        L = make(X[:6].copy())
        yield PCA(), make(X.copy()), []
        yield PCA(center=False, whiten=True), make(X.copy()), []
        yield PCA(2, scale=(scale := GIVEN.copy())), make(X.copy()), [scale]
        yield Whitener("zca-cor"), make(X.copy()), []
        yield KernelPCA(2), make(X.copy()), []
        yield KernelPCA(2, kernel="rbf", landmarks=L, solver="nystroem"), make(X.copy()), [L]
        yield KernelPCA(2, kernel="rbf", n_landmarks=40, solver="nystroem"), make(X.copy()), []
        yield KernelPCA(2, kernel=RBF(sigma=(sigma := GIVEN.copy()))), make(X.copy()), [sigma]
        yield RandomFourierMap(8, gamma=(gamma := GIVEN.copy()), random_state=0), make(X.copy()), [gamma]
    for rows in (np.asfortranarray(X), X.astype("f4"), np.repeat(X, 2, axis=0)[::2]):
        yield KernelPCA(2, kernel="rbf"), rows, []
    weights = GIVEN.copy()
    yield KernelPCA(2, kernel=weighted, kernel_params={"weights": weights}), X.copy(), [weights]
    yield KernelPCA(2, kernel="precomputed"), RBF(gamma=0.1).gram(X), []
    L = sparse.csr_array(X[:6])
    yield KernelPCA(2, landmarks=L, solver="nystroem"), sparse.csr_array(X), [L]
    yield KernelPCA(2, kernel="rbf"), sparse.csr_array(X), []
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    selector = SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=folds)
    yield selector, X.copy(), [*folds[0], *folds[1]]
    yield FaceSpace(3, light="none"), PICTURES.copy(), []


def state(model):
    """Every attribute that a fit has set, written out."""
    fitted = {name: value for name, value in vars(model).items() if name not in model.get_params(deep=False)}
    return pickle.dumps(fitted)


def test_arrays_changed_after_a_fit_do_not_reach_the_model():
    for model, rows, arrays in sources():
        model.fit(rows) if isinstance(model, FaceSpace) else model.fit(rows, Y.copy())
        before = state(model)
        for array in (rows, *arrays):
            written_over(array)
        assert state(model) == before, model
