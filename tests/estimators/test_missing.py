"""Missing values in PCA: the fit, new rows, what is remembered, and what raises."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import gramian
from gramian import PCA, KernelPCA, MissingValuesWarning, Whitener, scan
from gramian.errors import DataError, MemoryLimitError, ParameterError

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


def conditional(pca, row):
    """The expected complete row, its covariance, and the density of what is observed, from the definition."""
    mean, S, _ = model_of(pca)
    gone, seen = np.isnan(row), ~np.isnan(row)
    gain = S[np.ix_(gone, seen)] @ np.linalg.inv(S[np.ix_(seen, seen)])
    expected, covariance = row.copy(), np.zeros((D, D))
    expected[gone] = mean[gone] + gain @ (row[seen] - mean[seen])
    covariance[np.ix_(gone, gone)] = S[np.ix_(gone, gone)] - gain @ S[np.ix_(seen, gone)]
    r = row[seen] - mean[seen]
    part = S[np.ix_(seen, seen)]
    density = -0.5 * (
        r @ np.linalg.solve(part, r) + np.linalg.slogdet(part)[1] + seen.sum() * np.log(2 * np.pi)
    )
    return expected, covariance, density


@pytest.mark.parametrize("options", [{}, {"scale": "unit"}, {"whiten": True, "scale": "pareto"}], ids=str)
def test_new_rows_by_the_definition_of_conditional_expectation(options):
    pca = PCA(K, **options).fit(WHOLE)
    _, _, P = model_of(pca)
    unit = np.sqrt(pca.explained_variance_) if pca.whiten else np.ones(K)
    scores, quality, likelihood = (
        pca.transform(HOLED),
        pca.projection_quality(HOLED),
        pca.score_samples(HOLED),
    )
    filled = pca.impute(HOLED)
    for i in range(0, N, 7):
        expected, covariance, density = conditional(pca, HOLED[i])
        assert np.allclose(scores[i], P @ (expected - pca.mean_) / unit)
        assert np.allclose(
            quality.standard_errors[i], np.sqrt(np.diag(P @ covariance @ P.T)) / unit, atol=1e-8
        )
        assert np.allclose(filled[i], expected)
        assert np.isclose(likelihood[i], density)
    assert np.allclose(quality.observed, 1 - HOLES.mean(axis=1))


def test_standard_errors_are_those_of_scores():
    rng = np.random.default_rng(1)
    pca = PCA(K).fit(WHOLE)
    mean, S, _ = model_of(pca)
    rows = rng.multivariate_normal(mean, S, size=4000)
    holed = np.where(rng.random(rows.shape) < 0.25, np.nan, rows)
    with_error = np.isnan(holed).any(axis=1) & ~np.isnan(holed).all(axis=1)
    for model in (pca, PCA(K, missing="projection").fit(WHOLE)):
        determined = with_error & ((~np.isnan(holed)).sum(axis=1) > K)
        errors = model.projection_quality(holed[determined]).standard_errors
        gaps = model.transform(holed[determined]) - model.transform(rows[determined])
        assert np.allclose((gaps / errors).std(axis=0), 1, atol=0.06)


def test_projection_is_least_squares_and_the_limit_without_noise():
    pca = PCA(K, missing="projection").fit(WHOLE)
    flat = pca.inverse_transform(pca.transform(WHOLE))
    noiseless = PCA(K).fit(flat)
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


def test_rows_that_determine_nothing_are_named_and_never_at_the_origin():
    frame = pd.DataFrame(HOLED[:4].copy(), index=["a", "b", "c", "d"])
    frame.iloc[1] = np.nan
    frame.iloc[2] = [1.0, *[np.nan] * (D - 1)]
    for method, undetermined in (("error", [1]), ("projection", [1, 2])):
        pca = PCA(K, missing=method).fit(WHOLE)
        names = ", ".join(f"row {i} (named {'abcd'[i]!r})" for i in undetermined)
        for call in (pca.transform, pca.impute):
            with pytest.warns(MissingValuesWarning, match=re.escape(names)):
                result = call(frame)
            assert np.isnan(result).any(axis=1).nonzero()[0].tolist() == undetermined
        assert np.isnan(pca.projection_quality(frame).standard_errors[1]).all()


def test_complete_rows_keep_their_bits():
    for dtype in (np.float64, np.float32):
        X = WHOLE.astype(dtype)
        pca = PCA(K).fit(X)
        some = X.copy()
        some[7, 2] = np.nan
        scores = pca.transform(some)
        assert scores.dtype == dtype
        others = np.arange(N) != 7
        assert (scores[others] == pca.transform(X)[others]).all()
        assert np.allclose(scores[7], PCA(K).fit(WHOLE).transform(some[[7]].astype(float))[0], rtol=1e-3)


def test_rows_in_files_and_in_blocks(tmp_path, monkeypatch):
    pca = PCA(K).fit(WHOLE)
    expected = pca.transform(HOLED)
    np.save(tmp_path / "x.npy", HOLED)
    pd.DataFrame(HOLED, columns=list("abcdefghi")).to_csv(tmp_path / "x.csv", index=False)
    monkeypatch.setattr("gramian.analysis.projection.HOLED", 30)
    monkeypatch.setattr("gramian.analysis.imputation.BATCH", 30)
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
        # The model is that of the filled table, and the certificate says so.
        filled = HOLED.copy()
        filled[places] = pca.imputed_.values
        plain = PCA(K, **options).fit(filled)
        assert np.allclose(plain.explained_variance_, pca.explained_variance_)
        assert f"filled matrix: {HOLES.sum()} of its {N * D} entries" in str(pca.certificate_)
        assert "filled matrix" not in str(plain.certificate_)
        errors = np.abs(pca.imputed_.values - WHOLE[HOLES])
        assert 0.6 < np.sqrt(np.mean((errors / pca.imputed_.standard_errors) ** 2)) < 1.5
        pca.save(tmp_path / "m.gramian")
        again = gramian.load(tmp_path / "m.gramian")
        assert (again.missing, again.n_missing_) == (method, pca.n_missing_)
        assert np.array_equal(again.imputed_.values, pca.imputed_.values)
        assert np.array_equal(again.transform(HOLED), scores)
    means = np.abs(np.nanmean(HOLED, axis=0)[np.nonzero(HOLES)[1]] - WHOLE[HOLES])
    assert method == "mean" or errors.mean() < 0.6 * means.mean()


def test_new_rows_of_a_model_with_means_get_means():
    pca = PCA(K, missing="mean").fit(HOLED)
    means = np.nanmean(HOLED, axis=0)
    assert np.allclose(pca.column_means_, means)
    filled = np.where(HOLES, means, HOLED)
    assert np.allclose(pca.transform(HOLED), pca.transform(filled))
    assert np.allclose(pca.impute(HOLED), filled)


def test_scales_and_dtypes():
    reference = PCA(K, missing="em").fit(HOLED)
    for factor in (1e-150, 1e150):
        pca = PCA(K, missing="em").fit(HOLED * factor)
        assert np.allclose(pca.imputed_.values, reference.imputed_.values * factor, rtol=1e-8)
        assert np.allclose(pca.impute(HOLED * factor), reference.impute(HOLED) * factor, rtol=1e-6)
    single = PCA(K, missing="em").fit(HOLED.astype(np.float32))
    assert single.components_.dtype == np.float32
    assert np.allclose(single.components_, reference.components_, atol=1e-5)
    # The likelihood is in units of the data.
    scaled = PCA(K, missing="em").fit(HOLED * 1000).imputed_
    assert np.allclose(scaled.trace, reference.imputed_.trace - (~HOLES).sum() * np.log(1000))
    assert np.isclose(scaled.noise_variance, reference.imputed_.noise_variance * 1e6)


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


def test_files_are_read_with_the_method_of_the_model(tmp_path):
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
    with pytest.raises(ParameterError, match="read with missing='mean', but the model has missing='em'"):
        PCA(K, missing="em").fit(scan(tmp_path / "x.csv", missing="mean"))
    with pytest.raises(ParameterError, match="needs a PCA that was fitted with it"):
        by_means.transform(scan(tmp_path / "x.csv", missing="em"))


def test_rows_without_any_value_in_a_file_are_left_out_by_name(tmp_path):
    frame = pd.DataFrame(HOLED[:20], columns=list("abcdefghi"), index=[f"bird{i}" for i in range(20)])
    frame.loc["bird3"] = np.nan
    frame.to_csv(tmp_path / "x.csv")
    table = scan(tmp_path / "x.csv", missing="em").read()
    assert table.values.shape == (19, D)
    assert "bird3" not in table.row_names
    assert any("1 row without any value was left out: row 3 (named 'bird3')" in note for note in table.notes)


def test_regularization_is_a_strength_or_is_chosen():
    one = PCA(2, missing="iterative").fit(HOLED)
    assert one.imputed_.regularization == 1.0
    strong = PCA(2, missing="iterative", regularization=10.0).fit(HOLED)
    assert np.abs(strong.imputed_.values - HOLED[~HOLES].mean()).mean() < np.inf
    assert not np.allclose(strong.imputed_.values, one.imputed_.values)
    chosen = PCA(2, missing="iterative", regularization="cv", random_state=0).fit(HOLED)
    assert chosen.imputed_.regularization in (0.0, 0.5, 1.0, 2.0, 4.0)
    for value in (-1, "much", True, np.inf):
        with pytest.raises(ParameterError, match="must be a number of at least 0"):
            PCA(2, missing="iterative", regularization=value).fit(HOLED)
    with pytest.raises(ParameterError, match="applies only to missing='iterative'"):
        PCA(2, missing="em", regularization=1.0).fit(HOLED)


def test_rules_for_the_number_of_components_see_the_filled_table():
    few = HOLED[:30, :6]
    for components, method in ((None, "iterative"), (0.9, "em")):
        pca = PCA(components, missing=method, random_state=0).fit(few)
        assert 1 <= pca.imputed_.n_components <= 4
        filled = few.copy()
        filled[pca.imputed_.rows, pca.imputed_.columns] = pca.imputed_.values
        plain = PCA(components, random_state=0).fit(filled)
        assert np.allclose(pca.explained_variance_, plain.explained_variance_)
        assert np.isfinite(pca.transform(few)).all()


def test_weights_and_scales_apply_to_the_imputation():
    weights = np.random.default_rng(1).integers(0, 3, N)
    for method, scale in (("em", "unit"), ("iterative", None)):
        weighted = PCA(K, missing=method, scale=scale).fit(HOLED, sample_weight=weights)
        repeated = PCA(K, missing=method, scale=scale).fit(np.repeat(HOLED, weights, axis=0))
        assert np.allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-10)
        assert np.allclose(weighted.components_, repeated.components_, atol=1e-10)


def test_what_the_fit_raises():
    row, column = HOLED.copy(), HOLED.copy()
    row[[4, 9]], column[:, 5] = np.nan, np.nan
    infinite = HOLED.copy()
    infinite[2, 2] = np.inf
    sparse = sp.csr_matrix(np.where(HOLES, np.nan, 0.0))
    for method in METHODS:
        for X, message in (
            (row, "2 rows have no entry at all: row 4, row 9"),
            (column, "1 column has no entry at all: column 5"),
            (infinite, r"inf \(infinity\): row 2, column 2"),
            (sparse, "fills NumPy arrays, frames and files that fit into memory"),
        ):
            with pytest.raises(DataError, match=message):
                PCA(2, missing=method).fit(X)
    for method in ("error", "projection"):
        with pytest.raises(
            DataError, match=f"{HOLES.sum()} values are missing in .* rows and 9 columns: row"
        ):
            PCA(2, missing=method).fit(HOLED)
    with pytest.raises(ParameterError, match="missing='zero'"):
        PCA(2, missing="zero").fit(HOLED)
    with pytest.raises(ParameterError, match="imputes with 1 to 8 components for 80 rows x 9 columns"):
        PCA(9, missing="em").fit(HOLED)
    with pytest.raises(ParameterError, match="n_components='many' is not known"):
        PCA("many", missing="em").fit(HOLED)
    with pytest.raises(DataError, match="at least 3 rows and 2 columns"):
        PCA(missing="em").fit([[1.0, 2.0], [np.nan, 1.0]])
    with pytest.raises(ParameterError, match="estimates column means"):
        PCA(2, missing="em", center=False).fit(HOLED)
    with pytest.raises(MemoryLimitError, match="Imputing 80 rows"):
        PCA(2, missing="em", memory_limit=10_000).fit(HOLED)
    with pytest.warns(MissingValuesWarning, match="did not converge"):
        _ = _stopped_early()


def _stopped_early():
    with pytest.MonkeyPatch.context() as patch:
        from gramian.analysis import imputation

        whole = imputation.impute_em
        patch.setattr(
            "gramian.estimators.missing.impute_em", lambda X, k, **options: whole(X, k, max_iter=2, **options)
        )
        return PCA(2, missing="em").fit(HOLED)


@pytest.mark.filterwarnings("ignore:the eigenvalues are known to:gramian.CertificateWarning")
def test_partial_fit_says_what_to_do():
    pca = PCA(2, missing="em").fit(HOLED)
    with pytest.raises(DataError, match=r"partial_fit does not impute.*model\.impute\(batch\)"):
        pca.partial_fit(HOLED)
    assert pca.partial_fit(pca.impute(HOLED)).n_samples_ == 2 * N
    assert (pca.n_missing_, pca.imputed_) == (0, None)


def test_other_estimators_say_what_to_call_first():
    for estimator in (KernelPCA(2), Whitener()):
        with pytest.raises(DataError, match=r"values are missing in .*fill them first: PCA.*impute\(X\)"):
            estimator.fit(HOLED)
        estimator.fit(PCA(K, missing="em").fit(HOLED).impute(HOLED))


def test_models_of_all_columns_map_complete_rows_only():
    with pytest.raises(DataError, match="contains NaN"):
        PCA().fit(WHOLE).transform(HOLED)


def test_plan_and_complete_data_need_no_imputation():
    pca = PCA(K, missing="em")
    assert pca.plan(HOLED).operator == PCA(K).plan(WHOLE).operator
    pca.fit(WHOLE)
    assert (pca.n_missing_, pca.imputed_) == (0, None)
    assert np.array_equal(pca.components_, PCA(K).fit(WHOLE).components_)


def test_pictures_with_holes():
    pictures = np.where(HOLES, np.nan, WHOLE).reshape(N, 3, 3)
    pca = PCA(2, missing="em").fit(pictures)
    assert pca.impute(pictures).shape == (N, 3, 3)
    assert np.allclose(pca.transform(pictures), PCA(2, missing="em").fit(HOLED).transform(HOLED))
