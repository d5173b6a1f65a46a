"""Why a row is unusual, and what tells groups apart."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import gramian
from gramian.tables.table import Table

WINE = load_wine(as_frame=True)
X, CLASS = WINE.data, WINE.target.to_numpy()
Z = ((X - X.mean()) / X.std()).to_numpy()


@pytest.fixture(scope="module")
def pca():
    return gramian.PCA(3, scale="unit").fit(X)


@pytest.mark.parametrize(("row", "statistic"), [(121, "T2"), (69, "SPE")])
def test_contributions_of_a_row_are_those_of_the_definition(pca, row, statistic):
    result = gramian.explain(pca, X, row)
    P, variances = pca.components_, pca.explained_variance_
    t = P @ Z[row]
    e = Z[row] - t @ P
    to = {"T2": Z[row] * ((t / variances) @ P), "SPE": np.sign(e) * e**2}[statistic]
    order = np.argsort(-np.abs(to))
    assert result.statistic == statistic
    assert result.columns == tuple(X.columns[order])
    np.testing.assert_allclose(result.contributions, to[order], rtol=1e-10)
    np.testing.assert_allclose(result.value, to.sum() if statistic == "T2" else np.abs(to).sum(), rtol=1e-10)
    others = np.delete(X.to_numpy(), row, axis=0)
    np.testing.assert_allclose(result.typical, np.quantile(others, (0.05, 0.5, 0.95), axis=0).T[order])
    assert result.value > result.limit
    assert "is unusual" in str(result)


def test_groups_are_compared_along_the_direction_that_separates_them_best(pca):
    result = gramian.explain(pca, X, CLASS == 0, versus=CLASS == 2)
    a, b = Z[CLASS == 0], Z[CLASS == 2]
    P = pca.components_
    scores = a @ P.T, b @ P.T
    within = sum((len(s) - 1) * np.cov(s.T) for s in scores) / (len(a) + len(b) - 2)
    delta = scores[0].mean(axis=0) - scores[1].mean(axis=0)
    w = np.linalg.solve(within, delta)
    w /= np.sqrt(w @ within @ w)
    np.testing.assert_allclose(result.value, np.sqrt(delta @ np.linalg.solve(within, delta)), rtol=1e-9)
    places = [X.columns.get_loc(name) for name in result.columns]
    np.testing.assert_allclose(result.contributions, ((a.mean(axis=0) - b.mean(axis=0)) * (w @ P))[places])
    p = stats.ttest_ind(X[CLASS == 0], X[CLASS == 2], equal_var=False).pvalue
    np.testing.assert_allclose(result.p_adjusted, stats.false_discovery_control(p)[places])


def test_groups_without_a_difference_are_said_to_differ_by_chance_only():
    said = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        Y = rng.normal(size=(60, 8))
        said.append(
            "by more than chance" in gramian.explain(gramian.PCA(3).fit(Y), Y, np.arange(60) < 30).sentence
        )
    assert sum(said) >= 34


def test_repeated_rows_of_a_unit_are_averaged_before_they_are_tested():
    rng = np.random.default_rng(0)
    subject = np.repeat(np.arange(12), 20)
    Y = rng.normal(size=(12, 4))[subject] + 0.01 * rng.normal(size=(240, 4))
    pca = gramian.PCA(2).fit(Y)
    alone, grouped = (
        gramian.explain(pca, Y, subject < 6, units=units).p_adjusted.min() for units in (None, subject)
    )
    assert alone < 1e-4 < 0.01 < grouped


def test_rows_are_named_by_number_name_group_or_label(pca):
    table = Table(X.to_numpy(), feature_names=tuple(X.columns), row_names=tuple(f"W{i}" for i in range(178)))
    table = Table(**{**vars(table), "labels": np.array(list("abc"))[CLASS], "label_name": "kind"})
    assert gramian.explain(pca, table, "W121").rows == gramian.explain(pca, table, 121).rows == ("W121",)
    group = gramian.explain(pca, table, "kind=a", versus="c")
    assert (len(group.rows), len(group.versus)) == (59, 48)
    with pytest.raises(ValueError, match="subset='W999' is neither a row nor a group"):
        gramian.explain(pca, table, "W999")
    with pytest.raises(ValueError, match="versus has row W0 in common with subset"):
        gramian.explain(pca, table, ["W0", "W1"], versus="a")
    with pytest.raises(ValueError, match="subset=178 must be a whole number from 0 to 177"):
        gramian.explain(pca, table, 178)


def test_a_missing_value_contributes_nothing_and_a_kernel_pca_says_that_it_is_approximate():
    Y = X.copy()
    Y.iloc[121, 2] = np.nan
    result = gramian.explain(gramian.PCA(3, scale="unit", missing="em").fit(Y), Y, 121)
    assert result.contributions[result.columns.index("ash")] == 0
    result = gramian.explain(gramian.KernelPCA(3, kernel="rbf", gamma=0.02).fit(Z), Z, 121)
    assert "approximate" in result.notes[-1]
    assert np.isfinite(result.contributions).all()


def test_rows_that_all_components_describe_are_not_judged():
    Y = np.random.default_rng(0).normal(size=(8, 40))
    said = str(gramian.explain(gramian.PCA().fit(Y), Y))
    assert said.startswith(
        "Row 0 cannot be judged: with all components of so few rows no distance has a limit"
    )
    assert "largest relative to its limits" not in said


def test_a_large_table_is_looked_at_in_part():
    Y = np.random.default_rng(0).normal(size=(30_000, 3))
    result = gramian.explain(gramian.PCA(2).fit(Y), Y, 7)
    assert len(result.versus) == 20_000
    assert "20,000 of 29,999" in str(result)


def test_errors_say_which_argument_is_wrong_and_how(pca):
    with pytest.raises(
        ValueError, match="model is a StandardScaler, but must be a fitted PCA, KernelPCA or Monitor"
    ):
        gramian.explain(StandardScaler().fit(X), X, 0)
    with pytest.raises(ValueError, match=r"subset has shape \(3,\), but X has 178 rows"):
        gramian.explain(pca, X, [True, False, True])
    with pytest.raises(ValueError, match="subset names no row"):
        gramian.explain(pca, X, np.zeros(178, dtype=bool))
    with pytest.raises(ValueError, match="178 rows leave fewer than two to compare with"):
        gramian.explain(pca, X, np.arange(178) > 0)
    with pytest.raises(ValueError, match=r"units has shape \(3,\), but X has 178 rows"):
        gramian.explain(pca, X, CLASS == 0, units=[1, 2, 3])


def test_values_after_a_transform_have_no_units_but_copies_stay(tmp_path):
    Y = np.exp(np.random.default_rng(0).normal([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.02, size=(40, 6)))
    Y[7, 1], Y[9] = np.exp(2.54 * 2.0), Y[8]
    (tmp_path / "y.csv").write_text("a,b,c,d,e,f\n" + "\n".join(",".join(map(str, row)) for row in Y))
    table = gramian.scan(tmp_path / "y.csv", transform="log").read()
    logs = gramian.PCA(2).fit(table)
    [unit] = gramian.explain(gramian.PCA(2).fit(table.values), table.values, 7).causes
    assert "in centimetres, not inches" in str(unit)
    assert gramian.explain(logs, table, 7).causes == ()
    assert [cause.kind for cause in gramian.explain(logs, table, 9).causes] == ["copied row"]


def test_columns_that_are_not_shown_are_counted():
    for width, said in ((9, "\n1 further column contributes "), (10, "\n2 further columns contribute ")):
        few = X.iloc[:, :width]
        assert said in str(gramian.explain(gramian.PCA(2, scale="unit").fit(few), few, 69))


def test_names_stay_on_the_line_of_the_answer():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[3] = 40
    table = Table(X, ("a\nb", "c\x1b[2J"), row_names=[f"r\n{i}" for i in range(30)])
    said = gramian.explain(gramian.PCA(2).fit(table), table, 3).sentence
    assert said.startswith(r"Row r\n3 is unusual, most of all by ")
    assert said.isprintable()


def test_a_value_within_what_is_usual_is_said_to_be_usual_by_itself():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(80, 1))
    Y = common + 0.1 * rng.normal(size=(80, 5))
    Y[3] = [1.0, -1.0, 1.0, 1.0, 1.0]  # each of them usual, and together not
    table = pd.DataFrame(Y).add_prefix("x")
    sentence = gramian.explain(gramian.PCA(1).fit(table), table, 3).sentence
    assert re.search(r"most of all by x1 = -1 \(by itself usual: -1\.\d+ to 1\.\d+\)", sentence)
    Y[3] = [9.0, 0.0, 0.0, 0.0, 0.0]
    table = pd.DataFrame(Y).add_prefix("x")
    assert re.search(r"by x0 = 9 \(usual: ", gramian.explain(gramian.PCA(1).fit(table), table, 3).sentence)
