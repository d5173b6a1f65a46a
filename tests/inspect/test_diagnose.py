"""What diagnose finds: each trap by its code, nothing serious in clean tables, and remedies that work."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import gramian
from gramian import PCA, KernelPCA, Monitor
from gramian.cli import main
from gramian.errors import InputTypeError


def factors(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) * [3, 2] @ rng.standard_normal((2, d)) + rng.standard_normal((n, d))


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def codes(model, X, labels=None):
    return set(gramian.diagnose(model.fit(X), X, labels).codes)


@pytest.mark.parametrize("scale", [None, "unit"])
def test_columns_that_dominate_by_their_unit_are_found_until_they_are_scaled(scale):
    for X in (load_wine().data, load_breast_cancer().data, factors(300, 8) * np.geomspace(1, 3000, 8)):
        assert ("scale-dominates" in codes(PCA(2, scale=scale), X)) == (scale is None)


def test_columns_of_different_units_decide_although_their_deviations_are_similar():
    X = factors(100, 3) * [1.0, 1.5, 1.2]
    named = pd.DataFrame(X, columns=["height_cm", "weight_kg", "age_years"])
    assert "scale-dominates" in codes(PCA(2), named)
    assert "scale-dominates" not in codes(PCA(2), named.set_axis(["a_cm", "b_cm", "c_cm"], axis=1))
    assert "scale-dominates" not in codes(PCA(2), X)


def test_spectra_share_a_unit_however_their_deviations_differ():
    place, rng = np.linspace(0, 1, 150), np.random.default_rng(0)
    peaks = np.exp(-((place - np.array([[0.3], [0.7]])) ** 2) / 0.002) * [[100], [1]]
    X = rng.dirichlet([2, 2, 2], 60)[:, :2] @ peaks + 0.01 * rng.standard_normal((60, 150))
    assert "scale-dominates" not in codes(PCA(2), X)


@pytest.mark.parametrize(
    ("X", "kernel", "code"),
    [
        (load_digits().data[:500], {"kernel": "rbf"}, "kernel-narrow"),
        (standardised(load_wine().data), {"kernel": "rbf", "gamma": 20}, "kernel-narrow"),
        (load_iris().data, {"kernel": "laplacian", "gamma": 50}, "kernel-narrow"),
        (load_iris().data, {"kernel": "rbf", "gamma": 1e-5}, "kernel-wide"),
    ],
)
def test_a_width_that_shows_nothing_is_found_and_the_median_mends_it(X, kernel, code):
    found = gramian.diagnose(KernelPCA(2, **kernel).fit(X), X)
    (one,) = found.serious
    assert one.code == code
    assert one.evidence["gamma"] != one.evidence["gamma of the median"] > 0
    assert code not in codes(KernelPCA(2, kernel="rbf", gamma="median"), X)


def test_distances_of_a_kernel_follow_the_largest_column():
    X = load_wine().data
    assert "scale-dominates" in codes(KernelPCA(2, kernel="rbf", gamma="median"), X)
    assert "scale-dominates" not in codes(KernelPCA(2, kernel="rbf", gamma="median"), standardised(X))


def test_independent_columns_have_no_signal():
    rng = np.random.default_rng(0)
    for X in (
        rng.standard_normal((100, 5)),
        rng.standard_normal((30, 200)),
        rng.standard_t(4, (200, 10)),
        rng.exponential(size=(100, 8)) * np.linspace(1, 3, 8),
    ):
        (one,) = gramian.diagnose(PCA(2).fit(X), X).serious
        assert one.code == "no-signal"
        assert one.evidence["largest"] == pytest.approx(
            np.linalg.eigvalsh(np.corrcoef(X[:, X.std(axis=0) > 0].T))[-1], rel=1e-9
        )
    assert "no-signal" not in codes(PCA(2), factors(60, 5))


@pytest.mark.parametrize("n", [60, 1000, 20_000])
def test_a_row_that_is_a_component_is_found_also_among_many(n):
    X = factors(n, 6)
    X[n // 3, :3] += 30 * np.sqrt(n)
    (one,) = gramian.diagnose(PCA(2).fit(X), X).serious
    assert (one.code, one.evidence["row"], one.evidence["component"]) == ("one-row", n // 3, 1)
    left = (X - X.mean(axis=0)) @ PCA(2).fit(X).components_[0]
    assert one.evidence["share"] == pytest.approx((left**2)[n // 3] / (left**2).sum(), rel=1e-3)
    assert "one-row" not in codes(PCA(2), np.delete(X, n // 3, axis=0))


@pytest.mark.parametrize(
    "column",
    [
        np.random.default_rng(1).permutation(900_000)[:120] + 100_000.0,
        np.arange(1.0, 121),
        1.6e9 + 60 * np.arange(120.0),
    ],
    ids=["numbers of patients", "a counter", "seconds"],
)
@pytest.mark.parametrize("scale", [None, "unit"])
def test_a_column_that_names_or_counts_rows_is_found(column, scale):
    X = factors(120, 5)
    found = gramian.diagnose(
        PCA(2, scale=scale).fit(np.column_stack([X, column])), np.column_stack([X, column])
    )
    (one,) = (one for one in found.findings if one.code == "identifier")
    assert one.evidence["column"] == "x5"
    assert (one.severity == "serious") == (one.evidence["component"] is not None) or scale == "unit"
    assert "scale-dominates" not in found.codes


def test_whole_numbers_that_measure_are_no_identifier():
    rng = np.random.default_rng(0)
    counts = np.column_stack([factors(120, 4), np.exp(rng.normal(10, 1, 120)).round()])
    related = np.column_stack([factors(120, 4), (1000 * factors(120, 4)[:, 0]).round()])
    for X in (counts, related):
        assert "identifier" not in codes(PCA(2, scale="unit"), X)


def test_a_gradient_is_an_arch_and_groups_are_not():
    rng = np.random.default_rng(0)
    place = rng.uniform(0, 1, 100)
    X = np.exp(-((place[:, None] - np.linspace(-0.1, 1.1, 15)) ** 2) / 0.045)
    assert "arch" in codes(PCA(2), X)
    groups = np.repeat([[0.0, 0], [5, 8], [10, 0]], 30, axis=0) + rng.standard_normal((90, 2))
    assert "arch" not in codes(PCA(2), groups)


def test_notes_name_what_they_are_about():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal((300, 1)), axis=0) * [1, 1, 2] + rng.standard_normal((300, 3))
    assert "row-order" in codes(PCA(2), walk)
    assert "row-order" not in codes(PCA(2), walk[rng.permutation(300)])
    body = rng.standard_normal((100, 1)) + 0.1 * rng.standard_normal((100, 6))
    assert "size" in codes(PCA(2), body)
    assert {"ties"} <= codes(PCA(2), np.repeat(factors(30, 5), 5, axis=0))
    assert {"few-rows"} <= codes(PCA(3), factors(8, 20))
    zeros = np.zeros((90, 12))
    zeros[:45, :6] = 3 + rng.standard_normal((45, 6))
    zeros[45:, 6:] = 3 + rng.standard_normal((45, 6))
    assert "groups-of-zeros" in codes(PCA(2), zeros)
    holes = factors(120, 12)
    holes[rng.uniform(size=holes.shape) < 0.35] = np.nan
    assert "imputed" in codes(PCA(2, missing="em"), holes)
    plane = rng.standard_normal((150, 5)) * [5, 4.9, 1, 0.9, 0.8]
    found = gramian.diagnose(PCA(2).fit(plane))
    assert found.findings[0].evidence["components"] == [1, 2]
    assert str(found).endswith("Only the model was examined: rows were not given.")


def test_labels_that_coincide_are_confounded():
    X, group = factors(90, 5), np.repeat(["a", "b", "c"], 30)
    model = PCA(2).fit(X)
    same = {"group": group, "day": np.repeat([1, 2, 3], 30)}
    assert "confounded" in gramian.diagnose(model, X, same).codes
    crossed = {"group": group, "day": np.tile([1, 2, 3], 30), "person": np.arange(90)}
    assert "confounded" not in gramian.diagnose(model, X, pd.DataFrame(crossed)).codes


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_known_tables_that_are_scaled_have_nothing_serious(load):
    X = load().data
    assert not gramian.diagnose(PCA(3, scale="unit").fit(X), X).serious


@pytest.mark.parametrize(
    "X", [np.eye(2), np.zeros((5, 3)), np.full((30, 1), 7.0), factors(12, 3).astype(np.float32)]
)
def test_any_table_that_can_be_fitted_can_be_diagnosed(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PCA(1).fit(X)
    assert isinstance(gramian.diagnose(model, X).codes, tuple)


def test_a_monitor_is_its_model_and_others_are_refused():
    X = factors(60, 5)
    assert gramian.diagnose(Monitor(PCA(2)).fit(X), X).codes == gramian.diagnose(PCA(2).fit(X), X).codes
    with pytest.raises(InputTypeError, match="not a Whitener"):
        gramian.diagnose(gramian.Whitener().fit(X))


def test_each_reader_gets_the_remedy_in_their_words(tmp_path, capsys):
    np.savetxt(tmp_path / "X.csv", load_wine().data, delimiter=",")
    model = PCA(2).fit(load_wine().data)
    model.save(tmp_path / "m.gramian")
    assert 'use scale="unit"' in str(gramian.diagnose(model, load_wine().data))
    assert main(["diagnose", str(tmp_path / "m.gramian"), str(tmp_path / "X.csv")]) == 0
    assert "use --scale unit. (scale-dominates)" in capsys.readouterr().out
    assert main(["diagnose", str(tmp_path / "m.gramian"), str(tmp_path / "X.csv"), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)["findings"][0]
    assert (first["code"], first["severity"]) == ("scale-dominates", "serious")
    assert first["evidence"]["columns"] == ["x12"]
