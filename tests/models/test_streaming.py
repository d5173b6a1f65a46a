"""Rows in batches: the same model as of all rows at once, exactly; and sketches within their bound."""

import copy
import gc
import pickle
import warnings
import weakref
from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import gramian
from gramian import PCA
from gramian.core.arrays import as_float64
from gramian.errors import DataError, DiagnosticWarning, MemoryLimitError, ParameterError, RankWarning
from gramian.models.pca import fits as module
from helpers import spectrum_matrix

X = spectrum_matrix(90, 8, [10, 5, 3, 1, 0.3, 0.1, 0.03], seed=0, mean=np.arange(8) - 3.0)
NAMES = ("explained_variance_", "explained_variance_ratio_", "singular_values_", "components_", "mean_")


def streamed(model, batches):
    for batch in batches:
        model.partial_fit(batch)
    return model


def assert_same_model(mine, whole, rtol=1e-11):
    for name in (*NAMES, "noise_variance_", "reconstruction_error_", "total_variance_", "scale_"):
        result, expected = getattr(mine, name), getattr(whole, name)
        if expected is not None:
            scale = float(np.abs(expected).max())
            # Close eigenvalues share their directions out among them.
            tol = 1e3 * rtol if name == "components_" else rtol
            assert_allclose(result, expected, rtol=tol, atol=tol * scale, err_msg=name)
    for name in ("n_components_", "n_samples_", "n_features_in_", "rank_"):
        assert getattr(mine, name) == getattr(whole, name), name
    assert_array_equal(mine.constant_features_, whole.constant_features_)
    assert mine.certificate_.ok


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_components": 3},
        {"n_components": 0.9},
        {"n_components": "mle"},
        {"n_components": "gavish-donoho"},
        {"center": False},
        {"scale": "unit"},
        {"scale": "pareto", "ddof": 0},
        {"scale": np.arange(1.0, 9.0), "whiten": True},
        {"n_components": 2, "solver": "krylov"},
    ],
    ids=str,
)
def test_batches_give_what_all_rows_give(settings):
    whole = PCA(random_state=0, solver="covariance").set_params(**settings).fit(X)
    for cuts, order in (([45], 1), ([1, 2, 3, 50], 1), ([1, 2, 3, 50], -1), (range(1, 90), 1)):
        mine = streamed(PCA(random_state=0, **settings), np.split(X, cuts)[::order])
        assert_same_model(mine, whole)
        assert_allclose(mine.transform(X), whole.transform(X), atol=1e-9)
        assert (mine.component_choice_ is None) == (whole.component_choice_ is None)


def test_genotypes_and_files_read_block_by_block(tmp_path):
    rng = np.random.default_rng(0)
    counts = rng.binomial(2, rng.uniform(0.1, 0.5, 30), (300, 30)).astype(float)
    settings = {"scale": "genotype", "n_components": 3}
    whole = PCA(solver="covariance", **settings).fit(counts)
    assert_same_model(streamed(PCA(**settings), np.split(counts, [1, 100])), whole)
    with pytest.raises(DataError, match='scale="genotype" is for counts of an allele, 0, 1 or 2,'):
        PCA(**settings).partial_fit(np.where(np.arange(300)[:, None] == 7, 3.0, counts))
    large = rng.standard_normal((40_000, 40)) * 0.9 ** np.arange(40) + 7
    np.save(tmp_path / "a.npy", large)
    model = PCA(3, memory_limit="40MB").partial_fit(tmp_path / "a.npy")
    assert_allclose(model.singular_values_, PCA(3).fit(large).singular_values_, rtol=1e-9)


