"""Missing values in PCA: the fit, new rows, what is remembered, and what raises."""

import re
import tracemalloc
import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import multivariate_normal

import gramian
from gramian import PCA, KernelPCA, Whitener, scan
from gramian.errors import (
    DataError,
    DiagnosticWarning,
    GramianWarning,
    MemoryLimitError,
    MissingValuesWarning,
    ParameterError,
)
from gramian.statistics import imputation
from helpers import conditional

RNG = np.random.default_rng(0)
N, D, K = 80, 9, 3
WHOLE = RNG.standard_normal((N, K)) * [4, 3, 2] @ np.linalg.qr(RNG.standard_normal((D, K)))[0].T
WHOLE = WHOLE * np.linspace(1, 3, D) + 0.5 * RNG.standard_normal((N, D)) + np.arange(D)
HOLED = WHOLE.copy()
HOLED[RNG.random((N, D)) < 0.3] = np.nan
HOLES = np.isnan(HOLED)
assert not HOLES.all(axis=1).any()
METHODS = ("mean", "em", "iterative")


def model_of(pca):
    """The normal distribution of a fitted PCA, in units of the data: mean and covariance."""
    divisor = np.ones(D) if pca.scale_ is None else pca.scale_
    W = pca.components_
    extra = pca.explained_variance_ - pca.noise_variance_
    S = (W.T * extra) @ W + pca.noise_variance_ * np.eye(D)
    return pca.mean_, S * np.outer(divisor, divisor), W / divisor


def density(mean, S, row):
    """Return the logarithm of the density of what is observed of a row."""
    seen = ~np.isnan(row)
    return multivariate_normal(mean[seen], S[np.ix_(seen, seen)]).logpdf(row[seen])


@pytest.mark.parametrize("options", [{}, {"scale": "unit"}, {"whiten": True, "scale": "pareto"}], ids=str)
def test_new_rows_by_the_definition_of_conditional_expectation(options):
    pca = PCA(K, missing="em", **options).fit(WHOLE)
    mean, S, P = model_of(pca)
    unit = np.sqrt(pca.explained_variance_) if pca.whiten else np.ones(K)
    scores, quality, likelihood = (
        pca.transform(HOLED),
        pca.projection_quality(HOLED),
        pca.score_samples(HOLED),
    )
    filled = pca.impute(HOLED)
    for i in range(0, N, 7):
        expected, covariance = conditional(mean, S, HOLED[i])
        assert np.allclose(scores[i], P @ (expected - pca.mean_) / unit)
        assert np.allclose(
            quality.standard_errors[i], np.sqrt(np.diag(P @ covariance @ P.T)) / unit, atol=1e-8
        )
        assert np.allclose(filled[i], expected)
        assert np.isclose(likelihood[i], density(mean, S, HOLED[i]))
    assert np.allclose(quality.observed, 1 - HOLES.mean(axis=1))
    assert np.array_equal(quality.scores, scores)


