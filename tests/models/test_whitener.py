"""Whitening against S^-1/2 and its relatives written out, and as a scikit-learn estimator."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf

from gramian import PCA
from gramian.errors import DataError, ParameterError, RankWarning
from gramian.models.whitener import Whitener
from helpers import spectrum_matrix

METHODS = ("pca", "zca", "zca-cor", "pca-cor")
FULL = {
    "separated": spectrum_matrix(60, 6, [10, 5, 3, 1, 0.3, 0.1], seed=0, mean=0.3),
    "clustered": spectrum_matrix(60, 6, [5, 5, 5, 1, 1, 0.1], seed=1),
    "flat": spectrum_matrix(60, 6, [2] * 6, seed=2),
    "graded": spectrum_matrix(90, 7, 10.0 ** -np.arange(7), seed=3),
    "offset": spectrum_matrix(300, 6, [50, 20, 10, 5, 2, 1], seed=4, mean=1000.0),
    "units": np.random.default_rng(5).standard_normal((80, 4)) * [1, 1e-3, 50, 7] + [3, 0, -2, 9],
    "one column": np.array([[1.0], [4.0], [2.0], [2.0]]),
    "large": spectrum_matrix(1500, 200, np.geomspace(1, 1e-5, 200), seed=6),
}
DEFICIENT = {
    "rank 3": spectrum_matrix(60, 9, [5, 2, 1], seed=7, mean=2.0),
    "wide": spectrum_matrix(20, 60, np.geomspace(10, 0.1, 19), seed=8),
    "wide, rank 3": spectrum_matrix(20, 60, [5, 2, 1], seed=9),
    "two rows": np.array([[1.0, 2.0, 3.0], [2.0, 0.0, 1.0]]),
    "duplicated columns": np.tile(spectrum_matrix(40, 3, [3, 2, 1], seed=10), 2),
    "duplicated rows": np.tile(spectrum_matrix(5, 8, [3, 2, 1, 1], seed=11), (3, 1)),
}


def definition(X, method, *, ddof=1, added=0.0, shrink=None, rank=None):
    """W by its formula, from the eigenvectors of the covariance or correlation matrix; (d, d) or (k, d)."""
    X = np.asarray(X, dtype=np.float64)
    C = X - X.mean(axis=0)
    S = C.T @ C / (len(X) - ddof)
    V = np.diag(S) if method.endswith("-cor") else np.ones(len(S))
    S = S / np.sqrt(np.outer(V, V))
    if shrink is not None:
        S = (1 - shrink) * S + shrink * np.trace(S) / len(S) * np.eye(len(S))
    S = S + added * np.eye(len(S))
    # The eigenvectors of S by singular values, which loses none of the small ones.
    _, singular, vectors = np.linalg.svd(C / np.sqrt(V))
    values = np.zeros(len(S))
    values[: len(singular)] = singular**2 / (len(X) - ddof)
    if shrink is not None:
        values = (1 - shrink) * values + shrink * values.mean()
    values, vectors = (values + added)[:rank], vectors[:rank].T
    if method.startswith("zca"):
        return (vectors / np.sqrt(values)) @ vectors.T / np.sqrt(V)
    signs = np.sign(
        vectors[np.argmax(np.abs(vectors) > (1 - 1e-6) * np.abs(vectors).max(0), 0), range(len(values))]
    )
    return (vectors * signs / np.sqrt(values)).T / np.sqrt(V)


def covariance(Z, ddof=1):
    C = np.asarray(Z, dtype=np.float64)
    C = C - C.mean(axis=0)
    return C.T @ C / (len(C) - ddof)


@pytest.mark.parametrize("method", METHODS)
def test_whitened_data_has_identity_covariance(method):
    for name, dtype in product(FULL, (np.float64, np.float32)):
        X = FULL[name].astype(dtype)
        model, double = Whitener(method), dtype == np.float64
        Z = model.fit_transform(X)
        assert Z.shape == X.shape
        assert Z.dtype == model.components_.dtype == model.mean_.dtype == dtype
        r = model.rank_
        if double:
            assert r == model.n_components_ == X.shape[1]
            assert_allclose(Z.mean(axis=0), 0, atol=1e-8)
        elif r < X.shape[1] and not method.startswith("pca"):
            Z = Z.astype("f8") @ model.components_[:r].T.astype("f8")
        assert_allclose(covariance(Z[:, :r]), np.eye(r), atol=2e-9 if double else 1e-6)
        back = model.inverse_transform(model.transform(X))
        assert_allclose(back, X, atol=(1e-12 if double else 3e-6) * np.abs(X).max())


@pytest.mark.parametrize("method", METHODS)
def test_the_matrix_is_the_definition(method):
    # Roots do not depend on the choice of vectors within a cluster.
    clustered = ("clustered", "flat") if method == "zca" else ()
    for ddof, name in product([0, 1], ["separated", "offset", "units", "one column", *clustered]):
        X = FULL[name]
        model = Whitener(method, ddof=ddof).fit(X)
        W = definition(X, method, ddof=ddof)
        assert_allclose(model.whitening_matrix_, W, atol=1e-8 * np.abs(W).max())
        new = np.random.default_rng(0).standard_normal((7, X.shape[1]))
        expected = (new - X.mean(axis=0)) @ W.T
        assert_allclose(model.transform(new), expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
        assert_allclose(covariance(model.transform(X), ddof), np.eye(X.shape[1]), atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_scale_far_from_one_changes_nothing(method):
    for scale in [1e-95, 1e-40, 1e40, 1e95]:
        X = FULL["separated"]
        plain, model = Whitener(method).fit(X), Whitener(method).fit(X * scale)
        assert_allclose(model.fit_transform(X * scale), plain.transform(X), atol=1e-10)
        assert_allclose(model.inverse_transform(plain.transform(X)) / scale, X, atol=1e-12)
        assert_allclose(model.whitening_matrix_ * scale, plain.whitening_matrix_, rtol=1e-9, atol=1e-9)
        shrunk, at_one = (Whitener(method, regularization="ledoit-wolf").fit(x) for x in (X * scale, X))
        assert shrunk.regularization_ == pytest.approx(at_one.regularization_)
        assert_allclose(shrunk.transform(X * scale), at_one.transform(X), atol=1e-10)


def test_float32_up_to_its_range_and_put_right(monkeypatch):
    for method, scale in product(METHODS, [1e-36, 1e-25, 1e25, 1e36]):
        X = FULL["separated"]
        Z = Whitener(method).fit_transform((X * scale).astype("f4"))
        assert_allclose(covariance(Z), np.eye(6), atol=1e-6)
        assert_allclose(Z, Whitener(method).fit_transform(X), atol=2e-3)
    for method in METHODS:
        X = (spectrum_matrix(3000, 40, np.geomspace(1, 1e-4, 40), seed=19) + 0.02).astype("f4")
        Z = Whitener(method).fit_transform(X)
        assert_allclose(Z.mean(axis=0, dtype="f8"), 0, atol=1e-6)
    fit = PCA.fit

    def skewed(self, X, y=None):
        fit(self, X)
        mixing = np.eye(self.n_components_) + 1e-5 * np.tri(self.n_components_, k=-1)
        self.components_ = (mixing @ self.components_).astype("f4")
        return self

    X = FULL["separated"].astype("f4")
    monkeypatch.setattr(PCA, "fit", skewed)
    assert_allclose(covariance(Whitener().fit_transform(X)), np.eye(6), atol=1e-6)


@pytest.mark.parametrize("name", DEFICIENT)
def test_directions_without_variance_give_nothing(name):
    for method in METHODS:
        X = DEFICIENT[name]
        model = Whitener(method)
        Z = model.fit_transform(X)
        n, d = X.shape
        assert model.n_components_ == min(n - 1, d)
        rank = np.linalg.matrix_rank(X - X.mean(axis=0), tol=1e-9)
        assert model.rank_ == rank
        new = np.random.default_rng(0).standard_normal((5, d)) * 100
        W = definition(X, method, rank=rank)
        expected = (new - X.mean(axis=0)) @ W.T
        shown = model.transform(new)
        if method.startswith("pca"):
            assert (shown[:, rank:] == 0).all()
            assert_allclose(covariance(Z)[:rank, :rank], np.eye(rank), atol=1e-9)
            shown = shown[:, :rank]
        else:
            projector = model.components_[:rank].T @ model.components_[:rank]
            assert_allclose(covariance(Z), projector, atol=1e-9)
            assert_allclose(shown, expected, atol=1e-7 * np.abs(expected).max())
        assert np.abs(shown).max() <= 2 * np.abs(expected).max()
        # All that the fitted rows have is kept, so they come back.
        assert_allclose(model.inverse_transform(Z), X, atol=1e-11)


def test_wide_and_constant_tables():
    Z = Whitener().fit_transform(DEFICIENT["wide"])
    assert_allclose(Z @ Z.T, 19 * (np.eye(20) - 1 / 20), atol=1e-9)
    X = np.random.default_rng(16).standard_normal((4, 10_001)).astype("f4")
    model = Whitener().fit(X)
    with pytest.raises(AttributeError, match="whitening_matrix_ would have 100,020,001 entries; the"):
        model.whitening_matrix_  # noqa: B018
    assert Whitener("pca").fit(X).whitening_matrix_.shape == (3, 10_001)
    X = np.insert(FULL["separated"], 2, 0.1, axis=1)
    new = X[:5] + 1
    for method in METHODS:
        model = Whitener(method).fit(X)
        assert model.constant_features_.tolist() == [2]
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
        if method.startswith("zca"):
            assert_allclose(model.transform(new)[:, 2], 0, atol=1e-12)
            others = Whitener(method).fit(np.delete(X, 2, axis=1))
            expected = others.transform(np.delete(new, 2, axis=1))
            assert_allclose(np.delete(model.transform(new), 2, axis=1), expected, atol=1e-9)
    for rule in (0.5, "ledoit-wolf"):
        model = Whitener("zca-cor", regularization=rule).fit(X)
        assert_allclose(model.transform(new)[:, 2], 0, atol=1e-12)
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12)
    X = np.full((7, 3), 0.1)
    for method, rule in product(METHODS, (None, "ledoit-wolf")):
        with pytest.warns(RankWarning, match="The data has rank 0"):
            model = Whitener(method, regularization=rule).fit(X)
        assert model.rank_ == 0
        assert (model.transform(np.eye(3)) == 0).all()
        back = model.inverse_transform(model.transform(X))
        assert_allclose(back, X, rtol=1e-15)


def test_zca_is_closest():
    for name in ["separated", "units", "offset"]:
        X = FULL[name]
        C = X - X.mean(axis=0)
        standardised = C / X.std(axis=0, ddof=1)
        whitened = {method: Whitener(method).fit_transform(X) for method in METHODS}
        rng = np.random.default_rng(0)
        for i in range(20):
            # Any rotation of white coordinates is white.
            whitened[str(i)] = (
                whitened["pca"] @ np.linalg.qr(rng.standard_normal((X.shape[1], X.shape[1])))[0]
            )
        for target, best in ((C, "zca"), (standardised, "zca-cor")):
            distance = {key: ((Z - target) ** 2).sum() for key, Z in whitened.items()}
            assert min(distance, key=distance.get) == best


@pytest.mark.parametrize("method", METHODS)
def test_a_number_is_added_to_the_eigenvalues(method):
    for name in ["separated", "units", "clustered"]:
        X = FULL[name]
        model = Whitener(method, regularization=0.2).fit(X)
        expected = (X - X.mean(axis=0)) @ definition(X, method, added=0.2).T
        if name == "clustered" and method.startswith("pca"):
            expected = expected @ expected.T
            assert_allclose(model.transform(X) @ model.transform(X).T, expected, atol=1e-8)
        else:
            assert_allclose(model.transform(X), expected, atol=1e-9 * np.abs(expected).max())
        assert model.regularization_ == 0.2
        assert_allclose(model.regularized_eigenvalues_, model.eigenvalues_ + 0.2)
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-12 * np.abs(X).max())


@pytest.mark.parametrize("method", ["zca", "zca-cor"])
def test_regularized_directions_beside_the_rows_are_whitened_too(method):
    """The low-rank form against the whole matrix, for rows that the fitted ones do not span."""
    for rule, name in product(
        [0.05, "ledoit-wolf"], ["units", "wide", "rank 3", "wide, rank 3", "duplicated columns"]
    ):
        X = (FULL | DEFICIENT)[name]
        model = Whitener(method, regularization=rule, ddof=0).fit(X)
        new = np.random.default_rng(1).standard_normal((6, X.shape[1])) * 3
        if isinstance(rule, str):
            standardised = (X - X.mean(axis=0)) / X.std(axis=0)
            shrink = ledoit_wolf(standardised if method == "zca-cor" else X)[1]
            assert model.regularization_ == pytest.approx(shrink, rel=1e-9)
            W = definition(X, method, ddof=0, shrink=shrink)
        else:
            W = definition(X, method, ddof=0, added=rule)
        expected = (new - X.mean(axis=0)) @ W.T
        assert_allclose(model.transform(new), expected, atol=1e-9 * np.abs(expected).max())
        assert_allclose(model.whitening_matrix_, W, atol=1e-9 * np.abs(W).max())
        # W has an inverse, so every row comes back.
        assert_allclose(model.inverse_transform(model.transform(new)), new, atol=1e-11)


@pytest.mark.parametrize("shape", [(60, 200), (200, 60), (900, 500)])
def test_few_components_do_not_change_the_intensity(shape):
    for rule in ["ledoit-wolf"]:
        X = spectrum_matrix(*shape, 10 * 0.9 ** np.arange(40), seed=0)
        whole = Whitener(regularization=rule).fit(X)
        few = Whitener(regularization=rule, n_components=3, random_state=0).fit(X)
        assert few.regularization_ == pytest.approx(whole.regularization_, rel=1e-9)
        assert 0 < few.regularization_ < 1
        values = whole.regularized_eigenvalues_[:3]
        assert_allclose(few.regularized_eigenvalues_, values, rtol=1e-9)
        assert Whitener(regularization=rule).fit(FULL["one column"]).regularization_ == 0
        assert Whitener(regularization=rule).fit(FULL["flat"]).regularization_ == pytest.approx(1)


def test_fit_transform_pictures_and_adding_nothing():
    X = DEFICIENT["rank 3"]
    for tiny in (1e-300, 1e-40):
        model = Whitener(regularization=tiny).fit(X)
        plain = Whitener().fit(X)
        new = np.random.default_rng(2).standard_normal((5, 9)) * 10
        assert_allclose(model.transform(new), plain.transform(new), atol=1e-9)
    X = FULL["separated"]
    assert_array_equal(Whitener(regularization=0).fit_transform(X), Whitener().fit_transform(X))
    assert Whitener(regularization=0).fit(X).regularization_ is None
    for rule in [None, 0.5]:
        X = DEFICIENT["rank 3"]
        with pytest.warns(RankWarning, match="n_components=6 but the data has rank 3: the last 3") as caught:
            model = Whitener("pca", n_components=6, regularization=rule).fit(X)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert model.components_.shape == (6, 9)
        assert_allclose(model.transform(X)[:, 3:], 0, atol=1e-12)
    for (method, rule), dtype in product(product(METHODS, [None, 0.1]), ("f8", "f4")):
        X = FULL["large"].astype(dtype)
        model = Whitener(method, regularization=rule)
        together = model.fit_transform(X)
        assert_allclose(together, model.transform(X), atol=1e-5 if dtype == "f4" else 1e-10)
    flat = FULL["separated"]
    pictures = flat.reshape(60, 2, 3)
    for method in ("zca", "zca-cor"):
        model = Whitener(method)
        Z = model.fit_transform(pictures)
        assert model.picture_shape_ == (2, 3)
        assert Z.shape == model.transform(pictures).shape == (60, 2, 3)
        assert_allclose(Z.reshape(60, 6), Whitener(method).fit_transform(flat), atol=1e-12)
        assert model.transform(flat).shape == (60, 6)
        for back in (model.inverse_transform(Z), model.inverse_transform(Z.reshape(60, 6))):
            assert_allclose(back, pictures, atol=1e-12)
    model = Whitener("pca", n_components=4).fit(pictures)
    assert model.transform(pictures).shape == (60, 4)
    assert model.inverse_transform(model.transform(pictures)).shape == (60, 2, 3)


@pytest.mark.parametrize("method", METHODS)
def test_few_directions_leave_the_others_at_0(method):
    for rule, name in product([None, 0.5], ["separated", "wide"]):
        X = {**FULL, **DEFICIENT}[name]
        model = Whitener(method, n_components=3, regularization=rule, random_state=0)
        Z = model.fit_transform(X)
        divisor = X.std(axis=0, ddof=1) if method.endswith("-cor") else 1.0
        C = (X - X.mean(axis=0)) / divisor
        values, vectors = np.linalg.eigh(C.T @ C / (len(C) - 1))
        U = vectors[:, ::-1][:, :3]
        inner = C @ U / np.sqrt(values[::-1][:3] + (rule or 0))
        if method.startswith("zca"):
            assert_allclose(Z, inner @ U.T, atol=1e-9)
            assert_allclose(model.transform(X), Z, atol=1e-12)
        else:
            assert_allclose(np.abs(Z), np.abs(inner), atol=1e-9)
        back = X.mean(axis=0) + C @ U @ U.T * divisor
        assert_allclose(model.inverse_transform(Z), back, atol=1e-11)


def test_attributes_names_ranks_and_tolerances_are_those_of_pca():
    X = FULL["separated"]
    assert Whitener(n_components=0.9).fit(X).n_components_ == PCA(0.9).fit(X).n_components_
    with pytest.raises(ParameterError, match="n_components=7 but 60 rows x 6 columns have at most 6"):
        Whitener(n_components=7).fit(X)
    with pytest.raises(ParameterError, match="regularization='ledoit-wolf' needs rows of equal weight"):
        Whitener(regularization="ledoit-wolf").fit(X, sample_weight=np.arange(60))
    model = Whitener("pca", n_components=3).fit(X)
    assert_allclose(model.transform(X), PCA(3, whiten=True, random_state=0).fit_transform(X), atol=1e-12)
    X = spectrum_matrix(1500, 300, np.geomspace(1, 1e-12, 300), seed=15)
    model, pca = Whitener().fit(X), PCA().fit(X)
    assert model.rank_ == pca.rank_ < 300
    assert model.spectrum_.rank_tolerance == pca.spectrum_.rank_tolerance
    shown = np.asarray(model.transform(X)) @ model.components_[: model.rank_].T
    assert_allclose(np.cov(shown.T), np.eye(model.rank_), atol=1e-6)
    X = FULL["units"]
    model = Whitener("zca-cor").fit(X)
    pca = PCA(scale="unit").fit(X)
    assert_array_equal(model.components_, pca.components_)
    assert_array_equal(model.eigenvalues_, pca.explained_variance_)
    assert_array_equal(model.explained_variance_, pca.explained_variance_)
    assert_array_equal(model.explained_variance_ratio_, pca.explained_variance_ratio_)
    assert_array_equal(model.scale_, pca.scale_)
    assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-14)
    assert model.plan_ == pca.plan_ == Whitener("zca-cor").plan(X)
    assert model.certificate_.ok
    assert model.regularization_ is None
    assert (model.n_samples_, model.n_features_in_, model.n_components_, model.rank_) == (80, 4, 4, 4)
    assert Whitener().fit(X).scale_ is None
    frame = pd.DataFrame(X, columns=["a", "b", "c", "e"])
    for method in ("zca", "zca-cor"):
        assert Whitener(method).fit(frame).get_feature_names_out().tolist() == ["a", "b", "c", "e"]
    assert Whitener("pca").fit(frame).get_feature_names_out().tolist() == ["PC1", "PC2", "PC3", "PC4"]
    assert Whitener().fit(X).get_feature_names_out(list("wxyz")).tolist() == list("wxyz")


def test_parameters_and_rows_that_are_refused():
    for parameters, message in [
        ({"method": "zca_cor"}, r"is not known\. Allowed:"),
        ({"method": 3}, "method=3 is not"),
        ({"method": "cholesky"}, r"is not known\. Allowed:"),
        ({"regularization": "oas"}, "regularization='oas'"),
        ({"regularization": -1}, "regularization=-1"),
        ({"regularization": "lw"}, "regularization='lw'"),
        ({"ddof": 60}, "ddof=60 must be a"),
        ({"n_components": 0}, "n_components=0 is not"),
        ({"random_state": "x"}, "cannot start a random"),
    ]:
        model = Whitener(**parameters)
        for call in (model.fit, model.fit_transform):
            with pytest.raises(ParameterError, match=message):
                call(FULL["separated"])
    model = Whitener("pca", n_components=3).fit(FULL["separated"])
    with pytest.raises(DataError, match="X has 5 features, but Whitener is expecting 6"):
        model.transform(FULL["separated"][:, :5])
    with pytest.raises(DataError, match="X has 6 columns, but inverse_transform takes 3 whitened"):
        model.inverse_transform(FULL["separated"])
    with pytest.raises(DataError, match="Whitener does not support sparse data, because"):
        model.transform(sp.csr_matrix(np.eye(6)))
    model = Whitener().fit(FULL["separated"])
    X = FULL["separated"].copy()
    X[33, 4] = np.inf
    for call in (model.transform, model.inverse_transform):
        with pytest.raises(DataError, match=r": row 33, column 4\."):
            call(X)
    far = np.full((1, 6), 1e95)
    W = definition(FULL["separated"], "zca")
    assert_allclose(model.transform(far), far @ W.T, rtol=1e-7)
    with pytest.raises(DataError, match="Whitened values of a row far from the fitted rows exceed"):
        model.transform(np.array([[1e308, -1e308, 0, 0, 0, 0]]))
    for name in ("whitening_matrix_", "explained_variance_"):
        with pytest.raises(AttributeError, match="Whitener instance is not fitted yet"):
            getattr(Whitener(), name)
