"""Suite ``everyday``: small tables, one row, a search, resampling and the import: where most fits are."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import generators
import numpy as np
import references
import sklearn.decomposition as peers
from contenders import (
    NewRows,
    our_kernel_pca,
    our_pca,
    peer_kernel_pca,
    peer_pca,
    transforming,
)
from harness.rows import Check, Contender, FloatArray, Options, Outcome, Report, Row, Standing
from harness.timing import TimedRow
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gramian

CALLS = 200
COMPONENTS = 3
RESAMPLES = 500
# Columns of unequal size come before PCA in every pipeline, so that real tables are standardized.
TABLES: dict[str, Callable[[], FloatArray]] = {
    "100x5": lambda: generators.normal(100, 5, 0),
    "178x13": lambda: standardized(load_wine),
    "569x30": lambda: standardized(load_breast_cancer),
    "1000x100": lambda: generators.normal(1000, 100, 0),
    "1797x64": lambda: load_digits().data,
    "60x2000": lambda: generators.normal(60, 2000, 0),
}
PCA_LIMITS = {"100x5": 2.0, "178x13": 2.0, "569x30": 2.0, "1000x100": 2.0, "1797x64": 1.2}
KERNEL_LIMIT, ROW_LIMIT, KERNEL_ROW_LIMIT, SEARCH_LIMIT, STABILITY_LIMIT, IMPORT_LIMIT = (
    1.0,
    1.2,
    1.0,
    1.1,
    1.0,
    1.0,
)
KERNEL_TABLES = ("100x5", "178x13", "569x30", "60x2000")


# What the shell is asked for, and the CPU seconds that it may take.
COMMANDS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("everyday-shell", ("fit", "flowers.csv"), 2.5),
    ("everyday-shell-report", ("fit", "flowers.csv", "-o", "out", "--report"), 3.5),
    ("everyday-demo", ("demo", "-o", "demo"), 8.0),
)


@dataclass(frozen=True)
class CommandRow:
    """CPU seconds, user and system, of a command in a process of its own, on the flowers of the demo."""

    name: str
    arguments: tuple[str, ...]
    limit: float
    repeats: int

    @property
    def about(self) -> str:
        return f"gramian {' '.join(self.arguments)}: CPU seconds of a process, without a peer"

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Run the command several times, in a folder with the table."""
        seconds = list[float]()
        with tempfile.TemporaryDirectory() as folder:
            iris = load_iris()
            kept = np.arange(len(iris.data)) % 10 != 9
            columns = np.column_stack([iris.data, iris.target_names[iris.target]])[kept]
            lines = [",".join([*(f"column{j}" for j in range(4)), "species"]), *map(",".join, columns)]
            Path(folder, "flowers.csv").write_text("\n".join(lines) + "\n")
            command = [sys.executable, "-m", "gramian", *self.arguments]
            # Compiled once, as an installed package is.
            env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            for _ in range(self.repeats + 1):
                before = _cpu_of_children()
                subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
                seconds.append(_cpu_of_children() - before)
            del seconds[0]
        standing = Standing("gramian", True, seconds, accurate=True)
        check = Check("median CPU seconds", float(np.median(seconds)), self.limit)
        return Report(self.name, self.about, {}, standings=[standing], checks=[check])


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows(quick: bool) -> list[Row]:
    """Return the rows; quick ones run a few calls."""
    made = [
        *(_fit(size, limit) for size, limit in PCA_LIMITS.items()),
        _one_row("everyday-row", "PCA", our_pca, peer_pca, pca_scores, ROW_LIMIT),
        *(_kernel_fit(size) for size in KERNEL_TABLES),
        _one_row(
            "everyday-kernel-row",
            "kernel PCA (RBF)",
            our_kernel_pca,
            peer_kernel_pca,
            kernel_scores,
            KERNEL_ROW_LIMIT,
        ),
        _search(),
        _stability(),
        _import(),
    ]
    timed = [replace(row, repeats=3) for row in made] if quick else made
    return [*timed, *(CommandRow(*command, repeats=1 if quick else 5) for command in COMMANDS)]


def standardized(load: Callable[[], Any]) -> FloatArray:
    """Return a table of scikit-learn with columns of unit variance."""
    values: FloatArray = StandardScaler().fit_transform(load().data)
    return values