def test_projection_is_least_squares_and_has_the_errors_of_scores():
    pca = PCA(K, missing="projection").fit(WHOLE)
    flat = pca.inverse_transform(pca.transform(WHOLE))
    noiseless = PCA(K, missing="em").fit(flat)
    assert noiseless.noise_variance_ < 1e-20
    by_limit = noiseless.transform(np.where(HOLES, np.nan, flat))
    for i, row in enumerate(HOLED):
        seen = ~np.isnan(row)
        A = pca.components_[:, seen].T
        if np.linalg.matrix_rank(A, 1e-4) == K:
            expected = np.linalg.lstsq(A, row[seen] - pca.mean_[seen], rcond=None)[0]
            assert np.allclose(pca.transform(row[None])[0], expected)
            assert np.allclose(by_limit[i], noiseless.transform(flat[[i]])[0], atol=1e-6)
            error = np.sqrt(np.diag(pca.noise_variance_ * (np.linalg.inv(A.T @ A) - np.eye(K))).clip(0))
            assert np.allclose(pca.projection_quality(row[None]).standard_errors[0], error, atol=1e-6)
    rng = np.random.default_rng(1)
    pca = PCA(K, missing="em").fit(WHOLE)
    mean, S, _ = model_of(pca)
    rows = rng.multivariate_normal(mean, S, size=4000)
    holed = np.where(rng.random(rows.shape) < 0.25, np.nan, rows)
    with_error = np.isnan(holed).any(axis=1) & ~np.isnan(holed).all(axis=1)
    for model in (pca, PCA(K, missing="projection").fit(WHOLE)):
        determined = with_error & ((~np.isnan(holed)).sum(axis=1) > K)
        errors = model.projection_quality(holed[determined]).standard_errors
        gaps = model.transform(holed[determined]) - model.transform(rows[determined])
        assert np.allclose((gaps / errors).std(axis=0), 1, atol=0.06)
    # Most discarded eigenvalues are 0: their mean over those that are not is far above the noise of an entry.
    rng = np.random.default_rng(4)
    n, d, k = 80, 1500, 2
    directions = rng.standard_normal((k, d))
    X, new = (rng.standard_normal((m, k)) @ directions + 2 * rng.standard_normal((m, d)) for m in (n, 400))
    holed = np.where(rng.random(new.shape) < 0.4, np.nan, new)
    for method in ("em", "projection"):
        model = PCA(k, missing=method).fit(X)
        quality = model.projection_quality(holed)
        gaps = (quality.scores - model.transform(new)) / quality.standard_errors
        assert np.allclose(gaps.std(axis=0), 1, atol=0.12)
        assert np.abs(gaps).max() < 5
        filled = model.impute(holed)
        back = model.inverse_transform(quality.scores)
        assert np.allclose(filled[np.isnan(holed)], back[np.isnan(holed)], atol=1e-2 * np.abs(back).max())


def test_rows_that_determine_nothing_are_named_and_never_at_the_origin():
    frame = pd.DataFrame(HOLED[:4].copy(), index=["a", "b", "c", "d"])
    frame.iloc[1] = np.nan
    frame.iloc[2] = [1.0, *[np.nan] * (D - 1)]
    for method, undetermined in (("em", [1]), ("projection", [1, 2])):
        pca = PCA(K, missing=method).fit(WHOLE)
        names = ", ".join(f"row {i} (named {'abcd'[i]!r})" for i in undetermined)
        for call in (pca.transform, pca.impute):
            with pytest.warns(MissingValuesWarning, match=re.escape(names)):
                result = call(frame)
            assert np.isnan(result).any(axis=1).nonzero()[0].tolist() == undetermined
        with pytest.warns(MissingValuesWarning, match=re.escape(names)):
            quality = pca.projection_quality(frame)
        assert np.isnan(quality.standard_errors[1]).all()
        assert np.isnan(quality.scores[1]).all()


def test_complete_rows_keep_their_bits_and_scales_change_nothing():
    for dtype in (np.float64, np.float32):
        X = WHOLE.astype(dtype)
        pca = PCA(K, missing="em").fit(X)
        some = X.copy()
        some[7, 2] = np.nan
        scores = pca.transform(some)
        assert scores.dtype == dtype
        others = np.arange(N) != 7
        assert (scores[others] == pca.transform(X)[others]).all()
        double = PCA(K, missing="em").fit(WHOLE).transform(some[[7]].astype(float))
        assert np.allclose(scores[7], double[0], rtol=1e-3)
    reference = PCA(K, missing="em").fit(HOLED)
    for factor in (1e-95, 1e95):
        pca = PCA(K, missing="em").fit(HOLED * factor)
        assert np.allclose(pca.imputed_.values, reference.imputed_.values * factor, rtol=1e-8)
        assert np.allclose(pca.impute(HOLED * factor), reference.impute(HOLED) * factor, rtol=1e-6)
    single = PCA(K, missing="em").fit(HOLED.astype(np.float32))
    assert single.components_.dtype == np.float32
    assert np.allclose(single.components_, reference.components_, atol=1e-5)
    scaled = PCA(K, missing="em").fit(HOLED * 1000).imputed_
    assert np.allclose(scaled.trace, reference.imputed_.trace)
    assert np.isclose(scaled.noise_variance, reference.imputed_.noise_variance * 1e6)


