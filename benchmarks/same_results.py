"""``python benchmarks/same_results.py OLD/src``: are results those of another checkout, bit by bit?

Fits the same inputs with the package in ``OLD/src`` and with this one, each in its own process on one
thread, and compares every array and number that comes out. Exits with 1 where one differs.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve()
PENGUINS = HERE.parent.parent / "src" / "gramian" / "examples" / "penguins.csv"
Numbers = Mapping[str, Any]
CASES: dict[str, Callable[[], Numbers]] = {}


def table(
    rows: int, columns: int, seed: int = 0, dtype: str = "f8", offset: float = 0.0
) -> np.ndarray[Any, Any]:
    """Return correlated columns of falling variance."""
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((columns, columns)) / np.arange(1, columns + 1)
    return np.asarray(offset + rng.standard_normal((rows, columns)) @ mixing, dtype)


def holes(values: np.ndarray[Any, Any], share: float = 0.1) -> np.ndarray[Any, Any]:
    """Return a copy with entries missing at random."""
    return np.where(np.random.default_rng(7).random(values.shape) < share, np.nan, values)


def numbers(model: Any, *names: str) -> Numbers:
    """Return fitted attributes, by default those that every estimator of components has."""
    usual = ("components_", "explained_variance_", "mean_", "noise_variance_", "eigenvalues_", "dual_coef_")
    found = {name: getattr(model, name) for name in names or usual if hasattr(model, name)}
    if hasattr(model, "certificate_"):
        found["residuals"] = model.certificate_.residuals if hasattr(model.certificate_, "residuals") else ""
        found["certificate"] = str(model.certificate_)
    return found


def case(name: str) -> Callable[[Callable[[], Numbers]], Callable[[], Numbers]]:
    """Add a case."""

    def add(function: Callable[[], Numbers]) -> Callable[[], Numbers]:
        CASES[name] = function
        return function

    return add


def _pca(X: Any, weights: Any = None, more: Any = None, **options: Any) -> Callable[[], Numbers]:
    def fit() -> Numbers:
        from gramian import PCA

        model = PCA(**options)
        rows = X() if callable(X) else X
        model.fit(rows) if weights is None else model.fit(rows, sample_weight=weights)
        new = rows if more is None else more
        scores = model.transform(new)
        return {**numbers(model), "scores": scores, "back": model.inverse_transform(scores)}

    return fit


def _kernel(X: Any, **options: Any) -> Callable[[], Numbers]:
    def fit() -> Numbers:
        from gramian import KernelPCA

        model = KernelPCA(**options)
        scores = model.fit_transform(X)
        return {**numbers(model), "scores": scores, "new": model.transform(X[:7] * 1.01)}

    return fit


def _sparse() -> Any:
    import scipy.sparse

    return scipy.sparse.random(300, 60, 0.05, random_state=0, format="csr")


TALL, WIDE, SMALL = table(3000, 20), table(25, 400, 1), table(60, 6, 2)
PCAS: dict[str, Callable[[], Numbers]] = {
    "tall": _pca(TALL, n_components=5),
    "all components": _pca(TALL),
    "wide": _pca(WIDE, n_components=8),
    "small": _pca(SMALL, n_components=2),
    "one row of new data": _pca(SMALL, n_components=2, more=SMALL[:1]),
    "float32": _pca(table(2000, 30, 3, "f4"), n_components=6),
    "float32 with an offset": _pca(table(500, 8, 4, "f4", 1e4), n_components=3),
    "integers": _pca(np.arange(240).reshape(40, 6) ** 2 % 97, n_components=3),
    "ratio": _pca(TALL, n_components=0.9),
    "unit scale": _pca(TALL, n_components=4, scale="unit"),
    "pareto scale": _pca(TALL, n_components=4, scale="pareto"),
    "not centred": _pca(TALL, n_components=4, center=False),
    "whitened": _pca(TALL, n_components=4, whiten=True),
    "weighted": _pca(TALL, np.arange(3000) % 5 + 0.5, n_components=4),
    "krylov": _pca(table(2000, 600, 5), n_components=3, solver="krylov"),
    "covariance": _pca(TALL, n_components=4, solver="covariance"),
    "gram": _pca(WIDE, n_components=4, solver="gram"),
    "full": _pca(TALL, n_components=4, solver="full"),
    "parallel": _pca(SMALL, n_components="parallel"),
    "mle": _pca(SMALL, n_components="mle"),
    "huge": _pca(SMALL * 1e150, n_components=2),
    "tiny": _pca(SMALL * 1e-150, n_components=2),
    "rank one": _pca(np.outer(np.arange(9.0), np.arange(1, 5.0)), n_components=3),
    "em": _pca(holes(SMALL), n_components=2, missing="em"),
    "iterative": _pca(holes(SMALL), n_components=2, missing="iterative"),
    "mean of columns": _pca(holes(SMALL), n_components=2, missing="mean"),
    "sparse": _pca(_sparse, n_components=4),
}
KERNELS: dict[str, Callable[[], Numbers]] = {
    "rbf": _kernel(SMALL, n_components=3, kernel="rbf", gamma=0.1),
    "median width": _kernel(SMALL, n_components=3, kernel="rbf", gamma="median"),
    "poly": _kernel(SMALL, n_components=3, kernel="poly", degree=2),
    "expression": _kernel(SMALL, n_components=3, kernel="rbf(sigma=2) + 0.5*linear"),
    "laplacian": _kernel(SMALL, n_components=3, kernel="laplacian"),
    "cosine": _kernel(SMALL, n_components=3, kernel="cosine"),
    "kernel krylov": _kernel(table(900, 5, 6), n_components=3, kernel="rbf", solver="krylov"),
    "landmarks": _kernel(table(900, 5, 6), n_components=3, kernel="rbf", solver="nystroem", n_landmarks=60),
}
CASES.update({f"PCA, {name}": fit for name, fit in PCAS.items()})
CASES.update({f"kernel PCA, {name}": fit for name, fit in KERNELS.items()})


@case("PCA, stream")
def _stream() -> Numbers:
    from gramian import PCA

    model = PCA(3)
    for start in range(0, 3000, 500):
        model.partial_fit(TALL[start : start + 500])
    return numbers(model)


@case("PCA, scores and likelihood")
def _likelihood() -> Numbers:
    from gramian import PCA

    model = PCA(2).fit(SMALL)
    return {
        "score": model.score(SMALL),
        "rows": model.score_samples(SMALL),
        "covariance": model.get_covariance(),
    }


@case("PCA, imputed table")
def _imputed() -> Numbers:
    from gramian import PCA

    model = PCA(2, missing="em").fit(holes(SMALL))
    return {"imputed": model.impute(holes(SMALL)), "score": model.score(holes(SMALL))}


@case("PCA, a file with labels")
def _file() -> Numbers:
    from gramian import PCA, scan

    data = scan(PENGUINS, label="species,island,sex", missing="drop-rows")
    model = PCA(2, scale="unit").fit(data)
    return {**numbers(model), "scores": model.transform(data), "names": model.feature_names_in_}


@case("PCA, a .npy file")
def _npy() -> Numbers:
    from gramian import PCA

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.npy")
        np.save(path, TALL)
        model = PCA(3).fit(path)
        return {**numbers(model), "scores": model.transform(path)}


@case("kernel PCA, way back")
def _way_back() -> Numbers:
    from gramian import KernelPCA

    model = KernelPCA(3, kernel="rbf", gamma=0.1).fit(SMALL)
    return {"back": model.inverse_transform(model.transform(SMALL[:9])), "denoised": model.denoise(SMALL[:9])}


@case("whitener, pca and zca")
def _whitener() -> Numbers:
    from gramian import Whitener

    return {method: Whitener(method).fit_transform(SMALL) for method in ("pca", "zca", "zca-cor")}


@case("monitor")
def _monitor() -> Numbers:
    from gramian import PCA, Monitor

    made = Monitor(PCA(2)).fit(SMALL)
    return {"t2": made.statistics(SMALL * 1.1).columns, "limits": [vars(one) for one in made.limits_.limits]}


@case("stability")
def _stability() -> Numbers:
    from gramian import PCA, stability

    return {"text": str(stability(PCA(2).fit(SMALL), SMALL))}


@case("choice of components")
def _components() -> Numbers:
    from gramian import choose_components

    return {"text": str(choose_components(SMALL))}


@case("rotation and sampling")
def _rotation() -> Numbers:
    from gramian import PCA, rotate

    model = PCA(3).fit(SMALL)
    return {
        "rotated": str(rotate(model)),
        "sampling": str(model.sampling_),
        "table": str(model.table("columns")),
    }


@case("description by labels")
def _description() -> Numbers:
    from gramian import PCA, describe, scan

    data = scan(PENGUINS, label="species,island,sex", missing="drop-rows").read()
    return {"text": str(describe(PCA(2, scale="unit").fit(data), data))}


@case("filter of columns")
def _filter() -> Numbers:
    from gramian import FeatureFilter

    made = FeatureFilter("f", k=3).fit(SMALL, np.arange(60) % 3)
    return {"scores": made.scores_, "support": made.get_support()}


@case("search of columns")
def _search() -> Numbers:
    from sklearn.linear_model import LinearRegression

    from gramian import SequentialFeatureSelector

    made = SequentialFeatureSelector(LinearRegression(), n_features_to_select=2).fit(
        SMALL, SMALL @ np.arange(6.0)
    )
    return {"support": made.get_support()}


@case("equations of rows")
def _relations() -> Numbers:
    from gramian import relations

    angle = np.linspace(0, 6, 50)
    return {"text": str(relations(np.stack([np.cos(angle), np.sin(angle)], axis=1)))}


@case("kernel by validation")
def _choose_kernel() -> Numbers:
    from gramian import choose_kernel

    return {"text": str(choose_kernel(SMALL, np.arange(60) % 2))}


@case("proof and counter-example")
def _audit() -> Numbers:
    from gramian import kernels

    return {
        "text": [
            str(kernels.audit(text, n_features=2)) for text in ("rbf + linear", "sigmoid", "linear - rbf")
        ]
    }


@case("saved and opened")
def _saved() -> Numbers:
    import gramian

    with tempfile.TemporaryDirectory() as folder:
        gramian.KernelPCA(3, kernel="poly").fit(SMALL).save(f"{folder}/m.gramian")
        return {"scores": gramian.load(f"{folder}/m.gramian").transform(SMALL)}


def computed(name: str) -> Any:
    """Return the numbers of a case, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {part: _plain(value) for part, value in CASES[name]().items()}
        except Exception as error:  # shown with the case
            return {"error": f"{type(error).__name__}: {error}"}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else str(value)


