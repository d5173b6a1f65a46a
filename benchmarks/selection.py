"""Suite ``selection``: choosing features, beside scikit-learn's functions and selectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow
from scipy.special import digamma
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.feature_selection import SequentialFeatureSelector as PeerSelector
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale
from sklearn.tree import DecisionTreeClassifier

import gramian

NEIGHBORS = 3
SAMPLED = 3  # columns whose values are compared with the definition
FOLDS = 5


@dataclass(frozen=True)
class Labelled:
    """Rows and their labels."""

    X: FloatArray
    y: Any


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    return [
        _information("mi-tall", *((2000, 20) if quick else (20_000, 100)), classes=True, ratio=0.25),
        _information("mi-wide", *((200, 500) if quick else (2000, 10_000)), classes=True, ratio=0.25),
        _information("mi-tall-numbers", *((2000, 20) if quick else (20_000, 100)), classes=False, ratio=0.7),
        _forward_ridge(quick),
        _forward(quick, "forward-logistic", LogisticRegression()),
        _forward(quick, "forward-neighbors", KNeighborsClassifier()),
        _forward(quick, "forward-tree", DecisionTreeClassifier(random_state=0)),
    ]


# --------------------------------------------------------- mutual information


def _information(name: str, n: int, d: int, *, classes: bool, ratio: float) -> TimedRow:
    peer = mutual_info_classif if classes else mutual_info_regression

    def data() -> Labelled:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d))
        y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(n)
        return Labelled(X, np.digitize(y, [0, 1.5]) if classes else y)

    def ours(data: Labelled) -> Any:
        return gramian.mutual_information(data.X, data.y, random_state=0).values

    def peers(data: Labelled) -> Any:
        return peer(data.X, data.y, random_state=0, n_jobs=2)

    return TimedRow(
        name,
        f"{n:,} x {d:,} float64 standard normal, seed 0; label of "
        f"{'three classes' if classes else 'numbers'} from two of the columns; 3 neighbours, random_state 0",
        data=data,
        contenders=(
            Contender("gramian.mutual_information", ours, _values, ours=True),
            Contender(f"{peer.__name__} n_jobs=2", peers, _values),
        ),
        reference=_ross if classes else _kraskov,
        errors=lambda exact, outcome: {"value": float(np.abs(outcome.values[: len(exact)] - exact).max())},
        tolerances={"value": 1e-6},
        ratio=ratio,
        repeats=3,
        warm=False,
    )


def _values(state: Any, result: Any) -> Outcome:
    return Outcome(values=np.asarray(result))


def _noisy(data: Labelled, *, label: bool) -> tuple[FloatArray, FloatArray]:
    """Columns and label as scikit-learn scales them and adds noise to them."""
    rng = np.random.RandomState(0)
    scaled = scale(data.X, with_mean=False)
    scaled += 1e-10 * np.maximum(1, np.abs(scaled).mean(axis=0)) * rng.standard_normal(scaled.shape)
    y = data.y
    if label:
        y = scale(y, with_mean=False)
        y += 1e-10 * max(1, np.abs(y).mean()) * rng.standard_normal(len(y))
    return scaled[:, :SAMPLED], y


def _ross(data: Labelled) -> FloatArray:
    """The estimate of Ross (2014) for some columns, row by row."""
    X, y = _noisy(data, label=False)
    n = len(y)
    values = np.zeros(X.shape[1])
    for j, x in enumerate(X.T):
        for i in range(n):
            apart = np.abs(x - x[i])
            own = apart[y == y[i]]
            # The smallest is the row itself.
            reach = np.partition(own, NEIGHBORS)[NEIGHBORS]
            values[j] += digamma(NEIGHBORS) - digamma(len(own)) - digamma(np.sum(apart < reach))
    return np.maximum(digamma(n) + values / n, 0)


def _kraskov(data: Labelled) -> FloatArray:
    """Algorithm 1 of Kraskov, Stoegbauer and Grassberger (2004) for some columns, row by row."""
    X, y = _noisy(data, label=True)
    n = len(y)
    values = np.zeros(X.shape[1])
    for j, x in enumerate(X.T):
        for i in range(n):
            dx, dy = np.abs(x - x[i]), np.abs(y - y[i])
            reach = np.partition(np.maximum(dx, dy), NEIGHBORS)[NEIGHBORS]
            values[j] -= digamma(np.sum(dx < reach)) + digamma(np.sum(dy < reach))
    return np.maximum(digamma(n) + digamma(NEIGHBORS) + values / n, 0)


# ----------------------------------------------------------- forward selection


def _forward_ridge(quick: bool) -> TimedRow:
    n, d, kept = (500, 30, 5) if quick else (5000, 200, 20)

    def data() -> Labelled:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d)) @ np.linalg.cholesky(0.5 * np.eye(d) + 0.5)
        return Labelled(X, X[:, : 2 * kept] @ rng.standard_normal(2 * kept) + 5 * rng.standard_normal(n))

    return TimedRow(
        "forward-ridge",
        f"forward selection of {kept} of {d} features of {n:,} rows, equicorrelated normal, seed 0; Ridge(), "
        "cv=5, R^2; peers: SequentialFeatureSelector of scikit-learn, and of mlxtend with --slow",
        data=data,
        contenders=_selectors(Ridge(), kept, slow_jobs=True),
        reference=lambda data: _ridge_by_definition(data, kept),
        errors=_different,
        tolerances={"features": 0.0},
        ratio=0.1,
        repeats=3,
        warm=False,
    )


def _forward(quick: bool, name: str, estimator: Any) -> TimedRow:
    kept = 2 if quick else 5

    def data() -> Labelled:
        X, y = load_breast_cancer(return_X_y=True)
        return Labelled(scale(X), y)

    return TimedRow(
        name,
        f"forward selection of {kept} of 30 standardised features of scikit-learn's breast cancer data, 569 "
        f"rows; {type(estimator).__name__}, cv=5, accuracy; peers: SequentialFeatureSelector of scikit-learn "
        "and of mlxtend",
        data=data,
        contenders=_selectors(estimator, kept),
        reference=lambda data: _greedy(data, estimator, kept),
        errors=_different,
        tolerances={"features": 0.0},
        ratio=1.0,
        repeats=3,
        warm=False,
    )


def _selectors(estimator: Any, kept: int, *, slow_jobs: bool = False) -> tuple[Contender, ...]:
    def ours(data: Labelled, jobs: int | None) -> Any:
        chosen = gramian.SequentialFeatureSelector(
            clone(estimator), n_features_to_select=kept, cv=FOLDS, n_jobs=jobs
        )
        return chosen.fit(data.X, data.y)

    def peer(data: Labelled, jobs: int | None) -> Any:
        chosen = PeerSelector(clone(estimator), n_features_to_select=kept, cv=FOLDS, n_jobs=jobs)
        return chosen.fit(data.X, data.y)

    def mlxtend(data: Labelled) -> Any:
        from mlxtend.feature_selection import SequentialFeatureSelector

        chosen = SequentialFeatureSelector(clone(estimator), k_features=kept, cv=FOLDS)
        return chosen.fit(data.X, data.y)

    def chosen(data: Labelled, selector: Any) -> Outcome:
        return Outcome(values=np.isin(np.arange(data.X.shape[1]), selector.k_feature_idx_).astype(np.float64))

    return (
        Contender(
            "gramian.SequentialFeatureSelector n_jobs=2", lambda data: ours(data, 2), _support, ours=True
        ),
        Contender("SequentialFeatureSelector", lambda data: peer(data, None), _support),
        Contender("SequentialFeatureSelector n_jobs=2", lambda data: peer(data, 2), _support, slow=slow_jobs),
        Contender("mlxtend", mlxtend, chosen, slow=slow_jobs, requires="mlxtend"),
    )


def _support(state: Any, selector: Any) -> Outcome:
    return Outcome(values=selector.get_support().astype(np.float64))


def _different(expected: FloatArray, outcome: Outcome) -> dict[str, float]:
    values = np.zeros(0) if outcome.values is None else outcome.values
    return {"features": float(np.sum(values != expected))}


def _ridge_by_definition(data: Labelled, kept: int) -> FloatArray:
    """Forward selection with Ridge(1), every candidate by its normal equations."""
    parts = []
    for train, test in KFold(FOLDS).split(data.X):
        center, origin = data.X[train].mean(axis=0), data.y[train].mean()
        A, B = data.X[train] - center, data.X[test] - center
        y = data.y[test]
        G = A.T @ A + np.eye(A.shape[1])
        parts.append((G, A.T @ (data.y[train] - origin), B, y - origin, np.sum((y - y.mean()) ** 2)))

    def score(columns: list[int]) -> float:
        total = 0.0
        for G, b, B, y, spread in parts:
            w = np.linalg.solve(G[np.ix_(columns, columns)], b[columns])
            total += 1 - np.sum((y - B[:, columns] @ w) ** 2) / spread
        return total / len(parts)

    return _forwards(data.X.shape[1], kept, score)


def _greedy(data: Labelled, estimator: Any, kept: int) -> FloatArray:
    """Forward selection, every candidate by cross_val_score."""
    return _forwards(
        data.X.shape[1],
        kept,
        lambda columns: float(cross_val_score(clone(estimator), data.X[:, columns], data.y, cv=FOLDS).mean()),
    )


def _forwards(d: int, kept: int, score: Any) -> FloatArray:
    chosen: list[int] = []
    while len(chosen) < kept:
        others = [j for j in range(d) if j not in chosen]
        # Of equal scores the first.
        best = max(others, key=lambda j: (round(score(sorted([*chosen, j])), 12), -j))
        chosen.append(best)
    return np.isin(np.arange(d), chosen).astype(np.float64)