def test_rows_in_files_and_in_blocks(tmp_path, monkeypatch):
    pca = PCA(K, missing="em").fit(WHOLE)
    expected = pca.transform(HOLED)
    np.save(tmp_path / "x.npy", HOLED)
    pd.DataFrame(HOLED, columns=list("abcdefghi")).to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr("gramian.statistics.projection.HOLED", 30)
    monkeypatch.setattr("gramian.statistics.imputation.BATCH", 30)
    for path in (tmp_path / "x.npy", tmp_path / "x.csv"):
        assert np.allclose(pca.transform(path), expected)
    pca.memory_limit = 12_000
    assert np.allclose(pca.transform(tmp_path / "x.npy"), expected)


@pytest.mark.parametrize("method", METHODS)
def test_fit_of_a_table_with_holes(method, tmp_path):
    errors = {}
    for options in ({}, {"scale": "unit"}, {"scale": np.linspace(1, 3, D), "whiten": True}):
        pca = PCA(K, missing=method, **options)
        scores = pca.fit_transform(HOLED)
        assert np.array_equal(scores, pca.transform(HOLED))
        assert (pca.n_missing_, len(pca.imputed_)) == (HOLES.sum(), HOLES.sum())
        places = (pca.imputed_.rows, pca.imputed_.columns)
        assert np.array_equal(places, np.nonzero(HOLES))
        filled = HOLED.copy()
        filled[places] = pca.imputed_.values
        assert np.array_equal(pca.impute(HOLED), filled)
        plain = PCA(K, **options).fit(filled)
        assert str(pca.certificate_).startswith(f"{HOLES.sum()} of {N * D} entries (31 %) were missing.")
        assert repr(pca.certificate_).startswith(f"<{HOLES.sum()} of {N * D} entries (31 %) were missing.")
        assert "missing" not in str(plain.certificate_)
        if method != "em":  # which adds the covariance of what is missing
            assert np.allclose(plain.explained_variance_, pca.explained_variance_, rtol=1e-4)
            assert "about the filled table" in str(pca.certificate_)
        errors = np.abs(pca.imputed_.values - WHOLE[HOLES])
        assert 0.6 < np.sqrt(np.mean((errors / pca.imputed_.standard_errors) ** 2)) < 1.5
        pca.save(tmp_path / "m.gramian")
        again = gramian.load(tmp_path / "m.gramian")
        assert (again.missing, again.n_missing_) == (method, pca.n_missing_)
        assert np.array_equal(again.imputed_.values, pca.imputed_.values)
        assert np.array_equal(again.transform(HOLED), scores)
    means = np.abs(np.nanmean(HOLED, axis=0)[np.nonzero(HOLES)[1]] - WHOLE[HOLES])
    assert method == "mean" or errors.mean() < 0.6 * means.mean()


def test_means_pictures_and_wide_tables_are_filled():
    pca = PCA(K, missing="mean").fit(HOLED)
    means = np.nanmean(HOLED, axis=0)
    assert np.allclose(pca.column_means_, means)
    filled = np.where(HOLES, means, HOLED)
    assert np.allclose(pca.transform(HOLED), pca.transform(filled))
    assert np.allclose(pca.impute(HOLED), filled)
    pictures = np.where(HOLES, np.nan, WHOLE).reshape(N, 3, 3)
    pca = PCA(2, missing="em").fit(pictures)
    assert pca.impute(pictures).shape == (N, 3, 3)
    assert np.allclose(pca.transform(pictures), PCA(2, missing="em").fit(HOLED).transform(HOLED))
    X = np.random.default_rng(0).normal(size=(20, 6000))
    X[3, 5] = np.nan
    tracemalloc.start()
    try:
        PCA(2, missing="iterative").fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 6000**2 / 4