def test_scale_and_offset_change_nothing_and_what_does_not_vary():
    flat = np.full((5, 3), 0.1)
    with pytest.warns(RankWarning, match="rank 0"):
        assert streamed(PCA(), np.split(flat, 5)).explained_variance_.max() == 0
    mixed = np.column_stack([X[:, 0], np.full(90, 0.1), X[:, 1], X[:, 1]])
    for cuts in ([1], [40], range(1, 90)):
        model = streamed(PCA(scale="unit"), np.split(mixed, cuts))
        assert_array_equal(model.constant_features_, [1])
        assert model.rank_ == 2
    twice = streamed(PCA(), [X, X])
    assert_allclose(twice.reconstruction_error_, 0, atol=1e-20)
    assert_allclose(
        twice.explained_variance_ * 179 / 2, PCA().fit(X).explained_variance_ * 89, rtol=1e-9, atol=1e-13
    )
    base = X - X.mean(axis=0)
    for scale in (1e-95, 1e-40, 1e40, 1e95):
        data = base * scale + scale
        values = PCA().fit(data).explained_variance_ / scale**2
        for cuts in ([1], [30, 31], range(1, 90)):
            model = streamed(PCA(), np.split(data, cuts))
            assert_allclose(model.explained_variance_ / scale**2, values, rtol=1e-9, atol=1e-14)
            assert model.certificate_.ok
    single = (base[:, :5] * 1e-1 + 1e4).astype(np.float32)
    model, exact = (
        streamed(PCA(2), np.split(single, [1, 7, 40])),
        np.linalg.svd(single.astype(np.float64) - single.mean(axis=0, dtype=np.float64), compute_uv=False),
    )
    assert_allclose(model.singular_values_, exact[:2], rtol=1e-10)
    assert model.components_.dtype == model.transform(single).dtype == np.float32
    assert model.certificate_.radii.max() < 1e-10 * model.explained_variance_[0]
    # Tiny batches after large ones, and the other way round.
    for parts in ((base * 1e-95, base), (base, base * 1e95), (base[:1] * 1e-95, base[1:] * 1e-95)):
        whole = PCA().fit(np.vstack(parts))
        assert_allclose(
            streamed(PCA(), parts).singular_values_,
            whole.singular_values_,
            rtol=1e-6,
            atol=1e-14 * whole.singular_values_[0],
        )


@pytest.mark.parametrize("forgetting", [0.9, 0.3])
def test_forgetting_weighs_rows_as_in_numpy(forgetting):
    for cuts, ddof in product(([10, 40], range(1, 90)), (0, 1)):
        batches = np.split(X, cuts)
        weights = np.concatenate(
            [np.full(len(part), forgetting ** (len(batches) - 1 - b)) for b, part in enumerate(batches)]
        )
        model = streamed(PCA(forgetting=forgetting, ddof=ddof), batches)
        covariance = np.cov(X.T, aweights=weights, ddof=ddof)
        assert_allclose(model.get_covariance(), covariance, rtol=1e-9, atol=1e-11 * np.trace(covariance))
        assert_allclose(model.mean_, np.average(X, axis=0, weights=weights), rtol=1e-9)
        part = PCA(3, forgetting=forgetting, ddof=ddof)
        scores = streamed(part, batches).transform(X)
        gaps = ((X - part.inverse_transform(scores)) ** 2).sum(axis=1)
        assert_allclose(part.reconstruction_error_, np.average(gaps, weights=weights), rtol=1e-6)
        assert model.n_samples_ == 90
        assert model.certificate_.ok


