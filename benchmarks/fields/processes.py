"""Field ``processes``: monitoring by T2 and SPE, next to the textbook's on scikit-learn's PCA."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import generators
import numpy as np
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow
from scipy import stats
from sklearn.decomposition import PCA as PeerPCA
from sklearn.preprocessing import StandardScaler

from gramian import PCA, Monitor

ALPHA, K = 0.01, 5
EXAMPLE = Path(__file__).parents[2] / "examples" / "processes.py"


@dataclass(frozen=True)
class Textbook:
    """T2 with the F limit, SPE with the limit of Jackson and Mudholkar."""

    scaler: Any
    directions: FloatArray
    variances: FloatArray
    limits: tuple[float, float]

    @classmethod
    def of(cls, X: FloatArray) -> Textbook:
        """Fit to normal rows; each limit has half of the false alarms."""
        scaler = StandardScaler().fit(X)
        pca, n, level = PeerPCA().fit(scaler.transform(X)), len(X), 1 - ALPHA / 2
        left = pca.explained_variance_[K:]
        one, two, three = (float(np.sum(left**power)) for power in (1, 2, 3))
        h, z = 1 - 2 * one * three / (3 * two**2), stats.norm.ppf(level)
        inside = 1 + z * np.sqrt(2 * two) * h / one + two * h * (h - 1) / one**2
        of_t2 = K * (n - 1) * (n + 1) / (n * (n - K)) * stats.f.ppf(level, K, n - K)
        limits = float(of_t2), float(one * inside ** (1 / h))
        return cls(scaler, pca.components_[:K], pca.explained_variance_[:K], limits)

    def statistics(self, X: FloatArray) -> FloatArray:
        """Return T2 and SPE of new rows, shape (2, n)."""
        C = self.scaler.transform(X)
        scores = C @ self.directions.T
        residuals = C - scores @ self.directions
        return np.stack([(scores**2 / self.variances).sum(axis=1), (residuals**2).sum(axis=1)])

    def predict(self, X: FloatArray) -> FloatArray:
        """Return -1 for alarms, and 1."""
        t2, spe = self.statistics(X)
        return np.where((t2 > self.limits[0]) | (spe > self.limits[1]), -1.0, 1.0)


def rows(quick: bool) -> list[Row]:
    """Return the rows."""
    return [*(_alarms(n, quick) for n in (200, 500, 2000)), _speed(quick)]


def plant() -> Any:
    """Return the generator of ``examples/processes.py``."""
    spec = spec_from_file_location("processes_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.plant


def _alarms(n: int, quick: bool) -> TimedRow:
    """Mean share of false alarms over several plants' records, on later rows."""
    tables, later = (3, 2000) if quick else (20, 5000)

    def data() -> list[tuple[FloatArray, FloatArray]]:
        make = plant()
        records = [make(n + later, seed).to_numpy() for seed in range(tables)]
        return [(record[:n], record[n:]) for record in records]

    def shares(fit: Callable[[FloatArray], Any]) -> Callable[[Any], FloatArray]:
        return lambda records: np.array([np.mean(fit(X).predict(new) == -1) for X, new in records])

    def outcome(records: Any, found: FloatArray) -> Outcome:
        rate, worst = float(found.mean()), float(found.max())
        note = f"{100 * rate:.2f} % false alarms, {100 * worst:.1f} % at the worst of {len(found)} records"
        return Outcome(values=np.array([rate]), note=note)

    def errors(reference: float, found: Outcome) -> dict[str, float]:
        assert found.values is not None
        rate = max(float(found.values[0]), 1e-9)
        return {"factor": max(rate / reference, reference / rate)}

    ours = shares(lambda X: Monitor(PCA(K, scale="unit"), alpha=ALPHA).fit(X))
    return TimedRow(
        f"processes-alarms-{n}",
        f"{tables} records of the plant of examples/processes.py, seeds 0, 1, ...: {K} components of {n:,} "
        f"normal rows of 14 columns, alarms in the {later:,} rows after them; 1 % requested, within a factor "
        "of 2",
        data=data,
        contenders=(
            Contender("gramian.Monitor", ours, outcome, ours=True),
            Contender("F and Jackson-Mudholkar", shares(Textbook.of), outcome),
        ),
        reference=lambda records: ALPHA,
        errors=errors,
        tolerances={"factor": 2.0},
        repeats=1,
        warm=False,
    )


def _speed(quick: bool) -> TimedRow:
    n, d = (5000, 20) if quick else (200_000, 50)

    def data() -> tuple[Any, Any, FloatArray]:
        X = generators.normal(n, d, 0)
        fit = X[:2000]
        return Monitor(PCA(K, scale="unit")).fit(fit), Textbook.of(fit), X

    def ours(state: Any) -> FloatArray:
        table = state[0].statistics(state[2])
        return np.stack([table["T2"], table["SPE"]])

    def outcome(state: Any, found: Any) -> Outcome:
        return Outcome(values=np.asarray(found))

    def errors(reference: FloatArray, found: Outcome) -> dict[str, float]:
        assert found.values is not None
        return {"statistic": float(np.max(np.abs(found.values / reference - 1)))}

    return TimedRow(
        "processes-statistics",
        f"T2 and SPE of {n:,} new rows of {d} columns, {K} components of 2,000 rows; ours with alarms, "
        "contributors and events, the peer T2 and SPE alone",
        data=data,
        contenders=(
            Contender("gramian.Monitor", ours, outcome, ours=True),
            Contender("NumPy", lambda state: state[1].statistics(state[2]), outcome),
        ),
        reference=lambda state: state[1].statistics(state[2]),
        # The scaler of scikit-learn divides by n, ours by n - 1.
        errors=errors,
        tolerances={"statistic": 2e-3},
        ratio=2.5,
        repeats=3,
    )