def test_every_kind_of_missing_value_is_the_same():
    rounded = np.round(WHOLE * 10).astype(int)
    expected = PCA(2, missing="em").fit(np.where(HOLES, np.nan, rounded)).imputed_.values
    nullable = pd.DataFrame(rounded, columns=list("abcdefghi")).astype("Int64").mask(HOLES)
    listed = [
        [None if gone else value for gone, value in zip(*pair, strict=True)]
        for pair in zip(HOLES.tolist(), rounded.tolist(), strict=True)
    ]
    frames = {
        "masked": np.ma.masked_array(rounded, HOLES),
        "masked small integers": np.ma.masked_array(rounded.astype(np.int16), HOLES),
        "nullable": nullable,
        "objects": nullable.astype(object),
        "None": listed,
        "polars": pl.DataFrame(listed, schema=list("abcdefghi"), orient="row"),
    }
    if pytest.importorskip("pyarrow"):
        frames["arrow"] = nullable.astype("int64[pyarrow]")
    for name, X in frames.items():
        pca = PCA(2, missing="em").fit(X)
        assert np.allclose(pca.imputed_.values, expected, rtol=1e-4), name
        assert np.isfinite(pca.transform(X)).all(), name


def test_files_are_read_with_the_method_of_the_model_and_empty_rows_left_out(tmp_path):
    frame = pd.DataFrame(HOLED[:20], columns=list("abcdefghi"), index=[f"bird{i}" for i in range(20)])
    frame.loc["bird3"] = np.nan
    frame.to_csv(tmp_path / "x.csv")
    table = scan(tmp_path / "x.csv", missing="em").read()
    assert table.values.shape == (19, D)
    assert "bird3" not in table.row_names
    assert any("1 row without any value was left out: row 3 (named 'bird3')" in note for note in table.notes)
    pd.DataFrame(HOLED, columns=list("abcdefghi")).to_csv(tmp_path / "x.csv", index=False)
    expected = PCA(K, missing="em").fit(HOLED)
    for pca, X in (
        (PCA(K, missing="em"), tmp_path / "x.csv"),
        (PCA(K), scan(tmp_path / "x.csv", missing="em")),
    ):
        assert np.allclose(pca.fit_transform(X), expected.transform(HOLED), atol=1e-8)
        assert pca.n_missing_ == HOLES.sum()
        assert np.allclose(pca.transform(tmp_path / "x.csv"), expected.transform(HOLED), atol=1e-8)
    by_means = PCA(K, missing="mean").fit(tmp_path / "x.csv")
    assert np.allclose(by_means.components_, PCA(K, missing="mean").fit(HOLED).components_)
    assert by_means.n_missing_ == HOLES.sum()
    with pytest.raises(ParameterError, match=r", with which the data were read\. Leave out one\."):
        PCA(K, missing="em").fit(scan(tmp_path / "x.csv", missing="mean"))
    with pytest.raises(ParameterError, match=r"needs a PCA that was fitted with it\. Leave it out, or"):
        by_means.transform(scan(tmp_path / "x.csv", missing="em"))


@pytest.mark.parametrize("scale", [None, "unit", "pareto"])
def test_em_is_the_eigendecomposition_of_the_expected_covariance(scale):
    pca = PCA(K, missing="em", scale=scale, ddof=0).fit(HOLED)
    divisor = np.ones(D) if scale is None else pca.scale_
    model = imputation.impute_em(HOLED / divisor, K, tol=1e-9, max_iter=3000).model
    S = model.weights @ model.weights.T + model.noise * np.eye(D)
    expected, covariance = np.empty((N, D)), np.zeros((D, D))
    for i, row in enumerate(HOLED / divisor):
        expected[i], left = conditional(model.mean, S, row)
        covariance += left
    C = expected - expected.mean(axis=0)
    again = (C.T @ C + covariance) / N
    assert np.allclose(pca.mean_, expected.mean(axis=0) * divisor, atol=1e-4)
    if scale is not None:
        deviations = np.sqrt(np.diag(again)) * divisor
        assert np.allclose(pca.scale_, deviations if scale == "unit" else np.sqrt(deviations), rtol=1e-4)
    values, V = np.linalg.eigh(again)
    assert np.allclose(values[::-1][:K], pca.explained_variance_, rtol=1e-4)
    assert np.isclose(values[:-K].mean(), pca.noise_variance_, rtol=1e-4)
    assert np.allclose(np.abs(pca.components_ @ V[:, ::-1][:, :K]), np.eye(K), atol=1e-3)
    assert np.isclose(pca.total_variance_, np.trace(again), rtol=1e-4)
    assert np.isclose(pca.explained_variance_ratio_.sum(), values[-K:].sum() / np.trace(again), rtol=1e-4)
    # The fitted model imputes as the one that it comes from.
    values = np.array([conditional(*model_of(pca)[:2], row)[0] for row in HOLED])[HOLES]
    assert np.allclose(pca.imputed_.values, values)
    assert np.allclose(values, (expected * divisor)[HOLES], atol=0.02 * np.nanstd(HOLED))
    assert "about the expected covariance matrix given the observed entries" in pca.certificate_.about


