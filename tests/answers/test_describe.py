"""Components described by columns and metadata."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import false_discovery_control
from sklearn.decomposition import PCA as SklearnPCA

import gramian
from gramian import PCA, KernelPCA, Whitener
from gramian.errors import DataError, InputTypeError, ParameterError


@pytest.fixture(scope="module")
def study():
    """Rows with a planted batch, and their metadata in another order."""
    rng = np.random.default_rng(0)
    batch = np.array(["monday", "friday", "sunday"])[rng.integers(3, size=60)]
    shift = {"monday": -4.0, "friday": 4.0, "sunday": 0.0}
    X = rng.normal(size=(60, 8))
    X[:, :4] += np.array([shift[b] for b in batch])[:, None]
    names = [f"s{i:02}" for i in range(60)]
    frame = pd.DataFrame(X, index=names, columns=[f"g{j}" for j in range(8)])
    meta = pd.DataFrame({"batch": batch, "age": rng.normal(50, 9, size=60)}, index=names)
    return frame, meta


def test_p_values_are_adjusted_as_by_benjamini_and_hochberg():
    rng = np.random.default_rng(0)
    groups = {f"v{j}": rng.integers(3, size=40).astype(str) for j in range(6)}
    X = rng.normal(size=(40, 5))
    for metadata in (groups, groups | {"same": groups["v0"], "numbers": X[:, 0]}, {"one": X[:, 1]}):
        found = gramian.describe(PCA(4).fit(X), X, metadata)
        expected = false_discovery_control(found.p.ravel(), method="bh").reshape(found.p.shape)
        np.testing.assert_allclose(found.p_adjusted, expected, rtol=1e-12)


def test_a_batch_effect_is_seen_however_metadata_are_given(study, tmp_path):
    frame, meta = study
    model = PCA(3).fit(frame)
    mixed = meta.sample(frac=1, random_state=0)
    mixed.to_csv(tmp_path / "samples.csv", index_label="sample")
    frame.to_csv(tmp_path / "data.csv", index_label="sample")
    expected = gramian.describe(model, frame, meta)
    assert expected.variables == ["batch", "age"]
    assert expected.r2[0, 0] > 0.9
    assert expected.p_adjusted[0, 0] < 1e-10
    assert "joined by row names: 60 of 60" in expected.joined
    given = [
        (frame, mixed),
        (frame, tmp_path / "samples.csv"),
        (tmp_path / "data.csv", str(tmp_path / "samples.csv")),
        (frame.to_numpy(), {"batch": meta["batch"].tolist(), "age": meta["age"].to_numpy()}),
        (frame.to_numpy(), pl.DataFrame(meta.reset_index(drop=True).to_dict("list"))),
    ]
    for X, one in given:
        fitted = PCA(3).fit(X)
        found = gramian.describe(fitted, X, one)
        assert found.variables == ["batch", "age"]
        np.testing.assert_allclose(found.r2, expected.r2, atol=1e-9)
        np.testing.assert_allclose(found.p_adjusted, expected.p_adjusted, atol=1e-9)
    by_order = gramian.describe(PCA(3).fit(frame.to_numpy()), frame.to_numpy(), meta["batch"].to_numpy())
    assert by_order.variables == ["label"]
    assert "by order" in by_order.joined
    top = [name for name, _ in expected.top[0][:4]]
    assert set(top) == {"g0", "g1", "g2", "g3"}
    assert expected.top[0][0][1] == pytest.approx(np.abs(model.components_[0]).max())


def test_labels_of_a_scan_are_metadata(study, tmp_path):
    frame, meta = study
    frame.join(meta).to_csv(tmp_path / "all.csv", index_label="sample")
    scan = gramian.scan(tmp_path / "all.csv", label="batch,age")
    table = scan.read()
    assert table.label_name == "batch"
    assert list(table.metadata) == ["age"]
    model = PCA(3).fit(scan)
    found = gramian.describe(model, scan)
    expected = gramian.describe(PCA(3).fit(frame), frame, meta)
    np.testing.assert_allclose(found.r2, expected.r2)
    with pytest.raises(ParameterError, match=r"meta is needed\. Pass meta, or read the data with"):
        gramian.describe(model, frame)


def test_missing_entries_and_rows_are_left_out(study):
    frame, meta = study
    model = PCA(2).fit(frame)
    meta = meta.astype({"age": "Float64"})
    meta.loc[meta.index[:5], "age"] = pd.NA
    meta.loc[meta.index[3], "batch"] = None
    found = gramian.describe(model, frame, meta.iloc[:50])
    assert dict(zip(found.variables, found.rows.tolist(), strict=True)) == {"batch": 49, "age": 45}
    assert "50 of 60 rows have an entry" in found.joined
    whole = gramian.describe(model, frame.iloc[5:50], meta.iloc[5:50])
    age = found.variables.index("age")
    np.testing.assert_allclose(found.r2[age], whole.r2[whole.variables.index("age")])


def test_kernel_pca_is_described_by_correlations_of_columns(study):
    frame, meta = study
    model = KernelPCA(2, kernel="rbf", gamma=0.01).fit(frame)
    found = gramian.describe(model, frame, meta, top=8)
    assert found.measure == "correlation"
    T = np.asarray(model.transform(frame))
    for j in range(2):
        expected = {name: np.corrcoef(frame[name], T[:, j])[0, 1] for name in frame}
        assert dict(found.top[j]) == pytest.approx(expected)
    K = np.asarray(frame) @ np.asarray(frame).T
    without = gramian.describe(KernelPCA(2, kernel="precomputed").fit(K), K, meta.reset_index(drop=True))
    assert without.top == [[], []]
    assert without.r2[0, 0] > 0.9


def test_rows_of_a_file_larger_than_memory(tmp_path):
    X = np.random.default_rng(1).normal(size=(20_000, 40))
    group = np.arange(20_000) % 3
    X[:, 0] += 5 * group
    np.save(tmp_path / "x.npy", X)
    model = PCA(2, memory_limit="20MB", solver="covariance").fit(tmp_path / "x.npy")
    found = gramian.describe(model, tmp_path / "x.npy", {"group": group})
    expected = gramian.describe(PCA(2).fit(X), X, {"group": group})
    np.testing.assert_allclose(found.r2, expected.r2, atol=1e-6)
    assert found.kinds == ["category"]


def test_infinity_is_no_missing_value(study):
    frame, _ = study
    infinite = np.arange(60.0)
    infinite[3] = np.inf
    found = gramian.describe(PCA(2).fit(frame), frame, {"ph": infinite, "there": np.arange(60.0)})
    assert found.variables == ["there"]
    assert "ph was left out: 1 row has an infinite value; leave it empty if missing." in str(found)


def test_refusals(study, tmp_path):
    frame, meta = study
    model = PCA(2).fit(frame)
    np.save(tmp_path / "x.npy", np.zeros((60, 2)))
    twice = pd.concat([meta, meta])
    for given, error, match in (
        (meta.rename(lambda name: f"row {name}"), DataError, "the metadata has no entry for"),
        (twice, DataError, r"and 52 more more than once\. Give"),
        (meta.reset_index(drop=True)[:7], DataError, "the metadata has 7 rows for the 60"),
        (np.zeros((60, 2)), InputTypeError, r"has shape \(60, 2\)\. Give a path, a"),
        ({"a": [1, 2], "b": [1]}, DataError, "Columns of metadata need one length"),
        (tmp_path / "x.npy", gramian.errors.FileError, r"has no named columns of labels or metadata\."),
    ):
        with pytest.raises(error, match=match):
            gramian.describe(model, frame, given)
    for other in (Whitener().fit(frame.to_numpy()), SklearnPCA(2).fit(frame.to_numpy())):
        with pytest.raises(ParameterError, match=r", but must be a fitted PCA or KernelPCA\."):
            gramian.describe(other, frame.to_numpy(), meta)


def test_columns_are_listed_with_what_the_file_says_of_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3)).round(3)
    rows = [f"{'ab'[i % 2]},{','.join(map(str, row))}" for i, row in enumerate(X.tolist())]
    (tmp_path / "survey.csv").write_text(
        "\n".join(["who,Q1,Q2,Q3", "Who are you?,How old are you?,How tall are you?,", *rows])
    )
    table = gramian.scan(tmp_path / "survey.csv", label="who").read()
    text = str(gramian.describe(PCA(2).fit(table), table, top=2))
    assert "What the file says of them:\n  Q" in text
    assert text.count("  Q1: How old are you?") == 1
    assert "Q3:" not in text
    assert "What the file says" not in str(gramian.describe(PCA(2).fit(X), X, {"who": ["a", "b"] * 15}))
