"""The monitor as an estimator: against its definitions, rates on new rows, files, streams, scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gramian
from gramian import PCA, KernelPCA, Monitor
from gramian.errors import (
    DataError,
    DiagnosticWarning,
    FewRowsWarning,
    MissingValuesWarning,
    ParameterError,
    UnavailableError,
)
from gramian.models.events import longest_runs
from gramian.models.monitor import monitor_of
from gramian.models.monitoring import of_all_rows, t2_limit
from gramian.report.tables import completed
from gramian.tables.as_rows import as_rows
from gramian.tables.table import Table

RNG = np.random.default_rng(0)
LOADINGS = RNG.normal(size=(3, 8))


def process(n, seed, noise=0.5):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) @ LOADINGS + noise * rng.normal(size=(n, 8)) + 5


X, NEW = process(1500, 1), process(20_000, 2)


def definition(model, rows):
    """T2 and SPE from the public attributes of a PCA."""
    scale = 1.0 if model.scale_ is None else model.scale_
    C = (rows - model.mean_) / scale
    scores = C @ model.components_.T
    T2 = (scores**2 / model.explained_variance_).sum(axis=1)
    return T2, ((C - scores @ model.components_) ** 2).sum(axis=1)


@parametrize_with_checks([Monitor(PCA(1)), Monitor(KernelPCA(1, kernel="rbf"))])
@pytest.mark.walk
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_statistics_of_pca_and_the_linear_kernel():
    for options in ({}, {"scale": "unit"}, {"whiten": True}, {"scale": "pareto", "whiten": True, "ddof": 0}):
        model = PCA(3, **options).fit(X)
        table = Monitor(model).fit(X).statistics(NEW[:200])
        for name, expected in zip(("T2", "SPE"), definition(model, NEW[:200]), strict=True):
            assert_allclose(table[name], expected, rtol=1e-9)
    single = Monitor(PCA(3)).fit(X.astype("f4")).statistics(NEW[:200].astype("f4"))
    assert_allclose(single["SPE"], definition(PCA(3).fit(X), NEW[:200])[1], rtol=1e-3)
    monitor = Monitor(PCA(3, scale="unit")).fit(X)
    table, parts = monitor.statistics(NEW[:50]), monitor.contributions(NEW[:50])
    for row in range(50):
        of_spe = table["SPE"][row] / table["SPE limit"][row] > table["T2"][row] / table["T2 limit"][row]
        values = parts["SPE" if of_spe else "T2"][row]
        assert table["contributor 1"][row] == f"x{np.argmax(values)}"
    pca, kernel = (Monitor(model).fit(X[:300]) for model in (PCA(3), KernelPCA(3)))
    landmarks = Monitor(KernelPCA(3, solver="nystroem", n_landmarks=20, random_state=0)).fit(X[:300])
    for other in (kernel, landmarks):
        expected, got = pca.statistics(NEW[:40]), other.statistics(NEW[:40])
        for name in ("T2", "SPE", "SPE limit"):
            assert_allclose(got[name], expected[name], rtol=1e-6)


def test_false_alarms_on_new_rows_of_any_kind():
    for alpha in (0.05, 0.01):
        for limit in ("empirical", "theory"):
            monitor = Monitor(PCA(3), alpha=alpha, limit=limit).fit(X)
            rate = np.mean(monitor.predict(NEW) == -1)
            assert alpha / 2 <= rate <= 2 * alpha, (alpha, limit, rate)
        own = monitor.statistics(X, rows="fit")
        assert alpha / 2 <= own.alarms.mean() <= 2 * alpha
        assert own["T2 limit"][0] == t2_limit(monitor.limits_.level, 1500, 3, of_fit=True)
    rates = {alpha: [] for alpha in (0.05, 0.01)}
    for seed in range(12):
        rows = remembering(1500, seed)
        for alpha, shares in rates.items():
            shares.append(np.mean(Monitor(PCA(3), alpha=alpha).fit(rows[:300]).predict(rows[300:]) == -1))
    assert 0.03 < np.mean(rates[0.05]) < 0.075
    assert 0.002 < np.mean(rates[0.01]) < 0.016
    # Neighbours depend on each other, and the noise has heavy tails.
    rng = np.random.default_rng(3)
    states = np.zeros((6000, 3))
    for t in range(1, 6000):
        states[t] = 0.9 * states[t - 1] + rng.standard_t(4, size=3)
    rows = states @ LOADINGS + rng.standard_t(4, size=(6000, 8))
    monitor = Monitor(PCA(3), alpha=0.01).fit(rows[:3000])
    assert "The limits by theory give" in str(monitor.limits_)
    assert 0.005 <= np.mean(monitor.predict(rows[3000:]) == -1) <= 0.02
    assert np.mean(monitor_of(monitor.model_).predict(rows[3000:]) == -1) > 0.03


def test_held_out_rows_are_those_of_models_without_them():
    monitor = Monitor(PCA(2, scale="unit"), cv=3).fit(X[:100])
    parts = np.array_split(np.arange(100), 3)
    expected = []
    for fold in parts:
        others = PCA(2, scale="unit").fit(np.delete(X[:100], fold, axis=0))
        expected.append(np.stack(definition(others, X[fold]), axis=1))
    expected, own = np.concatenate(expected), np.stack(definition(monitor.model_, X[:100]), axis=1)
    assert_allclose(monitor._held_out, of_all_rows(expected, own, 2 / 3), rtol=1e-9)
    # The same for a fitted model and the rows of its fit; other rows are held out already.
    fitted = PCA(2, scale="unit").fit(X[:100])
    same = Monitor(fitted, cv=3).fit(X[:100])
    assert same.model_ is fitted
    assert_allclose(same._held_out, monitor._held_out)
    other = Monitor(fitted).fit(X[100:300])
    assert_allclose(other._held_out, np.stack(definition(fitted, X[100:300]), axis=1))
    assert "explained_variance_" not in vars(monitor.model)


def test_few_rows_and_rows_that_depend_on_their_neighbours_are_named():
    with pytest.warns(FewRowsWarning, match="14 rows are few for limits with 3 components.*Fit at least 15"):
        monitor = Monitor(PCA(3)).fit(X[:14])
    assert "14 rows are few" in str(monitor.limits_)
    assert "rows are few" not in str(Monitor(PCA(3)).fit(X[:15]).limits_)
    monitor = Monitor(PCA(3)).fit(remembering(100, 0, 0.95))
    assert monitor.limits_.effective_rows < 15
    assert "100 rows say as much as" in str(monitor.limits_)
    assert "independent ones, which are few" in str(monitor.statistics(remembering(50, 1, 0.95)))
    rows = remembering(500, 1)
    for model in (PCA(3), PCA(3, whiten=True), KernelPCA(3)):
        limits = Monitor(model).fit(rows).limits_
        assert limits.held_out / 20 < limits.effective_rows < limits.held_out / 4
        assert "Normal rows depend on their neighbours: 500 held-out rows say as much" in str(limits)
    shuffled = Monitor(PCA(3)).fit(np.random.default_rng(1).permutation(rows)).limits_
    assert shuffled.effective_rows > 300
    assert "neighbours" not in str(shuffled)
    # Of new normal rows for a fitted model too; a model alone knows none.
    fitted = PCA(3).fit(rows)
    assert "neighbours" not in str(Monitor(fitted).fit(X).limits_)
    assert monitor_of(fitted).limits_.effective_rows is None


def remembering(n, seed, phi=0.9):
    rng = np.random.default_rng(seed)
    states, noise = rng.normal(size=(n, 3)), rng.normal(size=(n, 8))
    for t in range(1, n):
        states[t] += phi * states[t - 1]
        noise[t] += phi * noise[t - 1]
    return states @ LOADINGS + 0.5 * noise


def test_rows_next_to_a_fold_are_left_out_where_neighbours_depend(monkeypatch):
    rows, seen = remembering(200, 1), []
    fit = PCA.fit
    monkeypatch.setattr(PCA, "fit", lambda self, X, y=None: (seen.append(X.shape[0]), fit(self, X, y))[1])
    Monitor(PCA(3), cv=4).fit(rows)
    gap = 150 - seen[1]
    assert 2 < gap <= 25
    assert seen == [200, 150 - gap, 150 - 2 * gap, 150 - 2 * gap, 150 - gap]


def test_few_rows_with_heavy_tails_say_so_and_are_not_left_to_theory():
    rates, heavy = [], 0
    for seed in range(20):
        rows = np.random.default_rng(seed).standard_t(4, size=(1100, 11)) @ np.vstack([LOADINGS, np.eye(8)])
        monitor = Monitor(PCA(3), alpha=0.01).fit(rows[:100])
        rates.append(np.mean(monitor.predict(rows[100:]) == -1))
        if "as with heavy tails" in str(monitor.limits_):
            heavy += 1
            assert "as with heavy tails" in str(monitor.statistics(rows[100:]))
            for place, value in enumerate(monitor.limits_.deciding().values()):
                assert value >= monitor._held_out[:, place].max()
    assert heavy >= 10
    assert np.mean(rates) < 0.028
    normal = [Monitor(PCA(3), alpha=0.01).fit(X[start : start + 100]) for start in range(0, 1500, 100)]
    assert sum("heavy" in str(one.limits_) for one in normal) <= 2
    # As many rows as the rank needs have it.
    assert "heavy" not in str(Monitor(PCA(3), alpha=0.01).fit(rows[:200]).limits_)


def test_rows_with_missing_values():
    rng = np.random.default_rng(5)
    holed = np.where(rng.random((300, 8)) < 0.2, np.nan, X[:300])
    new = np.where(rng.random((4000, 8)) < 0.2, np.nan, NEW[:4000])
    determined = (~np.isnan(new)).sum(axis=1) > 3
    for method in ("em", "iterative"):
        monitor = Monitor(PCA(3, missing=method), alpha=0.05).fit(holed)
        for rows in (new[determined], NEW[:4000]):
            assert 0.015 <= np.mean(monitor.predict(rows) == -1) <= 0.09, method
        # An entry that is far off is an alarm, and the column has the largest contribution.
        odd = new[determined][:200].copy()
        odd[:, 2] = np.where(np.isnan(odd[:, 2]), np.nan, odd[:, 2] + 9)
        table, parts = monitor.statistics(odd), monitor.contributions(odd)
        has = ~np.isnan(odd[:, 2])
        assert table.alarms[has].mean() > 0.95
        assert (table["contributor 1"][has] == "x2").mean() > 0.6
        for name, part in parts.items():
            assert (part <= table[name][:, None] * (1 + 1e-9)).all()
            assert (part[np.isnan(odd)] == 0).all()
        # The rows of the fit are recognised, with their holes and as the model completes them.
        own = monitor.statistics(holed, rows="fit")
        for rows in (holed, monitor.model_.impute(holed)):
            found = monitor.statistics(rows, rows="auto")
            assert found["T2 limit"][0] == monitor.limits_.deciding("fit")["T2"]
            assert_allclose(found["T2"], own["T2"])
        with pytest.raises(ParameterError, match=r"gives rows with missing values too small a T2 and SPE\."):
            Monitor(PCA(3, missing="mean")).fit(holed)
        with pytest.raises(DataError, match='rows="fit", but these 300 rows are not the 300 rows of'):
            monitor.statistics(new[:300], rows="fit")
    # Without holes the monitor is the one of a plain PCA; a model of complete rows may map holes too.
    whole, plain = Monitor(PCA(3, missing="em")).fit(X[:300]), Monitor(PCA(3)).fit(X[:300])
    assert_allclose(whole._held_out, plain._held_out, rtol=1e-6)
    every = Monitor(PCA(missing="em")).fit(holed[:60, :4])  # all components, but fewer impute
    assert set(every.limits_.deciding()) == {"T2"}
    assert every.limits_.held_out == 60
    mapping = Monitor(PCA(3, missing="projection")).fit(X)
    assert_allclose(mapping.predict(new[determined]) == -1, mapping.statistics(new[determined]).alarms)


def test_rows_that_determine_no_statistics_and_completed_tables():
    holed = np.where(np.random.default_rng(5).random((300, 8)) < 0.2, np.nan, X[:300])
    monitor = Monitor(PCA(3, missing="em")).fit(holed)
    rows = NEW[:4].copy()
    rows[1], rows[2, 3:] = np.nan, np.nan
    rows[2, 0] += 1000
    with pytest.warns(MissingValuesWarning, match="1 row has too few observed entries.*: row 1"):
        table = monitor.statistics(rows)
    assert_array_equal(np.isnan(table["T2"]), [False, True, False, False])
    assert_array_equal(np.isnan(table["SPE"]), [False, True, True, False])
    assert table["alarm"].tolist() == ["", "", "T2", ""]
    assert table.worst(1)[0] == 2
    with pytest.warns(MissingValuesWarning, match="too few observed entries"):
        assert_array_equal(monitor.predict(rows), [1, 1, -1, 1])
    rows[0, 0] = np.inf
    with pytest.raises(DataError, match=r"Input X contains inf \(infinity\): row 0, column 0\. Replace"):
        monitor.predict(rows)
    with pytest.raises(DataError, match=r"T2 or SPE of a row overflows float64\. Leave out such"):
        monitor.predict(np.where(np.isinf(rows), 1e200, rows)[[0, 3]])
    holed = np.where(np.random.default_rng(5).random((100, 8)) < 0.3, np.nan, X[:100])
    model = PCA(2, missing="em").fit(holed)
    holed[3] = np.nan
    table = completed(model, Table(holed))
    expected = monitor_of(model).statistics(np.delete(holed, 3, axis=0))
    assert_array_equal(monitor_of(model).statistics(table)["SPE"], expected["SPE"])


def test_decision_score_and_table_agree():
    monitor = Monitor(PCA(3), alpha=0.05).fit(X)
    rows = NEW[:500].copy()
    rows[7, 2] += 9
    table, decision = monitor.statistics(rows), monitor.decision_function(rows)
    ratio = np.maximum(table["T2"] / table["T2 limit"], table["SPE"] / table["SPE limit"])
    assert_allclose(decision, 1 - ratio)
    assert_allclose(monitor.score_samples(rows), -ratio)
    assert_array_equal(monitor.predict(rows) == -1, table.alarms)
    for name in ("T2", "SPE"):
        said = [name in text for text in table["alarm"]]
        assert_array_equal(said, table[name] > table[f"{name} limit"])
    assert (table.worst(1)[0], table["contributor 1"][7]) == (7, "x2")
    assert f"{table.alarms.sum()} alarms in 500 rows. Limits for 5.00 % false alarms: " in str(table)
    assert "The 10 largest:" in str(table)
    assert list(table.to_frame().columns) == list(table.columns)
    assert_array_equal(monitor.fit(X).predict(X), clone(monitor).fit_predict(X))


def test_kernel_statistics_and_gradients_are_their_definitions():
    rows, new = X[:120], NEW[:15]
    model = KernelPCA(4, kernel="rbf", gamma=0.02).fit(rows)
    monitor = Monitor(model).fit(X[200:400])

    def statistics(points):
        def k(A, B):
            return np.exp(-0.02 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

        own = 1 - 2 * k(points, rows).mean(axis=1) + k(rows, rows).mean()
        scores = model.transform(points)
        return (scores**2 / model.explained_variance_).sum(axis=1), own - (scores**2).sum(axis=1)

    table, parts = monitor.statistics(new), monitor.contributions(new)
    for name, expected in zip(("T2", "SPE"), statistics(new), strict=True):
        assert_allclose(table[name], expected, rtol=1e-8)
    step = 1e-5
    for j, shift in enumerate(step * np.eye(8)):
        both = zip(statistics(new + shift), statistics(new - shift), strict=True)
        by_t2, by_spe = ((up - down) / (2 * step) for up, down in both)
        assert_allclose(parts["T2"][:, j], 0.5 * (new - rows.mean(axis=0))[:, j] * by_t2, atol=1e-6)
        assert_allclose(parts["SPE"][:, j], (0.5 * by_spe) ** 2, atol=1e-8)


def test_kernels_without_derivatives_or_spe():
    model = KernelPCA(2, kernel=lambda x, y: float(np.exp(-np.abs(x - y).sum() / 9)))
    monitor = Monitor(model).fit(X[:40])
    assert set(monitor.statistics(NEW[:5])["contributor 1"]) == {""}
    with pytest.raises(UnavailableError, match=r"the kernel\. rbf, rq, and matern with nu"):
        monitor.contributions(NEW[:5])
    K = X[:60] @ X[:60].T
    for model, rows, said in (
        (KernelPCA(2, kernel="precomputed"), K, "a precomputed kernel has no k"),
        (KernelPCA(2), sparse.csr_array(X[:60]), "no SPE for a kernel PCA of sparse rows"),
    ):
        monitor = Monitor(model, alpha=0.1).fit(rows)
        scores = monitor.model_.transform(rows)
        expected = (scores**2 / monitor.model_.explained_variance_).sum(axis=1)
        table = monitor.statistics(rows, rows="auto")
        assert_allclose(table["T2"], expected)
        assert table["T2 limit"][0] == monitor.limits_.deciding("fit")["T2"]
        assert ("SPE" in table.columns, said in str(monitor.limits_)) == (False, True)
        assert set(table["contributor 1"]) == {""}
        with pytest.raises(UnavailableError, match=r"contributions need the derivative of the kernel\."):
            monitor.contributions(rows)


def test_all_components_leave_no_spe_but_rounding():
    monitor = Monitor(PCA()).fit(X[:200])
    assert "No component was discarded, so rows have no distance from the components (no SPE)." in str(
        monitor.limits_
    )
    table = monitor.statistics(NEW[:5])
    assert "SPE" not in table.columns
    assert_allclose(table["T2"], definition(monitor.model_, NEW[:5])[0])
    assert set(monitor.contributions(NEW[:5])) == {"T2"}
    plane = (RNG.normal(size=(200, 2)) @ RNG.normal(size=(2, 6))).astype("f4")
    for rows in (plane, plane.astype("f8")):
        assert "(no SPE)" in str(Monitor(PCA(2)).fit(rows).limits_)
    # A little noise is a discarded component.
    methods = [
        one.method for one in Monitor(PCA(2)).fit(rows + 1e-4 * RNG.normal(size=(200, 6))).limits_.limits
    ]
    assert "Jackson-Mudholkar" in methods


def test_variances_that_the_model_does_not_know_follow_from_the_rows_of_the_fit(monkeypatch):
    rows = RNG.normal(size=(500, 200)) * 0.97 ** np.arange(200)

    def limit(monitor):
        return {one.method: one.value for one in monitor.limits_.limits}.get("Jackson-Mudholkar")

    unknown, whole = PCA(2, solver="krylov", random_state=0), PCA(2, solver="full")
    assert limit(Monitor(unknown).fit(rows)) == pytest.approx(limit(Monitor(whole).fit(rows)), rel=1e-5)
    fitted = unknown.fit(rows)
    assert limit(monitor_of(fitted, rows)) == pytest.approx(limit(monitor_of(whole.fit(rows))), rel=1e-5)
    assert "not all known" in str(monitor_of(fitted).limits_)
    assert limit(Monitor(fitted).fit(1.1 * rows)) is None
    monkeypatch.setattr("gramian.models.monitoring.MOST_COLUMNS", 100)
    assert limit(Monitor(fitted).fit(rows)) is None


def test_a_stream_is_watched_by_rows_that_it_has_not_seen():
    stream = PCA(3, forgetting=0.7)
    for batch in np.array_split(X[:1000], 10):
        stream.partial_fit(batch)
    monitor = Monitor(stream, alpha=0.05).fit(X[1000:])
    assert monitor.limits_.held_out == 500
    _beta, F = (one.value for one in monitor.limits_.limits[:2])
    assert t2_limit(monitor.limits_.level, stream._moments.effective, 3) == F
    assert not hasattr(monitor, "partial_fit")


def test_rows_of_a_frame_have_its_names_and_times():
    frame = pd.DataFrame(remembering(400, 1), columns=list("abcdefgh"), index=[f"h{i}" for i in range(400)])
    named = Monitor(PCA(4)).fit(frame)
    assert named.statistics(frame)["row"][:2].tolist() == ["h0", "h1"]
    for start, unit, zone in (
        ("2024-03-31", "s", None),
        ("2024-03-31 00:00:00.1", "ns", None),
        (0, "", "CET"),
    ):
        times = pd.date_range(start, periods=400, freq="7min", tz=zone, unit="ns")
        events = named.statistics(frame.set_index(times) + 9).events
        expected = times.astype(str) if zone else times.values
        assert events["start"][0] == expected[0]
        assert zone or events["start"].dtype == f"M8[{unit}]"


def test_events_begin_with_the_columns_that_begin_them():
    monitor, new = Monitor(PCA(3), alpha=0.01, consecutive=3).fit(X), NEW[:400].copy()
    new[100:160, 2] += 6.0  # a step, which another column follows later, and more
    new[110:160, 6] += 15.0
    table = monitor.statistics(new)
    events = table.events
    assert len(events) == 1
    assert (events["start"][0], events["end"][0], events["length"][0]) == (100, 159, 60)
    assert events["alarms"][0] == table.alarms[100:160].sum()
    assert events["variable 1"][0] == "x2"
    excess = np.maximum(table["T2"] / table["T2 limit"], table["SPE"] / table["SPE limit"])
    assert events["excess"][0] == pytest.approx(excess[100:160].max())
    # By their contributions to the larger statistic relative to its limit, over the first three alarms.
    first = 100 + np.flatnonzero(table.alarms[100:])[:3]
    parts, total = monitor.contributions(new), np.zeros(8)
    for i in first:
        name = max(("T2", "SPE"), key=lambda one: table[one][i] / table[f"{one} limit"][i])
        total += parts[name][i] / table[f"{name} limit"][i]
    for place, j in enumerate(np.argsort(-total)[:3]):
        assert events[f"variable {place + 1}"][0] == f"x{j}"
    whole = sum(part[100:160].mean(axis=0) / table[f"{name} limit"][0] for name, part in parts.items())
    assert np.argmax(whole) != 2  # over the whole run others contribute more
    assert "1 event of at least 3 alarms in a row." in str(table)
    assert events.to_frame()["start"].tolist() == [100]
    # Without a run there is no event; and every alarm is one without a rule.
    assert len(monitor.statistics(NEW[:100]).events) == 0
    every = Monitor(PCA(3), alpha=0.05).fit(X).statistics(NEW[:400])
    assert every.events["alarms"].sum() == every.alarms.sum() > 0
    kernel = Monitor(KernelPCA(2, kernel=lambda x, y: float(x @ y))).fit(X[:40])
    assert set(kernel.statistics(new[95:120]).events["variable 1"]) == {""}


def test_run_rules_count_false_events_and_delays():
    monitor = Monitor(PCA(3), alpha=0.05).fit(X)
    faulty = NEW[:50].copy()
    faulty[4:, 2] += 9
    rules = monitor.run_rules(NEW, faulty=faulty, consecutive=(1, 2, 3))
    alarms = monitor.predict(NEW) == -1
    edges = np.diff(np.concatenate([[False], alarms, [False]]).astype(int))
    lengths = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    assert rules.false_events[0] == len(lengths)
    assert rules.false_events[2] == (lengths >= 3).sum()  # none so near to another that they are one
    assert rules.delays.tolist()[1:] == [6, 7]
    frame = rules.to_frame()
    assert_allclose(frame["per 1,000 rows"], rules.false_events / 20)
    held_out = monitor.run_rules()
    assert held_out.rows == 1500
    assert held_out.delays is None
    assert 0.03 < held_out.false_events[0] / 1500 < 0.06
    assert "consecutive" in str(held_out)
    with pytest.raises(DataError, match="Give normal rows"):
        monitor_of(monitor.model_).run_rules()


def test_saved_and_loaded(tmp_path):
    frame = pd.DataFrame(X, columns=[f"sensor {j}" for j in range(8)])
    monitors = [
        Monitor(PCA(3, scale="unit"), alpha=0.05).fit(frame),
        Monitor(KernelPCA(3, kernel="rbf", gamma=0.01)).fit(X[:200]),
        Monitor(PCA()).fit(X),
    ]
    for monitor in monitors:
        monitor.save(tmp_path / "m.gramian")
        again = gramian.load(tmp_path / "m.gramian")
        named = getattr(monitor, "feature_names_in_", None) is not None
        rows = pd.DataFrame(NEW[:99], columns=frame.columns) if named else NEW[:99]
        before, after = monitor.statistics(rows), again.statistics(rows)
        for name in before.columns:
            assert_array_equal(before[name], after[name])
        assert str(again.limits_) == str(monitor.limits_)
        assert again.get_params(deep=False) | {"model": None} == monitor.get_params(deep=False) | {
            "model": None
        }
    assert after.columns["contributor 1"][0].startswith("x")
    assert gramian.load(tmp_path / "m.gramian").model is not None


def test_files_larger_than_memory_give_the_same(tmp_path):
    rows = process(90_000, 4)
    np.save(tmp_path / "x.npy", rows)
    scan = gramian.scan(tmp_path / "x.npy")
    landmarks = KernelPCA(3, kernel="rbf", gamma=0.01, solver="nystroem", landmarks=X[:30])
    for model in (PCA(3), landmarks):
        whole = Monitor(model, cv=2).fit(rows)
        small = Monitor(clone(model).set_params(memory_limit=20_000_000), cv=2).fit(scan)
        assert not small._new_rows(scan).free_to_revisit  # it stays in its file
        assert_allclose(small._held_out, whole._held_out, rtol=1e-5, atol=1e-9)
        assert_allclose(small.statistics(scan)["SPE"], whole.statistics(rows)["SPE"], rtol=1e-5)


def test_every_kind_of_rows_gives_the_same():
    rows, expected = X[:400], Monitor(PCA(3)).fit(X[:400])
    dask = pytest.importorskip("dask.array").from_array(rows, chunks=(150, 8))
    kinds = [dask, iter(np.array_split(rows, 3)), pd.DataFrame(rows, columns=list("abcdefgh"))]
    for given in [*kinds, sparse.csr_array(rows)]:
        monitor = Monitor(PCA(3)).fit(given)
        assert_allclose(monitor._held_out, expected._held_out)
    assert_allclose(expected.statistics(dask)["SPE"], expected.statistics(rows)["SPE"])
    pictures = Monitor(PCA(3)).fit(rows.reshape(400, 2, 4)).statistics(rows.reshape(400, 2, 4))
    assert_allclose(pictures["SPE"], expected.statistics(rows)["SPE"])
    assert set(pictures["contributor 1"]) <= {f"r{i}c{j}" for i in range(2) for j in range(4)}


def test_tensors_give_the_same():
    torch = pytest.importorskip("torch")
    for model in (PCA(3), KernelPCA(3, kernel="rbf", gamma=0.01)):
        expected, got = (Monitor(clone(model)).fit(rows) for rows in (X[:200], torch.from_numpy(X[:200])))
        assert_allclose(got._held_out, expected._held_out, rtol=1e-6)
        predicted = got.predict(torch.from_numpy(NEW[:50]))
        assert_array_equal(predicted, expected.predict(NEW[:50]))


def test_a_monitor_of_the_model_alone():
    model = PCA(3).fit(X)
    monitor = monitor_of(model, alpha=0.05)
    assert {one.method for one in monitor.limits_.limits if one.decides} == {"Beta", "F", "Jackson-Mudholkar"}
    assert abs(np.mean(monitor.predict(NEW) == -1) - 0.05) < 0.02
    assert monitor_of(monitor) is monitor
    other = monitor_of(Monitor(model, alpha=0.2, limit="theory").fit(X), normal=NEW[:500])
    assert (other.limits_.alpha, other.limits_.held_out, other.limit) == (0.2, 500, "theory")
    with pytest.raises(ParameterError, match=r"alpha=0\.2 is not used: a saved monitor has its own\. Leave"):
        monitor_of(monitor, alpha=0.2)
    kernel = KernelPCA(2, kernel="rbf", solver="nystroem", n_landmarks=20, random_state=0).fit(X[:200])
    table = monitor_of(kernel).statistics(NEW[:9])
    assert table["SPE limit"][0] == np.inf
    assert "SPE has no limit" in str(table.limits)
    own = monitor_of(kernel, X[:200])
    assert [one.method for one in own.limits_.limits if one.rows == "fit"] == ["Beta", "Box"]
    assert own.statistics(X[:200], rows="auto")["SPE limit"][0] < np.inf


def test_a_reference_period_fits_the_model_again_and_sets_the_limits():
    hours = np.datetime64("2024-05-01T00:00") + np.arange(400) * np.timedelta64(1, "h")
    names = tuple(str(hour).replace("T", " ") for hour in hours)
    table = Table(X[:400] + np.where(np.arange(400) < 300, 0, 3)[:, None] * np.eye(8)[2], row_names=names)
    model = PCA(3).fit(table)
    expected = Monitor(PCA(3)).fit(X[24:96]).statistics(table.values)
    for ends in (
        ("24", "95"),
        ("95", "24"),
        ("2024-05-02 00:00", "2024-05-04 23:00"),
        ("2024-05-02", "2024-05-04"),
        ("2024-05-02T00", "2024-05-04 23"),
        ("2024-05-02 00:00", "2024-05-04"),
    ):
        watch = monitor_of(model, table, reference=ends)
        assert_allclose(watch.statistics(table)["SPE"], expected["SPE"], err_msg=str(ends))
        assert watch.limits_.held_out == 72
    assert expected["alarm"][300:].astype(bool).mean() > 0.9
    one = monitor_of(model, table, reference=("2024-05-02T01:00", "2024-05-02 23:00"))
    assert one.limits_.held_out == 23
    mixed = Table(
        table.values[::-1].copy(), row_names=(*names[200:], *names[:200])
    )  # not in the order of time
    assert monitor_of(model, mixed, reference=("2024-05-09", "2024-05-09")).limits_.held_out == 24
    saved = monitor_of(Monitor(model, alpha=0.2).fit(table), table, reference=("24", "95"))
    assert (saved.alpha, saved.model_.n_samples_) == (0.2, 72)
    for ends, said in (
        (("2025", "2026-01"), "is neither a row nor a group"),
        (
            ("2025-01", "2026-01"),
            r"has 0 rows of memory, too few for limits. Rows are from 2024-05-01 00:00 to 2024-05-17 15:00",
        ),
        (("24",), "is not two rows. Give the first and the last one"),
    ):
        with pytest.raises(ParameterError, match=said) as raised:
            monitor_of(model, table, reference=ends)
        assert raised.value.parameter == "reference"
    with pytest.raises(ParameterError, match="is not used with normal"):
        monitor_of(model, table, reference=("1", "50"), normal=X[:100])


def test_a_period_in_which_the_logger_was_off_for_a_while_sets_limits():
    holed = X[:150].copy()
    holed[[3, 40, 41]], holed[70, 0] = np.nan, np.nan
    table, model = Table(holed), gramian.PCA(2, missing="em")
    watch = monitor_of(model.fit(np.delete(holed, [3, 40, 41], axis=0)), table, reference=("0", "99"))
    assert watch.model_.n_samples_ == watch.limits_.held_out == 97


def test_refusals():
    for model in (gramian.Whitener(), None):
        with pytest.raises(ParameterError, match=r", but must be a PCA or a KernelPCA\."):
            Monitor(model).fit(X[:50])
    for options, message in [
        ({"alpha": 0.0}, r"alpha=0\.0 must be a number above 0"),
        ({"limit": "sigma"}, r"is not known\. Allowed:"),
        ({"cv": 1}, "cv=1 must be a whole number of at"),
    ]:
        with pytest.raises(ParameterError, match=message):
            Monitor(PCA(1), **options).fit(X)
    with pytest.raises(ParameterError, match=r"cv=100 but 40 rows have at most 40 folds\. Use a smaller"):
        Monitor(PCA(1), cv=100).fit(X[:40])
    with pytest.raises(DataError, match="9 rows and 8 components leave no degrees of freedom: T2"):
        Monitor(PCA(8)).fit(X[:9])
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        Monitor(PCA(1)).fit(X, sample_weight=np.ones(len(X)))
    for rows in (X[:10], NEW[: len(X)]):
        with pytest.raises(DataError, match=r'0 rows are not the 1,500 rows of the fit\. Use rows="new"\.'):
            Monitor(PCA(2)).fit(X).statistics(rows, rows="fit")
    holes = X[:60].copy()
    holes[3, 2] = np.nan
    monitor = Monitor(PCA(2)).fit(X)
    for call in (Monitor(PCA(2)).fit, monitor.predict, monitor.statistics, monitor.contributions):
        with pytest.raises(DataError, match=r"Input X contains NaN: row 3, column 2\."):
            call(holes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gramian.errors.RankWarning)
        with pytest.raises(DataError, match="The model has rank 0: its rows do not vary, so no row"):
            Monitor(PCA(1)).fit(np.ones((30, 3)))


def plant(n, seed):
    """Return rows of 9 sensors that follow 3 autoregressive factors."""
    rng = np.random.default_rng(seed)
    factors = lfilter([0.6], [1.0, -0.8], rng.normal(size=(n + 100, 3)), axis=0)[100:]
    return factors @ np.random.default_rng(99).normal(size=(3, 9)) + 0.4 * rng.normal(size=(n, 9))


def test_runs_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    for n in (1, 2, 50):
        Z = rng.integers(0, 3, (n, 4)) * np.array([1, 0, 0.5, 1])
        Z[rng.random(Z.shape) < 0.1] = np.nan
        for j, (length, begin) in enumerate(zip(*longest_runs(Z), strict=True)):
            lengths = [next((m for m in range(1, n - i) if Z[i + m, j] != Z[i, j]), n - i) for i in range(n)]
            assert (length, begin) == (max(lengths), int(np.argmax(lengths)))


def test_rows_out_of_order_are_warned_of():
    frame = pd.DataFrame(plant(400, 1), index=pd.date_range("2024-03-01", periods=400, freq="5min"))
    plain, named = Monitor(PCA(3)).fit(frame), tuple(map(str, frame.index))
    plain.statistics(frame.drop(frame.index[50:60]))
    for names in (named, tuple(f"{name}+01:00" for name in named)):
        with pytest.warns(DiagnosticWarning, match=r"399 rows are earlier .* row 1 .*Sort rows by time"):
            plain.statistics(Table(frame.to_numpy()[::-1].copy(), row_names=names[::-1]))
    with pytest.warns(DiagnosticWarning, match="Sort rows by time: events are runs of"):
        plain.statistics(frame[::-1])


def test_a_sensor_that_freezes_is_named(tmp_path):
    normal, new = X[:300].round(1), NEW[:150].round(1)
    new[60:, 3] = new[60, 3]
    expected = longest_runs(normal)[0][3]
    for model in (PCA(3), KernelPCA(3, kernel="rbf"), PCA(3, missing="em")):
        monitor = Monitor(model).fit(normal)
        table = monitor.statistics(new)
        (found,) = table.frozen
        assert found == ("x3", 60, 90, expected), model
        assert str(found) in str(table)
        assert str(found).startswith("x3 has one value in 90 rows from 60 on, and for at most 2 rows in the")
        assert monitor.statistics(NEW[:150].round(1)).frozen == ()
        monitor.save(tmp_path / "monitor.gramian")
        assert gramian.load(tmp_path / "monitor.gramian").statistics(new).frozen == (found,)
    # A name or a time of a row is that of a frame, and files of before have no record of runs.
    frame = pd.DataFrame(new, index=pd.date_range("2026-01-01", periods=150, freq="min"))
    monitor = Monitor(PCA(3)).fit(pd.DataFrame(normal))
    assert "from 2026-01-01T01:00:00 on" in str(monitor.statistics(frame).frozen[0])
    del monitor._runs
    monitor.save(tmp_path / "monitor.gramian")
    assert gramian.load(tmp_path / "monitor.gramian").statistics(frame).frozen == ()
    # Rows of the fit are not looked at.
    assert Monitor(PCA(3)).fit(new).statistics(new, rows="fit").frozen == ()
    assert monitor_of(PCA(3).fit(normal)).statistics(new).frozen == ()


def test_false_alarms_of_frozen_columns():
    rng, count, n = np.random.default_rng(0), 2000, 300
    noise = rng.standard_normal((2 * n + 500, count))
    slow = lfilter([np.sqrt(1 - 0.98**2)], [1, -0.98], noise, axis=0)[500:]
    cases = {
        "Gaussian": noise[500:],
        "rounded": noise[500:].round(1),
        "whole numbers": noise[500:].round(),
        "a few values": (noise[500:] / 2).round(),
        "counts of rare events": rng.poisson(0.1, (2 * n, count)),
        "slow": slow,
        "slow, rounded": slow.round(1),
        "slow, a few values": slow.round(),
        "on and off": (rng.random((2 * n, count)) < 0.02).cumsum(axis=0) % 2,
    }
    for name, Z in cases.items():
        # The first rows of each column as the normal ones, the others as new ones, by the monitor itself.
        Z = np.column_stack([noise[500:, :3], Z])
        monitor = Monitor(PCA(2)).fit(Z[:n, :4])
        lengths = longest_runs(Z[:n])[0]
        monitor._runs = np.where(lengths <= 0.1 * n, lengths, 0)[3:]
        monitor.model_ = PCA(2).fit(Z[:n, 3:])
        share = len(monitor._frozen(as_rows(Z[n:, 3:]), np.arange(n))) / count
        assert share <= 0.005, (name, share)
        rare = name in ("counts of rare events", "slow, a few values", "on and off")
        assert rare or (monitor._runs > 0).mean() > 0.9, name


def test_rows_are_named_by_any_index():
    X = np.random.default_rng(0).normal(size=(300, 4))
    for index in (
        pd.Index(np.random.default_rng(1).permutation(300)),
        pd.RangeIndex(1000, 1300),
        pd.MultiIndex.from_product([range(3), range(100)]),
    ):
        frame = pd.DataFrame(X, columns=list("abcd"), index=index)
        result = Monitor(PCA(2)).fit(frame).statistics(frame + 50 * (np.arange(300) == 41)[:, None])
        assert list(result["row"]) == list(index) if index.nlevels == 1 else True
        assert str(result["row"][41]) == str(index[41])
        assert str(result.events["start"][0]) == str(index[result.events.runs[0].start])
    X = np.random.default_rng(0).normal(size=(40, 3))
    names = tuple(f"2024-05-01 {hour}:99" for hour in range(60, 100))
    monitor = gramian.Monitor(gramian.PCA(1)).fit(X)
    assert monitor.statistics(Table(X, row_names=names))["row"][0] == "2024-05-01 60:99"