@pytest.mark.parametrize("method", ["em", "iterative"])
@pytest.mark.parametrize("components", [None, 0.95, "parallel"])
@pytest.mark.walk
def test_one_model_imputes_whatever_sets_the_number_of_components(method, components):
    few = HOLED[:40, :6]
    pca = PCA(components, missing=method, random_state=0).fit(few)
    imputed = pca.imputed_
    assert 1 <= imputed.n_components <= pca.n_components_
    assert np.array_equal(pca.impute(few)[imputed.rows, imputed.columns], imputed.values)
    assert np.isfinite(pca.transform(few)).all()
    # Densities of complete rows are those of the same model.
    row = few[np.isnan(few).any(axis=1)][0]
    assert np.isclose(pca.score_samples(row[None])[0], density(pca.mean_, pca.get_covariance(), row))
    if pca.n_components_ == imputed.n_components:
        assert np.isclose(pca.noise_variance_, imputed.noise_variance)


@pytest.mark.walk
def test_wide_tables_have_the_noise_in_every_direction():
    rng = np.random.default_rng(5)
    wide = 3 * rng.standard_normal((40, 2)) @ rng.standard_normal((2, 100)) + rng.standard_normal((40, 100))
    wide[rng.random(wide.shape) < 0.2] = np.nan
    for method in ("em", "iterative"):
        pca = PCA(2, missing=method).fit(wide)
        assert 0.85 < pca.noise_variance_ < 1.15
        # The rows of the fit are imputed again by what the iteration ended with.
        filled = pca.impute(wide)
        if method == "iterative":
            again = PCA(2).fit(filled)
            less = pca.imputed_.regularization * pca.noise_variance_
            kept = (again.explained_variance_ - less) / again.explained_variance_
            fixed = again.mean_ + (again.transform(filled) * kept) @ again.components_
            assert np.allclose(fixed[np.isnan(wide)], pca.imputed_.values, atol=1e-4)
        assert np.isclose(pca.total_variance_, pca.explained_variance_.sum() + 98 * pca.noise_variance_)
        assert PCA(missing=method).fit(wide[:12, :30]).n_components_ == 12


