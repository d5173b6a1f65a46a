"""Rows of the suite ``scale`` about kernel PCA of many rows: landmarks beside scikit-learn's two steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import generators
import numpy as np
import numpy.typing as npt
from harness.rows import Contender, Outcome, Row
from harness.timing import TimedRow
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem

import gramian

COLUMNS, COMPONENTS = 50, 10
GAMMA = 1 / COLUMNS
SHARES = (0.975, 0.0225, 0.002, 0.0004, 0.0001)  # of the rows that clusters have
SPREAD = 0.02  # within a cluster; their centres are standard normal, ten apart


def rows(quick: bool) -> list[Row]:
    """Every row, at full or at quick size."""
    n, m = (3000, 100) if quick else (200_000, 1000)
    return [
        _normal("nystroem-200k-uniform", "uniform", n, m, 0.45),
        _normal("nystroem-200k-rpcholesky", "rpcholesky", n, m, 0.7),
        _clusters("nystroem-clusters", n, m // 5),
        _table("cover", m, quick),
        replace(_table("donors", m, quick), slow=not quick),
    ]


def clusters(n: int, seed: int) -> npt.NDArray[np.float32]:
    """Clusters of unequal size, float32."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((len(SHARES), COLUMNS))
    labels = rng.choice(len(SHARES), size=n, p=np.array(SHARES) / sum(SHARES))
    return (centres[labels] + SPREAD * rng.standard_normal((n, COLUMNS))).astype(np.float32)


def ours(rule: str, m: int, name: str = "gramian.KernelPCA") -> Contender:
    def run(X: Any) -> Any:
        settings: dict[str, Any] = {"kernel": "rbf", "gamma": GAMMA, "solver": "nystroem", "random_state": 0}
        return gramian.KernelPCA(COMPONENTS, n_landmarks=m, landmarks=rule, **settings).fit(X)

    def outcome(X: Any, model: Any) -> Outcome:
        known = model.certificate_.approximation
        share = known.unexplained / known.total
        values = np.array([*model.eigenvalues_, share])
        note = f"{model.plan_.arithmetic}, {100 * share:.3g} % unexplained"
        return Outcome(values, certificate=model.certificate_.ok, note=note, predicted=model.plan_.seconds)

    return Contender(name, run, outcome, ours=True)


def peer(m: int) -> Contender:
    def run(X: Any) -> Any:
        features = Nystroem(gamma=GAMMA, n_components=m, random_state=0)
        return features, PCA(COMPONENTS, random_state=0).fit(features.fit_transform(X))

    def outcome(X: Any, models: Any) -> Outcome:
        features, pca = models
        parts = (features.transform(X[start : start + 5000]) for start in range(0, len(X), 5000))
        share = 1.0 - sum(float(np.sum(part * part, dtype=np.float64)) for part in parts) / len(X)
        values = np.array([*pca.explained_variance_ * (len(X) - 1), share])
        return Outcome(values, note=f"{100 * share:.3g} % unexplained")

    return Contender("Nystroem + PCA", run, outcome)


def _normal(name: str, rule: str, n: int, m: int, ratio: float) -> TimedRow:
    def reference(X: Any) -> Any:
        # From below, as all projections: of more landmarks.
        return (
            ours("uniform", min((3 if len(X) <= 200_000 else 2) * m, len(X)))
            .run(X.astype(np.float64))
            .eigenvalues_
        )

    def errors(reference: Any, outcome: Outcome) -> dict[str, float]:
        assert outcome.values is not None
        return {"eigenvalue": float(np.abs(outcome.values[:-1] - reference).max() / reference[0])}

    return TimedRow(
        name,
        f"fit, {m} landmarks ({rule}), RBF gamma=1/50 on {n:,} x 50 float32 standard normal, seed 0, 10 "
        "components; errors are against three times as many landmarks in float64",
        data=lambda: generators.normal(n, COLUMNS, 0, "float32"),
        contenders=(ours(rule, m), peer(m)),
        reference=reference,
        errors=errors,
        ratio=ratio,
        repeats=3,
    )


def _table_file(name: str) -> Path:
    return generators.faces_file().parents[1] / "tables" / f"{name}.npz"


def _table(name: str, m: int, quick: bool) -> TimedRow:
    def data() -> Any:
        X = np.load(_table_file(name))["X"].astype(np.float64)
        X = X[:: 100 if quick else 1]
        return ((X - X.mean(axis=0)) / (X.std(axis=0) + (X.std(axis=0) == 0))).astype(np.float32)

    def requires() -> str:
        return "" if _table_file(name).is_file() else f"no {_table_file(name)}; set GRAMIAN_TEST_DATA"

    return replace(
        _normal(f"nystroem-{name}", "rpcholesky", 0, m, 0.7),
        about=(
            f"fit, {m} landmarks (rpcholesky), RBF gamma=1/50 on the standardised table {name}, float32, 10 "
            "components; errors are against twice as many landmarks in float64"
        ),
        data=data,
        requires=requires,
    )


def _clusters(name: str, n: int, m: int) -> TimedRow:
    def uniform(X: Any) -> Any:
        results = [ours("uniform", m).outcome(X, ours("uniform", m).run(X)).values]
        return results[0][-1]

    def errors(reference: Any, outcome: Outcome) -> dict[str, float]:
        assert outcome.values is not None
        return {"unexplained / uniform's": float(outcome.values[-1] / reference)}

    return TimedRow(
        name,
        f"fit, {m} landmarks (rpcholesky), RBF gamma=1/50 on {n:,} x 50 float32 in five clusters with shares "
        f"{', '.join(map(str, SHARES))}, seed 1, 10 components",
        data=lambda: clusters(n, 1),
        contenders=(ours("rpcholesky", m), peer(m)),
        reference=uniform,
        errors=errors,
        tolerances={"unexplained / uniform's": 0.2},
        repeats=3,
    )
