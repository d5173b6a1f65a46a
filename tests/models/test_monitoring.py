"""T squared, SPE, their limits and contributions against the formulas written out and simulated rates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from gramian.models.monitoring import (
    Known,
    LinearStatistics,
    box_limit,
    control_limits,
    correlation_times,
    empirical_limits,
    equally_probable,
    of_all_rows,
    spe_limit,
    t2_limit,
    top_contributors,
)

RNG = np.random.default_rng(0)


def components(X, k):
    """Mean, directions, all variances of the covariance, by its eigenvectors."""
    mean = X.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    return mean, vectors[:, ::-1][:, :k].T, values[::-1]


def linear(P, variances, noise=None):
    return LinearStatistics(directions=P, variances=variances, blocks=iter, noise=noise)


def reconstructed(row, M, i):
    """By how much a statistic ``x.T M x`` falls if column i is what makes it smallest."""
    unit = np.eye(len(row))[i]
    return (unit @ M @ row) ** 2 / (unit @ M @ unit)


def test_contributions_are_by_reconstruction():
    X = RNG.normal(size=(40, 6)) @ RNG.normal(size=(6, 6))
    _mean, P, values = components(X, 2)
    statistics = linear(P, values[:2])
    C = RNG.normal(size=(7, 6))
    for place, M in enumerate((P.T @ np.diag(1 / values[:2]) @ P, np.eye(6) - P.T @ P)):
        parts, before = statistics.contributions(C)[place], statistics.measured(C)[:, place]
        assert_allclose(parts, [[reconstructed(row, M, i) for i in range(6)] for row in C])
        for i in range(6):  # the least value over all values of the column
            values_of_column = np.linspace(-30, 30, 20_001)
            rows = np.repeat(C[:1], 20_001, axis=0)
            rows[:, i] = values_of_column
            least = statistics.measured(rows)[:, place].min()
            assert_allclose(before[0] - least, parts[0, i], atol=1e-4)
        assert (parts <= before[:, None] * (1 + 1e-9)).all()
        # A fault in one column alone has the largest contribution there (Alcala and Qin 2009).
        alone = statistics.contributions(5 * np.eye(6))[place]
        assert_allclose(alone.max(axis=1), np.diag(alone))
        # Complete decompositions sum to the statistic.
        assert_allclose(np.sum(C * (C @ M), axis=1), before)
    # Columns without a say have none: constant ones, and those that components give back.
    P = np.array([[1.0, 0, 0], [0, 0.6, 0.8]])
    to_t2, to_spe = linear(P[1:], values[:1]).contributions(np.array([[3.0, 1.0, 1.0]]))
    assert (to_t2[0, 0], to_t2[0, 1] > 0) == (0, True)
    to_t2, to_spe = linear(P, values[:2]).contributions(np.array([[3.0, 1.0, 1.0]]))
    assert (to_spe[0, 0], to_spe[0, 1] > 0) == (0, True)
    large = linear(P, 1e300 * values[:2]).contributions(1e150 * np.array([[3.0, 1.0, 1.0]]))[0]
    assert_allclose(large, to_t2)


def test_statistics_of_incomplete_rows_are_their_definitions():
    rng = np.random.default_rng(1)
    P = np.linalg.qr(rng.normal(size=(6, 2)))[0].T
    variances, s = np.array([5.0, 2.0]), 0.5
    model = linear(P, variances, s)
    W = P.T * np.sqrt(variances - s)
    C = rng.normal(size=(40, 6))
    C[:30][rng.random(size=(30, 6)) < 0.4] = np.nan
    C[0], C[1, 1:], C[2, 2:] = np.nan, np.nan, np.nan
    C[1, 0], C[2, :2] = 1.5, (0.3, -2.0)
    measured, both = model.measured(C), model.contributions(C)
    for row, (t2, spe), *parts in zip(C, measured, *both, strict=True):
        there = ~np.isnan(row)
        covariance = (W @ W.T + s * np.eye(6))[np.ix_(there, there)]
        t = W[there].T @ np.linalg.solve(covariance, row[there])
        A = W[there].T @ np.linalg.solve(covariance, W[there])
        part = t @ np.linalg.pinv(A, hermitian=True, rcond=1e-9) @ t
        rest = row[there] @ np.linalg.solve(covariance, row[there]) - part
        # Parts of chi squared laws, with the probabilities of those of a complete row.
        q = min(there.sum(), 2)
        free = np.array([q, there.sum() - q])
        expected = [equally_probable(part, free[:1], 2)[0], s * equally_probable(rest, free[1:], 4)[0]]
        assert_allclose([t2, spe], expected)
        assert_array_equal(np.isnan([t2, spe]), free == 0)
        if free.all() and np.linalg.matrix_rank(A) == 2:
            # By the matrices of both parts, and the share that the probabilities change.
            of_t2 = np.linalg.inv(covariance) @ W[there] @ np.linalg.inv(A)
            of_t2 = of_t2 @ (W[there].T @ np.linalg.inv(covariance))
            own = W[there]
            of_spe = np.eye(there.sum()) - own @ np.linalg.pinv(own)
            for M, contribution, value in zip((of_t2, of_spe), parts, (t2, spe), strict=True):
                share = value / (row[there] @ M @ row[there])
                wanted = [share * reconstructed(row[there], M, i) for i in range(there.sum())]
                assert_allclose(contribution[there], wanted, rtol=1e-6, atol=1e-9)
    assert np.isnan(measured[0]).all()
    determined = np.isfinite(measured).all(axis=1)[:, None] & np.isnan(C)
    for parts in both:
        assert (parts[determined] == 0).all()
    # Without missing values they are those of complete rows, whatever the noise.
    assert_array_equal(measured[30:], linear(P, variances).measured(C[30:]))
    complete_only = linear(P, variances).measured(C)
    assert_array_equal(np.isnan(complete_only).all(axis=1), np.isnan(C).any(axis=1))


def test_limits_are_their_formulas():
    for degrees in (1, 2, 7):
        for p in (0.3, 0.05, 0.005):
            value = equally_probable(np.array([stats.chi2.isf(p, degrees)]), np.array([degrees]), 8)
            assert stats.chi2.sf(value, 8) == pytest.approx([p], rel=0.12)
    # No limit of float64 nor of the distribution is in the way.
    far = equally_probable(np.array([1e8, 1e9]), np.array([3, 3]), 8)
    assert np.isfinite(far).all()
    assert far[1] > far[0] > 1e6
    n, k, a = 60, 3, 0.05
    beta = (n - 1) ** 2 / n * stats.beta.ppf(1 - a, k / 2, (n - k - 1) / 2)
    F = k * (n - 1) * (n + 1) / (n * (n - k)) * stats.f.ppf(1 - a, k, n - k)
    assert_allclose(t2_limit(a, n, k, of_fit=True), beta)
    assert_allclose(t2_limit(a, n, k), F)
    # Variances divided by n are smaller, so that T2 is larger.
    assert_allclose(t2_limit(a, n, k, ddof=0), F * n / (n - 1))
    assert t2_limit(a, 4, 3, of_fit=True) == np.inf  # every row of the fit has 9 / 4, but for rounding
    assert t2_limit(a, 3, 3) == np.inf
    left = np.array([0.5, 0.3, 0.1, 0.1])
    theta = [np.sum(left**i) for i in (1, 2, 3)]
    h = 1 - 2 * theta[0] * theta[2] / (3 * theta[1] ** 2)
    z = stats.norm.ppf(1 - a)
    inside = 1 + z * np.sqrt(2 * theta[1]) * h / theta[0] + theta[1] * h * (h - 1) / theta[0] ** 2
    assert_allclose(spe_limit(a, left), theta[0] * inside ** (1 / h))
    assert_allclose(spe_limit(a, 1e-200 * left), 1e-200 * spe_limit(a, left))
    assert_allclose(box_limit(a, 2.0, 0.5), 0.125 * stats.chi2.ppf(1 - a, 16))
    assert box_limit(a, 2.0, 0.0) == 2.0
    # One large and many small variances: h passes 0.
    powers = []
    for small in np.linspace(0.02, 0.6, 200):
        left = np.array([1.0, *[small] * 9])
        one, two, three = left.sum(), (left**2).sum(), (left**3).sum()
        powers.append((1 - 2 * one * three / (3 * two**2), spe_limit(0.01, left)))
    h, limits = np.array(powers).T
    assert h.min() < 0 < h.max()
    assert np.all(np.isfinite(limits))
    assert np.abs(np.diff(limits)).max() < 0.05 * limits.max()


def test_empirical_limits_hold_for_both_statistics_together():
    for alpha in (0.05, 0.01):
        rates = []
        for _ in range(100):
            normal, new = RNG.gamma(2.0, size=(1000, 2)), RNG.gamma(2.0, size=(1000, 2))
            limits = empirical_limits(alpha, normal)
            # Both statistics have the same level.
            assert_allclose(*(normal > limits).mean(axis=0), atol=2e-3)
            rates.append(np.mean((new > limits).any(axis=1)))
        assert abs(np.mean(rates) - alpha) < 0.1 * alpha
    assert empirical_limits(0.05, np.ones((18, 1))) is None
    assert empirical_limits(0.05, np.arange(19.0)[:, None]) == pytest.approx([18.0])
    # Between two ranks; a new row counts as one more above the limit of each statistic.
    assert empirical_limits(0.1, np.arange(24.0)[:, None]) == pytest.approx([21.5])
    assert empirical_limits(0.1, np.tile(np.arange(24.0)[:, None], 2)) == pytest.approx([22.5] * 2)
    assert empirical_limits(0.5, np.empty((0, 2))) is None


def test_held_out_rows_of_folds_are_those_of_all_rows():
    # Medians differ from 7 by 1 over the rows of the fit, to either side: 7 + 80 / 80, 7 - 80 / 100.
    held_out, own = RNG.chisquare(2, size=(100, 1)), RNG.chisquare(2, size=(100, 1))
    held_out, own = held_out * (8 / np.median(held_out)), own * (6.2 / np.median(own))
    assert_allclose(of_all_rows(held_out, own, 0.8), held_out * 7.8 / 8)
    assert_array_equal(of_all_rows(0 * held_out, 0 * own, 0.8), 0 * held_out)


def known(**more):
    held_out = RNG.chisquare(2, size=(400, 2))
    base = {"n": 100.0, "k": 2, "centered": True, "ddof": 1.0, "without_spe": "", "own": None}
    base |= {"discarded": np.array([1.0, 1.0]), "held_out": held_out}
    return Known(**base | more)


def test_limits_side_by_side_with_and_without_spe():
    alone = control_limits(
        0.05,
        known(without_spe="There is no SPE.", held_out=RNG.chisquare(2, size=(99, 1))),
    )
    assert set(alone.deciding()) == {"T2"}
    assert alone.level == pytest.approx(0.05)
    assert "There is no SPE." in alone.sentences
    part = control_limits(0.05, known(discarded=None))
    assert "Jackson-Mudholkar" not in {one.method for one in part.limits}
    assert {one.method for one in part.limits if one.decides and one.rows == "new"} == {"empirical"}
    assert part.deciding("fit")["SPE"] == np.inf
    nothing = control_limits(0.05, known(discarded=None, held_out=np.empty((0, 2))))
    assert nothing.deciding()["SPE"] == np.inf
    assert "SPE has no limit: the fit did not compute all discarded variances" in str(nothing)
    values = np.array([[0.1, 3.0, -5.0, 2.0], [-1.0, 0.0, -2.0, 4.0]])
    assert_array_equal(top_contributors(values), [[1, 3, 0], [3, -1, -1]])
    assert_array_equal(top_contributors(values[:, :2]), [[1, 0, -1], [-1, -1, -1]])
    own = RNG.chisquare(2, size=(100, 2))
    limits = control_limits(0.05, known(own=own))
    assert limits.level == pytest.approx(1 - 0.95**0.5)
    methods = [(one.statistic, one.rows, one.method) for one in limits.limits]
    assert methods == [
        ("T2", "fit", "Beta"), ("T2", "new", "F"), ("T2", "new", "scaled F"), ("T2", "new", "empirical"),
        ("SPE", "fit", "Jackson-Mudholkar"), ("SPE", "fit", "Box"),
        ("SPE", "new", "Jackson-Mudholkar"), ("SPE", "new", "Box"), ("SPE", "new", "empirical"),
    ]  # fmt: skip
    deciding = {(one.statistic, one.rows): one.method for one in limits.limits if one.decides}
    assert deciding == {
        ("T2", "fit"): "Beta", ("SPE", "fit"): "Jackson-Mudholkar",
        ("T2", "new"): "empirical", ("SPE", "new"): "empirical",
    }  # fmt: skip
    assert limits.deciding("fit")["T2"] == t2_limit(limits.level, 100, 2, of_fit=True)
    # Theory has the moments of held-out rows where there are some.
    theory = control_limits(0.05, known(), "theory")
    assert [one.method for one in theory.limits if one.decides and one.rows == "new"] == ["scaled F", "Box"]
    alone = control_limits(0.05, known(held_out=np.empty((0, 2))))
    assert [one.method for one in alone.limits if one.decides and one.rows == "new"] == [
        "F",
        "Jackson-Mudholkar",
    ]
    assert alone.deciding()["T2"] == t2_limit(limits.level, 100, 2)
    assert "Box" in str(limits)
    assert limits.sentences == ()
    # Each of two statistics has a new row above its limit.
    assert "empirical" in {one.method for one in control_limits(2 / 401, known()).limits if one.decides}
    few = control_limits(1.9 / 401, known())
    assert [one.method for one in few.limits if one.decides and one.rows == "new"] == ["scaled F", "Box"]
    assert "400 held-out rows are too few for an empirical limit at 0.47 %, which needs 422" in str(few)


def test_limits_that_disagree_or_have_few_rows():
    wide = known(held_out=RNG.chisquare(2, size=(2000, 2)) * [3, 1])
    theory = {one.method: one.value for one in control_limits(0.01, wide).limits if one.rows == "new"}
    rate = np.mean((wide.held_out > [theory["F"], theory["Jackson-Mudholkar"]]).any(axis=1))
    (sentence,) = control_limits(0.01, wide).sentences
    assert f"theory give {100 * rate:.2f} % alarms on 2,000 held-out normal rows" in sentence
    assert f"{rate / 0.01:.2g} times the 1.00 % requested" in sentence
    narrow = known(held_out=RNG.chisquare(2, size=(2000, 2)) / 9)
    assert "0 times the 1.00 % requested" in control_limits(0.01, narrow).sentences[0]
    # Ten alarms where five were expected are no contradiction.
    few = known(held_out=RNG.chisquare(2, size=(100, 2)))
    assert control_limits(0.05, few).sentences == ()
    # Gamma distributed SPE: limits of few rows are exceeded as often as asked for, on average.
    for m in (15, 30, 100):
        for h in (3, 8):
            SPE = RNG.chisquare(h, size=(1000, m))
            limits = [box_limit(0.02, row.mean(), row.var(ddof=1), m) for row in SPE]
            assert stats.chi2.sf(limits, h).mean() == pytest.approx(0.02, rel=0.3), (m, h)
    assert_allclose(box_limit(0.02, 3.0, 2.0, 1e9), box_limit(0.02, 3.0, 2.0), rtol=1e-6)


def autoregressive(phi, m, seed=0):
    rng, rows = np.random.default_rng(seed), np.zeros((m, 2))
    noise = rng.normal(size=(m, 2))
    for t in range(1, m):
        rows[t] = phi * rows[t - 1] + noise[t] * np.sqrt(1 - phi**2)
    return rows


def test_correlation_times_are_those_of_the_process():
    assert correlation_times(np.random.default_rng(2).normal(size=(1000, 2))) == (1.0, 1.0)
    for phi in (0.5, 0.9):  # ranks of normal values have about their autocorrelations phi^j
        both = correlation_times(autoregressive(phi, 100_000))
        assert_allclose(both, (1 + phi) / (1 - phi), rtol=0.1)
    slow = autoregressive(0.9, 20_000)
    # By the definition, and whatever the scale: ranks know none.
    ranks = stats.rankdata(slow[:300, :1], axis=0)
    C, total, lags = ranks - ranks.mean(), 1.0, 0
    for j in range(1, 300 // 4 + 1):
        r = float(np.sum(C[j:] * C[:-j]) / np.sum(C**2))
        if r <= 0:
            break
        total, lags = total + 2 * r, j
    # Each of these autocorrelations falls short by time / 300.
    assert_allclose(correlation_times(np.exp(slow[:300, :1])), [total / (1 - 2 * lags / 300)])
    # A test at one percent says whether there is any.
    rng = np.random.default_rng(0)
    apart = [correlation_times(rng.normal(size=(100, 1)))[0] for _ in range(300)]
    assert np.mean(np.array(apart) > 1) < 0.03
    assert correlation_times(np.ones((50, 2))) == (1.0, 1.0)
    assert correlation_times(np.empty((0, 2))) == (1.0, 1.0)
    assert correlation_times(np.arange(3.0)[:, None]) == (1.0,)


def test_rows_that_depend_on_their_neighbours_count_as_fewer():
    rows = autoregressive(0.9, 400, seed=1) ** 2
    limits, time = control_limits(0.05, known(held_out=rows, n=400.0)), correlation_times(rows)
    assert limits.effective_rows == pytest.approx(400 / max(time))
    values = {(one.statistic, one.method): one.value for one in limits.limits if one.rows == "new"}
    assert values["T2", "F"] == t2_limit(limits.level, 400 / time[0], 2)
    jackson = spe_limit(limits.level, np.ones(2)) * (1 + 3 * time[1] / 400)
    assert values["SPE", "Jackson-Mudholkar"] == pytest.approx(jackson)
    m = 400 / time[1]
    box = box_limit(limits.level, rows[:, 1].mean(), rows[:, 1].var() * m / (m - 1), m)
    assert values["SPE", "Box"] == pytest.approx(box)
    # 42 rows have no rank for 5 %: the larger limit decides, of theory and of the ranks of all rows.
    assert "400 held-out rows say as much as" in str(limits)
    assert "The larger of the limits by theory and by their ranks decides." in str(limits)
    for name, tail in (("T2", "scaled F"), ("SPE", "Box")):
        assert limits.deciding()[name] == max(values[name, tail], values[name, "empirical"])
    theory = control_limits(0.05, known(held_out=rows), "theory")
    assert theory.deciding()["SPE"] == pytest.approx(box)
    # Rows of the fit have the distribution of their number; independent rows are as they were.
    assert limits.deciding("fit")["T2"] == t2_limit(limits.level, 400, 2, of_fit=True)
    assert control_limits(0.05, known()).effective_rows == 400
    alone = control_limits(0.05, known(held_out=np.empty((0, 2))))
    assert alone.effective_rows is None
