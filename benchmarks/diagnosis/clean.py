"""Tables in whose answer nothing serious misleads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from diagnosis.case import DATA, MEDIAN, QUIET, Case, factors, penguins, rng, standardised
from gramian import PCA, KernelPCA


def clean() -> Iterator[Case]:
    for tables in (known, statistics, vega, shared, drawn, kernels):
        yield from tables()


def known() -> Iterator[Case]:
    iris, digits = datasets.load_iris(as_frame=True).data, datasets.load_digits().data
    scaled = {
        "wine": datasets.load_wine(as_frame=True).data,
        "breast cancer": datasets.load_breast_cancer(as_frame=True).data,
        "linnerud": datasets.load_linnerud(as_frame=True).data,
        "penguins": penguins(),
        "iris": iris,
        "digits": digits,
    }
    for name, X in scaled.items():
        yield Case(f"{name}, scaled", X, PCA(2, scale="unit"))
    for name, X in {"iris": iris, "digits": digits, "diabetes": datasets.load_diabetes().data}.items():
        yield Case(name, X, PCA(3))


def statistics() -> Iterator[Case]:
    try:
        from statsmodels.api import datasets as more
    except ImportError:
        print("(statsmodels is not installed: fewer tables)")
        return
    left_out = {"macrodata": ["year", "quarter"], "anes96": ["popul"]}
    for name in (
        *("macrodata", "stackloss", "statecrime", "fair", "anes96", "star98", "ccard", "engel"),
        *("grunfeld", "randhie", "scotland", "spector", "china_smoking"),
    ):
        table = getattr(more, name).load_pandas().data.select_dtypes("number").iloc[:, :14]
        table = table.drop(columns=[*left_out.get(name, []), *(c for c in table if str(c).lower() == "year")])
        yield Case(f"{name}, scaled", table, PCA(2, scale="unit"))


def vega() -> Iterator[Case]:
    try:
        from vega_datasets import local_data as more
    except ImportError:
        print("(vega_datasets is not installed: fewer tables)")
        return
    for name in (
        "anscombe",
        "cars",
        "crimea",
        "ohlc",
        "seattle_weather",
        "us_employment",
        "wheat",
        "airports",
    ):
        table = getattr(more, name)().select_dtypes("number").drop(columns="year", errors="ignore").dropna()
        yield Case(f"vega {name}, scaled", table.astype(float), PCA(2, scale="unit"))
    yield Case("vega iris", more.iris().select_dtypes("number"), PCA(2))


def shared() -> Iterator[Case]:
    turtles = pd.read_csv(DATA / "tables/tortues.csv")
    tables: dict[str, Any] = {
        "NCI60": pd.read_csv(DATA / "tables/ISLR_NCI60.csv").select_dtypes("number"),
        "oil flow": np.loadtxt(DATA / "tables/oil_flow/DataTrn.txt"),
        "logarithms of turtles": np.log(turtles.select_dtypes("number").iloc[:, -3:]),
    }
    for name, file in {"leukemia": "golub_leukemia_38x3051", "gasoline spectra": "nir_gasoline"}.items():
        arrays = np.load(DATA / f"tables/{file}.npz", allow_pickle=False)
        largest = max((arrays[key] for key in arrays.files), key=lambda one: one.size)
        tables[name] = largest if largest.shape[0] < largest.shape[1] else largest.T
    faces = np.load(DATA / "faces/extended_yale_b_cropped_u8.npz")["X"][:300, ::8, ::8].astype(float)
    for name, X in {**tables, "faces": faces.reshape(300, -1)}.items():
        yield Case(name, X, PCA(3))
    for name in ("cover", "shuttle"):
        X = np.load(DATA / f"tables/{name}.npz")["X"][:20_000]
        yield Case(f"{name}, scaled", X, PCA(3, scale="unit"))
    arrests = pd.read_csv(DATA / "tables/datasets_USArrests.csv", index_col=0)
    yield Case("USArrests, scaled", arrests, PCA(2, scale="unit"))
    places = pd.read_csv(DATA / "tables/places.csv").select_dtypes("number").iloc[:, :9]
    yield Case("places, scaled", places, PCA(2, scale="unit"))


SHAPES = (  # rows, columns, components, degrees of freedom of Student's t; 0: normal
    *((40, 4, 1, 0), (100, 6, 2, 0), (100, 10, 2, 5), (200, 15, 3, 0), (500, 8, 2, 4)),
    *((60, 300, 3, 0), (30, 2000, 2, 0), (1000, 50, 5, 0), (5000, 20, 3, 5), (20_000, 30, 4, 0)),
    *((50, 5, 2, 0), (25, 12, 2, 0), (150, 3, 1, 0), (80, 40, 2, 6), (3000, 100, 6, 0)),
)


def drawn() -> Iterator[Case]:
    for i, (n, d, k, tails) in enumerate(SHAPES):
        X = factors(n, d, k, 100 + i, tails=tails)
        yield Case(f"{k} factors, {n:,} x {d:,}", X, PCA(k), never=QUIET)
        if i % 3 == 0:
            model = PCA(k, scale="unit")
            yield Case(f"the same in other units, scaled, {i}", X * rng(i).uniform(1, 50, d), model)
    g, place = rng(50), np.linspace(0, 1, 120)
    peaks = np.exp(-((place - np.array([[0.2], [0.5], [0.8]])) ** 2) / 0.005)
    spectra = g.dirichlet([2, 2, 2], 70) @ peaks + 0.01 * g.standard_normal((70, 120))
    yield Case("spectra of three substances", spectra, PCA(2))
    answers = np.clip(np.round(3 + 0.6 * factors(250, 10, 2, 60)), 1, 5)
    yield Case("ten questions of five answers", answers, PCA(2))
    incomes = g.normal(10, 0.6, (400, 1)) + g.normal(0, 0.3, (400, 6))
    yield Case("logarithms of incomes", incomes, PCA(2))
    yield Case("shares of four parts", g.dirichlet([4, 3, 2, 1], 120), PCA(2))
    for i, (n, d, groups) in enumerate(((90, 4, 3), (300, 10, 4), (60, 50, 2), (1000, 6, 5))):
        X = datasets.make_blobs(n, d, centers=groups, random_state=i)[0]
        yield Case(f"{groups} groups, {n:,} x {d}", X, PCA(2))
        yield Case(f"{groups} groups, {n:,} x {d}, rbf", X, KernelPCA(2, **MEDIAN))


def kernels() -> Iterator[Case]:
    iris = datasets.load_iris().data
    cancer, wine = (standardised(load().data) for load in (datasets.load_breast_cancer, datasets.load_wine))
    rings = datasets.make_circles(300, factor=0.4, noise=0.05, random_state=0)[0]
    moons = datasets.make_moons(300, noise=0.05, random_state=0)[0]
    for name, X, kernel in (
        ("rings, rbf, gamma 3", rings, {"kernel": "rbf", "gamma": 3}),
        ("moons, rbf, gamma 5", moons, {"kernel": "rbf", "gamma": 5}),
        ("digits, rbf of the median", datasets.load_digits().data, MEDIAN),
        ("iris, rbf, default gamma", iris, {"kernel": "rbf"}),
        ("wine scaled, rbf of the median", wine, MEDIAN),
        ("breast cancer scaled, rbf, default gamma", cancer, {"kernel": "rbf"}),
        ("iris scaled, poly", standardised(iris), {"kernel": "poly", "degree": 2}),
    ):
        yield Case(name, X, KernelPCA(3, **kernel))
