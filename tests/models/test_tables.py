"""Tables of rows and columns, against FactoMineR's printed numbers and against the definitions."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import gramian
import gramian.statistics.candidates as frames
from gramian import PCA, KernelPCA, Whitener, load
from gramian.errors import DataError, IndefiniteKernelWarning, ParameterError
from helpers import spectrum_matrix

EVENTS = 10
# What summary(PCA(decathlon, quanti.sup=11:12, quali.sup=13)) of FactoMineR prints for Dim.1 to Dim.3;
# contributions are in percent. The data are results of two meetings of 2004, and come with FactoMineR.
INDIVIDUALS = """
SEBRLE    2.369  0.792 0.467 0.112  0.772 0.836 0.106  0.827 1.187 0.122
CLAY      3.507  1.235 1.137 0.124  0.575 0.464 0.027  2.141 7.960 0.373
"""
# Distance, and coordinate, contribution and cos2 of Dim.1 and Dim.2.
MORE_INDIVIDUALS = """
KARPOV    3.396  1.358 1.375 0.160  0.484 0.329 0.020
BERNARD   2.763 -0.610 0.277 0.049 -0.875 1.074 0.100
YURKOV    3.018 -0.586 0.256 0.038  2.131 6.376 0.499
WARNERS   2.428  0.357 0.095 0.022 -1.685 3.986 0.482
ZSIVOCZKY 2.563  0.272 0.055 0.011 -1.094 1.680 0.182
McMULLEN  2.561  0.588 0.257 0.053  0.231 0.075 0.008
MARTINEAU 3.742 -1.995 2.968 0.284  0.561 0.442 0.022
HERNU     2.794 -1.546 1.782 0.306  0.488 0.335 0.031
"""
VARIABLES = """
100m        -0.775 18.344 0.600  0.187  2.016 0.035 -0.184  2.420 0.034
Long.jump    0.742 16.822 0.550 -0.345  6.869 0.119  0.182  2.363 0.033
Shot.put     0.623 11.844 0.388  0.598 20.607 0.358 -0.023  0.039 0.001
High.jump    0.572  9.998 0.327  0.350  7.064 0.123 -0.260  4.794 0.067
400m        -0.680 14.116 0.462  0.569 18.666 0.324  0.131  1.230 0.017
110m.hurdle -0.746 17.020 0.557  0.229  3.013 0.052 -0.093  0.611 0.009
Discus       0.552  9.328 0.305  0.606 21.162 0.368  0.043  0.131 0.002
Pole.vault   0.050  0.077 0.003 -0.180  1.873 0.033  0.692 34.061 0.479
Javeline     0.277  2.347 0.077  0.317  5.784 0.100 -0.390 10.807 0.152
1500m       -0.058  0.103 0.003  0.474 12.946 0.225  0.782 43.543 0.612
"""
EIGENVALUES = [3.272, 1.737, 1.405, 1.057, 0.685, 0.599, 0.451, 0.397, 0.215, 0.182]


def printed(text, statistics, distance=False):
    """Return lines of a printed table as {name: {column of our table: number}}."""
    result = {}
    for name, *numbers in map(str.split, text.strip().splitlines()):
        values = list(map(float, numbers))
        result[name] = {"distance": values.pop(0)} if distance else {}
        titles = [f"{s}PC{1 + j // len(statistics)}" for j, s in enumerate(statistics * 3)]
        result[name] |= dict(zip(titles, values, strict=False))
    return result


@pytest.fixture(scope="module")
def decathlon():
    frame = pd.read_csv(Path(__file__).parents[1] / "data" / "decathlon.csv", index_col=0)
    return frame.iloc[:, :EVENTS], frame.iloc[:, EVENTS:]


def test_decathlon_equals_the_printed_numbers(decathlon):
    X, others = decathlon
    model = PCA(scale="unit", ddof=0).fit(X)
    assert_allclose(model.explained_variance_, EIGENVALUES, atol=6e-4)
    rows, columns = model.table("rows", X), model.table("columns")
    points = np.corrcoef(others["Points"], rows["PC1"])[0, 1]
    # The signs of components are a convention.
    sign = np.sign([points, columns.loc["Shot.put", "PC2"], columns.loc["1500m", "PC3"]])
    full = printed(INDIVIDUALS, ["", "contribution ", "cos2 "], distance=True)
    full |= printed(MORE_INDIVIDUALS, ["", "contribution ", "cos2 "], distance=True)
    compared = 0
    for table, expected in (
        (rows, full),
        (columns, printed(VARIABLES, ["", "contribution ", "cos2 "])),
    ):
        for name, numbers in expected.items():
            line = table.loc[name]
            for title, number in numbers.items():
                signed = title.startswith("PC")
                factor = sign[int(title[-1]) - 1] if signed else 100 if "contribution" in title else 1
                assert factor * line[title] == pytest.approx(number, abs=5.01e-4), (name, title)
                compared += 1
    assert compared == 20 + 8 * 7 + 90


def test_us_arrests_equals_the_printed_rotation(data_dir):
    X = pd.read_csv(data_dir / "tables" / "datasets_USArrests.csv", index_col=0)
    columns = PCA(scale="unit", ddof=0).fit(X).table("columns")
    # prcomp(USArrests, scale. = TRUE)$rotation and $sdev as R prints them.
    rotation = np.array(
        [
            [0.5358995, 0.4181809, 0.3412327, 0.64922780],
            [0.5831836, 0.1879856, 0.2681484, 0.74340748],
            [0.2781909, 0.8728062, 0.3780158, 0.13387773],
            [0.5434321, 0.1673186, 0.8177779, 0.08902432],
        ]
    )
    deviations = np.array([1.5748783, 0.9948694, 0.5971291, 0.4164494])
    assert_allclose(columns.filter(like="contribution"), rotation**2, atol=2e-7)
    assert_allclose(columns.filter(like="correlation").abs(), rotation * deviations, atol=2e-7)
    assert_allclose(columns["standard deviation"], X.std(ddof=0))


def test_rows_equal_the_definition():
    X = spectrum_matrix(30, 6, [9, 5, 3, 2, 1, 0.5], seed=0, mean=[5, -3, 100, 0, 1, 2])
    cases = [
        (PCA(3), X, 1e-9),
        (PCA(3, ddof=0, scale="unit"), X, 1e-9),
        (PCA(3, scale="pareto", whiten=True), X, 1e-9),
        (PCA(3, center=False), X, 1e-9),
        (PCA(6, solver="gram"), X, 1e-7),
        (PCA(3), X.astype(np.float32), 2e-4),
        (PCA(3), sparse.csr_array(np.round(X)), 1e-9),
    ]
    for model, data, tolerance in cases:
        model.fit(data)
        dense = data.toarray() if sparse.issparse(data) else data.astype(np.float64)
        table = model.table("rows", data)
        scale = 1.0 if model.scale_ is None else model.scale_
        C = (dense - (dense.mean(axis=0) if model.center else 0.0)) / scale
        T = C @ np.asarray(model.components_, dtype=float).T
        k = model.n_components_
        near = {"rtol": 0, "atol": tolerance}
        assert_allclose(table[[f"PC{j + 1}" for j in range(k)]], T, **(near | {"atol": 9 * tolerance}))
        squares = np.sum(C**2, axis=1)
        assert_allclose(table.filter(like="cos2"), T**2 / squares[:, None], **near)
        assert_allclose(table["distance"], np.sqrt(squares), rtol=tolerance + 1e-12)
        contributions = table.filter(like="contribution").to_numpy()
        degrees = (len(dense) - model.ddof) * np.asarray(model.explained_variance_)
        assert_allclose(contributions, T**2 / degrees, **near)
        assert_allclose(contributions.sum(axis=0), 1, rtol=10 * tolerance)
        assert table["kind"].tolist() == ["row"] * 30


def test_columns_equal_the_definition_without_the_data(tmp_path):
    X = spectrum_matrix(40, 5, [9, 5, 3, 2, 1], seed=2, mean=[5, -3, 100, 0, 1])
    X = np.column_stack([X, np.full(40, 7.0)])
    stream = PCA(5, scale="unit")
    for batch in np.array_split(X, 3):
        stream.partial_fit(batch)
    for model in (PCA(5).fit(X), PCA(5, ddof=0).fit(X), PCA(5, scale="unit").fit(X), PCA(2).fit(X), stream):
        model.save(tmp_path / "m.gramian")
        for one in (model, load(tmp_path / "m.gramian")):
            table, scores = one.table("columns"), one.transform(X)
            for j in range(one.n_components_):
                correlation = [np.corrcoef(x, scores[:, j])[0, 1] for x in X.T[:5]]
                assert_allclose(table[f"correlation PC{j + 1}"][:5], correlation, atol=1e-10)
                assert_allclose(table[f"cos2 PC{j + 1}"][:5], np.square(correlation), atol=1e-10)
                standardised = scores[:, j] / np.sqrt(one.explained_variance_[j])
                divisor = 1.0 if one.scale_ is None else one.scale_
                C = (X - X.mean(axis=0)) / divisor
                coordinate = C.T @ standardised / (40 - one.ddof)
                assert_allclose(table[f"PC{j + 1}"], coordinate, atol=1e-9)
                assert_allclose(table[f"contribution PC{j + 1}"], one.components_[j] ** 2)
                assert table[f"correlation PC{j + 1}"].iloc[5] == 0.0
            assert_allclose(table["mean"], X.mean(axis=0), atol=1e-12)
            assert_allclose(table["standard deviation"], X.std(axis=0, ddof=one.ddof), atol=1e-12)
    fading = PCA(2, forgetting=0.5)
    for batch in np.array_split(X, 2):
        fading.partial_fit(batch)
    weights = np.repeat([0.5, 1.0], 20)
    deviations = np.sqrt(np.diag(np.cov(X.T, aweights=weights)))
    assert_allclose(fading.table("columns")["standard deviation"], deviations, atol=1e-12)
    assert not any("contribution" in name for name in fading.table("rows", X))
    assert not any("correlation" in name for name in PCA(2, center=False).fit(X).table("columns"))


def test_frames_follow_the_input_and_the_installation(monkeypatch):
    X = np.random.default_rng(4).normal(size=(9, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    table = PCA(2).fit(frame).table("rows", frame)
    assert isinstance(table, pl.DataFrame)
    assert table.columns[:3] == ["name", "kind", "distance"]
    model = PCA(2).fit(X)
    pandas = model.table("columns")
    assert pandas.index.tolist() == ["x0", "x1", "x2"]
    found = frames.find_spec
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name == "pandas" else found(name))
    assert isinstance(model.table("columns"), pl.DataFrame)
    monkeypatch.setattr(frames, "find_spec", lambda name: None)
    arrays = model.table("columns")
    assert arrays["name"].tolist() == ["x0", "x1", "x2"]
    assert_array_equal(arrays["PC1"], pandas["PC1"])


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(30),
        pd.Index(np.random.default_rng(0).permutation(30)),
        pd.RangeIndex(10, 40),
        pd.date_range("2024-03-01", periods=30, tz="CET"),
        pd.MultiIndex.from_product([["u", "v", "w"], range(10)]),
        pd.Index([f"s{i}" for i in range(30)]),
    ],
    ids=["default", "shuffled", "later", "dates", "pairs", "text"],
)
def test_rows_of_a_frame_keep_its_index(index):
    X = np.random.default_rng(0).normal(size=(30, 3))
    frame = pd.DataFrame(X, columns=list("abc"), index=index)
    for model in (PCA(2), KernelPCA(2, kernel="rbf")):
        scores = model.fit(frame).transform(frame)
        joined = frame.join(model.table("rows", frame))
        assert_allclose(joined[["PC1", "PC2"]], scores, atol=1e-12)
        assert model.table("rows", frame).index.equals(index)


def test_rows_of_a_file_keep_their_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n,3\n4,4\n6,7\n")
    table = gramian.scan(tmp_path / "x.csv", missing="drop-rows").read()
    model = PCA(1).fit(table)
    assert model.table("rows", table).index.tolist() == ["0", "2", "3"]
    assert gramian.explain(model, table, "2").rows == ("2",)


def test_rows_of_a_file_larger_than_memory(tmp_path):
    X = np.random.default_rng(5).normal(size=(20_000, 40))
    np.save(tmp_path / "x.npy", X)
    model = PCA(3, memory_limit="20MB", solver="covariance").fit(tmp_path / "x.npy")
    expected = PCA(3).fit(X).table("rows", X)
    pd.testing.assert_frame_equal(model.table("rows", tmp_path / "x.npy"), expected, rtol=1e-6)


def test_tables_of_kernel_pca_and_summaries():
    X = np.random.default_rng(6).normal(size=(25, 3))
    model = KernelPCA(24, kernel="rbf", gamma=0.3).fit(X)
    own = model.table("rows", X)
    # All components of the fit: a row of it lies in their span.
    assert_allclose(own.filter(like="cos2").sum(axis=1), 1, atol=1e-6)
    assert_allclose(own.filter(like="contribution").sum(), 1, atol=1e-9)
    K = np.exp(-0.3 * np.sum((X[:, None] - X) ** 2, axis=-1))
    assert_allclose(own["distance"] ** 2, 1 - 2 * K.mean(axis=0) + K.mean(), rtol=1e-6)
    assert "distance" not in KernelPCA(2, kernel="precomputed").fit(K).table("rows", K)
    with pytest.raises(ParameterError, match="needs components that are directions of the columns;"):
        model.table("columns")
    summary = model.summary()
    assert_allclose(summary.explained_variance_ratio, model.explained_variance_ratio_)
    with pytest.warns(IndefiniteKernelWarning):
        indefinite = KernelPCA(2, kernel="sigmoid", gamma=1e-3).fit(X).summary()
    assert np.isnan(indefinite.cumulative).all()
    whitener = Whitener("zca").fit(X)
    assert_allclose(whitener.summary().standard_deviation, np.sqrt(whitener.eigenvalues_))


def test_refusals():
    X = np.random.default_rng(7).normal(size=(9, 3))
    model = PCA(2).fit(X)
    for given, error in (
        (("rows",), ParameterError),
        (("cells", X), ParameterError),
        (("rows", X[:5]), DataError),
    ):
        with pytest.raises(
            error,
            match=(
                r"X is needed: the model does not|is not known\. Allowed:|" "X has 5 rows, but the model was"
            ),
        ):
            model.table(*given)
    with pytest.raises(TypeError, match="supplementary"):
        model.table("columns", X, supplementary={"a": np.arange(9)})


def test_arrays_of_every_kind(array_kind):
    X = np.random.default_rng(8).normal(size=(30, 4))
    meta = {"site": ["a", "b", "c"] * 10}
    plain, given = PCA(2).fit(X), array_kind.make(X)
    model = PCA(2).fit(given)
    tolerance = 1e-9 if array_kind.dtype == np.float64 else 1e-4
    for ours, theirs in (
        (model.table("rows", given), plain.table("rows", X)),
        (model.table("columns"), plain.table("columns")),
    ):
        for name in theirs.columns[1:]:
            assert_allclose(ours[name], theirs[name], atol=tolerance)
    kernel = KernelPCA(2, kernel="rbf").fit(given)
    expected = KernelPCA(2, kernel="rbf").fit(X)
    assert_allclose(
        kernel.table("rows", given).filter(like="cos2"),
        expected.table("rows", X).filter(like="cos2"),
        atol=1e-3,
    )
    found = gramian.describe(kernel, given, meta)
    assert_allclose(found.r2, gramian.describe(expected, X, meta).r2, atol=1e-3)


@pytest.mark.parametrize("method", ["em", "iterative", "mean"])
def test_rows_of_an_imputed_fit_with_their_holes_or_filled(method):
    rng = np.random.default_rng(4)
    X = 2 * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 7)) + rng.standard_normal((60, 7))
    X[rng.random(X.shape) < 0.2] = np.nan
    for options in ({"n_components": 2, "scale": "unit"}, {"whiten": True}):
        pca = PCA(**options, missing=method).fit(X)
        first = pca.table("rows", X)
        for k in range(1, 3):
            # For "em", up to the uncertainty of the directions, which the fitted model does not have.
            near = pytest.approx(1, abs=0.01 if method == "em" else 1e-4)
            assert first[f"contribution PC{k}"].sum() == near
        total = sum(first[f"cos2 PC{k + 1}"] for k in range(pca.n_components_))
        assert total.max() <= 1 + 1e-12
        if pca.n_components_ == 7:
            assert np.allclose(total, 1)
        again = pca.table("rows", pca.impute(X))
        assert np.allclose(first.select_dtypes("number"), again.select_dtypes("number"), equal_nan=True)
        if method != "em":
            by_sparse = pca.table("rows", sparse.csr_array(pca.impute(X)))
            assert np.allclose(by_sparse["PC1"], first["PC1"])
        other = pca.impute(X)
        other[pca.imputed_.rows[0], pca.imputed_.columns[0]] += 1
        with pytest.raises(DataError, match="X is not the table of the fit, in which 93 entries were"):
            pca.table("rows", other)
