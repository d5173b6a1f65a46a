"""Imputation under a low-rank model: EM of probabilistic PCA and regularised iterative PCA."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

from gramian import PCA
from gramian.statistics import imputation
from gramian.statistics.normal_model import NormalModel
from helpers import conditional


def holed(n, d, k, share, seed=0, noise=1.0):
    """Return data of k strong components, and the same with holes but no empty row or column."""
    rng = np.random.default_rng(seed)
    X = (
        rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) * 3
        + noise * rng.standard_normal((n, d))
        + 5
    )
    with_holes = X.copy()
    with_holes[rng.random((n, d)) < share] = np.nan
    with_holes[np.isnan(with_holes).all(axis=1), 0] = 5.0
    return X, with_holes


def all_conditional(X, mean, S):
    """Return conditional expectations at the holes, their variances, and the sum of their covariances."""
    expected, left = zip(*(conditional(mean, S, row) for row in X), strict=True)
    variances = [variance for row, C in zip(X, left, strict=True) for variance in np.diag(C)[np.isnan(row)]]
    return np.array(expected), np.array(variances), sum(left)


def incomplete(model, method="em"):
    """The rows of a model, as a fitted PCA maps them."""
    U, s, _ = np.linalg.svd(model.weights, full_matrices=False)
    return NormalModel(U.T, s**2 + model.noise, model.noise, model.mean, None, method)


def literal_em(X, k, steps, uncertain=True):
    """Posterior means and covariances row by row, column by column, with z back at unit covariance.

    Maximum likelihood, where weights and means have no covariance and the noise all degrees of freedom.
    """
    n, d = X.shape
    there = ~np.isnan(X)
    mean = np.nanmean(X, axis=0)
    C = np.where(there, X - mean, 0.0)
    values, V = np.linalg.eigh(C.T @ C / n)
    noise = values[: d - k].mean()
    W = V[:, d - k :] * np.sqrt(values[d - k :] - noise)
    spread = np.zeros((d, k + 1, k + 1))  # covariance of the weights and the mean of a column
    for _ in range(steps):
        z, second = np.empty((n, k)), np.empty((n, k, k))
        for i in range(n):
            M, b = noise * np.eye(k), np.zeros(k)
            for j in np.flatnonzero(there[i]):
                M += np.outer(W[j], W[j]) + spread[j, :k, :k]
                b += W[j] * (X[i, j] - mean[j]) - spread[j, :k, k]
            z[i] = np.linalg.solve(M, b)
            second[i] = np.outer(z[i], z[i]) + noise * np.linalg.inv(M)
        W, mean, squares = np.empty((d, k)), np.empty(d), 0.0
        for j in range(d):
            seen = there[:, j]
            total = z[seen].sum(0)
            A = np.block([[second[seen].sum(0), total[:, None]], [total[None], np.full((1, 1), seen.sum())]])
            solved = np.linalg.solve(A, np.append(z[seen].T @ X[seen, j], X[seen, j].sum()))
            W[j], mean[j], spread[j] = solved[:k], solved[k], uncertain * np.linalg.inv(A)
            for i in np.flatnonzero(seen):
                squares += (
                    (X[i, j] - mean[j]) ** 2
                    - 2 * (X[i, j] - mean[j]) * (W[j] @ z[i])
                    + W[j] @ second[i] @ W[j]
                )
        noise = squares / (there.sum() - uncertain * (d - k) * (k + 1))
        middle = z.mean(axis=0)
        basis = np.eye(k + 1)
        basis[:k, :k] = np.linalg.cholesky(second.mean(axis=0) - np.outer(middle, middle))
        basis[:k, k] = middle
        spread = noise * (basis.T @ spread @ basis)
        W, mean = W @ basis[:k, :k], mean + W @ middle
    return W, noise, mean


def test_em_is_its_definition_row_by_row():
    for shape, steps in (((25, 7), 6), ((12, 20), 4), ((150, 4), 6)):
        _, X = holed(*shape, 2, 0.25)
        if len(X) == 150:  # many rows of few patterns, of which one is complete
            X = X[np.isnan(X).sum(axis=1) <= 1]
            assert np.bincount(imputation.Patterns.of(~np.isnan(X)).of_row).max() > 2 * 5
        W, noise, mean = literal_em(X, 2, steps)
        result = imputation.impute_em(X, 2, tol=0, max_iter=steps)
        assert np.allclose(result.model.weights @ result.model.weights.T, W @ W.T)
        assert np.isclose(result.model.noise, noise)
        # Every imputed entry is the normal's conditional expectation, with its conditional variance.
        filled, variances, covariance = all_conditional(X, mean, W @ W.T + noise * np.eye(shape[1]))
        assert np.allclose(result.filled, filled)
        rows = incomplete(result.model)
        assert np.allclose(rows.filled(X), filled)
        assert np.allclose(rows.deviations_at_holes(X)[np.isnan(X)] ** 2, variances)
        centre, scatter = imputation.expected_scatter(X, result)
        assert np.allclose(centre, filled.mean(axis=0))
        C = filled - centre
        assert np.allclose(scatter, C.T @ C + covariance)


def test_em_converges_whatever_the_share_of_holes():
    for share, shape in ((0.05, (60, 12)), (0.3, (40, 10)), (0.3, (12, 30)), (0.5, (80, 8))):
        _, X = holed(*shape, 2, share)
        result, exact = imputation.impute_em(X, 2), imputation.impute_em(X, 2, tol=1e-11, max_iter=5000)
        assert result.converged
        assert exact.converged  # the basis of the weights does not drift either
        assert result.trace[-1] <= 1e-5 < result.trace[0]
        size = np.nanstd(X - np.nanmean(X, axis=0))
        assert np.abs(result.filled - exact.filled).max() < 1e-3 * size, (share, shape)
        again = imputation.impute_em(X, 2, start=exact)
        assert again.iterations == 1
        assert np.allclose(again.model.noise, exact.model.noise, rtol=1e-5)
    for shape in ((40, 6), (15, 30)):
        X, _ = holed(*shape, 2, 0.0)
        result = imputation.impute_em(X, 2, tol=1e-10)
        n, d = shape
        discarded = np.linalg.eigvalsh(np.cov(X.T, ddof=0))[:-2].sum()
        assert result.model.noise == pytest.approx(discarded * n / ((n - 3) * (d - 2)), rel=0.02)
        assert (result.filled == X).all()
        assert np.allclose(imputation.expected_scatter(X, result)[1], n * np.cov(X.T, ddof=0))


@pytest.mark.walk
def test_many_components_impute_as_well_as_few():
    # Maximum likelihood gives each noisy column a component of its own, which other columns hardly determine.
    rng, squares = np.random.default_rng(0), {"few": [], "many": [], "exact": []}
    for _ in range(4):
        true = 2 * rng.standard_normal((30, 3)) @ rng.standard_normal((3, 24)) + rng.standard_normal((30, 24))
        gone = rng.random(true.shape) < 0.15
        X = np.where(gone, np.nan, true)
        certain = literal_em(X, 9, 40, uncertain=False)
        S = certain[0] @ certain[0].T + certain[1] * np.eye(24)
        squares["exact"].append(np.mean((all_conditional(X, certain[2], S)[0] - true)[gone] ** 2))
        for name, k in (("few", 3), ("many", 9)):
            squares[name].append(np.mean((imputation.impute_em(X, k).filled - true)[gone] ** 2))
    few, many, exact = (np.mean(squares[name]) ** 0.5 for name in ("few", "many", "exact"))
    assert many < 1.15 * few
    assert many < 0.8 * exact


def test_small_batches_give_the_same(monkeypatch):
    _, X = holed(30, 8, 3, 0.3)
    whole = imputation.impute_em(X, 3)
    scatter = imputation.expected_scatter(X, whole)[1]
    monkeypatch.setattr("gramian.statistics.imputation.BATCH", 20)
    monkeypatch.setattr("gramian.statistics.imputation.PAIRS", 2)
    pieces = imputation.impute_em(X, 3)
    assert np.allclose(pieces.filled, whole.filled)
    assert np.allclose(imputation.expected_scatter(X, whole)[1], scatter)


def literal_iterative(X, k):
    gone = np.isnan(X)
    filled = np.where(gone, np.nanmean(X, axis=0), X)
    n, d = X.shape
    for _ in range(3000):
        mean = filled.mean(axis=0)
        U, s, Vt = np.linalg.svd((filled - mean) / np.sqrt(n), full_matrices=False)
        squares, left = 0.0, -(d - k) * (k + 1)
        for row, mask in zip(filled - mean, ~gone, strict=True):
            if mask.sum() > k:
                A = Vt[:k, mask].T
                squares += ((row[mask] - A @ np.linalg.lstsq(A, row[mask], rcond=None)[0]) ** 2).sum()
                left += mask.sum() - k
        noise = squares / left
        along = noise * (1 + (d - k) / (n - 1 - k))  # of the scores, and of the directions
        shrunk = np.maximum(s[:k] - along / s[:k], 0.0)
        before, filled = filled, np.where(gone, mean + np.sqrt(n) * (U[:, :k] * shrunk) @ Vt[:k], X)
        if np.abs(filled - before).max() < 1e-12:
            break
    return filled, noise


def test_iterative_pca_is_its_definition_and_low_rank_comes_back():
    for shape in ((20, 6), (10, 14)):
        _, X = holed(*shape, 2, 0.15)
        result = imputation.impute_iterative(X, 2, tol=1e-10, max_iter=3000)
        assert result.converged
        filled, noise = literal_iterative(X, 2)
        assert np.allclose(result.filled, filled, atol=1e-5), shape
        assert np.isclose(result.model.noise, noise, rtol=1e-5), shape
    rng = np.random.default_rng(3)
    true = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 8)) + 1
    X = true.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    for result in (imputation.impute_em(X, 2), imputation.impute_iterative(X, 2, tol=1e-10, max_iter=5000)):
        assert np.abs(result.filled - true).max() < 1e-4


@pytest.mark.walk
def test_cross_validation_chooses_a_number_of_components():
    _, X = holed(40, 8, 2, 0.1)
    weights = np.r_[np.zeros(5), np.ones(35)]
    held_out = imputation.HeldOut(X, np.random.default_rng(0), weights)
    places = np.concatenate([np.column_stack(fold) for fold in held_out.folds])
    assert len(np.unique(places, axis=0)) == len(places) == (~np.isnan(X[5:])).sum()
    assert (places[:, 0] >= 5).all()
    for method, impute in (("em", imputation.impute_em), ("iterative", imputation.impute_iterative)):
        best, errors = imputation.choose_count(held_out, 7, method)
        assert errors[2] <= 1.01 * min(errors.values()) < 0.5 * errors[1]
        squares = {k: [] for k in errors}
        for rows, columns in held_out.folds:
            train = X.copy()
            train[rows, columns] = np.nan
            for k in errors:
                filled = impute(train, k, weights=weights, tol=1e-2 if method == "em" else 1e-4).filled
                squares[k] += list((filled - X)[rows, columns] ** 2)
        assert np.isclose(errors[2], np.sqrt(np.mean(squares[2])), rtol=1e-2)
        # The largest number that is worse than the best by no more than half a standard error.
        least = min(squares, key=lambda k: np.mean(squares[k]))
        more = {k: np.subtract(squares[k], squares[least]) for k in squares if k > least}
        close = [k for k in more if more[k].mean() <= 0.5 * more[k].std() / np.sqrt(len(more[k]))]
        assert best == max([least, *close])


def test_of_large_tables_a_sample_of_rows_chooses_unless_their_patterns_repeat(monkeypatch):
    monkeypatch.setattr(imputation, "DECISIVE", 100)
    rng = np.random.default_rng(0)
    _, X = holed(900, 12, 2, 0.2)
    X[:, 11] = np.where(np.arange(900) == 7, 5.0, np.nan)
    weights = rng.integers(0, 2, 900).astype(float)
    weights[7] = 1
    sizes = []
    for seed in (0, 0, 1):
        some = imputation.HeldOut(X, np.random.default_rng(seed), weights, count=10).sample("em")
        entries = np.isfinite(some.X[some.weights > 0])
        assert 0.9 * 1000 < entries.sum() < 1.2 * 1000
        assert entries.any(axis=0).all()  # the one entry of the last column is in every sample
        sizes.append(some.X)
    assert np.array_equal(sizes[0], sizes[1], equal_nan=True)
    assert not np.array_equal(sizes[0], sizes[2], equal_nan=True)
    few = np.where(np.arange(5) == rng.integers(0, 5, (900, 1)), np.nan, holed(900, 5, 2, 0.0)[0])
    for table, method, whole in ((X[:50], "em", True), (few, "em", True), (few, "iterative", False)):
        assert (len(imputation.HeldOut(table, rng, count=10).sample(method).X) == len(table)) is whole
    model = PCA("cv", missing="iterative").fit(few)
    assert re.search(r"a random sample of \d\d\d of 900 rows", model.component_choice_.sentence)
    assert model.component_choice_.number == PCA("cv", missing="em").fit(few).component_choice_.number


@pytest.mark.walk
def test_cross_validation_looks_beyond_a_rise():
    # The error rises from 5 to 7 components; then come the pairs of columns that are nearly equal.
    X = load_diabetes().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    holed = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    best, errors = imputation.choose_count(
        imputation.HeldOut(holed, np.random.default_rng(0), count=10), 9, "em"
    )
    assert set(errors) == set(range(1, 10))
    assert errors[5] < errors[7]
    error = {
        k: np.linalg.norm(imputation.impute_em(holed, k, max_iter=200).filled - X) for k in (2, 4, 6, 8, best)
    }
    assert best == 9
    assert error[best] <= 1.01 * min(error.values())
    assert error[best] < 0.95 * error[4]
    model = PCA("cv", missing="em", random_state=0).fit(holed[:60, :5])
    assert model.n_components_ == model.imputed_.n_components == model.component_choice_.number
    assert "largest number of components" in model.component_choice_.sentence


def test_limits_of_steps_and_products_over_the_holes():
    for impute in [imputation.impute_em, imputation.impute_iterative]:
        _, X = holed(30, 8, 2, 0.3)
        result = impute(X, 2, tol=0, max_iter=3)
        assert (result.iterations, result.converged, len(result.trace)) == (3, False, 3)
    for d, count in [(40, 4), (600, 5), (1500, 60), (1500, 700)]:
        rng = np.random.default_rng(0)
        W, observed = rng.standard_normal((4, d)).T, np.ones((7, d), dtype=bool)
        for places in range(1, 7):  # the first row is complete
            observed[places, rng.choice(d, count, replace=False)] = False
        there, gone = imputation.grams_of_holes(observed, W)
        for place, row in enumerate(observed):
            assert_allclose(there[place], W[row].T @ W[row], rtol=0, atol=1e-12 * d)
            assert_allclose(gone[place], W[~row].T @ W[~row], rtol=0, atol=1e-12 * d)
