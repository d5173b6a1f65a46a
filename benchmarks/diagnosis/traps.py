"""Tables whose answer misleads, with the finding that must say so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn import datasets

from diagnosis.case import DATA, MEDIAN, Case, factors, frame, gradient, penguins, rng, standardised
from gramian import PCA, KernelPCA


def traps() -> Iterator[Case]:
    for tables in (units, widths, sample, rows, identifiers, shapes, labels):
        yield from tables()


def units() -> Iterator[Case]:
    code = "scale-dominates"
    arrests = pd.read_csv(DATA / "tables/datasets_USArrests.csv", index_col=0)
    size, g = rng(1).standard_normal(120), rng(11)
    parts = 0.8 * size + 0.6 * g.standard_normal(120), 0.7 * size + 0.7 * g.standard_normal(120)
    people = np.column_stack([175 + 9 * parts[0], 76 + 14 * parts[1], g.uniform(18, 70, 120).round()])
    tables = {
        "wine": datasets.load_wine(as_frame=True).data,
        "penguins in grams and millimetres": penguins(),
        "breast cancer": datasets.load_breast_cancer(as_frame=True).data,
        "USArrests": arrests,
        "cm, kg, years": frame(people, "groesse_cm", "gewicht_kg", "alter_jahre"),
        "sensors in five units": frame(
            factors(200, 5, 2, 2) * [1, 40, 3, 900, 0.02], "ph", "temp", "flow", "pressure", "leak"
        ),
        "deviations without a gap": frame(factors(300, 8, 2, 3) * np.geomspace(1, 3000, 8), *"abcdefgh"),
    }
    try:
        from statsmodels.api import datasets as more
    except ImportError:
        print("(statsmodels is not installed: fewer tables)")
    else:
        macro = more.macrodata.load_pandas().data.drop(columns=["year", "quarter"])
        tables |= {"macrodata": macro, "longley": more.longley.load_pandas().exog.drop(columns="YEAR")}
    for name, table in tables.items():
        yield Case(f"{name} as it is", table, PCA(2), code, (PCA(2, scale="unit"), table))
    for name in ("wine", "penguins in grams and millimetres"):
        after = KernelPCA(3, **MEDIAN), standardised(tables[name])
        yield Case(f"{name}, rbf", tables[name], KernelPCA(3, **MEDIAN), code, after)


def widths() -> Iterator[Case]:
    digits = datasets.load_digits().data
    wine, iris = standardised(datasets.load_wine().data), datasets.load_iris().data
    moons = datasets.make_moons(200, noise=0.05, random_state=0)[0]
    genes, small = factors(60, 2000, 3, 4), factors(150, 6, 2, 5) * 0.001
    for name, X, kernel, code in (
        ("digits, default gamma", digits, {"kernel": "rbf"}, "kernel-narrow"),
        ("scaled wine, gamma 20", wine, {"kernel": "rbf", "gamma": 20}, "kernel-narrow"),
        ("moons, gamma 1e5", moons, {"kernel": "rbf", "gamma": 1e5}, "kernel-narrow"),
        ("genes, gamma 1", genes, {"kernel": "rbf", "gamma": 1.0}, "kernel-narrow"),
        ("scaled iris, laplacian, gamma 50", iris, {"kernel": "laplacian", "gamma": 50}, "kernel-narrow"),
        ("iris, gamma 1e-5", iris, {"kernel": "rbf", "gamma": 1e-5}, "kernel-wide"),
        ("values of a thousandth, default gamma", small, {"kernel": "rbf"}, "kernel-wide"),
    ):
        yield Case(name, X, KernelPCA(2, **kernel), code, (KernelPCA(2, **MEDIAN), X))


def sample() -> Iterator[Case]:
    g = rng(20)
    for name, X in {
        "normal, 100 x 5": g.standard_normal((100, 5)),
        "normal, 50 x 20": g.standard_normal((50, 20)),
        "normal, 30 x 200": g.standard_normal((30, 200)),
        "normal, 1000 x 3": g.standard_normal((1000, 3)),
        "Student's t, 200 x 10": g.standard_t(4, (200, 10)),
        "exponential, 100 x 8": g.exponential(size=(100, 8)),
        "uniform, 500 x 40": g.uniform(size=(500, 40)),
        "counts, 60 x 6": g.poisson(4, (60, 6)).astype(float),
        "unequal deviations, 120 x 6": g.standard_normal((120, 6)) * [3, 2, 1.5, 1, 1, 1],
    }.items():
        yield Case(f"independent columns, {name}", X, PCA(2), "no-signal")
    X = factors(100, 12, 2, 46)
    distances = np.linalg.norm(X[:20, None] - X[:20], axis=2)
    for name, matrix in ("correlations", np.corrcoef(X.T)), ("distances", distances), ("products", X @ X.T):
        yield Case(f"a matrix of {name}", matrix, PCA(2), "symmetric")
    yield Case("8 rows", factors(8, 20, 2, 44), PCA(3), "few-rows")
    yield Case("18 rows, 5 components", factors(18, 40, 2, 45), PCA(5), "few-rows")
    holes, column = factors(120, 12, 2, 42), factors(120, 8, 2, 43)
    holes[g.uniform(size=holes.shape) < 0.35] = np.nan
    column[g.uniform(size=120) < 0.6, 3] = np.nan
    yield Case("35 % missing", holes, PCA(2, missing="em"), "imputed")
    yield Case("a column with 60 % missing", column, PCA(2, missing="em"), "imputed")


def rows() -> Iterator[Case]:
    for n, d, far in ((60, 6, 80.0), (200, 10, 200.0), (1000, 5, 900.0), (20_000, 12, 9999.0)):
        X = factors(n, d, 2, 31)
        X[n // 3, : d // 2] += far
        after = PCA(2), np.delete(X, n // 3, axis=0)
        yield Case(f"one far row of {n:,}", X, PCA(2), "one-row", after)
    X = factors(80, 5, 2, 32)
    X[7, 2] = -999
    yield Case("a code for missing, -999", X, PCA(2), "one-row", (PCA(2), np.delete(X, 7, axis=0)))
    X = factors(90, 4, 2, 33) + 20
    X[11, 1] = 2100
    after = PCA(2, scale="unit"), np.delete(X, 11, axis=0)
    yield Case("a decimal point that slipped", X, PCA(2, scale="unit"), "one-row", after)
    X = factors(30, 6, 2, 41)
    yield Case("each row five times", np.repeat(X, 5, axis=0), PCA(2), "ties", (PCA(2), X))
    yield Case("three answers, two questions", rng(42).integers(1, 4, (100, 2)) + 0.0, PCA(2), "ties")
    g = rng(34)
    drift = 0.3 * factors(200, 6, 1, 35) + np.linspace(-4, 4, 200)[:, None] * g.uniform(0.5, 1.5, 6)
    yield Case("a sensor that drifts", drift, PCA(2), "row-order")
    walk = np.cumsum(g.standard_normal((300, 2)), axis=0) @ g.standard_normal((2, 5))
    yield Case("random walks", walk + g.standard_normal((300, 5)), PCA(2), "row-order")
    batch = factors(100, 8, 2, 36) + np.repeat([0, 6], 50)[:, None] * g.standard_normal(8)
    yield Case("two batches in sequence", batch, PCA(2), "row-order")
    slow = g.standard_normal((30_000, 6))
    slow[:, :3] += np.cumsum(g.standard_normal((30_000, 1)), axis=0) / 30 * [1, 0.8, 0.5]
    yield Case("a slow drift of 30,000 rows", slow, PCA(2), "row-order")


def identifiers() -> Iterator[Case]:
    X, g = factors(120, 5, 2, 37), rng(38)
    plain = frame(X, *"abcde")
    numbers = {
        "patient": g.permutation(900_000)[:120] + 100_000.0,
        "Unnamed: 0": np.arange(1.0, 121),
        "seconds": 1.6e9 + 60 * np.arange(120.0),
        "sample_no": g.permutation(5000)[:120] + 1000.0,
    }
    for name, column in numbers.items():
        table = frame(np.column_stack([column, X]), name, *"abcde")
        for scale in (None, "unit"):
            model = PCA(3, scale=scale)
            yield Case(f"column {name}, scale={scale}", table, model, "identifier", (model, plain))


def shapes() -> Iterator[Case]:
    for n, species, noise in ((60, 12, 0.0), (150, 20, 0.02), (80, 30, 0.05), (400, 10, 0.03)):
        yield Case(f"a gradient, {n} x {species}", gradient(n, species, 39, noise), PCA(2), "arch")
    g = rng(40)
    body = 3 + 0.3 * g.standard_normal((100, 1)) + 0.05 * g.standard_normal((100, 6))
    yield Case("logarithms of body parts", body, PCA(2), "size")
    depth = g.poisson(np.exp(g.normal(3, 0.8, (120, 1)) + g.normal(0, 0.2, 25)))
    yield Case("logarithms of counts of unequal depth", np.log1p(depth), PCA(2), "size")


def labels() -> Iterator[Case]:
    X = factors(90, 6, 2, 46)
    group, day = np.repeat(["a", "b", "c"], 30), np.repeat(["mon", "tue", "wed"], 30)
    crossed = np.tile(["mon", "tue", "wed"], 30)
    after = PCA(2), X
    for name, other in (("group and day", day), ("group and place", np.repeat([7, 8, 9], 30))):
        table = pd.DataFrame({"group": group, "other": other})
        yield Case(f"{name} coincide", X, PCA(2), "confounded", after, table)
    yield Case("group and day are crossed", X, PCA(2), labels=pd.DataFrame({"a": group, "b": crossed}))
