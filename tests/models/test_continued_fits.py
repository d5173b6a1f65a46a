"""``fit``, and then batches: what fit discarded is part of what the certificate states."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils.estimator_checks import check_fit_score_takes_y

import gramian
from gramian import PCA
from gramian.core.arrays import as_float64
from gramian.errors import CertificateWarning, MemoryLimitError, RankWarning
from helpers import spectrum_matrix

X = spectrum_matrix(90, 8, [10, 5, 3, 1, 0.3, 0.1, 0.03, 0.01], seed=0, mean=np.arange(8) - 3.0)
TABLES = ("plain", "offsets", "units", "magnitudes", "repeated", "float32", "sparse", "far")


def case(attack, seed):
    """Return data in batches, a model for the first of them, and its parameters for the others."""
    rng = np.random.default_rng([7, seed])
    kind = TABLES[seed % len(TABLES)]
    data, asked = attack.TABLES["plain" if kind == "far" else kind](rng)
    if kind == "far":
        data = data + rng.choice([1e12, 3e13, 1e14, 1e15])
    n, d = data.shape
    if n < 4 or d < 2:
        return case(attack, seed + 1000)
    cuts = np.unique(rng.integers(2, n, 3))
    count = asked["n_components"]
    if isinstance(count, (int, np.integer)):
        asked["n_components"] = min(count, cuts[0], d)
    later = {"solver": str(rng.choice(["auto", "krylov"])), "ddof": int(rng.integers(2))}
    if rng.random() < 0.2:
        later["scale"] = "unit" if asked["scale"] is None else None
    bounds = [0, *cuts, n]
    return [data[a:b] for a, b in pairwise(bounds)], PCA(**asked), later, data


def false_of(attack, seed):
    """Return what a continued model states that is false, and whether its certificate is ok."""
    (first, *others), model, later, data = case(attack, seed)
    try:
        model.fit(first).set_params(**later)
        for batch in others:
            model.partial_fit(batch)
        certificate = model.certificate_
    except gramian.errors.GramianError:
        return [], None
    truth = attack.linear_truth(data, model)
    false = [name for name, _ in attack.false_statements(certificate, truth) if "[estimate]" not in name]
    exact, k = truth.values, min(len(certificate.values), len(truth.values))
    if not (exact[:k] >= certificate.lower[:k] - truth.error).all():
        false.append("lower")
    if not (exact[:k] <= certificate.upper[:k] + truth.error).all():
        false.append("upper")
    rank, total = min(model.rank_, k), max(model.total_variance_, float(truth.total))
    if total > 0:
        # Shares of the total are known as well as variances are.
        off = np.abs(model.explained_variance_ratio_[:rank] - exact[:rank] / truth.total)
        allowed = (certificate.set_radius + certificate.widening * len(exact)) / total + 1e-12
        allowed += np.maximum(certificate.upper - certificate.values, 0)[:rank] / total
        if not (off <= allowed).all():
            false.append("ratio")
    return false, certificate.ok


def quietly(attack, seeds):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [false_of(attack, seed) for seed in seeds]


def test_nothing_is_false_that_a_certificate_states_after_fit_and_partial_fit(attack):
    outcomes = quietly(attack, range(80))
    assert [false for false, _ in outcomes if false] == []
    assert sum(ok is True for _, ok in outcomes) > 15
    assert sum(ok is False for _, ok in outcomes) > 15


def test_the_loss_is_about_the_largest_discarded_eigenvalue():
    whole = PCA().fit(X)
    for k in range(1, 7):
        model = PCA(k).fit(X[:45]).partial_fit(X[45:])
        lost = PCA().fit(X[:45]).explained_variance_[k] * 44 / 89
        with pytest.warns(CertificateWarning, match="fit discarded components"):
            certificate = model.certificate_
        assert lost <= certificate.widening <= 1.01 * lost
        assert (np.abs(whole.explained_variance_[:k] - certificate.values) <= certificate.radii).all()
        assert (certificate.upper >= whole.explained_variance_[:k]).all()
        # Means, the total and the spread of every column are exact.
        assert model.n_samples_ == 90
        assert model.n_components_ == k
        assert_allclose(model.mean_, X.mean(axis=0), atol=1e-14)
        assert_allclose(model.total_variance_, whole.total_variance_, rtol=1e-12)
        model.set_params(scale="unit").partial_fit(X[:1])
        with pytest.warns(CertificateWarning, match="fit discarded components"):
            scale = model.scale_
        assert_allclose(scale, np.vstack([X, X[:1]]).std(axis=0, ddof=1), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::gramian.errors.CertificateWarning", "ignore::gramian.errors.RankWarning")
def test_array_kinds_continue_as_their_own_kind(array_kind):
    for table, k in ((X, 2), (X.T, 8)):
        first, second = table[: len(table) // 2], table[len(table) // 2 :]
        model = PCA(min(k, len(first))).fit(array_kind.make(first)).partial_fit(array_kind.make(second))
        assert array_kind.same(model.components_)
        exact = PCA(model.n_components_).fit(table).explained_variance_
        result = as_float64(model.explained_variance_)
        assert (np.abs(result - exact) <= model.certificate_.radii + 1e-6 * exact[0]).all()


@pytest.mark.filterwarnings("ignore::gramian.errors.CertificateWarning")
def test_the_model_continues_from_a_file_as_it_does_in_memory(tmp_path):
    for settings in ({}, {"scale": "unit"}):
        model = PCA(2, **settings).fit(X[:45])
        model.save(tmp_path / "m.gramian")
        again = gramian.load(tmp_path / "m.gramian").partial_fit(X[45:60])
        again.save(tmp_path / "m.gramian")
        again = gramian.load(tmp_path / "m.gramian").partial_fit(X[60:])
        model.partial_fit(X[45:60]).partial_fit(X[60:])
        assert_array_equal(again.explained_variance_, model.explained_variance_)
        assert_array_equal(again.certificate_.radii, model.certificate_.radii)


def test_nothing_is_lost_of_what_components_hold_and_memory_refused_before():
    wide = np.random.default_rng(0).standard_normal((30, 3000)) * 0.99 ** np.arange(3000)
    model = PCA(2, memory_limit="60MB").fit(wide)
    before = dict(vars(model))
    with pytest.raises(MemoryLimitError, match="A stream of 3,000 columns stores several matrices of"):
        model.partial_fit(wide)
    assert vars(model) == before
    check_fit_score_takes_y("PCA", PCA(2))
    for data in (X @ np.diag([1, 1, 1, 0, 0, 0, 0, 0.0]), spectrum_matrix(20, 40, [3, 2, 1], seed=1)):
        for settings in ({}, {"solver": "gram"}, {"solver": "krylov"}, {"scale": "unit"}):
            model = PCA(3, **settings).fit(data[: len(data) // 2]).set_params(solver="auto")
            model.partial_fit(data[len(data) // 2 :])
            expected = PCA(3, scale=model.scale).fit(data).explained_variance_
            assert_allclose(model.explained_variance_, expected, rtol=1e-9)
            assert model.certificate_.ok
    single = X.astype(np.float32)
    model = PCA().fit(single[:45]).partial_fit(single[45:])
    assert model.certificate_.ok
    assert model.components_.dtype == np.float32
    assert_allclose(model.explained_variance_, PCA().fit(single).explained_variance_, rtol=1e-4)


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
