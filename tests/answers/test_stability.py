"""Bootstrap intervals equal their literal definition, and say which components have no direction."""

import numpy as np
import pandas as pd
import pytest

import gramian
from gramian import PCA, KernelPCA, Whitener
from gramian.answers.stability import _Resampled, _scales
from gramian.app.cli import main
from gramian.core.progress import report_to
from gramian.models.inputs import generators

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 6)) * [12, 6, 3, 1.5, 0.7, 0.3] + 10
WIDE = RNG.standard_normal((20, 50)) * np.r_[20, 9, np.ones(48)]
ALLELES = RNG.binomial(2, RNG.uniform(0.2, 0.5, 60), (25, 60)).astype(float)


def logit(ratios):
    return np.log(ratios / (1 - ratios))


def literal_errors(model, rows):
    """Return standard errors of log variances and of log odds of ratios, by the influence of each row."""
    C = (rows - model.mean_) / (1 if model.scale_ is None else model.scale_)
    C[:, model.constant_features_] = 0
    variances, ratios = model.explained_variance_, model.explained_variance_ratio_
    squares = (C @ model.components_.T) ** 2 / variances
    power = {"unit": 1, "pareto": 0.5}.get(model.scale, 0) if isinstance(model.scale, str) else 0
    columns = (C**2).sum(axis=0) / (len(rows) - model.ddof)
    columns[model.constant_features_] = 1
    logs = squares - (1 - power) - power * (C**2 / columns) @ model.components_.T**2
    odds = logs - (1 - power) * ((C**2).sum(axis=1, keepdims=True) / model.total_variance_ - 1)
    return [np.sqrt((part**2).sum(axis=0)) / len(rows) for part in (logs, odds / (1 - ratios))]


def literal(model, rows, n_resamples, seed):
    """Refit the model on every resampled table, and match components one by one by largest overlap."""
    (rng,) = generators(seed, 1)
    k, P = model.n_components_, model.components_
    logs, odds, loadings = [], [], []
    variances, ratios = model.explained_variance_, model.explained_variance_ratio_
    for _ in range(n_resamples):
        counts = np.bincount(rng.integers(len(rows), size=len(rows)), minlength=len(rows))
        repeated = np.repeat(rows, counts, axis=0)
        again = PCA(**model.get_params()).fit(repeated)
        overlaps = P @ again.components_.T
        assert sorted(np.abs(overlaps).argmax(axis=1)) == list(range(k))  # no doubt about the matching
        partner = np.abs(overlaps).argmax(axis=1)
        signs = np.sign(overlaps[np.arange(k), partner])
        loadings.append(again.components_[partner] * signs[:, None])
        of_logs, of_odds = literal_errors(again, repeated)
        logs.append((np.log(again.explained_variance_ / variances), of_logs))
        odds.append((logit(again.explained_variance_ratio_) - logit(ratios), of_odds))
    return np.array(logs), np.array(odds), np.array(loadings) - P


def longer_tail(deviations, level):
    low, high = np.quantile(deviations, ((1 - level) / 2, (1 + level) / 2), axis=0, method="weibull")
    return np.maximum(-low, high)


@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (X, {}),
        (X, {"scale": "unit"}),
        (X, {"scale": "unit", "feature_weight": [1, 9, 2, 0.5, 4, 1]}),
        (X, {"center": False, "ddof": 0}),
        (X, {"scale": np.arange(1.0, 7)}),
        (1e-95 * X, {"scale": "pareto"}),
        (WIDE, {}),
        (WIDE, {"scale": "pareto"}),
        (ALLELES, {"scale": "genotype"}),
        (X.astype(np.float32), {}),
    ],
)
def test_intervals_are_those_of_refits(rows, given):
    k = 2 if isinstance(given.get("scale"), np.ndarray | None) else 1
    model = PCA(k, **given).fit(rows)
    result = gramian.stability(model, rows, n_resamples=20, level=0.8, random_state=3)
    logs, odds, deviations = literal(model, rows, 20, 3)
    rtol = 1e-9 if rows.dtype == np.float64 else 1e-4
    errors = literal_errors(model, rows)
    ratios = model.explained_variance_ratio_
    for center, of, error, intervals, back in (
        (np.log(model.explained_variance_), logs, errors[0], result.variance_intervals, np.exp),
        (logit(ratios), odds, errors[1], result.ratio_intervals, lambda z: 1 / (1 + np.exp(-z))),
    ):
        half = error * longer_tail(of[:, 0] / of[:, 1], 0.8)
        half = np.minimum(half, 2 * longer_tail(of[:, 0], 0.8))
        for j in np.flatnonzero(model_separates(result)):
            assert intervals[j] == pytest.approx(
                back(center[j] + half[j] * np.array([-1, 1])), rel=100 * rtol
            )
    half, P = longer_tail(deviations, 0.8), model.components_
    expected = np.clip(np.stack([P - half, P + half], axis=-1), -1, 1)
    expected[~result.separated] = np.nan
    assert result.loading_intervals == pytest.approx(expected, abs=100 * rtol, nan_ok=True)
    cosines = np.abs(1 + np.einsum("bkd,kd->bk", deviations, P)).mean(axis=0)
    assert result.agreement == pytest.approx(cosines, abs=10 * rtol)
    assert result.variances == pytest.approx(model.explained_variance_, rel=rtol)


