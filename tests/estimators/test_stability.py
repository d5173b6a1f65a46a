"""Bootstrap intervals equal their literal definition, cover planted variances, and say what mixes."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import bootstrap

import gramian
from gramian import PCA, KernelPCA, Whitener
from gramian.cli import main
from gramian.estimators.inputs import generators
from gramian.estimators.stability import _accelerated, _Resampled
from gramian.progress import report_to

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 6)) * [6, 4, 3, 2, 1, 1] + 10
WIDE = RNG.standard_normal((20, 50)) * np.r_[20, 9, np.ones(48)]
ALLELES = RNG.binomial(2, RNG.uniform(0.2, 0.5, 60), (25, 60)).astype(float)


def literal(model, rows, n_boot, seed):
    """Refit the model on every resampled table, and match components one by one by largest overlap."""
    (rng,) = generators(seed, 1)
    k, P = model.n_components_, model.components_
    variances, ratios, loadings = [], [], []
    for _ in range(n_boot):
        counts = np.bincount(rng.integers(len(rows), size=len(rows)), minlength=len(rows))
        again = PCA(**model.get_params()).fit(np.repeat(rows, counts, axis=0))
        overlaps = P @ again.components_.T
        assert sorted(np.abs(overlaps).argmax(axis=1)) == list(range(k))  # no doubt about the matching
        partner = np.abs(overlaps).argmax(axis=1)
        signs = np.sign(overlaps[np.arange(k), partner])
        loadings.append(again.components_[partner] * signs[:, None])
        variances.append(again.explained_variance_)
        ratios.append(again.explained_variance_ratio_)
    return np.array(variances), np.array(ratios), np.array(loadings)


@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (X, {}),
        (X, {"scale": "unit"}),
        (X, {"center": False, "ddof": 0}),
        (X, {"scale": np.arange(1.0, 7)}),
        (1e-150 * X, {"scale": "pareto"}),
        (WIDE, {}),
        (WIDE, {"scale": "pareto"}),
        (ALLELES, {"scale": "genotype"}),
        (X.astype(np.float32), {}),
    ],
)
def test_intervals_are_those_of_refits(rows, given):
    k = 2 if isinstance(given.get("scale"), np.ndarray | None) else 1
    model = PCA(k, **given).fit(rows)
    result = gramian.stability(model, rows, n_boot=20, level=0.8, random_state=3)
    variances, ratios, loadings = literal(model, rows, 20, 3)
    rtol = 1e-9 if rows.dtype == np.float64 else 1e-4
    resampled = _Resampled.of(model, rows.astype(float))
    influence, of_total = resampled.influence(model.explained_variance_, model.components_)
    shares = model.explained_variance_ratio_
    expected = _accelerated(variances, model.explained_variance_, influence, 0.8)
    assert result.variance_intervals == pytest.approx(expected, rel=rtol)
    expected = _accelerated(ratios, shares, influence - shares * of_total, 0.8)
    assert result.ratio_intervals == pytest.approx(expected, rel=rtol)
    expected = np.moveaxis(np.quantile(loadings, (0.1, 0.9), axis=0), 0, -1)
    assert result.loading_intervals == pytest.approx(expected, abs=100 * rtol)
    cosines = np.abs(np.einsum("bkd,kd->bk", loadings, model.components_)).mean(axis=0)
    assert result.agreement == pytest.approx(cosines, abs=10 * rtol)
    assert result.variances == pytest.approx(model.explained_variance_, rel=rtol)


def test_influence_is_the_derivative_by_the_weight_of_a_row():
    for rows, given in ((X, {}), (X, {"scale": "unit"}), (X, {"center": False, "ddof": 0}), (WIDE, {})):
        model = PCA(2, **given).fit(rows)
        resampled, n = _Resampled.of(model, rows), len(rows)
        values, total, axes = resampled.components(np.ones(n), 2)
        influence, of_total = resampled.influence(values, axes)
        for i in range(0, n, 7):
            weights = np.ones(n)
            weights[i] += 1e-4
            more, whole, _ = resampled.components(weights, 2)
            weights[i] -= 2e-4
            less, lower, _ = resampled.components(weights, 2)
            slope = (more - less) / 2e-4 * (n - model.ddof)
            # Dividing by n - ddof and not by n shifts all rows alike, by a little.
            assert slope == pytest.approx(influence[i], abs=1e-3 * values[0])
            slope = (whole - lower) / 2e-4 * (n - model.ddof)
            assert slope == pytest.approx(of_total[i, 0], abs=1e-3 * total)


def test_intervals_of_a_mean_are_those_of_scipy():
    values = np.random.default_rng(3).exponential(size=40)
    known = bootstrap((values,), np.mean, n_resamples=500, method="BCa", rng=np.random.default_rng(0))
    estimate, influence = values.mean(keepdims=True), (values - values.mean())[:, None]
    ours = _accelerated(known.bootstrap_distribution[:, None], estimate, influence, 0.95)[0]
    assert ours == pytest.approx(list(known.confidence_interval), rel=5e-3)


def test_intervals_cover_planted_variances():
    planted, tables = np.array([16.0, 6.0, 2.0, 0.5]), 40
    covered = 0
    for seed in range(tables):
        rows = np.random.default_rng(seed).standard_normal((150, 4)) * np.sqrt(planted)
        result = gramian.stability(PCA(3).fit(rows), rows, n_boot=60, random_state=seed)
        low, high = result.variance_intervals.T
        covered += int(((low <= planted[:3]) & (planted[:3] <= high)).sum())
    # 114 of 120 is the nominal rate; below 103 or above 119 has a probability of less than 0.1 %.
    assert 103 <= covered <= 119


def test_results_are_reproducible_and_level_widens():
    model = PCA(3).fit(X)
    first, again, other = (gramian.stability(model, X, n_boot=30, random_state=s) for s in (1, 1, 2))
    assert np.array_equal(first.loading_intervals, again.loading_intervals)
    assert not np.array_equal(first.variance_intervals, other.variance_intervals)
    narrow = gramian.stability(model, X, n_boot=30, random_state=1, level=0.5)
    assert (np.ptp(narrow.variance_intervals, axis=1) < np.ptp(first.variance_intervals, axis=1)).all()


def test_components_that_trade_places_are_read_together():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((120, 5)) * [8, 3, 3, 1, 0.3]
    result = gramian.stability(PCA(4).fit(rows), rows, n_boot=100, random_state=0)
    assert [list(group) for group in result.groups] == [[0], [1, 2], [3]]
    assert result.agreement[1] < 0.95 < result.group_agreement[1]
    assert "The intervals of PC2 to PC3 overlap" in str(result)


def test_equal_components_are_rotated_onto_each_other():
    angles = np.arange(60) * 2 * np.pi / 60
    circle = np.c_[np.cos(angles), np.sin(angles), 0.1 * np.cos(7 * angles)]
    result = gramian.stability(PCA(3).fit(circle), circle, n_boot=50, random_state=0)
    # Axes of a circle's replicates point anywhere, but their plane is the circle's.
    assert result.agreement[:2].min() > 0.99


def test_signs_of_loadings_and_tables():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    result = gramian.stability(PCA(3).fit(frame), frame, n_boot=50, random_state=0)
    assert result.feature_names == list("abcdef")
    low, high = result.loading_intervals[..., 0], result.loading_intervals[..., 1]
    assert np.array_equal(result.certain_signs, (low > 0) | (high < 0))
    assert 0 < result.certain_signs.sum() < result.certain_signs.size
    table = result.to_frame()
    assert list(table.index) == ["PC1", "PC2", "PC3"]
    assert table.loc["PC1", "variance_low"] == result.variance_intervals[0, 0]
    assert result._repr_html_().count("<tr>") == 4


def test_progress_is_reported():
    class Reporter:
        seen = 0

        def update(self, message, unit=None, done=0, total=0):
            self.seen += unit == "replicate"

    with report_to(Reporter()) as reporter:
        gramian.stability(PCA(2).fit(X), X, n_boot=7, random_state=0)
    assert reporter.seen == 8


def test_what_is_refused():
    model = PCA(2).fit(X)
    for other in (KernelPCA(2).fit(X), Whitener().fit(X)):
        with pytest.raises(gramian.InputTypeError, match="stability takes a fitted PCA"):
            gramian.stability(other, X)
    for rows in (X[:50], X + RNG.standard_normal(X.shape)):
        with pytest.raises(gramian.DataError, match="not those of the fit"):
            gramian.stability(model, rows)
    for given in ({"n_boot": 1}, {"level": 1.0}):
        with pytest.raises(gramian.ParameterError, match=next(iter(given))):
            gramian.stability(model, X, **given)
    with pytest.raises(gramian.MemoryLimitError, match="Use fewer components"):
        gramian.stability(model.set_params(memory_limit="10KB"), X)


def test_the_shell_prints_and_draws_the_intervals(tmp_path, capsys):
    pytest.importorskip("altair")
    np.save(tmp_path / "data.npy", X)
    model = PCA(3).fit(X)
    model.save(tmp_path / "model.gramian")
    asked = [str(tmp_path / "model.gramian"), str(tmp_path / "data.npy"), "--n-boot", "20"]
    assert main(["stability", *asked]) == 0
    result = gramian.stability(model, X, n_boot=20, random_state=0)
    assert capsys.readouterr().out.rstrip() == str(result)
    assert main(["stability", *asked, "--json", "-o", str(tmp_path / "intervals.svg")]) == 0
    assert '"agreement"' in capsys.readouterr().out
    assert (tmp_path / "intervals.svg").read_text().startswith("<svg")
    chart = gramian.plots.stability(result)
    assert chart.data["low"].to_pylist() == result.variance_intervals[:, 0].tolist()
