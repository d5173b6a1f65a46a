import pytest

from gramian.app.verbs import verb
from gramian.app.verbs.fit import estimator
from gramian.errors import ParameterError


def test_without_a_kernel_it_is_pca():
    model = estimator(n_components=3, scale="pareto")
    assert (type(model).__name__, model.n_components, model.scale, model.random_state) == (
        "PCA",
        3,
        "pareto",
        0,
    )


def test_with_a_kernel_it_is_kernel_pca():
    model = estimator(kernel="poly", degree=2, coef0=0.5, gamma=0.1)
    assert (type(model).__name__, model.degree, model.coef0, model.gamma) == ("KernelPCA", 2, 0.5, 0.1)


def test_gamma_can_be_found_from_the_data():
    for gamma in ["median", "scale"]:
        assert estimator(kernel="rbf", gamma=gamma).gamma == gamma


def test_landmarks_reach_the_estimator():
    made = estimator(kernel="rbf", solver="nystroem", n_landmarks=50, landmarks="uniform")
    assert (made.solver, made.n_landmarks, made.landmarks) == ("nystroem", 50, "uniform")
    made = estimator(kernel="rbf", solver="random-features", n_landmarks=50)
    assert (made.n_landmarks, made.landmarks) == (50, "rpcholesky")
    assert estimator(kernel="rbf", solver="nystroem").n_landmarks is None


def test_a_repair_reaches_the_estimator():
    assert estimator(kernel="sigmoid", repair="clip").repair == "clip"
    assert estimator(kernel="sigmoid").repair is None


def test_a_kernel_can_be_an_expression():
    text = "rbf(sigma=2).on('age') + 0.5 * linear"
    assert estimator(kernel=text).kernel == text
    assert estimator(kernel="precomputed").kernel == "precomputed"


def test_what_does_not_apply_is_refused():
    for options in [
        {"gamma": "0.1"},
        {"degree": 2},
        {"coef0": 0.0},
        {"repair": "clip"},
        {"n_landmarks": 5},
        {"kernel": "rbf", "n_landmarks": 5},
        {"kernel": "rbf", "landmarks": "uniform"},
        {"kernel": "rbf", "whiten": True},
        {"kernel": "rbf", "ddof": 0},
        {"kernel": "rbf", "degree": 2},
        {"kernel": "cosine", "gamma": "2.0"},
        {"kernel": "matern", "gamma": "2.0"},
        {"kernel": "rbf + linear", "gamma": "2"},
        {"kernel": "rbf", "gamma": "wide"},
        {"kernel": "rfb"},
        {"kernel": "rbf + rfb"},
        {"kernel": "rbf", "solver": "gram"},
        {"solver": "dense"},
        {"memory_limit": "much"},
    ]:
        with pytest.raises(
            ParameterError, match=r"applies only|does not|, column|takes no|is not|is neither|must be"
        ):
            estimator(**verb("fit").values(options))


def test_other_values_than_the_choices_are_refused_before_the_data_are_read(gramian):
    for options, message in [
        ("--kernel rbf --solver nystroem --landmarks x", "landmarks='x' is not known. Allowed: 'rpch"),
        ("--kernel rbf --repair shift", "repair='shift' is not known. Allowed: 'clip'"),
        ("--kernel rbf --preimage best", "preimage='best' is not known. Allowed: 'auto', 'fixed-point'"),
        ("--scale big", "scale='big' is not known. Allowed: 'unit', 'pareto'"),
    ]:
        gramian.refuses(f"fit none.csv {options}", 2, message)


def test_components_that_mean_nothing():
    for text in ["x", "0", "-3", "1.0", "0.0", "1.5", "nan", "inf", ""]:
        with pytest.raises(
            ParameterError, match=r"n_components=.* (is neither a number nor|is out of range)"
        ):
            verb("fit").values({"n_components": text})
