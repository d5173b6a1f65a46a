"""Suite ``monitoring``: false alarms on normal rows that no method has seen, compared with the request."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import generators
import numpy as np
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.preprocessing import StandardScaler

from gramian import PCA, Monitor

ALPHAS = (0.05, 0.01)
SENSORS, STATES = 20, 4


@dataclass(frozen=True)
class Split:
    """Normal rows to fit on, other normal rows, and rows that are not normal."""

    fit: FloatArray
    normal: FloatArray
    odd: FloatArray


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    return [row for alpha in ALPHAS for row in (_shuttle(alpha, quick), _process(alpha, quick))]


def _shuttle(alpha: float, quick: bool) -> TimedRow:
    def data() -> Split:
        with np.load(generators.data_folder() / "tables" / "shuttle.npz") as archive:
            X, y = archive["X"].astype(np.float64), archive["y"]
        normal, odd = X[y == 0], X[y == 1]
        normal = normal[: 8000 if quick else None]
        half = len(normal) // 2
        return Split(normal[:half], normal[half:], odd)

    about = (
        "45,586 normal rows of the shuttle table, 9 columns: fitted on the first half, alarms in the second"
    )
    return _row(f"shuttle-{alpha}", alpha, f"{about}; 3,511 anomalies; 3 components", 3, data, _no_shuttle)


def _process(alpha: float, quick: bool) -> TimedRow:
    n, new = (2000, 5000) if quick else (5000, 100_000)

    def data() -> Split:
        normal = process(new, 1)
        odd = normal[:2000].copy()
        odd[:, 3] += 4 * normal[:, 3].std()
        return Split(process(n, 2), normal, odd)

    about = (
        f"{n:,} and {new:,} rows of a process: 4 states, x_t = 0.9 x_(t-1) + Student t with 5 degrees of "
        "freedom, times normal loadings (seed 0) to 20 sensors, whose noise has 0.5 in place of 0.9; seeds 2 "
        "and 1; a sensor shifted by 4 standard deviations; 4 components"
    )
    return _row(f"process-{alpha}", alpha, about, STATES, data, lambda: "")


def process(n: int, seed: int) -> FloatArray:
    """Correlated sensors that remember: neither independent nor normal."""
    loadings = np.random.default_rng(0).normal(size=(STATES, SENSORS))
    rng, start = np.random.default_rng(seed), 200
    states, noise = (rng.standard_t(5, size=(n + start, width)) for width in (STATES, SENSORS))
    for t in range(1, n + start):
        states[t] += 0.9 * states[t - 1]
        noise[t] += 0.5 * noise[t - 1]
    result: FloatArray = (states @ loadings + noise)[start:]
    return result


def _no_shuttle() -> str:
    path = generators.data_folder() / "tables" / "shuttle.npz"
    return "" if path.is_file() else f"no {path.name} in {path.parent}; set GRAMIAN_TEST_DATA"


def _row(
    name: str, alpha: float, about: str, k: int, data: Callable[[], Split], requires: Callable[[], str]
) -> TimedRow:
    def monitor(limit: str) -> Callable[[Split], Any]:
        return lambda split: Monitor(PCA(k, scale="unit"), alpha=alpha, limit=limit).fit(split.fit).predict

    def peer(make: Callable[[], Any]) -> Callable[[Split], Any]:
        def fit(split: Split) -> Any:
            scaler = StandardScaler().fit(split.fit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of EllipticEnvelope, one for each start
                model = make().fit(scaler.transform(split.fit))
            return lambda rows: model.predict(scaler.transform(rows))

        return fit

    def outcome(split: Split, predict: Any) -> Outcome:
        rate, caught = (float(np.mean(predict(rows) == -1)) for rows in (split.normal, split.odd))
        note = f"{100 * rate:.2f} % false alarms, {100 * caught:.1f} % of the others found"
        return Outcome(values=np.array([rate]), note=note)

    def errors(reference: float, outcome: Outcome) -> dict[str, float]:
        assert outcome.values is not None
        rate = max(float(outcome.values[0]), 1e-9)
        return {"factor": max(rate / reference, reference / rate)}

    envelope = peer(lambda: EllipticEnvelope(contamination=alpha, random_state=0))
    forest = peer(lambda: IsolationForest(contamination=alpha, random_state=0))
    return TimedRow(
        f"alarms-{name}",
        f"{about}; {100 * alpha:g} % false alarms requested, within a factor of 2",
        data=data,
        contenders=(
            Contender("gramian.Monitor", monitor("empirical"), outcome, ours=True),
            Contender("gramian.Monitor limit=theory", monitor("theory"), outcome),
            Contender("EllipticEnvelope", envelope, outcome),
            Contender("IsolationForest", forest, outcome),
        ),
        reference=lambda split: alpha,
        errors=errors,
        tolerances={"factor": 2.0},
        repeats=1,
        warm=False,
        requires=requires,
    )
