"""Rules as ``n_components``: what is given, what is refused, what a model remembers."""

import json
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA as PeerPCA

from gramian import PCA
from gramian.errors import MemoryLimitError, ParameterError, RankWarning
from gramian.models.pca.rules import NAMED
from gramian.statistics.component_rules import RULES
from helpers import spectrum_matrix

SHAPES = {"n > d": (200, 30), "n < d": (30, 200)}


def planted(n=200, d=30, k=3, seed=0, strength=4.0):
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, k)))[0]
    right = np.linalg.qr(rng.standard_normal((d, k)))[0]
    return strength * (n * d) ** 0.25 * left @ right.T + rng.standard_normal((n, d)) + 2.0


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("rule", NAMED)
def test_every_rule_finds_what_was_planted(rule, shape):
    X = planted(*shape)
    if rule == "mle" and shape[0] < shape[1]:
        with pytest.raises(ParameterError, match="s evidence needs more rows than columns, but X has 30"):
            PCA(rule).fit(X)
        with pytest.raises(ParameterError, match="s evidence needs more rows than columns, but X has 30"):
            PCA(rule).plan(X)
        return
    model = PCA(rule, random_state=0).fit(X)
    assert model.n_components_ == model.component_choice_.number == 3
    assert model.component_choice_.rule == rule
    assert model.components_.shape == (3, shape[1])
    plain = PCA(3).fit(X)
    assert_allclose(model.explained_variance_, plain.explained_variance_, rtol=1e-10)
    assert_allclose(model.components_, plain.components_, atol=1e-9)
    assert f"\nChosen by {rule}: " in str(model.summary())
    assert "Chosen by" not in str(plain.summary())


@pytest.mark.parametrize("rule", NAMED)
def test_units_scales_and_constant_columns_do_not_matter(rule):
    def chosen(rows, **asked):
        return PCA(rule, random_state=0, **asked).fit(rows).component_choice_

    X = planted()
    plain, power = chosen(X), {"mle": 0, "sign-flip": 1, "gavish-donoho": 1}.get(rule, 2)
    for scale in (1e-95, 1e95):
        scaled = chosen(X * scale)
        assert plain.number == scaled.number
        for name, column in plain.evidence.items():
            if name not in ("components", "log_evidence", "eigenvalue"):
                assert_allclose(scaled.evidence[name], column * scale**power, rtol=1e-6)
    more = chosen(np.hstack([X, np.full((200, 40), 7.3)]))
    assert plain.number == more.number
    assert plain.sentence.split(":")[0] == more.sentence.split(":")[0]
    # Scaled columns are what the rule sees.
    X *= np.exp(np.random.default_rng(1).uniform(-3, 3, 30))
    inside, apart = chosen(X, scale="unit"), chosen((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))
    assert inside.number == apart.number
    for name, column in apart.evidence.items():
        assert_allclose(inside.evidence[name], column, rtol=1e-7)


@pytest.mark.parametrize("rule", NAMED)
def test_every_kind_of_array_gives_the_same_number(rule, array_kind):
    model = PCA(rule, random_state=0).fit(array_kind.make(planted(100, 30)))
    assert model.n_components_ == 3
    assert array_kind.same(model.components_) or array_kind.name == "numpy-read-only"


@pytest.mark.parametrize("rule", NAMED)
def test_constant_data_data_without_noise_and_nothing_but_noise(rule):
    for value in (0.0, 7.3):
        with pytest.warns(RankWarning, match="finds no component; one is kept. All columns are") as caught:
            model = PCA(rule).fit(np.full((7, 3), value))
        assert len(caught) == 1
        assert (model.n_components_, model.rank_) == (1, 0)
    rank = PCA(rule, random_state=0).fit(spectrum_matrix(60, 20, [5, 4, 3], seed=2)).n_components_
    assert rank == 3 if rule in ("mle", "gavish-donoho", "cv") else rank <= 3
    X = np.random.default_rng(5).standard_normal((150, 50))
    if rule == "mle":
        assert PCA(rule).fit(X).n_components_ >= 1
        return
    with pytest.warns(RankWarning, match=f"n_components='{rule}' finds no component; one is kept. "):
        model = PCA(rule, random_state=0).fit(X)
    assert model.component_choice_.number == 0
    assert model.n_components_ == 1
    assert model.transform(X).shape == (150, 1)