def test_likelihoods_ranks_and_shares_at_the_edge():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 4)) + 0.5 * rng.standard_normal((20, 4))
    X[rng.random(X.shape) < 0.5] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    with pytest.warns(MissingValuesWarning, match="not determined.*Use fewer components or missing='iter"):
        PCA(2, missing="em").fit(X)
    rng = np.random.default_rng(32)
    X = np.outer(np.arange(1, 31.0), np.arange(1, 6.0))
    X[rng.random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    for method in ("em", "iterative"):
        pca = PCA(1, missing=method).fit(X)
        assert np.isfinite(pca.imputed_.standard_errors).all()
        assert pca.imputed_.standard_errors.max() < 1e-2
        assert np.isfinite(pca.projection_quality(X).standard_errors).all()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 6)) + 0.8 * rng.standard_normal((40, 6))
    X[rng.random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    for method in ("em", "iterative"):
        assert PCA(0.8, missing=method).fit(X).explained_variance_ratio_.sum() >= 0.8


def test_indicators_that_sum_to_one_are_named_and_imputed():
    for seed in range(90):
        rng = np.random.default_rng(seed)
        n, classes, types = int(rng.choice([60, 150, 400])), *rng.integers(2, 6, 2)
        c, t = rng.integers(0, classes, n), rng.integers(0, types, n)
        X = np.c_[rng.integers(0, 2, n), c + 1, np.eye(classes)[c], t + 1, np.eye(types)[t]].astype(float)
        X[rng.random(n) < 0.5, 2 + classes :] = np.nan
        X[rng.random(n) < 0.05, 0] = np.nan
        rank = classes + types - 1  # the noise is exactly 0, and half of the rows do not determine the scores
        pca = PCA(rank, missing=("em", "iterative")[seed % 2], scale=(None, "unit")[seed // 2 % 2])
        with pytest.warns(MissingValuesWarning, match="not determined: the noise variance tends to 0"):
            filled = pca.fit(X).impute(X)
        assert np.isfinite(pca.imputed_.standard_errors).all()
        assert np.isfinite(pca.projection_quality(X).standard_errors).all()
        # The relations hold in the imputed rows too.
        assert np.allclose(filled[:, 3 + classes :].sum(axis=1), 1, atol=1e-3)
        assert np.allclose(
            filled[:, 3 + classes :] @ np.arange(1, types + 1), filled[:, 2 + classes], atol=1e-3
        )


def test_relations_and_empty_parts_end_in_a_fit_or_a_sentence():
    rng = np.random.default_rng(1)
    low = rng.standard_normal((24, 2)) @ rng.standard_normal((2, 7))
    tables = {
        "exact": low,
        "wide": low.T[:6] @ rng.standard_normal((24, 20)),
        "duplicated": np.repeat(rng.standard_normal((30, 3)), 3, axis=1),
        "repeated rows": np.repeat(rng.standard_normal((3, 7)), 8, axis=0),
        "constant": np.c_[np.full(30, 7.0), rng.standard_normal((30, 5))],
        "equal columns": np.outer(np.arange(6.0), np.ones(40)),
        "one row": rng.standard_normal((1, 5)),
    }
    for name, whole in tables.items():
        n, d = whole.shape
        diagonal, block, lonely = (np.zeros((n, d), dtype=bool) for _ in range(3))
        diagonal[np.arange(n), np.arange(n) % d] = True
        block[: n // 2, d // 2 :] = True
        lonely[1:, 1] = True
        for holes in (diagonal, block, lonely):
            X = np.where(holes, np.nan, whole)
            for k, method in product((1, min(n - 1, d) - 1), ("em", "iterative")):
                dtype, weights = ((np.float64, None), (np.float32, rng.integers(1, 4, n)))[k == 1]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", GramianWarning)
                    try:
                        pca = PCA(k, missing=method).fit(X.astype(dtype), sample_weight=weights)
                    except (DataError, ParameterError):
                        assert name in ("one row", "repeated rows", "constant")
                        continue
                    for values in (pca.impute(X), pca.transform(X), pca.explained_variance_):
                        assert np.isfinite(values).all(), (name, k, method)


def test_rows_with_holes_are_mapped_only_where_that_was_asked_for():
    row = WHOLE[:3].copy()
    row[1, 4] = np.nan
    for pca in (PCA(K).fit(WHOLE), PCA().fit(WHOLE)):
        for call in (pca.transform, pca.score_samples, pca.fit):
            with pytest.raises(DataError, match=r"Input X contains NaN: row 1, column 4\."):
                call(row)
        with pytest.raises(DataError, match=r"Input X contains NaN: row 1, column 4\. The model maps"):
            pca.transform(row)
    for method in ("em", "iterative", "mean", "projection"):
        assert np.isfinite(PCA(K, missing=method).fit(WHOLE).transform(row)).all()
    for estimator in (KernelPCA(2), Whitener()):
        with pytest.raises(DataError, match="Input X contains NaN: 223 values are missing in 78 rows"):
            estimator.fit(HOLED)
        estimator.fit(PCA(K, missing="em").fit(HOLED).impute(HOLED))
    with pytest.raises(DataError, match='The components of missing="em" are not sums of the rows:'):
        PCA(2, missing="em").fit(HOLED).dual_coefficients(HOLED)


def test_weights_scales_plans_and_strengths_of_the_imputation():
    weights = np.random.default_rng(1).integers(0, 3, N)
    for method, scale in (("em", "unit"), ("iterative", None), ("mean", None)):
        weighted = PCA(K, missing=method, scale=scale).fit(HOLED, sample_weight=weights)
        repeated = PCA(K, missing=method, scale=scale).fit(np.repeat(HOLED, weights, axis=0))
        assert np.allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-10)
        assert np.allclose(weighted.components_, repeated.components_, atol=1e-10)
    pca = PCA(K, missing="em")
    plan = pca.plan(HOLED)
    assert (plan.solver, plan.operator) == (pca.fit(HOLED).plan_.solver, "covariance")
    with pytest.raises(ParameterError, match='needs a table, but missing="em" decomposes the expected'):
        PCA(K, missing="em", solver="gram").fit(HOLED)
    pca.fit(WHOLE)
    assert (pca.n_missing_, pca.imputed_) == (0, None)
    assert np.array_equal(pca.components_, PCA(K).fit(WHOLE).components_)
    one = PCA(2, missing="iterative").fit(HOLED)
    factor = 1 + (D - 2) / (N - 1 - 2)
    assert one.imputed_.regularization == factor


def test_infinity_is_named_in_any_kind_of_data_and_an_empty_column_too(tmp_path):
    whole = WHOLE.copy()
    whole[6, 3] = np.inf
    chunks = pytest.importorskip("dask.array").from_array(whole, (30, D))
    for method, data in product(METHODS, (whole, sp.csr_matrix(whole), chunks)):
        with pytest.raises(DataError, match=r"contains inf .infinity.: row 6, column 3"):
            PCA(2, missing=method).fit(data)
    empty = pd.DataFrame(np.where(np.arange(D) == 4, np.nan, HOLED), columns=list("abcdefghi"))
    empty.to_csv(tmp_path / "empty.csv", index=False)
    for method in ("em", "iterative"):
        with pytest.raises(DataError, match=r"column 4 \('e'\)\. .*Leave out such columns"):
            PCA(2, missing=method).fit(empty)
        with pytest.raises(DataError, match=r"column 4 \(.e.\)\. .*drop=\[.e.\] does so"):
            PCA(2).fit(scan(tmp_path / "empty.csv", missing=method))
    with pytest.raises(DataError, match=r"No row has a value in .e.: .*drop=\[.e.\]\."):
        scan(tmp_path / "empty.csv", missing="drop-rows").read()


def test_infinity_in_new_rows_is_named_and_weight_zero_changes_nothing():
    for value in [np.inf, -np.inf]:
        model, new = PCA(2, missing="em").fit(HOLED), HOLED.copy()
        new[6, 3] = value
        for call in (model.transform, model.projection_quality):
            with pytest.raises(DataError, match="row 6, column 3"):
                call(new)
        with pytest.raises(DataError, match="row 0, column 3"):
            model.transform(np.where(np.isnan(new[6:7]), 0.0, new[6:7]))
    for method in ["em", "iterative"]:
        weights = (np.arange(N) >= 20).astype(float)
        strange = HOLED.copy()
        strange[:20] *= 1e6
        weighted = PCA(K, missing=method, scale="unit").fit(strange, sample_weight=weights)
        alone = PCA(K, missing=method, scale="unit").fit(HOLED[20:])
        assert np.allclose(weighted.components_, alone.components_, atol=1e-8)
        assert np.isclose(weighted.noise_variance_, alone.noise_variance_, rtol=1e-8)
        assert np.isfinite(weighted.impute(strange)).all()


def test_what_the_fit_raises(monkeypatch):
    row, column = HOLED.copy(), HOLED.copy()
    row[[4, 9]], column[:, 5] = np.nan, np.nan
    sparse = sp.csr_matrix(np.where(HOLES, np.nan, 0.0))
    for method in METHODS:
        for X, message in (
            (row, "2 rows have no entry at all: row 4,"),
            (column, "1 column has no entry at all:"),
            (sparse, "223 values are missing, and missing="),
        ):
            with pytest.raises(DataError, match=message):
                PCA(2, missing=method).fit(X)
    for method in ("error", "projection"):
        with pytest.raises(DataError, match="Input X contains NaN: 223 values are missing in 78 rows"):
            PCA(2, missing=method).fit(HOLED)
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        PCA(2, missing="zero").fit(HOLED)
    with pytest.raises(ParameterError, match="n_components=9 does not suit missing="):
        PCA(9, missing="em").fit(HOLED)
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        PCA("many", missing="em").fit(HOLED)
    with pytest.raises(DataError, match="needs at least 3 rows and 2 columns that vary, but there"):
        PCA(missing="em").fit([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(ParameterError, match="estimates column means, but center=False does not"):
        PCA(2, missing="em", center=False).fit(HOLED)
    with pytest.raises(MemoryLimitError, match="Imputing 80 rows x 9 columns with 2 components needs"):
        PCA(2, missing="em", memory_limit=10_000).fit(HOLED)
    whole = imputation.impute_em
    monkeypatch.setattr(
        imputation, "impute_em", lambda X, k, **options: whole(X, k, **(options | {"max_iter": 2}))
    )
    with pytest.warns(MissingValuesWarning, match="did not converge"):
        PCA(2, missing="em").fit(HOLED)


@pytest.mark.filterwarnings("ignore:the eigenvalues are known to:gramian.errors.CertificateWarning")
def test_partial_fit_says_what_to_do():
    pca = PCA(2, missing="em").fit(HOLED)
    with pytest.raises(DataError, match="partial_fit does not impute: a batch says too little of"):
        pca.partial_fit(HOLED)
    assert PCA(2).partial_fit(pca.impute(HOLED)).n_samples_ == N
    with pytest.warns(DiagnosticWarning, match="partial_fit starts a new model of this batch alone"):
        pca.partial_fit(WHOLE)
    assert pca.imputed_ is None


@pytest.mark.parametrize("method", ["em", "iterative", "mean"])
@pytest.mark.parametrize("scale", [None, "unit", "pareto"])
def test_constant_columns_with_holes_stay_constant(method, scale):
    X = np.random.default_rng(0).standard_normal((40, 6))
    X[:, 3] = 7
    X[1:, 4] = np.nan
    X[3, 3] = X[5, 2] = np.nan
    pca = PCA(2, missing=method, scale=scale).fit(X)
    assert pca.constant_features_.tolist() == [3, 4]
    assert np.array_equal(pca.impute(X)[:, 3], np.full(40, 7.0))
    assert np.allclose(pca.components_[:, [3, 4]], 0)
    if scale is not None:
        assert np.allclose(pca.scale_[[3, 4]], 1)
        assert pca.scale_.min() > 0.5
    if scale == "unit":
        assert np.isclose(pca.total_variance_, 4, rtol=0.15)


def test_genotypes_and_what_cannot_impute():
    for method in ["em", "iterative", "mean"]:
        calls = np.random.default_rng(0).integers(0, 3, (40, 6)).astype(float)
        for value in (0, 2):
            calls[:, 0] = value
            calls[3, 0] = calls[5, 2] = np.nan
            pca = PCA(2, missing=method, scale="genotype").fit(calls)
            assert pca.constant_features_.tolist() == [0]
            assert np.isfinite(pca.transform(calls)).all()
        with pytest.raises(DataError, match='scale="genotype" is for counts of an allele, 0, 1 or 2,'):
            PCA(2, missing=method, scale="genotype").fit(calls - 1)
    for method in ["em", "iterative"]:
        flat = np.where(HOLES, np.nan, 3.0)
        with pytest.raises(DataError, match="needs at least 3 rows and 2 columns that vary, but there"):
            PCA(2, missing=method).fit(flat)
        with pytest.raises(ParameterError, match=r"must be a whole number from 0 to 79\. Sums are"):
            PCA(2, missing=method, ddof="a").fit(HOLED)
        with pytest.raises(DataError, match="The weights sum to 1, but sums of squares are divided by"):
            PCA(2, missing=method).fit(HOLED, sample_weight=np.full(N, 1 / N))
        some = np.arange(N) < 3
        with pytest.raises((ParameterError, DataError), match=r"1 column has no entry at all: column 7\."):
            PCA(2, missing=method).fit(HOLED, sample_weight=some)