def _fit(size: str, limit: float) -> TimedRow:
    return TimedRow(
        f"everyday-fit-{size}",
        f"PCA, {COMPONENTS} components, {_said(size)}; peer: PCA of scikit-learn as it comes",
        data=TABLES[size],
        contenders=(our_pca(n_components=COMPONENTS), peer_pca("default", n_components=COMPONENTS)),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-6},
        ratio=limit,
        repeats=CALLS,
    )


def _kernel_fit(size: str) -> TimedRow:
    return TimedRow(
        f"everyday-kernel-{size}",
        f"kernel PCA, RBF, {COMPONENTS} components, {_said(size)}; peer: KernelPCA as it comes",
        data=TABLES[size],
        contenders=(
            our_kernel_pca(n_components=COMPONENTS),
            peer_kernel_pca("default", n_components=COMPONENTS),
        ),
        reference=lambda X: kernel_pairs(X)[0],
        errors=lambda exact, outcome: {"eigenvalue": references.eigenvalue_error(outcome.values, exact)},
        tolerances={"eigenvalue": 1e-6},
        ratio=KERNEL_LIMIT,
        repeats=CALLS,
    )


def kernel_pairs(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of the centred matrix by its definition."""
    K = kernel(X, X)
    H = np.eye(len(X)) - 1.0 / len(X)
    values, vectors = np.linalg.eigh(H @ K @ H)
    return values[::-1][:COMPONENTS], vectors[:, ::-1][:, :COMPONENTS]


def kernel(A: FloatArray, B: FloatArray) -> FloatArray:
    """RBF with the default gamma, every distance from a difference of rows."""
    return np.exp(-np.array([((B - row) ** 2).sum(axis=1) for row in A]) / A.shape[1])


def pca_scores(data: NewRows) -> FloatArray:
    """Scores by the singular value decomposition of the fitted rows."""
    mean = data.fitted.mean(axis=0)
    _, _, Vt = np.linalg.svd(data.fitted - mean, full_matrices=False)
    scores: FloatArray = (data.new - mean) @ Vt[:COMPONENTS].T
    return scores


def kernel_scores(data: NewRows) -> FloatArray:
    """Scores by the definition, from centred kernel values and the eigenvectors of the fitted rows."""
    values, vectors = kernel_pairs(data.fitted)
    means = kernel(data.fitted, data.fitted).mean(axis=0)
    K = kernel(data.new, data.fitted)
    K += means.mean() - K.mean(axis=1, keepdims=True) - means
    scores: FloatArray = K @ (vectors / np.sqrt(values))
    return scores


def scores_errors(exact: FloatArray, outcome: Outcome) -> dict[str, float]:
    """Largest error of a score relative to the largest; the sign of a component is arbitrary."""
    gaps = np.minimum(np.abs(outcome.scores - exact), np.abs(outcome.scores + exact))
    return {"scores": float(gaps.max() / np.abs(exact).max())}


def _one_row(
    name: str,
    method: str,
    ours: Callable[..., Contender],
    peer: Callable[..., Contender],
    exact: Callable[[NewRows], FloatArray],
    limit: float,
) -> TimedRow:
    def data() -> NewRows:
        X = TABLES["1000x100"]()
        return NewRows(X, X[:1])

    return TimedRow(
        name,
        f"scores of one row by a {method} of 1000 x 100, {COMPONENTS} components; the fit is not timed",
        data=data,
        contenders=(
            transforming(ours(n_components=COMPONENTS)),
            transforming(peer("default", n_components=COMPONENTS)),
        ),
        reference=exact,
        errors=scores_errors,
        tolerances={"scores": 1e-6},
        ratio=limit,
        repeats=CALLS,
    )


def _search() -> TimedRow:
    """Each of 6 numbers of components in 5 folds: 30 fits of a pipeline, and the last."""

    def searching(name: str, pca: Callable[[], Any], *, ours: bool = False) -> Contender:
        def run(data: tuple[Any, Any]) -> Any:
            pipeline = make_pipeline(StandardScaler(), pca(), LogisticRegression(max_iter=200))
            grid = {f"{type(pca()).__name__.lower()}__n_components": [5, 10, 15, 20, 30, 40]}
            return GridSearchCV(pipeline, grid, cv=5).fit(*data)

        def outcome(data: tuple[Any, Any], search: Any) -> Outcome:
            return Outcome(values=search.cv_results_["mean_test_score"])

        return Contender(name, run, outcome, ours=ours)

    def exact(data: tuple[Any, Any]) -> FloatArray:
        scores: FloatArray = (
            searching("", lambda: peers.PCA(svd_solver="full")).run(data).cv_results_["mean_test_score"]
        )
        return scores

    return TimedRow(
        "everyday-search",
        "GridSearchCV of standardizing, PCA and logistic regression on the digits (1797 x 64): 6 numbers of "
        "components in 5 folds; peer: PCA of scikit-learn as it comes; errors: of accuracy, against the SVD",
        data=lambda: load_digits(return_X_y=True),
        contenders=(
            searching("gramian.PCA", gramian.PCA, ours=True),
            searching("PCA default", lambda: peers.PCA(random_state=0)),
        ),
        reference=exact,
        errors=lambda scores, outcome: {"accuracy": float(np.abs(scores - outcome.values).max())},
        tolerances={"accuracy": 0.01},
        ratio=SEARCH_LIMIT,
        repeats=5,
        patience=60.0,
    )


def _stability() -> TimedRow:
    def ours(X: FloatArray) -> Any:
        return gramian.stability(gramian.PCA(COMPONENTS).fit(X), X, n_resamples=RESAMPLES)

    def loop(X: FloatArray, resamples: int = RESAMPLES) -> Any:
        """Intervals and directions by resampling, as one writes them down with NumPy."""
        rng = np.random.default_rng(0)
        values, directions = [], []
        for _ in range(resamples):
            some = X[rng.integers(len(X), size=len(X))]
            _, s, Vt = np.linalg.svd(some - some.mean(axis=0), full_matrices=False)
            values.append(s**2 / (len(X) - 1))
            directions.append(Vt[:COMPONENTS])
        return np.quantile(values, [0.025, 0.975], axis=0).T[:COMPONENTS], np.array(directions)

    def errors(exact: FloatArray, outcome: Outcome) -> dict[str, float]:
        return {"interval ends": float(np.abs(outcome.values / exact - 1).max())}

    return TimedRow(
        "everyday-stability",
        f"{RESAMPLES} resamples of the wine table (178 x 13), {COMPONENTS} components; peer: a loop over "
        "numpy.linalg.svd without studentized intervals, alignment or equal components; errors: of the "
        f"variances' interval ends, against the loop with {10 * RESAMPLES} resamples; ours have the longer "
        "tail on both sides, and differ by that",
        data=TABLES["178x13"],
        contenders=(
            Contender(
                "gramian.stability",
                ours,
                lambda X, result: Outcome(values=result.variance_intervals),
                ours=True,
            ),
            Contender("NumPy loop", loop, lambda X, result: Outcome(values=result[0])),
        ),
        reference=lambda X: loop(X, 10 * RESAMPLES)[0],
        errors=errors,
        ratio=STABILITY_LIMIT,
        repeats=15,
    )


def _import() -> TimedRow:
    def importing(name: str, statement: str, *, ours: bool = False) -> Contender:
        def run(_: None) -> None:
            subprocess.run([sys.executable, "-c", statement], check=True)

        return Contender(name, run, _no_outcome, ours=ours)

    return TimedRow(
        "everyday-import",
        "a process that imports PCA and ends",
        data=_nothing,
        contenders=(
            importing("gramian", "from gramian import PCA", ours=True),
            importing("scikit-learn", "from sklearn.decomposition import PCA"),
        ),
        reference=_nothing,
        errors=_no_errors,
        ratio=IMPORT_LIMIT,
        repeats=15,
    )


def _said(size: str) -> str:
    n, d = size.split("x")
    real = {"178x13": "the wine table", "569x30": "the breast cancer table", "1797x64": "the digits"}
    return f"{n} x {d} float64, {real.get(size, 'standard normal, seed 0')}"


def _nothing(*_: Any) -> None:
    return None


def _no_errors(*_: Any) -> dict[str, float]:
    return {}


def _no_outcome(*_: Any) -> Outcome:
    return Outcome()