def model_separates(result):
    alone = np.array([len(group) == 1 for group in result.groups for _ in group])
    alone[-1] &= result.next_separated is not False
    return alone


def test_standard_errors_are_those_of_the_infinitesimal_jackknife():
    weight = [1, 9, 2, 0.5, 4, 1]
    for rows, given in (
        (X, {}),
        (X, {"scale": "unit"}),
        (X, {"scale": "unit", "feature_weight": weight}),
        (X, {"scale": "pareto"}),
        (X, {"scale": "pareto", "feature_weight": weight}),
        (X, {"center": False, "ddof": 0}),
        (WIDE, {}),
        (WIDE, {"scale": "pareto"}),
    ):
        model = PCA(2, **given).fit(rows)
        resampled, n = _Resampled(model, rows, 2), len(rows)

        def scales(weights, resampled=resampled):
            (values,), (total,), *_ = resampled.replicates(weights[None])
            return _scales(values, total)

        slopes = []
        for i in range(n):
            weights = np.ones(n)
            weights[i] += 1e-4
            more = scales(weights)
            weights[i] -= 2e-4
            slopes.append((more - scales(weights)) / 2e-4)
        expected = np.sqrt((np.array(slopes) ** 2).sum(axis=0))
        # Dividing by n - ddof and not by n shifts all rows alike, by a little.
        assert resampled.replicates(np.ones((1, n)))[3][:, 0] == pytest.approx(expected, rel=2 / n)


