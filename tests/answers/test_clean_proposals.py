"""Exactly what is proposed for tables in which little or nothing is to be said, so that a change is seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import gramian


def said(X):
    """Return proposals in one line, columns to leave out by their reasons."""
    parts = []
    for one in gramian.propose(X):
        reason = one.evidence.get("reason", "")
        parts.append(f"{reason}:{one.value}" if one.option == "drop" else f"{one.option}={one.value}")
    return " ".join(parts)


def bundled():
    for name in ("iris", "wine", "breast_cancer", "diabetes", "linnerud"):
        loaded = getattr(datasets, f"load_{name}")(as_frame=True)
        yield name, loaded.frame
        yield f"{name}, array", loaded.data.to_numpy()
    yield "digits, array", datasets.load_digits().data
    yield "diabetes, raw", datasets.load_diabetes(scaled=False, as_frame=True).data
    yield "iris, centimetres", datasets.load_iris(as_frame=True).data


def statistics():
    more = pytest.importorskip("statsmodels.api").datasets
    for name in ("anes96", "cancer", "ccard", "china_smoking", "co2", "committee", "copper", "cpunish"):
        yield name, getattr(more, name).load_pandas().data
    for name in ("elnino", "engel", "fair", "grunfeld", "heart", "interest_inflation", "longley"):
        yield name, getattr(more, name).load_pandas().data
    for name in ("macrodata", "modechoice", "nile", "randhie", "scotland", "spector", "stackloss"):
        yield name, getattr(more, name).load_pandas().data
    for name in ("star98", "statecrime", "strikes", "sunspots"):
        yield name, getattr(more, name).load_pandas().data


def factors(n, d, k, seed, tails=0):
    g = np.random.default_rng(seed)

    def draw(*size):
        return g.standard_t(tails, size) if tails else g.standard_normal(size)

    return draw(n, k) * 3 * 0.7 ** np.arange(k) @ g.standard_normal((k, d)) / np.sqrt(k) + draw(n, d)


def drawn():
    shapes = [
        (40, 4, 1, 0),
        (100, 10, 2, 5),
        (500, 8, 2, 4),
        (60, 300, 3, 0),
        (1000, 50, 5, 0),
        (25, 12, 2, 0),
    ]
    for i, (n, d, k, tails) in enumerate([*shapes, (150, 3, 1, 0), (80, 40, 2, 6), (3000, 100, 6, 0)]):
        yield f"{k} factors, {n} x {d}", pd.DataFrame(factors(n, d, k, i, tails)).add_prefix("v")
    g, place = np.random.default_rng(50), np.linspace(0, 1, 120)
    peaks = np.exp(-((place - np.array([[0.2], [0.5], [0.8]])) ** 2) / 0.005)
    spectra = g.dirichlet([2, 2, 2], 70) @ peaks + 0.01 * g.standard_normal((70, 120))
    yield "spectra", pd.DataFrame(spectra, columns=[f"{900 + 10 * j} nm" for j in range(120)])
    yield "ratings", pd.DataFrame(g.integers(1, 6, (250, 10))).add_prefix("question ")
    yield "pixels", g.integers(0, 256, (100, 64)).astype(np.uint8)
    yield (
        "log incomes",
        pd.DataFrame(g.normal(10, 0.6, (400, 1)) + g.normal(0, 0.3, (400, 6))).add_prefix("y"),
    )
    yield "shares", pd.DataFrame(g.dirichlet([40, 30, 2, 1], 120), columns=list("abcd"))
    yield "blobs", datasets.make_blobs(90, 4, centers=3, random_state=0)[0]
    yield "uniform", pd.DataFrame(g.random((50, 5)), columns=list("abcde"))
    yield "random integers", pd.DataFrame(g.integers(0, 10_000, (60, 4)), columns=list("abcd"))
    yield "two integers", pd.DataFrame(g.integers(0, 10_000, (60, 2)), columns=list("ab"))
    yield "zeros and ones", pd.DataFrame(g.integers(0, 2, (60, 8))).add_prefix("has ")
    yield "ages", pd.DataFrame(g.integers(18, 90, (60, 3)), columns=["mother", "father", "child"])
    yield "ordered", pd.DataFrame({"t": np.arange(2.0, 62), "x": np.sin(np.arange(60)), "y": g.random(60)})
    yield "swiss roll", datasets.make_swiss_roll(200, random_state=0)[0]
    yield "expression", pd.DataFrame(g.gamma(4, 2, (40, 1)) + g.normal(0, 1, (40, 150))).add_prefix("TP")
    yield "one column", pd.DataFrame({"x": g.random(30)})
    yield "two rows", pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 5.0]})
    yield "sparse words", pd.DataFrame((g.random((80, 12)) < 0.1).astype(float)).add_prefix("word ")
    yield "angles", pd.DataFrame(g.uniform(-180, 180, (90, 5))).add_prefix("angle ")


EXPECTED = {  # nothing in all others
    "iris": "label=target",
    "wine": "label=target scale=unit",
    "wine, array": "scale=unit",
    "breast_cancer": "label=target scale=unit",
    "breast_cancer, array": "scale=unit",
    "diabetes": "scale=unit",
    "linnerud": "scale=unit",
    "linnerud, array": "scale=unit",
    "diabetes, raw": "label=sex scale=unit",
    "ordered": "id=t",
    "shares": "transform=clr",
    "anes96": "scale=unit",
    "cancer": "transform=log1p",
    "ccard": "scale=unit",
    "co2": "missing=drop-rows",
    "committee": "scale=unit",
    "copper": "counter:TIME scale=unit",
    "cpunish": "scale=unit",
    "elnino": "id=YEAR",
    "grunfeld": "label=firm date:year",
    "heart": "scale=unit",
    "interest_inflation": "date:year date:quarter",
    "longley": "id=YEAR scale=unit",
    "macrodata": "date:year date:quarter scale=unit",
    "modechoice": "scale=unit",
    "nile": "id=year",
    "randhie": "scale=unit",
    "scotland": "scale=unit",
    "spector": "scale=unit",
    "star98": "scale=unit",
    "statecrime": "scale=unit",
    "strikes": "scale=unit",
    "sunspots": "id=YEAR",
}


@pytest.mark.parametrize(("tables", "least"), [(bundled, 13), (drawn, 27), (statistics, 26)])
def test_nothing_but_this_is_proposed(tables, least):
    told = {name: said(X) for name, X in tables()}
    wrong = {name: got for name, got in told.items() if got != EXPECTED.get(name, "")}
    assert not wrong
    assert len(told) >= least


@pytest.mark.walk
def test_genes_spectra_and_wide_tables_of_shared_data(data_dir):
    for file, key, expected in (
        ("golub_leukemia_38x3051", "X", ""),
        ("nir_gasoline", "NIR", ""),
        ("multidrug_nci60", "compound", "holes:299 missing=em n_components=2"),
        ("celeba", "X", ""),
        ("cover", "X", "scale=unit"),
        ("donors", "X", ""),
    ):
        with np.load(data_dir / f"tables/{file}.npz", allow_pickle=False) as arrays:
            assert said(arrays[key][:20_000]) == expected, file
    assert said(data_dir / "tables/datasets_USArrests.csv") == "id=rownames scale=unit"
    assert said(data_dir / "tables/ISLR_NCI60.csv") == "id=rownames label=labs"