def test_a_stream_is_copied_and_saved_at_any_time_also_of_too_few_rows(tmp_path):
    model = PCA().partial_fit(X[:1])
    assert not hasattr(model, "components_")
    assert model.n_features_in_ == 8
    with pytest.raises(NotFittedError, match="This PCA instance is not fitted yet: 1 row was read, but"):
        model.transform(X)
    assert model.partial_fit(X[1:2]).components_.shape == (2, 8)
    few = PCA(5).partial_fit(X[:4])
    with pytest.raises(NotFittedError, match="This PCA instance is not fitted yet: 4 rows were read,"):
        few.summary()
    assert few.partial_fit(X[4:]).n_components_ == 5
    model = streamed(PCA(forgetting=1e-12), [X[:50], X[50:51]])
    with pytest.raises(NotFittedError, match="This PCA instance is not fitted yet: with"):
        model.transform(X)
    path = tmp_path / "m.gramian"
    whole = streamed(PCA(5), [X[:3], X[3:]])
    PCA(5).partial_fit(X[:3]).save(path)
    model = gramian.load(path)
    with pytest.raises(DataError, match="This PCA instance is not fitted yet: 3 rows were read,"):
        model.transform(X)
    model.save(path)
    model = gramian.load(path).partial_fit(X[3:])
    assert_array_equal(model.explained_variance_, whole.explained_variance_)
    with pytest.raises(NotFittedError, match="This PCA instance is not fitted yet"):
        PCA(5).save(path)
    whole = PCA(2).fit(X)
    for asked in (False, True):
        model = PCA(2).partial_fit(X[:40])
        if asked:
            assert model.certificate_.values.shape == (2,)
        twins = [copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
        model.save(tmp_path / "m.gramian")
        twins.append(gramian.load(tmp_path / "m.gramian"))
        for twin in (model, *twins):
            twin.partial_fit(X[40:])
        for twin in (model, *twins):
            assert twin.n_samples_ == 90
            assert_allclose(twin.explained_variance_, whole.explained_variance_, rtol=1e-11)
            assert_array_equal(twin.explained_variance_, twins[0].explained_variance_)
    unseen = clone(model)
    assert "_moments" not in vars(unseen)


def test_nothing_is_decomposed_before_somebody_asks_and_the_plan_says_one_pass(monkeypatch):
    calls = []
    run = module.run
    monkeypatch.setattr(module, "run", lambda *given: calls.append(1) or run(*given))
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    for data in (X, frame):
        calls.clear()
        model = streamed(PCA(2), np.array_split(data, 9) if data is X else [data[:40], data[40:]])
        assert not calls
        assert model.n_samples_ == 90
        model.components_, model.plan_, model.transform(data)
        assert len(calls) == 1
        model.partial_fit(data)
        assert model.explained_variance_.shape == (2,)
        assert len(calls) == 2
    model = streamed(PCA(2), np.array_split(X, 3))
    assert "one pass" in str(model.plan_)
    assert "3 batches" in str(model.plan_)
    assert "of the rows is stored" in model.plan_.reason
    assert len(model.attempts_) == 1


def test_before_the_first_look_an_attribute_is_not_there_and_then_it_is():
    for name in ("components_", "_center", "plan_", "component_choice_"):
        said = f"'PCA' object has no attribute '{name}'"
        with pytest.raises(AttributeError, match=said):
            getattr(PCA(2), name)
        assert name == "plan_" or not hasattr(PCA, name)
        model = PCA(2).partial_fit(X)
        assert name not in vars(model)
        assert getattr(model, name) is vars(model)[name]
    assert not hasattr(PCA(2).partial_fit(X), "_center_rest_")


def test_no_batch_is_kept_alive(array_kind):
    batch = array_kind.make(X)
    seen = weakref.ref(batch)
    model = PCA(2).partial_fit(batch)
    size = len(pickle.dumps(model._moments.kind))
    del batch
    if seen() is not None:  # held by a cycle
        gc.collect()
    assert seen() is None
    assert size < 2000
    assert model.components_.shape == (2, 8)


def test_refused_batches_leave_the_stream_as_it_was():
    model = PCA(2).partial_fit(pd.DataFrame(X[:50], columns=list("abcdefgh")))
    bad = X.copy()
    bad[3, 2] = np.nan
    rest = pd.DataFrame(X[50:], columns=list("abcdefgh"))
    for batch, said in (
        (pd.DataFrame(bad, columns=list("abcdefgh")), "Input X contains NaN: row 3"),
        (rest[list("hgfedcba")], "feature names"),
        (rest[list("abc")], "feature names"),
        (np.zeros((0, 8)), "minimum of 1"),
    ):
        with pytest.raises(DataError, match=said):
            model.partial_fit(batch)
    huge = np.where(np.arange(8) == 3, 1e200, X[:3])
    with pytest.raises(DataError, match=r"column 3 \('d'\) is .* Divide it by 1e\+200 first"):
        model.partial_fit(pd.DataFrame(huge, columns=list("abcdefgh")))
    assert_same_model(model.partial_fit(rest), PCA(2, solver="covariance").fit(X))
    fresh = PCA()
    with pytest.raises(DataError, match=r'Input X contains NaN: row 3, column 2\. Use missing="em"'):
        fresh.partial_fit(bad)
    assert not hasattr(fresh, "n_features_in_")
    with pytest.raises(DataError, match="X has 3 features, but PCA is expecting 8"):
        PCA().partial_fit(X).partial_fit(X[:, :3])


def test_a_batch_that_raises_changes_no_attribute():
    nan, huge = np.where(np.eye(8) == 1, np.nan, 0.0), np.full((2, 8), [[-1e200], [1e200]])
    for settings in ({}, {"center": False}, {"scale": np.full(8, 1e-3)}, {"forgetting": 0.5}):
        streams = [
            PCA(2, **settings),
            PCA(2, **settings).partial_fit(X[:1]),
            PCA(2, **settings).partial_fit(X),
        ]
        streams += [PCA(2, **settings).partial_fit(X)]
        assert streams[-1].rank_ == 2  # it has been looked at
        for model, (batch, said) in product(
            streams, ((nan, "contains NaN"), (X[:, :3], "3 features"), (huge, "Divide it by"))
        ):
            if batch.shape[1] == 3 and "n_features_in_" not in vars(model):
                continue
            before = dict(vars(model))
            with pytest.raises(DataError, match=said):
                model.partial_fit(batch)
            assert vars(model).keys() == before.keys()
            assert all(vars(model)[name] is before[name] for name in before)


def test_parameters_that_are_set_within_a_stream_hold_from_the_next_look_on_or_are_refused():
    for settings, others, message in [
        ({}, {"center": False}, "center=False cannot change within a"),
        ({}, {"n_components": "parallel"}, "resamples the rows, which"),
        ({}, {"scale": [1.0] * 7}, r"scale=\[1\.0, 1\.0, 1\.0, 1\.0, 1\.0,"),
        ({}, {"scale": "genotype"}, 'scale="genotype" is for counts of'),
    ]:
        model = PCA(**settings).partial_fit(X).set_params(**others)
        with pytest.raises((ParameterError, DataError), match=message):
            model.transform(X)
        assert model.set_params(**PCA(**settings).get_params()).transform(X).shape[0] == 90
    counts = np.random.default_rng(0).binomial(2, 0.3, (90, 8)).astype(float)
    model = streamed(PCA(forgetting=0.5), np.split(counts, [45])).set_params(scale="genotype", ddof=0)
    whole = streamed(PCA(forgetting=0.5, scale="genotype", ddof=0), np.split(counts, [45]))
    assert_same_model(model, whole)


def test_fit_starts_afresh_and_batches_are_of_any_kind():
    assert_same_model(
        PCA(2, solver="covariance").partial_fit(X[:50] * 7).fit(X), PCA(2, solver="covariance").fit(X)
    )
    begun = PCA(3).fit(X[:30])
    with pytest.warns(DiagnosticWarning, match="fit keeps no sums of its rows, so that"):
        begun.partial_fit(X[30:])
    assert_same_model(begun, PCA(3).partial_fit(X[30:]))
    huge = X * 1e95
    assert_allclose(
        streamed(PCA(), [huge[:30], huge[30:]]).singular_values_,
        PCA().fit(huge).singular_values_,
        rtol=1e-9,
        atol=1e85,
    )
    S = sp.random(200, 12, 0.3, format="csr", random_state=0)
    mine = streamed(PCA(3), [S[:1], S[1:90], S[90:]])
    assert_allclose(mine.explained_variance_, PCA(3).fit(S.toarray()).explained_variance_, rtol=1e-11)
    pictures = X.reshape(90, 2, 4)
    model = streamed(PCA(3), [pictures[:1], pictures[1:]])
    assert model.component_pictures_.shape == (3, 2, 4)
    with pytest.raises(DataError, match=r"The pictures are 2x4 \(width x height\), but the model was"):
        model.partial_fit(X.reshape(90, 4, 2))
    with pytest.raises(AttributeError, match="fitted on pictures"):
        PCA().partial_fit(X).component_pictures_  # noqa: B018


def test_array_kinds_give_their_own_kind(array_kind):
    model = streamed(PCA(2), [array_kind.make(X[:1]), array_kind.make(X[1:])])
    for name in ("components_", "mean_"):
        assert array_kind.same(getattr(model, name)), name
    assert array_kind.same(model.transform(array_kind.make(X)))
    rtol = 1e-5 if array_kind.dtype == np.float32 else 1e-11
    result = as_float64(model.explained_variance_)
    assert_allclose(result, PCA(2).fit(X).explained_variance_, rtol=rtol)


@pytest.mark.filterwarnings("ignore::gramian.errors.RankWarning")
def test_far_from_the_origin_certificates_hold_whatever_the_rows_weigh():
    """Variances to twenty digits: of rows that weigh next to nothing, and of a first batch."""
    rng = np.random.default_rng(0)
    wide = np.repeat((rng.standard_normal((19, 1)) + 1e5).astype(np.float32), 30, axis=1)
    for data, cuts, settings in (
        (rng.standard_normal((12, 6)) + 1e15, range(1, 12), {"forgetting": 1e-8, "ddof": 0}),
        (rng.standard_normal((2, 43)), [1], {"forgetting": 1e-6, "scale": "pareto"}),
        (wide[:, :1], [17], {}),
    ):
        batches = np.split(data, cuts)
        model = streamed(PCA(**settings), batches)
        powers = np.arange(len(batches))[::-1]
        w = np.repeat(np.longdouble(model.forgetting) ** powers, [len(part) for part in batches])
        centred = data.astype(np.longdouble)
        for _ in range(3):
            centred = centred - w @ centred / w.sum()
        degrees = w.sum() - model.ddof * (w @ w) / w.sum()
        if model.scale is not None:
            centred = centred / (w @ centred**2 / degrees) ** 0.25
        total, certificate = w @ (centred**2).sum(axis=1) / degrees, model.certificate_
        assert abs(model.total_variance_ - total) <= len(centred.T) * certificate.widening + 1e-15 * total
        assert certificate.widening <= 1e-7 * total + 0.01 * data.max() ** 2 * 2.0**-104


def test_columns_nearly_forgotten_and_parameters_that_a_stream_cannot_have():
    data = np.array([[0.7, 0.0, 0.1], [0.4, 0.2, 0.7], [0.2, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.0, 0.0]])
    for kind, cuts in product((np.asarray, sp.csr_matrix), ([1, 2, 3], [1, 3], [2, 3])):
        batches = np.split(data, cuts)
        model = streamed(PCA(scale="unit", forgetting=1e-12), map(kind, batches))
        w = np.longdouble(1e-12) ** np.repeat(np.arange(len(batches))[::-1], [len(part) for part in batches])
        centred = np.sqrt(w)[:, None] * (data - w @ data / w.sum())
        centred /= np.sqrt((centred**2).sum(axis=0))
        exact = np.linalg.eigvalsh((centred.T @ centred).astype(float))[::-1]
        assert (np.abs(model.explained_variance_ - exact) <= model.certificate_.radii + 1e-15).all()
    for settings, message in [
        ({"n_components": "parallel"}, "resamples the rows,"),
        ({"n_components": "mle", "forgetting": 0.9}, "needs rows of equal"),
        ({"n_components": 9}, "n_components=9 but"),
        ({"forgetting": 0}, "forgetting=0 must be"),
        ({"forgetting": 1.1}, r"forgetting=1\.1 must"),
        ({"solver": "gram"}, "needs all rows at"),
        ({"solver": "full"}, "needs all rows at"),
        ({"ddof": -1}, "ddof=-1 must be a"),
        ({"scale": [1.0]}, r"scale=\[1\.0\] must hold"),
    ]:
        model = PCA(**settings)
        with pytest.raises(ParameterError, match=message):
            model.partial_fit(X)
        assert not hasattr(model, "n_features_in_")
    model = PCA(2, memory_limit="10MB")
    wide = np.random.default_rng(0).standard_normal((3, 1000))
    with pytest.raises(MemoryLimitError, match="A stream of 1,000 columns stores several matrices of"):
        model.partial_fit(wide)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("batches", [1, 2, 40])
def test_columns_from_one_end_of_the_range_to_the_other_are_scaled(batches):
    X = np.random.default_rng(0).standard_normal((40, 3)) * [1e95, 1e-95, 1.0]
    X[:, 2] = 0.1  # is constant
    model = PCA(2, scale="unit")
    for part in np.array_split(X, batches):
        model.partial_fit(part)
    assert_allclose(model.explained_variance_, PCA(2, scale="unit").fit(X).explained_variance_)
    assert_array_equal(model.constant_features_, [2])
    constant = PCA(2, scale="unit")
    for part in np.array_split(X[:, [0, 2]], batches):
        constant.partial_fit(part)
    with pytest.warns(RankWarning):
        assert_array_equal(constant.constant_features_, [1])


def test_variances_that_an_offset_hides_are_one_warning():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((400, 20)) * np.sqrt(np.repeat([2.0, 0.9], 10))
    far = data + 1e15

    def caught(look):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = look()
        return model, [str(one.message) for one in said if issubclass(one.category, RankWarning)]

    for look in (
        lambda: PCA().fit(far),
        lambda: PCA(20).fit(far),
        lambda: PCA(solver="covariance").fit(far),
        lambda: PCA().partial_fit(far[:150]).partial_fit(far[150:]).set_params(),
    ):
        model, said = caught(lambda look=look: (model := look(), model.rank_)[0])
        zeros = int((model.explained_variance_ == 0).sum())
        assert len(said) == 1
        assert 0 < zeros < 20
        assert said[0].startswith(f"{zeros} of 20 components have variance 0, although")
        assert "e+15 times its standard deviation). Subtract the offset in a wider type" in said[0]
    # What has no such variance says nothing, near 0 and as far as float64 tells columns apart.
    doubled = np.hstack([data, data])
    for table in (data[:10], doubled, doubled + 1e8, doubled[:10] + 1e8, doubled.astype(np.float32) + 100):
        assert caught(lambda table=table: PCA().fit(table))[1] == []
    assert caught(lambda: PCA(4).fit(np.hstack([data[:, :2], data[:, :2]])))[1] == [
        "n_components=4 but the data has rank 2: the last 2 components have variance 0 and scores 0."
    ]