def test_results_are_reproducible_and_level_widens():
    model = PCA(3).fit(X)
    first, again, other = (gramian.stability(model, X, n_resamples=30, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(first.loading_intervals, again.loading_intervals)
    assert not np.array_equal(first.variance_intervals, other.variance_intervals)
    narrow = gramian.stability(model, X, n_resamples=30, random_state=1, level=0.5)
    assert (np.ptp(narrow.variance_intervals, axis=1) < np.ptp(first.variance_intervals, axis=1)).all()


def test_components_that_rows_do_not_separate_are_read_together():
    rows = np.random.default_rng(1).standard_normal((120, 5)) * [8, 3, 3, 1, 0.3]
    model = PCA(4).fit(rows)
    result = gramian.stability(model, rows, n_resamples=100, random_state=0)
    assert [list(group) for group in result.groups] == [[0], [1, 2], [3]]
    assert result.groups == model.sampling_.groups
    assert result.agreement[1] < 0.95
    assert "PC2 and PC3 cannot be told apart by 120 rows, so that their loadings have no intervals" in str(
        result
    )
    assert result.separated.tolist() == [True, False, False, True]
    assert np.isnan(result.loading_intervals[1:3]).all()
    # Either variance may be the other's.
    assert np.array_equal(result.variance_intervals[1], result.variance_intervals[2])
    # One that was left out belongs to the group as well.
    alone = gramian.stability(PCA(2).fit(rows), rows, n_resamples=100, random_state=0)
    assert alone.variance_intervals[1, 0] < model.explained_variance_[2]
    assert "PC2 and the first component left out cannot be told apart by 120 rows" in str(alone)


@pytest.mark.parametrize(("n", "d", "stated"), [(5, 3, 0), (9, 5, 0), (10, 5, 4), (12, 60, 5), (20, 10, 9)])
def test_too_few_rows_give_no_intervals_and_few_give_bounded_ones(n, d, stated):
    rows = np.random.default_rng(2).standard_normal((n, d)) * 0.8 ** np.arange(d)
    k = min(n - 1, d)
    for scale in (None, "unit"):
        result = gramian.stability(PCA(k, scale=scale).fit(rows), rows)
        low, high = result.variance_intervals.T
        assert np.isfinite(low).tolist() == [j < stated for j in range(k)]
        assert np.array_equal(np.isnan(low), np.isnan(result.ratio_intervals).any(axis=1))
        assert not result.separated[stated:].any()
        assert (np.diff(high[:stated]) <= 0).all()
        assert (high[:stated] < 20 * result.variances[0]).all()
        if scale == "unit":
            assert (high[:stated] <= d * (1 + 1e-9)).all()
        assert "nan" not in str(result)
        assert (f"{n} rows give no intervals of PC{stated + 1}" in str(result)) == (stated < k)


def test_intervals_of_one_row_and_of_a_component_along_a_column():
    rows = X.copy()
    rows[3, 5] += 1000
    result = gramian.stability(PCA(2).fit(rows), rows, n_resamples=100, random_state=0)
    assert [list(group) for group in result.groups] == [[0], [1]]
    assert result.separated.tolist() == [False, True]
    assert 0.2 < result.turned[0] < 0.5  # a draw misses the row with a probability of 37 %
    assert "PC1 turns by more than 45 degrees in" in str(result)
    result = gramian.stability(PCA(2).fit(X), X, n_resamples=100, random_state=0)
    assert result.loading_intervals[0, 0, 1] == 1.0
    assert (np.abs(result.loading_intervals) <= 1.0).all()


def test_equal_components_are_rotated_onto_each_other():
    angles = np.arange(60) * 2 * np.pi / 60
    circle = np.c_[np.cos(angles), np.sin(angles), 0.1 * np.cos(7 * angles)]
    result = gramian.stability(PCA(3).fit(circle), circle, n_resamples=50, random_state=0)
    # Axes of a circle's replicates point anywhere, but their plane is the circle's.
    assert result.agreement[:2].min() > 0.99


def test_tables():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    result = gramian.stability(PCA(3).fit(frame), frame, n_resamples=50, random_state=0)
    assert result.feature_names == list("abcdef")
    assert [row[0] for row in result.rows()] == ["PC1", "PC2", "PC3"]
    assert result.rows()[0][2] == result.variance_intervals[0, 0]
    assert result._repr_html_().count("<tr>") == 4


def test_progress_is_reported():
    class Reporter:
        seen = 0

        def update(self, message, unit=None, done=0, total=0):
            self.seen += unit == "replicate"

    with report_to(Reporter()) as reporter:
        gramian.stability(PCA(2).fit(X), X, n_resamples=7, random_state=0)
    assert reporter.seen == 1  # of a stack of replicates


def test_what_is_refused():
    model = PCA(2).fit(X)
    for other in (KernelPCA(2).fit(X), Whitener().fit(X)):
        with pytest.raises(
            gramian.errors.InputTypeError, match=r"\. Whitened and kernel components are not supported; fit a"
        ):
            gramian.stability(other, X)
    for rows in (X[:50], X + RNG.standard_normal(X.shape)):
        with pytest.raises(
            gramian.errors.DataError, match=r"0 rows are not those of the fit \(80 rows\): their"
        ):
            gramian.stability(model, rows)
    with pytest.raises(gramian.errors.DataError, match="This model was fitted with sample weights, which"):
        gramian.stability(PCA(2).fit(X, sample_weight=np.arange(80.0)), X)
    holed = np.where(RNG.random(X.shape) < 0.05, np.nan, X)
    with pytest.raises(gramian.errors.DataError, match="This model imputed missing values, which stability"):
        gramian.stability(PCA(2, missing="em").fit(holed), holed)
    for given in ({"n_resamples": 1}, {"level": 1.0}):
        with pytest.raises(gramian.errors.ParameterError, match="must be a"):
            gramian.stability(model, X, **given)
    with pytest.raises(
        gramian.errors.MemoryLimitError, match="200 replicates of 2 x 6 loadings and 80 rows needs about"
    ):
        gramian.stability(model.set_params(memory_limit="10KB"), X)


def test_the_shell_prints_and_draws_the_intervals(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    np.save(tmp_path / "data.npy", X)
    model = PCA(3).fit(X)
    model.save(tmp_path / "model.gramian")
    asked = [str(tmp_path / "model.gramian"), str(tmp_path / "data.npy"), "--n-resamples", "20"]
    assert main(["stability", *asked]) == 0
    result = gramian.stability(model, X, n_resamples=20, random_state=0)
    assert capsys.readouterr().out.rstrip() == str(result)
    assert main(["stability", *asked, "--json", "-o", str(tmp_path / "intervals.svg")]) == 0
    assert '"agreement"' in capsys.readouterr().out
    assert (tmp_path / "intervals.svg").read_text().startswith("<?xml")
    drawn = gramian.figures.stability_data(result).columns
    np.testing.assert_array_equal(drawn["low"], result.variance_intervals[:, 0])
