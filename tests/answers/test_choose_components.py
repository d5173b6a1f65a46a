"""All rules side by side: for data, for fitted models that know all or a part, and for kernels."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from gramian import PCA, KernelPCA
from gramian.answers.choose_components import RULES, choose_components
from gramian.errors import DataError, InputTypeError, ParameterError
from helpers import spectrum_matrix

FITTING = ("mle", "parallel", "sign-flip", "gavish-donoho", "cv")


def planted(n=200, d=30, k=3, seed=0, strength=4.0):
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, k)))[0]
    right = np.linalg.qr(rng.standard_normal((d, k)))[0]
    return strength * (n * d) ** 0.25 * left @ right.T + rng.standard_normal((n, d)) + 2.0


def test_every_rule_is_there_in_order():
    result = choose_components(planted(), random_state=0)
    assert list(result) == list(RULES)
    assert len(result) == 8
    assert [result[rule].number for rule in FITTING] == [3] * 5
    with pytest.raises(KeyError, match="nobody"):
        result["nobody"]


@pytest.mark.parametrize("rule", FITTING)
def test_a_fit_with_the_rule_gives_the_same_answer(rule):
    X = planted(strength=1.7)
    side = choose_components(X, random_state=4)[rule]
    model = PCA(rule, random_state=4).fit(planted(strength=4.0))
    assert model.component_choice_.number == choose_components(planted(), random_state=4)[rule].number
    alone = choose_components(X, rules=[rule], random_state=4)[rule]
    assert alone.number == side.number
    for name, column in side.evidence.items():
        np.testing.assert_array_equal(alone.evidence[name], column)


def test_numbers_and_fractions_are_those_of_fits():
    X = planted()
    for fraction in (0.5, 0.9):
        result = choose_components(X, rules=["fraction"], fraction=fraction)
        assert result["fraction"].number == PCA(fraction).fit(X).n_components_


def test_data_are_treated_as_asked():
    X = planted() * np.exp(np.random.default_rng(1).uniform(-3, 3, 30))
    C = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    scaled, apart, by_model = (
        choose_components(PCA(scale="unit"), X, random_state=0),
        choose_components(C, random_state=0),
        choose_components(PCA(scale="unit").fit(X), X, random_state=0),
    )
    for rule in scaled:
        assert scaled[rule].number == apart[rule].number == by_model[rule].number
    mean = scaled["kaiser"].evidence["mean"]
    np.testing.assert_allclose(mean, 1.0, rtol=1e-9)


def test_rules_that_cannot_work_say_why_and_do_not_hide_the_others():
    result = choose_components(sp.csr_matrix(planted()), random_state=0)
    assert result["gavish-donoho"].number == 3
    assert result["parallel"].number is None
    assert "X is sparse. Pass X.toarray()" in result["parallel"].sentence
    raw = choose_components(PCA(center=False), planted(), random_state=0)
    for rule in ("parallel", "mle", "kaiser", "broken-stick"):
        assert raw[rule].number is None
        assert "needs center=True" in raw[rule].sentence
    assert raw["gavish-donoho"].number in (3, 4)
    wide = choose_components(planted(30, 200), random_state=0)
    assert wide["mle"].number is None
    assert "needs more rows than columns" in wide["mle"].sentence
    small = choose_components(PCA(memory_limit=500_000), planted(300, 900), random_state=0)
    assert "memory_limit allows" in small["parallel"].sentence
    assert "memory_limit allows" in small["kaiser"].sentence


def test_a_model_with_the_whole_spectrum_answers_as_its_data():
    X = planted()
    by_data = choose_components(X, random_state=0)
    for model in (PCA().fit(X), PCA(5).fit(X)):
        result = choose_components(model)
        for rule in result:
            if rule in ("parallel", "sign-flip", "cv"):
                assert result[rule].number is None
                assert "The rule needs the data: call choose_components(model, X)" in result[rule].sentence
            else:
                assert result[rule].number == by_data[rule].number
        assert choose_components(model, X, random_state=0)["cv"].number == 3


def test_a_model_with_a_part_of_the_spectrum_says_what_it_can():
    X = spectrum_matrix(900, 700, [90, 80, 70], seed=1) + np.random.default_rng(1).standard_normal((900, 700))
    model = PCA(6, solver="covariance", tol=1e-3).fit(X)
    assert model.spectrum_.rest.size == 0
    result = choose_components(model, fraction=0.999999)
    assert "6 of 700 eigenvalues known" in str(result)
    for rule in ("gavish-donoho", "mle"):
        assert (result[rule].number, result[rule].at_least) == (3, False)
        assert "by the trace" in result[rule].sentence
    assert (result["fraction"].number, result["fraction"].at_least) == (6, True)
    assert "at least 6" in str(result)


def test_models_that_cannot_be_asked():
    with pytest.raises(ParameterError, match=r"model is a PCA that is not fitted\. Pass the data too:"):
        choose_components(PCA())
    with pytest.raises(InputTypeError, match=r"Two data sets were passed\. Pass one, or a model and its"):
        choose_components(planted(), planted())
    from sklearn.decomposition import PCA as PeerPCA

    with pytest.raises(InputTypeError, match=r"A PCA is neither data nor a gramian\.PCA or KernelPCA\."):
        choose_components(PeerPCA())


def test_other_parameters_are_refused():
    for parameters, match in [
        ({"rules": ["paralel"]}, r"is not known\. Allowed:"),
        ({"rules": ["max_rmse"]}, r"is not known\. Allowed:"),
        ({"fraction": 1.5}, r"n_components=1\.5 is not a positive"),
        ({"random_state": "x"}, "cannot start a random number"),
    ]:
        with pytest.raises(ParameterError, match=match):
            choose_components(planted(), **parameters)
    with pytest.raises(ParameterError, match="ddof=500 must be a whole number"):
        choose_components(PCA(ddof=500), planted())


def test_data_that_no_rule_can_take_are_refused():
    with pytest.raises(DataError, match="column 0 is"):
        choose_components(planted() * 1e200)
    with pytest.raises(DataError, match=r'Input X contains NaN: row 0, column 0\. Use missing="em"'):
        choose_components(np.where(np.arange(6000).reshape(200, 30) == 0, np.nan, planted()))


def circle(n=120, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(t), np.sin(t)]) + noise * rng.standard_normal((n, 2))


def test_kernel_parallel_analysis_permutes_each_column():
    X = circle()
    model = KernelPCA(kernel="rbf", gamma=1.0)
    result = choose_components(model, X, rules=["parallel"], random_state=0)
    evidence = result["parallel"].evidence

    def spectrum(Y):
        K = np.exp(-((Y[:, None] - Y[None]) ** 2).sum(axis=2))
        H = np.eye(len(Y)) - 1 / len(Y)
        return np.linalg.eigvalsh(H @ K @ H)[::-1] / (len(Y) - 1)

    np.testing.assert_allclose(evidence["eigenvalue"], spectrum(X)[: evidence["eigenvalue"].size], rtol=1e-6)
    number = int(np.argmin(evidence["eigenvalue"] > evidence["threshold"]))
    assert result["parallel"].number == number
    rng = np.random.default_rng(0)
    near = np.max([spectrum(rng.permuted(X, axis=0))[0] for _ in range(19)])
    assert evidence["threshold"][0] == pytest.approx(near, rel=0.1)


@pytest.mark.walk
def test_the_share_in_feature_space():
    X = circle(24)
    model = KernelPCA(kernel="rbf", gamma=1.0).fit(X)
    result = choose_components(model, fraction=0.8, random_state=0)
    assert list(result) == ["parallel", "fraction", "cv"]
    assert result["fraction"].number == KernelPCA(0.8, kernel="rbf", gamma=1.0).fit(X).n_components_
    assert result["cv"].number is not None
    assert "hidden entries of held-out rows" in result["cv"].sentence
    # Whatever other rules were asked before.
    assert choose_components(model, rules=["cv"], random_state=0)["cv"].sentence == result["cv"].sentence


def test_kernels_that_cannot_be_asked():
    K = circle() @ circle().T
    with pytest.raises(ParameterError, match="model is a KernelPCA without rows: it is not fitted, its"):
        choose_components(KernelPCA(kernel="precomputed").fit(K))
    result = choose_components(KernelPCA(kernel="precomputed"), K)
    assert "a precomputed kernel has none" in result["parallel"].sentence
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        choose_components(KernelPCA(), circle(), rules=["mle"])
    raw = choose_components(KernelPCA(kernel="rbf", center=False), circle(), rules=["parallel"])
    assert "needs center=True" in raw["parallel"].sentence


def test_it_prints_as_a_table():
    result = choose_components(planted(), random_state=0)
    lines = str(result).splitlines()
    assert lines[0] == "Number of components of 200 rows x 30 columns"
    assert lines[1].startswith("Look at 2 or 3; keep 26 to compress")
    rest = lines[2:]
    assert rest[0].split() == ["rule", "components", "evidence"]
    assert rest[1].split(maxsplit=4)[:2] == ["parallel", "3"]
    assert "3 eigenvalues exceed those of all 19 data sets" in rest[1]
    assert rest[len(result) + 1].split(maxsplit=1) == ["rule", "when to trust it"]
    assert repr(result) == str(result)
    page = result._repr_html_()
    assert page.startswith("<div>Number of components")
    assert page.count("<tr>") == 2 * (1 + len(result))


def test_dictionaries_hold_values_for_json():
    plain = choose_components(sp.csr_matrix(planted()), random_state=0).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["parallel"]["components"] is None
    assert plain["gavish-donoho"]["components"] == 3
    assert plain["gavish-donoho"]["evidence"]["components"][0] == 1