@pytest.mark.parametrize("rule", NAMED)
@pytest.mark.parametrize("shape", [(2, 1), (2, 5), (5, 1), (3, 2), (4, 2)])
def test_the_smallest_tables_have_an_answer_or_a_reason(rule, shape):
    X = np.random.default_rng(3).standard_normal(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        try:
            model = PCA(rule, random_state=0).fit(X)
        except ParameterError as error:
            assert re.match(rf"n_components='{rule}': ", str(error))  # noqa: PT017
            assert rule in ("mle", "cv")
        else:
            assert 1 <= model.n_components_ <= min(shape)


@pytest.mark.parametrize("rule", [rule for rule in NAMED if RULES[rule].draws])
def test_random_state_decides_what_is_drawn(rule):
    X = planted(strength=3.0)
    first, second, other = (PCA(rule, random_state=s).fit(X).component_choice_ for s in (0, 0, 1))
    name = "held_out_error" if rule == "cv" else "threshold"
    assert_array_equal(first.evidence[name], second.evidence[name])
    assert (first.evidence[name][:5] != other.evidence[name][:5]).any()
    for state in (np.random.RandomState(0), np.random.default_rng(0), None):
        assert PCA(rule, random_state=state).fit(planted()).n_components_ == 3


def test_minka_is_scikit_learns_and_evidence_is_json():
    for seed in range(8):
        X = planted(120, 15, seed % 4 + 1, seed, strength=2.0)
        peer = PeerPCA("mle", svd_solver="full").fit(X)
        for ddof in (0, 1):
            assert PCA("mle", ddof=ddof).fit(X).n_components_ == peer.n_components_
    evidence = PCA("parallel", random_state=0).fit(planted()).component_choice_.evidence
    assert json.loads(json.dumps({k: v.tolist() for k, v in evidence.items()}))["components"][0] == 1
    X = np.zeros((3000, 300), dtype="f4") + np.arange(300)
    once = PCA(10).plan(X).seconds
    for rule, spectra in (("parallel", 20), ("sign-flip", 20), ("cv", 10)):
        assert PCA(rule).plan(X).seconds > spectra * once
    assert "40 spectra of quarters" in PCA("cv").plan(X).steps[0].detail


@pytest.mark.parametrize("rule", NAMED)
def test_without_centring_only_some_rules_have_a_meaning(rule):
    X = planted() - 1.5
    model = PCA(rule, center=False, random_state=0)
    if rule in ("mle", "parallel"):
        with pytest.raises(ParameterError, match=r": the rule needs center=True: the|: the rule needs"):
            model.fit(X)
        return
    # The mean is a direction like any other, and the largest.
    assert model.fit(X).n_components_ in (3, 4)
    assert model.component_choice_.number >= 1


@pytest.mark.parametrize("rule", NAMED)
def test_sparse_data(rule, monkeypatch):
    X = np.where(np.random.default_rng(4).random((200, 30)) < 0.5, planted(strength=12.0), 0)
    if RULES[rule].draws:
        with pytest.raises(ParameterError, match=r"draws new dense data of the same size, but X is sparse\."):
            PCA(rule).fit(sp.csr_matrix(X))
        return
    dense = PCA(rule).fit(X)
    sparse = PCA(rule).fit(sp.csr_matrix(X))
    assert sparse.n_components_ == dense.n_components_
    name = "log_evidence" if rule == "mle" else "singular_value"
    assert_allclose(
        sparse.component_choice_.evidence[name], dense.component_choice_.evidence[name], rtol=1e-8
    )


def test_too_little_memory_is_refused_before_work():
    X = np.broadcast_to(np.zeros(1500), (3000, 1500))
    with pytest.raises(MemoryLimitError, match=", which copies the data, needs about 108 MB of working"):
        PCA("parallel", solver="krylov", memory_limit=40_000_000).plan(X)
    with pytest.raises(MemoryLimitError, match="The covariance route needs about 125 MB of working"):
        PCA("gavish-donoho", solver="krylov", memory_limit=40_000_000).plan(X)


@pytest.mark.parametrize("rule", NAMED)
def test_the_plan_has_a_step_for_the_rule(rule):
    X = planted()
    plan = PCA(rule).plan(X)
    assert plan.steps[0].name == "choose"
    assert f"for the rule '{rule}'" in plan.steps[0].detail
    assert [step.name for step in PCA(rule, random_state=0).fit(X).plan_.steps][:1] == ["choose"]
    large = PCA(rule, memory_limit=1 << 40).plan(np.broadcast_to(np.zeros(2000), (90_000, 2000)))
    assert large.seconds > PCA(10).plan(np.broadcast_to(np.zeros(2000), (90_000, 2000))).seconds


def test_fractions_and_numbers_as_choices():
    X = planted()
    choice = PCA(0.5).fit(X).component_choice_
    assert (choice.rule, choice.number) == ("fraction", PCA(0.5).fit(X).n_components_)
    assert "The fewest components that explain 50 % of the variance" in choice.sentence
    assert PCA(4).fit(X).component_choice_ is None
    assert PCA(np.int64(4)).fit(X).component_choice_ is None
    assert PCA().fit(X).component_choice_ is None
    again = PCA("gavish-donoho").fit(X).set_params(n_components=2).fit(X)
    assert again.component_choice_ is None
    assert "second moments" in PCA(0.5, center=False).fit(X).component_choice_.sentence
