"""Traps and clean tables as they occur in many fields: blood, weather, genes, surveys, sensors, markets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn import datasets

from diagnosis.case import MEDIAN, QUIET, Case, frame, rng, standardised
from gramian import PCA, KernelPCA
from gramian.kernels import Matern, RationalQuadratic

SERIOUS = ("scale-dominates", "kernel-narrow", "kernel-wide", "no-signal", "one-row", "confounded")
UNIT, PLAIN = PCA(2, scale="unit"), PCA(2)


def fields() -> Iterator[Case]:
    for tables in (
        units,
        kernels,
        chance,
        rows,
        order,
        identifiers,
        gradients,
        copies,
        levels,
        groups,
        clean,
    ):
        yield from tables()


def some(g: np.random.Generator, n: int, d: int, k: int = 2, strength: float = 2.0) -> Any:
    scores = g.standard_normal((n, k)) * strength * 0.75 ** np.arange(k)
    return scores @ g.standard_normal((k, d)) / np.sqrt(k) + g.standard_normal((n, d))


def trap(code: str, name: str, X: Any, model: Any = PLAIN, **more: Any) -> Case:
    return Case(name, X, model, code, **more)


def units() -> Iterator[Case]:
    g, code = rng(201), "scale-dominates"
    z = standardised(some(g, 150, 6, 1))
    blood = frame(z[:, :4] * [1.2, 20, 40, 60e3] + [14, 95, 190, 250e3], "hb", "glucose", "chol", "platelets")
    cars = frame(z[:, :4] * [7, 35, 800, 3] + [23, 100, 2900, 15], "mpg", "hp", "weight", "accel")
    body = frame(z[:, :3] * [9, 13, 10] + [172, 74, 90], "height (cm)", "weight (kg)", "waist (cm)")
    X = some(g, 150, 5) * [1, 1, 1, 1, 700]
    for name, table, model in (
        ("blood", blood, PLAIN),
        ("cars", cars, PLAIN),
        ("body in cm and kg", body, PLAIN),
        ("diabetes in its units", datasets.load_diabetes(scaled=False).data, PLAIN),
        ("metabolites over decades", np.exp(some(g, 60, 40) * 0.4 + g.uniform(0, 12, 40)), PLAIN),
        ("whitened", X, PCA(2, whiten=True)),
        ("one component", X, PCA(1)),
        ("pareto is not enough", some(g, 100, 6) * [1, 1, 1, 1, 1, 3000], PCA(2, scale="pareto")),
        ("float32", X.astype(np.float32), PLAIN),
        ("5,000 rows", some(g, 5000, 12) * np.r_[np.ones(10), 300, 1000], PLAIN),
    ):
        yield trap(code, f"units: {name}", table, model, mended=(PCA(2, scale="unit"), table))
    for name, kernel in {
        "laplacian": {"kernel": "laplacian", "gamma": "median"},
        "matern": {"kernel": Matern(length_scale="median")},
        "poly": {"kernel": "poly", "degree": 2},
        "cosine": {"kernel": "cosine"},
        "linear": {"kernel": "linear"},
        "rbf, gamma scale": {"kernel": "rbf", "gamma": "scale"},
        "nystroem": {**MEDIAN, "solver": "nystroem", "n_landmarks": 60},
    }.items():
        yield trap(
            code,
            f"units: {name}",
            X,
            KernelPCA(2, **kernel),
            mended=(KernelPCA(2, **kernel), standardised(X)),
        )


def kernels() -> Iterator[Case]:
    g = rng(202)
    X, many = standardised(some(g, 200, 10, 3)), standardised(some(g, 3000, 10, 3))
    gamma, of_many = (0.5 / float(np.median(pdist(one[:500]))) ** 2 for one in (X, many))
    for code, name, table, kernel in (
        ("kernel-narrow", "rbf", X, {"kernel": "rbf", "gamma": 30 * gamma}),
        ("kernel-narrow", "laplacian", X, {"kernel": "laplacian", "gamma": 10}),
        ("kernel-narrow", "matern", X, {"kernel": Matern(length_scale=0.05)}),
        ("kernel-narrow", "rational quadratic", X, {"kernel": RationalQuadratic(0.03, alpha=3.0)}),
        ("kernel-narrow", "3,000 rows", many, {"kernel": "rbf", "gamma": 30 * of_many}),
        ("kernel-narrow", "15 rows", X[:15], {"kernel": "rbf", "gamma": 50}),
        ("kernel-wide", "rbf", X, {"kernel": "rbf", "gamma": 1e-5}),
        ("kernel-wide", "laplacian", X, {"kernel": "laplacian", "gamma": 1e-4}),
        ("kernel-wide", "matern", X, {"kernel": Matern(length_scale=1e3, nu=2.5)}),
        ("kernel-wide", "rational quadratic", X, {"kernel": RationalQuadratic(length_scale=1e3)}),
    ):
        never = ({"kernel-narrow", "kernel-wide"} - {code}).pop()
        mended = KernelPCA(2, **MEDIAN), table
        yield trap(code, f"{name}: {code}", table, KernelPCA(3, **kernel), never=(never,), mended=mended)
    for name, kernel in {
        "rbf": MEDIAN,
        "laplacian": {"kernel": "laplacian", "gamma": "median"},
        "matern": {"kernel": Matern(length_scale="median")},
        "cosine": {"kernel": "cosine"},
        "default gamma": {"kernel": "rbf"},
    }.items():
        for n, d in ((60, 4), (300, 12)):
            table = standardised(some(g, n, d, 3))
            yield Case(f"factors {n} x {d}, {name}", table, KernelPCA(2, **kernel), never=SERIOUS)


def chance() -> Iterator[Case]:
    g, never = rng(203), ("one-row", "identifier", "arch", "size")
    iris, wine = (load().data for load in (datasets.load_iris, datasets.load_wine))
    for name, X, model in (
        ("lognormal", g.lognormal(size=(80, 10)), UNIT),
        ("Student's t", g.standard_t(2.5, (150, 6)), UNIT),
        ("0 and 1", (g.random((100, 20)) < 0.3) * 1.0, PLAIN),
        ("20 x 6", g.standard_normal((20, 6)), PLAIN),
        ("5,000 x 30", g.standard_normal((5000, 30)), PLAIN),
        ("40 x 1,000", g.standard_normal((40, 1000)), PLAIN),
        ("answers 1 to 5", g.integers(1, 6, (200, 12)) * 1.0, UNIT),
        ("iris, columns shuffled", np.column_stack([g.permutation(x) for x in iris.T]), UNIT),
        ("wine, columns shuffled", np.column_stack([g.permutation(x) for x in wine.T]), UNIT),
        ("counts of genes", g.negative_binomial(2, 0.1, (40, 300)) * 1.0, UNIT),
        ("zero-inflated", g.poisson(3, (150, 12)) * (g.random((150, 12)) < 0.4) * 1.0, UNIT),
    ):
        yield trap("no-signal", f"chance: {name}", X, model, never=never)


def rows() -> Iterator[Case]:
    g, code, never = rng(204), "one-row", ("scale-dominates",)
    for n in (12, 20, 40, 150, 800, 5000):
        X = some(g, n, 6)
        X[n // 2] += 40 * np.sqrt(n / 50) * np.array([1, -1, 1, 1, -1, 1])
        yield trap(code, f"a wild row of {n:,}", X, never=never, mended=(PLAIN, np.delete(X, n // 2, axis=0)))
        X = some(g, n, 6)
        X[n // 3, 2] += 100 * np.sqrt(n / 20)
        yield trap(
            code, f"a wild entry of {n:,}", X, never=never, mended=(PLAIN, np.delete(X, n // 3, axis=0))
        )
    for name, value in {"zeros": 0.0, "99999": 99999.0}.items():
        X = some(g, 100, 8) + 50
        X[17] = value
        yield trap(code, f"a row of {name}", X, never=never, mended=(PLAIN, np.delete(X, 17, axis=0)))
    X = standardised(some(g, 100, 5))
    X[5] = 60
    yield trap(code, "a wild row, poly", X, KernelPCA(2, kernel="poly", degree=2))
    for name, X in {
        "t of 3, 200 x 8": some(g, 200, 8) + g.standard_t(3, (200, 8)),
        "laplace, 100 x 5": some(g, 100, 5) + g.laplace(size=(100, 5)),
        "t of 3, 1,000 x 10": some(g, 1000, 10) + g.standard_t(3, (1000, 10)),
    }.items():
        yield Case(f"heavy tails, {name}", X, UNIT, never=("one-row", *QUIET))


def order() -> Iterator[Case]:
    g, code, n = rng(205), "row-order", 150
    step = some(g, n, 8, 1, 1.0)
    step[100:] += 3 * g.standard_normal(8)
    walk = np.zeros((400, 5))
    for t in range(1, 400):
        walk[t] = 0.8 * walk[t - 1] + g.standard_normal(5) + g.standard_normal()
    seasons = 3 * np.sin(np.arange(240) * 2 * np.pi / 24)[:, None] * g.standard_normal(6)
    sizes = g.uniform(0.5, 1, 8) * g.choice([-1, 1], 8)
    X = some(g, 120, 6)
    for name, table, model in (
        ("a modest drift", some(g, n, 8, 1, 1.0) + np.linspace(-2, 2, n)[:, None] * sizes, PLAIN),
        ("another instrument from row 100 on", step, PLAIN),
        ("seasons", some(g, 240, 6, 1, 0.7) + seasons, PLAIN),
        ("autocorrelated", walk, PLAIN),
        ("sorted by a column", X[np.argsort(X[:, 0])], UNIT),
        ("a drift of 20,000", some(g, 20_000, 8) + np.linspace(-4, 4, 20_000)[:, None] * sizes, PLAIN),
        (
            "a drift, rbf",
            standardised(some(g, n, 6, 1, 1.0) + np.linspace(-3, 3, n)[:, None]),
            KernelPCA(2, **MEDIAN),
        ),
    ):
        yield trap(code, f"order: {name}", table, model)
        mixed = table[rng(0).permutation(len(table))]
        yield Case(f"shuffled: {name}", mixed, model, never=(code,))


def identifiers() -> Iterator[Case]:
    g, code = rng(206), "identifier"

    def among(column: Any, name: str = "a", n: int = 100) -> pd.DataFrame:
        X = some(g, n, 5)
        return frame(np.column_stack([X[:, :2], column, X[:, 2:]]), "p", "q", name, *"xyz")

    dates = pd.date_range("2021-01-03", periods=100, freq="3D").strftime("%Y%m%d").astype(float)
    for name, table, never in (
        ("1 to n shuffled", among(g.permutation(100) + 1.0), ("scale-dominates",)),
        ("0 to 29 shuffled", among(g.permutation(30) * 1.0, n=30), ()),
        ("ascending with gaps", among(np.cumsum(g.integers(1, 9, 100)) + 1000.0), ("scale-dominates",)),
        ("of two sites", among(np.r_[1001:1051, 2001:2051] * 1.0), ("scale-dominates",)),
        ("of two sites, shuffled", among(g.permutation(np.r_[1001:1051, 2001:2051]) * 1.0, "ID"), ()),
        ("hours in seconds", among(1.7e9 + 3600 * np.arange(100) + 0.5), ("scale-dominates",)),
        ("days with fractions", among(18262 + np.arange(100) / 24), ()),
        ("barcodes", among(g.integers(10**11, 10**12, 100) * 1.0, "barcode"), ("scale-dominates",)),
        ("counted down", among(np.arange(100.0, 0, -1)), ("scale-dominates",)),
        ("20240131", among(dates, "date"), ("scale-dominates",)),
        ("20,000 rows", among(np.arange(20_000.0), n=20_000), ("scale-dominates",)),
    ):
        left = table.drop(columns=table.columns[2])
        yield trap(code, f"identifier: {name}", table, PLAIN, never=never, mended=(PLAIN, left))
        yield trap(code, f"identifier: {name}, scaled", table, UNIT, never=never, mended=(UNIT, left))
    for name, column in {
        "salaries": np.exp(g.normal(10.5, 0.4, 100)).round(),
        "counts": g.poisson(500, 100) * 1.0,
        "points of 1,000": g.normal(500, 120, 100).round(),
        "ages": g.integers(18, 80, 100) * 1.0,
    }.items():
        yield Case(f"whole, but measured: {name}", among(column), UNIT, never=(code, *SERIOUS))


def gradients() -> Iterator[Case]:
    g, code = rng(207), "arch"

    def along(n: int, species: int, width: float, noise: float) -> Any:
        place, best = g.uniform(0, 1, n), g.uniform(-0.2, 1.2, species)
        A = g.uniform(0.5, 1.5, species) * np.exp(-((place[:, None] - best) ** 2) / (2 * width**2))
        return A + noise * g.standard_normal(A.shape)

    place = np.sort(g.uniform(0, 1, 200))
    for name, X, model in (
        ("wide", along(120, 25, 0.25, 0.1), PLAIN),
        ("narrow", along(150, 40, 0.15, 0.02), PLAIN),
        ("scaled", along(90, 25, 0.25, 0.02), UNIT),
        ("counts", np.sqrt(g.poisson(15 * along(100, 40, 0.2, 0).clip(0))), PLAIN),
        ("answers of rising difficulty", (place[:, None] > np.linspace(0.05, 0.95, 15)) * 1.0, PLAIN),
    ):
        yield trap(code, f"gradient: {name}", X, model)
    for k in (3, 4):
        X = np.repeat(g.standard_normal((k, 6)) * 5, 40, axis=0) + g.standard_normal((40 * k, 6))
        yield Case(f"{k} groups are no arch", g.permutation(X), PLAIN, never=QUIET)
    skewed = g.exponential(size=(200, 2)) @ np.abs(g.standard_normal((2, 6))) + 0.2 * g.standard_normal(
        (200, 6)
    )
    yield Case("two skewed factors are no arch", skewed, PLAIN, never=QUIET)


def copies() -> Iterator[Case]:
    g = rng(208)
    X = some(g, 20, 6)
    yield trap(
        "ties", "each row 8 times, shuffled", g.permutation(np.repeat(X, 8, axis=0)), mended=(PLAIN, X)
    )
    yield trap("ties", "1,500 rows, each thrice", np.repeat(some(g, 500, 6), 3, axis=0))
    yield trap("ties", "10 kinds of 2,000 rows", some(g, 10, 4)[g.integers(0, 10, 2000)])
    for name, share, columns, how, must in (
        ("26 % missing, iterative", 0.26, slice(None), "iterative", "imputed"),
        ("30 % missing, means", 0.3, slice(None), "mean", "imputed"),
        ("half of a column missing", 0.5, slice(3, 4), "em", "imputed"),
        ("3 % missing", 0.03, slice(None), "em", ""),
        ("8 % missing, means", 0.08, slice(None), "mean", ""),
    ):
        X = some(g, 150, 10)
        X[:, columns][g.random(X[:, columns].shape) < share] = np.nan
        yield Case(name, X, PCA(2, missing=how), must, never=() if must else ("imputed", *QUIET))


def levels() -> Iterator[Case]:
    g, code = rng(209), "size"
    size = g.normal(0, 0.3, (90, 1))
    body = np.exp(size * [1, 1.1, 0.9, 1.0] + 0.05 * g.standard_normal((90, 4)))
    depth = np.exp(g.normal(0, 0.7, (80, 1)))
    reads = g.poisson(depth * g.gamma(5, 6, (1, 50)) * g.gamma(30, 1 / 30, (80, 50))) * 1.0
    shares = reads / reads.sum(axis=1, keepdims=True)
    yield trap(code, "size: bodies", body * [150, 60, 120, 40])
    yield trap(code, "size: depth of reads", reads, mended=(PLAIN, shares))
    yield trap(code, "size: depth of reads, scaled", reads, UNIT, mended=(UNIT, shares))
    yield trap(code, "size: raters", 3 + g.normal(0, 1, (100, 1)) + 0.4 * g.standard_normal((100, 8)))
    contrast = g.standard_normal((100, 1)) * np.repeat([1, -1], 4) + 0.4 * g.standard_normal((100, 8))
    yield Case("a contrast is no size", contrast, PLAIN, never=(code, *QUIET))


def groups() -> Iterator[Case]:
    g, code = rng(210), "confounded"
    X, half, quarters = some(g, 96, 6), np.repeat(["ctl", "case"], 48), np.repeat([1, 2, 3, 4], 24)
    days = np.repeat(["mo", "tu"], 48)
    holes = np.where(np.arange(96) % 10 == 0, None, days.astype(object))
    for name, labels, must in (
        ("plates", {"treatment": np.repeat(list("abcd"), 24), "plate": quarters}, code),
        ("batches inside of groups", {"group": half, "batch": quarters}, code),
        ("a third kind crosses", {"sex": np.tile(["m", "f"], 48), "group": half, "day": days}, code),
        ("three exceptions", {"group": half, "day": np.r_[days[:-3], days[:3]]}, code),
        ("missing labels", {"group": half, "day": holes}, code),
        ("crossed", {"group": half, "day": np.tile(["mo", "tu"], 48)}, ""),
        (
            "70 and 30 %",
            {"group": half, "day": np.where(g.random(96) < np.repeat([0.3, 0.7], 48), "mo", "tu")},
            "",
        ),
        ("names of rows", {"group": half, "name": np.arange(96).astype(str)}, ""),
    ):
        yield Case(f"labels: {name}", X, PLAIN, must, labels=labels, never=() if must else (code,))
    for n, k in ((6, 2), (9, 1), (24, 5), (40, 10)):
        yield trap("few-rows", f"{n} rows, {counted_components(k)}", some(g, n, 30), PCA(k))
    yield trap("few-rows", "8 rows, rbf", standardised(some(g, 8, 5)), KernelPCA(2, **MEDIAN))


def counted_components(k: int) -> str:
    return f"{k} component{'s' if k > 1 else ''}"


def clean() -> Iterator[Case]:
    g, place = rng(211), np.linspace(0, 1, 300)

    def peaks(count: int, width: float) -> Any:
        return np.exp(-((place - g.random((count, 1))) ** 2) / (2 * width**2)) * g.uniform(0.2, 5, (count, 1))

    shares = np.exp(some(g, 150, 6, 2, 1.0) * 0.5)
    shares /= shares.sum(axis=1, keepdims=True)
    topics = g.random((400, 2)) @ (g.random((2, 200)) < 0.15)
    alleles = g.binomial(2, np.clip(np.repeat(g.beta(1, 1, (3, 400)), 40, axis=0), 0.05, 0.95)) * 1.0
    spending = np.exp(0.3 * some(g, 200, 6, 1, 1.0)) * [400, 900, 60, 120, 200, 80]
    names = [f"{name}_eur" for name in ("food", "rent", "books", "travel", "car", "toys")]
    market = 0.01 * (g.standard_t(4, (500, 1)) * g.uniform(0.5, 1.5, 10) + g.standard_t(4, (500, 10)))
    answers = np.clip(np.round(3 + 0.8 * some(g, 300, 10, 2, 1.5)), 1, 5)
    expression = np.repeat(g.standard_normal((3, 1500)) * 0.7, 15, axis=0) + g.standard_normal((45, 1500))
    for name, X, model, never in (
        (
            "spectra",
            g.dirichlet([2, 2, 2, 2], 80) @ peaks(4, 0.03) + 0.005 * g.standard_normal((80, 300)),
            PLAIN,
            QUIET,
        ),
        (
            "narrow peaks",
            g.lognormal(0, 0.3, (60, 4)) @ peaks(4, 0.01) + 0.01 * g.standard_normal((60, 300)),
            PLAIN,
            QUIET,
        ),
        ("shares", shares, PLAIN, QUIET),
        ("log-ratios of shares", np.log(shares) - np.log(shares).mean(axis=1, keepdims=True), PLAIN, QUIET),
        ("answers 1 to 5", answers, PLAIN, QUIET),
        ("answers 1 to 7, scaled", np.clip(np.round(4 + some(g, 300, 12)), 1, 7), UNIT, QUIET),
        ("genes, 60 x 6,830", some(g, 60, 6830, 4, 1.0), PCA(3), QUIET),
        ("logarithms of genes", expression + g.uniform(4, 12, 1500), PLAIN, ()),
        (
            "logarithms of counts",
            np.log1p(g.poisson(np.exp(3 + 0.6 * some(g, 100, 50, 2, 1.0)))),
            PLAIN,
            QUIET,
        ),
        (
            "sparse counts of words",
            sparse.csr_matrix(g.poisson(topics) * 1.0),
            PLAIN,
            ("identifier", "row-order"),
        ),
        ("returns", market, PLAIN, QUIET),
        ("allele counts", alleles, PCA(2, scale="genotype"), ()),
        ("spending in one currency", pd.DataFrame(spending, columns=names), PLAIN, QUIET),
        ("marks of exams", np.clip(55 + 12 * some(g, 88, 5, 1, 1.0), 0, 100).round(), PLAIN, QUIET),
        ("pareto", some(g, 80, 30) * np.exp(g.normal(0, 0.7, 30)), PCA(2, scale="pareto"), QUIET),
        ("whitened", some(g, 80, 10), PCA(2, whiten=True), QUIET),
        ("one component", some(g, 80, 5, 1), PCA(1), QUIET),
    ):
        yield Case(f"clean: {name}", X, model, never=never)
    for n, d, k in (
        (50, 8, 2),
        (120, 12, 3),
        (300, 6, 2),
        (700, 25, 4),
        (1500, 60, 5),
        (10_000, 15, 3),
        (40, 80, 2),
    ):
        X = some(g, n, d, k)
        yield Case(f"clean: {k} factors, {n:,} x {d}", X, PCA(k), never=QUIET)
        scaled = X * np.exp(g.normal(0, 4, d))
        yield Case(f"clean: in any units, scaled, {n:,} x {d}", scaled, PCA(k, scale="unit"), never=QUIET)