def same(old: Any, new: Any) -> bool:
    """Say whether two results are equal, arrays bit by bit."""
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return (
            old.shape == new.shape
            and old.dtype == new.dtype
            and old.tolist().__repr__() == new.tolist().__repr__()
        )
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(old[name], new[name]) for name in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    return type(old) is type(new) and old == new


def results_of(source: Path, names: list[str]) -> dict[str, Any]:
    """Return the results of the package in a folder, computed by a process of its own."""
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | one | {"PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE), "--compute", *names]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return pickle.loads(done.stdout)  # type: ignore[no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="the folder src of the other checkout; with --compute a case")
    parser.add_argument("more", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--compute", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.compute:
        sys.stdout.buffer.write(pickle.dumps({name: computed(name) for name in (asked.old, *asked.more)}))
        return 0
    names, differ = asked.more or list(CASES), 0
    old = results_of(Path(asked.old).resolve(), names)
    new = results_of(HERE.parent.parent / "src", names)
    for name in names:
        both = old[name].keys() | new[name].keys()
        wrong = sorted(one for one in both if not same(old[name].get(one), new[name].get(one)))
        differ += bool(wrong)
        print(f"{name:34} {', '.join(wrong) + ' differ' if wrong else 'equal'}")
        if "error" in both:  # no case is to fail
            differ += not wrong
            print(*(f"    {results[name].get('error', 'a result')}" for results in (old, new)), sep="\n")
    print(f"{len(names) - differ} of {len(names)} equal")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
