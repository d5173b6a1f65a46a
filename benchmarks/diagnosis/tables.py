"""Tables with a known trap, and tables without one, for ``python benchmarks/diagnose.py``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from gramian import PCA, KernelPCA

SEED = int(os.environ.get("GRAMIAN_SEED", "0"))  # others draw other tables
DATA = Path(os.environ.get("GRAMIAN_TEST_DATA", "../shared/data"))


@dataclass(frozen=True)
class Case:
    """A table, an unfitted model, and what must and must not be found."""

    name: str
    X: Any
    model: Any
    must: tuple[str, ...] = ()
    labels: Any = None
    mended: Callable[[], tuple[Any, Any]] | None = None  # the model and table after the remedy
    serious: bool = field(default=False)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed + SEED)


def frame(X: Any, *names: str) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(names))


def factors(n: int, d: int, k: int, seed: int, noise: float = 1.0, tails: float = 0.0, strength: float = 3.0) -> Any:
    """Return rows of a factor model, columns of about one deviation."""
    g = rng(seed)
    draw = (lambda *s: g.standard_t(tails, s)) if tails else (lambda *s: g.standard_normal(s))
    weights = strength * 0.7 ** np.arange(k)
    return draw(n, k) * weights @ g.standard_normal((k, d)) / np.sqrt(k) + noise * draw(n, d)


def standardised(X: Any) -> Any:
    X = np.asarray(X, dtype=float)
    s = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(s > 0, s, 1)


def penguins() -> pd.DataFrame:
    import gramian

    table = pd.read_csv(Path(gramian.__file__).parent / "examples/penguins.csv")
    return table.select_dtypes("number").drop(columns=["year"], errors="ignore").dropna()


def gradient(n: int, species: int, seed: int, noise: float = 0.0) -> Any:
    """Return abundances of species with unimodal responses along one gradient."""
    g = rng(seed)
    x, best = g.uniform(0, 1, n), np.linspace(-0.1, 1.1, species)
    Y = np.exp(-((x[:, None] - best) ** 2) / (2 * 0.15**2))
    return Y + noise * g.standard_normal(Y.shape)


def traps() -> Iterator[Case]:
    wine, cancer, iris = datasets.load_wine(as_frame=True).data, datasets.load_breast_cancer(as_frame=True).data, datasets.load_iris(as_frame=True).data
    digits = datasets.load_digits().data
    unit = lambda X, k=3: (PCA(k, scale="unit"), X)  # noqa: E731
    # -- scale-dominates
    yield Case("wine as it is", wine, PCA(3), ("scale-dominates",), mended=lambda: unit(wine))
    yield Case("penguins, grams and millimetres", penguins(), PCA(3), ("scale-dominates",), mended=lambda: unit(penguins()))
    yield Case("breast cancer as it is", cancer, PCA(3), ("scale-dominates",), mended=lambda: unit(cancer))
    arrests = pd.read_csv(DATA / "tables/datasets_USArrests.csv", index_col=0)
    yield Case("USArrests as it is", arrests, PCA(2), ("scale-dominates",), mended=lambda: unit(arrests, 2))
    import statsmodels.api as sm

    macro = sm.datasets.macrodata.load_pandas().data.drop(columns=["year", "quarter"])
    yield Case("macrodata levels", macro, PCA(3), ("scale-dominates",), mended=lambda: unit(macro))
    longley = sm.datasets.longley.load_pandas().exog.drop(columns="YEAR")
    yield Case("longley", longley, PCA(2), ("scale-dominates",), mended=lambda: unit(longley, 2))
    g = rng(1)
    size = g.standard_normal(120)
    german = frame(
        np.column_stack([175 + 9 * (0.8 * size + 0.6 * g.standard_normal(120)), 76 + 14 * (0.7 * size + 0.7 * g.standard_normal(120)), g.uniform(18, 70, 120).round()]),
        *("groesse_cm", "gewicht_kg", "alter_jahre"),
    )
    yield Case("cm, kg, years", german, PCA(2), ("scale-dominates",), mended=lambda: unit(german, 2))
    mixed = frame(factors(200, 5, 2, 2) * [1, 40, 3, 900, 0.02], *("ph", "temp", "flow", "pressure", "leak"))
    yield Case("sensors in five units", mixed, PCA(2), ("scale-dominates",), mended=lambda: unit(mixed, 2))
    wide = frame(factors(300, 8, 2, 3) * np.geomspace(1, 3000, 8), *"abcdefgh")
    yield Case("deviations without a gap", wide, PCA(2), ("scale-dominates",), mended=lambda: unit(wide, 2))
    yield Case("rbf on grams and millimetres", penguins(), KernelPCA(3, kernel="rbf", gamma="median"), ("scale-dominates",), mended=lambda: (KernelPCA(3, kernel="rbf", gamma="median"), standardised(penguins())))
    yield Case("rbf on wine", wine, KernelPCA(3, kernel="rbf", gamma="median"), ("scale-dominates",), mended=lambda: (KernelPCA(3, kernel="rbf", gamma="median"), standardised(wine)))
    # -- widths
    yield Case("digits, default gamma", digits, KernelPCA(3, kernel="rbf"), ("kernel-narrow",), mended=lambda: (KernelPCA(3, kernel="rbf", gamma="median"), digits))
    yield Case("scaled wine, gamma 20", standardised(wine), KernelPCA(3, kernel="rbf", gamma=20), ("kernel-narrow",), mended=lambda: (KernelPCA(3, kernel="rbf", gamma="median"), standardised(wine)))
    moons = datasets.make_moons(200, noise=0.05, random_state=0)[0]
    yield Case("moons, gamma 1e5", moons, KernelPCA(2, kernel="rbf", gamma=1e5), ("kernel-narrow",), mended=lambda: (KernelPCA(2, kernel="rbf", gamma="median"), moons))
    genes = factors(60, 2000, 3, 4)
    yield Case("genes, gamma 1", genes, KernelPCA(3, kernel="rbf", gamma=1.0), ("kernel-narrow",), mended=lambda: (KernelPCA(3, kernel="rbf", gamma="median"), genes))
    yield Case("laplacian, gamma 50", standardised(iris), KernelPCA(3, kernel="laplacian", gamma=50), ("kernel-narrow",))
    yield Case("iris, gamma 1e-5", iris, KernelPCA(2, kernel="rbf", gamma=1e-5), ("kernel-wide",), mended=lambda: (KernelPCA(2, kernel="rbf", gamma="median"), iris))
    tiny = factors(150, 6, 2, 5) * 0.001
    yield Case("values of a thousandth, default gamma", tiny, KernelPCA(2, kernel="rbf"), ("kernel-wide",), mended=lambda: (KernelPCA(2, kernel="rbf", gamma="median"), tiny))
    # -- not separated, no signal
    g = rng(6)
    two = g.standard_normal((150, 6)) * [5, 5, 1, 1, 1, 1] @ np.linalg.qr(g.standard_normal((6, 6)))[0]
    yield Case("two equal components", two, PCA(2), ("not-separated",))
    three = rng(7).standard_normal((80, 3)) * [4.2, 4.0, 1.0] @ np.linalg.qr(rng(8).standard_normal((3, 3)))[0]
    yield Case("a disc in space", three, PCA(3), ("not-separated",))
    for i, (n, d, draw) in enumerate(
        [(100, 5, "normal"), (50, 20, "normal"), (30, 200, "normal"), (200, 10, "t"), (100, 8, "exponential"), (500, 40, "uniform"), (60, 6, "poisson"), (1000, 3, "normal")]
    ):
        g = rng(20 + i)
        X = {"normal": lambda: g.standard_normal((n, d)), "t": lambda: g.standard_t(4, (n, d)), "exponential": lambda: g.exponential(size=(n, d)), "uniform": lambda: g.uniform(size=(n, d)), "poisson": lambda: g.poisson(4, (n, d)).astype(float)}[draw]()
        yield Case(f"independent columns, {draw}, {n} x {d}", X, PCA(2), ("no-signal",))
    yield Case("independent columns of unequal deviations", rng(30).standard_normal((120, 6)) * [3, 2, 1.5, 1, 1, 1], PCA(2), ("no-signal",))
    # -- one row
    def outlier(n: int, d: int, seed: int, far: float) -> Any:
        X = factors(n, d, 2, seed)
        X[n // 3, : max(1, d // 2)] += far
        return X

    for n, d, far in ((60, 6, 80.0), (200, 10, 200.0), (1000, 5, 900.0), (20_000, 12, 9999.0)):
        X = outlier(n, d, 31, far)
        yield Case(f"one far row of {n}", X, PCA(2), ("one-row",), mended=lambda X=X, n=n: (PCA(2), np.delete(X, n // 3, axis=0)))
    sentinel = factors(80, 5, 2, 32)
    sentinel[7, 2] = -999
    yield Case("a code for missing, -999", sentinel, PCA(2), ("one-row",), mended=lambda: (PCA(2), np.delete(sentinel, 7, axis=0)))
    slip = factors(90, 4, 2, 33) + 20
    slip[11, 1] *= 100
    yield Case("a decimal point that slipped", slip, PCA(2, scale="unit"), ("one-row",), mended=lambda: (PCA(2, scale="unit"), np.delete(slip, 11, axis=0)))
    # -- order
    g = rng(34)
    drift = factors(200, 6, 1, 35) * 0.3 + np.linspace(-4, 4, 200)[:, None] * g.uniform(0.5, 1.5, 6)
    yield Case("a sensor that drifts", drift, PCA(2), ("row-order",))
    walk = np.cumsum(g.standard_normal((300, 2)), axis=0) @ g.standard_normal((2, 5)) + g.standard_normal((300, 5))
    yield Case("random walks", walk, PCA(2), ("row-order",))
    batch = factors(100, 8, 2, 36) + np.repeat([0, 6], 50)[:, None] * g.standard_normal(8)
    yield Case("two batches in sequence", batch, PCA(2), ("row-order",))
    long = np.zeros((30_000, 6))
    long[:, :3] = (np.cumsum(g.standard_normal((30_000, 1)), axis=0) / 30) * [1, 0.8, 0.5]
    yield Case("a slow drift of 30,000 rows", long + g.standard_normal((30_000, 6)), PCA(2), ("row-order",))
    # -- identifiers
    base = factors(120, 5, 2, 37)
    numbers = g.permutation(900_000)[:120] + 100_000.0
    with_id = frame(np.column_stack([numbers, base]), "patient", *"abcde")
    plain = frame(base, *"abcde")
    yield Case("a patient's number, PC1", with_id, PCA(2), ("identifier",), mended=lambda: (PCA(2), plain))
    yield Case("a patient's number, scaled", with_id, PCA(2, scale="unit"), ("identifier",), mended=lambda: (PCA(2, scale="unit"), plain))
    counter = frame(np.column_stack([np.arange(1.0, 121), base]), "Unnamed: 0", *"abcde")
    yield Case("a row counter", counter, PCA(2), ("identifier",), mended=lambda: (PCA(2), plain))
    seconds = frame(np.column_stack([1.6e9 + 60 * np.arange(120.0), base]), "t", *"abcde")
    yield Case("seconds since 1970", seconds, PCA(2), ("identifier",), mended=lambda: (PCA(2), plain))
    bar = frame(np.column_stack([base, g.permutation(5000)[:120] + 1000.0]), *"abcde", "sample_no")
    yield Case("a sample's number at the end", bar, PCA(3, scale="unit"), ("identifier",), mended=lambda: (PCA(3, scale="unit"), plain))
    # -- arch
    for n, species, noise in ((60, 12, 0.0), (150, 20, 0.02), (80, 30, 0.05), (400, 10, 0.03)):
        yield Case(f"a gradient of {species} species, {n} sites", gradient(n, species, 38, noise), PCA(2), ("arch",))
    # -- zeros, ties, size
    g = rng(39)
    dropped = np.exp(factors(200, 30, 2, 40, strength=0.5)) * (g.uniform(size=(200, 30)) < np.clip(0.5 + 0.45 * np.sign(g.standard_normal((200, 1))), 0, 1))
    yield Case("cells that were not caught", dropped, PCA(2), ("groups-of-zeros",))
    yield Case("the same, logarithms", np.log1p(dropped), PCA(2), ("groups-of-zeros",))
    blocks = np.zeros((90, 12))
    blocks[:45, :6] = 3 + 0.5 * g.standard_normal((45, 6))
    blocks[45:, 6:] = 3 + 0.5 * g.standard_normal((45, 6))
    yield Case("two groups with other columns zero", blocks, PCA(2), ("groups-of-zeros",))
    yield Case("each row five times", np.repeat(factors(30, 6, 2, 41), 5, axis=0)[g.permutation(150)], PCA(2), ("ties",), mended=lambda: (PCA(2), factors(30, 6, 2, 41)))
    yield Case("three answers of two questions", g.integers(1, 4, (100, 2)) + 0.0, PCA(2), ("ties",))
    body = 3 + 0.3 * g.standard_normal((100, 1)) + 0.05 * g.standard_normal((100, 6))
    yield Case("logarithms of body parts", body, PCA(2), ("size",))
    depth = np.log1p(g.poisson(np.exp(g.normal(3, 0.8, (120, 1)) + g.normal(0, 0.2, 25))))
    yield Case("logarithms of counts of unequal depth", depth, PCA(2), ("size",))
    # -- holes, few rows, labels
    holes = factors(120, 8, 2, 42)
    holes[g.uniform(size=holes.shape) < 0.35] = np.nan
    yield Case("35 % missing", holes, PCA(2, missing="em"), ("imputed",))
    column = factors(120, 8, 2, 43)
    column[g.uniform(size=120) < 0.6, 3] = np.nan
    yield Case("a column with 60 % missing", column, PCA(2, missing="em"), ("imputed",))
    yield Case("8 rows", factors(8, 20, 2, 44), PCA(3), ("few-rows",))
    yield Case("18 rows, 5 components", factors(18, 40, 2, 45), PCA(5), ("few-rows",))
    groups = np.repeat(["a", "b", "c"], 30)
    yield Case("groups measured on their own days", factors(90, 6, 2, 46), PCA(2), ("confounded",), labels=pd.DataFrame({"group": groups, "day": np.repeat([1, 2, 3], 30)}))


def clean() -> Iterator[Case]:
    wine, cancer, iris = datasets.load_wine(as_frame=True).data, datasets.load_breast_cancer(as_frame=True).data, datasets.load_iris(as_frame=True).data
    digits = datasets.load_digits().data
    import statsmodels.api as sm

    real = {
        "iris": (iris, PCA(2)),
        "iris scaled": (iris, PCA(2, scale="unit")),
        "wine scaled": (wine, PCA(3, scale="unit")),
        "breast cancer scaled": (cancer, PCA(3, scale="unit")),
        "digits": (digits, PCA(10)),
        "digits scaled": (digits, PCA(10, scale="unit")),
        "diabetes": (datasets.load_diabetes(as_frame=True).data, PCA(3)),
        "linnerud scaled": (datasets.load_linnerud(as_frame=True).data, PCA(2, scale="unit")),
        "penguins scaled": (penguins(), PCA(2, scale="unit")),
        "USArrests scaled": (pd.read_csv(DATA / "tables/datasets_USArrests.csv", index_col=0), PCA(2, scale="unit")),
        "macrodata scaled": (sm.datasets.macrodata.load_pandas().data.drop(columns=["year", "quarter"]), PCA(3, scale="unit")),
        "stackloss": (sm.datasets.stackloss.load_pandas().exog, PCA(2, scale="unit")),
        "crime scaled": (sm.datasets.statecrime.load_pandas().data, PCA(2, scale="unit")),
        "fair scaled": (sm.datasets.fair.load_pandas().data, PCA(3, scale="unit")),
        "anes scaled": (sm.datasets.anes96.load_pandas().data.drop(columns="popul"), PCA(3, scale="unit")),
        "star98 scaled": (sm.datasets.star98.load_pandas().exog.iloc[:, :12], PCA(3, scale="unit")),
        "ccard scaled": (sm.datasets.ccard.load_pandas().data, PCA(2, scale="unit")),
        "china smoking": (sm.datasets.china_smoking.load_pandas().data.select_dtypes("number"), PCA(2, scale="unit")),
        "engel scaled": (sm.datasets.engel.load_pandas().data, PCA(1, scale="unit")),
        "grunfeld scaled": (sm.datasets.grunfeld.load_pandas().data[["invest", "value", "capital"]], PCA(2, scale="unit")),
        "randhie scaled": (sm.datasets.randhie.load_pandas().data, PCA(3, scale="unit")),
        "scotland scaled": (sm.datasets.scotland.load_pandas().exog, PCA(2, scale="unit")),
        "spector scaled": (sm.datasets.spector.load_pandas().data, PCA(2, scale="unit")),
        "NCI60": (pd.read_csv(DATA / "tables/ISLR_NCI60.csv").select_dtypes("number"), PCA(5)),
        "gasoline spectra": (np.load(DATA / "tables/nir_gasoline.npz"), PCA(3)),
        "leukemia": (np.load(DATA / "tables/golub_leukemia_38x3051.npz"), PCA(3)),
        "oil flow": (np.loadtxt(DATA / "tables/oil_flow/DataTrn.txt"), PCA(3)),
        "turtles, logarithms": (np.log(pd.read_csv(DATA / "tables/tortues.csv").select_dtypes("number").iloc[:, -3:]), PCA(2)),
        "places scaled": (pd.read_csv(DATA / "tables/places.csv").select_dtypes("number").iloc[:, :9], PCA(2, scale="unit")),
    }
    import h5py

    with h5py.File(DATA / "digits/usps.h5") as file:
        real["usps"] = (file["train/data"][:3000], PCA(10))
    for name in ("cover", "shuttle"):
        real[f"{name} scaled"] = (np.load(DATA / f"tables/{name}.npz")["X"][:20_000], PCA(3, scale="unit"))
    for name, (X, model) in real.items():
        if hasattr(X, "files"):
            key = max(X.files, key=lambda one: np.asarray(X[one]).size if np.asarray(X[one]).dtype.kind == "f" else 0)
            X = np.asarray(X[key], dtype=float)
            X = X if X.shape[0] < X.shape[1] or name != "leukemia" else X.T
        yield Case(name, X, model)
    for i, (n, d, k, tails) in enumerate(
        [(40, 4, 1, 0), (100, 6, 2, 0), (100, 10, 2, 5), (200, 15, 3, 0), (500, 8, 2, 4), (60, 300, 3, 0), (30, 2000, 2, 0), (1000, 50, 5, 0), (5000, 20, 3, 5), (20_000, 30, 4, 0), (50, 5, 2, 0), (25, 12, 2, 0), (150, 3, 1, 0), (80, 40, 2, 6), (3000, 100, 6, 0)]
    ):
        yield Case(f"factors {n} x {d}", factors(n, d, k, 100 + i, tails=tails), PCA(k))
        if i % 3 == 0:
            yield Case(f"factors {n} x {d}, unit scale", factors(n, d, k, 200 + i, tails=tails) * rng(i).uniform(1, 50, d), PCA(k, scale="unit"))
    for i, (n, d, groups) in enumerate([(90, 4, 3), (300, 10, 4), (60, 50, 2), (1000, 6, 5)]):
        X, _ = datasets.make_blobs(n, d, centers=groups, random_state=i)
        yield Case(f"groups {n} x {d}", X, PCA(2))
        yield Case(f"groups {n} x {d}, rbf", X, KernelPCA(2, kernel="rbf", gamma="median"))
    t = np.linspace(0, 1, 120)
    peaks = np.exp(-((t - np.array([[0.2], [0.5], [0.8]])) ** 2) / 0.005)
    yield Case("spectra of three substances", rng(50).dirichlet([2, 2, 2], 70) @ peaks + 0.01 * rng(51).standard_normal((70, 120)), PCA(2))
    yield Case("rings, rbf", datasets.make_circles(300, factor=0.4, noise=0.05, random_state=0)[0], KernelPCA(3, kernel="rbf", gamma=3))
    yield Case("moons, rbf", datasets.make_moons(300, noise=0.05, random_state=0)[0], KernelPCA(3, kernel="rbf", gamma=5))
    yield Case("digits, rbf", digits, KernelPCA(5, kernel="rbf", gamma="median"))
    yield Case("iris, rbf", iris, KernelPCA(3, kernel="rbf"))
    yield Case("wine scaled, rbf", standardised(wine), KernelPCA(3, kernel="rbf", gamma="median"))
    yield Case("breast cancer scaled, default gamma", standardised(cancer), KernelPCA(3, kernel="rbf"))
    yield Case("iris, poly", standardised(iris), KernelPCA(3, kernel="poly", degree=2))
    yield Case("questions of five answers", np.clip(np.round(3 + 0.6 * factors(250, 10, 2, 60)), 1, 5), PCA(2))
    yield Case("logarithms of incomes", np.log(rng(61).lognormal(10, 0.6, (400, 1)) * rng(62).lognormal(0, 0.3, (400, 6))), PCA(2))
    yield Case("percentages of parts", 100 * rng(63).dirichlet([4, 3, 2, 1], 120) @ np.eye(4), PCA(2))
    faces = np.load(DATA / "faces/extended_yale_b_cropped_u8.npz")["X"][:300, ::8, ::8].astype(float)
    yield Case("faces", faces.reshape(300, -1), PCA(10))
